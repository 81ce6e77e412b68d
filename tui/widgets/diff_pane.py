"""A diff, drawn line by line: only what is on the screen is made into strips."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from takeback.tui.diffs import Line
from takeback.tui.widgets.cells import cell_len, fit

_SIGNS = {"added": "+", "removed": "-", "same": " "}
_LONGEST = 2000
"""Characters of a line that are drawn: nobody reads a minified file here."""


class DiffPane(ScrollView, can_focus=True):
    """Shows the lines of `takeback.tui.diffs`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "diff--file", "diff--note", "diff--hunk", "diff--same", "diff--added", "diff--removed",
        "diff--number",
    }  # fmt: skip
    DEFAULT_CSS = """
    DiffPane {
        height: 1fr; background: $background; color: $foreground;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1;
        & .diff--file { text-style: bold; background: $panel; }
        & .diff--note { color: $tb-muted; }
        & .diff--hunk { color: $accent; }
        & .diff--number { color: $tb-muted; }
        & .diff--added { color: $tb-added; background: $tb-added-ground; }
        & .diff--removed { color: $tb-removed; background: $tb-removed-ground; }
    }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tb_lines: Sequence[Line] = ()
        self._tb_hunks: list[int] = []
        self._tb_files: list[int] = []
        self._tb_digits = 3
        self._tb_styles: dict[str, Style] = {}

    @property
    def lines(self) -> Sequence[Line]:
        return self._tb_lines

    def show(self, lines: Sequence[Line]) -> None:
        """Show another diff, from its top."""
        self._tb_lines = lines
        self._tb_hunks = [at for at, line in enumerate(lines) if line.kind == "hunk"]
        self._tb_files = [at for at, line in enumerate(lines) if line.kind == "file"]
        most = max((max(line.old, line.new) for line in lines), default=0)
        self._tb_digits = max(3, len(str(most)))
        code = [line.text[:_LONGEST] for line in lines if line.kind in _SIGNS]
        widest = max((cell_len(text) for text in code), default=0)
        self.virtual_size = Size(widest + self._gutter, len(lines))
        self.scroll_to(0, 0, animate=False, force=True)
        self.refresh()

    @property
    def _gutter(self) -> int:
        return 2 * self._tb_digits + 4

    def action_lines(self, by: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + by, animate=False)

    def action_columns(self, by: int) -> None:
        self.scroll_to(x=self.scroll_offset.x + by, animate=False)

    def action_page(self, by: int, part: int = 1) -> None:
        self.action_lines(by * max(1, (self.size.height - 1) // part))

    def action_top(self) -> None:
        self.scroll_to(y=0, animate=False)

    def action_bottom(self) -> None:
        self.scroll_to(y=len(self._tb_lines), animate=False)

    def action_hunk(self, by: int) -> None:
        self._next(self._tb_hunks, by)

    def action_file(self, by: int) -> None:
        self._next(self._tb_files, by)

    def _next(self, stops: list[int], by: int) -> None:
        here = self.scroll_offset.y
        at = bisect_right(stops, here) if by > 0 else bisect_left(stops, here) - 1
        if 0 <= at < len(stops):
            self.scroll_to(y=stops[at], animate=False)

    def notify_style_update(self) -> None:
        self._tb_styles.clear()
        super().notify_style_update()

    def _style(self, kind: str) -> Style:
        found = self._tb_styles.get(kind)
        if found is None:
            found = self._tb_styles[kind] = self.get_visual_style(f"diff--{kind}").rich_style
        return found

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        if top + y >= len(self._tb_lines):
            return Strip.blank(width, self._style("same"))
        line = self._tb_lines[top + y]
        style = self._style(line.kind)
        text = line.text[:_LONGEST]
        if line.kind not in _SIGNS:
            if line.kind == "file":
                return Strip([Segment(fit(" " + text, width), style)])
            return Strip([Segment(" " + text, style)]).crop_extend(left, left + width, style)
        digits = self._tb_digits
        numbers = f"{line.old or '':>{digits}} {line.new or '':>{digits}} {_SIGNS[line.kind]} "
        gutter = Segment(numbers, style if line.kind != "same" else self._style("number"))
        body = Strip([Segment(text, style)]).crop_extend(left, left + width - self._gutter, style)
        return Strip.join([Strip([gutter]), body])
