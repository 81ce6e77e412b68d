"""Three-way merges of contents, by git, on bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from takeback.engine.store.git import Git

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

Merge = Callable[[str, str, str], "str | None"]
"""(base, ours, theirs) blob ids to the merged blob's id, or None where they overlap."""

_SNIFF = 8000
_LARGEST = 32 << 20


def is_binary(data: bytes) -> bool:
    """As git decides: a NUL among the first 8,000 bytes."""
    return b"\0" in data[:_SNIFF]


def merger(store: Store) -> Merge:
    """A merge function that keeps its results in the store. Results are remembered."""
    known: dict[tuple[str, str, str], str | None] = {}

    def merge(base: str, ours: str, theirs: str) -> str | None:
        key = (base, ours, theirs)
        if key not in known:
            known[key] = _merge(store, *key)
        return known[key]

    return merge


def _merge(store: Store, base: str, ours: str, theirs: str) -> str | None:
    texts = [store.objects.read(oid) for oid in (ours, base, theirs)]
    if any(is_binary(data) or len(data) > _LARGEST for data in texts):
        return None
    names = []
    for label, data in zip((b"ours", b"base", b"theirs"), texts, strict=True):
        name = os.path.join(store.temp, b"merge-" + label)
        with open(name, "wb") as file:
            file.write(data)
        names.append(name)
    # The exit code is the number of conflicts, up to 127; above that git failed.
    counts = tuple(range(128))
    git = Git(store.git_dir)
    from takeback.engine.store.git import finish

    try:
        process = git.start("merge-file", "-p", "-q", *names)
        out = finish(process, ok=counts)
    finally:
        for name in names:
            os.unlink(name)
    clean = process.returncode == 0
    if not clean:
        return None
    oid = store.objects.write("blob", out)
    return oid
