"""Prompts and answers as lines of spans: the little of Markdown that agents write. Pure.

Nothing of a text is obeyed: links are shown and not followed, control characters are written out.
Every step is linear in the length of a line, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from takeback.tui.glyphs import UNICODE, Glyphs
from takeback.tui.text import safe
from takeback.tui.widgets.cells import cell_len
from takeback.tui.widgets.row_list import Span

Spans = tuple[Span, ...]

LONGEST = 60_000
"""Characters of one text that are shown; nobody reads a pasted log in a timeline."""
_LEAST = 12
_STYLED = 4_000
"""Characters of one line in which marks for bold, code and links are looked for."""

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,4}[.)])\s+(.*)")
_TASK = re.compile(r"\[([ xX])\]\s+(.*)")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})(.*)")
_RULE = re.compile(r"\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
_SPECIAL = re.compile(r"[\\`*_\[~]")
_WORDS = re.compile(r"\s+|\S+")
_TABLE_RULE = re.compile(r"\s*\|?[\s:|-]+\|?\s*$")


@lru_cache(maxsize=1024)
def answer(text: str, width: int, glyphs: Glyphs = UNICODE) -> list[Spans]:
    """The lines of an answer, none wider than `width` cells."""
    width = max(_LEAST, width)
    out: list[Spans] = []
    for line in _blocks(_cut(text), width, glyphs):
        # One free line at most, and none before the first.
        if line or (out and out[-1]):
            out.append(line)
    while out and not out[-1]:
        out.pop()
    return out


@lru_cache(maxsize=1024)
def prompt(text: str, width: int) -> list[Spans]:
    """The lines of a prompt as they were typed, none wider than `width` cells."""
    width = max(_LEAST, width)
    out: list[Spans] = []
    for raw in _cut(text).strip("\n").split("\n"):
        line = safe(raw.rstrip("\r").expandtabs(4).rstrip())
        wrapped = wrap([Span(line)], width) if line else [()]
        if line or (out and out[-1]):
            out.extend(wrapped)
    return out


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n\n({len(text) - LONGEST} more characters are not shown here.)"


def _blocks(text: str, width: int, glyphs: Glyphs) -> Iterator[Spans]:
    fence = ""
    edge = Span(f"{glyphs.bar} ", "muted")
    lines = text.split("\n")
    for at, raw in enumerate(lines):
        line = raw.rstrip("\r").expandtabs(4)
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
            else:
                yield from chopped(safe(line), width, edge)
            continue
        if found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            if name := safe(found[2].strip()):
                yield from wrap([Span(name, "muted")], width, edge, edge)
            continue
        stripped = line.strip()
        if not stripped:
            yield ()
        elif heading := _HEADING.match(stripped):
            yield from wrap([Span(s.text, "title") for s in inline(heading[2])], width)
        elif _RULE.match(line):
            yield (Span(glyphs.rule * min(width, 40), "muted"),)
        elif item := _ITEM.match(line):
            yield from _item(item, width, glyphs.bullet)
        elif stripped.startswith(">"):
            spans = [Span(s.text, s.role or "muted") for s in inline(stripped.lstrip("> "))]
            yield from wrap(spans, width, edge, edge) or [(edge,)]
        elif stripped.startswith("|"):
            if not (at and _TABLE_RULE.match(line)):
                yield from chopped(safe(stripped), width)
        else:
            yield from wrap(inline(stripped), width)


def _item(found: re.Match[str], width: int, bullet: str) -> list[Spans]:
    """One item of a list, its further lines below its first word."""
    depth = min(len(found[1]) // 2, 6, max(0, width - 16) // 2)
    sign = bullet if found[2] in "-*+" else found[2]
    text = found[3]
    if task := _TASK.match(text):
        sign, text = f"[{'x' if task[1] in 'xX' else ' '}]", task[2]
    lead = "  " * depth + sign + " "
    return wrap(inline(text), width, Span(lead, "muted"), Span(" " * cell_len(lead)))


# --- Within a line -------------------------------------------------------------------------------


def inline(text: str) -> list[Span]:
    """One line as spans: code, bold, emphasis, and links with where they would lead."""
    tail = text[_STYLED:]
    text = text[:_STYLED]
    out: list[Span] = []
    missing: set[str] = set()
    start = at = 0
    while found := _SPECIAL.search(text, at):
        at = found.start()
        if text[at] == "\\":
            if text[at + 1 : at + 2] in set("\\`*_[]~#>()-"):
                out.append(Span(safe(text[start:at])))
                start = at + 1
                at += 2
            else:
                at += 1
            continue
        mark, body, end = _styled(text, at, missing)
        if not body:
            at += len(mark)
            continue
        out.append(Span(safe(text[start:at])))
        out += body
        start = at = end
    out.append(Span(safe(text[start:] + tail)))
    return [span for span in out if span.text]


def _styled(text: str, at: int, missing: set[str]) -> tuple[str, list[Span], int]:
    """What begins at a sign: the sign, its spans (none where it stands for itself), the end."""
    if text[at] == "[":
        return _link(text, at, missing)
    end = at
    while end < len(text) and text[end] == text[at]:
        end += 1
    mark = text[at:end]
    if mark in missing:
        return mark, [], end
    if mark[0] == "`":
        close = text.find(mark, end)
        if close < 0:
            missing.add(mark)
            return mark, [], end
        code = text[end:close].strip() or text[end:close]
        return mark, [Span(safe(code), "code")], close + len(mark)
    if len(mark) > (2 if mark[0] in "_~" else 3) or mark == "~":
        return mark, [], end
    # Within a word they stand for themselves: some_name, 2*3*4.
    inner = (mark[0] == "_" or len(mark) == 1) and at > 0 and text[at - 1].isalnum()
    if inner or not text[end : end + 1].strip():
        return mark, [], end
    close = text.find(mark, end + 1)
    if close < 0:
        missing.add(mark)
        return mark, [], end
    after = text[close + len(mark) : close + len(mark) + 1]
    if not text[close - 1].strip() or (mark[0] == "_" and after.isalnum()):
        return mark, [], end
    body = safe(text[end:close].replace("`", ""))
    if mark[0] == "~":
        return mark, [Span(body, "muted")], close + 2
    role = "emphasis" if len(mark) == 1 else "title"
    return mark, [Span(body, "title" if role == "title" else "emphasis")], close + len(mark)


def _link(text: str, at: int, missing: set[str]) -> tuple[str, list[Span], int]:
    middle = text.find("](", at) if "](" not in missing else -1
    end = text.find(")", middle) if middle > 0 and ")" not in missing else -1
    if middle < 0:
        missing.add("](")
    elif end < 0:
        missing.add(")")
    if middle < 0 or end < 0 or "[" in text[at + 1 : middle]:
        return "[", [], at + 1
    label, target = safe(text[at + 1 : middle]), safe(text[middle + 2 : end].strip())
    if not label or label == target:
        return "[", [Span(target, "code")], end + 1
    return "[", [Span(label), Span(f" ({target})", "muted")], end + 1


# --- Lines of a width ----------------------------------------------------------------------------


def wrap(
    spans: Sequence[Span], width: int, first: Span | None = None, rest: Span | None = None
) -> list[Spans]:
    """Spans as lines of at most `width` cells, broken between words where that can be.

    Args:
        first: stands before the first line, `rest` before the others.
    """
    out: list[Spans] = []
    line: list[Span] = [first] if first else []
    lead = used = cell_len(first.text) if first else 0
    held = ""

    def end_line() -> None:
        nonlocal line, used, lead
        out.append(_joined(line))
        line = [rest] if rest else []
        lead = used = cell_len(rest.text) if rest else 0

    for span in spans:
        for word in _WORDS.findall(span.text):
            if word.isspace():
                held = " " * min(len(word), width)
                continue
            length = len(word) if word.isascii() else cell_len(word)
            # Blanks are kept before the first word and between two, not where a line is broken.
            gap = held if used > lead or not out else ""
            if used + len(gap) + length > width:
                # Words of wide characters have no blanks: they are broken anywhere.
                breaks = length > width - lead or length > len(word)
                if not breaks or width - used - len(gap) < 2:
                    end_line()
                    gap = ""
            word = gap + word
            fits = used + len(gap) + length <= width
            parts = [word] if fits else _pieces(word, width - used, width - lead)
            for number, piece in enumerate(parts):
                if number:
                    end_line()
                line.append(Span(piece, span.role))
                used += cell_len(piece)
            held = ""
    if used > lead or not out:
        out.append(_joined(line))
    return out


def chopped(text: str, width: int, edge: Span | None = None) -> list[Spans]:
    """A line of code: broken anywhere, its blanks kept."""
    room = max(1, width - (cell_len(edge.text) if edge else 0))
    pieces = _pieces(text, room, room) if cell_len(text) > room else [text]
    lead = (edge,) if edge else ()
    return [(*lead, Span(piece, "code")) if piece else lead for piece in pieces]


def _pieces(text: str, first: int, width: int) -> list[str]:
    """A text cut into pieces of at most `width` cells, the first of at most `first`."""
    out = [""]
    used, room = 0, first
    for char in text:
        length = 1 if char.isascii() else cell_len(char)
        if used + length > room:
            out.append("")
            used, room = 0, width
        out[-1] += char
        used += length
    return out


def _joined(line: Sequence[Span]) -> Spans:
    """Neighbours of one role as one span."""
    out: list[Span] = []
    texts: list[str] = []
    for span in line:
        if out and out[-1].role == span.role:
            texts.append(span.text)
            continue
        if out:
            out[-1] = Span("".join(texts), out[-1].role)
        out.append(span)
        texts = [span.text]
    if out:
        out[-1] = Span("".join(texts), out[-1].role)
    return tuple(out)
