"""The line that narrows a list while one types."""

from __future__ import annotations

from textual.widgets import Input


class FilterLine(Input):
    """Hidden until it is asked for; its screen hears of every change."""

    DEFAULT_CSS = """
    FilterLine {
        height: 1; border: none; padding: 0 1; display: none; background: $panel;
        &:focus { border: none; }
    }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id, placeholder="filter", compact=True)

    def open(self) -> None:
        """Show it and take the keys."""
        self.display = True
        self.screen.set_focus(self)

    def shut(self) -> bool:
        """Empty and hide it; whether it was shown."""
        shown = self.display
        self.display = False
        self.value = ""
        return shown
