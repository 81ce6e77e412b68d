"""The app with keys pressed in it, on a project that was really recorded."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from takeback.engine.project import Project
from takeback.tui.app import TakebackApp
from takeback.tui.screens.help import HelpScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.widgets.diff_pane import DiffPane
from tests.tui.driver import HOSTILE, SIZES, Driver, clean_turn, is_new, is_old, mixed_turn, play


@pytest.mark.parametrize("size", SIZES)
def test_three_keys_take_back_the_last_turn_and_three_put_it_back(
    folder: Path, size: tuple[int, int]
) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        assert "a.txt" in app.text()
        assert "b.txt" in app.text()
        await app.press("ctrl+x", "u")
        await app.planned()
        assert is_new(folder)
        assert "restore" in app.text()
        assert "delete" in app.text()
        await app.press("enter")
        await app.until(lambda: is_old(folder) and not (folder / "b.txt").exists())
        await app.until(lambda: "Took back turn 1" in app.text())
        await app.until(lambda: "undone" in "\n".join(app.rows()))
        await app.press("ctrl+x", "r")
        await app.planned()
        assert is_old(folder)
        await app.press("enter")
        await app.until(lambda: is_new(folder) and (folder / "b.txt").exists())
        await app.until(lambda: "Put back turn 1" in app.text())

    play(folder, story, size)


def test_three_keys_in_one_burst(folder: Path) -> None:
    """Enter is pressed before the plan is there: it counts, for a clean plan."""
    clean_turn(folder)

    async def story(app: Driver) -> None:
        app.burst("ctrl+x", "u", "enter")
        await app.until(lambda: is_old(folder) and "Took back" in app.text())

    play(folder, story)


def test_a_burst_of_chords_does_not_leak(folder: Path) -> None:
    """Letters of chords never arrive as keys: `y` and `q` would act, `u` would open a panel."""
    mixed_turn(folder)

    async def story(app: Driver) -> None:
        app.burst(*["ctrl+x", "u", "ctrl+x", "r", "ctrl+x", "q", "ctrl+x", "y"] * 8)
        await app.planned()
        assert len(app.app.screen_stack) == 3  # Textual's own, the timeline, one panel.
        assert is_new(folder)
        await app.press("escape")
        await app.timeline()
        app.burst(*["ctrl+x", "z"] * 10, "ctrl+x", "escape")
        await app.until(lambda: "ctrl+x z means nothing" in app.text())
        assert isinstance(app.app.screen, TimelineScreen)
        assert app.app.is_running

    play(folder, story)


def test_a_chord_is_forgotten_after_a_while(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeback.tui.chords.SHOW_AFTER", 0.05)
    monkeypatch.setattr("takeback.tui.chords.GIVE_UP_AFTER", 0.3)
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x")
        await app.until(lambda: "redo what was undone" in app.text())
        await app.until(lambda: "redo what was undone" not in app.text())
        await app.press("j")
        assert isinstance(app.app.screen, TimelineScreen)

    play(folder, story)


@pytest.mark.parametrize("size", SIZES)
def test_unknown_origin_is_never_ticked_by_itself_and_needs_a_yes(
    folder: Path, size: tuple[int, int]
) -> None:
    mixed_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        rows = app.rows()
        assert any(row.startswith("[x] restore a.txt") for row in rows)
        assert any(row.startswith("[ ] leave gen.txt") and "while shell" in row for row in rows)
        assert any("Commands ran as well" in row for row in rows)
        assert "make gen" in rows
        await app.press("A")
        await app.until(lambda: "of unknown origin would be taken back" in app.text())
        assert any(row.startswith("[x] delete gen.txt") for row in app.rows())
        await app.press("enter")
        await app.until(lambda: "asks first" in app.text())
        assert is_new(folder)
        assert (folder / "gen.txt").exists()
        await app.press("y")
        await app.until(lambda: is_old(folder) and not (folder / "gen.txt").exists())

    play(folder, story, size)


def test_ticks_choose_the_files(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        await app.press("space")
        await app.until(lambda: any(row.startswith("[ ] leave a.txt") for row in app.rows()))
        await app.press("enter")
        await app.until(lambda: not (folder / "b.txt").exists())
        assert is_new(folder)
        await app.until(lambda: "partly undone" in "\n".join(app.rows()))

    play(folder, story)


def test_nothing_ticked_does_nothing(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        await app.press("A", "enter")
        await app.until(lambda: "nothing to apply" in app.text().lower())
        assert is_new(folder)

    play(folder, story)


def test_only_unknown_origin_stops_and_can_be_ticked(folder: Path) -> None:
    project = Project.open(str(folder))
    with project.turn("s", "claude", "make") as turn, turn.shell("make gen"):
        (folder / "gen.txt").write_text("made\n")
    project.close()

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u", "enter")
        await app.planned()
        assert any(row.startswith("[ ] leave gen.txt") for row in app.rows())
        assert (folder / "gen.txt").exists()
        await app.press("A")
        await app.until(lambda: any(row.startswith("[x] delete gen.txt") for row in app.rows()))
        await app.press("y")
        await app.until(lambda: not (folder / "gen.txt").exists())

    play(folder, story)


def test_a_conflict_is_left_alone_unless_it_is_overwritten(folder: Path) -> None:
    clean_turn(folder)
    (folder / "a.txt").write_text("one\nMINE\n")

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        assert any("Conflicts, left alone" in row for row in app.rows())
        assert any(row.startswith("[x] delete b.txt") for row in app.rows())
        await app.press("enter")
        await app.until(lambda: "asks first" in app.text())
        assert (folder / "b.txt").exists()
        await app.press("o")
        await app.until(lambda: any(row.startswith("[x] restore a.txt") for row in app.rows()))
        assert "overwritten" in app.text()
        await app.press("y")
        await app.until(lambda: is_old(folder) and not (folder / "b.txt").exists())

    play(folder, story)


def test_a_running_turn_is_closed_only_with_a_yes(folder: Path) -> None:
    clean_turn(folder)
    project = Project.open(str(folder))

    async def story(app: Driver) -> None:
        with project.turn("s", "claude", "still at it") as turn, turn.edit("a.txt"):
            (folder / "a.txt").write_text("one\nHALF\n")
            await app.press("ctrl+x", "u")
            await app.until(lambda: "close that turn" in app.text())
            await app.press("enter")
            await app.until(lambda: "asks first" in app.text())
            await app.press("y")
            await app.planned()
            assert (folder / "a.txt").read_text() == "one\nHALF\n"
            await app.press("escape")
            await app.timeline()

    play(folder, story)
    project.close()


def test_the_palette_runs_what_the_table_knows(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+p")
        await app.until(lambda: app.app.screen.is_modal)
        await app.press(*"redo what")
        await app.until(lambda: "Redo what was undone" in app.text())
        await app.press("escape", "escape")
        await app.until(lambda: not app.app.screen.is_modal)

    play(folder, story)


def test_u_on_a_row_takes_back_that_turn(folder: Path) -> None:
    clean_turn(folder)
    project = Project.open(str(folder))
    with project.turn("s", "claude", "later") as turn, turn.edit("c.txt"):
        (folder / "c.txt").write_text("later\n")
    project.close()

    async def story(app: Driver) -> None:
        await app.press("J", "u")
        await app.planned()
        assert "turn 1" in app.text()
        await app.press("enter")
        await app.until(lambda: is_old(folder))
        assert (folder / "c.txt").exists()

    play(folder, story)


def test_nothing_to_take_back_is_a_sentence(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "r")
        await app.until(lambda: "put back" in app.text())
        await app.timeline()

    play(folder, story)


@pytest.mark.parametrize("size", SIZES)
def test_hostile_names_and_prompts_are_shown_and_not_obeyed(
    folder: Path, size: tuple[int, int]
) -> None:
    path = os.path.join(os.fsencode(folder), HOSTILE)
    project = Project.open(str(folder))
    with (
        project.turn("s", "claude", "[bold]x[/] \x1b[31m 中文 [/nonsense]") as turn,
        turn.edit(HOSTILE),
    ):
        Path(os.fsdecode(path)).write_bytes(b"[/b] \x1b[2J\t\x00\n")
    project.close()

    async def story(app: Driver) -> None:
        assert "\\xff[red]\\e\\n" in app.text()
        assert "[bold]x[/] \\e[31m 中文" in app.text()
        await app.press("j", "d")
        await app.until(lambda: any(p.lines for p in app.app.screen.query(DiffPane)))
        assert "\\xff[red]\\e\\n" in app.text()
        await app.press("escape", "ctrl+x", "u")
        await app.planned()
        assert "\\xff[red]\\e\\n" in app.text()
        assert "\x1b" not in app.text()
        await app.press("enter")
        await app.until(lambda: not os.path.exists(path))

    play(folder, story, size)


def test_a_file_changed_under_an_open_plan_is_planned_again(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        (folder / "b.txt").write_text("mine now\n")
        await app.press("enter")
        await app.until(lambda: "changed meanwhile" in app.text())
        await app.planned()
        assert is_new(folder)
        assert (folder / "b.txt").read_text() == "mine now\n"

    play(folder, story)


def test_help_is_the_table_of_keys(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("question_mark")
        await app.until(lambda: isinstance(app.app.screen, HelpScreen))
        text = "\n".join(app.rows())
        assert "ctrl+x u undo the last turn" in text
        assert "A tick all, unknown origin too" in text
        await app.press("q")
        await app.timeline()

    play(folder, story)


def test_the_app_follows_what_is_recorded(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        project = Project.open(str(folder))
        with project.turn("s", "claude", "while you look") as turn, turn.edit("c.txt"):
            (folder / "c.txt").write_text("later\n")
        project.close()
        await app.until(lambda: "while you look" in app.text())

    play(folder, story)


def test_an_empty_project_says_what_to_do(folder: Path) -> None:
    async def main() -> None:
        app = TakebackApp(Project.open(str(folder)))
        async with app.run_test(size=(80, 24)) as pilot:
            driver = Driver(app, pilot)
            await driver.until(lambda: "Agents on this machine" in driver.text())
            await driver.press("ctrl+x", "u")
            await driver.until(lambda: "Nothing was changed" in driver.text())

    asyncio.run(main())


def test_the_mouse_ticks_and_applies(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        lines = app.text().split("\n")
        at = next(y for y, line in enumerate(lines) if "a.txt" in line)
        await app.pilot.click(offset=(lines[at].index("[x]") + 1, at))
        await app.until(lambda: any(row.startswith("[ ] leave a.txt") for row in app.rows()))
        await app.until(lambda: "enter: deletes" in app.text())
        at = len(lines) - 1
        await app.pilot.click(offset=(lines[at].index("apply"), at))
        await app.until(lambda: not (folder / "b.txt").exists())
        assert is_new(folder)

    play(folder, story)


@pytest.mark.parametrize("size", SIZES)
def test_the_numbers_lead_to_every_screen_and_esc_stays_there(
    folder: Path, size: tuple[int, int]
) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        for key, name in (("1", "sessions"), ("3", "history"), ("4", "storage"), ("5", "settings")):
            await app.press(key)
            await app.until(lambda name=name: app.app.main.keys_of == name)  # type: ignore[misc]
            await app.until(lambda: "Reading" not in app.text())
            await app.press("escape")
            await app.pilot.pause()
            assert app.app.main is not None
            assert app.app.main.keys_of == name
            assert app.text().rstrip().endswith("q quit")
        # What no number leads to is left for where it was opened.
        await app.press("ctrl+x", "a")
        await app.until(lambda: app.app.main.keys_of == "first_run")  # type: ignore[union-attr]
        await app.press("escape")
        await app.until(lambda: app.app.main.keys_of == "settings")  # type: ignore[union-attr]
        await app.press("q")
        await app.until(lambda: not app.app.is_running)

    play(folder, story, size)


def test_the_filter_narrows_while_one_types_and_esc_clears_it(folder: Path) -> None:
    clean_turn(folder)
    project = Project.open(str(folder))
    with project.turn("other", "codex", "gregarious quilts") as turn, turn.edit("c.txt"):
        (folder / "c.txt").write_text("later\n")
    project.close()

    async def story(app: Driver) -> None:
        await app.press("1")
        await app.until(lambda: "quilts" in app.text() and "change a" in app.text())
        await app.press("slash", *"gquilt")
        await app.until(lambda: "quilts" not in app.text())
        for _ in "gquilt":
            await app.press("backspace")
        await app.press(*"QUILT")
        await app.until(lambda: "quilts" in app.text() and "change a" not in app.text())
        await app.press("escape")
        await app.until(lambda: "change a" in app.text())

    play(folder, story)
