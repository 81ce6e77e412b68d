"""A git patch as flat lines for reading: names shown safely, binary data left out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from takeback.tui.text import safe

Kind = Literal["file", "note", "hunk", "same", "added", "removed"]
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)
_OCTAL = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_NAMED = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_MODES = {b"100755": "executable", b"100644": "not executable", b"120000": "symbolic link"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff, with its number on either side (0 where it has none)."""

    kind: Kind
    text: str
    old: int = 0
    new: int = 0


def note(*texts: str) -> list[Line]:
    """Sentences in the place of a diff."""
    return [Line("note", text) for text in texts]


def parse(patch: bytes) -> list[Line]:
    """The lines of a git patch."""
    return list(_lines(patch.split(b"\n")))


def _lines(raw: list[bytes]) -> Iterator[Line]:
    old = new = left_old = left_new = 0
    binary = False
    head: list[str] = []
    name = ""
    for line in raw:
        if left_old > 0 or left_new > 0 or line.startswith(b"\\ "):
            sign, text = line[:1], safe(line[1:].replace(b"\t", b"    "))
            if sign == b"+":
                yield Line("added", text, 0, new)
                new, left_new = new + 1, left_new - 1
            elif sign == b"-":
                yield Line("removed", text, old, 0)
                old, left_old = old + 1, left_old - 1
            elif sign == b"\\":
                yield Line("note", safe(line[2:]))
            else:
                yield Line("same", text, old, new)
                old, new = old + 1, new + 1
                left_old, left_new = left_old - 1, left_new - 1
            continue
        found = _HUNK.match(line)
        if found is None:
            if line.startswith(b"diff --git "):
                if name:
                    yield from _file(name, head)
                name, head, binary = _name_of(line), [], False
            elif line.startswith((b"GIT binary patch", b"Binary files")):
                binary = True
                yield from _file(name, [*head, "binary, not shown"])
                name = ""
            elif not binary:
                head += _head(line)
            continue
        if name:
            yield from _file(name, head)
            name = ""
        old, new = int(found[1]), int(found[3])
        left_old = int(found[2]) if found[2] is not None else 1
        left_new = int(found[4]) if found[4] is not None else 1
        yield Line("hunk", safe(line.replace(b"\t", b" ")))
    if name:
        yield from _file(name, head)


def _head(line: bytes) -> list[str]:
    """What a line between the name and the first hunk says that is worth a word."""
    if line.startswith(b"new file mode "):
        return ["new file"]
    if line.startswith(b"deleted file mode "):
        return ["deleted"]
    if line.startswith(b"new mode "):
        return [_MODES.get(line[-6:], safe(line))]
    return []


def _file(name: str, head: list[str]) -> Iterator[Line]:
    yield Line("file", name + (f"  ({', '.join(head)})" if head else ""))


def _name_of(line: bytes) -> str:
    """The name in a line ``diff --git a/NAME b/NAME``: both sides are equal, renames are off."""
    rest = line[len(b"diff --git ") :]
    half = rest[len(rest) // 2 + 1 :]
    if half.startswith(b'"') and half.endswith(b'"'):
        half = _OCTAL.sub(_unquoted, half[1:-1])
    return safe(half[2:])


def _unquoted(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 255]) if len(code) == 3 else _NAMED.get(code, code)
