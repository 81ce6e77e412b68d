"""How much disk the stores use, project by project. Reads only, and needs no lock."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from takeback.engine.store.store import FORMAT, timestamp

if TYPE_CHECKING:
    from takeback.engine.config import Config

_LONGEST_LINE = 16 << 20


@dataclass(frozen=True, slots=True)
class ProjectUse:
    """What the store of one project holds and takes.

    Attributes:
        root: the project's folder, or the store's own where that is not known.
        size: bytes on the disk.
        oldest: when its first snapshot was taken, ISO 8601, or None.
        note: what is odd about it, in words, or "".
    """

    root: bytes
    sessions: int
    snapshots: int
    size: int
    oldest: str | None
    note: str


@dataclass(frozen=True, slots=True)
class StorageReport:
    """The disk use of all projects together, and the limit for it."""

    size: int
    cap: int
    projects: tuple[ProjectUse, ...]


def storage(data: bytes, config: Config) -> StorageReport:
    """Measure the data folder.

    Args:
        config: the user's settings; the limit over all projects is taken from it.
    """
    seen: set[tuple[int, int]] = set()
    base = os.path.join(data, b"projects")
    projects = [_project(folder, seen) for folder in folders(data)]
    total = sum(one.size for one in projects) + _use(data, seen, skip=base)
    projects.sort(key=lambda one: (-one.size, one.root))
    return StorageReport(total, config.max_disk_mb_total << 20, tuple(projects))


def folders(data: bytes) -> list[bytes]:
    """The stores of a data folder."""
    base = os.path.join(data, b"projects")
    found = [os.path.join(base, name) for name in _listed(base)]
    return [path for path in found if os.path.isdir(path) and not os.path.islink(path)]


def roots(data: bytes) -> list[tuple[bytes, str]]:
    """The folder of each project and what is odd about it, without a measure of its store.

    Where a store does not say whose it is, its own folder stands instead.
    """
    found = [(folder, *root_of(folder)) for folder in folders(data)]
    return sorted((root or folder, note) for folder, root, note in found)


def _project(folder: bytes, seen: set[tuple[int, int]]) -> ProjectUse:
    root, note = root_of(folder)
    sessions = sum(n.endswith(b".jsonl") for n in _listed(os.path.join(folder, b"ledger")))
    count, oldest = _snapshots(os.path.join(folder, b"snapshots.jsonl"))
    return ProjectUse(root or folder, sessions, count, _use(folder, seen), oldest, note)


def root_of(folder: bytes) -> tuple[bytes, str]:
    """The project's folder as its store names it, and what is odd about it."""
    try:
        with open(os.path.join(folder, b"project.json"), "rb") as file:
            info = json.loads(file.read())
        root, found = os.fsencode(info["root"]), info["format"]
    except FileNotFoundError:
        return b"", "no project.json: the store was never finished"
    except OSError as error:
        return b"", f"project.json cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return b"", "project.json is damaged"
    if not isinstance(found, int) or found > FORMAT:
        return root, f"format {found}: a newer takeback wrote it"
    try:
        there = stat.S_ISDIR(os.stat(root).st_mode)
    except FileNotFoundError:
        return root, "the folder is gone"
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "its name is no path"
        return root, f"the folder cannot be reached: {said}"
    return root, "" if there else "it is no folder any more"


def _snapshots(path: bytes) -> tuple[int, str | None]:
    """The number of snapshot records and the time of the first; without holding the file."""
    count, oldest = 0, None
    try:
        with open(path, "rb") as file:
            while line := file.readline(_LONGEST_LINE):
                if not line.strip():
                    continue
                if oldest is None:
                    oldest = _time(line)
                if line.endswith(b"\n"):
                    count += 1
    except OSError:
        pass
    return count, oldest


def _time(line: bytes) -> str | None:
    try:
        at = json.loads(line)["t"]
        return timestamp(at) if isinstance(at, int) and at > 0 else None
    except (ValueError, KeyError, TypeError, OverflowError, OSError, RecursionError):
        return None


def _use(folder: bytes, seen: set[tuple[int, int]], skip: bytes = b"") -> int:
    """Bytes on the disk below a folder; a file with several names counts once."""
    total = 0
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        total += _own(at, seen)
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    if entry.path == skip:
                        total += _own(skip, seen)
                    elif entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        total += _own(entry.path, seen)
        except OSError:
            continue
    return total


def _own(path: bytes, seen: set[tuple[int, int]]) -> int:
    try:
        st = os.lstat(path)
    except OSError:
        return 0
    if st.st_nlink > 1 and not stat.S_ISDIR(st.st_mode):
        key = (st.st_dev, st.st_ino)
        if key in seen:
            return 0
        seen.add(key)
    return st.st_blocks * 512


def _listed(folder: bytes) -> list[bytes]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
