"""The loose objects of a store, read piece by piece: none is ever held in memory as a whole."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Iterator

_FAN = re.compile(rb"[0-9a-f]{2}")
_REST = re.compile(rb"[0-9a-f]{38}")
_CHUNK = 1 << 20


def names(git_dir: bytes) -> Iterator[tuple[str, bytes]]:
    """The id and the file of every loose object."""
    base = os.path.join(git_dir, b"objects")
    for fan in _listed(base):
        if _FAN.fullmatch(fan):
            folder = os.path.join(base, fan)
            for rest in _listed(folder):
                if _REST.fullmatch(rest):
                    yield (fan + rest).decode(), os.path.join(folder, rest)


def path_of(git_dir: bytes, oid: str) -> bytes:
    """Where an object stands while it is loose."""
    return os.path.join(git_dir, b"objects", oid[:2].encode(), oid[2:].encode())


def check(path: bytes, oid: str) -> tuple[str, int] | None:
    """The kind and size of a loose object whose bytes are those that its id names.

    Returns:
        None if it is damaged.

    Raises:
        FileNotFoundError: there is no such file.
    """
    digest = hashlib.sha1()
    unpacker = zlib.decompressobj()
    head = b""
    seen = 0
    try:
        with open(path, "rb") as file:
            while not unpacker.eof:
                packed = unpacker.unconsumed_tail or file.read(_CHUNK)
                if not packed:
                    return None
                part = unpacker.decompress(packed, _CHUNK)
                digest.update(part)
                seen += len(part)
                if b"\0" not in head:
                    head += part[:64]
    except FileNotFoundError:
        raise
    except (OSError, zlib.error):
        return None
    kind, _, rest = head.partition(b" ")
    size, nul, _ = rest.partition(b"\0")
    if digest.hexdigest() != oid or not nul or not size.isdigit():
        return None
    if int(size) != seen - len(kind) - len(size) - 2:
        return None
    return kind.decode("ascii", "replace"), int(size)


def _listed(folder: bytes) -> list[bytes]:
    try:
        return sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
