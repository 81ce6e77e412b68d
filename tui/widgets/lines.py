"""The lines around the lists: head, status and keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from takeback.tui import keys
from takeback.tui.widgets.cells import cell_len, fit


class TextLine(Static):
    """Plain text, cut to one line; nothing in it is markup."""

    DEFAULT_CSS = """
    TextLine { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, text: str = "", id: str | None = None, classes: str = "") -> None:
        super().__init__(Content(text), id=id, classes=classes or None, markup=False)

    def say(self, text: str) -> None:
        self.update(Content(text))


class HeadLine(Widget):
    """The product and the folder at the left, what is open at the right."""

    DEFAULT_CSS = """
    HeadLine { height: 1; background: $panel; color: $foreground; }
    """

    def __init__(self, left: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tb_left = left
        self._tb_right: Sequence[str] = ()

    def say(self, right: Sequence[str]) -> None:
        """Show these at the right; the first ones are left out where there is no room."""
        self._tb_right = right
        self.refresh()

    def render(self) -> Content:
        width = self.size.width
        parts = list(self._tb_right)
        while parts and cell_len("  ".join(parts)) > width - 13 - min(24, cell_len(self._tb_left)):
            parts.pop(0)
        right = "  ".join(parts) + " "
        room = max(0, width - cell_len(right) - 13)
        folder = fit(self._tb_left, room, keep_end=True) + "  "
        return Content.assemble((" takeback  ", "bold $primary"), Content(folder), Content(right))


class KeyLine(Widget):
    """The keys of a screen as the table names them; each can be clicked."""

    DEFAULT_CSS = """
    KeyLine {
        height: 1; background: $panel; color: $tb-muted;
        link-style: none; link-color: $tb-muted; link-background: $panel;
    }
    """

    def __init__(self, screen: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tb_screen = screen

    def render(self) -> Content:
        parts: list[Content] = [Content(" ")]
        left = self.size.width - 1
        common = [key for key in keys.of_screen(self._tb_screen) if key.scope == "common"]
        own = [key for key in keys.of_screen(self._tb_screen) if key.scope == self._tb_screen]
        for key in [*own, *common]:
            if not key.short or (self._tb_screen != "timeline" and key.keys.startswith("ctrl+x")):
                continue
            if self._tb_screen == "timeline" and key.keys == "escape":
                continue
            first = keys.shown(key.keys.split(",")[0])
            length = cell_len(first) + cell_len(key.short) + 3
            if length > left:
                continue
            left -= length
            click = Style.from_meta({"@click": key.action})
            text = Content.assemble((first, "bold $primary"), Content(f" {key.short}"))
            parts += [text.stylize(click), Content("  ")]
        return Content.assemble(*parts)
