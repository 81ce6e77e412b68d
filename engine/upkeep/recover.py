"""What every entry does before anything else: finish or roll back what a crash left.

`feed` is how all entries record (the hook included), so this module imports little; the transaction
is loaded only where a journal lies.
"""

from __future__ import annotations

import os

from takeback.engine.errors import TakebackError
from takeback.engine.record import recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.engine.config import Config
    from takeback.engine.facts import Event
    from takeback.engine.record.recorder import Begun
    from takeback.engine.record.snapshot import Snapshotter
    from takeback.engine.store.paths import Root
    from takeback.engine.store.store import Store

PACK_ABOVE = 1000
"""Loose objects, estimated, above which the end of a turn packs them (about 0.2 s)."""

WORDS = {
    "dropped": "An operation that was killed had changed nothing; it was dropped.",
    "forward": "An operation that was killed was finished.",
    "back": "An operation that was killed was rolled back.",
    "stuck": (
        "An operation that was killed can be neither finished nor rolled back: some of its "
        "files were changed since. Its journal is kept; see 'takeback doctor'."
    ),
}


def pending(store: Store) -> bool:
    """Whether an operation was killed in this project."""
    return any(name.startswith(b"journal-") for name in os.listdir(store.dir))


def recover(store: Store, snapshots: Snapshotter) -> str | None:
    """Finish or roll back an operation that was killed; the outcome, or None without one.

    Raises:
        TakebackError: it can be done neither way now; the journal is kept.
    """
    from takeback.engine.undo import apply as transaction
    from takeback.engine.undo import oplog

    with store.lock:
        store.sweep()
        found = transaction.recover(
            store.dir, store.root, store.objects, lambda line: oplog.append(store, line)
        )
        if found is None:
            return None
        store.objects.flush(durable=True)
        if found.record is not None:
            operation = oplog.unpack(store, found.record)
            snapshots.take(op=operation.id, own=oplog.written_by(operation))
    return found.outcome


def _first(store: Store, root: Root, config: Config) -> None:
    if pending(store):
        from takeback.engine.record.snapshot import Snapshotter

        recover(store, Snapshotter(store, config, root))


def feed(
    event: Event,
    data: bytes,
    wait_s: float = 30.0,
    notify: Callable[[str], None] | None = None,
) -> Begun | None:
    """Record one event, after recovery; see `recorder.feed`. Packs the store now and then."""
    opened: list[Store] = []

    def first(store: Store, root: Root, config: Config) -> None:
        opened.append(store)
        _first(store, root, config)

    begun = recorder.feed(event, data, wait_s, notify, first)
    if event.kind in ("end", "session-end"):
        for store in opened:
            _pack_when_grown(store)
    return begun


def _pack_when_grown(store: Store) -> None:
    """Pack loose objects once there are many, judged by one of their 256 folders, as git does."""
    try:
        sample = os.listdir(os.path.join(store.git_dir, b"objects/17"))
    except FileNotFoundError:
        return
    if len(sample) * 256 < PACK_ABOVE:
        return
    from takeback.engine.upkeep.prune import prune

    try:
        prune(store)
    except TakebackError:
        # The turn is recorded; the store is merely larger than it could be, and the next turn's
        # end tries again.
        return
