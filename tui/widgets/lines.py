"""The lines around the lists: head, status and keys."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from takeback.tui import keys
from takeback.tui.keys import Key
from takeback.tui.text import safe
from takeback.tui.widgets.cells import cell_len, fit


class TextLine(Static):
    """Plain text, cut to one line; nothing in it is markup."""

    DEFAULT_CSS = """
    TextLine { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self, text: str = "", id: str | None = None, classes: str = "") -> None:
        super().__init__(Content(safe(text)), id=id, classes=classes or None, markup=False)

    def say(self, text: str) -> None:
        # Errors name paths and commands: what a terminal would obey is written out here at last.
        text = safe(text)
        if str(self.content) == text:
            return
        # A line whose height does not follow its text moves nothing else on the screen.
        height = self.styles.height
        self.update(Content(text), layout=height is None or height.is_auto)


class HeadLine(Widget):
    """The product, the folder and the screens; what is open at the right."""

    DEFAULT_CSS = """
    HeadLine {
        height: 1; background: $panel; color: $foreground;
        link-style: none; link-color: $tb-muted; link-background: $panel;
    }
    """

    def __init__(self, folder: str, screen: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tb_folder = folder
        self._tb_screen = screen
        self._tb_right: Sequence[str] = ()

    def rename(self, folder: str) -> None:
        """Another project is open."""
        if folder != self._tb_folder:
            self._tb_folder = folder
            self.refresh()

    def say(self, right: Sequence[str]) -> None:
        """Show these at the right; the first ones are left out where there is no room."""
        self._tb_right = right
        self.refresh()

    def _tabs(self, wide: bool) -> list[Content]:
        tabs = []
        for name, (_, long, short) in keys.MAIN.items():
            text = f"{keys.first(f'main.go_{name}')} {long if wide else short}".strip()
            if name == self._tb_screen:
                tabs.append(Content.assemble((f"[{text}]", "bold $primary")))
            else:
                click = Style.from_meta({"@click": f"app.go('{name}')"})
                tabs.append(Content(f" {text} ").stylize(click))
        return tabs

    def render(self) -> Content:
        width = self.size.width
        tabs = self._tabs(width >= 100)
        room = width - 12 - sum(tab.cell_length for tab in tabs)
        parts = list(self._tb_right)
        while parts and cell_len("  ".join(parts)) + 1 > room - min(24, cell_len(self._tb_folder)):
            parts.pop(0)
        right = "".join(f"  {part}" for part in parts) + " "
        folder = fit(self._tb_folder, max(0, room - cell_len(right)), keep_end=True)
        return Content.assemble(
            (" takeback  ", "bold $primary"), Content(folder), *tabs, Content(right)
        )


_SURE = {True: ("common.undo", "common.leave"), False: ("common.go_back",)}
"""Keys that never fall out of the line, on a main screen and elsewhere."""


class KeyLine(Widget):
    """The keys of a screen as the table names them; each can be clicked.

    While the engine works for longer than a moment, it says so in their place.
    """

    DEFAULT_CSS = """
    KeyLine {
        height: 1; background: $panel; color: $tb-muted;
        link-style: none; link-color: $tb-muted; link-background: $panel;
    }
    """

    def __init__(self, screen: str, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tb_screen = screen
        self._tb_busy = ""

    def busy(self, text: str) -> None:
        """Show what is being done; "" shows the keys again."""
        if text != self._tb_busy:
            self._tb_busy = text
            self.refresh()

    def render(self) -> Content:
        if self._tb_busy:
            return Content.assemble((f" {self._tb_busy}", "bold $tb-running"))
        shown = [
            key
            for key in self._candidates()
            if key.short
            and (self._on_list or len(key.sequences[0]) == 1)
            and not (key.action == "screen.agree" and not self._asking)
            and not (key.id == "undo.apply" and self._asking)
        ]
        return Content.assemble(" ", *(self._drawn(key) for key in self._fitting(shown)))

    @property
    def _asking(self) -> bool:
        """Whether a question is open: only then yes means something, and enter nothing."""
        return bool(getattr(self.screen, "asking", False))

    @property
    def _on_list(self) -> bool:
        """Whether this is a main screen, with the list in use."""
        return self._tb_screen in keys.MAIN and not self._on_diff

    @property
    def _on_diff(self) -> bool:
        return getattr(self.screen.focused, "keys_of", "") == "diff"

    def _candidates(self) -> list[Key]:
        """The keys worth a place here, the most important first."""
        scopes = [self._tb_screen, "turns", "filter"]
        if self._on_diff:
            # The keys that a plan waits for come first.
            first = ["undo"] if self._tb_screen == "undo" else []
            scopes = [*first, "diff", "copy", self._tb_screen]
        known = keys.of_screen(self._tb_screen)
        own = [key for scope in dict.fromkeys(scopes) for key in known if key.scope == scope]
        common = [key for key in known if key.scope == "common"]
        if self._on_list:
            common = [key for key in common if key.id != "common.go_back"]
        # The way out stands at the end, and only where there is nothing else to leave.
        out = [key for key in common if key.id == "common.leave"]
        common = [key for key in common if key not in out]
        return [*own, *common, *(out if self._on_list else [])]

    def _fitting(self, wanted: Sequence[Key]) -> list[Key]:
        """Those that there is room for, in their order; the way out and the help always."""
        sure = ("common.help", *_SURE[self._on_list])
        order = [key for key in wanted if key.id in sure]
        order += [key for key in wanted if key.id not in sure]
        left = self.size.width - 1
        fitting = set()
        for key in order:
            length = cell_len(_first(key)) + cell_len(key.short) + 3
            if length <= left:
                fitting.add(key.id)
                left -= length
        return [key for key in wanted if key.id in fitting]

    def _drawn(self, key: Key) -> Content:
        action = key.action if "." in key.action else f"screen.pane({key.action!r})"
        text = Content.assemble((_first(key), "bold $primary"), Content(f" {key.short}"))
        return text.stylize(Style.from_meta({"@click": action})) + Content("  ")


def _first(key: Key) -> str:
    return keys.shown(key.keys.split(",")[0])
