"""Connecting pi: an extension of ours in its folder."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace

from takeback.engine.agents import ownedfile
from takeback.engine.agents.files import NOTHING, Check, FileEdit, Level, read_file
from takeback.engine.agents.hookstatus import stale
from takeback.engine.agents.pi import extension
from takeback.engine.errors import UsageError

PROGRAM = "pi"
TITLE = "pi"
NEXT = (
    "Type /reload where it runs already. Within it, /takeback-undo, /takeback-redo and "
    "/takeback-status call takeback."
)

_LEVELS: tuple[Level, ...] = ("user", "project")


def agent_folder(home: bytes) -> bytes:
    """The folder with pi's settings, extensions and sessions."""
    own = os.environ.get("PI_CODING_AGENT_DIR")
    if not own:
        return os.path.join(home, b".pi", b"agent")
    raw = os.fsencode(own)
    return os.path.abspath(home + raw[1:] if raw == b"~" or raw.startswith(b"~/") else raw)


def settings_file(level: Level, root: bytes, home: bytes) -> bytes:
    """pi's settings of a level."""
    folder = os.path.join(root, b".pi") if level == "project" else agent_folder(home)
    return os.path.join(folder, b"settings.json")


def extension_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Where our extension stands."""
    folder = os.path.join(root, b".pi") if level == "project" else agent_folder(home)
    return os.path.join(folder, b"extensions", b"takeback.ts")


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    path = extension_file(level, root, home)
    other = extension_file("project" if level == "user" else "user", root, home)
    if other != path and ownedfile.is_ours(read_file(other), "pi"):
        raise UsageError(
            f"pi is already connected, in {os.fsdecode(other)!r}; at two levels, every event "
            f"would be recorded twice. {NOTHING}",
            "Run 'takeback uninstall pi' first.",
        )
    return (ownedfile.write(path, extension.text(data_dir), "pi", level),)


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    found: dict[bytes, FileEdit] = {}
    for level in _LEVELS:
        edit = ownedfile.delete(extension_file(level, root, home), "pi", level)
        if edit is not None:
            found.setdefault(os.path.realpath(edit.path), replace(edit, folders=1))
    return tuple(found.values())


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    checks: list[Check] = []
    connected: list[bytes] = []
    for level in _LEVELS:
        path = extension_file(level, root, home)
        try:
            data = read_file(path)
        except UsageError as error:
            checks.append(("pi", False, error.message.replace(f" {NOTHING}", ""), error.hint))
            continue
        if data is not None and ownedfile.is_ours(data, "pi") and path not in connected:
            connected.append(path)
            checks.append(_connection(level, os.fsdecode(path), data))
    if len(connected) > 1:
        message = "pi is connected at two levels, so every event is recorded twice."
        fix = "Run 'takeback uninstall pi', then 'takeback install pi'."
        checks.append(("pi", False, message, fix))
    return checks or [("pi", True, "pi is not connected.", "takeback install pi connects it.")]


def _connection(level: Level, shown: str, data: bytes) -> Check:
    fix = "takeback install pi" + (" --project" if level == "project" else "")
    words = extension.command_of(data)
    why = stale(shlex.join(words)) if words else "it names no command"
    if why:
        return ("pi", False, f"pi's extension {shown!r} does not work: {why}.", fix)
    if not extension.is_current(data):
        message = f"pi's extension {shown!r} was written by another version of takeback."
        return ("pi", False, message, fix)
    where = "this project" if level == "project" else "all projects"
    return ("pi", True, f"pi is connected for {where}, in {shown!r}.", "")
