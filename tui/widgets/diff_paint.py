"""The cells of a diff's lines: which part of a text is seen, and what colours stand on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from takeback.tui import highlight
from takeback.tui.diffs import Kind
from takeback.tui.highlight import Family, Token
from takeback.tui.widgets.cells import cell_len
from takeback.tui.widgets.styles import style_of
from takeback.tui.words import Span

KINDS: tuple[Kind, ...] = ("file", "note", "hunk", "same", "added", "removed")
COMPONENTS = {
    *(f"diff--{kind}" for kind in KINDS),
    *(f"diff--code-{family}" for family in highlight.ROLES),
    "diff--added-word", "diff--removed-word", "diff--number", "diff--head", "diff--head-focus",
    "diff--match", "diff--current",
}  # fmt: skip
CSS = """
DiffPane {
    height: 1fr; background: $background; color: $foreground;
    scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1;
    & .diff--head { background: $panel; color: $foreground; text-style: bold; }
    & .diff--head-focus {
        background: $tb-cursor; color: $tb-cursor-text; text-style: $tb-cursor-style;
    }
    & .diff--file { text-style: bold; background: $panel; }
    & .diff--note { color: $tb-muted; }
    & .diff--hunk { color: $accent; }
    & .diff--number { color: $tb-muted; }
    & .diff--added { color: $tb-added; background: $tb-added-ground; }
    & .diff--removed { color: $tb-removed; background: $tb-removed-ground; }
    & .diff--added-word {
        color: $tb-added; background: $tb-added-word; text-style: $tb-added-word-style;
    }
    & .diff--removed-word {
        color: $tb-removed; background: $tb-removed-word; text-style: $tb-removed-word-style;
    }
    & .diff--match { color: $tb-warning; text-style: reverse; }
    & .diff--current { color: $primary; text-style: bold reverse underline; }
"""
CSS += "\n".join(
    f"& .diff--code-{name} {{ color: ${role}; }}" for name, role in highlight.ROLES.items()
)
CSS += "\n}\n"


@dataclass(frozen=True, slots=True)
class Look:
    """What stands on one character.

    Attributes:
        family: what it is in its language; None also where the language is not known.
        word: it is part of a word that differs.
        match: "" or the match of a search, "match" or "current".
        selected: with the mouse.
    """

    family: Family | None = None
    word: bool = False
    match: str = ""
    selected: bool = False


class Styles:
    """The styles of a pane, made when they are first needed; a new theme begins anew."""

    def __init__(self, pane: Widget) -> None:
        self._pane = pane
        self._made: dict[object, Style] = {}

    def clear(self) -> None:
        self._made.clear()

    def plain(self, name: str) -> Style:
        """The style of a part of the pane."""
        found = self._made.get(name)
        if found is None:
            found = self._made[name] = style_of(self._pane, f"diff--{name}")
        return found

    def of(self, kind: Kind, look: Look, lexed: bool) -> Style:
        """The style of a character in a line.

        Args:
            lexed: the line's language is known: then its plain text is not coloured as a whole.
        """
        key = (kind, look, lexed)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._make(kind, look, lexed)
        return found

    def _make(self, kind: Kind, look: Look, lexed: bool) -> Style:
        if look.match:
            style = self.plain(look.match)
        else:
            name = f"{kind}-word" if look.word and kind in ("added", "removed") else kind
            style = self.plain(name)
            if lexed:
                ground = self._pane.get_visual_style(f"diff--{name}").background
                text = self._pane.get_visual_style(
                    f"diff--code-{look.family}" if look.family else "diff--same"
                ).foreground
                # On a ground of the terminal's own colours only the line's colour is sure.
                if text and ground and (ground.ansi is None or name == "same"):
                    style += Style(color=highlight.legible(text, ground).rich_color)
                if look.family == "comment":
                    style += Style(italic=True)
        if look.selected:
            style += self._pane.screen.get_component_rich_style("screen--selection")
        return style


def seen(text: str, left: int, width: int) -> tuple[int, int, str]:
    """The part of a text between two columns.

    Returns:
        The first character of it, the blanks that stand before it, and the part itself.
    """
    if text.isascii():
        return left, 0, text[left : left + width]
    column = start = 0
    while start < len(text) and column < left:
        column += cell_len(text[start])
        start += 1
    while start and start < len(text) and cell_len(text[start]) == 0:
        start += 1  # What belongs to a character that is out of sight.
    before = column - left if column > left else 0
    end, room = start, width - before
    while end < len(text):
        room -= cell_len(text[end])
        if room < 0:
            break
        end += 1
    return start, before, text[start:end]


def looks(
    start: int,
    length: int,
    tokens: Sequence[Token],
    marks: Sequence[Span],
    matches: Sequence[tuple[int, int, bool]],
    selected: Span,
) -> list[Look]:
    """What stands on each of some characters of a line, from `start` on."""
    families: list[Family | None] = [None] * length
    for first, end, family in tokens:
        for at in range(max(0, first - start), min(length, end - start)):
            families[at] = family
    word, match = [False] * length, [""] * length
    for first, end in marks:
        for at in range(max(0, first - start), min(length, end - start)):
            word[at] = True
    for first, end, current in matches:
        for at in range(max(0, first - start), min(length, end - start)):
            match[at] = "current" if current else "match"
    first, end = selected
    return [
        Look(families[at], word[at], match[at], first <= start + at < end) for at in range(length)
    ]


def segments(text: str, found: Sequence[Look], style: Callable[[Look], Style]) -> list[Segment]:
    """A text with what stands on it, as few segments as that takes."""
    out = []
    at = 0
    for look, group in groupby(found):
        end = at + sum(1 for _ in group)
        out.append(Segment(text[at:end], style(look)))
        at = end
    return out
