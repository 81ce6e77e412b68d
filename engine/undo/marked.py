"""What a marked set means: any turns, files and calls of any sessions, taken back at once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from takeback.engine.errors import UsageError
from takeback.engine.model import (
    AGENT_EVIDENCE,
    Call,
    Change,
    Part,
    Request,
    Segment,
    Selection,
    Session,
    Turn,
)
from takeback.engine.undo.target import (
    Share,
    Target,
    covers,
    find_turn,
    nothing_left,
    refuse_running,
    wanted_segments,
)

_LISTED = 8
"""As many turns of a set are named by their number."""


@dataclass(slots=True)
class _Marks:
    """What was marked of one turn. ``calls`` have the path they are narrowed to, or b""."""

    turn: Turn
    whole: bool = False
    paths: set[bytes] = field(default_factory=set)
    calls: dict[str, set[bytes]] = field(default_factory=dict)

    def add(self, part: Part) -> None:
        if part.call:
            self.calls.setdefault(part.call, set()).add(part.path)
        elif part.path:
            self.paths.add(part.path.rstrip(b"/"))
        else:
            self.whole = True

    def names(self, path: bytes) -> bool:
        """Whether a path was marked by its name, or is below one; there may be many."""
        at = path
        while at and at not in self.paths:
            at = at.rpartition(b"/")[0]
        return bool(at)


def marked(sessions: Sequence[Session], request: Request, selection: Selection) -> Target:
    """What an undo of a marked set means. The order in which things were marked says nothing.

    Raises:
        NothingToDo: nothing (left) of it to take back.
        SessionRunning: one of the sessions is running a turn.
        UsageError: an unknown turn, or a call that its turn does not have.
    """
    marks = _by_turn(sessions, request.parts)
    for session in dict.fromkeys(item.turn.session for item in marks):
        refuse_running(sessions, session)
    shares: list[Share] = []
    outside: list[Change] = []
    met: list[tuple[str, bytes]] = []
    named: set[bytes] = set()
    for item in marks:
        for change in item.turn.changes:
            if request.paths and not covers(request.paths, change.path):
                continue
            by_name = item.names(change.path)
            if by_name:
                named.add(change.path)
            if by_name or item.whole:
                met.append((item.turn.id, change.path))
            if all(segment.undone for segment in change.segments):
                continue
            segments = _wanted(item, change, request, selection)
            if segments:
                rest = [s for s in change.segments if not s.undone and s not in segments]
                whole = item.whole or by_name
                whole = whole and not any(s.evidence in AGENT_EVIDENCE for s in rest)
                shares.append(Share(item.turn, change, segments, whole))
            elif item.whole:
                outside.append(change)
    label = _label(list(reversed(marks)))
    if not shares and not any(not change.undone for change in outside):
        nothing_left(f"There is nothing (left) to take back of {label}.")
    return Target(
        label,
        marks[0].turn.session,
        tuple(item.turn for item in marks),
        tuple(shares),
        tuple(outside),
        not shares,
        frozenset(named),
        frozenset(item.turn.id for item in marks if not item.whole),
        tuple(met),
    )


def _by_turn(sessions: Sequence[Session], parts: Iterable[Part]) -> list[_Marks]:
    """The marks of each turn, newest turn first."""
    found: dict[str, _Marks] = {}
    for part in parts:
        turn = find_turn(sessions, part.turn)
        if part.call and all(call.id != part.call for call in turn.calls):
            raise UsageError(
                f"Turn {turn.n} has no call {part.call!r}. Nothing was changed.",
                "See 'takeback show TURN' for a turn's steps and calls.",
            )
        found.setdefault(turn.id, _Marks(turn)).add(part)
    return sorted(found.values(), key=lambda item: item.turn.n, reverse=True)


def _wanted(
    marks: _Marks, change: Change, request: Request, selection: Selection
) -> tuple[Segment, ...]:
    """The steps of a change that the marks of its turn take, in their order."""
    found: list[Segment] = []
    if marks.whole:
        found.extend(wanted_segments(change, selection, request.paths))
    if marks.names(change.path):
        found.extend(wanted_segments(change, selection, (change.path,)))
    for call, paths in marks.calls.items():
        if covers(tuple(paths), change.path):
            own = [s for s in change.segments if call in s.call_ids and not s.undone]
            agent = [s for s in own if s.evidence in AGENT_EVIDENCE]
            found.extend(own if selection == "all" or not agent else agent)
    return tuple(segment for segment in change.segments if segment in found)


def _label(marks: Sequence[_Marks]) -> str:
    """A set in the words of the command line: "3 turns: 4, 6, 9", "2 files of turn 9"."""
    words = []
    whole = [item.turn.n for item in marks if item.whole]
    if len(whole) == 1:
        words.append(f"turn {whole[0]}")
    elif whole:
        shown = ", ".join(str(n) for n in whole[:_LISTED])
        more = f" and {len(whole) - _LISTED} more" if len(whole) > _LISTED else ""
        words.append(f"{len(whole)} turns: {shown}{more}")
    for item in marks:
        if item.whole:
            continue
        if item.paths:
            met = sum(item.names(change.path) for change in item.turn.changes)
            count = max(met, len(item.paths))
            words.append(f"{count} file{'' if count == 1 else 's'} of turn {item.turn.n}")
        calls = [call for call in item.turn.calls if call.id in item.calls]
        if calls:
            words.append(f"turn {item.turn.n} {', '.join(_name(call) for call in calls)}")
    return "; ".join(words)


def _name(call: Call) -> str:
    return f"{call.tool or call.kind} #{call.number}"
