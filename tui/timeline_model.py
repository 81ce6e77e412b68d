"""What the rows of the timeline stand for, and how a session is looked at. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from takeback.engine.model import Call, Change, Step, Turn
from takeback.engine.timeline.timeline import pick
from takeback.tui.glyphs import Glyphs
from takeback.tui.widgets.row_list import Row

Kind = Literal["day", "turn", "prompt", "text", "call", "change", "more", "note"]


@dataclass(frozen=True, slots=True)
class View:
    """How a session is looked at.

    Attributes:
        width: cells that a line has.
        words: only what holds these is shown; casefolded.
        later: the later turns that edit a file, by turn and path.
        opened: what was unfolded or folded by hand, by the key of the fold.
        every: all is unfolded, all is folded, or (None) as usual.
        height: lines that the list has, 0 where it is not known.
        fits: a session that is shown whole has room in them, so no turn of it is folded.
    """

    glyphs: Glyphs
    now_ns: int
    width: int = 76
    words: str = ""
    later: Mapping[tuple[str, bytes], tuple[int, ...]] = field(default_factory=dict)
    opened: Mapping[str, bool] = field(default_factory=dict)
    every: bool | None = None
    height: int = 0
    fits: bool = False

    def fold(self, key: str) -> bool | None:
        """Whether a fold is open; None where nobody said so."""
        return self.opened.get(key, self.every)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row and what it stands for.

    Attributes:
        call: the call, for the row of one, and for a change that one call made.
        change: for the row of one.
        step: for a line of an answer.
        fold: what `z` opens and shuts here.
        hit: it holds the words that are looked for.
    """

    row: Row
    kind: Kind = "day"
    turn: Turn | None = None
    call: Call | None = None
    change: Change | None = None
    step: Step | None = None
    fold: str = ""
    hit: bool = False

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the diff of the row shows."""
        if self.turn is None:
            return ()
        if self.change is not None:
            return (self.change,)
        if self.kind == "call" and self.call is not None:
            call = self.call.id
            return tuple(pick(self.turn.changes, lambda segment: call in segment.call_ids))
        if self.step is not None:
            return self.step.changes
        return self.turn.changes


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a turn: an answer, a call, or a change.

    Attributes:
        call: for a change, the only call that it was placed in.
        made: for a call, every change that it had a share in.
        nested: a file that a command changed, below it.
    """

    step: Step | None = None
    call: Call | None = None
    change: Change | None = None
    made: tuple[Change, ...] = ()
    nested: bool = False


def pieces(turn: Turn) -> Iterator[Piece]:
    """The parts of a turn in their order.

    A change stands at the call that made it; one of several calls, or of none, at the end.
    """
    placed: dict[str, list[Change]] = {}
    shared: dict[str, list[Change]] = {}
    left = []
    calls = {call.id for call in turn.calls}
    for change in turn.changes:
        for name in change.call_ids:
            shared.setdefault(name, []).append(change)
        if len(change.call_ids) == 1 and change.call_ids[0] in calls:
            placed.setdefault(change.call_ids[0], []).append(change)
        else:
            left.append(change)
    for step in turn.steps:
        if step.text.strip():
            yield Piece(step=step)
        for call in step.calls:
            own = placed.get(call.id, [])
            if call.command or not own:
                yield Piece(call=call, made=tuple(shared.get(call.id, ())))
            for change in own:
                yield Piece(call=call, change=change, nested=bool(call.command))
    for change in left:
        yield Piece(change=change)
