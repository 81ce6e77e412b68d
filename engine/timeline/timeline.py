"""Sessions, turns, steps and changes as they are shown, from what was recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from takeback.engine.model import (
    HARMLESS_REASONS,
    Call,
    Change,
    NotCaptured,
    Operation,
    Segment,
    Session,
    Step,
    Turn,
)
from takeback.engine.record import codec
from takeback.engine.store.objects import StoreError
from takeback.engine.timeline import origin
from takeback.engine.timeline.events import Log, RawCall, RawSession, RawTurn
from takeback.engine.work import check, watched

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

Counts = Callable[[Sequence[Change]], Sequence[Change]]


def mark(segment: Segment) -> str:
    """What stands for a single step in the ``takes`` of an operation (see `standing`)."""
    return f"step {segment.key}"


def standing(operations: Iterable[Operation]) -> set[tuple[str, bytes]]:
    """The (turn, path) pairs that are taken back at this time."""
    gone: set[tuple[str, bytes]] = set()
    for operation in sorted(operations, key=lambda o: o.seq):
        if operation.state == "failed":
            continue
        gone.update(operation.takes)
        gone.difference_update(operation.gives)
    return gone


def left_alone(operations: Iterable[Operation]) -> set[str]:
    """The turns that an undo met whole and of which it took nothing, by its user's choice."""
    found: set[str] = set()
    for operation in sorted(operations, key=lambda o: o.seq):
        if operation.state == "failed":
            continue
        whole = not operation.chosen and not operation.target.startswith(("step ", "call "))
        if operation.kind == "undo" and whole and not (operation.moves or operation.dirs):
            found.update(operation.targets)
        else:
            found.difference_update(operation.targets)
    return found


def build(
    store: Store,
    log: Log,
    operations: Sequence[Operation],
    running: set[str],
    counts: Counts | None = None,
    newest: int = 0,
) -> tuple[Session, ...]:
    """Every session with its turns, oldest first.

    Args:
        running: ids of the turns that are open.
        counts: fills in the numbers of lines, when they are wanted.
        newest: only so many turns, the newest ones of the session that began one last; 0 for all.
    """
    _close_lost_turns(log, running)
    index = origin.Index(log)
    undone = standing(operations)
    left = left_alone(operations)
    wanted = [(raw, raw.turns) for raw in log.sessions]
    if newest:
        last = max(log.sessions, key=lambda raw: max((t.n for t in raw.turns), default=0))
        wanted = [(last, last.turns[-newest:])]
    built = [_session(store, index, raw, turns, undone, running) for raw, turns in wanted]
    if left:
        built = [
            replace(one, turns=tuple(replace(t, left=t.id in left) for t in one.turns))
            for one in built
        ]
    hidden = {raw.id for raw in log.sessions if any(turn.id in index.inner for turn in raw.turns)}
    sessions = [session for session in built if session.turns or session.id not in hidden]
    if counts is None:
        return tuple(sessions)
    changes = [change for s in sessions for t in s.turns for change in _all_changes(t)]
    counted = iter(counts(changes))
    return tuple(
        replace(session, turns=tuple(_with_counts(turn, counted) for turn in session.turns))
        for session in sessions
    )


def _close_lost_turns(log: Log, running: set[str]) -> None:
    """End turns whose end is nowhere, and which nobody has open: late, at the next begin.

    Without this, all that is changed in the project for ever after would count as theirs.
    """
    for session in log.sessions:
        for at, turn in enumerate(session.turns):
            if turn.end is not None or turn.id in running:
                continue
            seqs = [turn.seq, *(c.done_seq or c.seq for c in turn.calls)]
            seq = max([*seqs, *(s for s, _, _ in turn.steps)]) + 1
            snap: object = seq
            if at + 1 < len(session.turns):
                after = session.turns[at + 1]
                seq, snap = after.seq, after.begin.get("snap")
            turn.end = {
                "seq": seq,
                "snap": snap,
                "t": turn.last_ns,
                "late": True,
                "interrupted": True,
                "tree": None,
            }


def _all_changes(turn: Turn) -> list[Change]:
    return [*turn.changes, *(change for step in turn.steps for change in step.changes)]


def _with_counts(turn: Turn, counted: Iterable[Change]) -> Turn:
    source = iter(counted)
    changes = tuple(next(source) for _ in turn.changes)
    steps = tuple(
        replace(step, changes=tuple(next(source) for _ in step.changes)) for step in turn.steps
    )
    return replace(turn, changes=changes, steps=steps)


def _session(
    store: Store,
    index: origin.Index,
    raw: RawSession,
    wanted: Sequence[RawTurn],
    undone: set[tuple[str, bytes]],
    running: set[str],
) -> Session:
    built = [_turn(store, index, turn, undone, running) for turn in wanted]
    # A run whose agent recorded turns of its own is shown only for what these do not hold.
    turns = tuple(turn for turn in built if turn.changes or turn.id not in index.inner)
    state = "complete"
    if turns:
        state = "running" if any(t.state == "running" for t in turns) else turns[-1].state
    title = raw.title or (turns[0].prompt.strip().split("\n")[0] if turns else "")
    return Session(
        raw.id,
        raw.agent,
        title,
        state,  # type: ignore[arg-type]
        turns[0].begun_ns if turns else 0,
        max((t.ended_ns for t in turns), default=0),
        turns,
    )


def _turn(
    store: Store,
    index: origin.Index,
    raw: RawTurn,
    undone: set[tuple[str, bytes]],
    running: set[str],
) -> Turn:
    check()
    found = origin.find(index, raw)
    added_dirs = {item.path for item in found.dirs if item.before is None}
    changes = tuple(
        _change(raw, path, segments, path in found.mixed, added_dirs, undone)
        for path, segments in watched("", sorted(found.segments.items()))
    )
    is_running = raw.end is None and raw.id in running and not raw.background
    counts = is_running and raw.id not in index.inner
    end = raw.end or {}
    ended = int(end.get("t", 0)) or (0 if is_running else raw.last_ns)
    missing, complete = _missing(store, raw, found.unseen, is_running)
    if counts:
        state = "running"
    elif raw.end is None:
        state = "complete" if raw.background or is_running else "interrupted"
    else:
        state = "interrupted" if end.get("interrupted") else "complete"
    notes = tuple(raw.notes)
    if raw.late and raw.end is not None:
        notes += ("the end was noticed late",)
    return Turn(
        raw.id,
        raw.n,
        raw.session,
        raw.prompt,
        state,  # type: ignore[arg-type]
        raw.begun_ns,
        ended,
        raw.begin.get("tree"),
        end.get("tree"),
        complete,
        missing,
        _steps(raw, changes, is_running),
        changes,
        tuple(found.dirs),
        bool(changes) and all(change.undone for change in changes),
        bool(raw.begin.get("expired")),
        notes,
        raw.background and raw.end is None,
        bool(raw.begin.get("pid")),
        raw.last_ns,
        raw.seq,
        key=str(raw.begin.get("key", "")),
        agent=str(raw.begin.get("agent", "")),
    )


def _missing(
    store: Store, raw: RawTurn, unseen: Sequence[NotCaptured], running: bool
) -> tuple[tuple[NotCaptured, ...], bool]:
    """What the turn's snapshots do not hold, once per path, and whether capture was complete."""
    items: dict[bytes, NotCaptured] = {}
    for record in (raw.begin, raw.end or {}):
        try:
            known = codec.unpack_missing(codec.get_list(store, record.get("nc", [])))
        except (StoreError, TypeError, ValueError, AttributeError):
            # What was left out is lost: nobody may conclude that it was nothing.
            known = [NotCaptured(b"./", "failed")]
        for item in known:
            items.setdefault(item.path, item)
    for item in unseen:
        items.setdefault(item.path, item)
    lost_begin = any(call.missing_begin for call in raw.calls)
    complete = not (raw.missing_begin or raw.damaged or raw.notes or lost_begin)
    complete = complete and all(item.reason in HARMLESS_REASONS for item in items.values())
    if raw.begin.get("tree") is None:
        complete = False
    if not running and raw.end is not None and raw.end.get("tree") is None:
        complete = False
    if not running and raw.end is None and not raw.background:
        complete = False
    return tuple(items[path] for path in sorted(items)), complete


def _change(
    raw: RawTurn,
    path: bytes,
    segments: Sequence[Segment],
    mixed: bool,
    added_dirs: set[bytes],
    undone: set[tuple[str, bytes]],
) -> Change:
    segments = [
        replace(segment, undone=True) if (mark(segment), path) in undone else segment
        for segment in segments
    ]
    made: set[bytes] = set()
    for call in raw.calls:
        made.update(call.made.get(path, ()))
    at = path
    while at := at.rpartition(b"/")[0]:
        if at in added_dirs:
            made.add(at)
    calls = tuple(dict.fromkeys(c for segment in segments for c in segment.call_ids))
    return Change(
        path,
        segments[0].before,
        segments[-1].after,
        origin.evidence_of(segments, mixed),
        calls,
        tuple(segments),
        (raw.id, path) in undone or all(segment.undone for segment in segments),
        made_dirs=tuple(sorted(made)),
    )


def _steps(raw: RawTurn, changes: Sequence[Change], running: bool) -> tuple[Step, ...]:
    """The turn's model answers with their calls and the changes that can be placed in one."""
    count = max([len(raw.steps), *(call.step + 1 for call in raw.calls)], default=0)
    steps = []
    for at in range(count):
        name = f"{raw.id}.{at + 1}"
        calls = [call for call in raw.calls if call.step == at]
        begun = calls[0].begun_ns if calls else (raw.steps[at][1] if at < len(raw.steps) else 0)
        ended = raw.steps[at][1] if at < len(raw.steps) else (0 if running else raw.last_ns)
        trees = [c.tree_before for c in calls if c.tree_before]
        after = [c.tree_after for c in calls if c.tree_after]
        steps.append(
            Step(
                name,
                raw.steps[at][2] if at < len(raw.steps) else "",
                begun,
                ended,
                trees[0] if trees else None,
                after[-1] if after else None,
                all(c.done_seq for c in calls) and not any(c.missing_begin for c in calls),
                tuple(_call(c, raw, running) for c in calls),
                tuple(pick(changes, _in_step(name))),
            )
        )
    return tuple(steps)


def _in_step(name: str) -> Callable[[Segment], bool]:
    return lambda segment: segment.step == name


def pick(changes: Iterable[Change], wanted: Callable[[Segment], bool]) -> list[Change]:
    """The parts of changes whose steps are wanted, as changes of their own."""
    out = []
    for change in changes:
        segments = tuple(s for s in change.segments if wanted(s))
        if not segments:
            continue
        if len(segments) == len(change.segments):
            out.append(change)
            continue
        calls = tuple(dict.fromkeys(c for s in segments for c in s.call_ids))
        out.append(
            replace(
                change,
                before=segments[0].before,
                after=segments[-1].after,
                evidence=origin.evidence_of(segments, False),
                call_ids=calls,
                segments=segments,
                undone=change.undone or all(s.undone for s in segments),
            )
        )
    return out


def _call(raw: RawCall, turn: RawTurn, running: bool) -> Call:
    state = "lost"
    if raw.done_seq:
        state = "failed" if raw.failed else "done"
    elif running:
        state = "running"
    return Call(
        raw.id,
        raw.tool,
        raw.kind,
        tuple(raw.paths),
        raw.command,
        state,  # type: ignore[arg-type]
        raw.begun_ns,
        raw.ended_ns,
        raw.number,
        raw.missing_begin,
    )
