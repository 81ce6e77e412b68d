"""Turns as they happen: each event of an agent becomes snapshots, kept versions, a ledger line.

Order within an event: objects on disk, then the ref that holds them, then the ledger line that
names them. A kill in between loses at most the line.
"""

from __future__ import annotations

import os
import time

from takeback.engine.errors import TakebackError, UsageError
from takeback.engine.facts import Event, FileState, NotCaptured
from takeback.engine.frozen import Frozen
from takeback.engine.record import codec, images, openturn, toolread
from takeback.engine.record.openturn import OpenTurn
from takeback.engine.store import paths
from takeback.engine.store.objects import format_tree
from takeback.engine.store.store import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from takeback.engine.config import Config
    from takeback.engine.record.snapshot import Snapshot, Snapshotter

_SHARD = 48


class Begun(Frozen):
    """The answer to a begin: what the turn's first snapshot holds, and why it failed if it did."""

    turn: str
    n: int
    complete: bool
    not_captured: tuple[NotCaptured, ...]
    error: str = ""


def _clean(text: str) -> str:
    """Text as JSON can hold it, without NUL."""
    return text.replace("\0", "\\0")


def feed(
    event: Event,
    data: bytes,
    wait_s: float = 30.0,
    notify: Callable[[str], None] | None = None,
    first: Callable[[Store, paths.Root, Config], None] | None = None,
) -> Begun | None:
    """Record one event.

    Args:
        data: the data folder.
        wait_s: how long to wait for the store's lock.
        first: called under the lock before anything is recorded.

    Returns:
        For a begin: what it yielded.

    Raises:
        UsageError: the folder is none, or no turn may be recorded there.
        TakebackError: the store cannot be used; nothing was recorded.
    """
    from takeback.engine.config import load as load_config

    config = load_config(None, data, forgiving=True)
    root = _root_of(event, data, config)
    if root is None:
        return None
    config = load_config(root.path, data, forgiving=True)
    store = Store.open(root.path, data, create=True)
    assert store is not None
    store.lock.wait_s, store.lock.notify = wait_s, notify
    try:
        with store.lock:
            if first is not None:
                first(store, root, config)
            return Recorder(store, config, root).handle(event)
    except OSError as error:
        shown = f": {os.fsdecode(error.filename)!r}" if error.filename else ""
        raise TakebackError(
            f"The event may not be recorded whole: {error.strerror or error}{shown}.",
            "Check the free space and the permissions of the data folder, then report it again.",
        ) from error
    finally:
        store.close()


def _root_of(event: Event, data: bytes, config: Config) -> paths.Root | None:
    """The project an event belongs to: its session's open turn says, wherever the agent went.

    Returns:
        None for the end of a turn that is not open.
    """
    known = openturn.load(data, event.session)
    if known is None and event.kind in ("end", "session-end"):
        return None
    try:
        here = paths.find_root(event.folder, data, config.allow_root)
    except UsageError:
        if known is None:
            raise
    else:
        if known is not None and openturn.load(data, event.session, here.path) is not None:
            return here
        # Another process that uses the same session id elsewhere has a turn of its own.
        same_agent = known is not None and known.pid != 0 and known.pid == event.pid
        if known is None or (event.kind == "begin" and not same_agent):
            if here.refused:
                raise UsageError(
                    f"Nothing is recorded here: {here.refused}.",
                    "Work in a folder below it, or name it in allow_root.",
                )
            return here
    path = os.fsencode(known.root)
    return paths.Root(path, os.path.join(path, b".git") if paths.has_git(path) else None, "")


def mark_failure(data: bytes, session: str, text: str) -> None:
    """Note in a session's open turn that an event of it was lost: its capture is incomplete.

    Raises:
        TakebackError, OSError: the note cannot be written either.
    """
    turn = openturn.load(data, session)
    if turn is None:
        return
    store = Store.open(os.fsencode(turn.root), data)
    if store is None:
        return
    store.lock.wait_s = 1.0
    with store.lock:
        record = {"seq": store.next_seq()[0], "t": time.time_ns(), "e": "note"}
        name = paths.key_of(session.encode("utf-8", "surrogateescape"))
        store.append(f"ledger/{name}.jsonl", {**record, "turn": turn.turn, "text": _clean(text)})


class Recorder:
    """Records the events of one project. Every call needs the store's lock."""

    def __init__(
        self, store: Store, config: Config, root: paths.Root, snapshotter: Snapshotter | None = None
    ) -> None:
        self._store = store
        self._config = config
        self._root = root
        self._snapshots = snapshotter

    @property
    def snapshots(self) -> Snapshotter:
        """Loaded when an event needs a scan: most do not, and agents wait for each."""
        if self._snapshots is None:
            from takeback.engine.record.snapshot import Snapshotter

            self._snapshots = Snapshotter(self._store, self._config, self._root)
        return self._snapshots

    def handle(self, event: Event) -> Begun | None:
        """Record one event; see `feed`."""
        self._store.sweep()
        turn = openturn.load(self._store.data, event.session, self._store.root)
        if event.kind == "begin":
            return self._begin(event, turn)
        if event.kind in ("end", "session-end"):
            if turn is not None:
                self._end(turn, event)
            return None
        if turn is None:
            if event.kind == "tool-end" and self._ended_before(event):
                return None
            self._begin(event, turn, missing=True)
            turn = openturn.load(self._store.data, event.session, self._store.root)
        assert turn is not None
        if event.kind == "tool-begin":
            self._tool_begin(turn, event)
        elif event.kind == "tool-end":
            self._tool_end(turn, event)
        else:
            self._step(turn, event)
        return None

    # --- Turns -------------------------------------------------------------------------------

    def _begin(self, event: Event, turn: OpenTurn | None, missing: bool = False) -> Begun:
        if turn is not None and event.continues:
            if turn.ended:
                turn.ended = False
                self._line(turn.session, {"e": "resumed", "turn": turn.turn})
            turn.key = event.key or turn.key
            self._touch(turn)
            return Begun(turn.turn, turn.n, True, ())
        if turn is not None and event.kind == "begin" and event.key and event.key == turn.key:
            self._line(
                turn.session, {"e": "prompt", "turn": turn.turn, "text": _clean(event.prompt)}
            )
            return Begun(turn.turn, turn.n, True, ())
        self.close_gone()
        turn = openturn.load(self._store.data, event.session, self._store.root)
        snapshot = self.snapshots.take(full=True)
        if turn is not None:
            self._close(turn, snapshot, interrupted=not turn.ended, late=True)
        elif next(self._store.lines(self._ledger_name(event.session)), None) is None:
            self._line(event.session, {"e": "session", "id": event.session, "agent": event.agent})
        if event.title:
            self._line(event.session, {"e": "title", "text": _clean(event.title)})
        seq, n = self._store.next_seq(turn=True)
        name = f"t{n}-{paths.key_of(event.session.encode('utf-8', 'surrogateescape'))[:8]}"
        start = openturn.process_start(event.pid) if event.pid else ""
        new = OpenTurn(
            event.session,
            os.fsdecode(self._store.root),
            name,
            n,
            event.agent,
            event.key,
            event.pid if start else 0,
            start,
            time.time_ns(),
            transcript=event.transcript,
        )
        if snapshot.tree is not None:
            self._store.set_ref(f"{self._refs(new)}/before", snapshot.tree)
        record = {
            "e": "begin",
            "seq": seq,
            "n": n,
            "turn": name,
            "agent": event.agent,
            "prompt": _clean(event.prompt),
            "pid": bool(new.pid),
            **self._capture(snapshot),
        }
        if missing:
            record["missing"] = True
        if event.key:
            record["key"] = _clean(event.key)
        outer = os.environ.get("TAKEBACK_RUN", "")
        if outer and outer != name:
            record["run"] = _clean(outer)
        # The line first: a turn without its open file is read as interrupted, never as running.
        self._line(event.session, record)
        openturn.save(self._store.data, new)
        return Begun(
            name,
            n,
            snapshot.complete and snapshot.tree is not None and not missing,
            snapshot.not_captured,
            snapshot.error,
        )

    def _capture(self, snapshot: Snapshot) -> dict[str, Any]:
        return {
            "snap": snapshot.seq,
            "tree": snapshot.tree,
            "nc": codec.put_list(self._store, codec.pack_missing(snapshot.not_captured)),
            **({"why": snapshot.error} if snapshot.error else {}),
        }

    def _end(self, turn: OpenTurn, event: Event) -> None:
        if event.text:
            self._step(turn, event)
        if event.kind == "end" and event.background:
            if not turn.ended:
                turn.ended = True
                self._touch(turn)
                self._line(turn.session, {"e": "background", "turn": turn.turn})
            return
        snapshot = self.snapshots.take(full=True)
        interrupted = event.interrupted or (event.kind == "session-end" and not turn.ended)
        self._close(turn, snapshot, interrupted, late=False)
        self.snapshots.renew()

    def _close(self, turn: OpenTurn, snapshot: Snapshot, interrupted: bool, late: bool) -> None:
        if snapshot.tree is not None:
            self._store.set_ref(f"{self._refs(turn)}/after", snapshot.tree)
        self._line(
            turn.session,
            {
                "e": "end",
                "turn": turn.turn,
                "interrupted": interrupted,
                "late": late,
                **self._capture(snapshot),
            },
        )
        openturn.remove(self._store.data, turn.session, self._store.root)

    def close_gone(self, stopped: Collection[str] = ()) -> list[str]:
        """Close, as interrupted, every open turn whose process is gone; the turns closed.

        Args:
            stopped: turns whose agent noted an interrupt: these, too.
        """
        gone = [
            turn
            for turn in openturn.of_project(self._store.data, self._store.root)
            if turn.turn in stopped or openturn.is_gone(turn)
        ]
        if gone:
            snapshot = self.snapshots.take(full=True)
            for turn in gone:
                self._close(turn, snapshot, interrupted=not turn.ended, late=True)
        return [turn.turn for turn in gone]

    def close_now(self, session: str) -> None:
        """Close a session's open turn as interrupted because the user asked for it now."""
        turn = openturn.load(self._store.data, session, self._store.root)
        if turn is not None:
            self._close(turn, self.snapshots.take(full=True), interrupted=True, late=False)

    # --- Calls -------------------------------------------------------------------------------

    def _tool_begin(self, turn: OpenTurn, event: Event, missing: bool = False) -> None:
        if event.call in turn.calls:
            return
        kind = event.call_kind or "shell"
        inside, outside = self._place(event)
        number = len(turn.calls) + 1
        record: dict[str, Any] = {
            "e": "call",
            "turn": turn.turn,
            "call": event.call,
            "tool": _clean(event.tool),
            "kind": kind,
            "paths": [codec.text(path) for path in inside + outside],
            "cmd": _clean(event.command),
            **({"missing": True} if missing else {}),
        }
        if kind == "edit" and inside:
            states = [(p, self._image(p)) for p in inside]
            made = {p: images.missing_parents(self._store.root, p) for p in inside}
            self._keep(turn, f"{number:06}-pre", states)
            record["pre"] = [
                [codec.text(p), codec.pack_state(s), [codec.text(d) for d in made[p]]]
                for p, s in states
            ]
        elif kind != "other" and not (kind == "edit" and outside):
            snapshot = self.snapshots.take()
            self._keep_tree(turn, f"{number:06}-pre", snapshot)
            record["snap"] = snapshot.seq
            record["tree"] = snapshot.tree
        turn.calls[event.call] = [number, kind, [codec.text(p) for p in inside], "running"]
        if kind == "edit" and inside:
            files = {codec.text(p): s.oid for p, s in states if s.kind == "file"}
            turn.calls[event.call].append(files)
        # The line first: without it the open turn must not claim to know the call.
        self._line(turn.session, record)
        self._touch(turn)

    def _tool_end(self, turn: OpenTurn, event: Event) -> None:
        known = turn.calls.get(event.call)
        if known is None:
            self._tool_begin(turn, event, missing=True)
            known = turn.calls[event.call]
        number, kind, names, state = known[:4]
        if state != "running":
            return
        record: dict[str, Any] = {
            "e": "done",
            "turn": turn.turn,
            "call": event.call,
            "failed": event.failed,
        }
        if kind == "edit" and names:
            states = [(p, self._image(p)) for p in map(codec.raw, names)]
            self._keep(turn, f"{number:06}-post", states)
            record["post"] = [[codec.text(p), codec.pack_state(s)] for p, s in states]
            read: list[tuple[bytes, FileState]] = []
            if len(known) == 5:
                read = toolread.found(self._store, event, known[4], dict(states), self._place)
            if read:
                self._keep(turn, f"{number:06}-found", read)
                record["found"] = [[codec.text(p), codec.pack_state(s)] for p, s in read]
        elif kind == "shell" or (kind == "edit" and not event.paths):
            snapshot = self.snapshots.take()
            self._keep_tree(turn, f"{number:06}-post", snapshot)
            record["snap"] = snapshot.seq
            record["tree"] = snapshot.tree
        known[3] = "done"
        self._line(turn.session, record)
        self._touch(turn)

    def _image(self, path: bytes) -> FileState:
        """What stands at a path of an edit call, kept unless capture is switched off."""
        if not self._config.snapshots:
            return FileState("unknown", reason="failed")
        return images.capture(self._store, self._config, path)

    def _step(self, turn: OpenTurn, event: Event) -> None:
        turn.steps += 1
        self._line(turn.session, {"e": "step", "turn": turn.turn, "text": _clean(event.text)})
        self._touch(turn)

    def _ended_before(self, event: Event) -> bool:
        """Whether a call belongs to a turn of the session that is closed: its end says nothing."""
        name = self._ledger_name(event.session)
        return any(
            line.get("e") == "call" and line.get("call") == event.call
            for line in self._store.lines(name)
        )

    def _place(self, event: Event) -> tuple[list[bytes], list[bytes]]:
        """The call's paths inside the project (relative) and outside it (absolute)."""
        inside: list[bytes] = []
        outside: list[bytes] = []
        for path in event.paths:
            found = paths.relative(self._store.root, path, event.folder)
            if found is None:
                outside.append(os.path.normpath(os.path.join(event.folder, path)))
                continue
            if found and found not in inside:
                inside.append(found)
            # A tool that is told a link writes what the link points to.
            full = os.path.join(self._store.root, found)
            if os.path.islink(full):
                real = os.path.realpath(full)
                target = paths.relative(self._store.root, real, self._store.root)
                if target is None:
                    outside.append(real)
                elif target and target not in inside:
                    inside.append(target)
        return inside, outside

    # --- Keeping -----------------------------------------------------------------------------

    def _keep(self, turn: OpenTurn, name: str, states: list[tuple[bytes, FileState]]) -> None:
        entries = {
            b"%06d" % at: (0o100644, state.oid)
            for at, (_, state) in enumerate(states)
            if state.has_content
        }
        if entries:
            self._hold(turn, name, self._store.objects.write("tree", format_tree(entries)))

    def _keep_tree(self, turn: OpenTurn, name: str, snapshot: Snapshot) -> None:
        if snapshot.tree is not None:
            self._hold(turn, name, snapshot.tree)

    def _hold(self, turn: OpenTurn, name: str, tree: str) -> None:
        """Make a tree reachable from the turn's one ref, in trees of bounded width."""
        objects = self._store.objects
        turn.images[name] = [0o40000, tree]
        newest = objects.write(
            "tree", format_tree({k.encode(): (v[0], v[1]) for k, v in turn.images.items()})
        )
        shards = [*turn.shards, newest]
        top = {b"%06d" % at: (0o40000, oid) for at, oid in enumerate(shards)}
        ref = objects.write("tree", format_tree(top))
        objects.flush()
        self._store.set_ref(f"{self._refs(turn)}/images", ref)
        if len(turn.images) >= _SHARD:
            turn.shards.append(newest)
            turn.images = {}

    def _refs(self, turn: OpenTurn) -> str:
        name = paths.key_of(turn.session.encode("utf-8", "surrogateescape"))
        return f"{name}/{turn.n}"

    def _touch(self, turn: OpenTurn) -> None:
        turn.last_ns = time.time_ns()
        openturn.save(self._store.data, turn)

    def _ledger_name(self, session: str) -> str:
        return f"ledger/{paths.key_of(session.encode('utf-8', 'surrogateescape'))}.jsonl"

    def _line(self, session: str, record: dict[str, Any]) -> None:
        if "seq" not in record:
            record = {"seq": self._store.next_seq()[0], **record}
        self._store.append(self._ledger_name(session), {"t": time.time_ns(), **record})
