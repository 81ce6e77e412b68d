"""The first screen where nothing was recorded: what was found, and connecting an agent."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from takeback.engine.agents import install
from takeback.engine.record.look import Left, Look
from takeback.tui import agents_here, cli, first_run, glyphs
from takeback.tui.first_run import Agent, Counted, Found
from takeback.tui.screens.first_run import FirstRunScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.widgets.row_list import Row
from tests.tui.driver import HOSTILE, SIZES, Driver, clean_turn, play
from tests.tui.test_present import no_control

CLAUDE = Agent("claude", "Claude Code", "claude", True, False, ("Claude Code is not connected.",))
FOUND = Found((CLAUDE,), ("codex",), "~/src/shop", True, "", "~/data/x", False, 0, 10)


def words(rows: list[Row]) -> list[str]:
    return [" ".join(span.text.strip() for span in (*row.lead, *row.cells)).strip() for row in rows]


def shown(found: Found = FOUND, counted: Counted | None = None) -> str:
    rows = first_run.rows(found, counted or Counted(), glyphs.UNICODE)
    assert len({row.key for row in rows}) == len(rows)
    return "\n".join(words(rows))


def test_agents_are_named_with_how_it_stands_with_them() -> None:
    text = shown()
    assert "Claude Code found  · not connected" in text
    assert "codex found; not connected yet by this version  takeback run -- codex" in text
    gone = replace(CLAUDE, there=False)
    assert "claude was not found on this machine" in shown(replace(FOUND, agents=(gone,)))
    there = replace(CLAUDE, connected=True, said=("Connected for all projects.",))
    text = shown(replace(FOUND, agents=(there,)))
    assert "Claude Code Connected for all projects.  ✓ connected" in text
    broken = replace(there, said=("The hooks do not work.", "Second."), wrong=True)
    text = shown(replace(FOUND, agents=(broken,)))
    assert "⚠ does not work" in text
    assert "Second." in text


def test_what_to_do_next_is_one_sentence() -> None:
    connected = replace(CLAUDE, connected=True)
    none = replace(FOUND, agents=(replace(CLAUDE, there=False),))
    cases = {
        "Connect an agent with enter": FOUND,
        "Start claude here and give it a prompt; its turns appear by themselves.": replace(
            FOUND, agents=(connected,)
        ),
        "Record with: takeback run -- codex": none,
        "Start any agent with: takeback run -- COMMAND": replace(none, others=()),
        "No snapshot is taken here: it is your home folder": replace(
            FOUND, refused="it is your home folder"
        ),
        "2 sessions recorded here": replace(FOUND, sessions=2),
    }
    for expected, found in cases.items():
        assert expected in first_run.next_words(found)


def test_what_would_be_protected_and_what_not_and_why() -> None:
    left = {
        "ignored": Left(120, [b"node/", b"x.o"]),
        "too-large": Left(1, [b"big.bin"]),
        "secret": Left(2, [b".env", HOSTILE]),
    }
    rows = first_run.rows(FOUND, Counted(Look(1204, 3 << 20, left)), glyphs.UNICODE)
    text = "\n".join(words(rows))
    no_control(words(rows))
    assert "1204 files, 3.0 MiB" in text
    assert "1 over the size limit of 10 MiB: big.bin" in text
    assert "2 looks like a secret, kept out on purpose: .env, \\xff[red]\\e\\n" in text
    assert "120 ignored by git's rules: node/, x.o and 118 more" in text
    order = [row.key for row in rows if row.key.startswith("project:left")]
    assert order == ["project:left:too-large", "project:left:secret", "project:left:ignored"]
    assert "counting… 77 files" in shown(counted=Counted(far=77))
    assert "not known: git is gone" in shown(counted=Counted(failed="git is gone"))
    assert "too many or too large" in shown(counted=Counted(Look(9, 9, {}, True)))
    assert "(no git)" in shown(replace(FOUND, git=False))
    assert "Store ~/data/x\nmade with the first turn" in shown()
    refused = shown(replace(FOUND, refused="it is your home folder"))
    assert "Protected ⚠ nothing: it is your home folder" in refused
    assert "Store" not in refused, "nothing will be recorded here"


def test_programs_of_other_agents_drop_out_once_they_can_be_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "aider" in agents_here.others(lambda name: f"/bin/{name}")
    assert agents_here.others(lambda _: None) == ()
    monkeypatch.setattr(install, "setup", lambda name: type("S", (), {"PROGRAM": name}))
    monkeypatch.setattr(install, "AGENTS", ("claude", "aider"))
    assert "aider" not in agents_here.others(lambda name: f"/bin/{name}")


# --- With keys -----------------------------------------------------------------------------------


@pytest.fixture
def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = folder.parent / "home"
    (made / "bin").mkdir(parents=True)
    for name in ("claude", "aider"):
        (made / "bin" / name).write_text("#!/bin/sh\n")
        (made / "bin" / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(made))
    monkeypatch.setattr(tempfile, "tempdir", str(folder.parent))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("PATH", f"{made / 'bin'}:/usr/bin:/bin")
    return made


async def first(app: Driver) -> None:
    await app.until(lambda: isinstance(app.app.screen, FirstRunScreen) and "1 file" in app.text())


@pytest.mark.parametrize("size", SIZES)
def test_an_agent_is_connected_and_its_first_turn_appears(
    folder: Path, home: Path, size: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    file = home / ".claude" / "settings.json"
    cli.main(["-C", str(folder), "install", "claude", "--dry-run"])
    expected = [line for line in capsys.readouterr().out.splitlines() if line.startswith("+")]

    async def story(app: Driver) -> None:
        assert not (folder.parent / "data").exists()
        assert "takeback run -- aider" in app.text()
        await app.press("enter")
        await app.until(lambda: "y changes it so" in app.text())
        assert [row for row in app.rows() if row.startswith("+")] == [
            line.strip() for line in expected
        ]
        await app.press("enter")
        await app.until(lambda: "asks first" in app.text())
        assert not file.exists()
        await app.press("escape")
        await app.until(lambda: "Nothing was changed." in app.text())
        assert not file.exists()
        await app.press("c")
        await app.until(lambda: "y changes it so" in app.text())
        await app.press("y")
        await app.until(lambda: "claude is connected for all your projects." in app.text())
        assert "hook" in file.read_text()
        await app.until(lambda: "Start claude here" in app.text() and "✓ connected" in app.text())
        clean_turn(folder)
        await app.until(lambda: isinstance(app.app.screen, TimelineScreen))
        await app.until(lambda: any("change a, make b" in row for row in app.rows()))
        await app.until(lambda: "The first session is here." in app.text())
        await app.press("ctrl+x", "a")
        await app.until(lambda: "1 session recorded here" in app.text())
        await app.pilot.pause(0.1)
        assert isinstance(app.app.screen, FirstRunScreen), "who comes by a key is not sent away"
        await app.press("x")
        await app.until(lambda: "Disconnecting claude changes" in app.text())
        await app.press("y")
        await app.until(lambda: "claude is disconnected." in app.text())
        assert not file.exists()

    play(folder, story, size, first)


def test_a_settings_file_that_cannot_be_changed_is_said(folder: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text('{"hooks": [')

    async def story(app: Driver) -> None:
        await app.until(lambda: "does not work" in app.text())
        await app.press("c")
        await app.until(lambda: "Expecting value" in " ".join(app.text().split()))
        assert "Nothing was changed." in " ".join(app.text().split())

    play(folder, story, (120, 36), first)


def test_connecting_for_this_project_only_and_a_file_that_changes_meanwhile(
    folder: Path, home: Path
) -> None:
    file = folder / ".claude" / "settings.json"

    async def story(app: Driver) -> None:
        await app.press("C")
        await app.until(lambda: "y changes it so" in app.text())
        file.parent.mkdir()
        file.write_text("{}")
        await app.press("y")
        await app.until(lambda: "was changed meanwhile" in app.text())
        assert file.read_text() == "{}"
        await app.press("C")
        await app.until(lambda: "y changes it so" in app.text())
        await app.press("y")
        await app.until(lambda: "connected for this project" in app.text())
        assert "hooks" in json.loads(file.read_text())
        assert not (home / ".claude").exists()

    play(folder, story, (80, 24), first)


def test_the_demo_opens_in_place_of_the_project(folder: Path, home: Path) -> None:
    async def story(app: Driver) -> None:
        await app.press("2")
        await app.until(lambda: "ctrl+x a shows what takeback found here" in app.text())
        await app.press("ctrl+x", "a")
        await app.until(lambda: "What takeback found" in app.text())
        await app.press("G", "enter")
        await app.until(lambda: "Now in" in app.text())
        assert any("Clean up, and read the rates" in row for row in app.rows())
        assert b"takeback-demo-" in app.app.project.root

    play(folder, story, (120, 36), first)


def test_what_is_connected_elsewhere_shows_by_itself(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.tui.screens.first_run._LOOK_EVERY", 0.05)

    async def story(app: Driver) -> None:
        assert "✓ connected" not in app.text()
        assert cli.main(["-C", str(folder), "install", "claude"]) == 0
        await app.until(lambda: "✓ connected" in app.text())
        await app.press("3")
        clean_turn(folder)
        await app.until(lambda: app.app.record is not None and bool(app.app.record.sessions))
        await app.press("ctrl+x", "a")
        await app.until(lambda: "1 session recorded here" in app.text())
        assert isinstance(app.app.screen, FirstRunScreen)

    play(folder, story, (80, 24), first)


def test_a_project_with_a_record_opens_on_its_timeline(folder: Path, home: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.until(lambda: app.app.record is not None)
        assert isinstance(app.app.screen, TimelineScreen)

    play(folder, story)
