"""Going on in a conversation from the app: the choice, the agent at the terminal, and back."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.engine.agents.claude import resume as claude
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import CannotFork, Point, Way
from takeback.engine.facts import Event
from takeback.engine.project import Project
from takeback.tui import foreground, resuming
from takeback.tui.app import TakebackApp
from takeback.tui.screens.result import ResultScreen
from takeback.tui.screens.resume import ResumeScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.screens.undo import UndoScreen
from tests.tui.driver import SIZES, Driver, clean_turn, is_new, is_old, play, settled

AGENT = '#!/bin/sh\nprintf \'%s\\n\' "$PWD" "$(pwd -P)" "$@" > "$STARTED"\n'


@pytest.fixture
def shop(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recorded turn, and an agent's program that notes how it was started."""
    clean_turn(folder)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").write_text(AGENT)
    (programs / "claude").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("STARTED", str(tmp_path / "started"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(TakebackApp, "suspend", lent)
    monkeypatch.delattr(claude, "fork", raising=False)
    return folder


@contextlib.contextmanager
def lent(app: TakebackApp) -> Iterator[None]:
    """Without a terminal there is nothing to lend."""
    yield


def started(folder: Path) -> list[str]:
    path = folder.parent / "started"
    return path.read_text().splitlines() if path.exists() else []


async def choice(d: Driver) -> None:
    await d.until(lambda: isinstance(d.app.screen, ResumeScreen) and bool(d.rows()))


async def applied(d: Driver, folder: Path) -> None:
    await d.until(lambda: is_old(folder) and not isinstance(d.app.screen, UndoScreen))


@pytest.mark.parametrize("size", SIZES)
def test_the_conversation_only_opens_the_agent_and_comes_back(
    shop: Path, size: tuple[int, int]
) -> None:
    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await choice(d)
        assert "Go on in Claude Code from before turn 1" in d.text()
        assert "claude" in d.text() and "There, " in d.text()
        await d.press("enter")
        await d.until(lambda: isinstance(d.app.screen, TimelineScreen))
        await d.until(lambda: "Back from Claude Code." in d.text())

    play(shop, story, size)
    root = os.path.realpath(shop)
    assert started(shop)[:2] == [root, root] and "s" in started(shop)[2:]
    assert is_new(shop), "files stay as they are"


def test_files_and_conversation_goes_through_the_undo(shop: Path) -> None:
    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await choice(d)
        await d.press("down")
        await d.until(lambda: "later turns of its session" in d.text())
        await d.press("enter")
        await d.planned()
        await d.until(lambda: "[files and conversation (Claude Code)]" in d.text())
        await d.press("enter")
        await applied(d, shop)
        await choice(d)
        assert "The files are taken back" in d.text()
        assert not any("Files and conversation" in row for row in d.rows())
        assert started(shop) == [], "nobody is started unasked"
        await d.press("enter")
        await d.until(lambda: "Back from Claude Code." in d.text())

    play(shop, story)
    assert started(shop)


def test_the_undo_panel_offers_the_conversation(shop: Path) -> None:
    async def story(d: Driver) -> None:
        await d.press("u")
        await d.planned()
        await d.until(lambda: "b: [files only]  files and conversation" in d.text())
        await d.press("b")
        await d.until(lambda: "[files and conversation (Claude Code)]" in d.text())
        await d.press("b")
        await d.until(lambda: "[files only]" in d.text())
        await d.press("enter")
        await applied(d, shop)
        await d.until(lambda: "ctrl+x c goes on in the conversation." in " ".join(d.text().split()))
        assert isinstance(d.app.screen, TimelineScreen)
        await d.press("ctrl+x", "c")
        await choice(d)
        await d.press("escape")
        await d.press("ctrl+x", "o")
        await d.until(lambda: isinstance(d.app.screen, ResultScreen))
        await d.press("c")
        await choice(d)
        await d.press("escape")
        await d.until(lambda: isinstance(d.app.screen, ResultScreen))
        await d.press("G", "enter")
        await choice(d)

    play(shop, story, (120, 36))


def test_a_redo_has_no_conversation_to_go_on_with(shop: Path) -> None:
    async def story(d: Driver) -> None:
        await d.press("u")
        await d.planned()
        await d.press("enter")
        await applied(d, shop)
        await d.press("U")
        await d.planned()
        assert "files and conversation" not in d.text()
        await d.press("b")
        await d.until(lambda: resuming.NO_WAY[:40] in d.text())

    play(shop, story)


def test_the_command_is_copied(shop: Path) -> None:
    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await choice(d)
        await d.press("y")
        await d.until(lambda: "Copied the command" in d.text())
        assert shlex.split(d.app.clipboard)[0] == "claude" and "s" in d.app.clipboard.split()
        await d.press("G", "k")
        await d.until(lambda: "y copies it" in d.text())
        await d.press("enter")
        await d.until(lambda: "Copied the command" in d.text())

    play(shop, story)
    assert started(shop) == []


def test_a_program_that_is_missing_or_fails_is_named(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = shop.parent / "bin/claude"
    program.unlink()
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    read: list[str] = []
    monkeypatch.setattr(foreground, "_read_first", read.append)

    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await choice(d)
        await d.press("enter")
        await d.until(lambda: "'claude' was not found" in d.text())
        program.write_text("#!/bin/sh\nexit 3\n")
        program.chmod(0o755)
        await d.press("enter")
        await d.until(lambda: "Claude Code ended with exit code 3." in d.text())
        assert read and "exit code 3" in read[0]

    play(shop, story)


def test_a_session_at_work_is_not_opened(shop: Path) -> None:
    project = Project.open(str(shop))
    root = os.fsencode(shop)
    project.record(Event("begin", "s", root, agent="claude", prompt="more", pid=os.getpid()))
    project.close()

    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await d.until(lambda: "Claude Code is at work in this conversation" in d.text())
        assert not isinstance(d.app.screen, ResumeScreen)

    play(shop, story)


def test_an_agent_without_a_way_is_named(folder: Path) -> None:
    project = Project.open(str(folder))
    with project.turn("s", "ai[red]der\x1b", "p") as turn, turn.edit("a.txt"):
        (folder / "a.txt").write_text("1\n")
    project.close()

    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await d.until(lambda: "ai[red]der\\e: takeback knows no way" in d.text())

    play(folder, story)


def test_a_copy_that_the_agent_makes_is_opened(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [CannotFork("No copy.", "Try again."), None]

    def fork(point: Point, run: Programs) -> Way:
        error = answers.pop(0)
        if error is not None:
            raise error
        return Way("Claude Code", ("claude", "--resume", "copy"), point.folder)

    monkeypatch.setattr(claude, "fork", fork, raising=False)

    async def story(d: Driver) -> None:
        await settled(d)
        await d.press("c")
        await choice(d)
        await d.press("down", "down", "enter")
        await d.until(lambda: "No copy. Try again." in d.text())
        await d.press("enter")
        await d.until(lambda: "Back from Claude Code." in d.text())

    play(shop, story)
    assert started(shop)[2:] == ["--resume", "copy"]


def test_a_program_that_stops_itself_goes_on(shop: Path, tmp_path: Path) -> None:
    script = f"kill -STOP $$; echo on > {shlex.quote(str(tmp_path / 'on'))}; exit 0"
    assert foreground.run(["sh", "-c", script], os.fsencode(shop), "It") == 0
    assert (tmp_path / "on").exists()
