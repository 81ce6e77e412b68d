"""A sentence in place of a screen that has no room."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from takeback.tui.terminal import too_small

CLASS = "-too-small"
"""The app's class while there is no room."""


LOW = "-low"
"""The app's class while there are few lines: what stands below a list takes less of them."""
LOW_LINES = 18


class TooSmall(Widget):
    """Lies over all of a screen while the terminal is too small for it."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    TooSmall {
        layer: overlay; dock: top; width: 100%; height: 100%; display: none;
        background: $surface; color: $foreground;
    }
    .-too-small TooSmall { display: block; }
    .-too-small Screen { overflow: hidden; }
    """

    def render(self) -> Content:
        return Content(too_small(*self.app.size))
