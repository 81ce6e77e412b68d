"""Conversations from before takeback in the app: readable, and it is said why nothing goes back."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from takeback.engine.agents import conversations
from takeback.tui import past
from takeback.tui.cli import main
from takeback.tui.screens.resume import ResumeScreen
from takeback.tui.screens.sessions import SessionsScreen
from takeback.tui.screens.undo import UndoScreen
from tests.agents.test_claude_talk import TALKS
from tests.tui.driver import Driver, clean_turn, is_new, play


@pytest.fixture
def talked(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a recorded turn, and three conversations that were held before."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setattr(conversations, "_talks", {})
    place = tmp_path / "home/.claude/projects/-x"
    for name in ("basic3", "interactive"):
        shutil.copytree(TALKS / name, place, dirs_exist_ok=True)
    for path in place.glob("*.jsonl"):
        path.write_text(path.read_text().replace("/home/dev/shop", str(folder)))
    clean_turn(folder)
    return folder


async def sessions(d: Driver) -> None:
    await d.press("1")
    await d.until(lambda: isinstance(d.app.screen, SessionsScreen) and past.GROUP in d.text())


def test_sessions_from_before_stand_below_and_are_not_taken_back(talked: Path) -> None:
    async def story(d: Driver) -> None:
        await sessions(d)
        rows = d.rows()
        at = next(at for at, row in enumerate(rows) if past.GROUP in row)
        assert "change a, make b" in rows[at - 1] and len(rows) == at + 4
        assert all(past.BEFORE in row and "turn" in row for row in rows[at + 1 :])
        assert "4 sessions, 3 from before takeback" in d.text()
        await d.press("end")
        await d.until(lambda: f"Files         {past.NOTHING}" in d.text())
        assert not any(word in d.text() for word in ("turn 0", "no file", "captured", "put back"))
        await d.press("u")
        await d.until(lambda: "there are no versions" in d.text())
        assert not isinstance(d.app.screen, UndoScreen)

    play(talked, story, (120, 36))


def test_a_conversation_from_before_is_read_like_any_other(talked: Path) -> None:
    async def story(d: Driver) -> None:
        await sessions(d)
        await d.press("/")
        await d.press(*"TB-BG")
        await d.until(lambda: "1 of 4 sessions" in d.text())
        await d.press("enter", "end", "enter")
        await d.timeline()
        await d.until(lambda: any("TB-TWO" in row for row in d.rows()))
        rows = d.rows()
        assert any("I will read the file first." in row for row in rows)
        assert sum(past.BEFORE in row for row in rows) == 5
        assert not any("no change" in row for row in rows)
        for key in ("u", "space", "U"):
            await d.press(key)
            await d.until(lambda: "there are no versions" in d.text())
            await d.press("down")
        assert not isinstance(d.app.screen, UndoScreen) and is_new(talked)

    play(talked, story)


def test_one_can_go_on_in_a_conversation_from_before(talked: Path) -> None:
    async def story(d: Driver) -> None:
        await sessions(d)
        await d.press("end", "enter")
        await d.timeline()
        await d.until(lambda: any(past.BEFORE in row for row in d.rows()))
        await d.press("c")
        await d.until(lambda: isinstance(d.app.screen, ResumeScreen) and bool(d.rows()))
        assert "Conversation: before takeback" in d.text()
        command = next(row for row in d.rows() if row.startswith("claude "))
        assert "past:" not in command
        assert not any("Files and conversation" in row for row in d.rows())

    play(talked, story)


def test_the_command_line_goes_on_from_before_as_well(
    talked: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(talked)
    assert main(["log", "--json"]) == 0
    session = json.loads(capsys.readouterr().out)["past"][0]
    assert main(["resume", session["turns"][0]["id"], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert session["id"] in found["argv"] and found["agent"] == "claude"


def test_what_one_look_does_not_read_the_next_one_does(
    talked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "_BUDGET", 1)

    async def story(d: Driver) -> None:
        await sessions(d)
        await d.until(lambda: "4 sessions, 3 from before takeback " in d.text())

    play(talked, story, (120, 36))


def test_a_project_without_a_record_still_has_its_conversations(
    talked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "empty"))

    async def begin(d: Driver) -> None:
        await d.until(lambda: d.app.record is not None)

    async def story(d: Driver) -> None:
        await sessions(d)
        assert len(d.rows()) == 4
        await d.press("down", "enter")
        await d.timeline()
        assert any(past.BEFORE in row for row in d.rows())

    play(talked, story, (120, 36), begin)
