"""The history: rows of made-up and recorded operations, and the way back to before any of them."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from takeback.engine import Project, Request
from takeback.engine.model import Operation, Session
from takeback.engine.undo.upcoming import Upcoming
from takeback.tui import history_rows, keys
from takeback.tui.glyphs import ASCII, UNICODE
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.row_list import Row
from tests.tui.driver import HOSTILE, SIZES, Driver, clean_turn, is_new, is_old, play
from tests.tui.test_present import no_control
from tests.undo.bed import Bed

DAY = 86_400 * 1_000_000_000


def texts(rows: list[Row]) -> list[str]:
    return [" ".join(s.text.strip() for s in (*row.lead, *row.cells)) for row in rows]


def seen(bed: Bed) -> tuple[tuple[Operation, ...], tuple[Session, ...]]:
    project = bed.project()
    return project.operations(), project.sessions()


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    return Bed(tmp_path)


@pytest.fixture
def worked(bed: Bed) -> Bed:
    """An undo of one of two files, its redo, a goto, and an undo of the goto that was put back."""
    bed.write("f", "1\n")
    bed.turn(f="2\n", new="x\n")
    bed.turn(g="3\n")
    bed.do(turn="1", paths=(b"f",))
    bed.do("redo")
    bed.do("goto", turn="1", at="before")
    return bed


def test_rows_name_kind_target_files_and_state(worked: Bed) -> None:
    operations, sessions = seen(worked)
    now = operations[-1].at_ns
    rows = history_rows.rows(operations, sessions, UNICODE, now)
    said = texts(rows)
    assert said[0].startswith("─ Today, ")
    undo, redo, goto = operations
    assert "⟲ goto before turn 1 3 files ▌ here" in said[1]
    assert f"↻ redo turn 1, undone by {undo.id} 1 file ✓ done" in said[2]
    assert "↶ undo turn 1 (1 of 2 files) 1 file ↶ undone" in said[3]
    assert [row.key for row in rows[1:]] == [f"operation:{o.id}" for o in (goto, redo, undo)]
    plain = texts(history_rows.rows(operations, sessions, ASCII, now))
    assert all(text.isascii() for text in plain)


def test_days_part_the_rows(worked: Bed) -> None:
    operations, sessions = seen(worked)
    operations = (replace(operations[0], at_ns=operations[0].at_ns - DAY), *operations[1:])
    said = texts(history_rows.rows(operations, sessions, UNICODE, time.time_ns()))
    assert said[3].startswith("─ Yesterday, ")
    assert len(said) == 5


def test_a_failed_and_a_partly_undone_operation_say_so(worked: Bed) -> None:
    (undo, *rest), sessions = seen(worked)
    failed = replace(undo, state="failed")
    partly = replace(undo, id="x", state="done", back=(b"f",))
    said = texts(history_rows.rows((failed, partly, *rest), sessions, UNICODE, time.time_ns()))
    assert "✗ failed" in said[-1]
    assert "partly undone" in said[-2]


@pytest.mark.parametrize(
    ("words", "number"), [("goto", 1), ("turn 1", 3), ("new", 1), ("nothing like it", 0)]
)
def test_the_filter_looks_at_kind_target_and_files(worked: Bed, words: str, number: int) -> None:
    operations, sessions = seen(worked)
    rows = history_rows.rows(operations, sessions, UNICODE, time.time_ns(), words)
    assert sum(row.key.startswith("operation:") for row in rows) == number
    if not number:
        assert texts(rows) == [keys.words(history_rows.NOTHING_MATCHES)]


def test_without_operations_it_says_how_there_will_be_some() -> None:
    assert texts(history_rows.rows((), (), UNICODE, 0)) == [keys.words(history_rows.EMPTY)]


def test_details_list_each_file_with_what_happened(worked: Bed) -> None:
    operations, sessions = seen(worked)
    goto = operations[-1]
    lines = history_rows.details(goto, sessions, 2)
    assert lines[0] == "Goto before turn 1"
    assert lines[1].startswith(f"{goto.id}  20")
    assert lines[2:] == ["  M written  f", "  D deleted  g", "  and 1 more file"]
    (line,) = history_rows.details(goto, sessions, 5, width=80)[2:]
    assert line == "M written f   D deleted g   D deleted new"
    undone = history_rows.details(operations[0], sessions, 2)
    assert undone[2:] == ["  M written  f"]


def test_hostile_names_are_shown_and_not_obeyed(bed: Bed) -> None:
    project = bed.project()
    with project.turn("s", "[b]x\x1b", "[red]\x1b[2J") as turn, turn.edit(HOSTILE):
        (bed.root / HOSTILE.decode("utf-8", "surrogateescape")).write_bytes(b"x")
    project.apply(project.plan(Request("undo")))
    operations, sessions = seen(bed)
    rows = history_rows.rows(operations, sessions, UNICODE, 0)
    lines = [*texts(rows), *history_rows.details(operations[0], sessions, 5)]
    no_control(lines)
    assert any("[red]\\e[2J" in line for line in lines)
    assert any("\\xff[red]\\e\\n" in line for line in lines)


def test_what_comes_next_is_named() -> None:
    undo = Upcoming("turn 8", 1, ("t8",))
    redo = Upcoming("undo of turn 9 (op5)", 3, ("t9",), "op5")
    assert history_rows.next_words(undo, redo) == (
        "Next undo: turn 8 (1 file).  Next redo: turn 9 (op5) (3 files)."
    )
    assert history_rows.next_words(None, None) == (
        "Next undo: nothing to take back.  Next redo: nothing to put back."
    )
    assert "asks: only files of unknown origin" in history_rows.next_words(
        replace(undo, stopped=True), None
    )
    assert "when its session's turn has ended" in history_rows.next_words(
        replace(undo, running=True), None
    )


# --- The screen ----------------------------------------------------------------------------------


def two_undone(folder: Path) -> list[Operation]:
    """Two turns, both taken back."""
    clean_turn(folder)
    project = Project.open(str(folder))
    with project.turn("s", "claude", "second") as turn, turn.edit("a.txt"):
        (folder / "a.txt").write_text("one\nSECOND\n")
    for _ in range(2):
        project.apply(project.plan(Request("undo")))
    project.close()
    return list(project.operations())


@pytest.mark.parametrize("size", SIZES)
def test_it_goes_back_to_before_any_operation(folder: Path, size: tuple[int, int]) -> None:
    first, _ = two_undone(folder)
    assert is_old(folder)

    async def story(app: Driver) -> None:
        await app.press("3")
        await app.until(lambda: "Next undo: nothing to take back" in app.text())
        assert "Next redo: turn 1" in app.text()
        await app.press("j", "R")  # Before the first of the two undos.
        await app.planned()
        assert f"Restore before {first.id}" in app.text()
        await app.press("enter")
        await app.until(lambda: "asks first" in app.text())
        assert is_old(folder)
        await app.press("y")
        await app.until(lambda: (folder / "a.txt").read_text() == "one\nSECOND\n")
        assert (folder / "b.txt").read_text() == "new\n"
        # Back on the history: the restore is an operation like any other, and reversed like one.
        await app.until(lambda: app.app.screen is app.app.main and len(app.rows()) == 4)
        assert "restore" in app.rows()[1]
        await app.press("ctrl+x", "u")
        await app.planned()
        await app.press("enter")
        await app.until(lambda: is_old(folder) and not (folder / "b.txt").exists())

    play(folder, story, size)


@pytest.mark.parametrize("size", SIZES)
def test_enter_shows_the_diff_and_y_copies_the_id(folder: Path, size: tuple[int, int]) -> None:
    _, newest = two_undone(folder)

    async def story(app: Driver) -> None:
        await app.press("3")
        await app.until(lambda: "D deleted" in app.text() and "b.txt" in app.text())
        await app.press("y")
        await app.until(lambda: f"Copied {newest.id}" in app.text())
        assert app.app.clipboard == newest.id
        await app.press("enter")

        def shown() -> bool:
            panes = app.app.screen.query(DiffPane).results(DiffPane)
            return any(line.kind == "removed" for pane in panes for line in pane.lines)

        await app.until(shown)
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.app.main)
        await app.press("slash", *"nothing like it")
        await app.until(lambda: "No operation matches" in app.text())
        await app.press("escape")
        await app.until(lambda: newest.id in app.text())

    play(folder, story, size)


def test_the_history_follows_what_is_done(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("3")
        await app.until(lambda: "No operation was applied yet" in app.text())
        await app.press("ctrl+x", "u", "enter")
        await app.until(lambda: is_old(folder))
        await app.until(lambda: any("here" in row for row in app.rows()))
        await app.press("ctrl+x", "r", "enter")
        await app.until(lambda: is_new(folder))
        await app.until(lambda: sum("undone" in row for row in app.rows()) == 2)

    play(folder, story)
