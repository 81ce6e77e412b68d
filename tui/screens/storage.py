"""What the stores take of the disk."""

from __future__ import annotations

from typing import cast

from takeback.engine.upkeep.storage import storage
from takeback.tui.messages import Record
from takeback.tui.screens.main import MainScreen
from takeback.tui.text import safe
from takeback.tui.upkeep_lines import size
from takeback.tui.widgets.row_list import Row, RowList, Span


class StorageScreen(MainScreen):
    """The projects with their sizes."""

    keys_of = "storage"
    CSS_PATH = "main.tcss"

    def prepare(self, record: Record) -> list[Row]:
        project = self.takeback.project
        return [
            Row(f"project:{one.root!r}", (Span(safe(one.root), "", True),), (Span(size(one.size)),))
            for one in storage(project.data, project.config).projects
        ]

    def show(self, prepared: object) -> None:
        self.query_one("#rows", RowList).fill(cast("list[Row]", prepared))
