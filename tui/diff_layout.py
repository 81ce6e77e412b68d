"""Where the lines of a diff stand: one below the other or side by side, whole or wrapped.

A layout is made of items, each one line or two beside each other, and of rows: an item takes more
than one of them where its text is wrapped.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from takeback.tui.diffs import SIGNS, Diff, Line, shown
from takeback.tui.widgets.cells import cell_len

NONE = -1
"""In the place of a line: there is none on this side."""


@dataclass(frozen=True, slots=True)
class View:
    """How diffs are looked at; every pane of the app shows them the same way.

    Attributes:
        side: side by side, where there is room.
        wrap: long lines go on in the next row.
        context: unchanged lines around each change.
    """

    side: bool = False
    wrap: bool = False
    context: int = 3


CONTEXTS = (0, 1, 3, 6, 12, 25, 50, 100, 1_000_000)
"""The steps of `View.context`; the last one is the whole file."""


def context_after(context: int, by: int) -> int:
    """The next step up or down."""
    near = min(range(len(CONTEXTS)), key=lambda at: abs(CONTEXTS[at] - context))
    return CONTEXTS[max(0, min(len(CONTEXTS) - 1, near + by))]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which lines stand in which row.

    Attributes:
        left: for each item the line at the left, or the only one.
        right: for each item the line at the right; None where there is only one column.
        item_of: for each line its item; None where items are the lines.
        ends: for each item the row after its last one; None where each takes one row.
        skip: lines at the beginning that are not shown, where items are the lines.
    """

    left: Sequence[int]
    right: Sequence[int] | None = None
    item_of: Sequence[int] | None = field(default=None, repr=False)
    ends: Sequence[int] | None = field(default=None, repr=False)
    skip: int = 0

    @property
    def rows(self) -> int:
        if self.ends is not None:
            return self.ends[-1] if self.ends else 0
        return len(self.left)

    def at(self, row: int) -> tuple[int, int]:
        """The item of a row, and which of the item's rows it is."""
        if self.ends is None:
            return row, 0
        item = bisect_right(self.ends, row)
        return item, row - (self.ends[item - 1] if item else 0)

    def row_of(self, line: int) -> int:
        """The first row of a line; of the next one where it is not shown."""
        item = max(0, line - self.skip) if self.item_of is None else self.item_of[line]
        if self.ends is None:
            return item
        return self.ends[item - 1] if item else 0

    def line_at(self, row: int) -> int:
        """The line of a row, the left one of two."""
        if not self.left:
            return 0
        item = min(self.at(max(0, row))[0], len(self.left) - 1)
        if self.left[item] == NONE and self.right is not None:
            return self.right[item]
        return self.left[item]


def skipped(diff: Diff) -> int:
    """How many lines at the top say only what the pane's own headline says."""
    return int(len(diff) > 1 and diff[0].kind == "file" and diff[1].kind != "file")


def one_column(diff: Diff, width: int = 0) -> Layout:
    """One line below the other; wrapped at a width, 0 for not at all."""
    skip = skipped(diff)
    left = range(skip, len(diff))
    if not width:
        return Layout(left, skip=skip)
    heights = (_height(diff, line, width) for line in left)
    return Layout(left, ends=array("l", accumulate(heights)), skip=skip)


def two_columns(diff: Diff, width: int = 0) -> Layout:
    """Old and new beside each other; wrapped at a width, 0 for not at all."""
    left, right = array("l"), array("l")
    item_of = array("l", [0]) * len(diff)
    for one, other in _beside(diff, skipped(diff)):
        for line in (one, other):
            if line != NONE:
                item_of[line] = len(left)
        left.append(one)
        right.append(other)
    if not width:
        return Layout(left, right, item_of)
    heights = (
        max(_height(diff, one, width), _height(diff, other, width))
        for one, other in zip(left, right, strict=True)
    )
    return Layout(left, right, item_of, array("l", accumulate(heights)))


def _beside(diff: Diff, skip: int) -> Iterator[tuple[int, int]]:
    """Lines that stand beside each other; a line over both columns stands with itself."""
    removed: list[int] = []
    added: list[int] = []
    notes: list[int] = []

    def block() -> Iterator[tuple[int, int]]:
        yield from _matched(removed, added, diff.partners)
        yield from ((at, at) for at in notes)
        removed.clear()
        added.clear()
        notes.clear()

    for at in range(skip, len(diff)):
        kind = diff[at].kind
        if kind == "removed":
            if added:
                yield from block()
            removed.append(at)
        elif kind == "added":
            added.append(at)
        elif kind == "note" and removed and not added:
            notes.append(at)  # Stands between the two sides of a change.
        else:
            yield from block()
            yield at, at
    yield from block()


def _matched(
    removed: Sequence[int], added: Sequence[int], partners: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """One block: partners beside each other, and what has none before them."""
    at = 0
    alone: list[int] = []
    for line in removed:
        partner = partners[line] if partners else NONE
        if partner == NONE or at >= len(added) or partner < added[at]:
            alone.append(line)
            continue
        stop = at + (partner - added[at])
        yield from _filled(alone, added[at:stop])
        yield line, partner
        alone, at = [], stop + 1
    yield from _filled(alone, added[at:])


def _filled(removed: Sequence[int], added: Sequence[int]) -> Iterator[tuple[int, int]]:
    for at in range(max(len(removed), len(added))):
        yield (
            removed[at] if at < len(removed) else NONE,
            added[at] if at < len(added) else NONE,
        )


def _height(diff: Diff, line: int, width: int) -> int:
    """The rows that a line takes when it is wrapped."""
    if line == NONE or diff[line].kind not in SIGNS or diff.cells[line] <= width:
        return 1
    text = shown(diff[line])
    if len(text) == diff.cells[line] and text.isascii():
        return -(-len(text) // width)
    return len(wrapped(text, width))


@lru_cache(128)
def wrapped(text: str, width: int) -> Sequence[int]:
    """Where the rows of a text begin: each is as full as its characters allow."""
    if text.isascii():
        return range(0, max(1, len(text)), width)
    starts, taken = [0], 0
    for at, char in enumerate(text):
        wide = 1 if char.isascii() else cell_len(char)
        if taken + wide > width and taken:
            starts.append(at)
            taken = 0
        taken += wide
    return starts


def part(line: Line, row: int, width: int) -> tuple[int, str]:
    """One row of a wrapped line: where it begins in the text, and its text."""
    text = shown(line)
    if text.isascii():
        start = row * width
        return start, text[start : start + width]
    starts = wrapped(text, width)
    if row >= len(starts):
        return len(text), ""
    end = starts[row + 1] if row + 1 < len(starts) else len(text)
    return starts[row], text[starts[row] : end]


def find(diff: Diff, wanted: str, most: int = 10_000) -> list[tuple[int, int, int]]:
    """Where a text is: line, first character, and the one after the last.

    Capitals count only where the wanted text has some.
    """
    if not wanted:
        return []
    exact = wanted != wanted.lower()
    look: Callable[[str], str] = (lambda text: text) if exact else _lower
    found = []
    for at, line in enumerate(diff.lines):
        text = look(line.text)
        start = text.find(wanted)
        while start >= 0:
            found.append((at, start, start + len(wanted)))
            if len(found) >= most:
                return found
            start = text.find(wanted, start + len(wanted))
    return found


def _lower(text: str) -> str:
    """Lower case of the same length: places in it are places in the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower()[:1] or c for c in text)


# --- Places in a diff ------------------------------------------------------------------------


def file_at(diff: Diff, line: int) -> int:
    """Which file a line belongs to, -1 for none."""
    return bisect_right(diff.files, line, key=lambda file: file.line) - 1


def hunk_at(diff: Diff, line: int) -> int:
    """Which hunk a line belongs to: the one before it, or the first one of its file."""
    at = bisect_right(diff.hunks, line, key=lambda hunk: hunk.line) - 1
    file = file_at(diff, line)
    if at >= 0 and diff.hunks[at].file == file:
        return at
    if at + 1 < len(diff.hunks) and diff.hunks[at + 1].file == file:
        return at + 1
    return NONE


def headline(diff: Diff, line: int) -> tuple[str, str]:
    """Where a line is: the file's name, and its place among the others."""
    at = file_at(diff, line)
    if at < 0:
        return "", ""
    file = diff.files[at]
    parts = [f"file {at + 1}/{len(diff.files)}"] if len(diff.files) > 1 else []
    first = bisect_right(diff.hunks, file.line, key=lambda hunk: hunk.line)
    last = bisect_right(diff.hunks, at, key=lambda hunk: hunk.file)
    hunk = hunk_at(diff, line)
    if hunk != NONE:
        parts.append(f"hunk {hunk - first + 1}/{last - first}")
    if file.added or file.removed:
        parts.append(f"+{file.added} -{file.removed}")
    return file.name + (f"  ({file.said})" if file.said else ""), "  ".join(parts)


@dataclass(frozen=True, slots=True)
class Place:
    """A place that can be found again in another diff of the same files."""

    file: str
    old: int
    new: int


def place(diff: Diff, line: int) -> Place:
    """The place of a line, or of the first one below it that has a number."""
    at = file_at(diff, line)
    name = diff.files[at].name if at >= 0 else ""
    while line < len(diff) and diff[line].kind not in SIGNS:
        line += 1
    return Place(name, diff[line].old, diff[line].new) if line < len(diff) else Place(name, 0, 0)


def found_again(diff: Diff, wanted: Place) -> int:
    """The line at a place, or the last one before it; the first one if its file is not there."""
    at = next((i for i, file in enumerate(diff.files) if file.name == wanted.file), -1)
    if at < 0:
        return 0
    end = diff.files[at + 1].line if at + 1 < len(diff.files) else len(diff)
    best = diff.files[at].line
    for line in range(best, end):
        known = diff[line]
        if known.kind not in SIGNS:
            continue
        # A line that is on both sides has both numbers, a changed one only its own.
        if (wanted.new and known.new > wanted.new) or (wanted.old and known.old > wanted.old):
            break
        if (wanted.new and known.new) or (wanted.old and known.old):
            best = line
    return best
