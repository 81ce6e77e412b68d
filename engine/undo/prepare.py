"""Making plans: which decision each request leads to, and the plan of an undo."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from takeback.engine.errors import NothingToDo, UsageError
from takeback.engine.frozen import changed
from takeback.engine.model import (
    AGENT_EVIDENCE,
    Change,
    FileState,
    NotCaptured,
    Plan,
    PlanEntry,
    Request,
    Selection,
    Turn,
    same,
)
from takeback.engine.timeline.timeline import mark
from takeback.engine.undo import returning
from takeback.engine.undo import target as targets
from takeback.engine.undo.folders import dirs_of
from takeback.engine.undo.ground import Ground, files
from takeback.engine.undo.marked import marked
from takeback.engine.undo.plan import Situation, spans_of
from takeback.engine.undo.target import Share, Target, covers
from takeback.engine.work import check

if TYPE_CHECKING:
    pass

_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

EVIDENCE_WORDS = {
    "tool-edit": "edited by the agent's tool",
    "traced-call": "written by the agent's process",
    "mixed": "agent, and someone else",
    "during-call": "changed while a shell call ran",
    "not-by-call": "not by the agent's processes",
    "outside-calls": "no shell call was running: you, an editor or a formatter",
    "no-record": "origin not recorded",
}


def plan(ground: Ground, request: Request) -> Plan:
    """The plan for a request. Reads the project, writes only to the store.

    Raises:
        NothingToDo, SessionRunning, UsageError: see `target`.
        TakebackError: a target cannot be written, or the store cannot give what is needed.
    """
    if request.kind == "undo":
        last = targets.reversible(ground.sessions, ground.operations, request)
        if last is not None:
            try:
                return returning.reverse(ground, last, request, "undo")
            except NothingToDo:
                pass  # The user took it back by hand: the walk goes on as always.
        return undo(ground, request)
    if request.kind == "redo":
        return returning.redo(ground, request)
    if request.kind == "goto":
        return returning.goto(ground, request)
    if request.kind == "restore":
        return returning.restore(ground, request)
    raise UsageError(f"{request.kind!r} comes in a later version. Nothing was changed.")


def undo(ground: Ground, request: Request) -> Plan:
    default: Selection = ground.config.default_select
    selection = request.selection or default
    if request.parts:
        found = marked(ground.sessions, request, selection)
    else:
        found = targets.undo_target(
            ground.sessions, ground.operations, request, selection, ground.now, default
        )
    if found.stopped:
        return _stopped(ground, found)
    situations: dict[bytes, list[Share]] = {}
    for part in found.parts:
        situations.setdefault(part.change.path, []).append(part)
    plan = ground.settle(
        "undo",
        found.label,
        found.session,
        [
            _situation(
                ground,
                path,
                parts,
                path in found.named or (bool(request.paths) and covers(request.paths, path)),
            )
            for path, parts in situations.items()
        ],
        request,
    )
    unknown = sorted(
        {
            part.change.path
            for part in found.parts
            if any(s.evidence not in AGENT_EVIDENCE for s in part.segments)
        }
    )
    written = {entry.known_as for entry in plan.writes}
    asks = list(plan.asks)
    risky = [path for path in unknown if path in written]
    if risky:
        asks.insert(0, f"{files(len(risky))} of unknown origin would be taken back.")
    entries = list(plan.entries)
    listed = {entry.path for entry in entries} | set(situations)
    if not request.paths:
        for change in found.outside:
            if change.path not in listed and not change.undone:
                listed.add(change.path)
                entries.append(_left(ground, change))
    takes = _takes(ground, found.parts, entries, request)
    wide = bool(unknown) or selection == "all"
    dirs = dirs_of(ground, found, plan, wide)
    return replace(
        plan,
        entries=tuple(sorted(entries, key=lambda e: e.path)),
        dirs=dirs,
        asks=tuple(asks),
        not_captured=_missing(found.turns),
        takes=takes,
        targets=tuple(turn.id for turn in found.turns),
        effects=_effects(found.turns),
        outputs_newer=_outputs_newer(found),
        chosen=request.paths,
        met=found.met,
    )


def _left(ground: Ground, change: Change) -> PlanEntry:
    now = ground.now(change.path)
    words = EVIDENCE_WORDS[change.evidence]
    return PlanEntry(change.path, "keep", now, now, f"unknown origin: {words}")


def _stopped(ground: Ground, found: Target) -> Plan:
    entries = tuple(_left(ground, change) for change in found.outside)
    count = files(len(entries))
    return Plan(
        "undo",
        found.label,
        found.session,
        entries,
        not_captured=_missing(found.turns),
        asks=(
            f"{found.label[0].upper()}{found.label[1:]} changed {count}, all of unknown "
            "origin: nothing was selected. --include-unknown or --all takes them too.",
        ),
        targets=(),
        stopped=True,
        effects=_effects(found.turns),
    )


def _situation(ground: Ground, path: bytes, parts: Sequence[Share], named: bool) -> Situation:
    """One path with the spans of all parts, newest first."""
    check()
    # Turns of two sessions may have edited it in turns, and may share a step.
    steps = {segment.key: segment for part in reversed(parts) for segment in part.segments}
    notes = []
    spans = spans_of(sorted(steps.values(), key=lambda segment: segment.seq))
    now = ground.now(path)
    was_there = spans[0][1].has_content and spans[-1][0].has_content
    if now.kind == "absent" and was_there and not named:
        renamed = _renamed(ground, path, spans[0][1], parts[0].turn)
        if renamed is not None:
            notes.append(f"renamed from {os.fsdecode(path)!r} since")
            return Situation(renamed, spans, ground.now(renamed), named, tuple(notes), path)
    left = parts[0].change.after
    return Situation(path, spans, now, named, tuple(notes), left=left)


def _renamed(ground: Ground, path: bytes, left: FileState, turn: Turn) -> bytes | None:
    """The one file that holds what the turn left at a path that is gone now.

    A file that stood there when the turn ended is no renamed one, and empty files say nothing.
    """
    if not ground.fresh or left.oid == _EMPTY_BLOB:
        return None
    found = [
        candidate
        for candidate in ground.snapshots.paths_with(left.oid)
        if same(changed(ground.now(candidate), mode=left.mode), left)
    ]
    if len(found) != 1 or any(change.path == found[0] for change in turn.changes):
        return None
    return found[0] if ground.was_absent(turn.after, found[0]) else None


def _takes(
    ground: Ground, parts: Sequence[Share], entries: Sequence[PlanEntry], request: Request
) -> tuple[tuple[str, bytes], ...]:
    """The marks of what no longer stands once the plan is applied.

    A file that comes to stand as it did before the turn is back whole, whatever the selection
    was: none of its steps stands any more.
    """
    met = {entry.known_as: entry for entry in entries}
    takes: list[tuple[str, bytes]] = []
    for part in parts:
        path = part.change.path
        entry = met.get(path)
        if entry is not None and entry.action in ("keep", "conflict"):
            continue
        result = entry.want if entry is not None else ground.now(path)
        if same(result, part.change.before):
            takes.extend((mark(segment), path) for segment in part.change.segments)
            takes.append((part.turn.id, path))
            continue
        takes.extend((mark(segment), path) for segment in part.segments)
        if part.whole and not (request.step or request.call):
            takes.append((part.turn.id, path))
    return tuple(dict.fromkeys(takes))


def _missing(turns: Iterable[Turn]) -> tuple[NotCaptured, ...]:
    items: dict[bytes, NotCaptured] = {}
    for turn in turns:
        for item in turn.not_captured:
            items.setdefault(item.path, item)
    return tuple(items[path] for path in sorted(items))


def _effects(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The shell commands whose effects outside these files stay."""
    return tuple(
        call.command or call.tool
        for turn in turns
        for call in turn.calls
        if call.kind == "shell" and (call.command or call.tool)
    )


def _outputs_newer(found: Target) -> bool:
    """Whether a shell call began after the first edit that is taken back."""
    edits = [s.since_ns for part in found.parts for s in part.segments if s.evidence == "tool-edit"]
    shells = [c.begun_ns for turn in found.turns for c in turn.calls if c.kind == "shell"]
    return bool(edits and shells) and max(shells) > min(edits)
