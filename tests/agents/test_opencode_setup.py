"""Connecting OpenCode: our plugin comes and goes, and no file of the user's is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import connection, install
from takeback.engine.agents.opencode import setup
from takeback.engine.agents.opencode.events import READERS
from takeback.engine.errors import UsageError


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)


class Place:
    """A home and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "project"
        self.home.mkdir()
        self.root.mkdir()
        self.user = self.home / ".config/opencode/plugin/takeback.js"
        self.project = self.root / ".opencode/plugin/takeback.js"

    @property
    def both(self) -> tuple[bytes, bytes]:
        return os.fsencode(self.root), os.fsencode(self.home)

    def install(self, level: Any = "user", **more: Any) -> None:
        for edit in install.plan_install("opencode", level, *self.both, **more):
            install.apply_edit(edit)

    def uninstall(self) -> None:
        for edit in install.plan_uninstall("opencode", *self.both):
            install.apply_edit(edit)

    def status(self) -> list[tuple[bool, str]]:
        checks = connection.status(*self.both)
        return [(ok, message) for name, ok, message, _ in checks if name == "opencode"]

    def files(self) -> dict[str, bytes]:
        return {
            str(path): path.read_bytes()
            for folder in (self.home, self.root)
            for path in folder.rglob("*")
            if path.is_file()
        }


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("level", ["user", "project"])
def test_install_and_uninstall_leave_nothing(place: Place, level: str) -> None:
    other = place.home / ".config/opencode/plugin/mine.js"
    other.parent.mkdir(parents=True)
    other.write_text("export const Mine = async () => ({})\n")
    before = place.files()
    place.install(level)
    path = place.user if level == "user" else place.project
    assert path.read_text().startswith("// Made by takeback: ")
    once = place.files()
    assert all(
        not edit.changes
        for edit in install.plan_install("opencode", level, *place.both)  # type: ignore[arg-type]
    )
    place.install(level)
    assert place.files() == once and {k: v for k, v in once.items() if k in before} == before
    ((ok, message),) = place.status()
    assert ok and "is connected for" in message
    place.uninstall()
    assert place.files() == before
    assert place.status() == [(True, "OpenCode is not connected.")]


def test_one_level_only(place: Place) -> None:
    place.install("project")
    with pytest.raises(UsageError, match="already connected"):
        place.install()
    assert not place.user.exists()
    place.user.parent.mkdir(parents=True)
    place.user.write_bytes(place.project.read_bytes())
    assert any(not ok and "two levels" in message for ok, message in place.status())
    place.uninstall()
    assert not place.user.exists() and not place.project.exists()


def test_a_file_of_the_users_is_neither_replaced_nor_deleted(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    place.user.write_text("export const Mine = async () => ({})\n")
    with pytest.raises(UsageError, match="is not takeback's"):
        place.install()
    assert install.plan_uninstall("opencode", *place.both) == ()
    assert place.status() == [(True, "OpenCode is not connected.")]
    os.unlink(place.user)
    os.mkdir(place.user)
    assert [ok for ok, _ in place.status()] == [False]


def test_the_settings_folder_follows_its_variable(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(place.home / "own"))
    place.install()
    assert (place.home / "own/opencode/plugin/takeback.js").exists()


def test_a_plugin_that_cannot_work_any_more_is_named(place: Place) -> None:
    place.install()
    good = place.user.read_text()
    for old, new, expected in (
        (json.dumps(sys.executable), '"/gone/python"', "'/gone/python' is gone"),
        ("const HOOK = [", "const HOOK = (", "does not say what to start"),
        ("const LONGEST_MS = 60000", "const LONGEST_MS = 1", "another version"),
    ):
        assert old in good
        place.user.write_text(good.replace(old, new))
        ((ok, message),) = place.status()
        assert not ok and expected in message
        place.install()
        assert place.user.read_text() == good


def test_the_plugins_command_records(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.install(data_dir=str(tmp_path / "da'ta \\x"))
    words = setup._hook_of(place.user.read_bytes())
    payload = {
        "hook_event_name": "chat.message", "session_id": "s", "cwd": str(place.root), "key": "k",
        "prompt": "go",
    }  # fmt: skip
    done = subprocess.run(
        words, input=json.dumps(payload).encode(), capture_output=True, timeout=60, cwd="/"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list((tmp_path / "da'ta \\x/open").iterdir())


def test_tools_that_only_read_are_not_told(place: Place) -> None:
    text = setup.plugin().decode()
    assert (
        f"new Set({json.dumps(sorted(READERS))})" in text and "@" not in text.split("const LO")[0]
    )


def test_the_plugin_exports_one_function_only() -> None:
    """OpenCode calls every function that a plugin exports."""
    text = setup.plugin().decode()
    assert [line for line in text.splitlines() if line.startswith("export")] == [
        "export const Takeback = async ({ directory, client }) => {"
    ]


def test_commands_within_opencode(place: Place) -> None:
    mine = place.home / ".config/opencode/command/takeback-redo.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("---\ndescription: my own\n---\nx\n")
    place.install()
    assert mine.read_text().endswith("x\n")
    names = sorted(path.name for path in mine.parent.iterdir())
    assert names == ["takeback-redo.md", "takeback-status.md", "takeback-undo.md"]
    text = (mine.parent / "takeback-undo.md").read_text()
    assert text.startswith("---\n# Made by takeback. ") and "\n/takeback-undo $ARGUMENTS\n" in text
    place.uninstall()
    assert sorted(path.name for path in mine.parent.iterdir()) == ["takeback-redo.md"]
    assert not place.user.parent.exists()


def test_the_plugins_command_line_works(place: Place, tmp_path: Path) -> None:
    place.install(data_dir=str(tmp_path / "data"))
    line = next(x for x in place.user.read_text().splitlines() if x.startswith("const CLI = "))
    words = json.loads(line.removeprefix("const CLI = "))
    done = subprocess.run([*words, "history"], capture_output=True, timeout=60, cwd=place.root)
    assert done.returncode == 0 and b"Next undo" in done.stdout
