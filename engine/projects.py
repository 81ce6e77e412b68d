"""Every project that something was recorded in, with its sessions, for one list of them all.

Only what was recorded is read: no project's folder is looked through, no lock is taken. A store
that cannot be read is named, and hides none of the others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from takeback.engine import work
from takeback.engine.model import Operation, Session
from takeback.engine.record import openturn
from takeback.engine.store.paths import has_git
from takeback.engine.store.store import Store
from takeback.engine.timeline import events, timeline
from takeback.engine.undo import oplog
from takeback.engine.upkeep.storage import folders, root_of

if TYPE_CHECKING:
    from takeback.engine.timeline.events import Log


@dataclass(frozen=True, slots=True)
class Known:
    """A project that something was recorded in.

    Attributes:
        root: its folder, or its store's where that is not known.
        there: whether that folder is there still.
        git: whether git knows it.
        sessions: oldest first, without numbers of lines.
        operations: those that changed something, oldest first.
        note: what is odd about it or why it cannot be read, in words, or "".
    """

    root: bytes
    there: bool
    git: bool
    sessions: tuple[Session, ...]
    operations: tuple[Operation, ...]
    note: str

    @property
    def last_ns(self) -> int:
        """The last sign of life of its sessions, or 0."""
        return max((t.last_event_ns for s in self.sessions for t in s.turns), default=0)


def known(data: bytes) -> tuple[Known, ...]:
    """Every project of a data folder, the one that was worked in last first.

    Raises:
        Cancelled: that was wanted (see `work.using`).
    """
    found = [_read(data, folder) for folder in work.watched("Reading projects", folders(data))]
    return tuple(sorted(found, key=lambda one: (-one.last_ns, one.root)))


def _read(data: bytes, folder: bytes) -> Known:
    root, note = root_of(folder)
    there = bool(root) and os.path.isdir(root)
    empty = Known(root or folder, there, there and has_git(root), (), (), note)
    if not root or note.startswith("format "):
        return empty
    store = Store(folder, root, data)
    try:
        sessions, operations, damaged = _sessions(store)
    except work.Cancelled:
        raise
    except Exception as error:  # Whatever it is, it concerns this one store.
        return replace(empty, note=f"cannot be read: {str(error).rstrip('.')}")
    finally:
        store.close()
    if damaged:
        lines = "1 line" if damaged == 1 else f"{damaged} lines"
        note = "; ".join(filter(None, (note, f"{lines} of its record cannot be read")))
    return replace(empty, sessions=sessions, operations=operations, note=note)


def _sessions(store: Store) -> tuple[tuple[Session, ...], tuple[Operation, ...], int]:
    """The sessions and operations of a store, and how many lines of it are damaged."""
    log: Log = events.read(store)
    damaged = list(log.damaged)
    operations = oplog.read(store, damaged)
    running = {turn.turn for turn in openturn.of_project(store.data, store.root)}
    sessions = timeline.build(store, log, operations, running)
    return sessions, tuple(o for o in operations if o.moves or o.dirs), len(damaged)
