"""Connecting agents: what it changes in their files is planned first and applied later.

Each agent has a module ``setup`` with its name (``TITLE``), the program that it is started as
(``PROGRAM``), what the user has to do after connecting it (``NEXT``), and three functions:
``plan_install``, ``plan_uninstall`` and ``status``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from takeback.engine.agents.command import hook_command, import_folder, is_ours
from takeback.engine.agents.files import NOTHING, Check, FileEdit, Level, apply_all, apply_edit
from takeback.engine.errors import UsageError

__all__ = [
    "AGENTS", "Check", "FileEdit", "Level", "Setup", "apply_all", "apply_edit", "hook_command",
    "import_folder", "is_ours", "known", "plan_install", "plan_uninstall", "setup",
]  # fmt: skip

AGENTS = ("claude", "codex", "gemini", "opencode", "pi")
_LATER = ("acp",)


class Setup(Protocol):
    """An agent's module ``setup``."""

    PROGRAM: str
    TITLE: str
    NEXT: str

    def plan_install(
        self, level: Level, root: bytes, home: bytes, data_dir: str
    ) -> tuple[FileEdit, ...]:
        """See `plan_install`."""

    def plan_uninstall(self, root: bytes, home: bytes) -> tuple[FileEdit, ...]:
        """See `plan_uninstall`."""

    def status(self, root: bytes, home: bytes) -> list[Check]:
        """How it is connected: reads only, never raises."""


def setup(agent: str) -> Setup:
    """The module that connects an agent.

    Raises:
        UsageError: takeback cannot be connected to it.
    """
    return cast(Setup, import_module(f"takeback.engine.agents.{known(agent)}.setup"))


def known(agent: str) -> str:
    """The agent's name.

    Raises:
        UsageError: takeback cannot be connected to it.
    """
    if agent in AGENTS:
        return agent
    if agent in _LATER:
        raise UsageError(
            f"Connecting {agent!r} comes in a later version. {NOTHING}",
            "Start it through 'takeback run -- COMMAND' meanwhile.",
        )
    raise UsageError(
        f"There is no agent {agent!r} to connect. {NOTHING}",
        f"Agents: {', '.join(AGENTS)}. Others run through 'takeback run -- COMMAND'.",
    )


def plan_install(
    agent: str, level: Level, root: bytes, home: bytes, data_dir: str = ""
) -> tuple[FileEdit, ...]:
    """What connecting an agent changes; edits without a change where it is connected already.

    Args:
        data_dir: the data folder, where the user chose another than the usual one.

    Raises:
        UsageError: no such agent, it is connected at the other level, or a file of it cannot be
            changed safely.
    """
    return setup(agent).plan_install(level, root, home, data_dir)


def plan_uninstall(agent: str, root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """What disconnecting an agent changes; empty where it is not connected.

    Raises:
        UsageError: no such agent, or a file of it cannot be changed safely.
    """
    return setup(agent).plan_uninstall(root, home)
