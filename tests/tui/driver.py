"""Presses keys in the app, on projects that were really recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from takeback.engine.project import Project
from takeback.tui.app import TakebackApp
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.screens.undo import UndoScreen
from takeback.tui.widgets.row_list import RowList

HOSTILE = b"\xff[red]\x1b\n"
SIZES = [(80, 24), (120, 36)]
WAIT_S = 20.0

Story = Callable[["Driver"], Awaitable[None]]


class Driver:
    """Presses keys and looks at what is on the screen."""

    def __init__(self, app: TakebackApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)

    def burst(self, *names: str) -> None:
        """Keys in one write: none waits until the one before it was dealt with."""
        for name in names:
            self.app.post_message(events.Key(name, name if len(name) == 1 else None))

    async def until(self, found: Callable[[], bool]) -> None:
        """Wait until something is so."""
        for _ in range(int(WAIT_S / 0.02)):
            await self.pilot.pause(0.02)
            if found():
                return
        pytest.fail(f"It never came to that. The screen shows:\n{self.text()}", pytrace=False)

    async def planned(self) -> None:
        await self.until(lambda: isinstance(self.app.screen, UndoScreen) and bool(self.rows()))
        await self.until(lambda: "Planning" not in self.text())

    async def timeline(self) -> None:
        await self.until(lambda: isinstance(self.app.screen, TimelineScreen) and bool(self.rows()))

    def rows(self) -> list[str]:
        """Every row of the list, also those out of sight, as plain text."""
        (rows,) = self.app.screen.query(RowList).results(RowList)
        return [
            {"": "", "on": "[x] ", "off": "[ ] ", "some": "[-] "}[row.box]
            + " ".join(span.text.strip() for span in (*row.lead, *row.cells) if span.text.strip())
            for row in rows.rows
        ]

    def text(self) -> str:
        """The screen as the terminal shows it."""
        width, height = self.app.size
        lines = self.app.screen._compositor.render_strips()
        # A screen that was opened just now has no lines yet.
        return "\n".join("".join(s.text for s in line)[:width].rstrip() for line in lines[:height])


def play(
    folder: Path, story: Story, size: tuple[int, int] = (80, 24), begin: Story | None = None
) -> None:
    """Open the app on a project and run a story in it.

    Args:
        begin: waits for the first screen; that is the timeline where something was recorded.
    """

    async def main() -> None:
        project = Project.open(str(folder))
        app = TakebackApp(project)
        async with app.run_test(size=size) as pilot:
            driver = Driver(app, pilot)
            await (begin or Driver.timeline)(driver)
            await story(driver)
        app.project.close()

    asyncio.run(main())


def clean_turn(folder: Path) -> None:
    """A turn that changes one file and makes another, by edit calls only."""
    project = Project.open(str(folder))
    with project.turn("s", "claude", "change a, make b") as turn:
        with turn.edit("a.txt"):
            (folder / "a.txt").write_text("one\nTWO\n")
        with turn.edit("b.txt"):
            (folder / "b.txt").write_text("new\n")
    project.close()


def mixed_turn(folder: Path) -> None:
    """A turn with one edit and a shell call that wrote a file as well."""
    project = Project.open(str(folder))
    with project.turn("s", "claude", "edit and make") as turn:
        with turn.edit("a.txt"):
            (folder / "a.txt").write_text("one\nTWO\n")
        with turn.shell("make gen"):
            (folder / "gen.txt").write_text("made\n")
    project.close()


def is_new(folder: Path) -> bool:
    return (folder / "a.txt").read_text() == "one\nTWO\n"


def is_old(folder: Path) -> bool:
    return (folder / "a.txt").read_text() == "one\ntwo\n"


async def settled(driver: Driver) -> None:
    """Wait until the screen has stood still for a while and the engine does nothing."""
    before = ""
    for _ in range(3):
        await driver.until(lambda: driver.app.desk.idle)
        await driver.until(lambda: "Reading" not in driver.text())
        await driver.pilot.pause(0.05)
    while (now := driver.text()) != before:
        before = now
        await asyncio.sleep(0.1)
        await driver.pilot.pause()
