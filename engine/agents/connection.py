"""How agents are connected, and whether their files can be read: for `doctor`. Reads only."""

from __future__ import annotations

from takeback.engine.agents import install, readable
from takeback.engine.agents.files import Check

__all__ = ["Check", "status"]


def status(root: bytes, home: bytes) -> list[Check]:
    """How each agent is connected, and what of its conversations cannot be read."""
    found = [check for agent in install.AGENTS for check in install.setup(agent).status(root, home)]
    return found + readable.status(root, home)
