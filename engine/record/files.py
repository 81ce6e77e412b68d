"""Reading one file into the store, so that what is kept is what stood there at one moment."""

from __future__ import annotations

import os
import stat

from takeback.engine.store.objects import Objects, StoreError


def signature(st: os.stat_result) -> tuple[int, ...]:
    """What changes in a stat when a file does."""
    return (st.st_mode, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_ino)


def read_blob(
    objects: Objects, path: bytes, st: os.stat_result
) -> tuple[str, os.stat_result, bool]:
    """Keep the bytes of a file, or the target of a link.

    Returns:
        The blob's id, the stat that belongs to it, and whether it was still while it was read.

    Raises:
        OSError: it cannot be read (any more).
        StoreError: it changed its size while it was read, three times over.
    """
    if stat.S_ISLNK(st.st_mode):
        return objects.write("blob", os.readlink(path)), st, True
    oid, after = "", st
    for _ in range(3):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            before = os.fstat(fd)
            if not stat.S_ISREG(before.st_mode):
                raise OSError(22, "Not a regular file any more")
            try:
                oid = objects.write_file(fd, before.st_size)
            except StoreError:
                continue
            after = os.fstat(fd)
        finally:
            os.close(fd)
        if signature(after) == signature(before):
            return oid, after, True
    if oid:
        return oid, after, False
    raise StoreError("A file kept changing while it was read.")
