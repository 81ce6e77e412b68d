"""Making a plan: gathers what `plan` decides on. Reads the project, writes only to the store."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from takeback.engine.errors import NothingToDo, TakebackError, UsageError
from takeback.engine.frozen import changed
from takeback.engine.model import (
    AGENT_EVIDENCE,
    Change,
    DirChange,
    FileState,
    NotCaptured,
    Operation,
    OperationKind,
    Plan,
    PlanEntry,
    Request,
    Selection,
    Session,
    Turn,
    same,
)
from takeback.engine.record import images
from takeback.engine.store.usergit import head_blobs
from takeback.engine.timeline.timeline import mark
from takeback.engine.undo import apply as transaction
from takeback.engine.undo import plan as decisions
from takeback.engine.undo import target as targets
from takeback.engine.undo.merge import merger
from takeback.engine.undo.plan import Situation, Span, spans_of
from takeback.engine.undo.target import Part, Target

if TYPE_CHECKING:
    from takeback.engine.config import Config
    from takeback.engine.record.snapshot import Snapshotter
    from takeback.engine.store.store import Store

EVIDENCE_WORDS = {
    "tool-edit": "edited by the agent's tool",
    "traced-call": "written by the agent's process",
    "mixed": "agent, and someone else",
    "during-call": "changed while a shell call ran",
    "not-by-call": "not by the agent's processes",
    "outside-calls": "no shell call was running: you, an editor or a formatter",
    "no-record": "origin not recorded",
}

_COMMITTED_LIMIT = 500


class Planner:
    """Plans for one moment: the sessions, operations and files as they are under the lock.

    Args:
        git_dir: the user's git, asked what was committed since; None for none.
        fresh: a scan of this moment succeeded.
    """

    def __init__(
        self,
        store: Store,
        config: Config,
        snapshots: Snapshotter,
        sessions: Sequence[Session],
        operations: Sequence[Operation],
        git_dir: bytes | None = None,
        fresh: bool = True,
    ) -> None:
        self._store = store
        self._config = config
        self._snapshots = snapshots
        self._sessions = sessions
        self._operations = operations
        self._merge = merger(store)
        self._git_dir = git_dir
        self._fresh = fresh
        self._now: dict[bytes, FileState] = {}

    def plan(self, request: Request) -> Plan:
        """The plan for a request.

        Raises:
            NothingToDo, SessionRunning, UsageError: see `target`.
            TakebackError: a target cannot be written, or the store cannot give what is needed.
        """
        if request.kind == "undo":
            last = targets.reversible(self._sessions, self._operations, request)
            return self._reverse(last, request, "undo") if last else self._undo(request)
        if request.kind == "redo":
            return self._redo(request)
        if request.kind == "goto":
            return self._goto(request)
        if request.kind == "restore":
            return self._restore(request)
        raise UsageError(f"{request.kind!r} comes in a later version. Nothing was changed.")

    def now(self, path: bytes) -> FileState:
        """What stands at a path; its bytes are kept in the store."""
        if path not in self._now:
            # Without a scan of this moment only the file itself can say what stands there.
            known = self._snapshots.known_state(path) if self._fresh else None
            if known is None:
                known = images.capture(self._store, self._config, path, limited=False)
            self._now[path] = known
        return self._now[path]

    # --- Undo --------------------------------------------------------------------------------

    def _undo(self, request: Request) -> Plan:
        selection: Selection = request.selection or self._config.default_select
        found = targets.undo_target(self._sessions, self._operations, request, selection, self.now)
        if found.stopped:
            return self._stopped(found)
        situations: dict[bytes, list[Part]] = {}
        for part in found.parts:
            situations.setdefault(part.change.path, []).append(part)
        plan = self._settle(
            "undo",
            found.label,
            found.session,
            [self._situation(path, parts, request) for path, parts in situations.items()],
            request,
        )
        unknown = sorted(
            {
                part.change.path
                for part in found.parts
                if any(s.evidence not in AGENT_EVIDENCE for s in part.segments)
            }
        )
        written = {entry.path for entry in plan.writes}
        asks = list(plan.asks)
        risky = [path for path in unknown if path in written]
        if risky:
            asks.insert(0, f"{_files(len(risky))} of unknown origin would be taken back.")
        entries = list(plan.entries)
        listed = {entry.path for entry in entries} | set(situations)
        if not request.paths:
            for change in found.outside:
                if change.path not in listed and not change.undone:
                    listed.add(change.path)
                    entries.append(self._left(change))
        takes = self._takes(found.parts, entries, request)
        wide = bool(unknown) or selection == "all"
        dirs = self._undo_dirs(found, plan, wide)
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
        )

    def _left(self, change: Change) -> PlanEntry:
        now = self.now(change.path)
        words = EVIDENCE_WORDS[change.evidence]
        return PlanEntry(change.path, "keep", now, now, f"unknown origin: {words}")

    def _stopped(self, found: Target) -> Plan:
        entries = tuple(self._left(change) for change in found.outside)
        count = _files(len(entries))
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

    def _situation(self, path: bytes, parts: Sequence[Part], request: Request) -> Situation:
        """One path with the spans of all parts, newest first."""
        steps = [segment for part in reversed(parts) for segment in part.segments]
        notes = []
        if any(part.change.evidence == "mixed" for part in parts):
            notes.append("agent, and someone else")
        spans = spans_of(steps)
        now = self.now(path)
        named = bool(request.paths) and targets.covers(request.paths, path)
        was_there = spans[0][1].has_content and spans[-1][0].has_content
        if now.kind == "absent" and was_there and not named:
            renamed = self._renamed(path, spans[0][1], parts[0].turn)
            if renamed is not None:
                notes.append(f"renamed from {os.fsdecode(path)!r} since")
                return Situation(renamed, spans, self.now(renamed), named, tuple(notes))
        return Situation(path, spans, now, named, tuple(notes))

    def _renamed(self, path: bytes, left: FileState, turn: Turn) -> bytes | None:
        """The one file that holds what the turn left at a path that is gone now."""
        found = []
        for candidate in self._snapshots.paths_with(left.oid) if self._fresh else ():
            if candidate == path:
                continue
            owned = any(c.path == candidate for c in turn.changes)
            if not owned and same(changed(self.now(candidate), mode=left.mode), left):
                found.append(candidate)
        return found[0] if len(found) == 1 else None

    def _takes(
        self, parts: Sequence[Part], entries: Sequence[PlanEntry], request: Request
    ) -> tuple[tuple[str, bytes], ...]:
        left = {entry.path for entry in entries if entry.action in ("keep", "conflict")}
        takes: list[tuple[str, bytes]] = []
        for part in parts:
            path = part.change.path
            if path in left:
                continue
            takes.extend((mark(segment), path) for segment in part.segments)
            if part.whole and not (request.step or request.call):
                takes.append((part.turn.id, path))
        return tuple(dict.fromkeys(takes))

    def _undo_dirs(self, found: Target, plan: Plan, wide: bool) -> tuple[DirChange, ...]:
        """Folders that go with the files, that come back for them, and empty ones."""
        written = {entry.path: entry for entry in plan.writes}
        dirs: dict[bytes, DirChange] = {}
        for part in found.parts:
            entry = written.get(part.change.path)
            if entry is not None and entry.action == "delete":
                for folder in part.change.made_dirs:
                    self._remove_dir(dirs, folder)
        modes: dict[bytes, DirChange] = {}
        for turn in found.turns:
            for item in turn.dirs:
                newer = modes.get(item.path, item)
                modes[item.path] = DirChange(item.path, item.before, newer.after)
        if wide:
            for item in modes.values():
                if item.before is None:
                    self._remove_dir(dirs, item.path)
                elif item.after is None:
                    self._make_dir(dirs, item.path, item.before)
                elif self._dir_mode(item.path) == item.after:
                    dirs[item.path] = DirChange(item.path, item.after, item.before)
        for entry in plan.writes:
            if entry.action != "delete":
                at = entry.path
                while at := at.rpartition(b"/")[0]:
                    known = modes.get(at)
                    mode = known.before if known is not None and known.before else 0o755
                    if at in dirs and dirs[at].after is None:
                        del dirs[at]
                    self._make_dir(dirs, at, mode)
        return tuple(dirs[path] for path in sorted(dirs))

    def _dir_mode(self, path: bytes) -> int | None:
        if images.has_link_parent(self._store.root, path + b"/x"):
            return None
        try:
            mode = os.lstat(os.path.join(self._store.root, path)).st_mode
        except OSError:
            return None
        return mode & 0o7777 if (mode & 0o170000) == 0o040000 else None

    def _remove_dir(self, dirs: dict[bytes, DirChange], path: bytes) -> None:
        mode = self._dir_mode(path)
        if mode is not None:
            dirs.setdefault(path, DirChange(path, mode, None))

    def _make_dir(self, dirs: dict[bytes, DirChange], path: bytes, mode: int) -> None:
        if self._dir_mode(path) is None:
            dirs.setdefault(path, DirChange(path, None, mode))

    # --- Reversing operations ----------------------------------------------------------------

    def _redo(self, request: Request) -> Plan:
        last: NothingToDo | None = None
        for operation in targets.redo_target(self._sessions, self._operations, request):
            try:
                return self._reverse(operation, request, "redo")
            except NothingToDo as nothing:
                last = nothing
        assert last is not None
        raise last

    def _reverse(self, operation: Operation, request: Request, kind: OperationKind) -> Plan:
        for turn in targets.all_turns(self._sessions):
            if targets.is_active(turn) and turn.session == operation.session:
                raise targets.running_error(turn)
        situations = [
            Situation(
                move.path,
                ((move.before, move.after),),
                self.now(move.path),
                targets.covers(request.paths, move.path) if request.paths else False,
            )
            for move in operation.moves
            if not request.paths or targets.covers(request.paths, move.path)
        ]
        label = f"{operation.kind} of {operation.target} ({operation.id})"
        plan = self._settle(kind, label, operation.session, situations, request)
        if not plan.entries:
            raise NothingToDo(
                f"What {operation.id} changed is back already. Nothing was changed.",
                "See 'takeback history'.",
            )
        asks = list(plan.asks)
        if kind == "redo":
            changed = sum(1 for entry in plan.writes if entry.action == "merge")
            if changed:
                asks.append(f"{_files(changed)} changed since the undo and would be merged.")
            later = [
                turn
                for turn in targets.all_turns(self._sessions)
                if turn.session == operation.session and turn.begun_ns > operation.at_ns
            ]
            if later:
                asks.append(f"The session began turn {later[-1].n} after the undo.")
        left = {entry.path for entry in plan.entries if entry.action in ("keep", "conflict")}
        dirs = tuple(
            DirChange(item.path, self._dir_mode(item.path), item.before)
            for item in operation.dirs
            if self._dir_mode(item.path) == item.after
        )
        return replace(
            plan,
            dirs=self._with_parents(plan, dirs),
            asks=tuple(asks),
            gives=tuple(t for t in operation.takes if t[1] not in left),
            takes=tuple(t for t in operation.gives if t[1] not in left),
            targets=operation.targets,
            reverses=operation.id,
        )

    def _with_parents(self, plan: Plan, dirs: Iterable[DirChange]) -> tuple[DirChange, ...]:
        known = {item.path: item for item in dirs}
        for entry in plan.writes:
            if entry.action != "delete":
                at = entry.path
                while at := at.rpartition(b"/")[0]:
                    self._make_dir(known, at, 0o755)
        return tuple(known[path] for path in sorted(known))

    # --- Goto and restore --------------------------------------------------------------------

    def _goto(self, request: Request) -> Plan:
        for turn in targets.all_turns(self._sessions):
            if targets.is_active(turn):
                raise targets.running_error(turn)
        goal = targets.find_turn(self._sessions, request.turn)
        limit = goal.n + (1 if request.at == "after" else 0)
        spans: dict[bytes, list[Span]] = {}
        takes: list[tuple[str, bytes]] = []
        gives: list[tuple[str, bytes]] = []
        seen: set[str] = set()
        turns = targets.all_turns(self._sessions)
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
        situations = [
            Situation(path, tuple(value), self.now(path)) for path, value in spans.items()
        ]
        label = f"turn {goal.n}@{request.at}"
        plan = self._settle("goto", label, goal.session, situations, request)
        entries = list(plan.entries)
        listed = {entry.path for entry in entries} | set(spans)
        for path in self._between(goal, limit):
            if path not in listed:
                now = self.now(path)
                entries.append(PlanEntry(path, "keep", now, now, "made between turns"))
        if not plan.writes and not plan.conflicts:
            raise NothingToDo(
                f"The files are as they were at {label} already. Nothing was changed.",
                "See 'takeback log'.",
            )
        left = {e.path for e in plan.entries if e.action in ("keep", "conflict")}
        found = Target(label, goal.session, tuple(back), ())
        return replace(
            plan,
            entries=tuple(sorted(entries, key=lambda e: e.path)),
            asks=(
                f"{_files(len(plan.writes))} would change, of every origin, to return to {label}.",
                *plan.asks,
            ),
            dirs=self._undo_dirs(found, plan, True),
            takes=tuple(t for t in takes if t[1] not in left),
            gives=tuple(g for g in gives if g[1] not in left),
            targets=(),
        )

    def _between(self, goal: Turn, limit: int) -> list[bytes]:
        """Paths that changed after the goal's time in no turn's time."""
        from takeback.engine.timeline import events

        log = events.read(self._store)
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

    def _restore(self, request: Request) -> Plan:
        for turn in targets.all_turns(self._sessions):
            if targets.is_active(turn):
                raise targets.running_error(turn)
        names = [operation.id for operation in self._operations]
        if request.op not in names:
            raise UsageError(
                f"There is no operation {request.op!r} in this project. Nothing was changed.",
                "See 'takeback history'.",
            )
        later = self._operations[names.index(request.op) :]
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
                if self._dir_mode(item.path) == dirs.get(item.path, item).after:
                    dirs[item.path] = DirChange(item.path, self._dir_mode(item.path), item.before)
        situations = [
            Situation(path, tuple(value), self.now(path)) for path, value in spans.items()
        ]
        label = request.op
        plan = self._settle("restore", label, later[0].session, situations, request)
        if not plan.writes and not plan.conflicts:
            raise NothingToDo(
                f"The files are as they were before {label} already. Nothing was changed.",
                "See 'takeback history'.",
            )
        left = {e.path for e in plan.entries if e.action in ("keep", "conflict")}
        net_takes, net_gives = _net(later)
        return replace(
            plan,
            asks=(
                f"{_files(len(plan.writes))} would return to what stood before {label}.",
                *plan.asks,
            ),
            dirs=self._with_parents(plan, [d for d in dirs.values() if d.before != d.after]),
            takes=tuple(t for t in net_gives if t[1] not in left),
            gives=tuple(g for g in net_takes if g[1] not in left),
        )

    # --- Common ------------------------------------------------------------------------------

    def _settle(
        self,
        kind: OperationKind,
        label: str,
        session: str,
        situations: Sequence[Situation],
        request: Request,
    ) -> Plan:
        """Decide every path, then look whether the results can stand and be written."""
        entries: list[PlanEntry] = []
        asks: list[str] = []
        later = renamed = 0
        for situation in situations:
            if kind == "undo" and self._skipped(situation.path):
                entries.append(
                    PlanEntry(
                        situation.path, "keep", situation.now, situation.now, "undo_skip names it"
                    )
                )
                continue
            decision = decisions.decide(situation, request.on_conflict, self._merge)
            if decision.entry is None:
                continue
            entries.append(decision.entry)
            later += decision.later
            renamed += any("renamed from" in note for note in situation.notes)
        self._store.objects.flush()
        entries = decisions.resolve_places(entries, self._standing(entries))
        entries = self._writable(entries, request)
        entries = self._committed_since(entries)
        conflicts = [entry for entry in entries if entry.action == "conflict"]
        if later:
            asks.append(f"{_files(later)} with later content would be overwritten or deleted.")
        if renamed:
            asks.append(f"{_files(renamed)} that you renamed would be changed under the new name.")
        if conflicts:
            asks.append(f"{_files(len(conflicts))} in conflict would be left alone.")
        return Plan(
            kind, label, session, tuple(sorted(entries, key=lambda e: e.path)), asks=tuple(asks)
        )

    def _committed_since(self, entries: list[PlanEntry]) -> list[PlanEntry]:
        """Mark files whose content is in the user's last commit: that commit stays."""
        writes = [e.path for e in entries if e.action in ("restore", "delete", "merge")]
        if self._git_dir is None or not writes or len(writes) > _COMMITTED_LIMIT:
            return entries
        held = head_blobs(self._git_dir, writes)
        out = []
        for entry in entries:
            if entry.path in held and held[entry.path] == entry.expect.oid:
                entry = replace(entry, notes=(*entry.notes, "committed since"))
            out.append(entry)
        return out

    def _skipped(self, path: bytes) -> bool:
        shown = os.fsdecode(path)
        for pattern in self._config.undo_skip:
            bare = pattern.rstrip("/")
            if fnmatchcase(shown, bare) or shown.startswith(bare + "/"):
                return True
            if "/" not in bare and any(fnmatchcase(p, bare) for p in shown.split("/")):
                return True
        return False

    def _standing(self, entries: Sequence[PlanEntry]) -> list[bytes]:
        """What stands below paths where a file returns, and above paths that return."""
        found: list[bytes] = []
        for entry in entries:
            if entry.action not in ("restore", "merge") or entry.expect.kind != "absent":
                continue
            at = entry.path
            while at := at.rpartition(b"/")[0]:
                full = os.path.join(self._store.root, at)
                if os.path.lexists(full) and not (os.path.isdir(full) and not os.path.islink(full)):
                    found.append(at)
            full = os.path.join(self._store.root, entry.path)
            if os.path.isdir(full) and not os.path.islink(full):
                top = len(self._store.root.rstrip(b"/")) + 1
                for folder, _, names in os.walk(full):
                    found.extend(os.path.join(folder, name)[top:] for name in names)
        return found

    def _writable(self, entries: list[PlanEntry], request: Request) -> list[PlanEntry]:
        writes = [e for e in entries if e.action in ("restore", "delete", "merge")]
        blocked = transaction.preflight(
            self._store.root,
            [transaction.Target(e.path, e.expect, e.want) for e in writes],
        )
        if blocked and not request.skip_unwritable:
            path, reason = next(iter(sorted(blocked.items())))
            more = f" (and {len(blocked) - 1} more)" if len(blocked) > 1 else ""
            raise TakebackError(
                f"{os.fsdecode(path)!r}{more} cannot be written: {reason}. Nothing was changed.",
                "Use --skip-unwritable to take back the rest.",
            )
        out = []
        for entry in entries:
            if entry.path in blocked and entry in writes:
                entry = PlanEntry(
                    entry.path,
                    "keep",
                    entry.expect,
                    entry.expect,
                    f"cannot be written: {blocked[entry.path]}",
                )
            out.append(entry)
        return out


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"


def _missing(turns: Iterable[Turn]) -> tuple[NotCaptured, ...]:
    items: dict[bytes, NotCaptured] = {}
    for turn in turns:
        for item in turn.not_captured:
            items.setdefault(item.path, item)
    return tuple(items[path] for path in sorted(items))


def _effects(turns: Iterable[Turn]) -> tuple[str, ...]:
    """The shell commands whose effects outside these files stay."""
    return tuple(
        call.command or call.tool for turn in turns for call in turn.calls if call.kind == "shell"
    )


def _outputs_newer(found: Target) -> bool:
    """Whether a shell call began after the first edit that is taken back."""
    edits = [s.since_ns for part in found.parts for s in part.segments if s.evidence == "tool-edit"]
    shells = [c.begun_ns for turn in found.turns for c in turn.calls if c.kind == "shell"]
    return bool(edits and shells) and max(shells) > min(edits)


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
