"""The rows of the timeline: the conversation as it went, newest turn first. Pure.

A turn is a heading, what was asked, the agent's answers, its calls and what they changed. What is
long is folded; a fold has a key, by which it is opened and shut.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from takeback.engine.facts import HARMLESS_REASONS
from takeback.engine.model import Call, Change, Session, Step, Turn
from takeback.engine.timeline.timeline import pick
from takeback.tui import conversation, keys, present
from takeback.tui.conversation import Spans
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, safe
from takeback.tui.widgets.cells import cell_len, fit
from takeback.tui.widgets.row_list import Role, Row, Span

_CLASS: dict[str, tuple[str, Role]] = {
    "agent-edited": ("agent", "agent"),
    "unknown": ("unknown", "unknown"),
}
LONG = 8
"""Parts of an older turn up to which all are shown."""
_FIRST = 3
_FOLDED_LINES = 2
_FOUND_LINES = 20

Kind = Literal["day", "turn", "prompt", "text", "call", "change", "more", "note"]


@dataclass(frozen=True, slots=True)
class View:
    """How a session is looked at.

    Attributes:
        width: cells that a line has.
        words: only what holds these is shown; casefolded.
        later: the later turns that edit a file, by turn and path.
        opened: what was unfolded or folded by hand, by the key of the fold.
        every: all is unfolded, all is folded, or (None) as usual.
    """

    glyphs: Glyphs
    now_ns: int
    width: int = 76
    words: str = ""
    later: Mapping[tuple[str, bytes], tuple[int, ...]] = field(default_factory=dict)
    opened: Mapping[str, bool] = field(default_factory=dict)
    every: bool | None = None

    def fold(self, key: str) -> bool | None:
        """Whether a fold is open; None where nobody said so."""
        return self.opened.get(key, self.every)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row and what it stands for.

    Attributes:
        call: the call, for the row of one, and for a change that one call made.
        change: for the row of one.
        step: for a line of an answer.
        fold: what `z` opens and shuts here.
        hit: it holds the words that are looked for.
    """

    row: Row
    kind: Kind = "day"
    turn: Turn | None = None
    call: Call | None = None
    change: Change | None = None
    step: Step | None = None
    fold: str = ""
    hit: bool = False

    @property
    def changes(self) -> tuple[Change, ...]:
        """What the diff of the row shows."""
        if self.turn is None:
            return ()
        if self.change is not None:
            return (self.change,)
        if self.kind == "call" and self.call is not None:
            call = self.call.id
            return tuple(pick(self.turn.changes, lambda segment: call in segment.call_ids))
        if self.step is not None:
            return self.step.changes
        return self.turn.changes


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a turn: an answer, a call, or a change.

    Attributes:
        call: for a change, the only call that it was placed in.
        made: for a call, every change that it had a share in.
        nested: a file that a command changed, below it.
    """

    step: Step | None = None
    call: Call | None = None
    change: Change | None = None
    made: tuple[Change, ...] = ()
    nested: bool = False


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


def pieces(turn: Turn) -> Iterator[Piece]:
    """The parts of a turn in their order.

    A change stands at the call that made it; one of several calls, or of none, at the end.
    """
    placed: dict[str, list[Change]] = {}
    shared: dict[str, list[Change]] = {}
    left = []
    calls = {call.id for call in turn.calls}
    for change in turn.changes:
        for name in change.call_ids:
            shared.setdefault(name, []).append(change)
        if len(change.call_ids) == 1 and change.call_ids[0] in calls:
            placed.setdefault(change.call_ids[0], []).append(change)
        else:
            left.append(change)
    for step in turn.steps:
        if step.text.strip():
            yield Piece(step=step)
        for call in step.calls:
            own = placed.get(call.id, [])
            if call.command or not own:
                yield Piece(call=call, made=tuple(shared.get(call.id, ())))
            for change in own:
                yield Piece(call=call, change=change, nested=bool(call.command))
    for change in left:
        yield Piece(change=change)


# --- A turn --------------------------------------------------------------------------------------


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
    elif by_hand is None and not is_newest and len(parts) > LONG:
        # Who looks back wants to know the files.
        shown = [piece for piece in parts if piece.change is not None][:_FIRST]
    for at, piece in enumerate(shown):
        out += _rows(turn, piece, at == len(parts) - 1, view)
    if len(shown) < len(parts):
        seen = {id(piece) for piece in shown}
        out.append(_more(turn, [piece for piece in parts if id(piece) not in seen], view))
    elif not parts:
        words = "nothing yet" if turn.state == "running" else "no file changed"
        row = Row(f"none:{turn.id}", (Span(words, "muted"),), indent=3)
        out.append(Entry(row, "note", turn))
    return out


def _heading(turn: Turn, view: View, fold: str = "", hit: bool = False) -> Entry:
    glyphs = view.glyphs
    text = first_line(turn.prompt, 300)
    if not text:
        text = next((first_line(call.command, 200) for call in turn.calls if call.command), "")
        text = f"$ {text}" if text else "(no prompt)"
    at = time.strftime("%H:%M", time.localtime(turn.begun_ns // 1_000_000_000))
    plus = sum(change.plus or 0 for change in turn.changes)
    minus = sum(change.minus or 0 for change in turn.changes)
    later = {n for c in turn.changes if not c.undone for n in view.later.get((turn.id, c.path), ())}
    words, role = _state(turn, glyphs)
    row = Row(
        f"turn:{turn.id}",
        (Span(f"Turn {turn.n}", "title"), Span(f"  {at}  ", "muted"), Span(text, "title")),
        (
            numbers(plus, minus, glyphs),
            Span(words, role),
            Span(later_words(sorted(later), glyphs), "warning"),
        ),
        head=True,
        loose=True,
    )
    return Entry(row, "turn", turn, fold=fold, hit=hit)


def _state(turn: Turn, glyphs: Glyphs) -> tuple[str, Role]:
    """What is special about a turn, and how much it matters."""
    words: list[str] = []
    role: Role = "muted"
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


def later_words(turns: Sequence[int], glyphs: Glyphs) -> str:
    """The first later turn that edits the same file, with a "+" if there are more: ``↷ turn 9``."""
    if not turns:
        return ""
    return f"{glyphs.later} turn {turns[0]}{'+' if len(turns) > 1 else ''}"


def numbers(plus: int | None, minus: int | None, glyphs: Glyphs) -> Span:
    """Added and removed lines as a cell."""
    parts = [f"+{plus}"] if plus else []
    parts += [f"{glyphs.minus}{minus}"] if minus else []
    return Span(" ".join(parts), "added")


def _prompt(turn: Turn, view: View, heading: Row) -> list[Entry]:
    """The prompt, where the heading has not room for all of it."""
    if not turn.prompt.strip():
        return []
    lines = conversation.prompt(turn.prompt, view.width - 3)
    taken = sum(cell_len(span.text) for span in heading.lead)
    taken += sum(cell_len(span.text) + 2 for span in heading.cells if span.text)
    if len(lines) == 1 and taken <= view.width:
        return []
    fold = f"prompt:{turn.id}"
    edge = Span(f"{view.glyphs.bar} ", "muted")
    if not view.fold(fold):
        words = "the whole prompt"
        if len(lines) > 1:
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


# --- The parts of a turn -------------------------------------------------------------------------


def _rows(turn: Turn, piece: Piece, last: bool, view: View) -> Iterator[Entry]:
    branch = view.glyphs.last if last else view.glyphs.branch
    if piece.step is not None:
        yield from _answer(turn, piece.step, branch, last, view)
    elif piece.change is not None:
        yield _change(turn, piece, branch, view)
    elif piece.call is not None:
        yield _call(turn, piece, branch, view)


def _answer(turn: Turn, step: Step, branch: str, last: bool, view: View) -> Iterator[Entry]:
    """What the agent said, folded to its first lines."""
    glyphs = view.glyphs
    room = view.width - 3
    lines = [*conversation.answer(step.text, room, glyphs)]
    fold = f"text:{turn.id}:{step.id}"
    hidden = 0
    if len(lines) > _FOLDED_LINES + 1 and not view.fold(fold):
        filled = [line for line in lines if line]
        lines = filled[:_FOLDED_LINES]
        hidden = len(filled) - _FOLDED_LINES
        words = f"  {glyphs.more} {counted(hidden, 'more line')}"
        lines[-1] = (*cut(lines[-1], room - cell_len(words), glyphs.more), Span(words, "muted"))
    elif len(lines) <= _FOLDED_LINES + 1:
        # There is nothing to fold but the turn.
        fold = f"turn:{turn.id}"
    for at, line in enumerate(lines):
        edge = branch if not at else " " if last else glyphs.bar
        yield _said(turn, step, at, Span(f"{edge} ", "muted"), line, fold)


def _said(
    turn: Turn, step: Step, at: int, edge: Span, line: Spans, fold: str, hit: bool = False
) -> Entry:
    row = Row(f"text:{turn.id}:{step.id}:{at}", (edge, *line), indent=1)
    return Entry(row, "text", turn, step=step, fold=fold, hit=hit)


def cut(spans: Spans, width: int, more: str) -> Spans:
    """Spans in at most `width` cells."""
    out: list[Span] = []
    for span in spans:
        length = cell_len(span.text)
        if length <= width:
            out.append(span)
            width -= length
            continue
        if width > 0:
            out.append(Span(fit(span.text, width, more).rstrip(), span.role))
        break
    return tuple(out)


def _call(turn: Turn, piece: Piece, branch: str, view: View, hit: bool = False) -> Entry:
    call, glyphs = piece.call, view.glyphs
    assert call is not None
    text = first_line(call.command, 300)
    what = [Span(text, "code")] if text else _paths(call)
    words, role = _call_state(call, piece.made, glyphs)
    row = Row(
        f"call:{turn.id}:{call.id}",
        (Span(f"{branch} ", "muted"), Span(f"{safe(call.tool) or 'call'}  ", "muted"), *what),
        (Span("", "added"), Span(words, role)),
        indent=1,
    )
    return Entry(row, "call", turn, call, fold=f"turn:{turn.id}", hit=hit)


def _paths(call: Call) -> list[Span]:
    shown = [safe(path) for path in call.paths[:3]]
    more = f", {len(call.paths) - 3} more" if len(call.paths) > 3 else ""
    return [Span(", ".join(shown) + more, "", len(shown) == 1)]


def _call_state(call: Call, made: Sequence[Change], glyphs: Glyphs) -> tuple[str, Role]:
    if call.state == "running":
        return f"{glyphs.running} running", "running"
    if call.state != "done":
        return f"{glyphs.failed} {call.state}", "warning"
    if not made:
        return f"{glyphs.none} no change", "muted"
    own = [s for change in made for s in change.segments if call.id in s.call_ids]
    if own and all(segment.undone for segment in own):
        return f"{glyphs.undone} undone", "undone"
    if any(change.origin == "agent-edited" for change in made):
        return f"{glyphs.agent} agent", "agent"
    return f"{glyphs.unknown} unknown", "unknown"


def _change(turn: Turn, piece: Piece, branch: str, view: View, hit: bool = False) -> Entry:
    change, call, glyphs = piece.change, piece.call, view.glyphs
    assert change is not None
    word, role = _CLASS[change.origin]
    if change.undone:
        word, role = f"{glyphs.undone} undone", "undone"
    elif any(segment.undone for segment in change.segments):
        word, role = f"{glyphs.undone} partly undone", "undone"
    if call is not None and call.state in ("failed", "lost") and not piece.nested:
        word += f", {call.state}"
    edge = f"{glyphs.bar} " if piece.nested else ""
    lead = [Span(f"{edge}{branch} ", "muted")]
    if call is not None and not piece.nested:
        lead.append(Span(f"{safe(call.tool) or 'call'}  ", "muted"))
    lead += [Span(f"{present.LETTERS[change.status]} "), Span(safe(change.path), "", True)]
    if len(change.call_ids) > 1:
        lead.insert(1, Span(f"{len(change.call_ids)} calls  ", "muted"))
    count = Span("binary", "muted") if change.binary else numbers(change.plus, change.minus, glyphs)
    later = () if change.undone else view.later.get((turn.id, change.path), ())
    cells = [count, Span(f"{glyphs.of(change.origin)} {word}", role)]
    if later:
        cells.append(Span(later_words(later, glyphs), "warning"))
    row = Row(
        f"change:{turn.id}:{change.path.hex()}",
        tuple(lead),
        tuple(cells),
        indent=1,
    )
    return Entry(row, "change", turn, call, change, fold=f"turn:{turn.id}", hit=hit)


# --- Filter --------------------------------------------------------------------------------------


def _matching(turn: Turn, parts: Sequence[Piece], view: View) -> list[Entry]:
    """The rows of a turn that hold the words, below its heading."""
    words, glyphs = view.words, view.glyphs
    found: list[Entry] = []
    for piece in parts:
        if piece.step is not None:
            found += _said_with(turn, piece.step, view)
        elif piece.change is not None:
            tool = piece.call.tool if piece.call is not None and not piece.nested else ""
            if words in f"{safe(tool)} {safe(piece.change.path)}".casefold():
                found.append(_change(turn, piece, glyphs.branch, view, True))
        elif piece.call is not None:
            call = piece.call
            texts = [safe(call.tool), safe(call.command), *map(safe, call.paths)]
            if any(words in text.casefold() for text in texts):
                found.append(_call(turn, piece, glyphs.branch, view, True))
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
    return [_said(turn, step, at, edge, lines[at], "", True) for at in hits]
