"""What was taken back and put back, and the way to before any of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from takeback.engine.model import Operation, Request, Session
from takeback.tui import history_rows
from takeback.tui.messages import Diffed, Record
from takeback.tui.screens.base import STATUS
from takeback.tui.screens.diff import DiffScreen
from takeback.tui.screens.main import MainScreen
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.filter_line import FilterLine
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList

_MOST_WIDE, _MOST_NARROW = 8, 6


@dataclass(frozen=True, slots=True)
class Shown:
    """What the screen shows.

    Attributes:
        about: the line above the list.
    """

    rows: list[Row]
    known: dict[str, Operation]
    sessions: Sequence[Session]
    about: str


class HistoryScreen(MainScreen):
    """The operations, newest first, with the diff of the one under the cursor."""

    keys_of = "history"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["main.tcss", "history.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self._tb_shown = Shown([], {}, (), "")

    def compose(self) -> ComposeResult:
        yield self.head()
        yield TextLine(id="about")
        yield FilterLine(id="filter")
        with Horizontal(id="panes"):
            yield RowList(self.takeback.glyphs, id="rows")
            with Vertical(id="side"):
                yield Static(id="files", markup=False)
                yield DiffPane(id="diff")
        yield Static(id="operation", markup=False)
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def prepare(self, record: Record) -> Shown:
        rows = history_rows.rows(
            record.operations,
            record.sessions,
            self.takeback.glyphs,
            time.time_ns(),
            self.filter_words,
        )
        known = {f"operation:{one.id}": one for one in record.operations}
        about = history_rows.next_words(*self.takeback.project.next_targets())
        return Shown(rows, known, record.sessions, about)

    def show(self, prepared: object) -> None:
        self._tb_shown = cast("Shown", prepared)
        self.query_one("#about", TextLine).say(self._tb_shown.about)
        rows = self.query_one("#rows", RowList)
        # Who stands on the newest operation stays on the newest.
        newest = next((row.key for row in self._tb_shown.rows if not row.still), "")
        rows.fill(self._tb_shown.rows, newest if rows.at_first else "")

    @property
    def _current(self) -> Operation | None:
        row = self.query_one("#rows", RowList).current
        return self._tb_shown.known.get(row.key) if row is not None else None

    def on_resize(self) -> None:
        if self.stands:
            self._show()

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if self.stands:
            self._show()

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_diff()

    def _show(self) -> None:
        """Say more of the operation under the cursor."""
        one, wide = self._current, self.has_class("-wide")
        lines: list[str] = []
        if one is not None:
            most = _MOST_WIDE if wide else _MOST_NARROW
            width = 0 if wide else self.size.width
            lines = history_rows.details(one, self._tb_shown.sessions, most, width)
        self.query_one("#files" if wide else "#operation", Static).update(Content("\n".join(lines)))
        if wide:
            changes = history_rows.changes(one) if one is not None else ()
            self.takeback.desk.diff(self, changes, ("No file was written.",) if one else ("",))

    def on_diffed(self, message: Diffed) -> None:
        message.stop()
        if self.stands and message.number == self.takeback.desk.newest_diff(self):
            self.query_one("#diff", DiffPane).show(message.lines)

    # --- Keys --------------------------------------------------------------------------------

    def action_diff(self) -> None:
        one = self._current
        if one is None:
            return
        if self.has_class("-wide"):
            self.query_one("#diff", DiffPane).focus()
        else:
            title = f"{one.id}: what it did"
            self.app.push_screen(DiffScreen(history_rows.changes(one), (title,)))

    def action_restore(self) -> None:
        """Plan the way to what stood before the operation under the cursor."""
        one = self._current
        if one is not None:
            self.takeback.open_plan(Request("restore", op=one.id))

    def action_copy_id(self) -> None:
        one = self._current
        if one is not None:
            self.app.copy_to_clipboard(one.id)
            self.say(f"Copied {one.id}.")

    def back(self) -> bool:
        if self.query_one("#diff", DiffPane).has_focus:
            self.query_one("#rows", RowList).focus()
            return True
        return super().back()
