"""The undo panel with keys pressed in it: choices, plans that change meanwhile, running turns.

Every story ends with the bytes on the disk.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from takeback.engine import work
from takeback.engine.project import Project
from takeback.engine.undo import operate
from takeback.tui.screens import undo
from takeback.tui.screens.result import ResultScreen
from takeback.tui.widgets.diff_pane import DiffPane
from tests.tui.driver import SIZES, Driver, clean_turn, is_new, is_old, mixed_turn, play

LINES = [f"line {number}\n" for number in range(1, 21)]


def text(*changed: tuple[int, str]) -> str:
    lines = list(LINES)
    for number, line in changed:
        lines[number - 1] = f"{line}\n"
    return "".join(lines)


AGENT, MINE = (5, "agent"), (15, "mine")


def edited_since(folder: Path) -> None:
    """A turn edits f, g and h; then the user edits another line of g and h, the same of f."""
    for name in "fgh":
        (folder / name).write_text(text())
    project = Project.open(str(folder))
    with project.turn("s", "claude", "edit three") as turn:
        for name in "fgh":
            with turn.edit(name):
                (folder / name).write_text(text(AGENT))
    project.close()
    (folder / "f").write_text(text((5, "mine")))
    for name in "gh":
        (folder / name).write_text(text(AGENT, MINE))


def found(app: Driver, start: str) -> bool:
    return any(row.startswith(start) for row in app.rows())


@pytest.fixture(autouse=True)
def watch_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undo, "WATCH_EVERY", 0.05)


@pytest.mark.parametrize("size", SIZES)
def test_each_file_that_changed_since_is_decided_by_itself(
    folder: Path, size: tuple[int, int]
) -> None:
    edited_since(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        assert found(app, "[x] merge g")
        assert any("Conflicts, left alone" in row for row in app.rows())
        await app.press("c")  # g, the first file: keep it.
        await app.until(lambda: found(app, "[x] keep g"))
        await app.press("j", "c", "c")  # h: keep, then take back whole.
        await app.until(lambda: found(app, "[x] restore h"))
        row = next(at for at, row in enumerate(app.rows()) if row.startswith("f "))
        await app.press("g", "g", *["j"] * row, "c", "c")  # f, in conflict: the same.
        await app.until(lambda: found(app, "[x] restore f"))
        assert "overwritten" in app.text()
        await app.press("enter")
        await app.until(lambda: "asks first" in app.text())
        assert (folder / "h").read_text() == text(AGENT, MINE)
        await app.press("y")
        await app.until(lambda: isinstance(app.app.screen, ResultScreen))
        assert (folder / "f").read_text() == text()
        assert (folder / "g").read_text() == text(AGENT, MINE)
        assert (folder / "h").read_text() == text()
        await app.until(lambda: found(app, "Kept as they are"))
        await app.press("ctrl+x", "r")
        await app.planned()
        await app.press("enter")
        await app.until(lambda: (folder / "h").read_text() == text(AGENT, MINE))
        await app.until(lambda: "Put back turn 1" in app.text())
        assert (folder / "f").read_text() == text((5, "mine"))

    play(folder, story, size)


def test_a_merge_is_named_and_opens_the_summary(folder: Path) -> None:
    edited_since(folder)
    (folder / "f").write_text(text(AGENT))

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        assert any("g: merged, the later edit stays: edited since" in row for row in app.rows())
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, ResultScreen))
        assert (folder / "f").read_text() == text()
        assert (folder / "g").read_text() == text(MINE)
        await app.until(lambda: "2 merged" in app.text() and "ctrl+x r" in app.text())
        await app.press("enter")
        await app.timeline()
        await app.press("ctrl+x", "o")
        await app.until(lambda: isinstance(app.app.screen, ResultScreen))
        await app.until(lambda: any("Operation op" in row for row in app.rows()))

    play(folder, story)


def test_a_clean_undo_ends_on_the_timeline_and_its_summary_opens_on_request(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "o")
        await app.until(lambda: "Nothing was taken back" in app.text())
        await app.press("ctrl+x", "u", "enter")
        await app.until(lambda: "Took back turn 1: 2 files in" in app.text())
        await app.timeline()
        await app.press("ctrl+x", "o")
        await app.until(lambda: isinstance(app.app.screen, ResultScreen))
        await app.until(lambda: found(app, "Deleted"))
        await app.press("escape")
        await app.timeline()

    play(folder, story)


def test_unknown_origin_that_was_kept_is_in_the_summary(folder: Path) -> None:
    mixed_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u", "enter")
        await app.until(lambda: isinstance(app.app.screen, ResultScreen))
        assert is_old(folder)
        assert (folder / "gen.txt").read_text() == "made\n"
        await app.until(lambda: "1 unknown kept" in app.text())
        rows = app.rows()
        assert any("Not taken back: unknown origin" in row for row in rows)
        assert rows[rows.index("Commands ran as well: their effects outside these files stay.") + 1]

    play(folder, story)


def test_a_plan_follows_its_files_and_says_so(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        (folder / "b.txt").write_text("mine now\n")
        await app.until(lambda: "b.txt changed: planned again" in app.text())
        await app.until(lambda: any("Conflicts, left alone" in row for row in app.rows()))
        (folder / "b.txt").write_text("new\n")
        await app.until(lambda: found(app, "[x] delete b.txt"))
        # This is a clean plan again, but nobody asked for it.
        await app.press("enter")
        await app.until(lambda: "This plan is new" in app.text())
        assert is_new(folder)
        assert (folder / "b.txt").read_text() == "new\n"
        await app.press("enter")
        await app.until(lambda: is_old(folder) and not (folder / "b.txt").exists())

    play(folder, story)


def test_enter_in_the_moment_of_a_change_does_not_apply_what_was_not_seen(folder: Path) -> None:
    clean_turn(folder)
    (folder / "a.txt").write_text("one\nTWO\n")

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        screen = app.app.screen
        assert isinstance(screen, undo.UndoScreen)
        # A line above: what would have been written whole is a merge from now on.
        (folder / "a.txt").write_text("zero\none\nTWO\n")
        await app.until(lambda: screen._tb_planning or "planned again" in app.text())
        app.burst("enter")
        await app.until(lambda: "planned again" in app.text() or "plan is new" in app.text())
        await app.until(lambda: found(app, "[x] merge a.txt") or "Conflict" in "".join(app.rows()))
        assert (folder / "a.txt").read_text() == "zero\none\nTWO\n"
        assert (folder / "b.txt").exists()

    play(folder, story)


def test_a_touched_file_changes_nothing_and_needs_no_second_enter(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        screen = app.app.screen
        assert isinstance(screen, undo.UndoScreen)
        number = screen._tb_number
        (folder / "a.txt").touch()
        await app.until(lambda: screen._tb_number > number and not screen._tb_planning)
        assert "planned again" not in app.text()
        await app.press("enter")
        await app.until(lambda: is_old(folder))

    play(folder, story)


def test_a_running_turn_is_waited_for(folder: Path) -> None:
    clean_turn(folder)
    project = Project.open(str(folder))

    async def story(app: Driver) -> None:
        with project.turn("s", "claude", "still at it") as turn:
            with turn.edit("a.txt"):
                (folder / "a.txt").write_text("one\nHALF\n")
            await app.press("ctrl+x", "u")
            await app.until(lambda: "when the turn ends" in app.text())
            with turn.edit("a.txt"):
                (folder / "a.txt").write_text("one\nDONE\n")
            await app.pilot.pause(0.3)
            assert "when the turn ends" in app.text()
        await app.planned()
        await app.until(lambda: "The turn has ended" in app.text())
        assert "turn 2" in app.text()
        assert (folder / "a.txt").read_text() == "one\nDONE\n"
        await app.press("enter")
        await app.until(lambda: is_new(folder))

    play(folder, story)
    project.close()


def test_the_panel_goes_to_the_older_and_the_newer_turn(folder: Path) -> None:
    clean_turn(folder)
    project = Project.open(str(folder))
    for number in (2, 3):
        with project.turn("s", "claude", f"later {number}") as turn, turn.edit(f"c{number}"):
            (folder / f"c{number}").write_text("later\n")
    project.close()

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        assert "Next undo then: turn 2" in app.text()
        await app.press("greater_than_sign")
        await app.until(lambda: "no newer turn" in app.text())
        await app.press("less_than_sign")
        await app.until(lambda: found(app, "[x] delete c2"))
        await app.press("less_than_sign")
        await app.until(lambda: found(app, "[x] restore a.txt"))
        await app.press("greater_than_sign")
        await app.until(lambda: found(app, "[x] delete c2"))
        await app.press("enter")
        await app.until(lambda: not (folder / "c2").exists())
        assert (folder / "c3").read_text() == "later\n"
        assert is_new(folder)
        await app.timeline()
        await app.press("ctrl+x", "r")
        await app.planned()
        await app.press("less_than_sign")
        await app.until(lambda: "Only the undo of a turn has" in app.text())

    play(folder, story)


def test_the_preview_shows_a_file_from_now_to_afterwards(folder: Path) -> None:
    edited_since(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        await app.until(lambda: "now → after undo" in app.text())
        pane = app.app.screen.query_one("#diff", DiffPane)

        def shows(sign: str, line: str) -> bool:
            return any((one.kind, one.text) == (sign, line) for one in pane.lines)

        await app.until(lambda: shows("removed", "agent") and shows("added", "line 5"))
        row = next(at for at, row in enumerate(app.rows()) if row.startswith("f "))
        await app.press("g", "g", *["j"] * row)
        await app.until(lambda: shows("removed", "mine") and shows("added", "line 5"))
        assert "left alone; taken back whole" in app.text()

    play(folder, story, (140, 36))


def test_esc_cancels_what_has_not_begun_to_write(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_turn(folder)
    held = threading.Event()

    def slowly(*args: Any, **words: Any) -> Any:
        # As long as a copy of much takes: it ends when the user does not want it any more.
        while not held.wait(0.01):
            work.step("files", 7, 20)
        return real(*args, **words)

    real = operate._safety
    monkeypatch.setattr(operate, "_safety", slowly)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        try:
            await app.press("enter")
            await app.until(lambda: "Working  files 7/20" in app.text())
            await app.press("escape")
            await app.until(lambda: "Cancelled. Nothing was changed." in app.text())
            assert is_new(folder)
            assert (folder / "b.txt").read_text() == "new\n"
        finally:
            held.set()
        await app.press("enter")
        await app.until(lambda: is_old(folder) and not (folder / "b.txt").exists())

    play(folder, story)


def test_the_mouse_chooses_for_a_file(folder: Path) -> None:
    edited_since(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()

        async def click(word: str, last: bool = False) -> None:
            lines = app.text().split("\n")
            at = len(lines) - 1 if last else next(y for y, s in enumerate(lines) if word in s)
            await app.pilot.click(offset=(lines[at].index(word), at))

        await click("overlaps with later changes")
        await click("choice", last=True)
        await app.until(lambda: any("f kept, your choice" in row for row in app.rows()))
        await app.until(lambda: "choice" in app.text().split("\n")[-1])
        await click("choice", last=True)
        await app.until(lambda: found(app, "[x] restore f"))
        await app.until(lambda: "yes" in app.text().split("\n")[-1])
        await click("yes", last=True)
        await app.until(lambda: (folder / "f").read_text() == text())
        assert (folder / "g").read_text() == text(MINE)

    play(folder, story)
