"""Going on in a conversation from the command line: the right program, arguments and folder."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import conversations
from takeback.engine.agents.claude import resume as claude
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import Point, Way
from takeback.engine.model import Session
from takeback.tui.cli import main
from tests.tui.test_cli import cli, env, folder, on_terminal

__all__ = ["env", "folder"]

AGENT = """#!/bin/sh
printf '%s\\n' "$PWD" "$(pwd -P)" "$@" > "$HOME/started"
"""


@pytest.fixture
def shop(folder: Path, env: dict[str, str]) -> Path:
    """Two turns of a conversation, and an agent's program that notes how it was started."""
    programs = folder.parent / "bin"
    programs.mkdir()
    (programs / "claude").write_text(AGENT)
    (programs / "claude").chmod(0o755)
    Path(env["HOME"]).mkdir()
    env["PATH"] = f"{programs}:{env['PATH']}"
    for number, name in enumerate(("first", "second"), 1):
        begin = ["record", "begin", "--session", "s1", "--agent", "claude", "--prompt", name]
        call = ["--session", "s1", "--call", str(number)]
        assert cli(folder, env, *begin).returncode == 0
        edit = ["record", "tool-begin", *call, "--tool", "Edit", "--kind", "edit"]
        assert cli(folder, env, *edit, "--path", f"{name}.txt").returncode == 0
        (folder / f"{name}.txt").write_text(name)
        assert cli(folder, env, "record", "tool-end", *call).returncode == 0
        assert cli(folder, env, "record", "end", "--session", "s1").returncode == 0
    return folder


def started(env: dict[str, str]) -> list[str]:
    path = Path(env["HOME"], "started")
    return path.read_text().splitlines() if path.exists() else []


def document(shop: Path, env: dict[str, str], *words: str, code: int = 0) -> dict[str, Any]:
    done = cli(shop, env, *words, "--json")
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_on_a_terminal_the_agent_takes_over_in_the_projects_folder(
    shop: Path, env: dict[str, str]
) -> None:
    (shop / "below").mkdir()
    code, seen = on_terminal(shop / "below", env, ["resume", "1"])
    assert code == 0 and b"Opening the conversation in Claude Code" in seen
    root = os.path.realpath(shop)
    assert started(env)[:2] == [root, root] and "s1" in started(env)


def test_elsewhere_the_command_is_shown(shop: Path, env: dict[str, str]) -> None:
    done = cli(shop, env, "resume", "2")
    command, then = done.stdout.decode().splitlines()[:2]
    assert command.startswith("claude ") and "s1" in command and "second" in then
    assert started(env) == [] and (shop / "second.txt").exists()
    (shop / "below").mkdir()
    below = cli(shop / "below", env, "resume", "2").stdout.decode()
    assert below.startswith(f"cd {os.path.realpath(shop)} && claude ")
    code, seen = on_terminal(shop, env, ["resume", "--print"])
    assert code == 0 and b"claude " in seen and started(env) == []


def test_the_document_names_program_folder_and_what_is_left(
    shop: Path, env: dict[str, str]
) -> None:
    found = document(shop, env, "resume")
    assert found["agent"] == "claude" and found["argv"][0] == "claude"
    assert found["folder"] == os.path.realpath(shop) and found["command"].startswith("claude ")
    assert found["exact"] is (found["then"] == "") and "second" in found["then"]


def test_after_an_undo_it_goes_on_where_the_files_stand(shop: Path, env: dict[str, str]) -> None:
    undone = document(shop, env, "undo", "--dry-run")["resume"]
    assert "second" in undone["then"]
    assert document(shop, env, "undo")["resume"] == undone
    assert document(shop, env, "resume") == undone
    assert "first" in document(shop, env, "undo")["resume"]["then"]
    assert "first" in document(shop, env, "resume")["then"]
    assert document(shop, env, "redo")["resume"] is None
    assert document(shop, env, "redo")["resume"] is None
    assert "second" in document(shop, env, "resume")["then"], "everything stands again"


def test_a_newer_prompt_counts_more_than_an_undo_before_it(shop: Path, env: dict[str, str]) -> None:
    assert "second" in document(shop, env, "undo")["resume"]["then"]
    begin = ["record", "begin", "--session", "s1", "--agent", "claude", "--prompt", "third"]
    assert cli(shop, env, *begin).returncode == 0
    assert cli(shop, env, "record", "end", "--session", "s1").returncode == 0
    assert "third" in document(shop, env, "resume")["then"]


def test_undo_goes_on_in_the_conversation_where_that_was_asked_for(
    shop: Path, env: dict[str, str]
) -> None:
    assert b"claude " in cli(shop, env, "undo", "--resume").stdout and started(env) == []
    code, seen = on_terminal(shop, env, ["undo", "--resume"])
    assert code == 0 and b"Took back turn 1" in seen and b"first" in seen.split(b"Opening")[1]
    assert "s1" in started(env) and not (shop / "first.txt").exists()


def test_undo_of_an_older_turn_leaves_the_conversation(shop: Path, env: dict[str, str]) -> None:
    code, seen = on_terminal(shop, env, ["undo", "--turn", "1", "--resume"])
    assert code == 0 and b"left as it is" in seen and started(env) == []


@pytest.mark.parametrize("name", ["7", "1.1", "no"])
def test_an_unknown_turn_is_wrong_usage(name: str, shop: Path, env: dict[str, str]) -> None:
    assert document(shop, env, "resume", name, code=2)["error"]["code"] == 2


def test_what_is_no_turn_is_wrong_usage(shop: Path, env: dict[str, str]) -> None:
    error = document(shop, env, "resume", "2", code=0)
    operation = document(shop, env, "undo")["operation"]
    error = document(shop, env, "resume", operation, code=2)["error"]
    assert "is no turn" in error["message"]


def test_an_agent_without_a_way_is_named(shop: Path, env: dict[str, str]) -> None:
    assert cli(shop, env, "run", "--agent", "aider", "--", "true").returncode == 0
    error = document(shop, env, "resume", code=3)["error"]
    assert "aider" in error["message"]


def test_nothing_recorded_is_nothing_to_go_on_with(folder: Path, env: dict[str, str]) -> None:
    assert document(folder, env, "resume", code=3)["error"]["code"] == 3


def test_a_session_at_work_is_not_opened_twice(shop: Path, env: dict[str, str]) -> None:
    begin = ["record", "begin", "--session", "s1", "--agent", "claude", "--prompt", "third"]
    assert cli(shop, env, *begin).returncode == 0
    error = document(shop, env, "resume", "1", code=5)["error"]
    assert "Claude Code is at work" in error["message"] and "first" in error["hint"]
    assert cli(shop, env, "resume", "1", "--print").stdout.startswith(b"claude ")
    code, _ = on_terminal(shop, env, ["resume", "1"])
    assert code == 5 and started(env) == []


def test_a_program_that_is_missing_is_named(shop: Path, env: dict[str, str]) -> None:
    (shop.parent / "bin/claude").unlink()
    env["PATH"] = str(shop.parent / "bin") + ":/usr/bin:/bin"
    code, seen = on_terminal(shop, env, ["resume"])
    assert code == 1 and b"'claude' was not found" in seen and b"Opening" not in seen


# --- A copy -----------------------------------------------------------------------------------


@pytest.fixture
def here(shop: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command line in this process, in the shop."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(shop)
    return shop


def test_a_copy_is_made_by_the_agent_and_needs_no_more(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points: list[Point] = []

    def fork(point: Point, run: Programs) -> Way:
        points.append(point)
        return Way("Claude Code", ("claude", "--resume", "copy"), point.folder)

    monkeypatch.setattr(claude, "fork", fork, raising=False)
    assert main(["resume", "2", "--fork", "--print", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["argv"][-1] == "copy" and found["exact"] and found["then"] == ""
    (point,) = points
    assert (point.session, point.prompt) == ("s1", "second")
    assert point.folder == os.fsencode(os.path.realpath(here))


def test_an_agent_that_makes_no_copies_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(claude, "fork", raising=False)
    assert main(["resume", "2", "--fork", "--json"]) == 1
    error = json.loads(capsys.readouterr().out)["error"]
    assert "makes no copy" in error["message"] and "--fork" in error["hint"]


def test_an_interruption_while_conversations_are_read_comes_before_the_undo(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(*given: object) -> Session:
        raise KeyboardInterrupt

    monkeypatch.setattr(conversations, "told", told)
    assert main(["undo"]) == 130
    assert (here / "second.txt").exists()
