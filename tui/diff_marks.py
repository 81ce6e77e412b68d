"""What stands on the lines of a diff: syntax and differing words, made when they are first seen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.cache import LRUCache

from takeback.tui import diff_layout, highlight, words
from takeback.tui.diffs import SIGNS, Diff
from takeback.tui.highlight import Token
from takeback.tui.words import Span

BLOCK = 128
"""Lines that are read together for their colours."""


class Marks:
    """The marks of one diff."""

    def __init__(self, diff: Diff) -> None:
        self._diff = diff
        self._tokens: LRUCache[int, list[Sequence[Token]]] = LRUCache(64)
        self._words: LRUCache[int, tuple[list[Span], list[Span]]] = LRUCache(1024)

    def lexed(self, line: int) -> bool:
        """Whether the language of a line is known and the line short enough to be read."""
        diff = self._diff
        if not diff.files or len(diff[line].text) > highlight.LONGEST:
            return False
        return highlight.lexer_for(self._name(line)) is not None

    def _name(self, line: int) -> str:
        at = diff_layout.file_at(self._diff, line)
        return self._diff.files[at].name if at >= 0 else ""

    def tokens(self, line: int) -> Sequence[Token]:
        """The tokens of a line."""
        block = line // BLOCK
        found = self._tokens.get(block)
        if found is None:
            found = self._tokens[block] = self._read(block * BLOCK)
        return found[line % BLOCK]

    def _read(self, first: int) -> list[Sequence[Token]]:
        """The tokens of a block; each hunk of it for itself: what was left out between is unknown.

        The old and the new side are two texts, so that a quote that was removed opens no string in
        the new one.
        """
        diff = self._diff
        end = min(first + BLOCK, len(diff))
        found: list[Sequence[Token]] = [()] * (end - first)
        start = first
        while start < end:
            stop = start
            while stop < end and (diff[stop].kind in SIGNS or diff[stop].kind == "note"):
                stop += 1
            lexer = highlight.lexer_for(self._name(start)) if stop > start else None
            for side in ("removed", "added") if lexer is not None else ():
                at = [line for line in range(start, stop) if diff[line].kind in ("same", side)]
                # Nothing is gained by reading unchanged lines twice.
                if lexer is None or (side == "removed" and not _any(diff, at, side)):
                    continue
                read = highlight.lex(lexer, [diff[line].text for line in at])
                for line, tokens in zip(at, read, strict=True):
                    found[line - first] = tokens
            start = max(stop, start + 1)
        return found

    def words(self, line: int) -> Sequence[Span]:
        """The words of a line that differ from what it was or became."""
        diff = self._diff
        partner = diff.partners[line] if diff.partners else diff_layout.NONE
        if partner == diff_layout.NONE:
            return ()
        new = diff[line].kind == "added"
        removed = partner if new else line
        found = self._words.get(removed)
        if found is None:
            found = self._words[removed] = words.marks(
                diff[removed].text, diff[line if new else partner].text
            )
        return found[new]


def _any(diff: Diff, lines: Sequence[int], kind: str) -> bool:
    return any(diff[line].kind == kind for line in lines)
