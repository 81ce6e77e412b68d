"""Every session of the project."""

from __future__ import annotations

import time
from typing import cast

from takeback.tui import session_rows
from takeback.tui.messages import Record
from takeback.tui.screens.main import MainScreen
from takeback.tui.widgets.row_list import Row, RowList


class SessionsScreen(MainScreen):
    """The sessions, newest first."""

    keys_of = "sessions"
    CSS_PATH = "main.tcss"

    def prepare(self, record: Record) -> list[Row]:
        return session_rows.rows(
            record.sessions, self.takeback.glyphs, time.time_ns(), self.filter_words
        )

    def show(self, prepared: object) -> None:
        self.query_one("#rows", RowList).fill(cast("list[Row]", prepared))

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_open()

    def action_open(self) -> None:
        row = self.query_one("#rows", RowList).current
        if row is not None and row.key.startswith("session:"):
            self.takeback.open_session(row.key.partition(":")[2])
