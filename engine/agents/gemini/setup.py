"""Connecting Gemini CLI: hooks in its settings files."""

from __future__ import annotations

import json
import os
from typing import Any

from takeback.engine.agents import hookfile, hookstatus
from takeback.engine.agents.command import is_ours
from takeback.engine.agents.files import Check, FileEdit, Level, read_file
from takeback.engine.agents.gemini.tools import READERS
from takeback.engine.agents.hookfile import Hooks
from takeback.engine.errors import UsageError

PROGRAM = "gemini"
TITLE = "Gemini CLI"
NEXT = "Start it anew where it runs already."

_TIMEOUT_MS = 60_000
_TOOLS = f"^(?!(?:{'|'.join(sorted(READERS))})$)"
"""All but the tools that write nothing: Gemini CLI takes the matcher as a regular expression."""


def settings_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Gemini CLI's settings file of a level."""
    folder = root if level == "project" else user_folder(home)
    return os.path.join(folder, b".gemini", b"settings.json")


def user_folder(home: bytes) -> bytes:
    """The folder that holds Gemini CLI's own folder of the user."""
    own = os.environ.get("GEMINI_CLI_HOME")
    return os.path.abspath(os.fsencode(own)) if own else home


HOOKS = Hooks(
    "gemini",
    TITLE,
    {
        "BeforeAgent": "",
        "BeforeTool": _TOOLS,
        "AfterTool": _TOOLS,
        "AfterAgent": "",
        "SessionEnd": "",
    },
    _TIMEOUT_MS,
    settings_file,
)


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    return (hookfile.plan_install(HOOKS, level, root, home, data_dir),)


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    return hookfile.plan_uninstall(HOOKS, root, home)


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    checks = hookstatus.status(HOOKS, root, home)
    levels: tuple[Level, ...] = ("user", "project")
    for level in levels:
        path = settings_file(level, root, home)
        why = _switched_off(path)
        if why:
            message = f"Gemini CLI runs no hooks: {os.fsdecode(path)!r} has {why}."
            checks.append(("gemini", False, message, "Remove that setting."))
    return checks


def _switched_off(path: bytes) -> str:
    """The setting of a file by which Gemini CLI leaves our hooks out, where they are in use."""
    try:
        found = json.loads(read_file(path) or b"{}")
    except (UsageError, ValueError, RecursionError):
        return ""
    settings = _map(_map(found).get("hooksConfig"))
    disabled = settings.get("disabled")
    if settings.get("enabled") is False:
        return "'hooksConfig.enabled' set to false"
    if isinstance(disabled, list) and any(is_ours(command, "gemini") for command in disabled):
        return "takeback's hook in 'hooksConfig.disabled'"
    return ""


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
