"""A git patch as flat lines for reading: names shown safely, binary data left out.

Made in a worker, with everything that takes a look at every line: the widest one, the partners of
changed lines, the places of files and hunks. Whoever draws it looks only at what is on the screen.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, overload

from takeback.tui import words
from takeback.tui.text import decode, safe
from takeback.tui.widgets.cells import cell_len

Kind = Literal["file", "note", "hunk", "same", "added", "removed"]
SIGNS: dict[Kind, str] = {"added": "+", "removed": "-", "same": " "}
"""The lines that are content, with the sign that stands before each."""
LONGEST = 10_000
"""Characters of a line that are shown: nobody reads on in a minified file."""
MOST = 16_000_000
"""Bytes of a patch that are read: some hundred thousand lines."""
TAB = 4

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OCTAL = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_THINGS = {b"100644": "file", b"100755": "executable file", b"120000": "symbolic link"}
_LINK = b"120000"
_END = b"No newline at the end of the file."
_ENDS: dict[Kind, bytes] = {
    "removed": b"Before: no newline at the end of the file.",
    "added": b"Now: no newline at the end of the file.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff, with its number on either side (0 where it has none)."""

    kind: Kind
    text: str
    old: int = 0
    new: int = 0


@dataclass(frozen=True, slots=True)
class Hunk:
    """Where a hunk is.

    Attributes:
        line: its first line, the one with the two ranges.
        file: which of the files it belongs to.
        patch: from where to where it stands in the patch.
        head: from where to where the lines stand that name its file.
    """

    line: int
    file: int
    patch: slice
    head: slice


@dataclass(frozen=True, slots=True)
class File:
    """One file of a diff.

    Attributes:
        name: as it can be shown.
        said: what happened to it besides its lines, in words.
        line: its first line.
    """

    name: str
    said: str
    line: int
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Diff(Sequence[Line]):
    """The lines of a diff and what is known about them.

    Attributes:
        patch: the bytes that it was made from.
        partners: for each line the one on the other side that it became, or -1.
        cells: for each line how wide it is, cut at `LONGEST` characters.
        widest: the width of the widest line of content.
        most: the highest number of a line.
    """

    lines: Sequence[Line] = ()
    files: Sequence[File] = ()
    hunks: Sequence[Hunk] = ()
    patch: bytes = field(default=b"", repr=False)
    partners: Sequence[int] = field(default=(), repr=False)
    cells: Sequence[int] = field(default=(), repr=False)
    widest: int = 0
    most: int = 0

    def __len__(self) -> int:
        return len(self.lines)

    @overload
    def __getitem__(self, at: int) -> Line: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Line]: ...
    def __getitem__(self, at: int | slice) -> Line | Sequence[Line]:
        return self.lines[at]

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def same(self, other: Diff) -> bool:
        """Whether both show the same."""
        if self.patch or other.patch:
            return self.patch == other.patch
        return list(self.lines) == list(other.lines)

    def patch_of(self, hunk: Hunk) -> str:
        """One hunk as a patch of its own."""
        return (self.patch[hunk.head] + self.patch[hunk.patch]).decode("utf-8", "replace")


def of(lines: Sequence[Line]) -> Diff:
    """Lines that came from no patch."""
    return lines if isinstance(lines, Diff) else _measured(Diff(tuple(lines)))


def note(*texts: str) -> Diff:
    """Sentences in the place of a diff."""
    return of([Line("note", text) for text in texts])


def shown(line: Line) -> str:
    """The text of a line as far as it is shown, and how much is not."""
    if len(line.text) <= LONGEST:
        return line.text
    return f"{line.text[:LONGEST]} ... and {len(line.text) - LONGEST:,} more characters"


def parse(patch: bytes) -> Diff:
    """The lines of a git patch; one that nobody can read to its end is cut."""
    left = len(patch) - MOST
    if left > 0:
        patch = patch[: patch.rfind(b"\n", 0, MOST) + 1]
    reader = _Reader()
    for line in patch.removesuffix(b"\n").split(b"\n"):
        reader.feed(line)
    reader.end()
    if left > 0:
        size = f"{left / 1_000_000:,.0f} MB"
        reader.lines.append(Line("note", f"This is not the end: {size} more are not shown."))
    return _measured(Diff(reader.lines, reader.files, reader.hunks, patch))


def _measured(diff: Diff) -> Diff:
    """The same with what only a look at every line can tell."""
    cells = array("l", (_cells(line) for line in diff.lines))
    content = (cells[at] for at, line in enumerate(diff.lines) if line.kind in SIGNS)
    return Diff(
        diff.lines, diff.files, diff.hunks, diff.patch, _partners(diff.lines), cells,
        max(content, default=0), max((max(line.old, line.new) for line in diff.lines), default=0),
    )  # fmt: skip


def _cells(line: Line) -> int:
    text = line.text if len(line.text) <= LONGEST else shown(line)
    return len(text) if text.isascii() else cell_len(text)


def _partners(lines: Sequence[Line]) -> array[int]:
    """What each removed line became, run by run: git writes what was removed first."""
    found = array("l", [-1]) * len(lines)
    budget = words.Budget()
    removed: list[int] = []
    added: list[int] = []

    def pair() -> None:
        if removed and added:
            old, new = ([lines[at].text for at in side] for side in (removed, added))
            for one, other in words.pairs(old, new, budget):
                found[removed[one]], found[added[other]] = added[other], removed[one]
        removed.clear()
        added.clear()

    for at, line in enumerate(lines):
        if line.kind == "removed":
            if added:
                pair()
            removed.append(at)
        elif line.kind == "added":
            added.append(at)
        elif line.kind != "note":  # "No newline at the end" stands between the two sides.
            pair()
    pair()
    return found


class _Reader:
    """Reads a patch line by line; a file is finished when the next one begins."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.files: list[File] = []
        self.hunks: list[Hunk] = []
        self._at = self._end = 0
        self._old = self._new = self._left_old = self._left_new = 0
        self._begin(b"")

    def _begin(self, name: bytes) -> None:
        """Begin a file."""
        self._name = name
        self._head = slice(self._at, self._at)
        self._modes: dict[bytes, bytes] = {}
        self._binary = False
        self._content: list[tuple[Kind, bytes, int, int]] = []
        self._hunks: list[tuple[int, int, int]] = []

    def feed(self, line: bytes) -> None:
        """Take the next line."""
        start, self._at = self._at, self._at + len(line) + 1
        if self._left_old > 0 or self._left_new > 0 or line.startswith(b"\\ "):
            self._inside(line)
            return
        found = _HUNK.match(line)
        if found is not None:
            if not self._hunks:
                self._head = slice(self._head.start, start)
            self._end_hunk()
            self._hunks.append((len(self._content), start, self._at))
            self._end = self._at
            self._content.append(("hunk", line, 0, 0))
            self._old, self._new = int(found[1]), int(found[3])
            self._left_old = int(found[2]) if found[2] is not None else 1
            self._left_new = int(found[4]) if found[4] is not None else 1
        elif line.startswith(b"diff --git "):
            self.end()
            self._begin(_name_of(line))
            self._head = slice(start, self._at)
        elif line.startswith((b"GIT binary patch", b"Binary files")):
            self._binary = True
        elif not self._binary:
            self._mode(line)

    def _inside(self, line: bytes) -> None:
        """A line of a hunk."""
        sign, text = line[:1], line[1:]
        if sign == b"\\":
            if self._content and b"link" not in self._modes:
                self._content.append(("note", _ENDS.get(self._content[-1][0], _END), 0, 0))
        elif sign == b"+":
            self._content.append(("added", text, 0, self._new))
            self._new, self._left_new = self._new + 1, self._left_new - 1
        elif sign == b"-":
            self._content.append(("removed", text, self._old, 0))
            self._old, self._left_old = self._old + 1, self._left_old - 1
        else:
            self._content.append(("same", text, self._old, self._new))
            self._old, self._new = self._old + 1, self._new + 1
            self._left_old, self._left_new = self._left_old - 1, self._left_new - 1
        self._end = self._at

    def _end_hunk(self) -> None:
        if self._hunks:
            self._hunks[-1] = (*self._hunks[-1][:2], self._end)

    def _mode(self, line: bytes) -> None:
        for words_ in (b"new file mode ", b"deleted file mode ", b"old mode ", b"new mode "):
            if line.startswith(words_):
                self._modes[words_.split()[0]] = line[len(words_) :]
        if line.endswith(_LINK):
            self._modes[b"link"] = _LINK

    def end(self) -> None:
        """Finish the file that was begun."""
        if not self._name:
            return
        self._end_hunk()
        content = [raw for kind, raw, _, _ in self._content if kind in SIGNS]
        notes = sum(kind == "note" for kind, _, _, _ in self._content)
        returns = sum(raw.endswith(b"\r") for raw in content)
        # Where every line ends so, a sign at each would only be in the way.
        crlf = returns > 0 and returns >= len(content) - notes
        first = len(self.lines) + 1
        self.lines.append(Line("file", ""))
        counts: dict[Kind, int] = {"added": 0, "removed": 0}
        for kind, raw, old, new in self._content:
            if crlf and kind in SIGNS:
                raw = raw.removesuffix(b"\r")
            self.lines.append(Line(kind, _text(raw), old, new))
            if kind in counts:
                counts[kind] += 1
        said = ", ".join(self._said(crlf))
        name = safe(self._name)
        before = self.files[-1] if self.files else None
        if before is not None and before.name == name and before.said.startswith("deleted"):
            # Git writes a file that became a link as two: it goes, and the other comes.
            was, now = _was(before.said), self._modes.get(b"new", b"")
            said = f"{was} became {_a(_THINGS.get(now, 'another kind of thing'))}"
            self.lines[before.line] = _headline(name, said)
            self.lines[first - 1] = Line("note", f"{_a(_THINGS.get(now, 'thing'))} instead:")
            self.files[-1] = File(
                name, said, before.line,
                before.added + counts["added"], before.removed + counts["removed"],
            )  # fmt: skip
        else:
            self.lines[first - 1] = _headline(name, said)
            self.files.append(File(name, said, first - 1, counts["added"], counts["removed"]))
        for at, start, end in self._hunks:
            self.hunks.append(Hunk(first + at, len(self.files) - 1, slice(start, end), self._head))
        self._begin(b"")

    def _said(self, crlf: bool) -> Iterator[str]:
        """What is worth a word besides the lines."""
        modes = self._modes
        empty = not self._content and not self._binary
        if b"new" in modes and b"old" not in modes:
            yield f"new {_THINGS.get(modes[b'new'], 'file')}"
        elif b"deleted" in modes:
            yield "deleted" + {b"100644": ""}.get(
                modes[b"deleted"], f" {_THINGS.get(modes[b'deleted'], 'file')}"
            )
        elif b"old" in modes:
            made = modes.get(b"new") == b"100755"
            yield "made executable" if made else "no longer executable"
            empty = False
        elif modes.get(b"link"):
            yield "symbolic link"
        if self._binary:
            yield "binary, not shown"
        elif empty:
            yield "empty"
        if crlf:
            yield "CRLF line ends"


def _headline(name: str, said: str) -> Line:
    return Line("file", name + (f"  ({said})" if said else ""))


def _was(said: str) -> str:
    """What a file was that is said to be deleted."""
    return _a(said.split(",")[0].removeprefix("deleted").strip() or "file")


def _a(thing: str) -> str:
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def _text(raw: bytes) -> str:
    """A line of content as it can be shown, with its tabs as blanks."""
    text = decode(raw)
    if "\t" in text:
        text = text.expandtabs(TAB)
    # What can be printed holds nothing that must be escaped, and nearly every line is so.
    return text if text.isprintable() else safe(text)


def _name_of(line: bytes) -> bytes:
    """The name in a line ``diff --git a/NAME b/NAME``: both sides are equal, renames are off."""
    rest = line[len(b"diff --git ") :]
    half = rest[len(rest) // 2 + 1 :]
    if half.startswith(b'"') and half.endswith(b'"'):
        half = _OCTAL.sub(_unquoted, half[1:-1])
    return half[2:]


def _unquoted(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _NAMED.get(code, code)
