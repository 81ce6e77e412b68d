"""What a worker tells the screens: engine calls run in threads, and threads touch no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.message import Message

from takeback.engine.errors import TakebackError
from takeback.engine.model import Operation, Outcome, Plan, Session, Turn
from takeback.tui.diffs import Line
from takeback.tui.documents import turns_of
from takeback.tui.follow import Stamp
from takeback.tui.watching import Stamps

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way
    from takeback.engine.project import Project


@dataclass(frozen=True, slots=True)
class Record:
    """What was recorded in the open project, as it was read at one time.

    Attributes:
        sessions: oldest first.
        operations: oldest first.
        past: conversations from before takeback, oldest first, with names of their own.
        unread: older ones that were not read.
        partial: only the newest turns of one session, without numbers of lines: a first look while
            the rest is read.
    """

    sessions: tuple[Session, ...] = ()
    operations: tuple[Operation, ...] = ()
    partial: bool = False
    past: tuple[Session, ...] = ()
    unread: int = 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn, by number."""
        return turns_of(self.sessions)


@dataclass
class Said(Message):
    """A sentence for the status line."""

    text: str
    warning: bool = False


@dataclass
class Copied(Message):
    """An agent made a copy of a conversation, or none."""

    way: Way | None
    error: TakebackError | None = None


@dataclass
class Ended(Message):
    """A call ended that has nothing to tell."""


@dataclass
class Loaded(Message):
    """The record was read, and a screen's rows were made of it.

    Attributes:
        root: the project that was read; another one may be open by now.
        screen: the name of the screen that the rows are for.
        prepared: what its `prepare` answered.
    """

    record: Record
    root: bytes
    screen: str
    prepared: object = field(repr=False)


@dataclass
class Noticed(Message):
    """It was looked whether something was recorded.

    Attributes:
        root: the project that was looked at.
        stamp: what the files of its record look like.
    """

    root: bytes
    stamp: Stamp


@dataclass
class Opened(Message):
    """Another project was opened.

    Attributes:
        session: the session of it to show, "" for the newest.
        said: what had to be done first.
    """

    project: Project
    session: str
    said: Sequence[str]


@dataclass
class Planned(Message):
    """A plan was made, or could not be made.

    Attributes:
        number: which request of the panel this answers.
        stamps: what the system said of the plan's files when it was made.
        running: the turns that ran then, if that is why there is no plan.
    """

    number: int
    plan: Plan | None
    turns: Sequence[Turn]
    error: TakebackError | None = None
    stamps: Stamps = field(default_factory=dict, repr=False)
    running: frozenset[str] = frozenset()


@dataclass
class Watched(Message):
    """It was looked whether a plan still fits.

    Attributes:
        number: the plan that was looked at.
        changed: its files that changed since.
        ended: a turn that was waited for runs no more.
    """

    number: int
    changed: tuple[bytes, ...] = ()
    ended: bool = False


@dataclass
class Applied(Message):
    """A plan was carried out, or was not.

    Attributes:
        too_late: it was to be cancelled, but had begun to write.
    """

    outcome: Outcome | None
    turns: Sequence[Turn]
    error: TakebackError | None = None
    took_s: float = 0.0
    too_late: bool = False


@dataclass
class Diffed(Message):
    """A diff was made for a row."""

    number: int
    lines: Sequence[Line]
