"""Lines added and removed, for many changes with one git process.

No object is written to the store: the two trees that are compared live in a folder of their own
for the moment, with the store's objects behind them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from takeback.engine.model import FileState
from takeback.engine.store.git import Git
from takeback.engine.store.objects import Objects, format_tree

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

Pair = tuple[FileState, FileState]


class Scratch:
    """A git with a throw-away object folder in front of the store's; use as a context manager."""

    def __init__(self, store: Store) -> None:
        import tempfile

        self._folder = tempfile.TemporaryDirectory(prefix="takeback-")
        base = os.fsencode(self._folder.name)
        for name in (b"objects/pack", b"objects/info", b"refs", b"tmp"):
            os.makedirs(os.path.join(base, name), 0o700)
        with open(os.path.join(base, b"HEAD"), "wb") as file:
            file.write(b"ref: refs/heads/none\n")
        with open(os.path.join(base, b"config"), "wb") as file:
            file.write(b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        with open(os.path.join(base, b"objects/info/alternates"), "wb") as file:
            file.write(os.path.join(store.git_dir, b"objects") + b"\n")
        self.objects = Objects(base, os.path.join(base, b"tmp"))
        self.git = Git(base)

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        self.objects.close()
        self._folder.cleanup()

    def tree(self, entries: dict[bytes, tuple[int, str]]) -> str:
        """Write a tree from full paths."""
        from takeback.engine.record.snapshot import whole_tree

        oid = whole_tree(self.objects, entries)
        if not entries:
            self.objects.write("tree", format_tree({}))
        self.objects.flush()
        return oid


Numbers = tuple[int | None, int | None, bool]
_CACHE = b"scan/lines"
_RECORD = struct.Struct("20s20sII")
_BINARY = 0xFFFFFFFF
_NO_BLOB = bytes(20)
_MOST = 500_000
"""Records the cache may have; after that it begins anew."""


def count(store: Store, pairs: Sequence[Pair]) -> list[Numbers]:
    """Lines added, lines removed, and whether it is binary, for each pair of states.

    What was counted once is kept in a cache of the store: two contents differ for ever alike.

    Raises:
        GitError: git failed, for example because the store lost an object.
    """
    from takeback.engine.record.snapshot import git_entry

    keys = []
    for pair in pairs:
        before, after = (git_entry(side) for side in pair)
        keys.append((_blob(before), _blob(after)))
    known = _read(store)
    missing = [at for at, key in enumerate(keys) if key[0] != key[1] and key not in known]
    if missing:
        found = _count(store, [pairs[at] for at in missing])
        fresh = {keys[at]: numbers for at, numbers in zip(missing, found, strict=True)}
        known.update(fresh)
        _write(store, fresh)
    return [known.get(key, (0, 0, False)) for key in keys]


def _blob(entry: tuple[int, str] | None) -> bytes:
    return bytes.fromhex(entry[1]) if entry is not None else _NO_BLOB


def _read(store: Store) -> dict[tuple[bytes, bytes], Numbers]:
    try:
        with open(os.path.join(store.dir, _CACHE), "rb") as file:
            data = file.read()
    except OSError:
        return {}
    whole = len(data) - len(data) % _RECORD.size
    return {
        (old, new): (None, None, True) if plus == _BINARY else (plus, minus, False)
        for old, new, plus, minus in _RECORD.iter_unpack(data[:whole])
    }


def _write(store: Store, fresh: Mapping[tuple[bytes, bytes], Numbers]) -> None:
    """Append to the cache. That it cannot be written is no failure: it is counted again."""
    data = b"".join(
        _RECORD.pack(*key, *((_BINARY, 0) if numbers[2] else (numbers[0] or 0, numbers[1] or 0)))
        for key, numbers in fresh.items()
    )
    path = os.path.join(store.dir, _CACHE)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(fd).st_size
            if size % _RECORD.size or size > _MOST * _RECORD.size:
                # A write was broken off: what follows would be read askew.
                os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)
    except OSError:
        return


def _count(store: Store, pairs: Sequence[Pair]) -> list[Numbers]:
    from takeback.engine.record.snapshot import git_entry

    old: dict[bytes, tuple[int, str]] = {}
    new: dict[bytes, tuple[int, str]] = {}
    for at, (before, after) in enumerate(pairs):
        name = b"%08d" % at
        for side, entries in ((before, old), (after, new)):
            entry = git_entry(side)
            if entry is not None:
                entries[name] = (0o100644, entry[1])
    out: list[Numbers] = [(0, 0, False)] * len(pairs)
    if not old and not new:
        return out
    with Scratch(store) as scratch:
        a, b = scratch.tree(old), scratch.tree(new)
        text = scratch.git.run("diff-tree", "-r", "-z", "--numstat", "--no-renames", a, b)
    for line in text.split(b"\0"):
        if line:
            plus, minus, name = line.split(b"\t")
            binary = plus == b"-"
            out[int(name)] = (None, None, True) if binary else (int(plus), int(minus), False)
    return out
