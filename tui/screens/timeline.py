"""The first screen: what the agents did, newest turn first, with the diff of the row beside it."""

from __future__ import annotations

import time
from typing import cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from takeback.engine.model import Request, Session
from takeback.tui import diffs, timeline_rows
from takeback.tui.messages import Diffed, Record
from takeback.tui.present import NOTHING_RECORDED
from takeback.tui.screens.base import STATUS
from takeback.tui.screens.diff import DiffScreen
from takeback.tui.screens.main import MainScreen
from takeback.tui.timeline_rows import Entry
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.filter_line import FilterLine
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList

_NEXT = "Connect an agent with 'takeback install AGENT', or record with 'takeback run -- COMMAND'."


class TimelineScreen(MainScreen):
    """One session of the project, the newest if none was chosen."""

    keys_of = "timeline"
    CSS_PATH = "main.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._tb_entries: dict[str, Entry] = {}

    def compose(self) -> ComposeResult:
        yield self.head()
        yield TextLine(id="about")
        yield FilterLine(id="filter")
        with Horizontal(id="panes"):
            yield RowList(self.takeback.glyphs, id="rows")
            with Vertical(id="side"):
                yield DiffPane(id="diff")
        yield TextLine(id="detail")
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_resize(self) -> None:
        # A pane that just appeared has no diff yet.
        self._show()

    def prepare(self, record: Record) -> tuple[Session | None, list[Entry]]:
        wanted = self.takeback.session_id
        session = next((one for one in record.sessions if one.id == wanted), None)
        session = session or timeline_rows.newest(record.sessions)
        if session is None:
            return None, []
        return session, timeline_rows.entries(session, self.takeback.glyphs, time.time_ns())

    def show(self, prepared: object) -> None:
        session, found = cast("tuple[Session | None, list[Entry]]", prepared)
        rows = self.query_one("#rows", RowList)
        if session is None:
            self._tb_entries = {}
            rows.fill([])
            self.query_one("#diff", DiffPane).show(diffs.note(NOTHING_RECORDED, _NEXT))
            self.say(f"{NOTHING_RECORDED} {_NEXT}")
            return
        self._tb_entries = {entry.row.key: entry for entry in found}
        self.query_one("#about", TextLine).say("  ".join(timeline_rows.headline(session)))
        # Who stands on the newest turn follows the agent to the next one.
        newest = next((entry.row.key for entry in found if not entry.row.still), "")
        rows.fill([entry.row for entry in found], newest if rows.at_first else "")

    @property
    def current(self) -> Entry | None:
        row = self.query_one("#rows", RowList).current
        return self._tb_entries.get(row.key) if row is not None else None

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        self._show()

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_diff()

    def _show(self) -> None:
        if not self.stands:
            return
        entry = self.current
        if entry is None:
            return
        self.query_one("#detail", TextLine).say("  ".join(timeline_rows.details(entry)))
        if self.has_class("-wide"):
            self.takeback.desk.diff(self, entry.changes, timeline_rows.details(entry))

    def on_diffed(self, message: Diffed) -> None:
        message.stop()
        if self.stands and message.number == self.takeback.desk.diff_number:
            self.query_one("#diff", DiffPane).show(message.lines)

    def action_undo_here(self) -> None:
        entry = self.current
        if entry is not None and entry.turn is not None:
            self.takeback.open_plan(Request("undo", turn=entry.turn.id))

    def action_diff(self) -> None:
        entry = self.current
        if entry is None:
            return
        if self.has_class("-wide"):
            self.query_one("#diff", DiffPane).focus()
        else:
            self.app.push_screen(DiffScreen(entry.changes, timeline_rows.details(entry)))

    def back(self) -> bool:
        rows = self.query_one("#rows", RowList)
        if self.query_one("#diff", DiffPane).has_focus:
            rows.focus()
            return True
        return super().back()
