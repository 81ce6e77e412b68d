"""The sentences around the timeline: about a session, about a row. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from takeback.engine.model import Call, Session, Turn
from takeback.tui import conversation, past, present
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, joined, safe
from takeback.tui.timeline_model import Entry
from takeback.tui.widgets.cells import cell_len, fit

if TYPE_CHECKING:
    from takeback.engine.undo.upcoming import Upcoming

Later = Mapping[tuple[str, bytes], tuple[int, ...]]


def details(entry: Entry, later: Later | None = None) -> tuple[str, ...]:
    """Sentences about a row, for below the list and where there is no diff.

    Args:
        later: the later turns that edit a file, by turn and path.
    """
    turn, call = entry.turn, entry.call
    if turn is None:
        return ()
    if entry.kind == "call" and call is not None:
        words = _call(call, bool(entry.changes) or not turn.recorded)
        return words if turn.recorded else (*words, past.NOTHING)
    if not turn.recorded:
        return (f"{present.when(turn.begun_ns)}.", past.NOTHING)
    if entry.change is not None:
        change = entry.change
        said = f"{safe(change.path)}: {present.evidence_words(change, turn.calls)}"
        last = next((one for one in reversed(turn.calls) if one.id in change.call_ids), None)
        said += f", {present.clock(last.ended_ns)}" if last is not None and last.ended_ns else ""
        said += ", taken back" if change.undone else ""
        turns = later.get((turn.id, change.path), ()) if later and not change.undone else ()
        if turns:
            names = [str(n) for n in turns[:5]] + (["more"] if len(turns) > 5 else [])
            said += f"; edited later by turn{'s' if len(turns) > 1 else ''} {joined(names)}"
        return (said,)
    if entry.step is not None:
        files = counted(len(entry.step.changes), "file") if entry.step.changes else "no file"
        number = next((at for at, one in enumerate(turn.steps, 1) if one is entry.step), 0)
        return (f"Turn {turn.n}, step {number} of {len(turn.steps)}: {files} changed.",)
    about = [_about(turn), *(safe(note) for note in turn.notes)]
    about += [line.strip() for line in present.not_captured_lines(turn.not_captured)]
    return tuple(about)


def _call(call: Call, changed: bool) -> tuple[str, ...]:
    """What a call did, when, and what came of it."""
    paths = [safe(path) for path in call.paths[:3]]
    paths += [f"{len(call.paths) - 3} more"] if len(call.paths) > 3 else []
    what = first_line(call.command, 200) or joined(paths)
    name, at = present.call_name(call), present.clock(call.begun_ns)
    said = f"{name}, {at}: {what}" if what else f"{name}, {at}"
    state = {"running": "still running", "failed": "failed", "lost": "its end is not known"}
    words = [said + (f" ({state[call.state]})" if call.state in state else "") + "."]
    if not changed and call.state != "running":
        words.append("No file changed.")
    return tuple(words)


def beside(entry: Entry, width: int) -> tuple[str, ...]:
    """What stands beside a row that has no difference to show."""
    if entry.step is not None:
        lines = conversation.answer(entry.step.text, width)
    elif entry.turn is not None and entry.kind in ("turn", "prompt") and not entry.changes:
        lines = conversation.prompt(entry.turn.prompt, width)
    else:
        return details(entry)
    text = ["".join(span.text for span in line) for line in lines]
    return (*details(entry), "", *text)


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a session holds."""

    turns: int
    steps: int
    files: int
    agent: int
    unknown: int


def counts(session: Session) -> Counts:
    """Count a session; a file that is of both classes counts as agent-edited."""
    paths = {c.path for turn in session.turns for c in turn.changes}
    agent = {c.path for t in session.turns for c in t.changes if c.origin == "agent-edited"}
    steps = sum(len(turn.steps) for turn in session.turns)
    return Counts(len(session.turns), steps, len(paths), len(agent), len(paths) - len(agent))


def headline(session: Session, found: Counts, glyphs: Glyphs) -> list[tuple[str, int]]:
    """A session in a few words, and which of them can be left out first: the highest number."""
    state = present.STATES[session.state] if session.recorded else past.BEFORE
    parts = [
        (first_line(session.title, 60) or f"Session {safe(session.id)}", 0),
        (safe(session.agent), 5),
        (counted(found.turns, "turn"), 2),
        (counted(found.steps, "step"), 4),
        (counted(found.files, "file") if session.recorded else "", 2),
        (f"{glyphs.agent} {found.agent} agent" if found.agent else "", 4),
        (f"{glyphs.unknown} {found.unknown} unknown" if found.unknown else "", 3),
        (f"{glyphs.running} {state}" if session.state == "running" else state, 1),
    ]
    return [(text, rank) for text, rank in parts if text]


_LEAST_TITLE = 24


def fitted(parts: Sequence[tuple[str, int]], width: int) -> str:
    """The parts of a headline that fit; the first one is shortened at last."""
    left = list(parts)

    def taken() -> int:
        first = min(cell_len(left[0][0]), _LEAST_TITLE) if left else 0
        return first + sum(cell_len(text) + 2 for text, _ in left[1:])

    while len(left) > 1 and taken() > width:
        left.remove(max(left[1:], key=lambda part: part[1]))
    rest = "".join(f"  {text}" for text, _ in left[1:])
    first = left[0][0] if left else ""
    room = max(0, width - cell_len(rest))
    return (first if cell_len(first) <= room else fit(first, room).rstrip()) + rest


def next_words(undo: Upcoming | None, redo: Upcoming | None) -> str:
    """What undo and redo would take next: ``next undo: turn 8 (1 file)``."""
    said = [f"next undo: {_upcoming(undo)}"] if undo is not None else []
    said += [f"next redo: {_upcoming(redo)}"] if redo is not None else []
    return "   ".join(said)


def _upcoming(found: Upcoming) -> str:
    target = safe(found.target.removeprefix("undo of "))
    if found.running:
        return f"{target}, which still runs"
    if found.stopped:
        return f"{target}, which asks: unknown origin only"
    return f"{target} ({counted(found.files, 'file')})"


def _about(turn: Turn) -> str:
    """What is behind a turn, by class."""
    found = present.by_class(turn.changes)
    parts = [
        f"{counted(len(changes), 'file')} {words}"
        for origin, words in (("agent-edited", "agent-edited"), ("unknown", "of unknown origin"))
        if (changes := found.get(origin))
    ]
    words = ", ".join(parts) or "no file changed"
    return f"Turn {turn.n}, {present.when(turn.begun_ns)}: {words}."
