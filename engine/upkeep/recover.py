"""What every entry does before anything else: finish or roll back what a crash left.

`feed` is how all entries record (the hook included), so this module imports little; the transaction
is loaded only where a journal lies.
"""

from __future__ import annotations

import os

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
    return any(
        os.path.lexists(store.path(f"journal-{phase}"))
        for phase in ("intent", "commit", "applied", "stuck")
    )


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
    """Record one event, after recovery; see `recorder.feed`."""
    return recorder.feed(event, data, wait_s, notify, _first)
