"""Signs as ASCII, on the way to the terminal: also scroll bars and what else Textual draws."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from takeback.tui.glyphs import PLAIN


class PlainSigns(LineFilter):
    """Draws every sign as a character of ASCII; names and prompts keep their letters."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        return [
            segment
            if segment.text.isascii()
            else Segment(segment.text.translate(PLAIN), segment.style, segment.control)
            for segment in segments
        ]
