"""What undo and redo reach next, and what stands afterwards, on real projects."""

from __future__ import annotations

import time

import pytest

from takeback.engine.errors import NothingToDo
from takeback.engine.undo import oplog
from tests.undo.bed import LINES, Bed, line_5

# --- Names of operations -------------------------------------------------------------------------


def test_an_operation_never_gets_the_name_of_another(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.turn(f="2\n")
    counters = bed.store_file("counters").read_bytes()
    bed.do()
    bed.store_file("counters").write_bytes(counters)  # As a loss of power leaves them.
    bed.do("redo")
    assert bed.read("f") == "2\n"
    assert bed.states() == [("undo", "undone"), ("redo", "done")]
    assert bed.undone() == {"f": False}


def test_an_operation_with_a_name_that_is_taken_is_logged_all_the_same(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.turn(f="2\n")
    bed.do()
    store = bed.project().store
    assert store is not None
    line = next(store.lines(oplog.NAME))
    oplog.append(store, line)
    other = {**line, "t": line["t"] + 1}
    oplog.append(store, other)
    oplog.append(store, other)
    assert len({op.id for op in bed.project().operations()}) == 2
    assert len(list(store.lines(oplog.NAME))) == 2


# --- What an applied undo left alone -------------------------------------------------------------


def conflict_in_turn_2(bed: Bed) -> None:
    for name in "fg":
        bed.write(name, LINES)
    bed.write("h", "1\n")
    bed.turn(h="2\n")
    bed.turn(f=line_5("agent"), g=line_5("agent"))
    bed.write("f", line_5("user"))
    plan = bed.do()
    assert plan.target == "turn 2"
    assert [entry.path for entry in plan.conflicts] == [b"f"]


def test_a_conflict_left_by_an_undo_does_not_hold_the_walk(bed: Bed) -> None:
    conflict_in_turn_2(bed)
    assert bed.do().target == "turn 1"
    assert bed.read("h") == "1\n"


@pytest.mark.parametrize(
    "words", [{"turn": "2"}, {"paths": (b"f",)}, {"on_conflict": "overwrite"}], ids=str
)
def test_a_conflict_left_by_an_undo_is_reached_by_name_or_overwrite(
    bed: Bed, words: dict[str, object]
) -> None:
    conflict_in_turn_2(bed)
    plan = bed.plan(**words)
    assert plan.target == "turn 2"
    assert [entry.path for entry in plan.entries] == [b"f"]


def test_what_an_undo_did_not_select_is_reached_by_a_wider_selection(bed: Bed) -> None:
    bed.write("h", "1\n")
    bed.turn(h="2\n")
    with bed.project().turn("s") as turn:
        with turn.edit("f"):
            bed.write("f", "agent\n")
        with turn.shell("make"):
            bed.write("unknown", "x\n")
    assert bed.do().target == "turn 2"
    assert bed.plan().target == "turn 1"
    assert bed.plan(selection="agent+during-call").target == "turn 2"


def test_a_turn_whose_undo_was_put_back_holds_the_walk_again(bed: Bed) -> None:
    conflict_in_turn_2(bed)
    bed.do("redo")
    assert bed.plan().target == "turn 2"


def test_an_undo_of_one_call_leaves_the_rest_of_its_turn_next(bed: Bed) -> None:
    bed.write("h", "1\n")
    bed.turn(h="2\n")
    bed.turn(f="f\n", g="g\n")
    call = bed.project().sessions()[0].turns[1].calls[0]
    bed.do(call=call.id)
    plan = bed.plan()
    assert plan.target == "turn 2"
    assert [entry.path for entry in plan.writes] == [b"g"]


def test_an_undo_of_chosen_files_leaves_the_rest_of_its_turn_next(bed: Bed) -> None:
    bed.write("h", "1\n")
    bed.turn(h="2\n")
    bed.turn(f="f\n", g="g\n")
    bed.do(paths=(b"f",))
    plan = bed.plan()
    assert plan.target == "turn 2"
    assert [entry.path for entry in plan.writes] == [b"g"]


def test_a_conflict_left_by_an_undo_of_chosen_files_does_not_hold_the_walk(bed: Bed) -> None:
    for name in "fg":
        bed.write(name, LINES)
    bed.write("h", "1\n")
    bed.turn(h="2\n")
    bed.turn(f=line_5("agent"), g=line_5("agent"))
    bed.write("f", line_5("user"))
    bed.do(paths=(b"f", b"g"))
    assert bed.plan().target == "turn 1"


def test_a_conflict_that_was_overwritten_and_put_back_holds_the_walk_again(bed: Bed) -> None:
    conflict_in_turn_2(bed)
    bed.do(on_conflict="overwrite")
    bed.do("redo")
    assert bed.plan().target == "turn 2"


# --- Files that the user renamed -----------------------------------------------------------------


def renamed(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.write("h", "1\n")
    bed.turn(f=line_5("agent"), h="2\n")
    (bed.root / "f").rename(bed.root / "g")


def test_a_renamed_file_that_undo_skips_still_stands(bed: Bed) -> None:
    renamed(bed)
    bed.config.write_text('undo_skip = ["g"]\n')
    bed.do()
    assert bed.read("g") == line_5("agent")
    assert bed.undone() == {"f": False, "h": True}


def test_a_renamed_file_in_conflict_is_not_put_back_by_redo(bed: Bed) -> None:
    renamed(bed)
    bed.do()
    assert bed.read("g") == LINES
    assert bed.undone() == {"f": True, "h": True}
    bed.write("g", line_5("user"))
    plan = bed.do("redo")
    assert [entry.path for entry in plan.conflicts] == [b"g"]
    assert bed.undone() == {"f": True, "h": False}


def test_redo_of_a_renamed_file_makes_its_change_stand_again(bed: Bed) -> None:
    renamed(bed)
    bed.do()
    bed.do("redo")
    assert bed.read("g") == line_5("agent")
    assert bed.undone() == {"f": False, "h": False}


def test_an_empty_file_is_not_taken_for_a_renamed_one(bed: Bed) -> None:
    bed.write("f", "content\n")
    bed.turn(f="")
    (bed.root / "f").rename(bed.root / "g")
    assert [entry.reason for entry in bed.plan().entries] == ["deleted since"]


def test_a_file_that_stood_there_before_is_not_taken_for_a_renamed_one(bed: Bed) -> None:
    bed.write("f", "content\n")
    bed.write("lib/copy", "same\n")
    bed.turn(f="same\n")
    (bed.root / "f").unlink()
    assert [entry.reason for entry in bed.plan().entries] == ["deleted since"]


def test_a_renamed_file_with_a_copy_is_not_followed(bed: Bed) -> None:
    renamed(bed)
    bed.write("copy", line_5("agent"))
    assert [(e.path, e.reason) for e in bed.plan().entries if e.action == "keep"] == [
        (b"f", "deleted since")
    ]


# --- Redo of a part ------------------------------------------------------------------------------


def half_redone(bed: Bed) -> str:
    """An undo of two files of which redo could put back one; its id."""
    for name in "fg":
        bed.write(name, LINES)
    bed.turn(f=line_5("agent"), g=line_5("agent"))
    bed.do()
    bed.write("f", line_5("user"))
    plan = bed.do("redo")
    assert [entry.path for entry in plan.conflicts] == [b"f"]
    assert bed.undone() == {"f": True, "g": False}
    return bed.project().operations()[0].id


@pytest.mark.parametrize("named", [False, True], ids=["plain", "by its id"])
def test_the_rest_of_a_redo_that_met_a_conflict_can_be_put_back(bed: Bed, named: bool) -> None:
    op = half_redone(bed)
    assert bed.states() == [("undo", "done"), ("redo", "done")]
    bed.write("g", "the user's later work\n")
    plan = bed.do("redo", op=op if named else "", on_conflict="overwrite")
    assert [entry.path for entry in plan.entries] == [b"f"]
    assert bed.read("f") == line_5("agent")
    assert bed.read("g") == "the user's later work\n"
    assert bed.undone() == {"f": False, "g": False}
    assert bed.states() == [("undo", "undone"), ("redo", "done"), ("redo", "done")]
    with pytest.raises(NothingToDo):
        bed.plan("redo")


def test_what_was_put_back_and_taken_again_comes_back_by_the_newer_undo(bed: Bed) -> None:
    half_redone(bed)
    assert [entry.path for entry in bed.do().writes] == [b"g"]
    assert [entry.path for entry in bed.do("redo").writes] == [b"g"]
    assert bed.undone() == {"f": True, "g": False}


def test_a_file_that_is_gone_does_not_keep_redo_from_older_undos(bed: Bed) -> None:
    for name in "fgh":
        bed.write(name, "1\n")
    bed.turn(h="2\n")
    bed.turn(f="2\n", g="2\n")
    bed.do(turn="1")
    bed.do(turn="2")
    (bed.root / "f").unlink()
    assert [entry.path for entry in bed.do("redo").writes] == [b"g"]
    assert [entry.path for entry in bed.plan("redo").writes] == [b"h"]


def test_a_goto_that_was_taken_back_and_put_back_stands(bed: Bed) -> None:
    bed.write("f", "0\n")
    bed.turn(f="1\n")
    bed.turn(f="2\n")
    bed.do("goto", turn="1")
    bed.do()
    assert bed.states() == [("goto", "undone"), ("undo", "done")]
    bed.do("redo")
    assert bed.read("f") == "1\n"
    assert bed.states() == [("goto", "done"), ("undo", "undone"), ("redo", "done")]


# --- Right after a goto --------------------------------------------------------------------------


def gone_to_turn_1(bed: Bed) -> None:
    bed.write("f", "0\n")
    bed.turn(f="1\n")
    bed.turn(f="2\n")
    bed.do("goto", turn="1")
    assert bed.read("f") == "1\n"


def an_hour_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() - 3600 * 10**9)


def test_a_turn_after_a_goto_is_what_undo_takes_whatever_the_clock_says(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_to_turn_1(bed)
    an_hour_back(monkeypatch)
    bed.turn(new="new\n")
    assert bed.plan().target == "turn 3"


def test_redo_asks_for_a_turn_after_the_undo_whatever_the_clock_says(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.write("f", "1\n")
    bed.turn(f="2\n")
    bed.do()
    an_hour_back(monkeypatch)
    bed.turn(new="new\n")
    assert bed.plan("redo").asks == ("The session began turn 2 after the undo.",)


def test_a_goto_that_the_user_took_back_by_hand_does_not_end_the_walk(bed: Bed) -> None:
    bed.write("h", "1\n")
    bed.turn(h="2\n")
    gone_to = bed.project().sessions()[0].turns[0].n
    bed.turn(f="f\n")
    bed.do("goto", turn=str(gone_to))
    assert bed.read("f") is None
    bed.write("f", "f\n")
    plan = bed.do()
    assert plan.target == "turn 1"
    assert bed.read("h") == "1\n"
