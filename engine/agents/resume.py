"""Going on in a conversation from before a turn, by the agent's own means.

takeback shows the way and never walks it: an agent's session files are the agent's. Each agent may
have a module ``resume`` with a function `way`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from takeback.engine.agents import hook

if TYPE_CHECKING:
    from takeback.engine.model import Plan, Turn


@dataclass(frozen=True, slots=True)
class Way:
    """How a conversation is continued from before a turn.

    Attributes:
        title: the agent's name as people write it.
        command: the exact shell command that opens the conversation, in the project's folder.
        then: what to do in the agent, in words that go on with the prompt of the turn.
        last: what comes after that prompt, "" for nothing.
        prompt: of the first turn that the conversation shall forget.
        running: the conversation is open already: the command is not needed.
    """

    title: str
    command: str
    then: str
    last: str = ""
    prompt: str = ""
    running: bool = False


class Resume(Protocol):
    """An agent's module ``resume``."""

    def way(self, session: str) -> Way:
        """The way back into one of its conversations."""


def continue_from(turn: Turn, running: bool = False) -> Way | None:
    """How to go on with a conversation from before a turn; None where takeback knows no way.

    Args:
        running: the agent is at work in this session.
    """
    if turn.agent not in hook.AGENTS:
        return None
    name = f"takeback.engine.agents.{turn.agent}.resume"
    try:
        module = cast(Resume, import_module(name))
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
    found = module.way(turn.session)
    return replace(found, prompt=turn.prompt, running=running)


def after(plan: Plan, turns: Iterable[Turn]) -> Way | None:
    """How to go on from where an undo led; None unless it took back the end of a conversation.

    Args:
        turns: all turns, as they were before or after the undo.
    """
    if plan.kind != "undo" or plan.reverses or plan.stopped or plan.chosen:
        return None
    taken = {turn for turn, _ in plan.takes}
    known = list(turns)
    targets = [turn for turn in known if turn.id in plan.targets]
    if len({turn.session for turn in targets}) != 1:
        return None
    if any(turn.id not in taken and turn.changes for turn in targets):
        return None
    first = min(targets, key=lambda turn: turn.n)
    later = [turn for turn in known if turn.session == first.session and turn.n > first.n]
    running = any(turn.state == "running" for turn in later)
    rest = [turn for turn in later if turn not in targets]
    if any(turn.state != "running" and turn.changes and not turn.undone for turn in rest):
        # What came after stays, so the conversation about it has to stay, too.
        return None
    return continue_from(first, running)
