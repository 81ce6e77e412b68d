"""A conversation as an agent's own files tell it: the same form for every agent.

These files are the agents': they are only read, they grow while we read, their last line may be
torn, and lines of unknown kinds come with every release. What cannot be read is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from takeback.engine.facts import CallKind


@dataclass(frozen=True, slots=True)
class TalkCall:
    """A tool call.

    Attributes:
        id: as the agent's hooks name it, where they do.
        paths: absolute, or relative to the conversation's folder.
    """

    id: str
    tool: str
    kind: CallKind | None
    paths: tuple[bytes, ...] = ()
    command: str = ""
    state: Literal["running", "done", "failed", "lost"] = "done"
    at_ns: int = 0


@dataclass(frozen=True, slots=True)
class TalkStep:
    """One model answer."""

    text: str
    calls: tuple[TalkCall, ...] = ()
    at_ns: int = 0


@dataclass(frozen=True, slots=True)
class TalkTurn:
    """A prompt and its answer.

    Attributes:
        key: the agent's own id of the turn, as its hooks name it; "" where there is none.
        rewound: the conversation went back to before it; what it did was done all the same.
    """

    key: str
    prompt: str
    steps: tuple[TalkStep, ...] = ()
    begun_ns: int = 0
    ended_ns: int = 0
    interrupted: bool = False
    rewound: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """A whole conversation.

    Attributes:
        session: as the agent's hooks name it.
        folder: where the agent was started.
        parent: the session it was forked from, or whose subagent it is; "" for none.
    """

    session: str
    agent: str
    title: str
    folder: bytes
    turns: tuple[TalkTurn, ...] = ()
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a conversation can be read, found without reading all of it.

    Attributes:
        place: a file; for agents that keep all in one database, that.
        stamp: changes whenever the conversation may have grown.
    """

    agent: str
    session: str
    place: str
    stamp: tuple[int, ...]
