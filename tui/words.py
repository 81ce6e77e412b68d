"""Which lines of a change belong together, and which of their words differ.

Work is bounded everywhere: a rewritten file has blocks of thousands of lines, a minified one lines
of thousands of words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

Span = tuple[int, int]
"""From where to where in a text, in characters."""

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_COMPARED = 20_000
"""Comparisons of two lines that one diff may take."""
_BLOCK = 400
"""Comparisons that one block may take; larger ones are paired in their order."""
_LIKE = 0.34
"""How much of two lines must be equal for one to be the other's new form."""
_MOST_WORDS = 10_000
"""Words of the one side times words of the other that are compared one by one."""
_TOO_MUCH = 0.75
"""The part of a line that may be marked; where nearly all differs, marks say nothing."""
_LONGEST = 2000


@dataclass(slots=True)
class Budget:
    """What is left of the comparisons of one diff."""

    left: int = _MOST_COMPARED


def pairs(old: Sequence[str], new: Sequence[str], budget: Budget) -> list[tuple[int, int]]:
    """Which removed line became which added one: both rise, and each is there at most once."""
    wanted = len(old) * len(new)
    if wanted == 1 or wanted > _BLOCK or wanted > budget.left:
        return list(zip(range(len(old)), range(len(new)), strict=False))
    budget.left -= wanted
    before, after = ([set(_WORD.findall(text[:_LONGEST])) for text in side] for side in (old, new))
    alike = [[_alike(one, other) for other in after] for one in before]
    # The best sum of likenesses from each place on; then the way that gives it.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], alike[i][j] + best[i + 1][j + 1])
    found = []
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _alike(one: set[str], other: set[str]) -> float:
    longer = max(len(one), len(other))
    if not longer:
        return 1.0
    part = len(one & other) / longer
    return part if part >= _LIKE else 0.0


def marks(old: str, new: str) -> tuple[list[Span], list[Span]]:
    """Where two forms of a line differ, word by word; nothing where nearly all of it does."""
    if old == new or max(len(old), len(new)) > _LONGEST:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    shorter = min(len(before), len(after))
    head = 0
    while head < shorter and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shorter - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    one, other = before[head : len(before) - tail], after[head : len(after) - tail]
    if len(one) * len(other) > _MOST_WORDS:
        blocks = [(0, len(one), 0, len(other))]
    else:
        matcher = SequenceMatcher(None, one, other, autojunk=False)
        blocks = [(a, b, c, d) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal"]
    removed = _spans(before, [(head + a, head + b) for a, b, _, _ in blocks])
    added = _spans(after, [(head + c, head + d) for _, _, c, d in blocks])
    if _marked(removed, old) > _TOO_MUCH and _marked(added, new) > _TOO_MUCH:
        return [], []
    return removed, added


def _spans(found: Sequence[str], ranges: Sequence[Span]) -> list[Span]:
    """Ranges of words as ranges of characters; those with only blanks between are joined."""
    at = 0
    starts = [0]
    for word in found:
        at += len(word)
        starts.append(at)
    out: list[Span] = []
    last = 0
    for first, end in ranges:
        if first == end:
            continue
        if out and all(word.isspace() for word in found[last:first]):
            out[-1] = (out[-1][0], starts[end])
        else:
            out.append((starts[first], starts[end]))
        last = end
    return out


def _marked(spans: Sequence[Span], text: str) -> float:
    return sum(end - start for start, end in spans) / len(text) if text else 0.0
