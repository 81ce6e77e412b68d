"""States, paths and lists as JSON: compact, ASCII, and exact for names that are not UTF-8."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Sequence

from takeback.engine.facts import ABSENT, DirChange, FileState, NotCaptured, PathChange
from takeback.engine.store.objects import StoreError
from takeback.engine.work import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.engine.store.store import Store

_INLINE = 40
"""Longer lists go to a compressed file of their own, named by their content."""


def text(path: bytes) -> str:
    """A path as JSON text; bytes that are not UTF-8 become lone surrogates."""
    return path.decode("utf-8", "surrogateescape")


def raw(name: str) -> bytes:
    """The bytes of a path from JSON text.

    Raises:
        ValueError: it is no text.
    """
    if not isinstance(name, str):
        raise ValueError(f"no path: {name!r}")
    return os.fsencode(name) if name.isascii() else name.encode("utf-8", "surrogateescape")


def pack_state(state: FileState) -> Any:
    if state.kind == "absent":
        return 0
    if state.kind == "file":
        return [state.mode, state.oid, state.mtime_ns]
    if state.kind == "link":
        return ["l", state.oid, state.mtime_ns]
    if state.kind == "unknown":
        return "?" + state.reason
    return state.kind


def unpack_state(value: Any) -> FileState:
    """The state that `pack_state` wrote.

    Raises:
        ValueError: it is none.
    """
    if value == 0:
        return ABSENT
    if isinstance(value, list) and len(value) == 3:
        mode, oid, mtime = value
        if mode == "l":
            return FileState("link", 0, str(oid), int(mtime))
        return FileState("file", int(mode), str(oid), int(mtime))
    if isinstance(value, str) and value.startswith("?"):
        return FileState("unknown", reason=value[1:])
    if value in ("dir", "special"):
        return FileState(value)
    raise ValueError(f"no state: {value!r}")


def pack_changes(changes: Iterable[PathChange]) -> list[Any]:
    return [[text(c.path), pack_state(c.before), pack_state(c.after)] for c in changes]


def unpack_changes(value: Iterable[Any]) -> list[PathChange]:
    return [PathChange(raw(p), unpack_state(a), unpack_state(b)) for p, a, b in value]


def pack_dirs(dirs: Iterable[DirChange]) -> list[Any]:
    return [[text(d.path), d.before, d.after] for d in dirs]


def unpack_dirs(value: Iterable[Any]) -> list[DirChange]:
    return [DirChange(raw(p), a, b) for p, a, b in value]


def pack_missing(items: Iterable[NotCaptured]) -> list[Any]:
    return [[text(item.path), item.reason] for item in items]


def unpack_missing(value: Iterable[Any]) -> list[NotCaptured]:
    return [NotCaptured(raw(p), str(r)) for p, r in value]


def put_list(store: Store, items: Sequence[Any]) -> Any:
    """A list as it goes into a record: itself, or the name of the file that holds it."""
    if len(items) <= _INLINE:
        return list(items)
    import hashlib

    body = json.dumps(items, separators=(",", ":")).encode()
    name = "lists-" + hashlib.sha1(body).hexdigest()
    if not os.path.exists(store.path("ledger/" + name)):
        store.write("ledger/" + name, zlib.compress(body, 1))
    return name


def get_list(store: Store, value: Any) -> list[Any]:
    """The list behind a value of `put_list`.

    Raises:
        StoreError: its file is missing or damaged.
    """
    if isinstance(value, list):
        return value
    if not value:
        return []
    check()  # A long one.
    try:
        with open(store.path(f"ledger/{value}"), "rb") as file:
            items = json.loads(zlib.decompress(file.read()))
    except (OSError, ValueError, zlib.error) as error:
        raise StoreError(
            f"The file {value!r} of the store is missing or damaged. Nothing was changed.",
            "Run 'takeback verify' to see what is affected.",
        ) from error
    return items if isinstance(items, list) else []
