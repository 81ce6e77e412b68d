"""What the last scan knew: a cache that can be thrown away at any time, at the cost of a full scan.

Two files: the *base* (every captured file when it was last renewed, with the stat index that git
compares), rarely written, and the *state* (what differs from the base, the folders, what is left
out), written when a scan found something. Both carry a checksum; a file that does not match is as
good as none. Git reads an index that was cut off without a word, so its size is kept in the state.
"""

from __future__ import annotations

import marshal
import os
import stat
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from takeback.engine.facts import FileState
from takeback.engine.record.gitindex import StatLike, format_index
from takeback.engine.store.store import write_file

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

_MAGIC = b"takeback scan 3\n"
_SETTLED_NS = 2_000_000_000
_RECORD = struct.Struct("<IqqqQII20s")


class Entry(NamedTuple):
    """A captured file with the stat data it had when its bytes were read.

    ``ctime_ns`` is 0 when the file was too young to trust its stat data: it is read again.
    """

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    ino: int
    uid: int
    gid: int
    oid: str

    @property
    def state(self) -> FileState:
        if stat.S_ISLNK(self.mode):
            return FileState("link", 0, self.oid, self.mtime_ns)
        return FileState("file", self.mode & 0o7777, self.oid, self.mtime_ns)

    @property
    def git_mode(self) -> int:
        if stat.S_ISLNK(self.mode):
            return 0o120000
        return 0o100755 if self.mode & 0o100 else 0o100644

    def matches(self, st: os.stat_result) -> bool:
        """Whether a file with this stat certainly holds the bytes that were read."""
        return (
            self.ctime_ns == st.st_ctime_ns
            and self.mtime_ns == st.st_mtime_ns
            and self.size == st.st_size
            and self.ino == st.st_ino
            and self.mode == st.st_mode
        )


def pack_entry(entry: Entry) -> bytes:
    return _RECORD.pack(*entry[:7], bytes.fromhex(entry.oid))


def unpack_entry(raw: bytes) -> Entry:
    *numbers, oid = _RECORD.unpack(raw)
    mode, size, mtime, ctime, ino, uid, gid = numbers
    return Entry(mode, size, mtime, ctime, ino, uid, gid, oid.hex())


class Folder(NamedTuple):
    """A folder as it was listed; ``ctime_ns`` 0 means: list it again."""

    mode: int
    mtime_ns: int
    ctime_ns: int
    ino: int


class ScanState:
    """The state of the last complete scan.

    Attributes:
        tree: the tree it yielded, and ``seq`` the snapshot record that named it.
        overlay: what differs from the base; None for a base path that is gone.
        folders: every folder that was walked.
        left_out: paths that are not captured: reason and a fingerprint that shows a touch.
        rules: fingerprint of every rule that decides what is captured.
        tracked: the names in the user's index, kept in memory only.
        looked_ns: when the scan that made this state began; 0 when it was loaded.
        rule_files: every ``.gitignore`` that was met, ignored ones too, with its bytes.
        index_size: how many bytes the base's index has.
    """

    def __init__(self) -> None:
        self.tree = ""
        self.seq = 0
        self.generation = 0
        self.overlay: dict[bytes, Entry | None] = {}
        self.folders: dict[bytes, Folder] = {}
        self.left_out: dict[bytes, tuple[str, tuple[int, ...]]] = {}
        self.rules = ""
        self.excludes = b""
        self.tracked_sig: tuple[int, ...] = ()
        self.base: Base | None = None
        self.tracked: list[bytes] | None = None
        self.looked_ns = 0
        self.rule_files: dict[bytes, bytes] = {}
        self.index_size = 0

    def find(self, path: bytes) -> Entry | None:
        """The captured file at a path."""
        if path in self.overlay:
            return self.overlay[path]
        return self.base.find(path) if self.base is not None else None

    def paths(self) -> list[bytes]:
        """Every captured path."""
        base = self.base.records if self.base is not None else {}
        names = [path for path in base if path not in self.overlay]
        names.extend(path for path, entry in self.overlay.items() if entry is not None)
        return names


class Base:
    """The captured files when the base was renewed, loaded when first asked for."""

    def __init__(self, path: bytes, records: dict[bytes, bytes] | None = None) -> None:
        self._path = path
        self._records = records

    @property
    def records(self) -> dict[bytes, bytes]:
        if self._records is None:
            self._records = _load(self._path)
            if self._records is None:
                raise CacheDamaged
        return self._records

    def find(self, path: bytes) -> Entry | None:
        raw = self.records.get(path)
        return unpack_entry(raw) if raw is not None else None


class CacheDamaged(Exception):
    """A cache file does not match its checksum: scan everything anew."""


def _dump(value: Any) -> bytes:
    body = marshal.dumps(value, 4)
    return _MAGIC + struct.pack("<I", zlib.crc32(body)) + body


def _load(path: bytes) -> Any:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    head = len(_MAGIC) + 4
    body = memoryview(data)[head:]
    if data[: len(_MAGIC)] != _MAGIC or len(data) < head:
        return None
    if struct.unpack_from("<I", data, len(_MAGIC))[0] != zlib.crc32(body):
        return None
    return marshal.loads(body)


def _names(store: Store, generation: int) -> tuple[bytes, bytes]:
    return (
        os.path.join(store.scan_dir, b"base-%d" % generation),
        os.path.join(store.scan_dir, b"index-%d" % generation),
    )


def index_path(store: Store, state: ScanState) -> bytes:
    return _names(store, state.generation)[1]


def load(store: Store) -> ScanState | None:
    """The state of the last scan, or None when there is none that can be trusted."""
    data = _load(os.path.join(store.scan_dir, b"state"))
    if data is None:
        return None
    state = ScanState()
    (
        state.tree,
        state.seq,
        state.generation,
        overlay,
        folders,
        state.left_out,
        state.rules,
        state.excludes,
        state.tracked_sig,
        state.rule_files,
        state.index_size,
    ) = data
    state.overlay = {k: v if v is None else Entry(*v) for k, v in overlay.items()}
    state.folders = {k: Folder(*v) for k, v in folders.items()}
    base, index = _names(store, state.generation)
    try:
        if not os.path.exists(base) or os.stat(index).st_size != state.index_size:
            return None
    except FileNotFoundError:
        return None
    state.base = Base(base)
    return state


def save(store: Store, state: ScanState) -> None:
    """Write the state; the base it names must be there."""
    data = (
        state.tree,
        state.seq,
        state.generation,
        {k: v if v is None else tuple(v) for k, v in state.overlay.items()},
        {k: tuple(v) for k, v in state.folders.items()},
        state.left_out,
        state.rules,
        state.excludes,
        state.tracked_sig,
        state.rule_files,
        state.index_size,
    )
    write_file(os.path.join(store.scan_dir, b"state"), _dump(data), temp=store.temp)


def renew_base(store: Store, state: ScanState) -> None:
    """Fold the overlay into a new base and write its index; then drop the old one.

    Git compares whole seconds (unless it was built otherwise), so only a file whose last change
    lies some seconds back may be left to it: any later change then shows in another second of its
    ctime, which no program can set. Younger files stay in the overlay, compared to the nanosecond.
    """
    settled = state.looked_ns - _SETTLED_NS
    entries: dict[bytes, bytes] = dict(state.base.records) if state.base is not None else {}
    keep: dict[bytes, Entry | None] = {}
    for path, entry in state.overlay.items():
        if entry is None:
            entries.pop(path, None)
        elif entry.ctime_ns == 0 or entry.ctime_ns > settled:
            entries.pop(path, None)
            keep[path] = entry
        else:
            entries[path] = pack_entry(entry)
    old = _names(store, state.generation)
    state.generation += 1
    base, index = _names(store, state.generation)
    text = format_index(
        (path, StatLike(*unpack_entry(entries[path])[:7])) for path in sorted(entries)
    )
    state.index_size = len(text)
    write_file(index, text, temp=store.temp)
    # Git hashes every file that is as young as the index: an index from the far future has none.
    os.utime(index, (4_000_000_000, 4_000_000_000))
    write_file(base, _dump(entries), temp=store.temp)
    state.base = Base(base, entries)
    state.overlay = keep
    save(store, state)
    for path in old:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
