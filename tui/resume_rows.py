"""The choice of how to go on from before a turn, as rows and sentences. Pure."""

from __future__ import annotations

import os
from dataclasses import dataclass

from takeback.engine.agents.resume import Way
from takeback.engine.model import Turn
from takeback.tui import keys, resuming
from takeback.tui.text import first_line, quoted, safe
from takeback.tui.widgets.row_list import Row, Span


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be chosen.

    Attributes:
        turn: the conversation goes on from before it.
        root: the project's folder, from which folders are told.
        copies: the agent can make a copy that ends there.
        stands: something of this turn or of later ones of its session can be taken back first.
    """

    turn: Turn
    way: Way
    root: bytes
    copies: bool = False
    stands: bool = False


def named(turn: Turn) -> str:
    """A turn within a sentence."""
    prompt = quoted(first_line(turn.prompt, 40)) if turn.prompt.strip() else "this prompt"
    return f"turn {turn.n}" if turn.n else prompt


def title(offer: Offer) -> str:
    prompt = first_line(offer.turn.prompt, 200)
    number = f"turn {offer.turn.n}" if offer.turn.n else "before takeback"
    return "  ".join([f"Conversation: {number}", *([quoted(prompt)] if prompt else [])])


def rows(offer: Offer) -> list[Row]:
    """What can be done, and the command that does it."""
    way, before = offer.way, f"before {named(offer.turn)}"
    choices = [("only", "Conversation only", "files stay as they are")]
    if offer.stands:
        choices.append(("both", "Files and conversation", "first the undo of the files"))
    if offer.copies and not way.exact:
        choices.append(("copy", "A copy of it", f"{way.title} makes one that ends there"))
    out = [_head("go", f"Go on in {way.title} from {before}")]
    out += [
        Row(key, (Span(f"{name:<24}", "agent"), Span(text)), indent=2)
        for key, name, text in choices
    ]
    out += [Row("gap", (Span(""),), still=True), _head("hand", "The command")]
    out.append(Row("command", (Span(safe(way.command(offer.root)), "code"),), indent=2))
    todo = resuming.then(way) or f"nothing: it is as it was {before}"
    out += [Row("gap:then", (Span(""),), still=True), _head("then", "To do there")]
    out.append(Row("then", (Span(todo),), indent=2))
    return out


def _head(key: str, text: str) -> Row:
    return Row(f"head:{key}", (Span(text, "title"),), head=True, still=True)


def about(offer: Offer, row: str) -> str:
    """What a row does, and what is left to do then."""
    way, turn = offer.way, named(offer.turn)
    where = "the project's folder"
    if way.folder and os.path.realpath(way.folder) != os.path.realpath(offer.root):
        where = safe(way.folder)
    todo = resuming.then(way)
    left = f"There, {todo}." if todo else f"It goes on as it was before {turn}."
    if row == "only":
        return f"Starts {way.title} in {where}; takeback waits until you leave it. {left}"
    if row == "both":
        return (
            f"Shows what the undo of {turn} and of the later turns of its session takes back; "
            "once that is done, the conversation is opened from here."
        )
    if row == "copy":
        return (
            f"{way.title} copies the conversation up to before {turn}, and the copy is opened. "
            "The conversation itself stays as it is."
        )
    if row == "then":
        return left
    if row == "command":
        key = keys.words("{resume.copy} copies it")
        return f"{safe(way.command(offer.root))}  ({key}.) {left}"
    return ""


def line(title: str, leads: bool) -> str:
    """The line of the undo panel that says whether the conversation is opened as well."""
    both = f"files and conversation ({title})"
    choices = f" files only  [{both}]" if leads else f"[files only]  {both}"
    return keys.words(f"{{undo.both}}: {choices}")
