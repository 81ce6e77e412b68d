"""Which turns, steps or operations a request means. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from takeback.engine.errors import NothingToDo, SessionRunning, UsageError
from takeback.engine.model import (
    AGENT_EVIDENCE,
    Change,
    FileState,
    Operation,
    Request,
    Segment,
    Selection,
    Session,
    Turn,
    same,
)
from takeback.engine.timeline.timeline import mark
from takeback.engine.work import check

Now = Callable[[bytes], FileState]

_UNKNOWN_TOO = AGENT_EVIDENCE | {"during-call", "no-record"}


@dataclass(frozen=True, slots=True)
class Share:
    """Steps of one path in one turn that are to be taken back (or put back)."""

    turn: Turn
    change: Change
    segments: tuple[Segment, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class Target:
    """What a request means.

    Attributes:
        label: in the words of the command line.
        parts: newest turn first.
        outside: changes that were left out by the selection, for the answer.
        stopped: the walk met a turn with nothing in the selection: nothing may be done.
        named: paths that were marked by their name.
        partial: ids of the turns of which only a part is meant.
        met: see `Plan`.
    """

    label: str
    session: str
    turns: tuple[Turn, ...]
    parts: tuple[Share, ...]
    outside: tuple[Change, ...] = ()
    stopped: bool = False
    named: frozenset[bytes] = frozenset()
    partial: frozenset[str] = frozenset()
    met: tuple[tuple[str, bytes], ...] | None = None


def is_active(turn: Turn) -> bool:
    """A running turn in which something happened; an idle one blocks nothing."""
    began = any(not call.missing_begin for call in turn.calls)
    return turn.state == "running" and (began or bool(turn.changes))


def covers(paths: Sequence[bytes], path: bytes) -> bool:
    """Whether a path is one of those named, or below one."""
    return any(not p or path == p or path.startswith(p.rstrip(b"/") + b"/") for p in paths)


def wanted_segments(
    change: Change, selection: Selection, paths: Sequence[bytes]
) -> tuple[Segment, ...]:
    """The steps of a change that a selection takes and that still stand."""
    standing = tuple(segment for segment in change.segments if not segment.undone)
    if paths:
        if not covers(paths, change.path):
            return ()
        agent = tuple(s for s in standing if s.evidence in AGENT_EVIDENCE)
        if selection == "all" or not agent:
            return standing
        return agent
    if selection == "all":
        return standing
    allowed = AGENT_EVIDENCE if selection == "agent" else _UNKNOWN_TOO
    return tuple(s for s in standing if s.evidence in allowed)


def find_turn(sessions: Iterable[Session], name: str) -> Turn:
    """The turn with this number or id.

    Raises:
        UsageError: there is none.
    """
    for session in sessions:
        for turn in session.turns:
            if name == turn.id or name == str(turn.n):
                return turn
    raise UsageError(
        f"There is no turn {name!r} in this project. Nothing was changed.",
        "See 'takeback log' for the turns.",
    )


def find_session(sessions: Iterable[Session], name: str) -> Session:
    """The session with this id.

    Raises:
        UsageError: there is none.
    """
    for session in sessions:
        if session.id == name:
            return session
    raise UsageError(
        f"There is no session {name!r} in this project. Nothing was changed.",
        "See 'takeback sessions' for the sessions.",
    )


def all_turns(sessions: Iterable[Session]) -> list[Turn]:
    """The turns of all sessions, oldest first."""
    return sorted((t for s in sessions for t in s.turns), key=lambda t: t.n)


def running_error(turn: Turn) -> SessionRunning:
    """The refusal because a session is running a turn."""
    hint = "Wait for its end, or use --yes-while-running to close the turn and go on."
    if not turn.pid_known:
        age = max(0, time.time_ns() - turn.last_event_ns) // 1_000_000_000
        hint = (
            f"Its last event was {age} s ago. If it has ended, close it with: "
            f"takeback record end --session {turn.session} --interrupted"
        )
    return SessionRunning(
        f"Session {turn.session!r} is running turn {turn.n}. Nothing was changed.",
        hint,
        turn.session,
    )


def undo_target(
    sessions: Sequence[Session],
    operations: Sequence[Operation],
    request: Request,
    selection: Selection,
    now: Now,
    default: Selection = "agent",
) -> Target:
    """What an undo request means.

    Args:
        default: what is selected without a word: a wider selection reaches what was left alone.

    Raises:
        NothingToDo: nothing (left) to take back.
        SessionRunning: the walk met a session that is running a turn.
        UsageError: an unknown turn, step, call or session.
    """
    if request.session:
        find_session(sessions, request.session)
    if request.turn:
        turn = find_turn(sessions, request.turn)
        refuse_running(sessions, turn.session)
        return _turns([turn], request, selection, now)
    if request.to:
        first = find_turn(sessions, request.to)
        session = find_session(sessions, first.session)
        refuse_running(sessions, session.id)
        turns = [t for t in reversed(session.turns) if t.n >= first.n]
        return _turns(turns, request, selection, now)
    if request.step or request.call:
        return _piece(sessions, request, selection, now)
    return _walk(sessions, operations, request, selection, now, default)


def refuse_running(sessions: Sequence[Session], session: str) -> None:
    """Refuse to write a session's files while it runs a turn."""
    for turn in find_session(sessions, session).turns:
        if is_active(turn):
            raise running_error(turn)


def _parts(
    turns: Sequence[Turn], request: Request, selection: Selection
) -> tuple[list[Share], list[Change]]:
    parts, outside = [], []
    for turn in turns:
        for change in turn.changes:
            if change.undone and not any(not s.undone for s in change.segments):
                continue
            segments = wanted_segments(change, selection, request.paths)
            if segments:
                rest = [s for s in change.segments if not s.undone and s not in segments]
                whole = not any(s.evidence in AGENT_EVIDENCE for s in rest)
                parts.append(Share(turn, change, segments, whole))
            else:
                outside.append(change)
    return parts, outside


def _turns(turns: Sequence[Turn], request: Request, selection: Selection, now: Now) -> Target:
    parts, outside = _parts(turns, request, selection)
    label = f"turn {turns[0].n}" if len(turns) == 1 else f"turns {turns[-1].n}-{turns[0].n}"
    target = Target(label, turns[0].session, tuple(turns), tuple(parts), tuple(outside))
    if not parts:
        if outside and not request.paths and any(not c.undone for c in outside):
            return Target(label, turns[0].session, tuple(turns), (), tuple(outside), True)
        nothing_left(f"{label[0].upper()}{label[1:]} has nothing (left) to take back.")
    return target


def nothing_left(message: str) -> None:
    raise NothingToDo(
        f"{message} Nothing was changed.", "See 'takeback log' and 'takeback history'."
    )


def _piece(sessions: Sequence[Session], request: Request, selection: Selection, now: Now) -> Target:
    wanted = request.step or request.call
    for turn in reversed(all_turns(sessions)):
        if request.session and turn.session != request.session:
            continue
        if request.step and all(step.id != wanted for step in turn.steps):
            continue
        if request.call and all(call.id != wanted for call in turn.calls):
            continue
        refuse_running(sessions, turn.session)
        parts, outside = [], []
        for change in turn.changes:
            segments = tuple(
                s
                for s in wanted_segments(change, selection, request.paths)
                if (s.step == wanted if request.step else wanted in s.call_ids)
            )
            if segments:
                rest = [s for s in change.segments if not s.undone and s not in segments]
                parts.append(Share(turn, change, segments, not rest))
            elif any(
                (s.step == wanted if request.step else wanted in s.call_ids) and not s.undone
                for s in change.segments
            ):
                outside.append(change)
        kind = "step" if request.step else "call"
        label = f"{kind} {wanted}"
        if not parts and not outside:
            nothing_left(f"The {label} has nothing (left) to take back.")
        return Target(label, turn.session, (turn,), tuple(parts), tuple(outside), stopped=not parts)
    kind = "step" if request.step else "call"
    raise UsageError(
        f"There is no {kind} {wanted!r} in this project. Nothing was changed.",
        "See 'takeback show TURN' for a turn's steps and calls.",
    )


def _walk(
    sessions: Sequence[Session],
    operations: Sequence[Operation],
    request: Request,
    selection: Selection,
    now: Now,
    default: Selection,
) -> Target:
    touched = {
        name for op in operations if op.kind == "undo" and op.state == "done" for name in op.targets
    }
    blocked: dict[str, Turn] = {}
    passed: list[int] = []
    for turn in reversed(all_turns(sessions)):
        if request.session and turn.session != request.session:
            continue
        if turn.state == "running":
            if not is_active(turn):
                continue
            if any(not request.paths or covers(request.paths, c.path) for c in turn.changes):
                raise running_error(turn)
            blocked[turn.session] = turn
            continue
        parts, outside = _parts([turn], request, selection)
        parts = [part for part in parts if not _already(part.segments, now(part.change.path))]
        if not (request.paths or request.on_conflict == "overwrite"):
            before = parts
            parts = _holding(parts, operations, default, request.overwrite)
            passed += [turn.n] if before and not parts else []
        if parts:
            if turn.session in blocked:
                raise running_error(blocked[turn.session])
            return Target(f"turn {turn.n}", turn.session, (turn,), tuple(parts), tuple(outside))
        if request.paths or turn.id in touched:
            continue
        left = [c for c in outside if not c.undone and not _already(c.segments, now(c.path))]
        if left and not any(change.undone for change in turn.changes):
            if turn.session in blocked:
                raise running_error(blocked[turn.session])
            return Target(f"turn {turn.n}", turn.session, (turn,), (), tuple(left), True)
    if blocked and not request.paths:
        raise running_error(next(iter(blocked.values())))
    nothing_left("There is nothing (left) to take back." + _passed_over(passed))
    raise AssertionError


def _passed_over(numbers: Sequence[int]) -> str:
    """What was left alone before and is therefore not taken: nobody may think that it is gone."""
    if not numbers:
        return ""
    shown = ", ".join(map(str, sorted(numbers)[-5:]))
    many = len(numbers) > 1
    return (
        f" What an earlier undo left alone in turn{'s' if many else ''} {shown} still stands: "
        "name the turn to reach it."
    )


def _holding(
    parts: Sequence[Share],
    operations: Sequence[Operation],
    default: Selection,
    overwrite: Sequence[bytes],
) -> list[Share]:
    """The parts of a turn that the walk stops for, and takes.

    Where an applied undo of the whole turn left something alone, that alone does not hold it,
    unless it is to be overwritten now.
    """
    forced = set(overwrite)
    moved = [(set(op.takes) | set(op.gives), op) for op in operations]
    news = [p for p in parts if p.change.path in forced or not _left_alone(p, moved)]
    wider = any(
        len(wanted_segments(part.change, default, ())) < len(part.segments) for part in parts
    )
    return list(parts) if news or wider else []


def _left_alone(
    part: Share, operations: Sequence[tuple[set[tuple[str, bytes]], Operation]]
) -> bool:
    """Whether the last operation that met a part is an undo that did not take it.

    Args:
        operations: each with all that it took or gave.
    """
    check()
    path = part.change.path
    marks = {(mark(segment), path) for segment in part.segments} | {(part.turn.id, path)}
    left = False
    for moved, operation in operations:
        if not marks.isdisjoint(moved):
            left = False
        elif operation.kind == "undo" and operation.state == "done":
            # An undo of one step, one call or chosen files met nothing else of its turn.
            if operation.met is not None:
                met = (part.turn.id, path) in operation.met
            else:
                met = not operation.target.startswith(("step ", "call "))
                met = met and part.turn.id in operation.targets
            left = left or (met and (not operation.chosen or covers(operation.chosen, path)))
    return left


def _already(segments: Sequence[Segment], now: FileState) -> bool:
    """Whether what stood before these steps stands there now."""
    return same(segments[0].before, now)


def reversible(
    sessions: Sequence[Session], operations: Sequence[Operation], request: Request
) -> Operation | None:
    """The goto, restore or switch that a plain undo takes back: the very last thing done."""
    plain = not (request.turn or request.to or request.step or request.call or request.paths)
    plain = plain and not request.parts
    if not plain or request.session or not operations:
        return None
    last = next((o for o in reversed(operations) if o.moves), operations[-1])
    if last.kind not in ("goto", "restore", "switch") or last.state != "done":
        return None
    return None if any(t.seq > last.seq for t in all_turns(sessions)) else last


def sessions_of(sessions: Iterable[Session], operation: Operation) -> set[str]:
    """The sessions whose files an operation wrote; a marked set may be of several."""
    targets = set(operation.targets)
    found = {turn.session for turn in all_turns(sessions) if turn.id in targets}
    return found | {operation.session}


def redo_target(
    sessions: Sequence[Session], operations: Sequence[Operation], request: Request
) -> list[Operation]:
    """The undos a redo may mean, most likely first.

    Raises:
        NothingToDo: no undo is left to put back.
        UsageError: an unknown operation or session, or one that is no undo.
    """
    if request.op:
        for operation in operations:
            if operation.id == request.op:
                if operation.kind != "undo":
                    raise UsageError(
                        f"Operation {request.op} is a {operation.kind}, not an undo. "
                        "Nothing was changed.",
                        "See 'takeback history'.",
                    )
                if operation.state != "done":
                    nothing_left(f"Operation {request.op} was put back already.")
                return [operation]
        raise UsageError(
            f"There is no operation {request.op!r} in this project. Nothing was changed.",
            "See 'takeback history'.",
        )
    if request.session:
        find_session(sessions, request.session)
    found = [
        operation
        for operation in reversed(operations)
        if operation.kind == "undo"
        and operation.state == "done"
        and operation.moves
        and (not request.session or request.session in sessions_of(sessions, operation))
    ]
    if not found:
        raise NothingToDo(
            "There is no undo (left) to put back. Nothing was changed.", "See 'takeback history'."
        )
    return found
