"""Scans under odd rules, on failing disks, with damaged caches: what nobody saw is never "gone"."""

from __future__ import annotations

import os
import subprocess

import pytest

from takeback.engine.errors import NothingToDo
from takeback.engine.model import Change
from takeback.engine.record.snapshot import list_tree
from tests.bed import Bed

MIB = 1 << 20


def shown(changes: dict[str, Change]) -> dict[str, tuple[str, str]]:
    """For each changed path what stood there before and after, by kind."""
    return {name: (change.before.kind, change.after.kind) for name, change in changes.items()}


def captured(bed: Bed) -> set[str]:
    """What the newest snapshot holds."""
    store = bed.store()
    trees = [str(record["tree"]) for record in store.lines("snapshots.jsonl")]
    return set(map(os.fsdecode, list_tree(store, trees[-1])))


def nothing_of_the_users_goes(bed: Bed, *names: str) -> None:
    """An undo that takes everything leaves these files as they are."""
    before = {name: bed.read(name) for name in names}
    try:
        bed.do(turn=str(bed.turns()[-1].n), selection="all", on_conflict="overwrite")
    except NothingToDo:
        pass
    assert {name: bed.read(name) for name in names} == before
    assert None not in before.values()


def git(bed: Bed, *words: str) -> None:
    subprocess.run(["git", *words], cwd=bed.root, check=True, capture_output=True)


# --- Rules ---------------------------------------------------------------------------------------

RULES = {
    "a rule file that ignores itself": ("private/.gitignore", "*\n"),
    "a rule file that names itself": ("private/.gitignore", ".gitignore\ndata.txt\n"),
    "a rule file in the root that names itself": (".gitignore", ".gitignore\nprivate\n"),
    "a rule file that is captured": (".gitignore", "data.txt\n"),
    "an exclude file of the repository": (".git/info/exclude", "private/\n"),
}


@pytest.fixture(params=list(RULES))
def hidden(request: pytest.FixtureRequest, bed: Bed) -> str:
    """A file of the user's that rules keep out of every scan; the rules' file."""
    name, text = RULES[request.param]
    if name.startswith(".git/"):
        git(bed, "init", "-q")
    bed.write("private/data.txt", "precious\n")
    bed.write("a", "a\n")
    bed.write(name, text)
    return name


def test_what_former_rules_hid_was_not_made_when_they_go(bed: Bed, hidden: str) -> None:
    bed.begin()
    with bed.shell():
        (bed.root / hidden).unlink()
        bed.write("private/more.txt" if hidden.startswith("private") else "more.txt", "more\n")
    bed.end()
    assert "private/data.txt" not in bed.changes()
    assert "private/data.txt" in captured(bed)
    assert bed.missing()["private/data.txt"] == "ignored"
    nothing_of_the_users_goes(bed, "private/data.txt")


def test_what_former_rules_hid_was_not_made_by_the_turn_after_they_went(
    bed: Bed, hidden: str
) -> None:
    with bed.turn():
        pass
    bed.write(hidden, "*.pyc\n")
    bed.begin()
    with bed.shell():
        bed.write("made", "by the agent\n")
    bed.end()
    assert set(bed.changes()) == {"made"}
    nothing_of_the_users_goes(bed, "private/data.txt")


def test_what_new_rules_hide_is_neither_gone_nor_brought_back(bed: Bed, hidden: str) -> None:
    text = (bed.root / hidden).read_text()
    (bed.root / hidden).unlink()
    with bed.turn():
        pass
    assert "private/data.txt" in captured(bed)
    bed.begin()
    with bed.shell():
        bed.write(hidden, text)
    bed.end()
    assert "private/data.txt" not in bed.changes()
    assert "private/data.txt" not in captured(bed)
    nothing_of_the_users_goes(bed, "private/data.txt")


def test_a_hiding_rule_file_that_changes_without_a_trace_in_its_stat_is_seen(bed: Bed) -> None:
    bed.write(".gitignore", ".gitignore\nx\n")
    bed.write("x", "precious\n")
    bed.write("y", "precious\n")
    with bed.turn():
        pass
    assert captured(bed) == {"y"}
    bed.begin()
    bed.write(".gitignore", ".gitignore\ny\n")
    bed.end()
    assert captured(bed) == {"x"}
    assert bed.changes() == {}


def test_a_folder_whose_own_rules_ignore_all_but_one_is_looked_into(bed: Bed) -> None:
    bed.write("sub/.gitignore", "*\n!keep\n")
    bed.write("sub/keep", "one\n")
    bed.write("sub/other", "one\n")
    bed.begin()
    with bed.shell():
        bed.write("sub/keep", "two\n")
        bed.write("sub/other", "two\n")
        bed.write("new/.gitignore", "*\n!keep\n")
        bed.write("new/keep", "made\n")
        bed.write("new/other", "made\n")
    bed.end()
    assert set(bed.changes()) == {"sub/keep", "new/keep"}
    assert captured(bed) == {"sub/keep", "new/keep"}


def test_a_rule_file_that_is_a_link_holds_no_rules(bed: Bed) -> None:
    """Git does not follow it, and neither may the comparison of former rules."""
    bed.write("rules", "x\n")
    bed.write("x", "one\n")
    (bed.root / ".gitignore").symlink_to("rules")
    with bed.turn():
        pass
    assert "x" in captured(bed)


@pytest.mark.parametrize("how", ["setting", "tracked"])
def test_what_a_default_exclude_hid_was_not_made_when_it_no_longer_holds(
    bed: Bed, how: str
) -> None:
    git(bed, "init", "-q")
    for name in ("node_modules/lib/x.js", "a.log"):
        bed.write(name, "precious\n")
    with bed.turn():
        pass
    assert captured(bed) == set()
    bed.begin()
    with bed.shell():
        if how == "tracked":
            git(bed, "add", "-f", ".")
        else:
            bed.config.write_text("default_undo_skip = false\n")
        bed.write("made", "by the agent\n")
    bed.end()
    assert captured(bed) == {"node_modules/lib/x.js", "a.log", "made"}
    assert set(bed.changes()) == {"made"}
    nothing_of_the_users_goes(bed, "node_modules/lib/x.js", "a.log")
