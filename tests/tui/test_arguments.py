from __future__ import annotations

import pytest

from takeback.engine.errors import UsageError
from takeback.tui import arguments
from takeback.tui.arguments import parse


def test_global_options_stand_before_or_after_the_verb() -> None:
    for words in (
        ["-C", "d", "--json", "--data-dir", "x", "log"],
        ["log", "-C", "d", "--json", "--data-dir=x"],
        ["--json", "log", "-Cd", "--data-dir", "x"],
    ):
        args = parse(words)
        assert args.verb == "log"
        assert args.json
        assert args.value("-C") == "d"
        assert args.value("--data-dir") == "x"


def test_paths_repeat_in_both_forms_and_may_begin_with_a_dash() -> None:
    args = parse(["undo", "--path", "-a", "--path=b", "--path", "--json", "--path=c=d"])
    assert args.all("--path") == ("-a", "b", "--json", "c=d")
    assert not args.json


def test_many_paths_are_taken() -> None:
    words = [word for at in range(5000) for word in ("--path", f"f{at}")]
    assert len(parse(["undo", *words]).all("--path")) == 5000


def test_run_keeps_the_command_as_it_is() -> None:
    args = parse(["run", "--session", "s", "--", "sh", "--json", "--", "-x"])
    assert args.command == ("sh", "--json", "--", "-x")
    assert not args.json
    assert parse(["run", "make", "--help"]).command == ("make", "--help")


def test_record_verbs_have_two_words() -> None:
    args = parse(["record", "tool-begin", "--session", "s", "--call=c", "--tool", "Edit"])
    assert args.verb == "record tool-begin"
    assert args.value("--call") == "c"


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["undo", "--bogus"],
        ["undo", "9"],
        ["undo", "--turn"],
        ["undo", "--turn", "1", "--turn", "2"],
        ["undo", "--turn", "1", "--to", "2"],
        ["undo", "--merge", "--keep"],
        ["undo", "--yes=1"],
        ["--session", "x", "log"],
        ["restore"],
        ["goto"],
        ["run"],
        ["run", "--"],
        ["record"],
        ["record", "nothing"],
        ["record", "begin"],
        ["record", "tool-begin", "--session", "s", "--call", "c", "--tool", "t", "--kind", "x"],
        ["record", "begin", "--session", "s", "extra"],
        ["install"],
        ["install", "claude", "--user", "--project"],
        ["log", "-x"],
        ["und"],
    ],
)
def test_wrong_usage_is_refused_with_a_sentence(words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(words)
    assert caught.value.message.endswith("Nothing was done.")


def test_a_near_miss_is_named() -> None:
    with pytest.raises(UsageError) as caught:
        parse(["undoo"])
    assert "'undo'" in caught.value.hint


def test_json_is_seen_in_a_line_that_cannot_be_parsed() -> None:
    assert arguments.wants_json(["bogus", "--json"])
    assert not arguments.wants_json(["run", "--", "x", "--json"])


def test_help_needs_nothing_else() -> None:
    assert parse(["restore", "--help"]).flag("--help")
    assert parse(["record", "--help"]).verb == "record"


@pytest.mark.parametrize("verb", ["", "record", *(v.name for v in arguments.VERBS)])
def test_every_verb_has_help(verb: str) -> None:
    lines = arguments.help_lines(verb)
    assert lines[0].startswith("Usage: takeback")
    assert all(len(line) <= 100 for line in lines)
