"""Syntax colours for parts of files: tokens as a few families, and a theme's role for each.

Pygments does the reading. Nothing here fails or takes long: what cannot be read in time is plain.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from textual.color import Color

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

Family = Literal["comment", "keyword", "string", "number", "name", "type", "meta"]
Token = tuple[int, int, Family]
"""From where to where in a line, and what it is."""

ROLES: dict[Family, str] = {
    "comment": "tb-muted",
    "keyword": "accent",
    "string": "success",
    "number": "warning",
    "name": "primary",
    "type": "secondary",
    "meta": "secondary",
}
"""The colour of a theme that a family has: a theme needs no further ones for code."""

LONGEST = 2000
"""Longer lines are left plain: they were made by a machine, and lexers stumble on them."""
AA = 4.5
"""The contrast that text must have with its ground."""
_SECONDS = 0.05
"""What reading one block may take of the processor."""
_FAMILIES: dict[tuple[str, ...], Family] = {
    ("Comment",): "comment",
    ("Comment", "Preproc"): "meta",
    ("Comment", "PreprocFile"): "string",
    ("Keyword",): "keyword",
    ("Keyword", "Type"): "type",
    ("Keyword", "Constant"): "number",
    ("Operator", "Word"): "keyword",
    ("Literal",): "string",
    ("Literal", "Number"): "number",
    ("Name", "Function"): "name",
    ("Name", "Class"): "name",
    ("Name", "Tag"): "keyword",
    ("Name", "Attribute"): "type",
    ("Name", "Builtin"): "type",
    ("Name", "Exception"): "type",
    ("Name", "Constant"): "number",
    ("Name", "Decorator"): "meta",
    ("Name", "Entity"): "number",
    ("Generic", "Heading"): "keyword",
    ("Generic", "Subheading"): "keyword",
}
_PREFERRED = {"pl": "perl", "pm": "perl", "sql": "sql", "inc": "php", "cls": "tex"}
"""Where several languages use one ending, the one that is met most."""


def lexer_for(name: str) -> Lexer | None:
    """The lexer of a file by its name, None for plain text."""
    base = name.rsplit("/", 1)[-1]
    stem, dot, ending = base.rpartition(".")
    return _lexer("x." + ending.lower() if dot and stem else base)


@cache
def _lexer(name: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
    from pygments.lexers.special import TextLexer

    try:
        known = _PREFERRED.get(name.rpartition(".")[2])
        found = get_lexer_by_name(known) if known else get_lexer_for_filename(name)
    except Exception:  # Also what an extension of Pygments raises: colours are not worth a failure.
        return None
    return None if isinstance(found, TextLexer) else found


def warm(names: Iterable[str], most: int = 500) -> None:
    """Load the lexers of files ahead, in the worker: each takes some hundredths of a second."""
    for name in list(dict.fromkeys(names))[:most]:
        lexer_for(name)


@cache
def family(token: _TokenType) -> Family | None:
    """What a token is, None for plain text."""
    path = tuple(token)
    for length in range(len(path), 0, -1):
        found = _FAMILIES.get(path[:length])
        if found is not None:
            return found
    return None


def lex(lexer: Lexer, texts: Sequence[str], seconds: float = _SECONDS) -> list[list[Token]]:
    """The tokens of lines that follow each other; lines that are too long count as empty."""
    found: list[list[Token]] = [[] for _ in texts]
    lines = [text if len(text) <= LONGEST else "" for text in texts]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    until = time.thread_time() + seconds
    try:
        for at, token, value in lexer.get_tokens_unprocessed("\n".join(lines) + "\n"):
            kind = family(token)
            if kind is not None:
                _put(found, lines, starts, at, at + len(value), kind)
            if time.thread_time() > until:
                break
    except Exception:  # A lexer that fails leaves the rest plain.
        pass
    return found


def _put(
    found: list[list[Token]],
    lines: Sequence[str],
    starts: Sequence[int],
    start: int,
    end: int,
    kind: Family,
) -> None:
    """Add a token to every line that it covers."""
    line = bisect_right(starts, start) - 1
    while line < len(lines) and starts[line] < end:
        first, last = max(0, start - starts[line]), min(len(lines[line]), end - starts[line])
        if first < last:
            found[line].append((first, last, kind))
        line += 1


def contrast(one: Color, other: Color) -> float:
    """The contrast of two colours as WCAG 2 defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: Color) -> float:
    parts = [part / 255 for part in (color.r, color.g, color.b)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def legible(color: Color, ground: Color) -> Color:
    """The colour, or the nearest one towards white or black that can be read on the ground."""
    if color.ansi is not None or ground.ansi is not None:
        return color  # The terminal's own colours: what they look like is not known.
    white, black = Color(255, 255, 255), Color(0, 0, 0)
    target = max(white, black, key=lambda end: contrast(end, ground))
    for step in range(11):
        found = color.blend(target, step / 10, alpha=1.0)
        if contrast(found, ground) >= AA:
            return found
    return target
