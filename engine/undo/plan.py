"""What an operation will do to each path. Pure: all that is read comes in, nothing is written.

The undone part of a path is a list of *spans* (what stood before, what the part left), newest
first. Taking a span back from what stands now is exact where nothing changed since, else a
three-way merge with the span's end as base (ORIGIN.md, Undo that keeps later work).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from takeback.engine.model import (
    Action,
    FileState,
    OnConflict,
    PlanEntry,
    Segment,
    same,
)
from takeback.engine.undo.merge import Merge

Span = tuple[FileState, FileState]

DELETED_SINCE = "deleted since"
LATER_CONTENT = "has later content"


@dataclass(frozen=True, slots=True)
class Situation:
    """One path with all that a decision needs.

    Attributes:
        spans: (before, after) of the part to take back, newest first, adjacent ones joined.
        now: what stands there.
        named: the user named this path.
        source: the name under which the turn knew it, if it was renamed since.
        left: what the whole turn left there, if only a part of it is taken back.
    """

    path: bytes
    spans: tuple[Span, ...]
    now: FileState
    named: bool = False
    notes: tuple[str, ...] = ()
    source: bytes = b""
    left: FileState | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A plan entry with what it means for the questions to the user.

    Attributes:
        entry: None where nothing needs to be done.
        later: it overwrites or deletes later content, or merges with it.
    """

    entry: PlanEntry | None
    later: bool = False
    merged: bool = False


def spans_of(segments: Iterable[Segment], forward: bool = False) -> tuple[Span, ...]:
    """Join steps of one path, given oldest first, into spans, newest first.

    Args:
        forward: the steps are to be put back instead of taken back.
    """
    joined: list[Span] = []
    for segment in segments:
        if joined and same(joined[-1][1], segment.before):
            joined[-1] = (joined[-1][0], segment.after)
        else:
            joined.append((segment.before, segment.after))
    if forward:
        return tuple((after, before) for before, after in joined)
    return tuple(reversed(joined))


@dataclass(frozen=True, slots=True)
class _Stop:
    """Why a span cannot be taken back."""

    reason: str
    deleted: bool = False


def _take_back(now: FileState, span: Span, merge: Merge) -> FileState | _Stop:
    before, after = span
    if same(now, before):
        return now
    if now.kind == "unknown":
        return _Stop(f"cannot be kept safe: {now.reason}")
    if before.kind in ("special", "unknown", "dir") or now.kind == "special":
        return _Stop("a special file, which is never touched")
    if same(now, after):
        return before
    if now.kind == "dir":
        return _Stop("a folder stands in its place")
    if after.kind == "absent":
        return _Stop("made again since, with other content")
    if before.kind == "absent":
        return now if now.kind == "absent" else _Stop(LATER_CONTENT)
    if now.kind == "absent":
        return _Stop(DELETED_SINCE, deleted=True)
    if not (now.kind == before.kind == after.kind == "file"):
        return _Stop("changed since, and is not a plain file throughout")
    mode = before.mode if now.mode == after.mode else now.mode
    if now.oid == after.oid:
        oid: str | None = before.oid
    elif now.oid == before.oid or before.oid == after.oid:
        oid = now.oid
    else:
        oid = merge(after.oid, now.oid, before.oid)
    if oid is None:
        return _Stop("overlaps with later changes")
    result = FileState("file", mode, oid)
    if same(result, before):
        return before
    if oid == now.oid:
        return FileState("file", mode, oid, now.mtime_ns)
    return result


def decide(situation: Situation, on_conflict: OnConflict, merge: Merge) -> Decision:
    """What happens to one path."""
    now = situation.now
    want: FileState | _Stop = now
    exact = True
    for span in situation.spans:
        assert isinstance(want, FileState)
        exact = exact and (same(want, span[1]) or same(want, span[0]))
        want = _take_back(want, span, merge)
        if isinstance(want, _Stop):
            break
    oldest = situation.spans[-1][0]
    if isinstance(want, _Stop):
        return _stopped(situation, want, oldest, on_conflict)
    if same(want, now) or (want.kind == now.kind == "absent"):
        return Decision(None)
    if not exact and on_conflict == "keep":
        return _kept(situation, "changed since")
    if not exact and on_conflict == "overwrite" and not same(want, oldest):
        want = oldest
        return Decision(_entry(situation, _action(want), want), later=True)
    merged = not exact and not same(want, oldest)
    action = "merge" if merged else _action(want)
    return Decision(_entry(situation, action, want), merged=not exact)


def _stopped(
    situation: Situation, stop: _Stop, oldest: FileState, on_conflict: OnConflict
) -> Decision:
    now = situation.now
    possible = now.kind in ("file", "link", "absent") and oldest.kind in ("file", "link", "absent")
    forced = situation.named or on_conflict == "overwrite"
    if stop.deleted and not forced:
        gone = now.kind == "absent" and (situation.left is None or situation.left.kind != "absent")
        if gone:
            return _kept(situation, stop.reason)
        stop = _Stop("removed in the same turn by what is not selected")
    if (on_conflict == "overwrite" or stop.deleted) and possible:
        if same(oldest, now):
            return Decision(None)
        return Decision(_entry(situation, _action(oldest), oldest), later=not stop.deleted)
    if on_conflict == "keep":
        return _kept(situation, "changed since")
    return Decision(_entry(situation, "conflict", now, stop.reason))


def _kept(situation: Situation, reason: str) -> Decision:
    return Decision(_entry(situation, "keep", situation.now, reason))


def _entry(situation: Situation, action: Action, want: FileState, reason: str = "") -> PlanEntry:
    return PlanEntry(
        situation.path, action, situation.now, want, reason, situation.notes, situation.source
    )


def _action(want: FileState) -> Action:
    return "delete" if want.kind == "absent" else "restore"


def resolve_places(entries: Sequence[PlanEntry], standing: Iterable[bytes]) -> list[PlanEntry]:
    """Turn entries that cannot stand together with what stays into conflicts.

    A file returns where a folder stands: that folder must become empty by this very plan. A file
    returns below a path: nothing but a folder may stand there, or it must go by this plan.

    Args:
        standing: every path that is there now and that the plan could meet, ignored ones too.
    """
    goes = {e.path for e in entries if e.action == "delete"}
    stays = {path for path in standing if path not in goes}
    wanted = {e.path for e in entries if e.action in ("restore", "merge")}
    out = []
    for entry in entries:
        reason = ""
        if entry.action in ("restore", "merge") and entry.expect.kind == "absent":
            prefix = entry.path + b"/"
            if any(path.startswith(prefix) for path in stays):
                reason = "a folder with other files stands in its place"
            at = entry.path
            while at := at.rpartition(b"/")[0]:
                if at in stays or at in wanted:
                    reason = "a file stands where its folder was"
        if reason:
            entry = replace(entry, action="conflict", want=entry.expect, reason=reason)
        out.append(entry)
    return out
