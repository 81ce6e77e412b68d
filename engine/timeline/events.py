"""The ledger and the snapshot records as they are read: grouped by session, turn and call.

Lines that are damaged or name what is not there are counted, never fatal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from takeback.engine import work
from takeback.engine.model import DirChange, FileState, NotCaptured, PathChange
from takeback.engine.record import codec
from takeback.engine.store.objects import StoreError

if TYPE_CHECKING:
    from takeback.engine.facts import CallKind
    from takeback.engine.store.store import Store

FOREVER = 1 << 62


@dataclass(slots=True)
class RawCall:
    """A tool call as recorded. ``snap`` values are None where no scan succeeded."""

    id: str
    session: str
    turn: str
    number: int
    tool: str
    kind: CallKind
    paths: list[bytes]
    command: str
    seq: int
    begun_ns: int
    scanned: bool
    missing_begin: bool
    pre: dict[bytes, FileState] = field(default_factory=dict)
    made: dict[bytes, list[bytes]] = field(default_factory=dict)
    post: dict[bytes, FileState] = field(default_factory=dict)
    found: dict[bytes, FileState] = field(default_factory=dict)
    done_seq: int = 0
    ended_ns: int = 0
    end_scanned: bool = False
    failed: bool = False
    step: int = 0
    tree_before: str | None = None
    tree_after: str | None = None

    @property
    def is_window(self) -> bool:
        """Whether changes can be placed in it by looking before and after."""
        return self.kind == "shell" or (self.kind == "edit" and not self.paths)


@dataclass(slots=True)
class RawTurn:
    """A turn as recorded."""

    id: str
    n: int
    session: str
    seq: int
    begun_ns: int
    prompt: str
    begin: dict[str, Any]
    missing_begin: bool
    end: dict[str, Any] | None = None
    calls: list[RawCall] = field(default_factory=list)
    steps: list[tuple[int, int, str]] = field(default_factory=list)
    background: bool = False
    last_ns: int = 0
    damaged: bool = False
    outer: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def end_seq(self) -> int:
        return int(self.end["seq"]) if self.end is not None else FOREVER

    @property
    def late(self) -> bool:
        return bool(self.end is not None and self.end.get("late"))


@dataclass(slots=True)
class RawSession:
    """A session's ledger file."""

    id: str
    agent: str = ""
    title: str = ""
    seq: int = 0
    turns: list[RawTurn] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """One snapshot record: what changed until its scan since the scan before."""

    seq: int
    at_ns: int
    tree: str
    changes: list[PathChange]
    dirs: list[DirChange]
    touched: list[NotCaptured]
    op: str
    since: int = 0


@dataclass(slots=True)
class Log:
    """Everything recorded of a project."""

    sessions: list[RawSession] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    damaged: list[tuple[str, int]] = field(default_factory=list)

    @property
    def turns(self) -> list[RawTurn]:
        return sorted((t for s in self.sessions for t in s.turns), key=lambda t: t.n)

    @property
    def calls(self) -> list[RawCall]:
        return sorted((c for t in self.turns for c in t.calls), key=lambda c: c.seq)


def read(store: Store) -> Log:
    """Read the whole ledger of a project.

    Raises:
        StoreError: a file cannot be read at all.
    """
    log = Log()

    def note(name: str, line: int) -> None:
        log.damaged.append((name, line))

    for name in work.watched("Reading sessions", store.ledger_names()):
        before = len(log.damaged)
        session = session_of(store.lines(f"ledger/{name}", note), f"ledger/{name}", note)
        if session is not None:
            if len(log.damaged) > before:
                for turn in session.turns[-1:]:
                    turn.damaged = True
            log.sessions.append(session)
    for line in work.watched("Reading snapshots", list(store.lines("snapshots.jsonl", note))):
        record = record_of(store, line)
        if record is not None:
            log.records.append(record)
        else:
            note("snapshots.jsonl", _number(line))
    settle(log)
    return log


def record_of(store: Store, line: dict[str, Any]) -> Record | None:
    """A line of ``snapshots.jsonl``; None where it is damaged."""
    try:
        _check(line)
        return Record(
            int(line["seq"]),
            int(line.get("t", 0)),
            str(line["tree"]),
            codec.unpack_changes(codec.get_list(store, line.get("delta", []))),
            codec.unpack_dirs(codec.get_list(store, line.get("dirs", []))),
            codec.unpack_missing(codec.get_list(store, line.get("touched", []))),
            str(line.get("op", "")),
        )
    except (KeyError, ValueError, TypeError, StoreError):
        return None


def settle(log: Log) -> None:
    """Put what was read in order, and place each record between two looks."""
    log.sessions.sort(key=lambda s: s.seq)
    log.records.sort(key=lambda r: r.seq)
    _bound_records(log)


def _number(line: dict[str, Any]) -> int:
    seq = line.get("seq")
    return seq if isinstance(seq, int) else 0


def _check(line: dict[str, Any]) -> None:
    """Refuse a line whose values are not of the types that everything above relies on.

    Raises:
        KeyError, ValueError: one is missing or is not.
    """
    for key in ("seq", "t", "n", "snap"):
        value = line[key] if key in ("seq", "t") else line.get(key)
        if value is None and key in ("n", "snap"):
            continue
        if type(value) is not int or not 0 <= value < FOREVER:
            raise ValueError(key)
    tree = line.get("tree")
    if tree is not None and not (isinstance(tree, str) and len(tree) == 40 and tree.isalnum()):
        raise ValueError("tree")
    for key in ("nc", "delta", "dirs", "touched"):
        if not isinstance(line.get(key, ""), list | str):
            raise ValueError(key)


def _bound_records(log: Log) -> None:
    """Give each record the last scan before it, so that a change is placed between two looks."""
    scans = [record.seq for record in log.records]
    for session in log.sessions:
        for turn in session.turns:
            if turn.begin.get("tree"):
                scans.append(turn.seq)
            if turn.end is not None and turn.end.get("tree"):
                scans.append(turn.end_seq)
            for call in turn.calls:
                if call.is_window and call.scanned:
                    scans.append(call.seq)
                if call.is_window and call.end_scanned:
                    scans.append(call.done_seq)
    scans.sort()
    at, last = 0, 0
    for record in log.records:
        while at < len(scans) and scans[at] < record.seq:
            last = scans[at]
            at += 1
        record.since = last


def session_of(
    lines: Iterable[dict[str, Any]], name: str, note: Callable[[str, int], None]
) -> RawSession | None:
    """A session from the lines of its ledger file; None where there is none.

    Args:
        note: hears of lines that are damaged.
    """
    session: RawSession | None = None
    turns: dict[str, RawTurn] = {}
    calls: dict[tuple[str, str], RawCall] = {}
    for line in lines:
        try:
            _check(line)
            kind = line["e"]
            if kind == "session":
                if session is None:
                    session = RawSession(str(line["id"]), str(line.get("agent", "")))
                    session.seq = int(line["seq"])
                continue
            if session is None:
                session = RawSession(name, seq=int(line["seq"]))
            if kind == "title":
                session.title = str(line["text"])
            elif kind == "begin":
                turn = _begin(session, line)
                if turn.id not in turns:
                    turns[turn.id] = turn
                    session.turns.append(turn)
            else:
                _event(turns[line["turn"]], calls, line)
        except (KeyError, ValueError, TypeError):
            note(name, _number(line))
    return session


def _begin(session: RawSession, line: dict[str, Any]) -> RawTurn:
    if line.get("agent"):
        session.agent = str(line["agent"])
    return RawTurn(
        str(line["turn"]),
        int(line["n"]),
        session.id,
        int(line["seq"]),
        int(line["t"]),
        str(line.get("prompt", "")),
        line,
        bool(line.get("missing")),
        last_ns=int(line["t"]),
        outer=str(line.get("run", "")),
    )


def _event(turn: RawTurn, calls: dict[tuple[str, str], RawCall], line: dict[str, Any]) -> None:
    kind = line["e"]
    at = int(line["t"])
    turn.last_ns = max(turn.last_ns, at)
    if kind == "call":
        key = (turn.id, str(line["call"]))
        if key in calls:
            return
        call = RawCall(
            str(line["call"]),
            turn.session,
            turn.id,
            len(turn.calls) + 1,
            str(line.get("tool", "")),
            line["kind"],
            [codec.raw(p) for p in line.get("paths", [])],
            str(line.get("cmd", "")),
            int(line["seq"]),
            at,
            bool(line.get("tree")),
            bool(line.get("missing")),
            step=len(turn.steps),
            tree_before=line.get("tree"),
        )
        for path, state, made in line.get("pre", []):
            call.pre[codec.raw(path)] = codec.unpack_state(state)
            call.made[codec.raw(path)] = [codec.raw(d) for d in made]
        calls[key] = call
        turn.calls.append(call)
    elif kind == "done":
        call = calls[turn.id, str(line["call"])]
        if not call.done_seq:
            call.done_seq = int(line["seq"])
            call.ended_ns = at
            call.failed = bool(line.get("failed"))
            call.end_scanned = bool(line.get("tree"))
            call.tree_after = line.get("tree")
            for path, state in line.get("found", []):
                call.found[codec.raw(path)] = codec.unpack_state(state)
            for path, state in line.get("post", []):
                call.post[codec.raw(path)] = codec.unpack_state(state)
    elif kind == "step":
        turn.steps.append((int(line["seq"]), at, str(line.get("text", ""))))
    elif kind == "end":
        if turn.end is None:
            turn.end = line
    elif kind == "background":
        turn.background = True
    elif kind == "resumed":
        turn.background = False
    elif kind == "prompt":
        turn.prompt = f"{turn.prompt}\n{line['text']}"
    elif kind == "note":
        turn.notes.append(str(line.get("text", "")))
