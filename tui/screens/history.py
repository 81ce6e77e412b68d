"""What was taken back and put back."""

from __future__ import annotations

from typing import cast

from takeback.tui import present
from takeback.tui.messages import Record
from takeback.tui.screens.main import MainScreen
from takeback.tui.widgets.row_list import Row, RowList, Span


class HistoryScreen(MainScreen):
    """The operations, newest first."""

    keys_of = "history"
    CSS_PATH = "main.tcss"

    def prepare(self, record: Record) -> list[Row]:
        return [
            Row(f"operation:{one.id}", (Span(present.operation_line(one)),))
            for one in reversed(record.operations)
        ]

    def show(self, prepared: object) -> None:
        rows = cast("list[Row]", prepared)
        self.query_one("#rows", RowList).fill(rows)
        if not rows:
            self.say("No operation was applied yet.")
