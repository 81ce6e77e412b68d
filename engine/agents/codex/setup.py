"""Connecting Codex: hooks in its ``hooks.json``. The user approves them within Codex, never we."""

from __future__ import annotations

import os

from takeback.engine.agents import hookfile, hookstatus
from takeback.engine.agents.codex import approval
from takeback.engine.agents.files import Check, FileEdit, Level
from takeback.engine.agents.hookfile import Hooks

PROGRAM = "codex"
TITLE = "Codex"
NEXT = (
    "Now start codex, type /hooks and approve takeback's hooks: until then Codex leaves them out "
    "without a word, and nothing is recorded."
)

_TIMEOUT_S = 60


def config_folder(home: bytes) -> bytes:
    """The folder with Codex's settings, hooks and sessions, as Codex names it in its settings."""
    own = os.environ.get("CODEX_HOME")
    return os.path.realpath(os.fsencode(own)) if own else os.path.join(home, b".codex")


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
    return [*checks, *approval.checks(HOOKS, config_folder(home), root, home)]
