"""The parts of a turn as rows: answers, calls, and what they changed. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from takeback.engine.model import Call, Change, Step, Turn
from takeback.tui import conversation, present
from takeback.tui.conversation import Spans
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, safe
from takeback.tui.timeline_model import Entry, Piece, View
from takeback.tui.widgets.cells import cell_len, fit
from takeback.tui.widgets.row_list import Role, Row, Span

_CLASS: dict[str, tuple[str, Role]] = {
    "agent-edited": ("agent", "agent"),
    "unknown": ("unknown", "unknown"),
}
_OTHERS = "you?"
"""For a change of unknown origin while no call of the agent can have made it."""
_FOLDED_LINES = 2


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


def rows(turn: Turn, piece: Piece, last: bool, view: View) -> Iterator[Entry]:
    branch = view.glyphs.last if last else view.glyphs.branch
    if piece.step is not None:
        yield from _answer(turn, piece.step, branch, last, view)
    elif piece.change is not None:
        yield change_row(turn, piece, branch, view)
    elif piece.call is not None:
        yield call_row(turn, piece, branch, view)


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
        yield text_row(turn, step, at, Span(f"{edge} ", "muted"), line, fold)


def text_row(
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


def call_row(turn: Turn, piece: Piece, branch: str, view: View, hit: bool = False) -> Entry:
    call, glyphs = piece.call, view.glyphs
    assert call is not None
    text = first_line(call.command, 300)
    what = [Span(text, "code")] if text else _paths(call)
    words, role = _call_state(call, piece.made, glyphs)
    if not turn.recorded and call.state == "done":
        # What it changed nobody looked at.
        words = ""
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


def change_row(turn: Turn, piece: Piece, branch: str, view: View, hit: bool = False) -> Entry:
    change, call, glyphs = piece.change, piece.call, view.glyphs
    assert change is not None
    word, role = _CLASS[change.origin]
    if change.evidence in ("outside-calls", "not-by-call"):
        word = _OTHERS
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
