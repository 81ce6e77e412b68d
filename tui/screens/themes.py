"""Choosing a theme: the cursor shows each one at once, enter keeps it, esc goes back."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message

from takeback.tui import diffs, settings, theme_rows, theming
from takeback.tui.failures import sentence
from takeback.tui.messages import Said
from takeback.tui.screens.base import STATUS, BaseScreen
from takeback.tui.text import safe
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList


class ThemesScreen(BaseScreen):
    """Every theme, with a sample beside or below the list."""

    keys_of = "themes"
    CSS_PATH = "themes.tcss"

    class Kept(Message):
        """The setting was written."""

        def __init__(self, name: str) -> None:
            self.name = name
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (76, "-wide")]
        self.VERTICAL_BREAKPOINTS = [(0, "-low"), (16, "-high")]
        self._tb_before = ""
        self._tb_kept = False

    def compose(self) -> ComposeResult:
        glyphs = self.takeback.glyphs
        yield TextLine("Theme", id="title")
        with Container(id="panes"):
            yield RowList(glyphs, id="rows")
            with Vertical(id="side"):
                yield RowList(glyphs, id="sample")
                yield DiffPane(id="diff")
        yield TextLine(id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        app = self.takeback
        self._tb_before = app.theme
        for pane in ("#sample", "#diff"):
            self.query_one(pane).can_focus = False
        self.query_one("#sample", RowList).fill(theme_rows.sample(app.glyphs))
        self.query_one("#diff", DiffPane).show(diffs.parse(theme_rows.SAMPLE_DIFF))
        rows = self.query_one("#rows", RowList)
        rows.focus()
        fitting, _ = theming.chosen(theming.AUTO, app.themes.all, app.terminal)
        rows.fill(theme_rows.rows(app.themes, fitting), theme_rows.key_of(app.theme_setting))
        said = list(app.themes.wrong)
        if app.terminal.colors == "none":
            said.append("NO_COLOR is set: every theme looks like this.")
        self.say("  ".join(said), bool(app.themes.wrong))

    @property
    def current(self) -> str:
        """The theme under the cursor."""
        return theme_rows.name_of(self.query_one("#rows", RowList).current) or theming.AUTO

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        # The sample is a list, too.
        if theme_rows.name_of(message.row) and not self._tb_kept:
            self.takeback.show_theme(self._shown(self.current))

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice and theme_rows.name_of(message.row):
            self.action_keep()

    def _shown(self, name: str) -> str:
        return theming.chosen(name, self.takeback.themes.all, self.takeback.terminal)[0]

    def action_keep(self) -> None:
        """Write the theme under the cursor into the settings."""
        name = self.current

        def call() -> Message:
            settings.save("theme", name)
            return self.Kept(name)

        def failed(error: BaseException) -> Message:
            return Said(sentence(error), True)

        self.takeback.desk.call(self, "Saving", call, failed, can_stop=False)

    def on_themes_screen_kept(self, message: Kept) -> None:
        message.stop()
        self._tb_kept = True
        app = self.takeback
        app.theme_setting = message.name
        app.show_theme(self._shown(message.name))
        if app.screen is self:
            app.pop_screen()
            app.say(f"{app.glyphs.done} The theme is {safe(message.name)} from now on.")

    def back(self) -> bool:
        self._restore()
        return False

    def on_unmount(self) -> None:
        self._restore()

    def _restore(self) -> None:
        """Show what was there before, unless another one is kept."""
        if not self._tb_kept and self._tb_before:
            self._tb_kept = True
            self.takeback.show_theme(self._tb_before)
