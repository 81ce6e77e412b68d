"""What turns did together, and which later turns edit the same file."""

from __future__ import annotations

import pytest

from takeback.engine import Part
from takeback.engine.errors import UsageError
from takeback.engine.model import ABSENT, Change, FileState, Segment, Session, Turn
from takeback.engine.timeline.later import later_edits
from takeback.engine.timeline.net import BETWEEN, net
from tests.undo.bed import Bed


@pytest.fixture
def bed(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> Bed:
    bed = Bed(tmp_path)  # type: ignore[arg-type]
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(bed.config.parent))
    return bed


def state(text: str) -> FileState:
    return FileState("file", 0o644, text.ljust(40, "0")) if text else ABSENT


def step(before: str, after: str, seq: int, path: bytes = b"f") -> Segment:
    return Segment(
        path, state(before), state(after), "tool-edit", f"key {seq}", (f"c{seq}",), seq=seq
    )


def change(*segments: Segment, undone: bool = False) -> Change:
    return Change(
        segments[0].path, segments[0].before, segments[-1].after, "tool-edit",
        tuple(c for s in segments for c in s.call_ids), segments, undone,
    )  # fmt: skip


def turn(n: int, *changes: Change, session: str = "s") -> Turn:
    return Turn(
        f"t{n}", n, session, "", "complete", 0, 0, None, None, True, (), (), changes, seq=n
    )  # fmt: skip


def session(*turns: Turn) -> Session:
    return Session("s", "", "", "complete", 0, 0, turns)


def test_steps_that_join_are_one_difference() -> None:
    found = net([turn(1, change(step("a", "b", 1))), turn(2, change(step("b", "c", 2)))])
    assert [(c.before, c.after, c.note) for c in found] == [(state("a"), state("c"), "")]
    assert found[0].call_ids == ("c1", "c2")


def test_the_order_is_the_ledgers_and_not_that_of_the_marks() -> None:
    first, second = turn(1, change(step("a", "b", 1))), turn(2, change(step("b", "c", 2)))
    assert net([second, first]) == net([first, second])


def test_edits_of_turns_that_overlap_are_joined_step_by_step() -> None:
    one = turn(1, change(step("a", "b", 1), step("c", "d", 3)))
    two = turn(2, change(step("b", "c", 2)))
    assert [(c.before, c.after, c.note) for c in net([one, two])] == [(state("a"), state("d"), "")]
    assert [c.note for c in net([one])] == [BETWEEN]


def test_an_edit_in_between_by_another_turn_is_said() -> None:
    found = net([turn(1, change(step("a", "b", 1))), turn(3, change(step("c", "d", 3)))])
    assert [(c.before, c.after, c.note) for c in found] == [(state("a"), state("d"), BETWEEN)]


def test_a_path_that_ends_where_it_began_is_left_out() -> None:
    made, gone = turn(1, change(step("", "a", 1))), turn(2, change(step("a", "", 2)))
    assert net([made, gone]) == ()
    assert [c.status for c in net([made])] == ["added"]


def test_a_step_that_two_turns_share_counts_once() -> None:
    shared = change(step("a", "b", 1))
    assert net([turn(1, shared), turn(2, shared)]) == (shared,)


def test_a_project_gives_net_changes_with_numbers_of_lines(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.turn(f="1\n2\n", g="x\n")
    bed.turn(f="1\n2\n3\n")
    bed.turn(g="y\n", f="1\n2\n3\n4\n")
    project = bed.project()
    found = project.net_changes(["3", "1"])
    assert [(c.path, c.plus, c.minus, c.note) for c in found] == [
        (b"f", 3, 0, BETWEEN),
        (b"g", 1, 0, ""),
    ]
    assert b"+y" in project.diff(found)
    with pytest.raises(UsageError):
        project.net_changes(["1", "9"])


def test_later_turns_count_where_they_stand() -> None:
    found = later_edits(
        [
            session(turn(1, change(step("a", "b", 1))), turn(4, change(step("d", "e", 4)))),
            session(
                turn(2, change(step("b", "c", 2)), change(step("", "x", 2, b"g"))),
                turn(3, change(step("c", "d", 3), undone=True)),
            ),
        ]
    )
    assert dict(found) == {
        ("t1", b"f"): (2, 4),
        ("t2", b"f"): (4,),
        ("t2", b"g"): (),
        ("t3", b"f"): (4,),
        ("t4", b"f"): (),
    }
    assert found.get(("t1", b"none"), ()) == ()


def test_an_undo_takes_a_turn_out_of_the_later_ones(bed: Bed) -> None:
    for text in "abc":
        bed.turn(f=text)
    first = bed.project().sessions()[0].turns[0].id
    assert later_edits(bed.project().sessions())[first, b"f"] == (2, 3)
    bed.do(parts=(Part("3"),))
    assert later_edits(bed.project().sessions())[first, b"f"] == (2,)
