"""Connecting Gemini CLI: hooks go in and out of its settings, and all else stays."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import commandfiles, install
from takeback.engine.agents.gemini import setup, tools
from takeback.engine.errors import UsageError
from tests.agents.test_install import FILES


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
    monkeypatch.delenv("GEMINI_CLI_TRUSTED_FOLDERS_PATH", raising=False)


class Place:
    """A home and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "project"
        self.user = self.home / ".gemini/settings.json"
        self.user.parent.mkdir(parents=True)
        self.root.mkdir()

    @property
    def both(self) -> tuple[bytes, bytes]:
        return os.fsencode(self.root), os.fsencode(self.home)

    def install(self, level: Any = "user") -> None:
        for edit in install.plan_install("gemini", level, *self.both):
            install.apply_edit(edit)

    def uninstall(self) -> None:
        for edit in install.plan_uninstall("gemini", *self.both):
            install.apply_edit(edit)

    def problems(self) -> list[str]:
        return [message for _, ok, message, _ in setup.status(*self.both) if not ok]

    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.user.read_text("utf-8-sig"))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_hooks_that_record_are_connected(place: Place) -> None:
    place.install()
    hooks = place.settings()["hooks"]
    assert set(hooks) == {"BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"}
    for groups in hooks.values():
        (group,) = groups
        (hook,) = group["hooks"]
        assert hook["type"] == "command" and "gemini" in hook["command"]
        assert hook["timeout"] == 60_000, "in milliseconds"
    assert place.problems() == []


def test_no_process_is_started_for_tools_that_only_read(place: Place) -> None:
    place.install()
    matcher = place.settings()["hooks"]["BeforeTool"][0]["matcher"]
    for tool in ("replace", "write_file", "run_shell_command", "mcp_x_read_file", "read_file_too"):
        assert re.search(matcher, tool)
    assert not any(re.search(matcher, tool) for tool in tools.READERS)


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_disconnecting_gives_the_bytes_back(place: Place, data: bytes) -> None:
    place.user.write_bytes(data)
    try:
        place.install()
    except UsageError:
        assert place.user.read_bytes() == data
        return
    place.install()
    assert len(place.settings()["hooks"]["SessionEnd"]) >= 1
    place.uninstall()
    now = place.user.read_bytes() if place.user.exists() else b""
    assert now == data or not data.strip()


@pytest.mark.parametrize(
    "given",
    [
        {"enabled": False},
        {"disabled": ["other", "takeback hook gemini"]},
    ],
)
def test_hooks_that_are_switched_off_are_told(place: Place, given: dict[str, Any]) -> None:
    place.user.write_text(json.dumps({"hooksConfig": given}))
    place.install()
    (problem,) = place.problems()
    assert "hooksConfig" in problem


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({}, False),
        ({"{root}": "DO_NOT_TRUST"}, True),
        ({"{root}/sub": "DO_NOT_TRUST", "{root}x": "DO_NOT_TRUST"}, False),
        ({"{above}": "DO_NOT_TRUST"}, True),
        ({"{above}": "DO_NOT_TRUST", "{root}": "TRUST_FOLDER"}, False),
        ({"{root}": "DO_NOT_TRUST", "{above}": "TRUST_FOLDER"}, True),
        ({"{above}": "DO_NOT_TRUST", "{above}/other": "TRUST_PARENT"}, False),
        ({"{root}": 3, "relative": "DO_NOT_TRUST", "/a\0": "DO_NOT_TRUST"}, False),
    ],
)
def test_a_folder_that_is_not_trusted_is_told(
    place: Place, rules: dict[str, Any], said: bool
) -> None:
    names = {"root": str(place.root), "above": str(place.root.parent)}
    held = {path.format(**names): trust for path, trust in rules.items()}
    file = place.user.parent / "trustedFolders.json"
    file.write_text("// mine\n" + json.dumps(held))
    assert place.problems() == [], "it is not connected"
    place.install()
    assert [("does not trust" in problem) for problem in place.problems()] == [True] * said
    settings = json.loads(place.user.read_text())
    off = {**settings, "security": {"folderTrust": {"enabled": False}}}
    place.user.write_text(json.dumps(off))
    assert place.problems() == []


@pytest.mark.parametrize("text", ["[]", "{", '{"hooksConfig": [1]}', '{"hooksConfig": null}', "3"])
def test_settings_of_any_shape_are_looked_at(place: Place, text: str) -> None:
    place.user.write_text(text)
    assert not any("runs no hooks" in problem for problem in place.problems())


def test_another_home_is_used(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(place.home / "own"))
    place.install()
    assert (place.home / "own/.gemini/settings.json").exists() and not place.user.exists()


# --- Undo, redo and status within Gemini CLI ----------------------------------------------------


def command(place: Place, name: str) -> Path:
    return place.user.parent / f"commands/takeback/{name}.toml"


def shell_of(path: Path) -> str:
    prompt = str(tomllib.loads(path.read_text("utf-8"))["prompt"])
    return prompt.partition("!{")[2].partition("}\n")[0]


def test_commands_come_and_go_with_the_hooks(place: Place) -> None:
    place.install()
    for name, verb in (("undo", "undo"), ("redo", "redo"), ("status", "history")):
        assert f" {verb} $more 2>&1" in shell_of(command(place, name))
        assert "Remove it with" in command(place, name).read_text("utf-8").splitlines()[0]
    place.uninstall()
    assert os.listdir(place.user.parent) == []


@pytest.mark.parametrize(
    ("given", "said"), [("", "Nothing"), ("--turn 7 --yes", "no '7'"), ("--help", "usage")]
)
def test_what_follows_a_command_is_taken_apart(
    place: Place, tmp_path: Path, given: str, said: str
) -> None:
    place.install()
    text = shell_of(command(place, "undo")).replace("{{args}}", f"'{given}'")
    env = {"TAKEBACK_DATA_DIR": str(tmp_path / "data"), "PATH": "/usr/bin:/bin", "HOME": "/none"}
    done = subprocess.run(
        ["sh", "-c", text], cwd=place.root, env=env, capture_output=True, text=True
    )
    assert said.lower() in done.stdout.lower() and done.stderr == ""


def test_a_command_of_the_users_own_stays(place: Place) -> None:
    command(place, "undo").parent.mkdir(parents=True)
    command(place, "undo").write_text("mine")
    with pytest.raises(UsageError, match="Nothing was changed"):
        place.install()
    place.uninstall()
    assert command(place, "undo").read_text() == "mine"


@pytest.mark.parametrize("old", ["{{args}}; ", "prompt = "])
def test_a_command_that_cannot_work_is_told(place: Place, old: str) -> None:
    place.install()
    path = command(place, "redo")
    path.write_text(path.read_text().replace(old, "/none/x "))
    assert any("do not work" in problem for problem in place.problems())
    path.unlink()
    assert any("is not there" in problem for problem in place.problems())
    assert commandfiles.problem(setup.COMMANDS, b"/none") != ""
