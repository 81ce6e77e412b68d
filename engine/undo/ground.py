"""What plans are made from: what stands in the project now, and what could be written there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from takeback.engine.errors import TakebackError
from takeback.engine.model import (
    DirChange,
    FileState,
    Operation,
    OperationKind,
    Plan,
    PlanEntry,
    Request,
    Session,
)
from takeback.engine.record import images
from takeback.engine.store.objects import StoreError, parse_tree
from takeback.engine.store.usergit import head_blobs
from takeback.engine.undo import apply as transaction
from takeback.engine.undo import plan as decisions
from takeback.engine.undo.merge import merger
from takeback.engine.undo.plan import Situation
from takeback.engine.work import check, step

if TYPE_CHECKING:
    from takeback.engine.config import Config
    from takeback.engine.record.snapshot import Snapshotter
    from takeback.engine.store.store import Store

_COMMITTED_LIMIT = 500


class Ground:
    """What plans stand on: the sessions, operations and files of one moment, under the lock.

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
        self.store = store
        self.config = config
        self.snapshots = snapshots
        self.sessions = sessions
        self.operations = operations
        self._merge = merger(store)
        self._git_dir = git_dir
        self.fresh = fresh
        self._now: dict[bytes, FileState] = {}

    def now(self, path: bytes) -> FileState:
        """What stands at a path; its bytes are kept in the store."""
        if path not in self._now:
            # Without a scan of this moment only the file itself can say what stands there.
            known = self.snapshots.known_state(path) if self.fresh else None
            if known is None:
                known = images.capture(self.store, self.config, path, limited=False)
            self._now[path] = known
        return self._now[path]

    def dir_mode(self, path: bytes) -> int | None:
        if images.has_link_parent(self.store.root, path + b"/x"):
            return None
        try:
            mode = os.lstat(os.path.join(self.store.root, path)).st_mode
        except OSError:
            return None
        return mode & 0o7777 if (mode & 0o170000) == 0o040000 else None

    def was_absent(self, tree: str | None, path: bytes) -> bool:
        """Whether a tree is known to hold nothing at a path."""
        if tree is None:
            return False
        *folders, name = path.split(b"/")
        try:
            for folder in folders:
                found = parse_tree(self.store.objects.read(tree)).get(folder)
                if found is None or found[0] != 0o40000:
                    return True
                tree = found[1]
            return name not in parse_tree(self.store.objects.read(tree))
        except StoreError:
            return False

    def remove_dir(self, dirs: dict[bytes, DirChange], path: bytes) -> None:
        mode = self.dir_mode(path)
        if mode is not None:
            dirs.setdefault(path, DirChange(path, mode, None))

    def make_dir(self, dirs: dict[bytes, DirChange], path: bytes, mode: int) -> None:
        if self.dir_mode(path) is None:
            dirs.setdefault(path, DirChange(path, None, mode))

    def with_parents(self, plan: Plan, dirs: Iterable[DirChange]) -> tuple[DirChange, ...]:
        known = {item.path: item for item in dirs}
        for entry in plan.writes:
            if entry.action != "delete":
                at = entry.path
                while at := at.rpartition(b"/")[0]:
                    self.make_dir(known, at, 0o755)
        return self.possible(plan, known)

    def possible(self, plan: Plan, dirs: dict[bytes, DirChange]) -> tuple[DirChange, ...]:
        """The folder changes without those whose place a file holds that stays."""
        going = {entry.path for entry in plan.writes if entry.action == "delete"}
        out = []
        for path in sorted(dirs):
            at, free = path, dirs[path].before is not None
            while not free and at:
                full = os.path.join(self.store.root, at)
                if at not in going and os.path.lexists(full):
                    free = os.path.isdir(full) and not os.path.islink(full)
                    break
                at = at.rpartition(b"/")[0]
            if free or not at:
                out.append(dirs[path])
        return tuple(out)

    def settle(
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
        for at, situation in enumerate(situations):
            step("Planning", at, len(situations))
            if kind == "undo" and self._skipped(situation.path):
                entries.append(
                    PlanEntry(
                        situation.path,
                        "keep",
                        situation.now,
                        situation.now,
                        "undo_skip names it",
                        source=situation.source,
                    )
                )
                continue
            choice = request.choice(situation.path, situation.source or situation.path)
            decision = decisions.decide(situation, choice, self._merge)
            if decision.entry is None:
                continue
            entries.append(decision.entry)
            later += decision.later
            renamed += any("renamed from" in note for note in situation.notes)
        self.store.objects.flush()
        entries = decisions.resolve_places(entries, self._standing(entries))
        entries = self._writable(entries, request)
        entries = self._committed_since(entries) if kind != "redo" else entries
        conflicts = [entry for entry in entries if entry.action == "conflict"]
        if later:
            asks.append(f"{files(later)} with later content would be overwritten or deleted.")
        if renamed:
            asks.append(f"{files(renamed)} that you renamed would be changed under the new name.")
        if conflicts:
            asks.append(f"{files(len(conflicts))} in conflict would be left alone.")
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
        for pattern in self.config.undo_skip:
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
                full = os.path.join(self.store.root, at)
                if os.path.lexists(full) and not (os.path.isdir(full) and not os.path.islink(full)):
                    found.append(at)
            full = os.path.join(self.store.root, entry.path)
            if os.path.isdir(full) and not os.path.islink(full):
                top = len(self.store.root.rstrip(b"/")) + 1
                for folder, _, names in os.walk(full):
                    check()
                    found.extend(os.path.join(folder, name)[top:] for name in names)
        return found

    def _writable(self, entries: list[PlanEntry], request: Request) -> list[PlanEntry]:
        writes = [e for e in entries if e.action in ("restore", "delete", "merge")]
        blocked = transaction.preflight(
            self.store.root,
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
                reason = f"cannot be written: {blocked[entry.path]}"
                entry = replace(entry, action="keep", want=entry.expect, reason=reason, notes=())
            out.append(entry)
        return out


def files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
