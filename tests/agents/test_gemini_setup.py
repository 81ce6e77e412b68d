"""Connecting Gemini CLI: hooks go in and out of its settings, and all else stays."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import install
from takeback.engine.agents.gemini import setup, tools
from takeback.engine.errors import UsageError
from tests.agents.test_install import FILES


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)


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


@pytest.mark.parametrize("text", ["[]", "{", '{"hooksConfig": [1]}', '{"hooksConfig": null}', "3"])
def test_settings_of_any_shape_are_looked_at(place: Place, text: str) -> None:
    place.user.write_text(text)
    assert not any("runs no hooks" in problem for problem in place.problems())


def test_another_home_is_used(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(place.home / "own"))
    place.install()
    assert (place.home / "own/.gemini/settings.json").exists() and not place.user.exists()
