"""What the undo panel knows and says, on plans of real recordings, without a screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from takeback.engine import Project, Request
from takeback.engine.model import Part, Plan, Turn
from takeback.tui import choice, plan_rows, result_rows
from takeback.tui.choice import Choice
from takeback.tui.glyphs import ASCII, UNICODE
from takeback.tui.result_rows import Result
from takeback.tui.widgets.row_list import Row
from tests.undo.bed import LINES, Bed, line_5


def turns_of(project: Project) -> tuple[Turn, ...]:
    return tuple(turn for session in project.sessions(counts=True) for turn in session.turns)


def panel(bed: Bed, kind: str = "undo", **words: object) -> Choice:
    project = bed.project()
    request = Request(kind, **words)  # type: ignore[arg-type]
    return choice.opened(request, project.plan(request), turns_of(project))


def planned(bed: Bed, found: Choice) -> Choice:
    """The panel with the plan for what is ticked and chosen."""
    request = found.request()
    assert request is not None
    again = found.again(bed.project().plan(request))
    assert again is not None
    return again


def actions(found: Choice) -> dict[bytes, str]:
    assert found.plan is not None
    return {entry.path: entry.action for entry in found.plan.entries}


def texts(rows: list[Row]) -> list[str]:
    boxes = {"": "", "on": "[x] ", "off": "[ ] ", "some": "[-] "}
    return [
        boxes[row.box] + " ".join(s.text.strip() for s in (*row.lead, *row.cells) if s.text.strip())
        for row in rows
    ]


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    return Bed(tmp_path)


@pytest.fixture
def mixed(bed: Bed) -> Bed:
    """Turn 1 edited four files; f overlaps with the user's edit, h merges, d is gone since."""
    for name in "fghd":
        bed.write(name, LINES)
    bed.turn(**{name: line_5("agent") for name in "fghd"})
    bed.write("f", line_5("user"))
    bed.write("h", line_5("agent").replace("line 15\n", "user\n"))
    (bed.root / "d").unlink()
    return bed


def test_a_file_that_changed_since_goes_through_its_choices(mixed: Bed) -> None:
    found = panel(mixed)
    assert actions(found) == {b"f": "conflict", b"g": "restore", b"h": "merge", b"d": "keep"}
    assert found.ways(b"g") == ()
    assert found.ways(b"d") == ("merge", "whole")
    seen = []
    for _ in range(3):
        found = planned(mixed, found.turned(b"f"))
        seen.append((found.way(b"f"), actions(found)[b"f"]))
    assert seen == [("keep", "keep"), ("whole", "restore"), ("merge", "conflict")]
    seen = []
    for _ in range(3):
        found = planned(mixed, found.turned(b"h"))
        seen.append((found.way(b"h"), actions(found)[b"h"]))
    assert seen == [("keep", "keep"), ("whole", "restore"), ("merge", "merge")]
    found = planned(mixed, found.turned(b"d"))
    assert actions(found)[b"d"] == "restore"


def test_what_is_left_alone_has_no_tick_until_it_is_taken_back_whole(mixed: Bed) -> None:
    found = panel(mixed)
    assert set(found.can_tick) == {b"g", b"h"}
    assert found.ticked == {b"g", b"h"}
    whole = planned(mixed, found.chosen([b"f"], "whole"))
    assert set(whole.can_tick) == {b"f", b"g", b"h"}
    assert any(text.startswith("[x] restore f") for text in texts(plan_rows.rows(whole, UNICODE)))
    # Without its tick it is in conflict again, whatever was chosen before.
    bare = planned(mixed, whole.toggled([b"f"]))
    assert actions(bare)[b"f"] == "conflict"
    assert bare.asks


def test_a_narrowed_choice_names_exactly_its_files(mixed: Bed) -> None:
    found = panel(mixed).chosen([b"f"], "whole").toggled([b"g"])
    request = found.request()
    assert request is not None
    assert request.paths == (b"f", b"h")
    assert request.overwrite == (b"f",)
    assert set(actions(planned(mixed, found))) == {b"f", b"h"}
    assert panel(mixed).toggled([b"g", b"h"]).request() is None


def test_later_plans_are_for_the_target_of_the_first(mixed: Bed) -> None:
    found = panel(mixed)
    mixed.turn(later="new\n")
    request = found.request()
    assert request is not None
    assert request.turn == found.turn
    assert mixed.project().plan(request).target == "turn 1"
    assert mixed.project().plan(Request("undo")).target == "turn 2"


def test_a_marked_set_lists_only_what_it_is_about(bed: Bed) -> None:
    bed.turn(f="1\n", g="1\n", h="1\n")
    found = panel(bed, parts=(Part("1", b"f"), Part("1", b"g")))
    assert [file.path for file in found.files] == [b"f", b"g"]
    assert actions(planned(bed, found.toggled([b"g"]))) == {b"f": "delete"}


def test_a_redo_is_pinned_to_its_operation(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.turn(f="2\n")
    bed.do()
    found = panel(bed, "redo")
    request = found.request()
    assert request is not None
    assert request.op == found.first.reverses
    assert not found.can_choose


def test_a_plan_for_something_else_is_no_newer_plan_of_this_panel(mixed: Bed) -> None:
    found = panel(mixed)
    mixed.turn(later="new\n")
    assert found.again(mixed.plan()) is None


def test_a_yes_for_a_running_turn_does_not_close_the_next_one(mixed: Bed) -> None:
    found = panel(mixed, while_running=True)
    assert not found.base.while_running
    agreed = replace(found, base=replace(found.base, while_running=True))
    assert agreed.first == mixed.plan(turn="1")
    again = agreed.again(mixed.plan(turn="1"))
    assert again is not None
    assert not again.base.while_running


def test_what_a_newer_plan_meets_is_listed_and_ticked(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.write("g", "1\n")
    bed.turn(f="2\n", g="2\n")
    bed.write("g", "1\n")
    found = panel(bed)
    assert found.ticked == {b"f"}
    bed.write("g", "2\n")
    bed.write("f", "1\n")
    found = planned(bed, found)
    assert actions(found) == {b"g": "restore"}
    assert found.ticked == {b"f", b"g"}
    said = texts(plan_rows.rows(found, UNICODE))
    assert any(text.startswith("[x] restore g") for text in said)
    assert any(t.startswith("[x] as is f") and "stands as before already" in t for t in said)
    assert found.request() == Request("undo", turn=found.turn)


def differing(bed: Bed, first: Plan) -> bool:
    return choice.differs(first, bed.plan())


def test_plans_differ_by_what_would_happen_only(mixed: Bed) -> None:
    first = mixed.plan()
    assert not differing(mixed, first)
    (mixed.root / "g").touch()
    assert not differing(mixed, first)
    mixed.write("h", line_5("agent").replace("line 16\n", "user\n"))
    assert differing(mixed, first)


def test_neighbours_are_turns_of_which_something_stands(bed: Bed) -> None:
    for number in range(1, 5):
        bed.turn(**{f"f{number}": "x\n"})
    bed.do(turn="2")
    turns = turns_of(bed.project())
    at = [turn for turn in turns if turn.n == 3]
    older, newer = choice.neighbour(turns, at, -1), choice.neighbour(turns, at, 1)
    assert older is not None
    assert newer is not None
    assert (older.n, newer.n) == (1, 4)
    assert choice.neighbour(turns, [older], -1) is None
    found = panel(bed)
    after = plan_rows.next_turn(found, bed.project().operations())
    assert after is not None
    assert after.n == 3
    assert plan_rows.after_words(after) == "Next undo then: turn 3."


# --- Rows and sentences --------------------------------------------------------------------------


def test_rows_say_who_when_and_what_is_chosen(mixed: Bed) -> None:
    found = panel(mixed)
    said = texts(plan_rows.rows(found, UNICODE))
    (row,) = [text for text in said if text.startswith("[x] merge h")]
    assert "merged with later edits (c: other choice)" in row
    (row,) = [text for text in said if text.startswith("[x] restore g")]
    assert "edited by edit #2, " in row
    assert row.rpartition(", ")[2].count(":") == 2
    assert any(t.startswith("⚠ h: merged, the later edit stays: edited since at ") for t in said)
    at = said.index("⚠ Conflicts, left alone")
    assert said[at + 1] == "f overlaps with later changes; c: keep it, or take it back whole"
    at = said.index("Kept as they are")
    assert said[at + 1] == "d deleted since; c: bring it back"
    found = planned(mixed, found.chosen([b"h"], "keep").chosen([b"f", b"d"], "whole"))
    said = texts(plan_rows.rows(found, UNICODE))
    assert any(t.startswith("[x] keep h") and "kept, your choice" in t for t in said)
    assert any(t.startswith("[x] restore f") and "taken back whole, your choice" in t for t in said)
    gone = "⚠ f: taken back whole, the later edit goes (redo brings it back): edited since at "
    assert any(text.startswith(gone) for text in said)
    assert "⚠ d: brought back, your choice: it was deleted since." in said
    assert "⚠ Conflicts, left alone" not in said


def test_a_later_turn_is_named_as_the_editor(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.turn(f=line_5("agent"))
    bed.turn(f=line_5("agent").replace("line 15\n", "later\n"))
    said = texts(plan_rows.rows(panel(bed, turn="1"), ASCII))
    assert "! f: merged, the later edit stays: edited by turn 2 since." in said


def test_the_summary_names_the_way_back_git_and_the_next_target(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.turn(f="2\n", new="x\n")
    found = panel(bed)
    assert plan_rows.summary(found, git=True, after="Next undo then: turn 8.") == [
        "enter: restores 1 file and deletes 1 file. Redo (ctrl+x r) brings all of it back.",
        "Git HEAD, index and branches are not touched. Next undo then: turn 8.",
    ]
    assert plan_rows.summary(found) == [
        "enter: restores 1 file and deletes 1 file. Redo (ctrl+x r) brings all of it back."
    ]
    bed.do()
    assert plan_rows.summary(panel(bed, "redo"))[-1].endswith(
        "Undo (ctrl+x u) takes all of it back."
    )


def test_the_title_has_target_time_and_steps(bed: Bed) -> None:
    bed.turn(f="2\n")
    assert plan_rows.title(panel(bed)).startswith("Undo of turn 1  20")
    assert plan_rows.title(panel(bed)).endswith("1 step")


def test_the_preview_goes_from_now_to_afterwards(mixed: Bed) -> None:
    found = panel(mixed)

    def key(name: str) -> str:
        return f"file:{name.encode().hex()}"

    (change,), title = plan_rows.preview(found, key("h"))
    assert title == "h: now → after undo"
    assert found.plan is not None
    entry = next(e for e in found.plan.entries if e.path == b"h")
    assert (change.before, change.after) == (entry.expect, entry.want)
    (change,), title = plan_rows.preview(found, key("f"))
    assert title == "f: left alone; taken back whole it would be"
    assert change.after.oid == next(e for e in found.plan.entries if e.path == b"g").want.oid
    found = planned(mixed, found.toggled([b"g"]))
    (change,), title = plan_rows.preview(found, key("g"))
    assert title == "g: not ticked; the turn's change, reversed"
    changes, title = plan_rows.preview(found, "group:agent-edited")
    assert [change.path for change in changes] == [b"h"]
    assert title == "now → after undo: 1 file"
    assert plan_rows.preview(found, "effects:0")[0] == ()


def test_the_result_says_what_was_left_and_how_to_regret_it(mixed: Bed) -> None:
    project = mixed.project()
    plan = project.plan(Request("undo"))
    result = Result(project.apply(plan), turns_of(project), 0.0414, (b"z",), git=True)
    assert result.opens
    assert result_rows.sentence(result) == (
        "Took back turn 1: 2 files in 41 ms. 1 merged, 1 not ticked, left as they are, 1 kept, "
        "1 in conflict, left alone. ctrl+x r puts it back."
    )
    said = texts(result_rows.rows(result, UNICODE))
    assert said[:2] == ["⚠ Left alone: in conflict 1 file", "f overlaps with later changes"]
    assert "d deleted since" in said
    assert "Merged: later edits stay 1 file" in said
    assert f"On the command line: takeback redo {result.outcome.operation}" in said
    redo = project.plan(Request("redo"))
    again = Result(project.apply(redo), (), 2.34)
    assert result_rows.sentence(again).startswith("Put back turn 1 (op")
    late = result_rows.sentence(replace(again, too_late=True))
    assert late == f"It was too late to cancel. {result_rows.sentence(again)}"
    assert result_rows.sentence(again).endswith("in 2.3 s. ctrl+x u takes it back again.")


def test_a_clean_result_does_not_open(bed: Bed) -> None:
    bed.turn(f="2\n")
    project = bed.project()
    plan = project.plan(Request("undo"))
    result = Result(project.apply(plan), took_s=0.001)
    assert not result.opens
    assert result_rows.sentence(result) == (
        "Took back turn 1: 1 file in 1 ms. ctrl+x r puts it back."
    )


def test_a_file_that_was_deleted_since_says_so_however_it_is_ticked(bed: Bed) -> None:
    bed.write("a", "1\n")
    with bed.project().turn("s") as turn:
        with turn.edit("b"):
            bed.write("b", "2\n")
        with turn.shell("sed"):
            bed.write("a", "2\n")
    with bed.project().turn("s") as turn, turn.shell("rm"):
        (bed.root / "a").unlink()
    found = panel(bed, turn="1")
    every = planned(bed, found.toggled([b"a"]))
    assert actions(every)[b"a"] == "keep"
    said = texts(plan_rows.rows(every, UNICODE))
    assert "⚠ a: kept as it is: deleted since; c brings it back." in said
    alone = planned(bed, found.toggled([b"b"]).toggled([b"a"]))
    assert actions(alone)[b"a"] == "restore"
    said = texts(plan_rows.rows(alone, UNICODE))
    assert "⚠ a: brought back, your choice: it was deleted since." in said
