"""Undo, redo and status as commands of Claude Code: files of ours, put in and taken out."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import commandfiles
from takeback.engine.agents.claude import events as claude
from takeback.engine.agents.claude import setup
from takeback.engine.errors import UsageError
from tests.agents.test_claude import payloads
from tests.agents.test_install import Place

NAMES = ["redo.md", "status.md", "undo.md"]


@pytest.fixture
def p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    return Place(tmp_path)


def folder(p: Place) -> Path:
    return p.home / ".claude/commands/takeback"


def test_they_come_and_go_with_the_hooks(p: Place) -> None:
    p.install()
    assert sorted(path.name for path in folder(p).iterdir()) == NAMES
    first = {path: path.read_bytes() for path in folder(p).iterdir()}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in first)
    assert p.status()[0][0] and len([ok for ok, _ in p.status() if not ok]) == 0
    p.install()
    assert {path: path.read_bytes() for path in folder(p).iterdir()} == first
    p.uninstall()
    assert not (p.home / ".claude/commands").exists() and not p.user.exists()


def test_other_commands_of_the_user_stay(p: Place) -> None:
    other, inside = folder(p).parent / "fix.md", folder(p) / "mine.md"
    folder(p).mkdir(parents=True)
    other.write_text("Fix it.")
    inside.write_text("Mine.")
    p.install()
    p.uninstall()
    assert [path.name for path in folder(p).iterdir()] == ["mine.md"] and other.exists()


def test_a_file_of_the_users_is_neither_replaced_nor_deleted(p: Place) -> None:
    folder(p).mkdir(parents=True)
    (folder(p) / "undo.md").write_text("My own undo.")
    with pytest.raises(UsageError, match="not takeback's"):
        p.install()
    assert not p.user.exists() and not (folder(p) / "redo.md").exists()
    (folder(p) / "undo.md").unlink()
    p.install()
    (folder(p) / "undo.md").write_text("My own undo.")
    assert any("not takeback's" in message for ok, message in p.status() if not ok)
    p.uninstall()
    assert [path.name for path in folder(p).iterdir()] == ["undo.md"]


@pytest.mark.parametrize("name", NAMES)
def test_the_shell_gets_a_whole_command_line(p: Place, name: str) -> None:
    data = str(p.home / "my data")
    p.install(data_dir=data)
    text = (folder(p) / name).read_text()
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    (line,) = (line for line in body.splitlines() if line.startswith("!`"))
    words = shlex.split(line.strip("!`"))
    assert words[0] == sys.executable and words[words.index("--data-dir") + 1] == data
    assert body.count("`") == 2, "one command, whole"
    allowed = next(row for row in head.splitlines() if row.startswith("allowed-tools: "))
    command = line[2:-1].partition(" $ARGUMENTS")[0]
    assert allowed == f"allowed-tools: Bash({command}:*)"
    assert "takeback uninstall claude" in head


def test_what_it_runs_answers_whatever_came_of_it(p: Place) -> None:
    p.install(data_dir=str(p.home / "data"))
    text = (folder(p) / "undo.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("!`"))
    done = subprocess.run(
        ["sh", "-c", line[2:-1]],
        cwd=p.root,
        env={"PATH": os.environ["PATH"], "HOME": str(p.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and "Nothing was recorded" in done.stdout and done.stderr == ""


def test_commands_that_are_gone_or_stale_are_named(
    p: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    p.install()
    path = folder(p) / "redo.md"
    text = path.read_text()
    path.write_text(text.replace(sys.executable, "/gone/python"))
    (bad,) = [message for ok, message in p.status() if not ok]
    assert "redo.md" in bad and "is gone" in bad
    path.unlink()
    (bad,) = [message for ok, message in p.status() if not ok]
    assert "is not there" in bad
    path.mkdir()
    (bad,) = [message for ok, message in p.status() if not ok]
    assert "cannot be read" in bad
    path.rmdir()
    p.install()
    assert all(ok for ok, _ in p.status())


def test_the_project_has_its_own(p: Place) -> None:
    p.install("project")
    found = p.root / ".claude/commands/takeback"
    assert sorted(path.name for path in found.iterdir()) == NAMES and not folder(p).exists()
    p.uninstall()
    assert not found.exists()


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("takeback undo --turn 3", 0),
        ("/x/python -I -m takeback.tui.cli --data-dir /d redo", 0),
        ("takeback undo; rm a", 1),
        ("echo takeback", 1),
        ("takeback run -- make", 1),
    ],
)
def test_takeback_itself_is_no_call_of_the_agents(command: str, expected: int) -> None:
    call: dict[str, Any] = {
        "tool_name": "Bash",
        "tool_use_id": "u",
        "tool_input": {"command": command},
    }
    base = {**payloads("basic3")[1], **call}
    for name in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        assert len(claude.translate({**base, "hook_event_name": name}, ())) == expected
    batch = {**base, "hook_event_name": "PostToolBatch", "tool_calls": [call]}
    assert len(claude.translate(batch, None)) == expected


def test_a_folder_that_cannot_be_there_says_nothing(tmp_path: Path) -> None:
    none = os.fsencode(tmp_path / "none")
    assert setup.plan_uninstall(none, none) == ()
    assert "is not there" in commandfiles.problem(setup.COMMANDS, none)
