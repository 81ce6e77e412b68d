"""Connecting Gemini CLI: hooks in its settings files, and commands for undo and redo within it."""

from __future__ import annotations

import os

from takeback.engine.agents import commandfiles, hookstatus
from takeback.engine.agents.command import is_ours
from takeback.engine.agents.commandfiles import Commands
from takeback.engine.agents.files import Check, FileEdit, Level
from takeback.engine.agents.gemini import commands
from takeback.engine.agents.gemini.tools import READERS
from takeback.engine.agents.gemini.trust import is_distrusted, settings_of
from takeback.engine.agents.hookfile import Hooks
from takeback.engine.agents.payload import as_map

PROGRAM = "gemini"
TITLE = "Gemini CLI"
NEXT = commandfiles.NEXT

_TIMEOUT_MS = 60_000
_TOOLS = f"^(?!(?:{'|'.join(sorted(READERS))})$)"
"""All but the tools that write nothing: Gemini CLI takes the matcher as a regular expression."""


def settings_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Gemini CLI's settings file of a level."""
    return os.path.join(folder_of(level, root, home), b"settings.json")


def folder_of(level: Level, root: bytes, home: bytes) -> bytes:
    """Gemini CLI's own folder of a level."""
    return os.path.join(root if level == "project" else user_folder(home), b".gemini")


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
    comments=True,
)

COMMANDS = Commands(HOOKS, folder_of, commands.ENDING, commands.TEXTS, commands.program)


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    return commandfiles.plan_install(COMMANDS, level, root, home, data_dir)


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    return commandfiles.plan_uninstall(COMMANDS, root, home)


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    checks = commandfiles.status(COMMANDS, root, home)
    if hookstatus.levels(HOOKS, root, home) and is_distrusted(root, folder_of("user", root, home)):
        message = "Gemini CLI does not trust this folder: it runs no hooks, so nothing is recorded."
        checks.append(("gemini", False, message, "In Gemini CLI, /permissions trusts it."))
    for level in commandfiles.LEVELS:
        path = settings_file(level, root, home)
        why = _switched_off(path)
        if why:
            message = f"Gemini CLI runs no hooks: {os.fsdecode(path)!r} has {why}."
            checks.append(("gemini", False, message, "Remove that setting."))
    return checks


def _switched_off(path: bytes) -> str:
    """The setting of a file by which Gemini CLI leaves our hooks out, where they are in use."""
    settings = as_map(settings_of(path).get("hooksConfig"))
    disabled = settings.get("disabled")
    if settings.get("enabled") is False:
        return "'hooksConfig.enabled' set to false"
    if isinstance(disabled, list) and any(is_ours(command, "gemini") for command in disabled):
        return "takeback's hook in 'hooksConfig.disabled'"
    return ""
