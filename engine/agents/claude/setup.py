"""Connecting Claude Code: hooks in its settings files, and commands for undo and redo in it."""

from __future__ import annotations

import os

from takeback.engine.agents import commandfiles
from takeback.engine.agents.claude import commands
from takeback.engine.agents.commandfiles import Commands
from takeback.engine.agents.files import Check, FileEdit, Level
from takeback.engine.agents.hookfile import Hooks

PROGRAM = "claude"
TITLE = "Claude Code"
NEXT = commandfiles.NEXT

_TIMEOUT_S = 60
_TOOLS = "Edit|Write|NotebookEdit|Bash|mcp__.*"


def config_folder(home: bytes) -> bytes:
    """The folder with Claude Code's settings, commands and transcripts."""
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.abspath(os.fsencode(own)) if own else os.path.join(home, b".claude")


def folder_of(level: Level, root: bytes, home: bytes) -> bytes:
    """Claude Code's folder of a level."""
    return os.path.join(root, b".claude") if level == "project" else config_folder(home)


def settings_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Claude Code's settings file of a level."""
    return os.path.join(folder_of(level, root, home), b"settings.json")


HOOKS = Hooks(
    "claude",
    TITLE,
    {
        "SessionStart": "",
        "UserPromptSubmit": "",
        "PreToolUse": _TOOLS,
        "PostToolUse": _TOOLS,
        "PostToolUseFailure": _TOOLS,
        "PostToolBatch": "",
        "SubagentStop": "",
        "Stop": "",
        "SessionEnd": "",
    },
    _TIMEOUT_S,
    settings_file,
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
    return commandfiles.status(COMMANDS, root, home)
