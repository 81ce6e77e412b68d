"""Connecting Claude Code: hooks in its settings files."""

from __future__ import annotations

import os

from takeback.engine.agents import hookfile, hookstatus
from takeback.engine.agents.files import Check, FileEdit, Level
from takeback.engine.agents.hookfile import Hooks

PROGRAM = "claude"
TITLE = "Claude Code"
NEXT = "Start it anew where it runs already."

_TIMEOUT_S = 60
_TOOLS = "Edit|Write|NotebookEdit|Bash|mcp__.*"


def config_folder(home: bytes) -> bytes:
    """The folder with Claude Code's settings, commands and transcripts."""
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.abspath(os.fsencode(own)) if own else os.path.join(home, b".claude")


def settings_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Claude Code's settings file of a level."""
    folder = os.path.join(root, b".claude") if level == "project" else config_folder(home)
    return os.path.join(folder, b"settings.json")


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


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    return (hookfile.plan_install(HOOKS, level, root, home, data_dir),)


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    return hookfile.plan_uninstall(HOOKS, root, home)


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    return hookstatus.status(HOOKS, root, home)
