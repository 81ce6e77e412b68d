"""Which agents there are on this machine, and how takeback is connected to them. Reads only."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

from takeback.engine.agents import install
from takeback.engine.errors import TakebackError
from takeback.tui.first_run import Agent
from takeback.tui.text import safe

OTHERS = (
    "codex", "opencode", "gemini", "pi", "aider", "amp", "copilot", "crush", "cursor-agent",
    "goose", "qwen",
)  # fmt: skip
"""Programs of agents that people use; those that takeback connects drop out by themselves."""

Which = Callable[[str], str | None]


def agents(root: bytes, home: bytes, which: Which = shutil.which) -> tuple[Agent, ...]:
    """The agents that takeback can be connected to."""
    return tuple(_agent(name, root, home, which) for name in install.AGENTS)


def others(which: Which = shutil.which) -> tuple[str, ...]:
    """Programs of other agents that are here."""
    known = {*install.AGENTS, *(install.setup(name).PROGRAM for name in install.AGENTS)}
    return tuple(name for name in OTHERS if name not in known and which(name))


def _agent(name: str, root: bytes, home: bytes, which: Which) -> Agent:
    setup = install.setup(name)
    said: list[str] = []
    wrong = False
    for _, well, message, hint in setup.status(root, home):
        said.append(safe(message) + (f" {safe(hint)}" if hint and not well else ""))
        wrong = wrong or not well
    try:
        connected = bool(install.plan_uninstall(name, root, home))
    except (TakebackError, OSError):
        # Its settings cannot be read: the status says so.
        connected = False
    there = which(setup.PROGRAM) is not None
    return Agent(name, setup.TITLE, setup.PROGRAM, there, connected, tuple(said), wrong)


def home() -> bytes:
    """The user's home folder, where agents have their settings."""
    return os.fsencode(os.path.expanduser("~"))
