"""Conversations from before takeback, in words: they can be read, not taken back. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from takeback.tui import present
from takeback.tui.text import counted, first_line, safe

if TYPE_CHECKING:
    from takeback.engine.agents.conversations import Conversations
    from takeback.engine.model import Session, Turn

BEFORE = "before takeback"
NOTHING = "Before takeback: nothing to take back."
GROUP = "Before takeback: nothing to take back"
NO_UNDO = (
    "takeback was not connected when this was done: there are no versions to go back to. "
    "Nothing was changed."
)
HEADING = "Before takeback, with nothing to take back:"


def named(session: Session) -> Session:
    """A conversation under a name that no recorded session has: one may go on with it."""
    name = f"past:{session.agent}:{session.id}"
    return replace(
        session, id=name, turns=tuple(replace(turn, session=name) for turn in session.turns)
    )


def plain(turn: Turn) -> Turn:
    """A turn of a conversation under the name that its agent knows."""
    return replace(turn, session=turn.session.removeprefix(f"past:{turn.agent}:"))


def session_lines(found: Conversations) -> list[str]:
    """The lines of ``sessions`` below what was recorded, newest first."""
    rows = [
        (
            present.when(item.begun_ns),
            safe(item.agent),
            counted(len(item.turns), "turn"),
            safe(item.id),
            first_line(item.title),
        )
        for item in reversed(found.past)
    ]
    lines = ["", HEADING, *present.columns(rows, "  ")] if rows else []
    if found.unread:
        older = counted(found.unread, "older conversation")
        lines.append(f"  {older} not shown: too much to read at once.")
    return lines + [f"  The conversations of {name} cannot be read." for name in found.failed]


def log_lines(past: Sequence[Session], whole: bool) -> list[str]:
    """The lines of ``log`` below what was recorded.

    Args:
        whole: with each prompt; else only how many conversations there are.
    """
    if not past:
        return []
    if not whole:
        count = counted(len(past), "conversation")
        return ["", f"And {count} from before takeback: 'takeback sessions' lists them."]
    lines: list[str] = []
    for session in past:
        lines += ["", present.session_head(session), f"  {NOTHING}"]
        for turn in session.turns:
            lines.append(f"  \u201c{first_line(turn.prompt)}\u201d  {present.when(turn.begun_ns)}")
            lines += [present.call_line(call, "    ") for call in turn.calls]
            texts = [first_line(step.text) for step in turn.steps if step.text]
            lines += [f"    {texts[-1]}"] if texts else []
    return lines[1:]
