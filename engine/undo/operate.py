"""Carrying a plan out: the safety snapshot, the transaction, the log."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from takeback.engine.errors import ProjectChanged, TakebackError
from takeback.engine.model import EMPTY_TREE, Operation, Outcome, PathChange, Plan, same
from takeback.engine.record import images
from takeback.engine.record.snapshot import edit_tree, git_entry
from takeback.engine.store.objects import StoreError
from takeback.engine.undo import apply as transaction
from takeback.engine.undo import oplog
from takeback.engine.undo.ground import Ground
from takeback.engine.work import check, held

if TYPE_CHECKING:
    from takeback.engine.config import Config
    from takeback.engine.record.snapshot import Snapshotter
    from takeback.engine.store.store import Store


def operate(store: Store, config: Config, snapshots: Snapshotter, plan: Plan) -> Outcome:
    """Apply a plan: all of it, or nothing. Needs the store's lock.

    Raises:
        ProjectChanged: a target no longer holds what the plan was made from.
        TakebackError: something failed; nothing was changed, or the journal says how to go on.
        Cancelled: that was wanted before the first file was exchanged; nothing was changed.
    """
    snapshot = snapshots.take(full=True)
    ground = Ground(store, config, snapshots, (), (), fresh=snapshot.tree is not None)
    for entry in plan.writes:
        check()
        if not same(ground.now(entry.path), entry.expect):
            raise ProjectChanged(
                f"{os.fsdecode(entry.path)!r} changed since the plan was made. "
                "Nothing was changed.",
                "Run the command again to see the new plan.",
            )
    _prove(store, config, plan)
    operation = _safety(store, plan, snapshot.tree or EMPTY_TREE)

    def done(line: dict[str, Any]) -> None:
        # Within the time in which signals are held: what was written must be known as ours.
        oplog.append(store, line)
        snapshots.take(op=operation.id, own=oplog.written_by(operation))

    applied = transaction.apply(
        store.dir,
        store.root,
        operation.id,
        [transaction.Target(e.path, e.expect, e.want) for e in plan.writes],
        plan.dirs,
        store.objects,
        oplog.pack(store, operation),
        config.restore_mtime == "exact",
        done,
    )
    with held():
        store.objects.flush(durable=True)
    notes = [f"{os.fsdecode(path)!r}: {text}" for text, path in applied.notes]
    notes += [
        f"{os.fsdecode(path)!r} was written to meanwhile; those bytes are kept as {oid[:12]}."
        for path, oid in applied.late
    ]
    if plan.outputs_newer:
        notes.append("Build outputs may be newer than the files that were put back.")
    return Outcome(plan, operation.id, operation.before, tuple(notes))


@contextmanager
def as_sentence() -> Iterator[None]:
    """Say what the system refused before an operation began."""
    try:
        yield
    except OSError as error:
        name = error.filename
        shown = f": {os.fsdecode(name)!r}" if isinstance(name, (str, bytes)) and name else ""
        raise TakebackError(
            f"{error.strerror or error}{shown}. Nothing was changed.",
            "Check the free space and the permissions, then try again.",
        ) from error


def leave_alone(store: Store, plan: Plan) -> None:
    """Note that an undo met its target and left all of it alone: it no longer holds the walk."""
    if plan.kind != "undo" or not plan.targets or plan.conflicts or plan.reverses:
        return
    seq, _ = store.next_seq(durable=True)
    operation = Operation(
        f"op{seq}", "undo", plan.session, plan.target, time.time_ns(), (), "", "", "done",
        takes=plan.takes, targets=plan.targets, seq=seq, chosen=plan.chosen, met=plan.met,
    )  # fmt: skip
    oplog.append(store, oplog.pack(store, operation))


def _prove(store: Store, config: Config, plan: Plan) -> None:
    """Make sure that the store can give back every byte that is about to be replaced.

    A scan only knows that it wrote an object once; the disk may have lost it since.

    Raises:
        ProjectChanged, TakebackError: it cannot; nothing was changed.
    """
    for entry in plan.writes:
        check()
        if not entry.expect.has_content:
            continue
        try:
            store.objects.read(entry.expect.oid)
            continue
        except StoreError:
            store.objects.discard(entry.expect.oid)
        found = images.capture(store, config, entry.path, limited=False)
        if not same(found, entry.expect):
            raise ProjectChanged(
                f"{os.fsdecode(entry.path)!r} changed since the plan was made. "
                "Nothing was changed.",
                "Run the command again to see the new plan.",
            )
        store.objects.flush()
        store.objects.read(entry.expect.oid)


def _safety(store: Store, plan: Plan, tree: str) -> Operation:
    """Hold everything that the plan touches, durable, by refs; the operation to be."""
    objects = store.objects
    seq, _ = store.next_seq(durable=True)
    name = f"op{seq}"
    held = {e.path: git_entry(e.expect) for e in plan.entries if e.expect.kind != "unknown"}
    before = _edit(store, tree, held)
    after = _edit(store, before, {e.path: git_entry(e.want) for e in plan.writes})
    check()
    objects.flush(durable=True)
    needed = {e.expect.oid for e in plan.entries if e.expect.has_content}
    objects.make_durable(needed | {before, after})
    check()
    store.set_ref(f"op/{name}/safety", before, durable=True)
    store.set_ref(f"op/{name}/after", after, durable=True)
    return Operation(
        name,
        plan.kind,
        plan.session,
        plan.target,
        time.time_ns(),
        tuple(PathChange(e.path, e.expect, e.want) for e in plan.writes),
        before,
        after,
        "done",
        plan.dirs,
        plan.takes,
        plan.gives,
        plan.targets,
        plan.reverses,
        seq,
        tuple((e.path, e.source) for e in plan.writes if e.source),
        chosen=plan.chosen,
        met=plan.met,
    )


def _edit(store: Store, tree: str, changes: dict[bytes, tuple[int, str] | None]) -> str:
    """A tree with some paths set; removals first, so that a folder may become a file."""
    gone = {path: value for path, value in changes.items() if value is None}
    rest = {path: value for path, value in changes.items() if value is not None}
    base = edit_tree(store.objects, None if tree == EMPTY_TREE else tree, gone)
    result = edit_tree(store.objects, base, rest)
    if result is None:
        store.objects.write("tree", b"")
        return EMPTY_TREE
    return result
