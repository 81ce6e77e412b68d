"""The log of operations: what was taken back and put back, and what stands of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from takeback.engine.model import Operation
from takeback.engine.record import codec
from takeback.engine.store.objects import StoreError
from takeback.engine.work import check

if TYPE_CHECKING:
    from takeback.engine.store.store import Store

NAME = "operations.jsonl"


def pack(store: Store, operation: Operation) -> dict[str, Any]:
    """An operation as its line."""
    line = {
        "seq": operation.seq,
        "t": operation.at_ns,
        "id": operation.id,
        "kind": operation.kind,
        "session": operation.session,
        "target": operation.target,
        "moves": codec.put_list(store, codec.pack_changes(operation.moves)),
        "dirs": codec.put_list(store, codec.pack_dirs(operation.dirs)),
        "before": operation.before,
        "after": operation.after,
        "takes": codec.put_list(store, [[t, codec.text(p)] for t, p in operation.takes]),
        "gives": codec.put_list(store, [[t, codec.text(p)] for t, p in operation.gives]),
        "targets": list(operation.targets),
        "reverses": operation.reverses,
        "followed": codec.put_list(
            store, [[codec.text(p), codec.text(s)] for p, s in operation.followed]
        ),
        "chosen": codec.put_list(store, [codec.text(p) for p in operation.chosen]),
    }
    if operation.met is not None:
        line["met"] = codec.put_list(store, [[t, codec.text(p)] for t, p in operation.met])
    return line


def unpack(store: Store, line: dict[str, Any]) -> Operation:
    """The operation of a line.

    Raises:
        KeyError, ValueError, TypeError, StoreError: it is damaged.
    """
    return Operation(
        str(line["id"]),
        line["kind"],
        str(line.get("session", "")),
        str(line.get("target", "")),
        int(line["t"]),
        tuple(codec.unpack_changes(codec.get_list(store, line["moves"]))),
        str(line.get("before", "")),
        str(line.get("after", "")),
        "done",
        tuple(codec.unpack_dirs(codec.get_list(store, line.get("dirs", [])))),
        tuple((str(t), codec.raw(p)) for t, p in codec.get_list(store, line.get("takes", []))),
        tuple((str(t), codec.raw(p)) for t, p in codec.get_list(store, line.get("gives", []))),
        tuple(str(t) for t in line.get("targets", [])),
        str(line.get("reverses", "")),
        int(line["seq"]),
        tuple(
            (codec.raw(p), codec.raw(s)) for p, s in codec.get_list(store, line.get("followed", []))
        ),
        chosen=tuple(codec.raw(p) for p in codec.get_list(store, line.get("chosen", []))),
        met=tuple((str(t), codec.raw(p)) for t, p in codec.get_list(store, line["met"]))
        if "met" in line
        else None,
    )


def append(store: Store, line: dict[str, Any]) -> None:
    """Write an operation's line, once: recovery may come here a second time.

    Files were changed already: an operation is never left out because another has its name.
    """
    names = set()
    for known in store.lines(NAME):
        names.add(known.get("id"))
        if all(known.get(key) == line[key] for key in ("seq", "t", "kind")):
            return
    if line["id"] in names:
        line = {**line, "id": f"{line['id']}-{line['t']}"}
    store.append(NAME, line, durable=True)


def read(store: Store, damaged: list[tuple[str, int]] | None = None) -> tuple[Operation, ...]:
    """All operations, oldest first, each with the state it has by now."""
    found: dict[str, Operation] = {}

    def note(name: str, number: int) -> None:
        if damaged is not None:
            damaged.append((name, number))

    for line in store.lines(NAME, note):
        check()
        try:
            operation = unpack(store, line)
        except (KeyError, ValueError, TypeError, StoreError):
            note(NAME, 0)
            continue
        if operation.id in found:
            continue
        found[operation.id] = operation
        _reverse(found, operation)
    return tuple(sorted(found.values(), key=lambda o: o.seq))


def _reverse(found: dict[str, Operation], operation: Operation) -> None:
    """Note what an operation reversed, and what that made stand again, along the whole chain."""
    sources = dict(operation.followed)
    names = {sources.get(move.path, move.path) for move in operation.moves}
    # What was back already needed no move; it is reversed all the same.
    names.update(path for _, path in (*operation.takes, *operation.gives))
    back = True
    seen = {operation.id}
    other = found.get(operation.reverses)
    while other is not None and other.id not in seen:
        seen.add(other.id)
        known_as = dict(other.followed)
        met = {m.path for m in other.moves if known_as.get(m.path, m.path) in names}
        now = set(other.back) | met if back else set(other.back) - met
        whole = back and now.issuperset(m.path for m in other.moves)
        found[other.id] = replace(
            other, back=tuple(sorted(now)), state="undone" if whole else "done"
        )
        other = found.get(other.reverses)
        back = not back


def written_by(operation: Operation) -> frozenset[bytes]:
    """Every path and folder that an operation wrote: what changes there is nobody's change."""
    own = {move.path for move in operation.moves}
    own.update(item.path for item in operation.dirs)
    for move in operation.moves:
        at = move.path
        while at := at.rpartition(b"/")[0]:
            own.add(at)
    return frozenset(own)
