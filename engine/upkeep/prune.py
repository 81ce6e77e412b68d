"""Cleaning up without forgetting: temporary files go, loose objects move into packs.

Nothing that anybody could still ask for is removed. A loose object is unlinked only after the pack
that holds it was written, flushed to the disk, read back whole, put in place, and flushed again; a
kill at any point leaves at worst both copies. Work is done in batches with the lock released in
between, so that the hooks of a running agent get their turn.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from takeback.engine.store.objects import Objects, StoreError, sync_path, write_pack
from takeback.engine.upkeep import loose

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

FLOOR = 64 << 20
"""Free bytes that stay free: nothing is packed on a disk that is about to be full."""

_WORTH = 50
_BATCH_OBJECTS = 1500
_BATCH_BYTES = 24 << 20
_LARGE = 8 << 20
_YOUNG_S = 3600
_PAUSE_S = 0.06
"""Whoever waits for the lock looks again within this time."""
_NEW = re.compile(rb".*\.new-\d+")


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What was cleaned up, or would be.

    Attributes:
        temporary: files that killed writers left.
        packed: loose objects that moved into packs; ``loose``: those that stay as they are.
        freed: bytes on the disk that this gave back; 0 in a dry run, where it is not known.
        damaged: loose objects whose bytes are not those that their names say, left alone.
        stopped: why it ended early, in words, or "".
    """

    dry_run: bool
    temporary: int
    packed: int
    loose: int
    freed: int
    damaged: tuple[str, ...]
    stopped: str = ""


def free_bytes(folder: bytes) -> int:
    """What an ordinary user may still write to the file system of a folder."""
    st = os.statvfs(folder)
    return st.f_bavail * st.f_frsize


def prune(store: Store, dry_run: bool = False) -> PruneReport:
    """Sweep temporary files and pack loose objects. Drops no turn and no object.

    Args:
        dry_run: only say what would be done.

    Raises:
        StoreError: the store cannot be written; nothing was lost.
        StoreBusy: another process held the store for too long.
    """
    if dry_run:
        sound, damaged = _sort(store)
        found = sum(1 for _ in _temporary(store))
        stopped = _short(store) if len(sound) >= _WORTH else ""
        packed = len(sound) if len(sound) >= _WORTH and not stopped else 0
        left = _count(store) - packed
        return PruneReport(True, found, packed, left, 0, tuple(damaged), stopped)
    try:
        return _prune(store)
    except OSError as error:
        raise StoreError(
            f"Cleaning up stopped: {error.strerror or error}. Nothing was lost.",
            "Check the free space and the permissions of the data folder.",
        ) from error


def _prune(store: Store) -> PruneReport:
    with store.lock:
        # Files that this process may still have to flush are about to move.
        store.objects.flush(durable=True)
        temporary = 0
        for path in list(_temporary(store)):
            temporary += 1
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)
        store.sweep()
    sound, damaged = _sort(store)
    packed = freed = 0
    stopped = ""
    if len(sound) >= _WORTH:
        while sound and not stopped:
            if packed:
                time.sleep(_PAUSE_S)
            with store.lock:
                stopped = _short(store)
                if not stopped:
                    done, saved, bad = _batch(store, sound)
                    packed, freed = packed + done, freed + saved
                    damaged.extend(bad)
        # What this process knew of the packs is no longer so.
        store.objects.close()
        store.objects = Objects(store.git_dir, store.temp)
    return PruneReport(
        False, temporary, packed, _count(store), max(freed, 0), tuple(sorted(damaged)), stopped
    )


def _short(store: Store) -> str:
    """Why the disk is too full to write packs, or ""."""
    free = free_bytes(store.dir)
    if free >= FLOOR + 2 * _BATCH_BYTES:
        return ""
    return f"Only {free >> 20} MiB are free on the disk, so nothing more was packed"


def _temporary(store: Store) -> Iterator[bytes]:
    """Every file that a killed writer left. Only the holder of the lock may remove them."""
    for name in _listed(store.temp):
        yield os.path.join(store.temp, name)
    packs = os.path.join(store.git_dir, b"objects/pack")
    names = set(_listed(packs))
    for name in sorted(names):
        lone = name.endswith(b".idx") and name[:-4] + b".pack" not in names
        if name.startswith((b"tmp_", b".tmp-")) or lone:
            yield os.path.join(packs, name)
    base = os.path.join(store.git_dir, b"objects")
    for fan in _listed(base):
        if len(fan) == 2:
            for name in _listed(os.path.join(base, fan)):
                if name.startswith(b"tmp_obj_"):
                    yield os.path.join(base, fan, name)
    # These folders are written by other projects' processes too: only what is old is dead.
    before = time.time() - _YOUNG_S
    for folder in (store.dir, store.data, os.path.join(store.data, b"open")):
        for name in _listed(folder):
            path = os.path.join(folder, name)
            if _NEW.fullmatch(name):
                try:
                    if os.lstat(path).st_mtime < before:
                        yield path
                except FileNotFoundError:
                    continue


def _sort(store: Store) -> tuple[list[str], list[str]]:
    """Loose objects that can be packed, and those that are damaged.

    Large ones stay: a file of their own is no waste. So do those shared with another repository.
    """
    sound: list[str] = []
    damaged: list[str] = []
    for oid, path in loose.names(store.git_dir):
        try:
            st = os.stat(path)
            found = loose.check(path, oid)
        except FileNotFoundError:
            continue
        if found is None:
            damaged.append(oid)
        elif found[0] in ("blob", "tree", "commit") and found[1] <= _LARGE and st.st_nlink == 1:
            sound.append(oid)
    return sound, damaged


def _count(store: Store) -> int:
    return sum(1 for _ in loose.names(store.git_dir))


def _batch(store: Store, waiting: list[str]) -> tuple[int, int, list[str]]:
    """Pack the first of the waiting objects and take them off the list."""
    objects: dict[str, tuple[str, bytes, int]] = {}
    damaged: list[str] = []
    held = before = 0
    while waiting and len(objects) < _BATCH_OBJECTS and held < _BATCH_BYTES:
        oid = waiting.pop()
        path = loose.path_of(store.git_dir, oid)
        try:
            with open(path, "rb") as file:
                data = zlib.decompressobj().decompress(file.read(), _LARGE + 64)
        except FileNotFoundError:
            continue
        except (OSError, zlib.error):
            data = b""
        if hashlib.sha1(data).hexdigest() != oid:
            damaged.append(oid)
            continue
        kind, _, rest = data.partition(b" ")
        body = rest[rest.index(b"\0") + 1 :]
        packed = zlib.compress(body, 6)
        objects[oid] = (kind.decode(), packed, len(body))
        held += len(packed)
        before += os.lstat(path).st_blocks * 512
    if not objects:
        return 0, 0, damaged
    after = _write(store, objects)
    for oid in objects:
        os.unlink(loose.path_of(store.git_dir, oid))
    for fan in {oid[:2].encode() for oid in objects}:
        try:
            os.rmdir(os.path.join(store.git_dir, b"objects", fan))
        except OSError:
            continue
    return len(objects), before - after, damaged


def _write(store: Store, objects: dict[str, tuple[str, bytes, int]]) -> int:
    """Put a proven pack of these objects in its place; its bytes on the disk."""
    scratch = os.path.join(store.temp, b"prune-%d" % os.getpid())
    folder = os.path.join(scratch, b"objects/pack")
    os.makedirs(folder, 0o700)
    target = os.path.join(store.git_dir, b"objects/pack")
    try:
        made = write_pack(folder, store.temp, objects)
        for path in made:
            sync_path(path)
        proof = Objects(scratch, store.temp)
        try:
            for oid in objects:
                proof.read(oid)
        finally:
            proof.close()
        size = 0
        for path in made:
            size += os.lstat(path).st_blocks * 512
            os.rename(path, os.path.join(target, os.path.basename(path)))
        sync_path(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return size


def _listed(folder: bytes) -> list[bytes]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
