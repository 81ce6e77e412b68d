"""Connecting Claude Code: hooks in its settings files, and commands for undo and redo in it."""

from __future__ import annotations

import os

from takeback.engine.agents import hookfile, hookstatus
from takeback.engine.agents.claude import commands
from takeback.engine.agents.files import Check, FileEdit, Level
from takeback.engine.agents.hookfile import Hooks

PROGRAM = "claude"
TITLE = "Claude Code"
NEXT = (
    "Start it anew where it runs already. Within it, /takeback:undo, /takeback:redo and "
    "/takeback:status call takeback."
)

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


_LEVELS: tuple[Level, ...] = ("user", "project")


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    hooks = hookfile.plan_install(HOOKS, level, root, home, data_dir)
    return (hooks, *commands.plan_install(folder_of(level, root, home), level, data_dir))


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    edits = list(hookfile.plan_uninstall(HOOKS, root, home))
    for level in _LEVELS:
        for edit in commands.plan_uninstall(folder_of(level, root, home), level):
            if os.path.realpath(edit.path) not in {os.path.realpath(e.path) for e in edits}:
                edits.append(edit)
    return tuple(edits)


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    checks = hookstatus.status(HOOKS, root, home)
    for level in hookstatus.levels(HOOKS, root, home):
        why = commands.problem(folder_of(level, root, home))
        if why:
            fix = "takeback install claude" + (" --project" if level == "project" else "")
            message = f"The commands of takeback in Claude Code do not work: {why}."
            checks.append(("claude", False, message, fix))
    return checks
