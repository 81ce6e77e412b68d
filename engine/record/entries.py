"""What a scan notes of one path: the stat and the bytes of a moment."""

from __future__ import annotations

import os

from takeback.engine.facts import ABSENT, FileState
from takeback.engine.record.files import read_blob
from takeback.engine.record.scanstate import Entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.engine.store.objects import Objects

RACY_NS = 20_000_000
"""Two changes within one tick of the kernel's clock (at most 10 ms) may have the same times. The
ctime alone counts: a program can put back the mtime, and every change renews the ctime."""


def read_entry(objects: Objects, path: bytes, st: os.stat_result, now_ns: int) -> Entry:
    """Read a file or link into the store; see `files.read_blob` for errors."""
    oid, st, still = read_blob(objects, path, st)
    return entry_of(st, oid, now_ns if still else 0)


def entry_of(st: os.stat_result, oid: str, now_ns: int) -> Entry:
    """The entry of a file that was read; one written a moment ago is looked at again."""
    young = st.st_ctime_ns > now_ns - RACY_NS
    return Entry(
        st.st_mode,
        st.st_size,
        st.st_mtime_ns,
        0 if young else st.st_ctime_ns,
        st.st_ino,
        st.st_uid,
        st.st_gid,
        oid,
    )


def exists_unseen(full: bytes) -> FileState:
    """What to say of a path that a scan passed over: absent, or there and not looked at."""
    try:
        os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except OSError:
        return FileState("unknown", reason="unreadable")
    return FileState("unknown", reason="ignored")
