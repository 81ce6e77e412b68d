"""The newest turns from the ends of the files: what a first look needs, however long they are.

It leaves out what began long before; the whole log, read a moment later, is what counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from takeback.engine.timeline import events
from takeback.engine.timeline.events import Log

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

_SESSIONS = 3
"""Ledger files that are looked into: those written last."""
_BLOCK = 1 << 16
_HEAD = 1 << 16


def newest(store: Store, turns: int) -> Log:
    """The last turns of the sessions that were written last, and the records of their time.

    Args:
        turns: how many turns of each session.

    Raises:
        StoreError: the ledger cannot be listed.
    """
    log = Log()
    names = sorted(store.ledger_names(), key=lambda name: _written(store, name), reverse=True)
    for name in names[:_SESSIONS]:
        lines = _session_lines(store.path(f"ledger/{name}"), turns)
        session = events.session_of(lines, name, _ignore)
        if session is not None:
            log.sessions.append(session)
    begun = [turn.begin.get("snap") for turn in log.turns]
    first = min((snap for snap in begun if isinstance(snap, int)), default=0)
    lines = _tail(store.path("snapshots.jsonl"), lambda found: _before(found, first))
    for line in lines:
        record = events.record_of(store, line) if line.get("seq", 0) > first else None
        if record is not None:
            log.records.append(record)
    events.settle(log)
    return log


def _written(store: Store, name: str) -> int:
    try:
        return os.stat(store.path(f"ledger/{name}")).st_mtime_ns
    except OSError:
        return 0


def _ignore(name: str, line: int) -> None:
    """Damage is reported by whoever reads everything."""


def _session_lines(path: bytes, turns: int) -> list[dict[str, Any]]:
    """The head of a session's file, and all of it from some turn's begin on."""
    found = _tail(path, lambda lines: sum(_is_begin(line) for line in lines) >= turns)
    begins = [at for at, line in enumerate(found) if _is_begin(line)]
    found = found[begins[-turns] :] if len(begins) >= turns else found
    return [*_head(path), *found]


def _is_begin(line: dict[str, Any]) -> bool:
    return line.get("e") == "begin"


def _before(lines: list[dict[str, Any]], seq: int) -> bool:
    first = lines[0].get("seq") if lines else None
    return isinstance(first, int) and first <= seq


def _head(path: bytes) -> list[dict[str, Any]]:
    """The lines that name a session: they stand at its file's beginning."""
    with open(path, "rb") as file:
        raw = file.read(_HEAD).split(b"\n")[:2]
    return [line for line in _parsed(raw) if line.get("e") in ("session", "title")]


def _tail(path: bytes, enough: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
    """The last lines of a file, block by block, until there are enough or there are no more."""
    found: list[dict[str, Any]] = []
    rest = b""
    try:
        with open(path, "rb") as file:
            at = file.seek(0, os.SEEK_END)
            size = _BLOCK
            while at > 0 and not enough(found):
                start = max(0, at - size)
                file.seek(start)
                raw = (file.read(at - start) + rest).split(b"\n")
                at = start
                # The first piece is the end of a line that begins before.
                rest = raw.pop(0) if at else b""
                found = [*_parsed(raw), *found]
                size *= 2
    except FileNotFoundError:
        return []
    return found


def _parsed(raw: list[bytes]) -> list[dict[str, Any]]:
    out = []
    for text in raw:
        try:
            line = json.loads(text) if text else None
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            out.append(line)
    return out
