"""The rows of the timeline: the conversation as it went, newest turn first. Pure.

A turn is a heading, what was asked, the agent's answers, its calls and what they changed. What is
long is folded; a fold has a key, by which it is opened and shut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from takeback.engine.facts import HARMLESS_REASONS
from takeback.engine.model import Session, Step, Turn
from takeback.tui import conversation, keys, past, present, timeline_parts
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, safe
from takeback.tui.timeline_model import Entry, Piece, View, pieces
from takeback.tui.widgets.cells import cell_len
from takeback.tui.widgets.row_list import Role, Row, Span

LONG = 8
"""Parts of an older turn up to which all are shown."""
_FIRST = 3
_FOUND_LINES = 20


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


def entries(
    session: Session, view: View, known: dict[str, list[Entry]] | None = None
) -> list[Entry]:
    """Every row of a session, newest turn first.

    Args:
        known: the rows of turns that were made for this view already; new ones are added.
    """
    known = {} if known is None else known
    found: list[Entry] = []
    last = ""
    for turn in reversed(session.turns):
        block = known.get(turn.id)
        if block is None:
            block = known[turn.id] = _block(turn, view, turn is session.turns[-1])
        if not block:
            continue
        name = day(turn.begun_ns, view.now_ns)
        if name != last:
            text = f"{view.glyphs.rule} {name} "
            found.append(Entry(Row(f"day:{turn.id}", (Span(text, "muted"),), still=True)))
            last = name
        found.extend(block)
    return found


# --- A turn --------------------------------------------------------------------------------------


def kept(
    session: Session, view: View, before: Session, seen: View, known: Mapping[str, list[Entry]]
) -> dict[str, list[Entry]]:
    """The rows of those turns that are the same as when the session was looked at before.

    Args:
        seen: how it was looked at then, and `known` the rows that were made.
    """
    if replace(seen, now_ns=view.now_ns, later=view.later) != view:
        return {}
    old = {turn.id: turn for turn in before.turns}
    out = {}
    for turn in session.turns:
        was, block = old.get(turn.id), known.get(turn.id)
        if was is None or block is None or turn != was:
            continue
        if (turn is session.turns[-1]) != (was is before.turns[-1]):
            continue
        names = [(turn.id, change.path) for change in turn.changes]
        if all(view.later.get(n, ())[:2] == seen.later.get(n, ())[:2] for n in names):
            out[turn.id] = block
    return out


def _block(turn: Turn, view: View, is_newest: bool) -> list[Entry]:
    """The rows of a turn; none where nothing of it holds the words that are looked for."""
    parts = list(pieces(turn))
    if view.words:
        return _matching(turn, parts, view)
    heading = _heading(turn, view, f"turn:{turn.id}")
    out = [heading, *_prompt(turn, view, heading.row), *_notes(turn, view)]
    shown = parts
    by_hand = view.fold(f"turn:{turn.id}")
    if by_hand is False:
        shown = []
    elif by_hand is None and not is_newest and not view.fits and len(parts) > LONG:
        shown = _first_files(parts)
    for at, piece in enumerate(shown):
        out += timeline_parts.rows(turn, piece, at == len(parts) - 1, view)
    if len(shown) < len(parts):
        seen = {id(piece) for piece in shown}
        out.append(_more(turn, [piece for piece in parts if id(piece) not in seen], view))
    elif not parts:
        words = "nothing yet" if turn.state == "running" else "no file changed"
        words = words if turn.recorded else past.NOTHING
        row = Row(f"none:{turn.id}", (Span(words, "muted"),), indent=3)
        out.append(Entry(row, "note", turn))
    return out


def _first_files(parts: Sequence[Piece]) -> list[Piece]:
    """What is shown of a long turn: who looks back wants to know the files, and their commands."""
    files = [piece for piece in parts if piece.change is not None][:_FIRST]
    commands = {piece.call.id for piece in files if piece.nested and piece.call is not None}
    names = {id(piece) for piece in files}
    return [
        piece
        for piece in parts
        if id(piece) in names
        or (piece.change is None and piece.call is not None and piece.call.id in commands)
    ]


def fitting(session: Session, view: View) -> View:
    """The view, which says whether the session has room on the screen with no turn folded."""
    usual = replace(view, words="", opened={}, every=None, fits=True)
    left = view.height
    for turn in reversed(session.turns):
        # So many lines at least: most sessions are told to be too long without making a row.
        left -= 1 + len(turn.changes) + sum(bool(call.command) for call in turn.calls)
        if left < 0:
            return replace(view, fits=False)
    return replace(view, fits=len(entries(session, usual)) <= view.height)


def _heading(turn: Turn, view: View, fold: str = "", hit: bool = False) -> Entry:
    glyphs = view.glyphs
    text = first_line(turn.prompt, 300)
    if not text:
        text = next((first_line(call.command, 200) for call in turn.calls if call.command), "")
        text = f"$ {text}" if text else "(no prompt)"
    at = time.strftime("%H:%M", time.localtime(turn.begun_ns // 1_000_000_000))
    plus = sum(change.plus or 0 for change in turn.changes)
    minus = sum(change.minus or 0 for change in turn.changes)
    # Two of each file tell what is shown, which is the first one and whether there are more.
    known = (view.later.get((turn.id, c.path), ()) for c in turn.changes if not c.undone)
    later = {n for turns in known for n in turns[:2]}
    words, role = _state(turn, glyphs)
    row = Row(
        f"turn:{turn.id}",
        (
            Span(f"Turn {turn.n}" if turn.recorded else "Turn", "title"),
            Span(f"  {at}  ", "muted"),
            Span(text, "title"),
        ),
        (
            timeline_parts.numbers(plus, minus, glyphs),
            Span(words, role),
            Span(timeline_parts.later_words(sorted(later), glyphs), "warning"),
        ),
        head=True,
        loose=True,
    )
    return Entry(row, "turn", turn, fold=fold, hit=hit)


def _state(turn: Turn, glyphs: Glyphs) -> tuple[str, Role]:
    """What is special about a turn, and how much it matters."""
    words: list[str] = []
    role: Role = "muted"
    if not turn.recorded:
        return ", ".join([past.BEFORE, *(["interrupted"] * (turn.state == "interrupted"))]), role
    if turn.undone:
        words.append(f"{glyphs.undone} undone")
        role = "undone"
    elif any(s.undone for change in turn.changes for s in change.segments):
        words.append(f"{glyphs.undone} partly undone")
        role = "undone"
    if turn.background:
        words.append("goes on in the background")
    if turn.state == "interrupted":
        words.append("interrupted")
    if turn.expired:
        words.append("expired")
    if not turn.complete and turn.state != "running":
        words.append(f"{glyphs.warning} not fully captured")
    if turn.expired or (not turn.complete and turn.state != "running"):
        role = "warning"
    if turn.state == "running":
        words.insert(0, f"{glyphs.running} running")
        role = "running"
    return ", ".join(words), role


_SPARED = 40
"""Cells of a prompt that may be cut from its heading without a line below for the whole."""


def _prompt(turn: Turn, view: View, heading: Row) -> list[Entry]:
    """The prompt, where the heading has not room for all of it."""
    if not turn.prompt.strip():
        return []
    lines = conversation.prompt(turn.prompt, view.width - 3)
    taken = sum(cell_len(span.text) for span in heading.lead)
    taken += sum(cell_len(span.text) + 2 for span in heading.cells if span.text)
    # A few words that are missing are worth no line of their own: the pane can be made wider.
    one = "\n" not in turn.prompt.strip()
    if one and taken <= view.width + _SPARED:
        return []
    fold = f"prompt:{turn.id}"
    edge = Span(f"{view.glyphs.bar} ", "muted")
    if not view.fold(fold):
        words = "the whole prompt"
        if not one:
            words = f"{counted(len(lines) - 1, 'more line')} of the prompt"
        lead = (edge, Span(f"{view.glyphs.more} {words}", "muted"))
        return [Entry(Row(fold, lead, indent=1), "more", turn, fold=fold)]
    return [
        Entry(Row(f"{fold}:{at}", (edge, *line), indent=1), "prompt", turn, fold=fold)
        for at, line in enumerate(lines)
    ]


def _notes(turn: Turn, view: View) -> Iterator[Entry]:
    """What was not captured, and other things that must not go unseen."""
    sign = view.glyphs.warning
    for at, note in enumerate(turn.notes):
        lead = (Span(f"{sign} {safe(note)}", "warning"),)
        yield Entry(Row(f"note:{turn.id}:{at}", lead, indent=1), "note", turn)
    items = turn.not_captured
    if not items:
        return
    harmless = all(item.reason in HARMLESS_REASONS for item in items)
    role: Role = "muted" if harmless else "warning"
    fold = f"missed:{turn.id}"
    lines = [line.strip() for line in present.not_captured_lines(items)]
    if len(items) > 1 and not view.fold(fold):
        first, rest = " ".join(lines[1].split()), len(items) - 1
        said = Span(f"{sign} not captured: {first}", role)
        more = Span(f"  {view.glyphs.more} {rest} more", "muted")
        yield Entry(Row(fold, (said, more), indent=1), "more", turn, fold=fold)
        return
    for at, line in enumerate(lines[1:]):
        lead = (Span(f"{sign} not captured: {' '.join(line.split())}", role),)
        key = fold if len(items) == 1 else f"{fold}:{at}"
        opened = fold if len(items) > 1 else ""
        yield Entry(Row(key, lead, indent=1), "note", turn, fold=opened)


def _more(turn: Turn, hidden: Sequence[Piece], view: View) -> Entry:
    """The line in the place of what a folded turn hides."""
    calls = len({piece.call.id for piece in hidden if piece.call is not None})
    files = len({piece.change.path for piece in hidden if piece.change is not None})
    answers = sum(piece.step is not None for piece in hidden)
    words = [counted(calls, "more call")] if calls else []
    words += [counted(answers, "answer")] if answers else []
    words += [counted(files, "file")] if files else []
    more = keys.words("({turns.open})")
    lead = (Span(f"{view.glyphs.folded} {', '.join(words)}", "muted"), Span(f"  {more}", "muted"))
    fold = f"turn:{turn.id}"
    return Entry(Row(f"more:{turn.id}", lead, indent=1), "more", turn, fold=fold)


# --- Filter --------------------------------------------------------------------------------------


def _matching(turn: Turn, parts: Sequence[Piece], view: View) -> list[Entry]:
    """The rows of a turn that hold the words, below its heading."""
    words, glyphs = view.words, view.glyphs
    found: list[Entry] = []
    command: Piece | None = None
    for piece in parts:
        if piece.step is not None:
            found += _said_with(turn, piece.step, view)
        elif piece.change is not None:
            tool = piece.call.tool if piece.call is not None and not piece.nested else ""
            if words in f"{safe(tool)} {safe(piece.change.path)}".casefold():
                if piece.nested and command is not None and command.call is piece.call:
                    # Without its command, a file would seem to belong to the line above.
                    found.append(timeline_parts.call_row(turn, command, glyphs.branch, view))
                    command = None
                found.append(timeline_parts.change_row(turn, piece, glyphs.branch, view, True))
        elif piece.call is not None:
            call = piece.call
            texts = [safe(call.tool), safe(call.command), *map(safe, call.paths)]
            command = piece
            if any(words in text.casefold() for text in texts):
                command = None
                found.append(timeline_parts.call_row(turn, piece, glyphs.branch, view, True))
    hit = words in safe(turn.prompt).casefold() or words == f"turn {turn.n}"
    return [_heading(turn, view, hit=hit), *found] if found or hit else []


def _said_with(turn: Turn, step: Step, view: View) -> list[Entry]:
    """The lines of an answer that hold the words; its first where they stand across two."""
    if view.words not in step.text.casefold():
        return []
    edge = Span(f"{view.glyphs.branch} ", "muted")
    lines = conversation.answer(step.text, view.width - 3, view.glyphs)
    texts = ["".join(span.text for span in line).casefold() for line in lines]
    hits = [at for at, text in enumerate(texts) if view.words in text][:_FOUND_LINES]
    hits = hits or [0] * bool(lines)
    return [timeline_parts.text_row(turn, step, at, edge, lines[at], "", True) for at in hits]
