"""What undo and redo would take next, told without a look at any file."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.engine import Event, Part
from takeback.engine.record.snapshot import Snapshotter
from takeback.engine.undo.upcoming import Upcoming
from tests.undo.bed import LINES, Bed, line_5


def both(bed: Bed) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    undo, redo = bed.project().next_targets()
    return _short(undo), _short(redo)


def _short(found: Upcoming | None) -> tuple[str, int] | None:
    return (found.target, found.files) if found is not None else None


def agrees(bed: Bed) -> None:
    """Where nothing was changed by hand, it is the plan's own target."""
    project = bed.project()
    undo, redo = project.next_targets()
    for told, plan in ((undo, project.next_undo()), (redo, project.next_redo())):
        assert (told is None) == (plan is None)
        if told is not None and plan is not None:
            assert told.target in plan.target
            assert told.turns == plan.targets
            assert told.files == len(plan.entries)


def test_nothing_was_recorded(bed: Bed) -> None:
    assert both(bed) == (None, None)


def test_it_follows_undo_and_redo(bed: Bed) -> None:
    bed.turn(f="1\n")
    bed.turn(f="2\n", g="2\n")
    assert both(bed) == (("turn 2", 2), None)
    agrees(bed)
    bed.do()
    assert both(bed) == (("turn 1", 1), ("turn 2", 2))
    agrees(bed)
    bed.do()
    assert both(bed) == (None, ("turn 1", 1))
    agrees(bed)
    bed.do("redo")
    assert both(bed) == (("turn 1", 1), ("turn 2", 2))
    agrees(bed)
    bed.do(parts=(Part("1", b"f"),))
    assert both(bed) == (None, ("1 file of turn 1", 1))


def test_a_goto_is_what_a_plain_undo_takes_back(bed: Bed) -> None:
    bed.turn(f="1\n")
    bed.turn(f="2\n")
    bed.do("goto", turn="1")
    assert both(bed) == (("goto of turn 1@after", 1), None)
    undo, _ = bed.project().next_targets()
    assert undo is not None and undo.operation == bed.project().operations()[-1].id


def test_what_was_left_in_conflict_is_passed_over(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.turn(h="1\n")
    bed.turn(f=line_5("agent"), g="2\n")
    bed.write("f", line_5("user"))
    bed.do()
    assert both(bed) == (("turn 1", 1), ("turn 2", 1))


def test_a_turn_of_unknown_origin_and_a_running_one_are_marked(bed: Bed) -> None:
    with bed.project().turn("s") as turn, turn.shell("make"):
        bed.write("made", "x\n")
    undo, _ = bed.project().next_targets()
    assert undo is not None and undo.stopped and (undo.target, undo.files) == ("turn 1", 1)
    project = bed.project()
    project.record(Event("begin", "s", project.root))
    project.record(Event("tool-begin", "s", project.root, call="c", tool="x", call_kind="shell"))
    undo, _ = project.next_targets()
    assert undo is not None and undo.running and undo.target == "turn 2"


def test_a_session_can_be_asked_about_alone(bed: Bed) -> None:
    bed.turn(f="1\n")
    with bed.project().turn("other") as turn, turn.edit("g"):
        bed.write("g", "1\n")
    undo, _ = bed.project().next_targets("s")
    assert undo is not None and undo.target == "turn 1"


def test_no_scan_is_made(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    bed.turn(f="1\n")

    def scan(*_: object, **__: object) -> None:
        raise AssertionError("a scan was made")

    monkeypatch.setattr(Snapshotter, "take", scan)
    assert both(bed) == (("turn 1", 1), None)
    with pytest.raises(AssertionError):
        bed.project().next_undo()


def test_a_project_that_is_gone_is_told_from_its_record(bed: Bed, tmp_path: Path) -> None:
    bed.turn(f="1\n")
    project = bed.project()
    bed.root.rename(tmp_path / "elsewhere")
    assert _short(project.next_targets()[0]) == ("turn 1", 1)
