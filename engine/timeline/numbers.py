"""Lines added and removed, for many changes with one git process.

Nothing is written to the store: the two trees that are compared live in a folder of their own for
the moment, with the store's objects behind them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
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


def count(store: Store, pairs: Sequence[Pair]) -> list[tuple[int | None, int | None, bool]]:
    """Lines added, lines removed, and whether it is binary, for each pair of states.

    Raises:
        GitError: git failed, for example because the store lost an object.
    """
    from takeback.engine.record.snapshot import git_entry

    old: dict[bytes, tuple[int, str]] = {}
    new: dict[bytes, tuple[int, str]] = {}
    for at, (before, after) in enumerate(pairs):
        name = b"%08d" % at
        for side, entries in ((before, old), (after, new)):
            entry = git_entry(side)
            if entry is not None:
                entries[name] = (0o100644, entry[1])
    out: list[tuple[int | None, int | None, bool]] = [(0, 0, False)] * len(pairs)
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
