"""Git's index file: the names in the user's (read only), and our own as a fast stat cache.

The user's index is parsed here instead of asking git, because git touches files of the user's
repository even when it only reads (it renews the time of a split index's shared part).
Format: gitformat-index(5).
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterable

_ENTRY = struct.Struct(">10I20sH")


class IndexUnreadable(Exception):
    """The user's index is damaged or of an unknown version."""


def tracked_names(git_dir: bytes) -> frozenset[bytes]:
    """The paths in a repository's index; a superset if it is split.

    Raises:
        IndexUnreadable: it cannot be parsed.
        OSError: it cannot be read; a missing index holds nothing.
    """
    try:
        with open(os.path.join(git_dir, b"index"), "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return frozenset()
    width = 32 if _is_sha256(git_dir) else 20
    names, rest = _parse(data, width)
    if data[rest : rest + 4] == b"link":
        shared = data[rest + 8 : rest + 8 + width].hex().encode()
        with open(os.path.join(git_dir, b"sharedindex." + shared), "rb") as file:
            names = names + _parse(file.read(), width)[0]
    return frozenset(name for name in names if name)


def _is_sha256(git_dir: bytes) -> bool:
    common = git_dir
    try:
        with open(os.path.join(git_dir, b"commondir"), "rb") as file:
            common = os.path.join(git_dir, file.read().strip())
    except OSError:
        pass
    try:
        with open(os.path.join(common, b"config"), "rb") as file:
            text = file.read().lower()
    except OSError:
        return False
    return b"objectformat" in text and b"sha256" in text


def _parse(data: bytes, width: int) -> tuple[list[bytes], int]:
    try:
        if data[:4] != b"DIRC":
            raise IndexUnreadable("not an index")
        version, count = struct.unpack_from(">II", data, 4)
        if version not in (2, 3, 4):
            raise IndexUnreadable(f"index version {version}")
        names: list[bytes] = []
        at, last = 12, b""
        fixed = 40 + width
        for _ in range(count):
            (flags,) = struct.unpack_from(">H", data, at + fixed)
            start = at + fixed + (4 if flags & 0x4000 else 2)
            if version == 4:
                strip, shift = data[start] & 0x7F, data[start]
                start += 1
                while shift & 0x80:
                    shift = data[start]
                    strip = ((strip + 1) << 7) | (shift & 0x7F)
                    start += 1
                end = data.index(b"\0", start)
                last = last[: len(last) - strip] + data[start:end]
                at = end + 1
            else:
                end = data.index(b"\0", start)
                last = data[start:end]
                at += (end - at + 8) & ~7
            names.append(last)
        return names, at
    except (struct.error, ValueError, IndexError) as error:
        raise IndexUnreadable("the index is cut short") from error


def format_index(entries: Iterable[tuple[bytes, os.stat_result | StatLike]]) -> bytes:
    """Our own index: a list of paths with their stat data, for ``git diff-files`` to compare.

    The ids in it are zero: nobody reads them. Entries must come sorted by path.
    """
    parts = []
    for path, st in entries:
        mode = 0o120000 if stat.S_ISLNK(st.st_mode) else 0o100644 | (0o111 & -(st.st_mode >> 6 & 1))
        ctime, mtime = divmod(st.st_ctime_ns, 10**9), divmod(st.st_mtime_ns, 10**9)
        size = len(path)
        parts.append(
            _ENTRY.pack(
                ctime[0] & 0xFFFFFFFF,
                ctime[1],
                mtime[0] & 0xFFFFFFFF,
                mtime[1],
                0,
                st.st_ino & 0xFFFFFFFF,
                mode,
                st.st_uid & 0xFFFFFFFF,
                st.st_gid & 0xFFFFFFFF,
                st.st_size & 0xFFFFFFFF,
                b"\1" * 20,
                min(size, 0xFFF),
            )
            + path
            + b"\0" * (8 - (62 + size) % 8)
        )
    body = b"DIRC" + struct.pack(">II", 2, len(parts)) + b"".join(parts)
    return body + hashlib.sha1(body).digest()


class StatLike:
    """The stat fields that an index entry keeps."""

    __slots__ = (
        "st_ctime_ns",
        "st_gid",
        "st_ino",
        "st_mode",
        "st_mtime_ns",
        "st_size",
        "st_uid",
    )

    def __init__(self, mode: int, size: int, mtime: int, ctime: int, ino: int, uid: int, gid: int):
        self.st_mode = mode
        self.st_size = size
        self.st_mtime_ns = mtime
        self.st_ctime_ns = ctime
        self.st_ino = ino
        self.st_uid = uid
        self.st_gid = gid
