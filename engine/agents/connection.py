"""How agents are connected: for `doctor` and the app. Reads only."""

from __future__ import annotations

from takeback.engine.agents import install
from takeback.engine.agents.files import Check

__all__ = ["Check", "status"]


def status(root: bytes, home: bytes) -> list[Check]:
    """How each agent that takeback can be connected to is connected."""
    return [check for agent in install.AGENTS for check in install.setup(agent).status(root, home)]
