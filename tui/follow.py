"""What a store's files look like from outside: whether something was recorded since."""

from __future__ import annotations

import os

Stamp = tuple[tuple[str, int, int], ...]


def stamp(store: bytes) -> Stamp:
    """Names, sizes and times of what a store's timeline is read of: changes with the record."""
    found = []
    for folder in (os.fsdecode(store), os.path.join(os.fsdecode(store), "ledger")):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        known = entry.stat()
                        found.append((entry.path, known.st_size, known.st_mtime_ns))
        except OSError:
            continue
    return tuple(sorted(found))
