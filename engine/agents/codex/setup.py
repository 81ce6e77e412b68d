"""Connecting Codex: hooks in its ``hooks.json``, and skills for undo and redo within it.

The user approves the hooks within Codex, never we.
"""

from __future__ import annotations

import os

from takeback.engine.agents import hookfile, hookstatus
from takeback.engine.agents.codex import approval, skills
from takeback.engine.agents.codex.folders import config_folder
from takeback.engine.agents.files import Check, FileEdit, Level
from takeback.engine.agents.hookfile import Hooks

PROGRAM = "codex"
TITLE = "Codex"
NEXT = (
    "Now start codex, type /hooks and approve takeback's hooks: until then Codex leaves them out "
    "without a word, and nothing is recorded. Within it, $takeback-undo, $takeback-redo and "
    "$takeback-status call takeback."
)

_TIMEOUT_S = 60


def hooks_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Codex's file of hooks of a level."""
    folder = os.path.join(root, b".codex") if level == "project" else config_folder(home)
    return os.path.join(folder, b"hooks.json")


HOOKS = Hooks(
    "codex",
    TITLE,
    {
        "UserPromptSubmit": "",
        "PreToolUse": "",
        "PostToolUse": "",
        "SubagentStop": "",
        "Stop": "",
        "Interrupt": "",
        "SessionEnd": "",
    },
    _TIMEOUT_S,
    hooks_file,
    # Codex cuts longer ones down to this, and says so at each start.
    dict.fromkeys(approval.BRIEF, approval.BRIEF_S),
)


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    hooks = hookfile.plan_install(HOOKS, level, root, home, data_dir)
    return (hooks, *skills.plan_install(level, root, home, data_dir))


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    return (*hookfile.plan_uninstall(HOOKS, root, home), *skills.plan_uninstall(root, home))


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    checks = hookstatus.status(HOOKS, root, home)
    return [*checks, *approval.checks(HOOKS, config_folder(home), root, home)]
