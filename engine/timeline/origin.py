"""Who changed it: evidence from the ledger and the snapshot records. Pure.

For each path the known versions are put in order: what edit calls found and left, what scans saw.
A step from one version to the next that no edit call explains is a *gap*; the two looks around it
bound it in time, and the shell calls that ran in that time are its evidence.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate

from takeback.engine.model import (
    PRECEDENCE,
    DirChange,
    Evidence,
    FileState,
    NotCaptured,
    PathChange,
    Segment,
    same,
)
from takeback.engine.record import codec
from takeback.engine.timeline.events import FOREVER, Log, RawCall, RawTurn, Record
from takeback.engine.work import watched

_EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@dataclass(slots=True)
class Found:
    """What a turn did, by path, and what could not be seen."""

    segments: dict[bytes, list[Segment]] = field(default_factory=dict)
    mixed: set[bytes] = field(default_factory=set)
    unseen: list[NotCaptured] = field(default_factory=list)
    dirs: list[DirChange] = field(default_factory=list)


class Index:
    """The log arranged for questions about one turn after the other."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.windows = [call for call in log.calls if call.is_window]
        self.edits: dict[bytes, list[RawCall]] = defaultdict(list)
        for call in log.calls:
            if not call.is_window:
                for path in call.pre:
                    self.edits[path].append(call)
        self._spans: dict[bytes, tuple[list[int], list[int]]] = {}
        self.turn_of = {turn.id: turn for turn in log.turns}
        self.inner: dict[str, list[RawTurn]] = defaultdict(list)
        for turn in log.turns:
            if turn.outer and turn.outer in self.turn_of:
                self.inner[turn.outer].append(turn)
        self.seqs = [record.seq for record in log.records]
        self.scans = sorted(
            {record.seq for record in log.records}
            | {c.seq for c in self.windows if c.scanned}
            | {c.done_seq for c in self.windows if c.end_scanned}
            | {t.seq for t in log.turns if t.begin.get("tree")}
            | {t.end_seq for t in log.turns if t.end is not None and t.end.get("tree")}
        )

    def edits_within(self, path: bytes, begin: int, end: int) -> list[RawCall]:
        """The edit calls of a path that ran at any time between two events.

        A path that every turn edits would make this quadratic without the two bisections: the calls
        stand in order of begin, and no call before the first one found ended late enough.
        """
        calls = self.edits.get(path, [])
        if not calls:
            return calls
        spans = self._spans.get(path)
        if spans is None:
            ends = accumulate((call.done_seq or FOREVER for call in calls), max)
            spans = self._spans[path] = [call.seq for call in calls], list(ends)
        low, high = bisect_right(spans[1], begin), bisect_left(spans[0], end)
        return [call for call in calls[low:high] if (call.done_seq or FOREVER) > begin]

    def last_scan(self, seq: int) -> int:
        at = bisect_left(self.scans, seq)
        return self.scans[at - 1] if at else 0

    def records_of(self, turn: RawTurn) -> list[Record]:
        """The snapshot records of a turn's time."""
        first = turn.begin.get("snap")
        if first is None:
            return []
        if turn.end is None:
            last = FOREVER
        elif turn.end.get("snap") is not None:
            last = int(turn.end["snap"])
        else:
            last = max((c.done_seq or c.seq for c in turn.calls), default=0)
        low, high = bisect_left(self.seqs, int(first) + 1), bisect_left(self.seqs, last + 1)
        return self.log.records[low:high]


def end_of(call: RawCall, turn: RawTurn) -> int:
    """When a call's window closed: with its end, or with its turn."""
    return call.done_seq or turn.end_seq


def find(index: Index, turn: RawTurn) -> Found:
    """What a turn did.

    Returns:
        Per path the steps that belong to the turn, oldest first. Steps of other sessions' recorded
        edit calls, of other sessions' shell calls alone, and of takeback's own operations are left
        out; they only break the chain.
    """
    found = Found()
    records = index.records_of(turn)
    by_path: dict[bytes, list[tuple[Record, PathChange]]] = defaultdict(list)
    for record in records:
        for change in record.changes:
            by_path[change.path].append((record, change))
        if not record.op:
            found.unseen.extend(record.touched)
    paths = set(by_path)
    for call in turn.calls:
        for path, state in call.pre.items():
            paths.add(path)
            for seen in (state, call.post.get(path, state)):
                if seen.kind == "unknown":
                    found.unseen.append(NotCaptured(path, seen.reason))
        for path in call.paths:
            if path.startswith(b"/"):
                found.unseen.append(NotCaptured(path, "outside-project"))
    for path in watched("", sorted(paths)):
        _walk(index, turn, path, by_path.get(path, []), found)
    found.dirs = _dirs(records)
    return found


def _walk(
    index: Index,
    turn: RawTurn,
    path: bytes,
    seen: list[tuple[Record, PathChange]],
    found: Found,
) -> None:
    """Put the known versions of one path in order and name the source of each step.

    An edit call is two looks: what it found when it began, what it left when it ended. Its step
    leads from what stood just before its end, so that calls which overlap are told apart. A call
    that failed did nothing: what changed meanwhile is somebody else's.
    """
    edits = index.edits_within(path, turn.seq, turn.end_seq)
    points: list[tuple[int, _Point]] = []
    waiting: list[RawCall] = []
    lost = False
    for call in edits:
        if call.seq > turn.seq:
            points.append((call.seq, _Point(call.pre[path], begins=call)))
        elif call.missing_begin or not call.done_seq:
            lost = True
        elif not call.failed:
            # What it found is older than the turn, which may have begun in the middle of its write.
            waiting.append(call)
        if call.done_seq and not call.missing_begin:
            left = call.post.get(path, call.pre[path])
            points.append((call.done_seq, _Point(left, ends=call)))
    points.extend((record.seq, _Point(change.after, record)) for record, change in seen)
    points.sort(key=lambda point: point[0])
    current = _start(points, seen)
    last = turn.seq
    segments: list[Segment] = []
    covered: list[_Covered] = []
    broken = False
    for seq, point in points:
        ended = point.ends
        if ended is not None:
            waiting = [other for other in waiting if other is not ended]
            read = ended.found.get(path)
            if read is not None and not _equal(current, read):
                # Somebody wrote between the call's begin and what its tool read.
                key = f"{ended.turn} {ended.id}!"
                gap = _gap(index, turn, path, current, read, ended.seq, seq, key, lost)
                broken = True
                _add(segments, found, gap)
                current = read
            if not _equal(current, point.state):
                if ended.failed:
                    key = f"{ended.turn} {ended.id}!"
                    gap = _gap(index, turn, path, current, point.state, last, seq, key, lost)
                    broken = True
                    _add(segments, found, gap)
                else:
                    step = _edit(index.turn_of[ended.turn], path, current, point.state, ended)
                    if ended.turn == turn.id:
                        _add(segments, found, step)
                    others = [other for other in waiting if other.turn != ended.turn]
                    covered += [_Covered(step, ended, other) for other in others]
            elif not ended.failed and not _equal(ended.pre[path], point.state):
                for one in covered:
                    if one.other is ended and turn.id in (one.call.turn, ended.turn):
                        _share(segments, one)
            current, last = point.state, seq
            continue
        if point.begins is not None:
            lost = lost or point.begins.missing_begin
            low = max(last, index.last_scan(seq))
            key = f"{point.begins.turn} {point.begins.id}~"
        else:
            assert point.record is not None
            explained = any(_equal(point.state, o.post.get(path, current)) for o in waiting)
            # Programs empty or remove a file before they write it anew.
            explained = explained or (bool(waiting) and _is_bare(point.state))
            if explained and not point.record.op:
                # Seen in the middle of an edit call, which explains it when it ends.
                continue
            low, key = max(last, point.record.since), str(seq)
        if not _equal(point.state, current):
            if point.record is None or not point.record.op:
                at_ns = point.record.at_ns if point.record is not None else 0
                gap = _gap(index, turn, path, current, point.state, low, seq, key, lost, at_ns)
                broken = True
                _add(segments, found, gap)
            current = point.state
        elif point.state.kind != "unknown":
            current = point.state
        last = seq
        if point.begins is not None and not point.begins.missing_begin:
            if point.begins.failed:
                pass
            elif point.begins.done_seq:
                waiting.append(point.begins)
            else:
                lost = True
    if not segments:
        return
    if same(segments[0].before, segments[-1].after) and len(segments) > 1:
        return
    found.segments[path] = segments
    if broken and any(s.evidence == "tool-edit" for s in segments):
        found.mixed.add(path)


@dataclass(frozen=True, slots=True)
class _Point:
    """One look at a path: by a scan, or at the begin or the end of an edit call."""

    state: FileState
    record: Record | None = None
    begins: RawCall | None = None
    ends: RawCall | None = None


@dataclass(frozen=True, slots=True)
class _Covered:
    """The step of an edit call that ended while another turn's edit call of the path ran."""

    step: Segment
    call: RawCall
    other: RawCall


def _share(segments: list[Segment], covered: _Covered) -> None:
    """The other call has left nothing new: it wrote before the first one ended. So the step is the
    work of both, and of which lines nobody saw; it belongs to either turn and is no one's edit."""
    step = covered.step
    both = replace(
        step,
        evidence="during-call",
        call_ids=tuple(dict.fromkeys((covered.call.id, covered.other.id))),
        step="",
    )
    for at, one in enumerate(segments):
        if one.key == step.key and one.seq == step.seq:
            segments[at] = both
            return
    segments.append(both)
    segments.sort(key=lambda one: one.seq)


def _edit(
    turn: RawTurn, path: bytes, before: FileState, after: FileState, call: RawCall
) -> Segment:
    return Segment(
        path,
        before,
        after,
        "tool-edit",
        f"{call.turn} {call.id}",
        (call.id,),
        _step_id(turn, call),
        call.begun_ns,
        call.ended_ns,
        seq=call.done_seq,
    )


def _start(points: list[tuple[int, _Point]], seen: list[tuple[Record, PathChange]]) -> FileState:
    """What stood at the path when the turn began, as far as anybody looked."""
    if seen and (seen[0][1].before.kind != "unknown" or len(points) == len(seen)):
        return seen[0][1].before
    return points[0][1].state if points else FileState("unknown", reason="failed")


def _is_bare(state: FileState) -> bool:
    return state.kind == "absent" or state.oid == _EMPTY_BLOB


def _equal(a: FileState, b: FileState) -> bool:
    return same(a, b) or (a.kind == b.kind and a.kind in ("unknown", "special"))


def _add(segments: list[Segment], found: Found, segment: Segment | None) -> None:
    if segment is None:
        return
    for side in (segment.before, segment.after):
        if side.kind == "unknown":
            found.unseen.append(NotCaptured(segment.path, side.reason))
            return
    segments.append(segment)


def _gap(
    index: Index,
    turn: RawTurn,
    path: bytes,
    before: FileState,
    after: FileState,
    low: int,
    high: int,
    key: str,
    lost: bool,
    at_ns: int = 0,
) -> Segment | None:
    """The step that no edit call explains, or None when it belongs to another session's call."""
    if any(inner.seq < high <= inner.end_seq for inner in index.inner.get(turn.id, ())):
        return None
    around = []
    for call in index.windows:
        if call.turn in index.inner and call.turn != turn.id:
            # A run around agents that record by themselves: their calls say more.
            continue
        if call.seq < high and end_of(call, index.turn_of[call.turn]) > low:
            around.append(call)
    own = [call for call in around if call.turn == turn.id]
    if around and not own:
        return None
    evidence: Evidence
    unwatched = turn.late and high > _last_event(turn)
    if lost or unwatched or not turn.calls:
        evidence = "no-record"
    elif own:
        evidence = "during-call" if all(_is_exact(call, turn) for call in own) else "no-record"
    elif any(call.missing_begin and call.seq > low for call in turn.calls):
        # A call ran of which only the end is known: it may have made this.
        evidence = "no-record"
    else:
        evidence = "outside-calls"
    ids = tuple(dict.fromkeys(call.id for call in [*own, *around])) if own else ()
    steps = {_step_id(turn, call) for call in own}
    return Segment(
        path,
        before,
        after,
        evidence,
        f"{key} {codec.text(path)}",
        ids,
        steps.pop() if len(steps) == 1 and len(around) == len(own) else "",
        own[0].begun_ns if own else turn.begun_ns,
        at_ns,
        seq=high,
    )


def _is_exact(call: RawCall, turn: RawTurn) -> bool:
    """Whether the project was looked at on both sides of a call (or it still runs)."""
    if call.missing_begin or not call.scanned:
        return False
    if call.done_seq:
        return call.end_scanned
    # A call that was broken off lasts until the turn's end, if that was noticed when it came.
    return turn.end is None or (not turn.late and bool(turn.end.get("tree")))


def _last_event(turn: RawTurn) -> int:
    """The last sign of life of a turn before its end was noticed."""
    seqs = [turn.seq]
    seqs += [call.done_seq or call.seq for call in turn.calls]
    seqs += [seq for seq, _, _ in turn.steps]
    return max(seqs)


def _step_id(turn: RawTurn, call: RawCall) -> str:
    return f"{turn.id}.{call.step + 1}"


def _dirs(records: Iterable[Record]) -> list[DirChange]:
    """The folders that appeared, vanished or changed over some records, ours aside."""
    net: dict[bytes, DirChange] = {}
    for record in records:
        if record.op:
            continue
        for item in record.dirs:
            first = net.get(item.path, item)
            net[item.path] = DirChange(item.path, first.before, item.after)
    return [item for item in net.values() if item.before != item.after]


def evidence_of(segments: Iterable[Segment], mixed: bool) -> Evidence:
    """The evidence of a change with several steps, by the order of precedence."""
    kinds = {segment.evidence for segment in segments}
    if mixed or ("tool-edit" in kinds and len(kinds) > 1):
        return "mixed"
    return next(kind for kind in PRECEDENCE if kind in kinds)
