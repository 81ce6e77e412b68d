"""Plans that return to an earlier state: redo, goto, restore, and undo of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from takeback.engine.errors import NothingToDo, UsageError
from takeback.engine.model import (
    DirChange,
    Operation,
    OperationKind,
    Plan,
    PlanEntry,
    Request,
    Turn,
    same,
)
from takeback.engine.timeline.timeline import mark
from takeback.engine.undo import target as targets
from takeback.engine.undo.folders import dirs_of
from takeback.engine.undo.ground import Ground, files
from takeback.engine.undo.plan import Situation, Span, spans_of
from takeback.engine.undo.target import Target

if TYPE_CHECKING:
    pass


def redo(ground: Ground, request: Request) -> Plan:
    last: NothingToDo | None = None
    idle: Plan | None = None
    for operation in targets.redo_target(ground.sessions, ground.operations, request):
        try:
            plan = reverse(ground, operation, request, "redo")
        except NothingToDo as nothing:
            last = nothing
            continue
        kept = any(not {e.path, e.known_as}.isdisjoint(request.keep) for e in plan.entries)
        if plan.writes or plan.conflicts or kept:
            return plan
        # It would only say again what the user deleted since; an older undo may have more.
        idle = idle or plan
    if idle is not None:
        return idle
    assert last is not None
    raise last


def reverse(ground: Ground, operation: Operation, request: Request, kind: OperationKind) -> Plan:
    involved = targets.sessions_of(ground.sessions, operation)
    for turn in targets.all_turns(ground.sessions):
        if targets.is_active(turn) and turn.session in involved:
            raise targets.running_error(turn)
    sources = dict(operation.followed)
    situations = [
        Situation(
            move.path,
            ((move.before, move.after),),
            ground.now(move.path),
            targets.covers(request.paths, move.path) if request.paths else False,
            source=sources.get(move.path, b""),
        )
        for move in operation.moves
        if move.path not in operation.back
        and (not request.paths or targets.covers(request.paths, move.path))
    ]
    label = f"{operation.kind} of {operation.target} ({operation.id})"
    plan = ground.settle(kind, label, operation.session, situations, request)
    if not plan.entries:
        raise NothingToDo(
            f"What {operation.id} changed is back already. Nothing was changed.",
            "See 'takeback history'.",
        )
    asks = list(plan.asks)
    if kind == "redo":
        changed = sum(1 for entry in plan.writes if entry.action == "merge")
        if changed:
            asks.append(f"{files(changed)} changed since the undo and would be merged.")
        # A running turn without work is the one that asks for this redo, from within the agent.
        later = [
            turn
            for turn in targets.all_turns(ground.sessions)
            if turn.session in involved
            and turn.seq > operation.seq
            and (turn.state != "running" or targets.is_active(turn))
        ]
        if later:
            asks.append(f"The session began turn {later[-1].n} after the undo.")
    left = {entry.known_as for entry in plan.entries if entry.action in ("keep", "conflict")}
    met = {situation.path for situation in situations}
    left |= {sources.get(m.path, m.path) for m in operation.moves if m.path not in met}
    dirs = tuple(
        DirChange(item.path, ground.dir_mode(item.path), item.before)
        for item in operation.dirs
        if ground.dir_mode(item.path) == item.after
    )
    return replace(
        plan,
        dirs=ground.with_parents(plan, dirs),
        asks=tuple(asks),
        gives=tuple(t for t in operation.takes if t[1] not in left),
        takes=tuple(t for t in operation.gives if t[1] not in left),
        targets=operation.targets,
        reverses=operation.id,
    )


def goto(ground: Ground, request: Request) -> Plan:
    for turn in targets.all_turns(ground.sessions):
        if targets.is_active(turn):
            raise targets.running_error(turn)
    goal = targets.find_turn(ground.sessions, request.turn)
    limit = goal.n + (1 if request.at == "after" else 0)
    spans: dict[bytes, list[Span]] = {}
    takes: list[tuple[str, bytes]] = []
    gives: list[tuple[str, bytes]] = []
    seen: set[str] = set()
    turns = targets.all_turns(ground.sessions)
    back = [t for t in reversed(turns) if t.n >= limit]
    for turn in back:
        for change in turn.changes:
            steps = [s for s in change.segments if not s.undone and s.key not in seen]
            seen.update(s.key for s in steps)
            if steps:
                spans.setdefault(change.path, []).extend(spans_of(steps))
                takes.extend((mark(s), change.path) for s in steps)
                takes.append((turn.id, change.path))
    for turn in turns:
        if turn.n >= limit:
            break
        for change in turn.changes:
            steps = [s for s in change.segments if s.undone and s.key not in seen]
            seen.update(s.key for s in steps)
            if steps:
                spans.setdefault(change.path, []).extend(spans_of(steps, forward=True))
                gives.extend((mark(s), change.path) for s in steps)
                gives.append((turn.id, change.path))
    situations = [Situation(path, tuple(value), ground.now(path)) for path, value in spans.items()]
    label = f"turn {goal.n}@{request.at}"
    plan = ground.settle("goto", label, goal.session, situations, request)
    entries = list(plan.entries)
    listed = {entry.path for entry in entries} | set(spans)
    for path in _between(ground, goal, limit):
        if path not in listed:
            now = ground.now(path)
            entries.append(PlanEntry(path, "keep", now, now, "made between turns"))
    if not plan.writes and not plan.conflicts:
        return replace(plan, entries=tuple(sorted(entries, key=lambda e: e.path)), asks=())
    left = {e.path for e in plan.entries if e.action in ("keep", "conflict")}
    found = Target(label, goal.session, tuple(back), ())
    return replace(
        plan,
        entries=tuple(sorted(entries, key=lambda e: e.path)),
        asks=(
            f"{files(len(plan.writes))} would change, of every origin, to return to {label}.",
            *plan.asks,
        ),
        dirs=dirs_of(ground, found, plan, True),
        takes=tuple(t for t in takes if t[1] not in left),
        gives=tuple(g for g in gives if g[1] not in left),
        targets=(),
    )


def _between(ground: Ground, goal: Turn, limit: int) -> list[bytes]:
    """Paths that changed after the goal's time in no turn's time."""
    from takeback.engine.timeline import events

    log = events.read(ground.store)
    spans = [
        (int(t.begin.get("snap") or 0), int((t.end or {}).get("snap") or events.FOREVER))
        for t in log.turns
    ]
    raw = next(t for t in log.turns if t.id == goal.id)
    start = raw.end_seq if limit > goal.n else raw.seq
    found: set[bytes] = set()
    for record in log.records:
        inside = any(low < record.seq <= high for low, high in spans)
        if record.seq > start and not record.op and not inside:
            found.update(change.path for change in record.changes)
    return sorted(found)


def restore(ground: Ground, request: Request) -> Plan:
    for turn in targets.all_turns(ground.sessions):
        if targets.is_active(turn):
            raise targets.running_error(turn)
    names = [operation.id for operation in ground.operations]
    if request.op not in names:
        raise UsageError(
            f"There is no operation {request.op!r} in this project. Nothing was changed.",
            "See 'takeback history'.",
        )
    later = ground.operations[names.index(request.op) :]
    spans: dict[bytes, list[Span]] = {}
    takes: list[tuple[str, bytes]] = []
    gives: list[tuple[str, bytes]] = []
    dirs: dict[bytes, DirChange] = {}
    for operation in reversed(later):
        for move in operation.moves:
            known = spans.setdefault(move.path, [])
            if known and same(known[-1][0], move.after):
                known[-1] = (move.before, known[-1][1])
            else:
                known.append((move.before, move.after))
        takes.extend(operation.gives)
        gives.extend(operation.takes)
        for item in operation.dirs:
            if ground.dir_mode(item.path) == dirs.get(item.path, item).after:
                dirs[item.path] = DirChange(item.path, ground.dir_mode(item.path), item.before)
    situations = [Situation(path, tuple(value), ground.now(path)) for path, value in spans.items()]
    label = request.op
    plan = ground.settle("restore", label, later[0].session, situations, request)
    if not plan.writes and not plan.conflicts:
        return replace(plan, asks=())
    left = {e.path for e in plan.entries if e.action in ("keep", "conflict")}
    net_takes, net_gives = _net(later)
    return replace(
        plan,
        asks=(
            f"{files(len(plan.writes))} would return to what stood before {label}.",
            *plan.asks,
        ),
        dirs=ground.with_parents(plan, [d for d in dirs.values() if d.before != d.after]),
        takes=tuple(t for t in net_gives if t[1] not in left),
        gives=tuple(g for g in net_takes if g[1] not in left),
    )


def _net(
    operations: Sequence[Operation],
) -> tuple[list[tuple[str, bytes]], list[tuple[str, bytes]]]:
    """What a run of operations took and gave in the end."""
    state: dict[tuple[str, bytes], bool] = {}
    for operation in operations:
        state.update(dict.fromkeys(operation.takes, True))
        state.update(dict.fromkeys(operation.gives, False))
    return [p for p, taken in state.items() if taken], [
        p for p, taken in state.items() if not taken
    ]
