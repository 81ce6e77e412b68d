"""Going on in a conversation from before a turn, by the agent's own means.

takeback shows the way, and starts the agent on it where the user wants that; an agent's session
files are the agent's. Each agent may have a module ``resume`` with a function `way`, and with a
function `fork` where the agent can make a copy of a conversation that ends earlier. All but `fork`
is pure.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from takeback.engine.agents import hook
from takeback.engine.errors import TakebackError
from takeback.engine.model import Plan

if TYPE_CHECKING:
    from takeback.engine.agents.programs import Programs
    from takeback.engine.model import Operation, Turn


class CannotFork(TakebackError):
    """An agent made no copy of a conversation."""


@dataclass(frozen=True, slots=True)
class Point:
    """A place in a conversation: right before one of its prompts.

    Attributes:
        session: as the agent calls it.
        folder: where the agent was started, as far as its own files tell; else the project's root.
        prompt: the text.
        key: the agent's own id of the prompt or its turn, "" where none is known.
        index: how many prompts of the conversation, as it stands, come before; -1 where that is
            not known.
        home: the folder below which the agents keep their files.
    """

    session: str
    folder: bytes
    prompt: str = ""
    key: str = ""
    index: int = -1
    home: bytes = b""


@dataclass(frozen=True, slots=True)
class Way:
    """How a conversation is continued from before a turn.

    Attributes:
        title: the agent's name as people write it.
        argv: the program and its arguments that open the conversation; no shell is needed.
        folder: where it must be started, b"" for the project's folder.
        then: what to do in the agent, in words that go on with the prompt of the turn; "" if
            nothing is left to do.
        last: what comes after that prompt, "" for nothing.
        prompt: of the first turn that the conversation shall forget.
        running: the conversation is open already: the command is not needed.
        agent: its short name.
    """

    title: str
    argv: tuple[str, ...]
    folder: bytes = b""
    then: str = ""
    last: str = ""
    prompt: str = ""
    running: bool = False
    agent: str = ""

    @property
    def exact(self) -> bool:
        """Whether the command alone opens the conversation as it was before the prompt."""
        return not self.then

    def command(self, here: bytes = b"") -> str:
        """The exact shell command.

        Args:
            here: the folder in which it will be typed; b"" for the right one.
        """
        command = shlex.join(self.argv)
        if not here or not self.folder or os.path.realpath(self.folder) == os.path.realpath(here):
            return command
        return f"cd {shlex.quote(os.fsdecode(self.folder))} && {command}"


class Resume(Protocol):
    """An agent's module ``resume``."""

    def way(self, point: Point) -> Way:
        """The way back into one of its conversations. Cheap and pure."""


class Forks(Protocol):
    """An agent's module ``resume`` that can also make copies of conversations."""

    def fork(self, point: Point, run: Programs) -> Way:
        """Let the agent make a copy of a conversation that ends before a prompt.

        Raises:
            CannotFork: there is no copy.
        """


def _module(agent: str) -> object | None:
    """An agent's module; None where takeback knows no way for it."""
    if agent not in hook.AGENTS:
        return None
    name = f"takeback.engine.agents.{agent}.resume"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None


def point_of(turn: Turn, root: bytes = b"", home: bytes = b"") -> Point:
    """The place before a turn.

    Args:
        root: the project's folder.
        home: see `Point`; b"" for the user's own.
    """
    home = home or os.fsencode(os.path.expanduser("~"))
    return Point(turn.session, turn.folder or root, turn.prompt, turn.key, turn.earlier, home)


def continue_from(
    turn: Turn, running: bool = False, root: bytes = b"", home: bytes = b""
) -> Way | None:
    """How to go on with a conversation from before a turn; None where takeback knows no way.

    Args:
        running: the agent is at work in this session.
        root, home: see `point_of`.
    """
    module = _module(turn.agent)
    if module is None or not _plain(turn.session):
        return None
    point = point_of(turn, root, home)
    return _finished(cast(Resume, module).way(point), point, turn.agent, running)


def _plain(session: str) -> bool:
    """Whether a session's id can be an argument of a command and is nothing but an id there."""
    return bool(session) and session.isprintable() and not session.startswith("-")


def _finished(way: Way, point: Point, agent: str, running: bool = False) -> Way:
    folder = way.folder or point.folder
    return replace(way, folder=folder, prompt=point.prompt, running=running, agent=agent)


def can_fork(agent: str) -> bool:
    """Whether an agent can make a copy of a conversation that ends before a prompt."""
    return hasattr(_module(agent), "fork")


def fork(turn: Turn, run: Programs, root: bytes = b"", home: bytes = b"") -> Way:
    """Let the agent copy a conversation up to before a turn; the command alone opens the copy.

    Raises:
        CannotFork: the agent cannot, or did not.
    """
    module = _module(turn.agent)
    if not hasattr(module, "fork") or not _plain(turn.session):
        raise CannotFork(
            f"{turn.agent or 'This agent'} cannot be asked for a copy of this conversation. "
            "Nothing was done.",
            "Without --fork the conversation itself is opened.",
        )
    point = point_of(turn, root, home)
    return _finished(cast(Forks, module).fork(point, run), point, turn.agent)


def after(plan: Plan, turns: Iterable[Turn], root: bytes = b"", home: bytes = b"") -> Way | None:
    """How to go on from where an undo led, see `turn_after`."""
    found = turn_after(plan, turns)
    return continue_from(*found, root, home) if found is not None else None


def undone_to(operations: Sequence[Operation], turns: Sequence[Turn]) -> Turn | None:
    """The turn before which the files stand, if an undo was the last thing that happened."""
    last = operations[-1] if operations else None
    if last is None or last.state != "done" or any(turn.seq > last.seq for turn in turns):
        return None
    found = turn_after(last, turns)
    return found[0] if found is not None else None


def turn_after(done: Plan | Operation, turns: Iterable[Turn]) -> tuple[Turn, bool] | None:
    """The turn before which a conversation can go on after an undo, and whether its session runs.

    None unless the undo took back the end of a conversation.

    Args:
        done: the undo, before or after it was carried out.
        turns: all turns, as they were before or after the undo.
    """
    stopped = isinstance(done, Plan) and done.stopped
    if done.kind != "undo" or done.reverses or stopped or done.chosen:
        return None
    taken = {turn for turn, _ in done.takes}
    known = list(turns)
    targets = [turn for turn in known if turn.id in done.targets]
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
    return first, running
