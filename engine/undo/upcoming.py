"""What a plain undo and a plain redo would take next, from what was recorded alone. Pure.

No file is looked at: a turn whose files are all back by the user's own hand, or are in conflict, is
still named. The plan, made a moment before it is applied, is what counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from takeback.engine.errors import NothingToDo, SessionRunning
from takeback.engine.model import FileState, Operation, Request, Selection, Session
from takeback.engine.undo.target import (
    all_turns,
    is_active,
    redo_target,
    reversible,
    undo_target,
)


@dataclass(frozen=True, slots=True)
class Upcoming:
    """The target that is next.

    Attributes:
        target: in the words of a plan's, as "turn 8" or "goto of turn 3@after".
        files: how many of its files would be taken back or put back, about.
        turns: ids of the turns meant.
        operation: id of the operation that is put back or reversed, or "".
        stopped: only files of unknown origin: nothing is taken without asking.
        running: the session is running a turn: nothing is taken yet.
    """

    target: str
    files: int
    turns: tuple[str, ...]
    operation: str = ""
    stopped: bool = False
    running: bool = False


def upcoming(
    sessions: Sequence[Session],
    operations: Sequence[Operation],
    selection: Selection,
    session: str = "",
) -> tuple[Upcoming | None, Upcoming | None]:
    """What undo and redo would take next; None where there is nothing.

    Args:
        selection: the setting ``default_select``.
        session: only what is of this session; empty for all.
    """
    return (
        _undo(sessions, operations, selection, session),
        _redo(sessions, operations, session),
    )


def _undo(
    sessions: Sequence[Session],
    operations: Sequence[Operation],
    selection: Selection,
    session: str,
) -> Upcoming | None:
    request = Request("undo", session=session)
    last = reversible(sessions, operations, request)
    if last is not None:
        return _reversed(last, f"{last.kind} of {last.target}")
    try:
        found = undo_target(sessions, operations, request, selection, _unseen, selection)
    except NothingToDo:
        return None
    except SessionRunning as error:
        turn = next(
            t for t in reversed(all_turns(sessions)) if t.session == error.session and is_active(t)
        )
        return Upcoming(f"turn {turn.n}", len(turn.changes), (turn.id,), running=True)
    paths = {part.change.path for part in found.parts}
    if found.stopped:
        paths = {change.path for change in found.outside}
    ids = tuple(turn.id for turn in found.turns)
    return Upcoming(found.label, len(paths), ids, stopped=found.stopped)


def _redo(
    sessions: Sequence[Session], operations: Sequence[Operation], session: str
) -> Upcoming | None:
    request = Request("redo", session=session)
    try:
        last = redo_target(sessions, operations, request)[0]
    except NothingToDo:
        return None
    return _reversed(last, last.target)


def _reversed(operation: Operation, label: str) -> Upcoming:
    left = [move for move in operation.moves if move.path not in operation.back]
    return Upcoming(label, len(left), operation.targets, operation.id)


def _unseen(path: bytes) -> FileState:
    """What stands at a path: nobody looks."""
    return FileState("unknown", reason="not looked at")
