"""What an edit's tool itself read, where somebody wrote to the file while the call waited.

Agents ask for permission between the two looks at an edit call, and people edit meanwhile. What the
tool read tells their work from the agent's.
"""

from __future__ import annotations

from takeback.engine.facts import Event, FileState
from takeback.engine.frozen import changed
from takeback.engine.record import codec
from takeback.engine.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


def found(
    store: Store,
    event: Event,
    before: Any,
    after: dict[bytes, FileState],
    place: Callable[[Event], tuple[list[bytes], list[bytes]]],
) -> list[tuple[bytes, FileState]]:
    """The files of a call that were written to while it waited, as its tool read them.

    Args:
        before: for the call's files the blobs that stood there when it began.
        after: what its paths hold now.
        place: an event's paths within the project.
    """
    if event.failed or not isinstance(before, dict):
        return []
    old = {codec.raw(name): str(oid) for name, oid in before.items()}
    if event.found is not None and len(old) == 1:
        ((path, oid),) = old.items()
        told = _told(store, oid, event.found, after[path])
        if told is not None:
            return [(path, told)]
    if event.found is not None and not old and len(after) == 1:
        # Nothing stood there when the call began: somebody made the file meanwhile.
        ((path, made),) = after.items()
        if made.kind == "file":
            oid = store.objects.write("blob", event.found)
            return [(path, FileState("file", made.mode, oid))]
    read = []
    for name, pieces in event.swaps:
        for path in place(changed(event, paths=(name,)))[0]:
            state = after.get(path)
            if path not in old or state is None or state.kind != "file":
                continue
            data = unswapped(store.objects.read(state.oid), pieces)
            if data is not None and data != store.objects.read(old[path]):
                oid = store.objects.write("blob", data)
                read.append((path, FileState("file", state.mode, oid)))
    return read


def _told(store: Store, before: str, data: bytes, after: FileState) -> FileState | None:
    """What the agent says that its tool read, unless that is what stood there before.

    Tools hand over text with their own line endings, so these do not count as a difference.
    """
    old = store.objects.read(before)
    if _lines(old) == _lines(data) or after.kind != "file":
        return None
    try:
        old.decode("utf-8")
    except UnicodeDecodeError:
        # In another encoding; how the tool turned that into text is not known.
        return None
    if b"\r\n" in old and b"\r" not in data:
        data = data.replace(b"\n", b"\r\n")
    return FileState("file", after.mode, store.objects.write("blob", data))


def unswapped(data: bytes, pieces: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """A file as it was before pieces of it were replaced; None where that cannot be told."""
    for before, after in reversed(tuple(pieces)):
        if not after or data.count(after) != 1:
            return None
        data = data.replace(after, before)
    return data


def _lines(data: bytes) -> bytes:
    return data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
