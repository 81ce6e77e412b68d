"""Evidence where calls overlap, ends never come, and looks fail.

The rule behind every case: an edit call explains what stood there between its two looks, a shell
call what changed while it ran and both looks succeeded; whatever cannot be told is "no-record".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from takeback.engine.model import Change, Request
from takeback.engine.record.snapshot import Snapshot, Snapshotter
from tests.bed import LINES, Bed, line


def steps(bed: Bed, change: Change) -> list[tuple[str, str, str, str]]:
    """Evidence, what stood there before and after, and the calls, of each step."""
    texts = {
        segment.key: [bed.bytes_of(s.oid) if s.oid else "" for s in (segment.before, segment.after)]
        for segment in change.segments
    }
    return [
        (segment.evidence, *texts[segment.key], " ".join(segment.call_ids))  # type: ignore[misc]
        for segment in change.segments
    ]


def of_session(bed: Bed, session: str) -> dict[str, Change]:
    (found,) = [s for s in bed.project().sessions() if s.id == session]
    return {os.fsdecode(c.path): c for turn in found.turns for c in turn.changes}


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """Within the block, every look at the project fails."""

    @contextmanager
    def block() -> Iterator[None]:
        with monkeypatch.context() as patch:
            nothing = Snapshot(None, None, (), "no look")
            patch.setattr(Snapshotter, "take", lambda *args, **words: nothing)
            yield

    return block


# --- Calls that overlap --------------------------------------------------------------------------


def overlap(bed: Bed, ends: str) -> None:
    """Two sessions edit different lines of one file, both calls open at once."""
    bed.write("f", LINES)
    bed.begin("s1")
    bed.begin("s2")
    bed.tool_begin("e1", "f", session="s1")
    bed.tool_begin("e2", "f", session="s2")
    for number in ends:
        text = bed.read("f")
        assert text is not None
        bed.write("f", line(9 * int(number), f"of s{number}", text))
        bed.tool_end(f"e{number}", session=f"s{number}")
    bed.end("s1")
    bed.end("s2")


@pytest.mark.parametrize("ends", ["12", "21"])
@pytest.mark.parametrize("undone", ["s1", "s2"])
def test_edit_calls_of_two_sessions_that_overlap_are_told_apart(
    bed: Bed, ends: str, undone: str
) -> None:
    overlap(bed, ends)
    first, second = ends
    middle = line(9 * int(first), f"of s{first}")
    last = line(9 * int(second), f"of s{second}", middle)
    changes = {name: of_session(bed, name)["f"] for name in ("s1", "s2")}
    assert steps(bed, changes[f"s{first}"]) == [("tool-edit", LINES, middle, f"e{first}")]
    assert steps(bed, changes[f"s{second}"]) == [("tool-edit", middle, last, f"e{second}")]
    bed.do(session=undone)
    other = "2" if undone == "s1" else "1"
    assert bed.read("f") == line(9 * int(other), f"of s{other}")


def test_one_edit_call_within_another_of_a_second_session(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin("s1")
    bed.begin("s2")
    bed.tool_begin("outer", "f", session="s1")
    bed.tool_begin("inner", "f", session="s2")
    bed.write("f", line(1, "inner"))
    bed.tool_end("inner", session="s2")
    bed.write("f", line(2, "outer", line(1, "inner")))
    bed.tool_end("outer", session="s1")
    bed.end("s1")
    bed.end("s2")
    assert steps(bed, of_session(bed, "s2")["f"]) == [
        ("tool-edit", LINES, line(1, "inner"), "inner")
    ]
    assert steps(bed, of_session(bed, "s1")["f"]) == [
        ("tool-edit", line(1, "inner"), line(2, "outer", line(1, "inner")), "outer")
    ]


def test_parallel_edit_calls_of_one_session_on_one_file(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin()
    bed.tool_begin("e1", "f")
    bed.tool_begin("e2", "f")
    bed.write("f", line(1, "one"))
    bed.tool_end("e1")
    bed.write("f", line(12, "two", line(1, "one")))
    bed.tool_end("e2")
    bed.end()
    assert steps(bed, bed.changes()["f"]) == [
        ("tool-edit", LINES, line(1, "one"), "e1"),
        ("tool-edit", line(1, "one"), line(12, "two", line(1, "one")), "e2"),
    ]
    bed.do(call="e1")
    assert bed.read("f") == line(12, "two")


def test_parallel_edit_calls_that_were_both_written_before_the_first_end(bed: Bed) -> None:
    """Who wrote which part, nobody can say; that both are the agent's, everybody can."""
    bed.write("f", LINES)
    bed.begin()
    bed.tool_begin("e1", "f")
    bed.tool_begin("e2", "f")
    bed.write("f", line(2, "two", line(1, "one")))
    bed.tool_end("e1")
    bed.tool_end("e2")
    bed.end()
    assert bed.evidence() == {"f": "tool-edit"}
    bed.do()
    assert bed.read("f") == LINES


def test_a_shell_call_beside_edit_calls_does_not_take_what_they_wrote(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin()
    bed.tool_begin("make")
    bed.tool_begin("e1", "f")
    bed.write("f", line(1, "edited"))
    bed.write("built", "by make\n")
    bed.tool_end("e1")
    bed.tool_end("make")
    bed.end()
    assert bed.evidence() == {"f": "tool-edit", "built": "during-call"}
    assert bed.changes()["f"].call_ids == ("e1",)
    assert bed.changes()["built"].call_ids == ("make",)


def test_what_a_shell_call_of_another_session_wrote_between_edits_is_not_ours(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin("s1")
    bed.begin("s2")
    bed.edit("f", line(1, "edited"), session="s1")
    with bed.shell("s2"):
        bed.write("f", line(10, "formatted", line(1, "edited")))
    bed.edit("f", line(19, "again", line(10, "formatted", line(1, "edited"))), session="s1")
    bed.end("s1")
    bed.end("s2")
    change = of_session(bed, "s1")["f"]
    assert [step[0] for step in steps(bed, change)] == ["tool-edit"] * 2
    assert change.evidence == "mixed"
    assert [step[0] for step in steps(bed, of_session(bed, "s2")["f"])] == ["during-call"]
    bed.do(session="s1")
    assert bed.read("f") == line(10, "formatted")


def test_a_change_while_shell_calls_of_two_sessions_run_names_both(bed: Bed) -> None:
    bed.begin("s1")
    bed.begin("s2")
    bed.tool_begin("c1", session="s1")
    bed.tool_begin("c2", session="s2")
    bed.write("made", "by one of them\n")
    bed.tool_end("c1", session="s1")
    bed.tool_end("c2", session="s2")
    bed.end("s1")
    bed.end("s2")
    change = of_session(bed, "s1")["made"]
    assert change.evidence == "during-call"
    assert set(change.call_ids) == {"c1", "c2"}


@pytest.mark.parametrize("seen", ["new\n", "", None])
def test_a_look_of_another_session_in_the_middle_of_an_edit_call_blames_nobody(
    bed: Bed, seen: str | None
) -> None:
    bed.write("f", "old\n")
    bed.begin("s1")
    bed.tool_begin("e1", "f", session="s1")
    if seen is None:
        (bed.root / "f").unlink()
    else:
        bed.write("f", seen)
    with bed.turn("s2"):
        pass
    bed.write("f", "new\n")
    bed.tool_end("e1", session="s1")
    bed.end("s1")
    assert steps(bed, of_session(bed, "s1")["f"]) == [("tool-edit", "old\n", "new\n", "e1")]
    assert of_session(bed, "s2") == {}


def test_a_look_in_the_middle_of_an_edit_call_that_finds_other_bytes_found_somebody(
    bed: Bed,
) -> None:
    bed.write("f", LINES)
    bed.begin("s1")
    bed.tool_begin("e1", "f", session="s1")
    bed.write("f", line(18, "user"))
    with bed.turn("s2"):
        pass
    bed.write("f", line(2, "agent", line(18, "user")))
    bed.tool_end("e1", session="s1")
    bed.end("s1")
    assert bed.evidence(0) == {"f": "mixed"}
    bed.do(session="s1")
    assert bed.read("f") == line(18, "user")


def test_the_same_call_id_in_two_turns_is_two_calls(bed: Bed) -> None:
    bed.write("f", LINES)
    text = LINES
    for turn in (1, 2):
        bed.begin()
        bed.write("f", text := line(22 - 4 * turn, f"user {turn}", text))
        bed.tool_begin("e1", "f")
        bed.write("f", text := line(4 * turn - 2, f"agent {turn}", text))
        bed.tool_end("e1")
        bed.end()
    keys = [s.key for turn in bed.turns() for c in turn.changes for s in c.segments]
    assert len(set(keys)) == len(keys) == 4
    bed.do(turn="1", selection="all")
    assert bed.read("f") == line(6, "agent 2", line(14, "user 2"))
    # What was taken back of the first turn still stands of the second.
    bed.do(turn="2", selection="all")
    assert bed.read("f") == LINES


def test_an_edit_call_that_ended_explains_nothing_any_more(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.edit("f", "two\n")
    with bed.shell():
        (bed.root / "f").unlink()
    with bed.shell():
        bed.write("f", "two\n")
    bed.end()
    assert [(s.evidence, s.after.kind) for s in bed.changes()["f"].segments] == [
        ("tool-edit", "file"),
        ("during-call", "absent"),
        ("during-call", "file"),
    ]


def test_edits_that_end_where_they_began_are_no_change(bed: Bed) -> None:
    bed.write("f", "one\n")
    with bed.turn():
        bed.edit("f", "two\n")
        bed.edit("f", "one\n")
    assert bed.evidence() == {}


# --- Ends that never came ------------------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
def test_an_edit_call_without_an_end_proves_nothing(bed: Bed, late: bool) -> None:
    bed.write("f", LINES)
    bed.begin()
    bed.tool_begin("e1", "f")
    bed.write("f", line(1, "by whom?"))
    (bed.begin if late else bed.end)()
    assert bed.evidence(0) == {"f": "no-record"}
    assert bed.turns()[0].steps[0].calls[0].state == "lost"


def test_an_edit_after_an_edit_call_without_an_end_is_known_again(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin()
    bed.tool_begin("lost", "f")
    bed.write("f", line(1, "by whom?"))
    bed.edit("f", line(2, "edited", line(1, "by whom?")))
    bed.end()
    found = steps(bed, bed.changes()["f"])
    assert [step[0] for step in found] == ["no-record", "tool-edit"]
    assert bed.evidence() == {"f": "mixed"}


def test_what_follows_an_edit_call_without_an_end_may_still_be_its_doing(bed: Bed) -> None:
    """The lost call may go on; no shell call can be given what it might still write."""
    bed.write("f", LINES)
    bed.begin()
    bed.tool_begin("lost", "f")
    with bed.shell():
        bed.write("f", line(1, "by whom?"))
        bed.write("other", "by the shell\n")
    bed.end()
    assert bed.evidence() == {"f": "no-record", "other": "during-call"}


def test_a_shell_call_that_was_broken_off_lasts_until_its_turn_ends(bed: Bed) -> None:
    bed.begin()
    bed.tool_begin("make")
    bed.write("made", "half\n")
    bed.end(interrupted=True)
    assert bed.evidence() == {"made": "during-call"}
    assert bed.changes()["made"].call_ids == ("make",)


def test_a_shell_call_whose_turns_end_was_noticed_late_is_not_watched_to_its_end(bed: Bed) -> None:
    bed.begin()
    bed.tool_begin("make")
    bed.write("made", "by make, or later by the user\n")
    bed.begin()
    assert bed.evidence(0) == {"made": "no-record"}
    assert bed.evidence(1) == {}


def test_a_shell_call_whose_turns_last_look_failed_is_not_watched_to_its_end(
    bed: Bed, blind: Callable[[], Any]
) -> None:
    bed.begin()
    bed.tool_begin("make")
    bed.write("made", "by whom?\n")
    with blind():
        bed.end()
    bed.write("mine", "the user's\n")
    with bed.turn():
        pass
    assert "during-call" not in bed.evidence(0).values()
    assert not bed.turns()[0].complete
    assert bed.evidence(1) == {}


@pytest.mark.parametrize("how", ["late", "blind"])
def test_a_broken_off_shell_call_beside_one_that_ended(
    bed: Bed, blind: Callable[[], Any], how: str
) -> None:
    """Nobody knows when it ended: it may have written this, or have been dead by then."""
    bed.begin()
    bed.tool_begin("broken")
    bed.write("made", "by whom?\n")
    with bed.shell():
        pass
    if how == "late":
        bed.begin()
    else:
        with blind():
            bed.end()
    assert bed.evidence(0) == {"made": "no-record"}


def test_a_turn_whose_end_is_nowhere_ends_where_the_next_begins(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_begin("make")
    bed.write("f", "two\n")
    for path in (bed.data / "open").iterdir():
        path.write_bytes(b"")  # As a loss of power leaves it.
    with bed.turn():
        pass
    bed.write("mine", "made much later by the user\n")
    with bed.turn():
        pass
    first = bed.turns()[0]
    assert bed.evidence(0) == {"f": "no-record"}
    assert (first.state, first.complete) == ("interrupted", False)
    assert [bed.evidence(at) for at in (1, 2)] == [{}, {}]


def test_the_last_turn_whose_end_is_nowhere_gets_nothing_for_ever_after(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    with bed.shell():
        bed.write("f", "two\n")
    for path in (bed.data / "open").iterdir():
        path.unlink()
    bed.plan(turn="1")  # Looks at the project once more.
    for name in ("first", "second", "third"):
        bed.write(name, "made much later by the user\n")
        bed.plan(turn="1")
    assert bed.evidence().pop("f") == "during-call"
    assert set(bed.evidence()) - {"f"} <= {"first"}
    assert bed.evidence().get("first", "no-record") == "no-record"
    bed.do(turn="1", selection="all")
    assert bed.read("f") == "one\n"
    assert {bed.read("second"), bed.read("third")} == {"made much later by the user\n"}


# --- Calls that were watched in half -------------------------------------------------------------


def test_a_shell_call_of_which_only_the_end_came_is_no_record(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.write("f", "two\n")
    bed.tool_end("make", tool="Bash", call_kind="shell", command="make")
    bed.end()
    assert bed.evidence() == {"f": "no-record"}
    assert not bed.turns()[0].complete
    assert bed.turns()[0].steps[0].calls[0].missing_begin


def test_an_edit_call_of_which_only_the_end_came_is_no_record(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.write("f", "two\n")
    bed.tool_end("e1", "f")
    bed.end()
    assert bed.evidence() == {"f": "no-record"}
    assert not bed.turns()[0].complete


def test_an_edit_call_of_which_only_the_end_came_hides_nothing_that_follows(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_end("e1", "f")
    with bed.shell():
        (bed.root / "f").unlink()
    bed.end()
    change = bed.changes()["f"]
    assert (change.after.kind, change.evidence) == ("absent", "no-record")
    bed.do(selection="all")
    assert bed.read("f") == "one\n"


def test_an_edit_call_of_which_only_the_end_came_beside_a_shell_call(bed: Bed) -> None:
    """Either of them may have written it."""
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_begin("make")
    bed.write("f", "two\n")
    bed.tool_end("e1", "f")
    bed.tool_end("make")
    bed.end()
    assert bed.evidence() == {"f": "no-record"}


def test_what_changed_before_a_call_that_was_watched_is_told_from_a_lost_one(bed: Bed) -> None:
    """A call of which only the end came may have made all that changed before its end."""
    bed.begin()
    bed.write("early", "by the user, or by the lost call\n")
    with bed.shell():
        bed.write("made", "made\n")
    bed.tool_end("lost", tool="Bash", call_kind="shell")
    bed.end()
    assert bed.evidence() == {"early": "no-record", "made": "during-call"}


def test_a_lost_call_that_ended_before_is_not_asked_for_what_came_later(bed: Bed) -> None:
    bed.begin()
    bed.tool_end("lost", tool="Bash", call_kind="shell")
    bed.write("mine", "the user's\n")
    with bed.shell():
        bed.write("made", "made\n")
    bed.end()
    assert bed.evidence() == {"mine": "outside-calls", "made": "during-call"}


def test_what_changed_between_calls_that_are_all_known_is_outside_of_them(bed: Bed) -> None:
    bed.begin()
    with bed.shell():
        bed.write("made", "made\n")
    bed.write("mine", "the user's\n")
    with bed.shell():
        pass
    bed.end()
    assert bed.evidence() == {"made": "during-call", "mine": "outside-calls"}


@pytest.mark.parametrize("failing", ["begin", "end"])
def test_a_shell_call_whose_look_failed_is_no_record(
    bed: Bed, blind: Callable[[], Any], failing: str
) -> None:
    bed.write("f", "one\n")
    bed.begin()
    if failing == "begin":
        with blind():
            bed.tool_begin("make")
    else:
        bed.tool_begin("make")
    bed.write("f", "two\n")
    if failing == "end":
        with blind():
            bed.tool_end("make")
        bed.write("mine", "the user's\n")
    else:
        bed.tool_end("make")
    bed.end()
    assert set(bed.evidence().values()) == {"no-record"}
    assert "f" in bed.evidence()


def test_the_calls_after_a_look_that_failed_are_watched_again(
    bed: Bed, blind: Callable[[], Any]
) -> None:
    bed.begin()
    with blind(), bed.shell():
        bed.write("unseen", "x\n")
    with bed.shell():
        bed.write("seen", "x\n")
    bed.end()
    assert bed.evidence()["seen"] == "during-call"
    assert bed.evidence()["unseen"] in ("no-record", "outside-calls")


def test_a_pipe_where_a_file_stood_is_never_the_same_as_the_file(bed: Bed) -> None:
    bed.write("f", "one\n")
    bed.begin()
    with bed.shell():
        (bed.root / "f").unlink()
        os.mkfifo(bed.root / "f")
    with bed.shell():
        (bed.root / "f").unlink()
        bed.write("f", "two\n")
    bed.end()
    change = bed.changes()["f"]
    assert (change.before.kind, change.after.kind) == ("file", "file")
    assert [segment.after.kind for segment in change.segments] == ["special", "file"]
    plan = bed.plan(selection="agent+during-call")
    assert [entry.action for entry in plan.entries] == ["conflict"]


def test_an_edit_call_on_a_pipe_that_stays_one_is_no_change(bed: Bed) -> None:
    os.mkfifo(bed.root / "pipe")
    bed.begin()
    bed.tool_begin("e1", "pipe")
    bed.tool_end("e1")
    bed.end()
    assert bed.evidence() == {}


def test_a_turn_that_begins_in_the_middle_of_anothers_write(bed: Bed) -> None:
    """Programs empty a file before they write it: that look is nobody's change."""
    bed.write("f", LINES)
    bed.begin("s1")
    bed.tool_begin("e1", "f", session="s1")
    bed.write("f", "")
    bed.begin("s2")
    bed.write("f", line(3, "one"))
    bed.tool_end("e1", session="s1")
    bed.tool_begin("e2", "g", session="s2")
    bed.write("g", "mine\n")
    bed.tool_end("e2", session="s2")
    bed.end("s2")
    bed.end("s1")
    assert list(of_session(bed, "s2")) == ["g"]
    assert steps(bed, of_session(bed, "s1")["f"]) == [("tool-edit", LINES, line(3, "one"), "e1")]


# --- Calls that fail, and calls that nobody can tell apart ---------------------------------------


@pytest.mark.parametrize("seen", [False, True], ids=["unseen", "seen in between"])
def test_what_a_person_writes_while_an_edit_is_refused_is_not_the_agents(
    bed: Bed, seen: bool
) -> None:
    bed.write("f", LINES)
    bed.begin()
    for call, name in (("e1", "f"), ("e2", "mine.txt")):
        bed.tool_begin(call, name)
        bed.write(name, "mine\n" + (bed.read(name) or ""))
        if seen:
            with bed.shell():
                pass
        bed.tool_end(call, failed=True)
    bed.write("f", line(5, "mine, too", bed.read("f") or ""))
    bed.end()
    changes = of_session(bed, "s")
    assert {name: change.evidence for name, change in changes.items()} == {
        "f": "outside-calls",
        "mine.txt": "outside-calls",
    }
    plan = bed.project().plan(Request("undo"))
    assert plan.stopped and not plan.takes


def test_edits_that_were_both_made_before_the_first_one_ended(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin("s1")
    bed.begin("s2")
    bed.tool_begin("e1", "f", session="s1")
    bed.tool_begin("e2", "f", session="s2")
    both = line(15, "two", line(3, "one", LINES))
    bed.write("f", both)
    bed.tool_end("e1", session="s1")
    bed.tool_end("e2", session="s2")
    bed.tool_begin("e3", "f", session="s2")
    bed.write("f", line(10, "three", both))
    bed.tool_end("e3", session="s2")
    bed.end("s1")
    bed.end("s2")
    shared = ("during-call", LINES, both, "e1 e2")
    assert steps(bed, of_session(bed, "s1")["f"]) == [shared]
    assert steps(bed, of_session(bed, "s2")["f"]) == [
        shared,
        ("tool-edit", both, line(10, "three", both), "e3"),
    ]
    project = bed.project()
    assert project.plan(Request("undo", session="s1")).stopped
    plan = project.plan(Request("undo", session="s1", selection="agent+during-call"))
    assert plan.asks
    project.apply(plan)
    assert bed.read("f") == line(10, "three", LINES)
