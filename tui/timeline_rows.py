"""The rows of the timeline: each turn with its calls and what changed, newest first. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from takeback.engine.model import Call, Change, Session, Turn
from takeback.tui import present
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, safe
from takeback.tui.widgets.row_list import Role, Row, Span

_CLASS: dict[str, tuple[str, Role]] = {
    "agent-edited": ("agent", "agent"),
    "unknown": ("unknown", "unknown"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A row and what it stands for.

    Attributes:
        changes: what its diff shows.
        kind: what the row is; a change is the only one of its `changes`.
        call: the call, for the row of one.
    """

    row: Row
    turn: Turn | None = None
    changes: tuple[Change, ...] = ()
    kind: Literal["day", "turn", "call", "change"] = "day"
    call: Call | None = None


def details(entry: Entry) -> tuple[str, ...]:
    """Sentences about a row, for below the list and where there is no diff."""
    turn, call = entry.turn, entry.call
    if turn is None:
        return ()
    if entry.kind == "call" and call is not None:
        return (present.call_line(call), *([] if entry.changes else ["No file changed."]))
    if entry.kind == "change":
        (change,) = entry.changes
        return (f"{safe(change.path)}: {present.evidence_words(change, turn.calls)}",)
    words = [_about(turn), *(safe(note) for note in turn.notes)]
    words += [line.strip() for line in present.not_captured_lines(turn.not_captured)]
    return tuple(words)


def newest(sessions: Sequence[Session]) -> Session | None:
    """The session with the newest turn."""
    with_turns = [session for session in sessions if session.turns]
    return max(with_turns, key=lambda session: session.turns[-1].n, default=None)


def day(ns: int, now_ns: int) -> str:
    """A day as people name it."""
    if not ns:
        return "Unknown day"
    there = time.localtime(ns // 1_000_000_000)
    for back, name in ((0, "Today"), (1, "Yesterday")):
        that = time.localtime(now_ns // 1_000_000_000 - back * 86400)
        if there[:3] == that[:3]:
            return f"{name}, {time.strftime('%Y-%m-%d', there)}"
    return time.strftime("%A, %Y-%m-%d", there)


def entries(session: Session, glyphs: Glyphs, now_ns: int) -> list[Entry]:
    """Every row of a session, newest turn first."""
    found: list[Entry] = []
    last = ""
    for turn in reversed(session.turns):
        name = day(turn.begun_ns, now_ns)
        if name != last:
            text = f"{glyphs.rule} {name} "
            found.append(Entry(Row(f"day:{name}", (Span(text, "muted"),), still=True)))
            last = name
        found.append(_turn(turn, glyphs))
        found.extend(_parts(turn, glyphs))
    return found


def _turn(turn: Turn, glyphs: Glyphs) -> Entry:
    text = first_line(turn.prompt, 200) or "(no prompt)"
    at = time.strftime("%H:%M", time.localtime(turn.begun_ns // 1_000_000_000))
    marks = present.turn_marks(turn).replace("[", "").replace("]", "")
    state = Span(marks, _mark_role(turn))
    if turn.undone:
        state = Span(f"{glyphs.undone} {marks}", "undone")
    plus = sum(change.plus or 0 for change in turn.changes)
    minus = sum(change.minus or 0 for change in turn.changes)
    row = Row(
        f"turn:{turn.id}",
        (Span(f"Turn {turn.n}", "title"), Span(f"  {at}  ", "muted"), Span(text, "title")),
        (numbers(plus, minus, glyphs), state),
        head=True,
    )
    return Entry(row, turn, turn.changes, "turn")


def _mark_role(turn: Turn) -> Role:
    if turn.state == "running":
        return "running"
    return "warning" if not turn.complete or turn.expired else "muted"


def numbers(plus: int | None, minus: int | None, glyphs: Glyphs) -> Span:
    """Added and removed lines as a cell."""
    parts = [f"+{plus}"] if plus else []
    parts += [f"{glyphs.minus}{minus}"] if minus else []
    return Span(" ".join(parts), "added")


def _parts(turn: Turn, glyphs: Glyphs) -> Iterator[Entry]:
    """The calls of a turn, each with the changes that are first placed in it; then the rest."""
    first: dict[str, list[Change]] = {}
    every: dict[str, list[Change]] = {}
    order = {call.id: at for at, call in enumerate(turn.calls)}
    left = []
    for change in turn.changes:
        known = sorted((name for name in change.call_ids if name in order), key=order.__getitem__)
        for name in known:
            every.setdefault(name, []).append(change)
        if known:
            first.setdefault(known[0], []).append(change)
        else:
            left.append(change)
    parts: list[tuple[Call | None, Change | None]] = []
    for call in turn.calls:
        mine = first.get(call.id)
        if mine:
            # A command has a line of its own: its files stand below it.
            if call.command:
                parts.append((call, None))
            parts += [(call, change) for change in mine]
        else:
            parts.append((call, None))
    parts += [(None, change) for change in left]
    if not parts:
        row = Row(f"none:{turn.id}", (Span("no file changed", "muted"),), indent=3)
        yield Entry(row, turn, (), "turn")
    for at, (by, made) in enumerate(parts):
        branch = glyphs.last if at == len(parts) - 1 else glyphs.branch
        if made is None:
            assert by is not None
            alone = at + 1 == len(parts) or parts[at + 1][0] is not by
            yield _call(turn, by, tuple(every.get(by.id, ())), branch, alone, glyphs)
        else:
            yield _change(turn, by, made, branch, glyphs)


def _call(
    turn: Turn, call: Call, made: tuple[Change, ...], branch: str, alone: bool, glyphs: Glyphs
) -> Entry:
    what = first_line(call.command, 200) or ", ".join(safe(path) for path in call.paths)
    state = "" if call.state == "done" else call.state
    words = state or ("no change" if alone else "")
    sign = f"{glyphs.none} " if words == "no change" else ""
    row = Row(
        f"call:{turn.id}:{call.id}",
        (Span(f"{branch} ", "muted"), Span(f"{safe(call.tool) or 'call'}  ", "muted"), Span(what)),
        (Span("", "added"), Span(f"{sign}{words}", "warning" if state else "muted")),
        indent=2,
    )
    return Entry(row, turn, made, "call", call)


def _change(turn: Turn, call: Call | None, change: Change, branch: str, glyphs: Glyphs) -> Entry:
    word, role = _CLASS[change.origin]
    sign = glyphs.of(change.origin)
    if change.undone:
        word, role, sign = f"{word}, undone", "undone", glyphs.undone
    letter = present.LETTERS[change.status]
    lead = [Span(f"{branch} ", "muted"), Span(f"{letter} "), Span(safe(change.path), "", True)]
    tool = call.tool if call is not None and not call.command else ""
    if tool:
        lead.insert(1, Span(f"{safe(tool)}  ", "muted"))
    count = Span("binary", "muted") if change.binary else numbers(change.plus, change.minus, glyphs)
    row = Row(
        f"change:{turn.id}:{change.path.hex()}",
        tuple(lead),
        (count, Span(f"{sign} {word}", role)),
        indent=4 if call is not None and call.command else 2,
    )
    return Entry(row, turn, (change,), "change")


def headline(session: Session) -> list[str]:
    """A session in a few words, the least important first."""
    changes = [change for turn in session.turns for change in turn.changes]
    unknown = {change.path for change in changes if change.origin == "unknown"}
    parts = [first_line(session.title, 60) or f"Session {safe(session.id)}", safe(session.agent)]
    parts += [counted(len(session.turns), "turn")]
    parts += [counted(len({change.path for change in changes}), "file")]
    parts += [f"{len(unknown)} unknown"] if unknown else []
    parts += [present.STATES[session.state]]
    return [part for part in parts if part]


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
