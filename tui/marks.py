"""What is marked in the timeline: turns, calls and files, and what follows from that. Pure.

A mark has the key of its row. That of a heading stands for all that the agent is known to have
done in its turn: a change of unknown origin is marked by itself, or by its command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from takeback.engine.model import (
    AGENT_EVIDENCE,
    Change,
    Operation,
    Part,
    Request,
    Segment,
    Turn,
)
from takeback.engine.timeline.net import net
from takeback.engine.timeline.timeline import pick
from takeback.tui import keys
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, joined
from takeback.tui.timeline_model import Entry

Marks = Mapping[str, Part]
_MARKED = "{timeline.undo_here} undo, {common.go_back} clear."


def of_row(entry: Entry) -> dict[str, Part]:
    """The marks that a row stands for."""
    turn = entry.turn
    if turn is None or not turn.recorded:
        return {}
    if entry.change is not None:
        return {entry.row.key: Part(turn.id, path=entry.change.path)}
    if entry.kind == "call" and entry.call is not None:
        return {entry.row.key: Part(turn.id, call=entry.call.id)}
    if entry.step is not None:
        return {call_key(turn, call.id): Part(turn.id, call=call.id) for call in entry.step.calls}
    return {turn_key(turn): Part(turn.id)}


def turn_key(turn: Turn) -> str:
    return f"turn:{turn.id}"


def call_key(turn: Turn, call: str) -> str:
    return f"call:{turn.id}:{call}"


def toggled(marks: Marks, entry: Entry) -> dict[str, Part]:
    """The marks after `space` on a row.

    Below a marked heading, the row is left out and the rest of what the agent did stays marked;
    what the mark of the heading does not take is marked besides.
    """
    own = of_row(entry)
    out = dict(marks)
    turn = entry.turn
    if turn is None or not own:
        return out
    whole = turn_key(turn)
    if whole in own:
        out = {key: part for key, part in out.items() if part.turn != turn.id}
        if whole not in marks:
            out |= own
    elif entry.change is not None and entry.call and call_key(turn, entry.call.id) in out:
        # Below a marked command: the other files of it stay marked.
        del out[call_key(turn, entry.call.id)]
        call = (entry.call.id,)
        out |= {
            f"change:{turn.id}:{change.path.hex()}": Part(turn.id, path=change.path)
            for change in turn.changes
            if change.call_ids == call and change.path != entry.change.path
        }
    elif own.keys() <= out.keys():
        out = {key: part for key, part in out.items() if key not in own}
    elif whole in out and _Taken(marks, turn).row(entry):
        del out[whole]
        out = {key: part for key, part in (_rest(turn, entry) | out).items() if key not in own}
    else:
        out |= own
    return out


def _rest(turn: Turn, without: Entry) -> dict[str, Part]:
    """Every file of a turn that an undo of all of it takes, but for what a row stands for."""
    calls = {part.call for part in of_row(without).values() if part.call}
    out: dict[str, Part] = {}
    for change in turn.changes:
        if change.origin != "agent-edited" or change.undone or change is without.change:
            continue
        others = [name for name in change.call_ids if name not in calls]
        if len(others) == len(change.call_ids):
            key = f"change:{turn.id}:{change.path.hex()}"
            out[key] = Part(turn.id, path=change.path)
        else:
            out |= {call_key(turn, name): Part(turn.id, call=name) for name in others}
    return out


class _Taken:
    """What the marks take of one turn."""

    def __init__(self, marks: Marks, turn: Turn) -> None:
        parts = [part for part in marks.values() if part.turn == turn.id]
        self.turn = turn
        self.whole = turn_key(turn) in marks
        self.paths = {part.path for part in parts if part.path}
        self.calls = {part.call for part in parts if part.call}

    def segment(self, one: Segment) -> bool:
        named = one.path in self.paths or not self.calls.isdisjoint(one.call_ids)
        return named or (self.whole and one.evidence in AGENT_EVIDENCE)

    def row(self, entry: Entry) -> bool:
        """Whether all that can be taken of a row would be."""
        changes: Iterable[Change] = self.turn.changes
        calls: set[str] = set()
        if entry.change is not None:
            changes = (entry.change,)
        elif entry.kind == "call" and entry.call is not None:
            calls = {entry.call.id}
        elif entry.step is not None:
            calls = {call.id for call in entry.step.calls}
        else:
            return self.whole
        left = [s for change in changes for s in change.segments if not s.undone]
        if entry.change is None:
            left = [s for s in left if not calls.isdisjoint(s.call_ids)]
        wanted = [s for s in left if s.evidence in AGENT_EVIDENCE] or left
        return bool(wanted) and all(map(self.segment, wanted))


def left_out(marks: Marks, turns: Iterable[Turn]) -> int:
    """How many files of unknown origin the marks of whole turns do not take."""
    return sum(
        not change.undone and not any(map(taken.segment, change.segments))
        for turn in turns
        if turn_key(turn) in marks
        for taken in [_Taken(marks, turn)]
        for change in turn.changes
    )


def ranged(marks: Marks, rows: Sequence[Entry], after: Entry | None = None) -> dict[str, Part]:
    """The marks after all of these neighbours were marked.

    The heading at which a turn begins counts for all of it, unless the range ends within the turn.

    Args:
        after: the row that follows.
    """
    out = dict(marks)
    ends_within = rows[-1].turn if rows and rows[-1].kind != "turn" else None
    if after is None or after.turn is not ends_within:
        ends_within = None
    for entry in rows:
        turn = entry.turn
        if turn is None or turn_key(turn) in out:
            continue
        if entry.kind == "turn":
            if turn is not ends_within:
                out = {key: part for key, part in out.items() if part.turn != turn.id}
                out[turn_key(turn)] = Part(turn.id)
        elif entry.call is not None and call_key(turn, entry.call.id) in out:
            # A file below its command, which stands for it.
            continue
        elif entry.change is not None or entry.kind == "call":
            out |= of_row(entry)
    return out


def shown(marks: Marks, entries: Sequence[Entry]) -> frozenset[str]:
    """The keys of the rows that are marked, themselves or by what they belong to or hide."""
    if not marks:
        return frozenset()
    seen = {entry.row.key for entry in entries}
    hiding = {part.turn for key, part in marks.items() if key not in seen}
    within = {part.turn for part in marks.values()}
    taken: dict[str, _Taken] = {}
    out = set()
    for entry in entries:
        turn = entry.turn
        if turn is None or turn.id not in within:
            continue
        if turn.id not in taken:
            taken[turn.id] = _Taken(marks, turn)
        key = entry.row.key
        hides = key == f"more:{turn.id}" and turn.id in hiding
        if key in marks or hides or taken[turn.id].row(entry):
            out.add(key)
    return frozenset(out)


def standing(marks: Marks, turns: Iterable[Turn]) -> dict[str, Part]:
    """The marks of turns that are still there."""
    there = {turn.id for turn in turns}
    return {key: part for key, part in marks.items() if part.turn in there}


def changes(marks: Marks, turns: Iterable[Turn]) -> tuple[Change, ...]:
    """The net difference of what is marked."""
    within = {part.turn for part in marks.values()}
    found = [
        replace(turn, changes=tuple(pick(turn.changes, _Taken(marks, turn).segment)))
        for turn in turns
        if turn.id in within
    ]
    return net(sorted(found, key=lambda turn: turn.n))


def words(marks: Marks, turns: Iterable[Turn]) -> str:
    """What is marked: ``turn 9, 2 files of turn 7``."""
    out = []
    for turn in sorted(turns, key=lambda turn: turn.n, reverse=True):
        parts = [part for part in marks.values() if part.turn == turn.id]
        files = sum(bool(part.path) for part in parts)
        calls = sum(bool(part.call) for part in parts)
        some = [counted(files, "file")] if files else []
        some += [counted(calls, "call")] if calls else []
        if len(parts) > files + calls:
            besides = f" with {joined(some)} of unknown origin" if some else ""
            out.append(f"turn {turn.n}{besides}")
            continue
        out += [f"{joined(some)} of turn {turn.n}"] if some else []
    if len(out) > 4:
        out = [*out[:3], f"parts of {len(out) - 3} more turns"]
    return joined(out)


def details(
    marks: Marks, turns: Sequence[Turn], difference: Sequence[Change], glyphs: Glyphs
) -> tuple[str, ...]:
    """What is said of the marks below the list."""
    said = [f"Marked: {words(marks, turns)}. {keys.words(_MARKED)}"]
    left = left_out(marks, turns)
    if left:
        said.append(f"{glyphs.unknown} {counted(left, 'file')} of unknown origin not marked.")
    between = sum(bool(change.note) for change in difference)
    if between:
        said.append(f"{glyphs.warning} {counted(between, 'file')} also changed in between.")
    return tuple(said)


# --- Requests ------------------------------------------------------------------------------------


def undo(entry: Entry | None, marks: Marks) -> Request | None:
    """What `u` asks for: the marked set, or what the row stands for."""
    parts = tuple(marks.values())
    if not parts:
        turn = entry.turn if entry is not None else None
        if entry is None or turn is None or not turn.recorded:
            return None
        if entry.step is not None and entry.step.calls:
            return Request("undo", step=entry.step.id)
        parts = tuple(of_row(entry).values()) or (Part(turn.id),)
    if len(parts) == 1 and not (parts[0].path or parts[0].call):
        return Request("undo", turn=parts[0].turn)
    return Request("undo", parts=parts)


def redo(entry: Entry, operations: Sequence[Operation]) -> Request | None:
    """What `U` asks for: the newest undo of the row's turn that was not put back yet.

    For the row of a file one that wrote it, if there is any.
    """
    turn = entry.turn
    if turn is None:
        return None
    standing = [
        operation
        for operation in reversed(operations)
        if operation.kind == "undo"
        and operation.state == "done"
        and (turn.id in operation.targets or any(name == turn.id for name, _ in operation.takes))
    ]
    if entry.change is not None:
        path = entry.change.path
        own = [o for o in standing if any(move.path == path for move in o.moves)]
        standing = own or standing
    return Request("redo", op=standing[0].id) if standing else None
