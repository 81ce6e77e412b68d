"""The rows of the sessions screen: newest first, by day. Pure."""

from __future__ import annotations

import time
from collections.abc import Sequence

from takeback.engine.model import Session
from takeback.tui import present
from takeback.tui.documents import files_of
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import first_line, safe
from takeback.tui.timeline_rows import day
from takeback.tui.widgets.row_list import Row, Span


def title_of(session: Session) -> str:
    """The title of a session, or its first prompt."""
    prompts = (first_line(turn.prompt) for turn in session.turns if turn.prompt)
    return first_line(session.title) or next(prompts, "") or f"Session {safe(session.id)}"


def rows(sessions: Sequence[Session], glyphs: Glyphs, now_ns: int, words: str = "") -> list[Row]:
    """Every session that holds the words, newest first."""
    found: list[Row] = []
    last = ""
    for session in reversed(sessions):
        title = title_of(session)
        if words and words not in f"{title} {safe(session.agent)}".casefold():
            continue
        name = day(session.begun_ns, now_ns)
        if name != last:
            text = f"{glyphs.rule} {name} "
            found.append(Row(f"day:{name}", (Span(text, "muted"),), still=True))
            last = name
        at = time.strftime("%H:%M", time.localtime(session.begun_ns // 1_000_000_000))
        lead = (Span(f"{at}  ", "muted"), Span(f"{safe(session.agent):<8}  "), Span(title, "title"))
        cells = (
            Span(f"{len(session.turns)} turns"),
            Span(f"{files_of(session)} files"),
            Span(present.STATES[session.state]),
        )
        found.append(Row(f"session:{session.id}", lead, cells, head=True))
    return found
