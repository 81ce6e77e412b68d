"""The screens that the numbers lead to: each shows one side of what was recorded."""

from __future__ import annotations

import os

from textual.app import ComposeResult
from textual.widgets import Input

from takeback.tui.glyphs import Glyphs
from takeback.tui.messages import Record
from takeback.tui.screens.base import BREAKPOINTS, STATUS, BaseScreen
from takeback.tui.text import safe
from takeback.tui.widgets.filter_line import FilterLine
from takeback.tui.widgets.lines import HeadLine, KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList

_READING = "Reading…"
_MORE = "Reading what came before…"


class MainScreen(BaseScreen):
    """A screen of its own name in `takeback.tui.keys.MAIN`.

    What it shows is made in two parts: `prepare` in a thread, `show` with the widgets.

    Attributes:
        filter_words: what the list is narrowed to, "" for everything.
    """

    def __init__(self) -> None:
        super().__init__(name=self.keys_of)
        self.HORIZONTAL_BREAKPOINTS = BREAKPOINTS
        self.filter_words = ""
        self._tb_record: Record | None = None

    def compose(self) -> ComposeResult:
        yield self.head()
        yield FilterLine(id="filter")
        yield RowList(self.takeback.glyphs, id="rows")
        yield TextLine(id="detail")
        yield TextLine(_READING, id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        self.query_one("#rows", RowList).focus()

    def head(self) -> HeadLine:
        """The line with the product, the folder and the screens."""
        return HeadLine(folder_words(self.takeback.project.root), self.keys_of, id="head")

    def prepare(self, record: Record) -> object:
        """Make of the record what `show` needs. Runs in a thread and touches no widget."""
        return record

    def show(self, prepared: object) -> None:
        """Show what `prepare` made."""

    def loaded(self, record: Record, prepared: object) -> None:
        """The record was read."""
        if self.stands:
            self._tb_record = record
            self.query_one("#head", HeadLine).rename(folder_words(self.takeback.project.root))
            if self._says_reading:
                self.say(_MORE if record.partial else "")
            self.show(prepared)

    @property
    def _says_reading(self) -> bool:
        """Whether the status line has nothing else to say; an answer to a key stays there."""
        lines = self.query(f"#{STATUS}").results(TextLine)
        return any(str(line.content) in ("", _READING, _MORE) for line in lines)

    def use(self, signs: Glyphs) -> None:
        """Show other signs from now on."""
        for rows in self.query(RowList):
            rows.use(signs)
        self._tb_record = None

    def on_screen_resume(self) -> None:
        if self._tb_record is None or self._tb_record is not self.takeback.record:
            self.takeback.prepare()

    # --- Filter ------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.query_one("#filter", FilterLine).open()

    def on_input_changed(self, message: Input.Changed) -> None:
        if message.input.id != "filter":
            return
        message.stop()
        words = message.value.strip().casefold()
        if words != self.filter_words:
            self.filter_words = words
            self.takeback.prepare()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        if message.input.id == "filter":
            message.stop()
            self.query_one("#rows", RowList).focus()

    def back(self) -> bool:
        for line in self.query("#filter").results(FilterLine):
            if line.shut():
                self.query_one("#rows", RowList).focus()
                return True
        return False


def folder_words(root: bytes) -> str:
    """The project's folder, the home folder shortened."""
    home = os.fsencode(os.path.expanduser("~"))
    if root.startswith(home.rstrip(b"/") + b"/"):
        return "~" + safe(root[len(home.rstrip(b"/")) :])
    return safe(root)
