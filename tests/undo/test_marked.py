"""Undo of a marked set: turns, files and calls of any sessions at once, on real projects."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine import Event, Part, Project, Request
from takeback.engine.errors import NothingToDo, SessionRunning, UsageError
from takeback.engine.model import Plan, Turn
from tests.undo.bed import Bed

LONG = [f"line {number}" for number in range(60)]


def edit_turn(project: Project, session: str, files: dict[str, str | None]) -> None:
    """A turn of a session whose edit tool writes (or removes) files, one call each."""
    with project.turn(session) as turn:
        for name, text in files.items():
            with turn.edit(name):
                path = Path(os.fsdecode(project.root)) / name
                if text is None:
                    path.unlink()
                else:
                    path.write_text(text)


def turns_of(project: Project) -> dict[int, Turn]:
    return {turn.n: turn for session in project.sessions() for turn in session.turns}


def tree(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


def actions(plan: Plan) -> dict[bytes, str]:
    return {entry.path: entry.action for entry in plan.entries}


@pytest.fixture
def three(bed: Bed) -> Bed:
    """Three turns of two sessions, each with a line of f, and a file of its own."""
    lines = LONG.copy()
    bed.write("f", "\n".join(lines))
    for number, session in ((1, "s"), (2, "other"), (3, "s")):
        lines[number * 10] = f"turn {number}"
        edit_turn(bed.project(), session, {"f": "\n".join(lines), f"own{number}": "new\n"})
    return bed


def test_whole_turns_of_several_sessions_go_back_at_once(three: Bed) -> None:
    plan = three.do(parts=(Part("1"), Part("2")))
    assert plan.target == "2 turns: 1, 2"
    found = turns_of(three.project())
    assert set(plan.targets) == {found[1].id, found[2].id}
    assert actions(plan) == {b"f": "merge", b"own1": "delete", b"own2": "delete"}
    assert plan.asks == ()
    text = three.read("f") or ""
    assert "turn 3" in text and "turn 1" not in text and "turn 2" not in text
    assert [found[n].undone for n in (1, 2, 3)] == [True, True, False]
    assert set(plan.takes) >= {(found[n].id, path) for n in (1, 2) for path in (b"f", b"own%d" % n)}


def test_a_redo_returns_the_whole_set(three: Bed) -> None:
    before = tree(three.root)
    three.do(parts=(Part("1"), Part("2", b"f"), Part("3", b"own3")))
    assert tree(three.root) != before
    plan = three.do("redo")
    assert tree(three.root) == before
    assert not any(turn.undone for turn in turns_of(three.project()).values())
    assert plan.writes and plan.asks == ()


def test_a_redo_finds_a_set_by_any_of_its_sessions(three: Bed) -> None:
    before = tree(three.root)
    three.do(parts=(Part("1"), Part("2")))
    three.do(parts=(Part("3"),))
    assert three.plan("redo", session="other").target.startswith("undo of 2 turns: 1, 2")
    project = three.project()
    project.record(Event("begin", "other", project.root))
    project.record(
        Event("tool-begin", "other", project.root, call="c", tool="Bash", call_kind="shell")
    )
    with pytest.raises(SessionRunning):
        three.plan("redo", session="s", op=project.operations()[0].id)
    project.record(Event("tool-end", "other", project.root, call="c"))
    project.record(Event("end", "other", project.root))
    plan = three.do("redo", op=project.operations()[0].id)
    assert "The session began turn 4 after the undo." in plan.asks
    three.do("redo")
    assert tree(three.root) == before


def test_single_files_and_calls_leave_the_rest_of_their_turn(three: Bed) -> None:
    found = turns_of(three.project())
    call = found[3].calls[1]
    plan = three.do(parts=(Part("2", b"own2"), Part(found[3].id, call=call.id)))
    assert plan.target == "1 file of turn 2; turn 3 edit #2"
    assert actions(plan) == {b"own2": "delete", b"own3": "delete"}
    standing = {
        (turn.n, change.path)
        for turn in turns_of(three.project()).values()
        for change in turn.changes
        if not change.undone
    }
    assert standing == {(1, b"f"), (1, b"own1"), (2, b"f"), (3, b"f")}


def test_the_target_says_what_was_marked(three: Bed) -> None:
    found = turns_of(three.project())
    calls = [call.id for call in found[3].calls]
    named = {
        (Part("3"),): "turn 3",
        (Part("3"), Part("1"), Part("3", b"f")): "2 turns: 1, 3",
        (Part("2", b"own2"), Part("2", b"f")): "2 files of turn 2",
        (Part("3", call=calls[0]), Part("3", call=calls[1])): "turn 3 edit #1, edit #2",
    }
    for parts, words in named.items():
        assert three.plan(parts=parts).target == words


def test_an_unknown_turn_or_call_is_an_error_and_an_unknown_path_is_nothing(three: Bed) -> None:
    call = turns_of(three.project())[1].calls[0].id
    for part in (Part("9"), Part("1", call="none"), Part("2", call=call)):
        with pytest.raises(UsageError):
            three.plan(parts=(Part("1"), part))
    with pytest.raises(NothingToDo, match="1 file of turn 1"):
        three.plan(parts=(Part("1", b"none"),))
    three.do(parts=(Part("1"),))
    with pytest.raises(NothingToDo):
        three.plan(parts=(Part("1"),))


def test_any_session_of_the_set_that_runs_a_turn_refuses_it(three: Bed) -> None:
    project = three.project()
    project.record(Event("begin", "other", project.root))
    project.record(
        Event("tool-begin", "other", project.root, call="c", tool="Bash", call_kind="shell")
    )
    with pytest.raises(SessionRunning):
        three.plan(parts=(Part("3"), Part("2")))
    assert three.plan(parts=(Part("3"),)).target == "turn 3"
    assert three.plan(parts=(Part("3"), Part("2")), while_running=True).target == "2 turns: 2, 3"


def test_a_file_that_is_named_is_taken_whatever_its_origin_and_asks(bed: Bed) -> None:
    with bed.project().turn("s") as turn, turn.shell("make"):
        bed.write("made", "x\n")
        bed.write("more", "x\n")
    call = turns_of(bed.project())[1].calls[0].id
    whole = bed.plan(parts=(Part("1"),))
    assert whole.stopped and set(actions(whole).values()) == {"keep"}
    by_path = bed.plan(parts=(Part("1", b"made"),))
    assert actions(by_path) == {b"made": "delete"}
    assert by_path.asks == ("1 file of unknown origin would be taken back.",)
    assert actions(bed.plan(parts=(Part("1", call=call),))) == {
        b"made": "delete",
        b"more": "delete",
    }


def test_a_file_deleted_since_comes_back_only_by_name(bed: Bed) -> None:
    bed.write("f", "1\n")
    bed.turn(f="2\n")
    (bed.root / "f").unlink()
    assert actions(bed.plan(parts=(Part("1"),))) == {b"f": "keep"}
    assert actions(bed.plan(parts=(Part("1", b"f"),))) == {b"f": "restore"}


def test_what_a_set_left_alone_no_longer_holds_the_walk_but_what_it_never_met_does(
    bed: Bed,
) -> None:
    bed.write("f", "1\n")
    bed.write("g", "1\n")
    bed.turn(f="2\n")
    bed.turn(g="2\n", h="new\n")
    bed.write("g", "user\n")
    bed.do(parts=(Part("2", b"g"), Part("1")))
    plan = bed.plan()
    assert plan.target == "turn 2"
    assert actions(plan) == {b"h": "delete", b"g": "conflict"}
    bed.do()
    with pytest.raises(NothingToDo):
        bed.plan()


def test_a_call_alone_leaves_its_turn_next(bed: Bed) -> None:
    bed.turn(f="new\n", g="new\n")
    call = turns_of(bed.project())[1].calls[0].id
    bed.do(parts=(Part("1", call=call),))
    assert actions(bed.plan()) == {b"g": "delete"}


def test_edits_of_two_sessions_that_took_turns_are_taken_in_the_order_they_were_made(
    bed: Bed,
) -> None:
    """Session a edits, then b, then a again: no step may be taken back before a later one."""
    bed.write("f", "0\n")
    project = bed.project()
    for session in "ab":
        project.record(Event("begin", session, project.root))
    for number, session in enumerate("aba", 1):
        fields = {"call": f"c{number}", "tool": "Edit", "call_kind": "edit", "paths": (b"f",)}
        project.record(Event("tool-begin", session, project.root, **fields))  # type: ignore[arg-type]
        bed.write("f", f"{number}\n")
        project.record(Event("tool-end", session, project.root, call=f"c{number}"))
    for session in "ab":
        project.record(Event("end", session, project.root))
    plan = bed.plan(parts=(Part("1"), Part("2")))
    assert actions(plan) == {b"f": "restore"}
    project.apply(plan)
    assert bed.read("f") == "0\n"


def test_the_folders_of_a_turn_stay_with_what_is_not_marked_of_it(bed: Bed) -> None:
    with bed.project().turn("s") as turn, turn.shell("make"):
        bed.write("out/made", "x\n")
        (bed.root / "empty").mkdir()
    bed.do(parts=(Part("1", b"out/made"),))
    assert not (bed.root / "out").exists()
    assert (bed.root / "empty").is_dir()
    bed.do("redo")
    bed.do(parts=(Part("1"),), selection="all")
    assert not (bed.root / "empty").exists()


# --- Properties ----------------------------------------------------------------------------------

PLACES = range(5, 60, 6)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, list[int], bool]]:
    """Turns: their session, the lines that they alone edit, whether they make a file too."""
    free = draw(st.permutations(PLACES))
    turns = []
    for _ in range(draw(st.integers(2, 4))):
        count = draw(st.integers(1, 2))
        lines, free = list(free[:count]), free[count:]
        turns.append((draw(st.sampled_from("ab")), lines, draw(st.booleans())))
    return turns


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=histories(), data=st.data())
def test_one_by_one_in_any_order_and_at_once_give_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch,
    history: list[tuple[str, list[int], bool]],
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(Path(folder))
        monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(bed.config.parent))
        lines = LONG.copy()
        bed.write("f", "\n".join(lines))
        for number, (session, places, adds) in enumerate(history, 1):
            for place in places:
                lines[place] = f"turn {number}"
            files: dict[str, str | None] = {"f": "\n".join(lines)}
            if adds:
                files[f"own{number}"] = "new\n"
            edit_turn(bed.project(), session, files)
        before = tree(bed.root)
        numbers = range(1, len(history) + 1)
        chosen = data.draw(st.sets(st.sampled_from(numbers), min_size=1), "set")
        expected = before["f"].split("\n")
        for number in chosen:
            for place in history[number - 1][1]:
                expected[place] = LONG[place]
        results, plans = [], []
        for order in itertools.islice(itertools.permutations(sorted(chosen)), 0, 6, 3):
            plans.append(bed.plan(parts=tuple(Part(str(n)) for n in order)))
            bed.do(parts=tuple(Part(str(n)) for n in order))
            results.append(tree(bed.root))
            bed.do("redo")
            assert tree(bed.root) == before
            for number in order:
                bed.project().apply(bed.project().plan(Request("undo", turn=str(number))))
            results.append(tree(bed.root))
            for _ in order:
                bed.do("redo")
            assert tree(bed.root) == before
        assert all(result == results[0] for result in results)
        assert results[0]["f"].split("\n") == expected
        assert all(plan.entries == plans[0].entries for plan in plans)
        assert all(plan.takes == plans[0].takes for plan in plans)
