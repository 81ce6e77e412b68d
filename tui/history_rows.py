"""The rows of the history: every operation, newest first, and what is said of one. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from takeback.engine.model import Change, Operation, PathChange, Session, Turn
from takeback.tui import keys, present
from takeback.tui.glyphs import Glyphs
from takeback.tui.session_rows import title_of
from takeback.tui.text import counted, first_line, quoted, safe
from takeback.tui.timeline_rows import day
from takeback.tui.widgets.row_list import Role, Row, Span

if TYPE_CHECKING:
    from takeback.engine.undo.upcoming import Upcoming

EMPTY = "No operation was applied yet. {common.undo} takes back the last turn."
NOTHING_MATCHES = "No operation matches. {common.go_back} clears the filter."


def by_id(sessions: Iterable[Session]) -> dict[str, Turn]:
    """Every turn by its id."""
    return {turn.id: turn for session in sessions for turn in session.turns}


def what(operation: Operation, turns: Mapping[str, Turn]) -> str:
    """What an operation was about: ``turn 9 “now delete it” (3 of 6 files)``."""
    meant = [turns[name] for name in operation.targets if name in turns]
    if operation.kind == "restore":
        return f"to before {safe(operation.target)}"
    if operation.kind == "goto":
        number, _, side = operation.target.removeprefix("turn ").partition("@")
        known = next((turn for turn in turns.values() if str(turn.n) == number), None)
        name = present.turn_title(known, 60) if known is not None else f"turn {safe(number)}"
        return f"{'before' if side == 'before' else 'after'} {name}"
    target = operation.target.removeprefix("undo of ") if operation.reverses else operation.target
    if len(meant) != 1 or not target.startswith("turn "):
        return safe(target)
    (turn,) = meant
    if operation.reverses:
        return f"{present.turn_title(turn, 60)}, undone by {safe(operation.reverses)}"
    done, whole = len(operation.moves), len(turn.changes)
    part = f" ({done} of {counted(whole, 'file')})" if done < whole else ""
    return present.turn_title(turn, 60) + part


def state(operation: Operation, here: bool, glyphs: Glyphs) -> Span:
    """Whether an operation still holds; the files stand as the newest one left them."""
    if operation.state == "failed":
        return Span(f"{glyphs.failed} failed", "warning")
    if here:
        return Span(f"{glyphs.cursor} here", "agent")
    if operation.state == "undone":
        return Span(f"{glyphs.undone} undone", "undone")
    if operation.back:
        return Span(f"{glyphs.undone} partly undone", "undone")
    return Span(f"{glyphs.done} done", "muted")


def sign(operation: Operation, glyphs: Glyphs) -> str:
    return {"undo": glyphs.undone, "redo": glyphs.again}.get(operation.kind, glyphs.back)


def rows(
    operations: Sequence[Operation],
    sessions: Sequence[Session],
    glyphs: Glyphs,
    now_ns: int,
    words: str = "",
) -> list[Row]:
    """Every operation that holds the words, newest first, by day; they come oldest first."""
    found: list[Row] = []
    last = ""
    turns = by_id(sessions)
    owners = {session.id: session for session in sessions}
    newest = operations[-1].id if operations else ""
    for one in reversed(operations):
        target = what(one, turns)
        if words and words not in _text(one, target, owners.get(one.session)).casefold():
            continue
        name = day(one.at_ns, now_ns)
        if name != last:
            text = f"{glyphs.rule} {name} "
            found.append(Row(f"day:{name}", (Span(text, "muted"),), still=True))
            last = name
        at = time.strftime("%H:%M", time.localtime(one.at_ns // 1_000_000_000))
        role: Role = "undone" if one.kind == "undo" else "title"
        lead = (
            Span(f"{at}  ", "muted"),
            Span(f"{sign(one, glyphs)} {one.kind:<7}  ", role),
            Span(target),
        )
        session = owners.get(one.session)
        cells = (
            Span(counted(len(one.moves), "file")),
            state(one, one.id == newest, glyphs),
            Span(safe(session.agent) if session is not None else "", "muted"),
        )
        found.append(Row(f"operation:{one.id}", lead, cells, head=True))
    if not found:
        said = keys.words(NOTHING_MATCHES if operations else EMPTY)
        found.append(Row("empty", (Span(said, "muted"),), still=True))
    return found


def _text(operation: Operation, target: str, session: Session | None) -> str:
    """All that the filter looks at."""
    parts = [operation.id, operation.kind, operation.state, target]
    parts += [safe(move.path) for move in operation.moves]
    parts += [session.agent, session.title] if session is not None else []
    return " ".join(parts)


def changes(operation: Operation) -> tuple[Change, ...]:
    """What an operation did, for its diff."""
    return tuple(
        Change(move.path, move.before, move.after, "no-record", (), ()) for move in operation.moves
    )


def _happened(move: PathChange) -> str:
    if move.before.kind == "absent":
        return "A made"
    return "D deleted" if move.after.kind == "absent" else "M written"


def details(
    operation: Operation, sessions: Sequence[Session], most: int, width: int = 0
) -> list[str]:
    """What is said of the operation under the cursor.

    Args:
        most: as many files are listed.
        width: room for several files in a line, 0 for one a line.
    """
    turns = by_id(sessions)
    session = next((one for one in sessions if one.id == operation.session), None)
    head = f"{operation.kind} {what(operation, turns)}"
    at = f"{present.when(operation.at_ns)}:{present.clock(operation.at_ns)[-2:]}"
    owner = [safe(session.agent), quoted(first_line(title_of(session), 40))] if session else []
    lines = [f"{safe(operation.id)}  {at}  {'  '.join(part for part in owner if part)}".rstrip()]
    lines.insert(0, head[0].upper() + head[1:])
    files = [f"{_happened(move)}  {safe(move.path)}" for move in operation.moves]
    shown = files[:most]
    if len(files) > most:
        shown.append(f"and {counted(len(files) - most, 'more file')}")
    if width:
        return [*lines, "   ".join(part.replace("  ", " ", 1) for part in shown)]
    return [*lines, *(f"  {text}" for text in shown)]


def next_words(undo: Upcoming | None, redo: Upcoming | None) -> str:
    """What undo and redo would take next."""
    return f"Next undo: {_next(undo, 'take back')}.  Next redo: {_next(redo, 'put back')}."


def _next(found: Upcoming | None, verb: str) -> str:
    if found is None:
        return f"nothing to {verb}"
    said = present.target_words(found.target.removeprefix("undo of "))
    if found.running:
        return f"{said}, when its session's turn has ended"
    if found.stopped:
        return f"{said} (asks: only files of unknown origin)"
    return f"{said} ({counted(found.files, 'file')})"
