"""A list that is only read: what is not captured, what a check found."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from takeback.tui.screens.base import BaseScreen
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList


class ListingScreen(BaseScreen):
    """Rows under a title."""

    keys_of = "listing"
    CSS_PATH = "listing.tcss"

    def __init__(self, title: str, rows: Sequence[Row]) -> None:
        super().__init__()
        self._tb_title = title
        self._tb_rows = rows

    def compose(self) -> ComposeResult:
        yield TextLine(self._tb_title, id="title")
        yield RowList(self.takeback.glyphs, id="rows")
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        rows = self.query_one("#rows", RowList)
        rows.focus()
        rows.fill(self._tb_rows)
