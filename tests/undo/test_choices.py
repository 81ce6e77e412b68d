"""Keep, merge or overwrite, chosen file by file, on real projects."""

from __future__ import annotations

import pytest

from takeback.engine import Request
from takeback.engine.model import Plan
from tests.undo.bed import LINES, Bed, line_5

MERGED = LINES.replace("line 15\n", "user\n")


def actions(plan: Plan) -> dict[bytes, str]:
    return {entry.path: entry.action for entry in plan.entries}


@pytest.fixture
def mixed(bed: Bed) -> Bed:
    """Turn 1 edited three files; f and g overlap with the user's edits, h merges."""
    for name in "fgh":
        bed.write(name, LINES)
    bed.turn(f=line_5("agent"), g=line_5("agent"), h=line_5("agent"))
    bed.write("f", line_5("user"))
    bed.write("g", line_5("user"))
    bed.write("h", line_5("agent").replace("line 15\n", "user\n"))
    return bed


def test_each_file_is_decided_by_its_own_choice(mixed: Bed) -> None:
    assert actions(mixed.plan()) == {b"f": "conflict", b"g": "conflict", b"h": "merge"}
    plan = mixed.do(keep=(b"g", b"h"), overwrite=(b"f",))
    assert actions(plan) == {b"f": "restore", b"g": "keep", b"h": "keep"}
    assert plan.asks == ("1 file with later content would be overwritten or deleted.",)
    assert mixed.read("f") == LINES
    assert mixed.read("g") == line_5("user")


def test_what_is_not_named_follows_the_request(mixed: Bed) -> None:
    plan = mixed.plan(on_conflict="overwrite", keep=(b"g",))
    assert actions(plan) == {b"f": "restore", b"g": "keep", b"h": "restore"}
    plan = mixed.plan(on_conflict="keep", overwrite=(b"g",))
    assert actions(plan) == {b"f": "keep", b"g": "restore", b"h": "keep"}
    assert plan.conflicts == ()


def test_a_file_that_is_named_twice_is_kept(mixed: Bed) -> None:
    assert actions(mixed.plan(keep=(b"f",), overwrite=(b"f",)))[b"f"] == "keep"


def test_choices_hold_in_redo_too(mixed: Bed) -> None:
    mixed.do(on_conflict="overwrite")
    for name in "fgh":
        mixed.write(name, line_5("user again"))
    assert set(actions(mixed.plan("redo")).values()) == {"conflict"}
    plan = mixed.do("redo", keep=(b"g",), overwrite=(b"f",))
    assert actions(plan) == {b"f": "restore", b"g": "keep", b"h": "conflict"}
    assert mixed.read("f") == line_5("user")
    assert mixed.read("g") == line_5("user again")


def test_a_redo_of_which_all_is_kept_goes_to_no_older_undo(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.write("g", "1\n")
    bed.turn(f="2\n")
    bed.turn(g="2\n")
    bed.do()
    bed.do()
    bed.write("f", "user\n")
    plan = bed.plan("redo", keep=(b"f",))
    assert actions(plan) == {b"f": "keep"}


def test_a_plan_made_again_keeps_the_choices_and_ignores_what_has_nothing_to_do(
    mixed: Bed,
) -> None:
    request = Request("undo", turn="1", keep=(b"g",), overwrite=(b"f", b"no/such/file"))
    mixed.project().plan(request)
    mixed.write("f", LINES)  # The user took it back by hand.
    mixed.write("h", line_5("user"))
    assert actions(mixed.project().plan(request)) == {b"g": "keep", b"h": "conflict"}


def test_a_conflict_left_alone_is_reached_where_it_is_overwritten_by_name(mixed: Bed) -> None:
    mixed.do()
    assert mixed.plan(overwrite=(b"f",)).target == "turn 1"
    assert actions(mixed.plan(overwrite=(b"f",)))[b"f"] == "restore"


def test_a_file_deleted_since_comes_back_where_it_is_overwritten_by_name(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.write("g", "1\n")
    bed.turn(f="2\n", g="2\n")
    (bed.root / "f").unlink()
    (bed.root / "g").unlink()
    bed.do(overwrite=(b"f",))
    assert (bed.read("f"), bed.read("g")) == ("1\n", None)


@pytest.mark.parametrize("choice", ["keep", "overwrite"])
def test_a_choice_for_a_renamed_file_counts_under_either_name(bed: Bed, choice: str) -> None:
    bed.write("f", LINES)
    bed.turn(f=line_5("agent"))
    (bed.root / "f").rename(bed.root / "moved")
    assert set(actions(bed.do())) == {b"moved"}
    bed.write("moved", line_5("user"))
    assert actions(bed.plan("redo")) == {b"moved": "conflict"}
    for name in (b"f", b"moved"):
        met = actions(bed.plan("redo", **{choice: (name,)}))
        assert met == {b"moved": "keep" if choice == "keep" else "restore"}
