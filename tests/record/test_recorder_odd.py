"""Events that come late, twice, from elsewhere, or through links."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from takeback.engine.errors import TakebackError, UsageError
from takeback.engine.model import Event
from takeback.engine.record import openturn
from takeback.engine.record.recorder import mark_failure
from takeback.engine.store.store import Store
from tests.bed import Bed


def kinds(bed: Bed) -> list[str]:
    """The kinds of the ledger's lines, of all sessions."""
    lines = []
    for path in sorted(bed.data.glob("projects/*/ledger/*.jsonl")):
        lines += [json.loads(text)["e"] for text in path.read_text().splitlines()]
    return lines


def opened(bed: Bed) -> list[tuple[str, str]]:
    """Session and project of every open turn."""
    turns = [openturn.parse(path.read_bytes()) for path in (bed.data / "open").iterdir()]
    return sorted((turn.session, Path(turn.root).name) for turn in turns)


@pytest.fixture
def second(bed: Bed) -> Path:
    """Another project beside the first."""
    folder = bed.base / "second"
    folder.mkdir()
    return folder


# --- Ends that come late -------------------------------------------------------------------------


@pytest.mark.parametrize("names", [(), ("f",)], ids=["shell", "edit"])
def test_the_end_of_a_call_after_its_turns_end_says_nothing(
    bed: Bed, names: tuple[str, ...]
) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_begin("late", *names)
    bed.write("f", "two\n")
    bed.end()
    before = (kinds(bed), bed.evidence())
    bed.write("f", "the user's\n")
    bed.tool_end("late", *names)
    assert (kinds(bed), bed.evidence()) == before
    assert opened(bed) == []
    bed.write("mine", "the user's\n")
    with bed.turn():
        pass
    assert [bed.evidence(at).get("mine") for at in (0, 1)] == [None, None]
    assert len(bed.turns()) == 2


def test_the_end_of_a_call_that_nobody_ever_heard_of_opens_a_turn_without_a_begin(bed: Bed) -> None:
    """The begin of a turn was lost, not the turn: what it does from now on is recorded."""
    with bed.turn():
        pass
    bed.tool_end("new", tool="Bash", call_kind="shell")
    assert opened(bed) == [("s", "project")]
    with bed.shell():
        bed.write("made", "made\n")
    bed.end()
    assert len(bed.turns()) == 2
    assert not bed.turns()[1].complete
    assert bed.evidence() == {"made": "during-call"}


def test_a_call_without_a_turn_opens_one_whose_begin_is_missing(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.edit("f", "two\n")
    bed.end()
    assert bed.evidence() == {"f": "tool-edit"}
    assert not bed.turns()[0].complete


def test_the_end_of_an_earlier_turns_call_proves_nothing_in_the_next(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_begin("e1", "f")
    bed.end()
    bed.begin()
    bed.write("f", "the user's\n")
    bed.tool_end("e1", "f")
    bed.end()
    assert bed.evidence(1) == {"f": "no-record"}
    assert bed.evidence(0) == {}


def test_the_end_of_a_call_counts_once(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_begin("e1", "f")
    bed.write("f", "two\n")
    bed.tool_end("e1")
    bed.write("f", "the user's\n")
    bed.tool_end("e1")
    bed.tool_begin("e1", "f")
    bed.write("f", "the user's again\n")
    bed.tool_end("e1")
    bed.end()
    assert [(s.evidence, bed.bytes_of(s.after.oid)) for s in bed.changes()["f"].segments] == [
        ("tool-edit", "two\n"),
        ("outside-calls", "the user's again\n"),
    ]
    assert kinds(bed) == ["session", "begin", "call", "done", "end"]


@pytest.mark.parametrize("kind", ["end", "session-end"])
def test_an_end_without_a_turn_says_nothing(bed: Bed, kind: str) -> None:
    bed.event(kind)
    assert bed.project().store is None
    with bed.turn():
        pass
    before = kinds(bed)
    bed.event(kind)
    assert kinds(bed) == before


# --- Edits through links -------------------------------------------------------------------------


def test_an_edit_through_a_link_is_an_edit_of_what_it_points_to(bed: Bed) -> None:
    bed.write("sub/real", "one\n")
    (bed.root / "link").symlink_to("sub/real")
    with bed.turn():
        bed.edit("link", "two\n")
    assert bed.evidence() == {"sub/real": "tool-edit"}
    bed.do()
    assert bed.read("sub/real") == "one\n"
    assert os.readlink(bed.root / "link") == "sub/real"


def test_an_edit_that_replaces_a_link_by_a_file(bed: Bed) -> None:
    bed.write("real", "one\n")
    link = bed.root / "link"
    link.symlink_to("real")
    bed.begin()
    bed.tool_begin("e1", "link")
    link.unlink()
    bed.write("link", "two\n")
    bed.tool_end("e1")
    bed.end()
    assert bed.evidence() == {"link": "tool-edit"}
    bed.do()
    assert os.readlink(link) == "real"
    assert bed.read("real") == "one\n"


def test_an_edit_through_a_chain_of_links(bed: Bed) -> None:
    bed.write("real", "one\n")
    (bed.root / "middle").symlink_to("real")
    (bed.root / "link").symlink_to("middle")
    with bed.turn():
        bed.edit("link", "two\n")
    assert bed.evidence() == {"real": "tool-edit"}


def test_an_edit_through_a_link_that_leads_out_of_the_project_is_named(bed: Bed) -> None:
    outside = bed.base / "outside.txt"
    outside.write_text("one\n")
    (bed.root / "link").symlink_to(outside)
    with bed.turn():
        bed.edit("link", "two\n")
    assert bed.evidence() == {}
    assert bed.missing() == {str(outside): "outside-project"}
    assert not bed.turns()[0].complete


def test_an_edit_below_a_folder_that_is_a_link(bed: Bed) -> None:
    bed.write("real/f", "one\n")
    (bed.root / "linked").symlink_to("real")
    with bed.turn():
        bed.edit("linked/f", "two\n")
    assert bed.evidence() == {"real/f": "tool-edit"}
    bed.do()
    assert bed.read("real/f") == "one\n"


def test_an_edit_through_a_link_to_a_file_that_is_not_there_yet(bed: Bed) -> None:
    (bed.root / "link").symlink_to("made")
    with bed.turn():
        bed.edit("link", "made\n")
    assert bed.evidence() == {"made": "tool-edit"}
    bed.do()
    assert bed.read("made") is None
    assert (bed.root / "link").is_symlink()


def test_links_that_point_to_each_other_are_edited_by_nobody(bed: Bed) -> None:
    (bed.root / "a").symlink_to("b")
    (bed.root / "b").symlink_to("a")
    bed.begin()
    bed.tool_begin("e1", "a")
    bed.tool_end("e1", failed=True)
    bed.end()
    assert bed.evidence() == {}


# --- One session id in several projects ----------------------------------------------------------


def test_a_session_id_that_is_used_in_two_projects_has_a_turn_in_each(
    bed: Bed, second: Path
) -> None:
    bed.begin()
    bed.begin(root=second)
    assert opened(bed) == [("s", "project"), ("s", "second")]
    bed.tool_begin("e1", "f")
    bed.tool_begin("e1", "g", root=second)
    bed.write("f", "first\n")
    (second / "g").write_text("second\n")
    bed.tool_end("e1")
    bed.tool_end("e1", root=second)
    bed.end()
    assert opened(bed) == [("s", "second")]
    bed.end(root=second)
    assert bed.evidence() == {"f": "tool-edit"}
    other = bed.project(second).sessions()
    changes = [change for turn in other[0].turns for change in turn.changes]
    assert [(change.path, change.evidence) for change in changes] == [(b"g", "tool-edit")]


def test_an_agent_that_changes_its_folder_stays_in_its_turn(bed: Bed, second: Path) -> None:
    me = os.getpid()
    bed.begin(pid=me)
    bed.begin(root=second, pid=me, continues=True)
    bed.tool_begin("e1", str(bed.root / "f"), root=second)
    bed.write("f", "first\n")
    bed.tool_end("e1", root=second)
    bed.end(root=second)
    assert opened(bed) == []
    assert bed.evidence() == {"f": "tool-edit"}
    assert bed.project(second).store is None


def test_the_next_prompt_of_an_agent_that_changed_its_folder_ends_its_open_turn(
    bed: Bed, second: Path
) -> None:
    me = os.getpid()
    bed.begin(pid=me)
    bed.begin(root=second, pid=me)
    assert [turn.state for turn in bed.turns()] == ["interrupted", "running"]
    assert bed.project(second).store is None


def test_a_call_from_a_folder_without_a_turn_belongs_to_the_sessions_newest(
    bed: Bed, second: Path
) -> None:
    third = bed.base / "third"
    third.mkdir()
    bed.begin()
    bed.begin(root=second)
    bed.event("step", root=third, text="done")
    assert [len(turn.steps) for s in bed.project(second).sessions() for turn in s.turns] == [1]
    assert bed.turns()[0].steps == ()


def test_a_folder_that_may_be_no_project_is_refused_unless_its_session_works_elsewhere(
    bed: Bed,
) -> None:
    with pytest.raises(UsageError):
        bed.begin(root=bed.home)
    bed.begin(pid=os.getpid())
    bed.event("step", root=bed.home, text="done")
    assert len(bed.turns()[0].steps) == 1


def test_an_agent_whose_folder_is_gone_stays_in_its_turn(bed: Bed) -> None:
    nowhere = os.fsencode(bed.base / "gone")
    with pytest.raises(UsageError):
        bed.project().record(Event("step", "s", nowhere, text="done"))
    bed.begin()
    bed.project().record(Event("step", "s", nowhere, text="done"))
    assert len(bed.turns()[0].steps) == 1


# --- Open turns and ledgers that are damaged -----------------------------------------------------


def test_an_open_turn_that_cannot_be_read_is_no_turn_that_is_not_there(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.begin()
    before = kinds(bed)
    (path,) = (bed.data / "open").iterdir()
    data = path.read_bytes()
    path.unlink()
    path.mkdir()  # Reading it fails, for every user.
    for kind in ("begin", "tool-end", "end"):
        with pytest.raises(TakebackError, match="cannot be read"):
            bed.event(kind, call="c" if kind == "tool-end" else "")
    assert kinds(bed) == before
    path.rmdir()
    path.write_bytes(data)
    bed.end()
    assert [turn.state for turn in bed.turns()] == ["complete"]


def test_a_ledger_that_a_kill_left_empty_still_gets_its_sessions_line(bed: Bed) -> None:
    with bed.turn():
        pass
    bed.store_file("ledger/*.jsonl").write_bytes(b"")
    bed.begin("s", agent="claude")
    assert kinds(bed)[:2] == ["session", "begin"]
    (session,) = bed.project().sessions()
    assert (session.id, session.agent) == ("s", "claude")


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", "null", "{", '{"session": 1}', "[" * 100_000], ids=lambda t: t[:10]
)
def test_an_open_turn_that_is_damaged_counts_as_one_without_an_end(bed: Bed, text: str) -> None:
    bed.begin()
    for path in (bed.data / "open").iterdir():
        path.write_text(text)
    with bed.turn():
        pass
    assert [turn.state for turn in bed.turns()] == ["interrupted", "complete"]


def test_an_event_that_was_lost_leaves_a_note_in_its_turn(bed: Bed) -> None:
    bed.begin()
    mark_failure(os.fsencode(bed.data), "s", "an edit was lost\0")
    bed.end()
    (turn,) = bed.turns()
    assert (turn.complete, turn.notes) == (False, ("an edit was lost\\0",))


def test_an_event_that_the_disk_refuses_is_a_sentence(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.begin()

    def refuse(*args: object, **words: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "append", refuse)
        with pytest.raises(TakebackError, match="may not be recorded whole: No space left"):
            bed.tool_begin("e1", "f")
    bed.write("f", "two\n")
    bed.tool_end("e1", "f")
    bed.end()
    assert bed.evidence() == {"f": "no-record"}
    assert bed.turns()[0].steps[0].calls[0].missing_begin
    assert bed.project().log().damaged == []
