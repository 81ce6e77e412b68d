"""Snapshots: a scan, the objects it needs, the tree, and one line that says what changed.

``snapshots.jsonl`` holds one record for each scan that found something: the tree, and for each
changed path what stood there before and after with mode and time. The changes of any span of time
are then read from these lines; nothing has to be diffed again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping

from takeback.engine.errors import TakebackError
from takeback.engine.facts import (
    ABSENT,
    EMPTY_TREE,
    HARMLESS_REASONS,
    FileState,
    NotCaptured,
    PathChange,
)
from takeback.engine.frozen import Frozen, changed
from takeback.engine.record import codec, images, scanstate
from takeback.engine.record.entries import exists_unseen
from takeback.engine.record.scan import FuseBlown, Scan, Scanner
from takeback.engine.store.git import Git
from takeback.engine.store.objects import Objects, StoreError, format_tree, parse_tree
from takeback.engine.work import Cancelled, held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.engine.config import Config
    from takeback.engine.record.scanstate import ScanState
    from takeback.engine.store.paths import Root
    from takeback.engine.store.store import Store

RENEW_ABOVE = 64


class Snapshot(Frozen):
    """What one look at the project yielded.

    Attributes:
        seq: the newest snapshot record; a span of time is the records between two of these.
        tree: the tree, or None when the snapshot failed: then nothing may be concluded.
        error: why it failed, or "".
    """

    seq: int | None
    tree: str | None
    not_captured: tuple[NotCaptured, ...]
    error: str = ""
    changed: bool = False

    @property
    def complete(self) -> bool:
        return all(item.reason in HARMLESS_REASONS for item in self.not_captured)


def edit_tree(
    objects: Objects, tree: str | None, changes: Mapping[bytes, tuple[int, str] | None]
) -> str | None:
    """Write the tree that differs from `tree` in some paths.

    Args:
        changes: path to (git mode, id), or None where nothing is any more.

    Returns:
        The new tree's id, or None when nothing is left in it.
    """
    entries = parse_tree(objects.read(tree)) if tree else {}
    below: dict[bytes, dict[bytes, tuple[int, str] | None]] = {}
    for path, value in changes.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = value
        elif value is not None:
            entries[name] = value
        elif name in entries and entries[name][0] != 0o40000:
            del entries[name]
    for name, inner in below.items():
        old = entries.get(name)
        base = old[1] if old is not None and old[0] == 0o40000 else None
        if base is None and all(value is None for value in inner.values()):
            continue
        new = edit_tree(objects, base, inner)
        if new is not None:
            entries[name] = (0o40000, new)
        else:
            entries.pop(name, None)
    return objects.write("tree", format_tree(entries)) if entries else None


def git_entry(state: FileState) -> tuple[int, str] | None:
    """A state as a tree entry."""
    if state.kind == "link":
        return (0o120000, state.oid)
    if state.kind == "file":
        return (0o100755 if state.mode & 0o100 else 0o100644, state.oid)
    return None


class Snapshotter:
    """Takes snapshots of one project. Every call needs the store's lock."""

    def __init__(self, store: Store, config: Config, root: Root) -> None:
        self._store = store
        self._config = config
        self._root = root
        self._state: ScanState | None = None
        self._stamp: tuple[int, int] | None = None

    def take(
        self, full: bool = False, op: str = "", own: frozenset[bytes] = frozenset()
    ) -> Snapshot:
        """Look at the whole project.

        Args:
            full: at a turn's boundary: ask for the user's rules again.
            op: the operation of ours that just ran, and ``own``: the paths and folders it wrote.
                What changed at these is nobody's; the rest is recorded as always.

        Returns:
            A snapshot; a failed one says why and names no tree.

        Raises:
            Cancelled: that was wanted; nothing was recorded.
        """
        if op:
            self._claim(op, own)
        if self._root.refused:
            return self._failed(f"No snapshot was taken: {self._root.refused}.", "failed")
        if not self._config.snapshots:
            return self._failed("Snapshots are switched off.", "failed")
        try:
            return self._take(full, op, own)
        except FuseBlown as error:
            self._state = None
            return self._failed(error.message, "fuse")
        except Cancelled:
            self._state = None
            raise
        except TakebackError as error:
            self._state = None
            return self._failed(error.message, "failed")
        except OSError as error:
            self._state = None
            return self._failed(f"The snapshot failed: {error}.", "failed")
        except BaseException:
            # Half a scan: what it found was recorded nowhere, so it must be found again.
            self._state = None
            raise

    def _claim(self, op: str, own: frozenset[bytes]) -> None:
        """Write down what an operation wrote until a scan has seen it: the next may fail."""
        value = {"op": op, "own": [codec.text(path) for path in sorted(own)]}
        self._store.write("scan/claim", json.dumps(value).encode())

    def _claimed(self) -> tuple[str, frozenset[bytes]]:
        try:
            with open(self._store.path("scan/claim"), "rb") as file:
                value = json.loads(file.read())
            return str(value["op"]), frozenset(codec.raw(path) for path in value["own"])
        except FileNotFoundError:
            return "", frozenset()
        except (ValueError, KeyError, TypeError):
            return "", frozenset()

    def _failed(self, message: str, reason: str) -> Snapshot:
        return Snapshot(None, None, (NotCaptured(b"./", reason),), message)

    def _load(self) -> tuple[ScanState | None, bool]:
        """The last state, and whether an earlier tree is known though the state is lost."""
        try:
            st = os.stat(os.path.join(self._store.scan_dir, b"state"))
            stamp = (st.st_ino, st.st_mtime_ns)
        except FileNotFoundError:
            stamp = None
        if self._state is None or stamp != self._stamp:
            self._state = scanstate.load(self._store)
            self._stamp = stamp
        return self._state, self._state is None

    def _take(self, full: bool, op: str, own: frozenset[bytes]) -> Snapshot:
        claimed = bool(op)
        if not op:
            op, own = self._claimed()
            claimed = bool(op)
        state, lost = self._load()
        scanner = Scanner(self._store, self._config, state, self._root, full)
        try:
            scan = scanner.run()
        except scanstate.CacheDamaged:
            lost = True
            scanner = Scanner(self._store, self._config, None, self._root, full)
            scan = scanner.run()
        state = scanner.state
        self._state = state
        last = self._last_record() if lost else None
        if last is not None:
            state.tree, state.seq = last
            scan = self._against_tree(state, scan)
        with held():
            return self._keep(state, scan, op, own, claimed, lost, lost and last is None)

    def _keep(
        self,
        state: ScanState,
        scan: Scan,
        op: str,
        own: frozenset[bytes],
        claimed: bool,
        lost: bool,
        first: bool,
    ) -> Snapshot:
        """Record what a scan found, and remember where it stood."""
        self._write_tree(state, scan, rebuilt=lost)
        seq = state.seq
        news = bool(scan.changes or scan.dirs or scan.touched) and not first
        if news or first:
            seq = self._append_parts(state, scan, op, own, first)
            state.seq = seq
        if lost:
            self._store.set_ref("current", state.tree)
            scanstate.renew_base(self._store, state)
        elif news or scan.learned:
            self._store.set_ref("current", state.tree)
            scanstate.save(self._store, state)
        self._remember_stamp()
        if claimed:
            os.unlink(self._store.path("scan/claim"))
        missing = [
            NotCaptured(path, reason)
            for path, (reason, _) in sorted(scan.left_out.items())
            if reason not in ("secret", "ignored", "excluded")
        ]
        if scan.rules_changed:
            for change in scan.changes:
                for side in (change.before, change.after):
                    if side.kind == "unknown" and side.reason == "ignored":
                        missing.append(NotCaptured(change.path, "ignored"))
                        break
        return Snapshot(seq, state.tree, tuple(missing), changed=news)

    def _remember_stamp(self) -> None:
        st = os.stat(os.path.join(self._store.scan_dir, b"state"))
        self._stamp = (st.st_ino, st.st_mtime_ns)

    def _write_tree(self, state: ScanState, scan: Scan, rebuilt: bool) -> None:
        objects = self._store.objects
        if rebuilt:
            entries = {}
            for path in state.paths():
                entry = state.find(path)
                if entry is not None:
                    entries[path] = (entry.git_mode, entry.oid)
            state.tree = whole_tree(objects, entries)
        elif scan.changes:
            changes = {change.path: git_entry(change.after) for change in scan.changes}
            gone = {p: v for p, v in changes.items() if v is None}
            try:
                tree = edit_tree(objects, _known(state.tree), gone)
                new = {p: v for p, v in changes.items() if v is not None}
                state.tree = edit_tree(objects, tree, new) or EMPTY_TREE
            except StoreError:
                # A damaged tree must not block the next turns: all ids are known, write it anew.
                self._write_tree(state, scan, rebuilt=True)
                return
        if state.tree == EMPTY_TREE:
            objects.write("tree", b"")
        objects.flush()

    def _append_parts(
        self, state: ScanState, scan: Scan, op: str, own: frozenset[bytes], first: bool
    ) -> int:
        if not op:
            return self._append(state, scan, "", first)
        ours = Scan(
            [c for c in scan.changes if c.path in own], [d for d in scan.dirs if d.path in own]
        )
        rest = Scan(
            [c for c in scan.changes if c.path not in own],
            [d for d in scan.dirs if d.path not in own],
            scan.left_out,
            scan.touched,
        )
        seq = state.seq
        if ours.changes or ours.dirs:
            seq = self._append(state, ours, op, first)
        if rest.changes or rest.dirs or rest.touched:
            seq = self._append(state, rest, "", False)
        return seq

    def _append(self, state: ScanState, scan: Scan, op: str, first: bool) -> int:
        seq, _ = self._store.next_seq()
        record: dict[str, Any] = {"seq": seq, "t": time.time_ns(), "tree": state.tree}
        if not first:
            record["delta"] = codec.put_list(self._store, codec.pack_changes(scan.changes))
            record["dirs"] = codec.put_list(self._store, codec.pack_dirs(scan.dirs))
        if scan.touched:
            record["touched"] = codec.put_list(self._store, codec.pack_missing(scan.touched))
        if op:
            record["op"] = op
        self._store.append("snapshots.jsonl", record)
        return seq

    def _last_record(self) -> tuple[str, int] | None:
        last = None
        for record in self._store.lines("snapshots.jsonl"):
            tree, seq = record.get("tree"), record.get("seq")
            if isinstance(tree, str) and isinstance(seq, int):
                last = (tree, seq)
        return last

    def _against_tree(self, state: ScanState, scan: Scan) -> Scan:
        """The changes since the last recorded tree when the cache that knew them is lost."""
        known = list_tree(self._store, state.tree)
        found = {change.path: change.after for change in scan.changes}
        changes = []
        for path in sorted(known.keys() | found.keys()):
            old = known.get(path, ABSENT)
            new = found.get(path) or self._passed_over(path, scan)
            if path not in known:
                # Nobody can say any more whether it was left out then.
                old = FileState("unknown", reason="failed")
            if old.kind == new.kind == "file" and (old.mode ^ new.mode) & 0o100 == 0:
                # Git keeps one bit of the mode; where it agrees, today's mode is the best guess.
                old = changed(old, mode=new.mode)
            if old.oid != new.oid or git_entry(old) != git_entry(new):
                changes.append(PathChange(path, old, new))
        return Scan(changes, [], scan.left_out, scan.touched, scan.rules_changed)

    def _passed_over(self, path: bytes, scan: Scan) -> FileState:
        """A path of the last tree that a scan without a memory did not meet."""
        at = path
        while at:
            reason = (scan.left_out.get(at) or scan.left_out.get(at + b"/") or ("",))[0]
            if reason:
                return FileState("unknown", reason=reason)
            at = at.rpartition(b"/")[0]
        if images.has_link_parent(self._store.root, path):
            return ABSENT
        return exists_unseen(os.path.join(self._store.root, path))

    def renew(self) -> None:
        """Fold what differs into the base when it has grown; off the critical path."""
        state, _ = self._load()
        if state is None or state.base is None:
            return
        if len(state.overlay) > max(RENEW_ABOVE, len(state.folders) // 2):
            try:
                scanstate.renew_base(self._store, state)
            except scanstate.CacheDamaged:
                self._state = None
                return
            self._remember_stamp()

    def known_state(self, path: bytes) -> FileState | None:
        """What the last snapshot holds at a path, or None if nothing is known."""
        state, _ = self._load()
        if state is None:
            return None
        entry = state.find(path)
        return entry.state if entry is not None else None

    def paths_with(self, oid: str) -> list[bytes]:
        """The captured files that hold these bytes."""
        state, _ = self._load()
        if state is None:
            return []
        raw = bytes.fromhex(oid)
        base = state.base.records if state.base is not None else {}
        found = [p for p, e in base.items() if e.endswith(raw) and p not in state.overlay]
        found += [p for p, e in state.overlay.items() if e is not None and e.oid == oid]
        return found


def _known(tree: str) -> str | None:
    return tree if tree and tree != EMPTY_TREE else None


def whole_tree(objects: Objects, entries: dict[bytes, tuple[int, str]]) -> str:
    """Write all trees for a flat list of entries, deepest first, in one pass."""
    folders: dict[bytes, dict[bytes, tuple[int, str]]] = {b"": {}}
    for path, value in entries.items():
        folder, _, name = path.rpartition(b"/")
        if folder not in folders:
            at = folder
            while at not in folders:
                folders[at] = {}
                at = at.rpartition(b"/")[0]
        folders[folder][name] = value
    result = EMPTY_TREE
    for folder in sorted(folders, key=lambda f: f.count(b"/") + 1 if f else 0, reverse=True):
        oid = objects.write("tree", format_tree(folders[folder]))
        if folder:
            parent, _, name = folder.rpartition(b"/")
            folders[parent][name] = (0o40000, oid)
        else:
            result = oid
    return result


def list_tree(store: Store, tree: str) -> dict[bytes, FileState]:
    """Every file of a tree, with git's modes and no times.

    Raises:
        GitError, StoreError: the tree cannot be read.
    """
    if not _known(tree):
        return {}
    out = Git(store.git_dir).run("ls-tree", "-r", "-z", "--full-tree", tree)
    found: dict[bytes, FileState] = {}
    for line in out.split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, oid = head.split(b" ")
            if mode == b"120000":
                found[path] = FileState("link", 0, oid.decode())
            else:
                found[path] = FileState("file", int(mode, 8) & 0o777, oid.decode())
    return found
