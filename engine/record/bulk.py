"""Reading many new files at once: hashing and compressing on two threads, storing on one.

Both release the interpreter's lock, so two threads halve the time of a first snapshot; more gain
nothing that was measured.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zlib
from collections.abc import Iterator, Sequence

from takeback.engine import work
from takeback.engine.store.objects import Objects, read_all

ABOVE = 200
_CHUNK = 64
_LARGEST = 4 << 20

Read = tuple[bytes, os.stat_result, str, bytes, int]


def _read(top: bytes, names: Sequence[bytes]) -> list[Read]:
    """Read, hash and compress files; those that are not plain, small and still are left out."""
    out: list[Read] = []
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    for name in names:
        try:
            fd = os.open(top + name, flags)
        except OSError:
            continue
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode) or before.st_size > _LARGEST:
                continue
            data = read_all(fd, before.st_size)
            after = os.fstat(fd)
        except OSError:
            continue
        finally:
            os.close(fd)
        same = before.st_mtime_ns == after.st_mtime_ns and before.st_ctime_ns == after.st_ctime_ns
        if not same or len(data) != before.st_size:
            continue
        digest = hashlib.sha1(b"blob %d\0" % len(data))
        digest.update(data)
        out.append((name, before, digest.hexdigest(), zlib.compress(data, 1), len(data)))
    return out


def read_many(
    objects: Objects, top: bytes, names: Sequence[bytes]
) -> Iterator[tuple[bytes, os.stat_result, str]]:
    """Keep many files; yields (path, stat, blob id) of those that could be read in one go."""
    from collections import deque
    from concurrent.futures import Future, ThreadPoolExecutor

    chunks = [names[at : at + _CHUNK] for at in range(0, len(names), _CHUNK)]
    waiting: deque[Future[list[Read]]] = deque()
    done = 0
    with ThreadPoolExecutor(2) as pool:
        try:
            for chunk in chunks:
                waiting.append(pool.submit(_read, top, chunk))
                if len(waiting) > 4:
                    yield from _store(objects, waiting.popleft().result())
                    done += _CHUNK
                    work.step("Reading files", done, len(names))
            while waiting:
                work.check()
                yield from _store(objects, waiting.popleft().result())
        except BaseException:
            # Nobody wants the rest: read no further.
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _store(objects: Objects, found: list[Read]) -> Iterator[tuple[bytes, os.stat_result, str]]:
    for name, st, oid, packed, size in found:
        objects.add_compressed(oid, "blob", packed, size)
        yield name, st, oid
