"""What a worker tells the screens: engine calls run in threads, and threads touch no widget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.message import Message

from takeback.engine.errors import TakebackError
from takeback.engine.model import Outcome, Plan, Session, Turn
from takeback.tui.diffs import Line
from takeback.tui.timeline_rows import Entry


@dataclass
class Said(Message):
    """A sentence for the status line."""

    text: str
    warning: bool = False


@dataclass
class Loaded(Message):
    """The timeline was read.

    Attributes:
        session: the newest one, None where there is none.
        entries: its rows: making many takes a while, so the worker did it.
    """

    session: Session | None
    entries: Sequence[Entry]


@dataclass
class Planned(Message):
    """A plan was made, or could not be made.

    Attributes:
        number: which request of the panel this answers.
    """

    number: int
    plan: Plan | None
    turns: Sequence[Turn]
    error: TakebackError | None = None


@dataclass
class Applied(Message):
    """A plan was carried out, or was not."""

    outcome: Outcome | None
    turns: Sequence[Turn]
    error: TakebackError | None = None


@dataclass
class Diffed(Message):
    """A diff was made for a row."""

    number: int
    lines: Sequence[Line]
