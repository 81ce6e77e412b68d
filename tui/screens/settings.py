"""The settings and their values."""

from __future__ import annotations

from typing import cast

from takeback.engine import config
from takeback.tui import settings
from takeback.tui.messages import Record
from takeback.tui.screens.main import MainScreen
from takeback.tui.text import safe
from takeback.tui.widgets.row_list import Row, RowList, Span


class SettingsScreen(MainScreen):
    """One row for each setting."""

    keys_of = "settings"
    CSS_PATH = "main.tcss"

    def prepare(self, record: Record) -> list[Row]:
        known = self.takeback.project.config
        return [
            Row(f"setting:{name}", (Span(name),), (Span(safe(settings.written(value))),))
            for name in config.names()
            for value in [config.get(known, name)]
        ]

    def show(self, prepared: object) -> None:
        self.query_one("#rows", RowList).fill(cast("list[Row]", prepared))
