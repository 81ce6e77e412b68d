"""Every session: of this project, or of all projects."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from takeback.engine.model import OperationKind, Request
from takeback.tui import keys, past, session_rows
from takeback.tui.elsewhere import Elsewhere
from takeback.tui.messages import Record
from takeback.tui.screens.base import STATUS
from takeback.tui.screens.main import MainScreen, folder_words
from takeback.tui.session_rows import SORTS, Sort, Summary, Unread, Where
from takeback.tui.widgets.filter_line import FilterLine
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList, Span

_AGE_EVERY = 20.0
"""Seconds after which "2m ago" is said anew."""
_WIDE = 116
_OTHERS_EVERY = 4.0
"""Seconds between two looks at the other projects."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What the screen shows.

    Attributes:
        known: every session by the key of its row.
        about: the line above the list.
    """

    rows: list[Row]
    known: dict[str, Summary]
    about: str


class SessionsScreen(MainScreen):
    """The sessions with what became of them; enter opens one."""

    keys_of = "sessions"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["main.tcss", "sessions.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self.VERTICAL_BREAKPOINTS = [(0, "-short"), (30, "-tall")]
        self._tb_sort: Sort = "newest"
        self._tb_all = False
        self._tb_elsewhere = Elsewhere()
        self._tb_known: dict[str, Summary] = {}
        self._tb_read: tuple[Record | None, tuple[Summary, ...]] = (None, ())
        self._tb_wide = False

    def compose(self) -> ComposeResult:
        yield self.head()
        yield TextLine(id="about")
        yield FilterLine(id="filter")
        yield RowList(self.takeback.glyphs, id="rows")
        yield Static(id="session", markup=False)
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        self.set_interval(_AGE_EVERY, self._age)
        self.set_interval(_OTHERS_EVERY, self._others)

    def _age(self) -> None:
        """Say anew how long ago everything was."""
        if self.takeback.screen is self and self.takeback.desk.idle:
            self.takeback.prepare()

    def _others(self) -> None:
        if self._tb_all:
            self._age()

    @property
    def _wide(self) -> bool:
        """Whether the titles keep enough room beside everything else."""
        return self.size.width >= _WIDE

    def on_resize(self) -> None:
        wide = self._wide
        if wide != self._tb_wide and self._tb_record is not None:
            self.takeback.prepare()
        self._tb_wide = wide
        if self.stands:
            self._show()

    # --- Rows --------------------------------------------------------------------------------

    def prepare(self, record: Record) -> Shown:
        now = time.time_ns()
        found = list(self._summaries(record))
        words, every = self.filter_words, self._tb_all
        unread: list[Unread] = []
        if every:
            project = self.takeback.project
            others, unread = self._tb_elsewhere.look(project.data, project.root, folder_words)
            found += others
        matching = session_rows.matching(found, words)
        rows = session_rows.rows(
            matching,
            self.takeback.glyphs,
            now,
            sort=self._tb_sort,
            wide=self._wide,
            projects=every,
            unread=unread,
        )
        if not matching:
            said = session_rows.empty(len(found), words, every)
            rows.insert(0, Row("empty", (Span(said, "muted"),), still=True))
        roots = {one.where.root for one in found}
        about = session_rows.headline(
            len(matching),
            len(found),
            words,
            self._tb_sort,
            len(roots) if every else 0,
            len(unread),
            sum(not one.recorded for one in found),
            record.unread,
        )
        return Shown(rows, {one.key: one for one in matching}, about)

    def _summaries(self, record: Record) -> tuple[Summary, ...]:
        """The sessions of the open project, counted once for each record."""
        if self._tb_read[0] is not record:
            place = self.takeback.project.place
            where = Where(place.path, folder_words(place.path), place.git is not None)
            sessions = (*record.past, *record.sessions)
            found = session_rows.summaries(sessions, record.operations, where)
            self._tb_read = (record, found)
        return self._tb_read[1]

    def show(self, prepared: object) -> None:
        shown = cast("Shown", prepared)
        self._tb_known = shown.known
        self.query_one("#about", TextLine).say(shown.about)
        self.query_one("#rows", RowList).fill(shown.rows)
        self._show()

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if self.stands:
            self._show()

    @property
    def _current(self) -> Summary | None:
        row = self.query_one("#rows", RowList).current
        return self._tb_known.get(row.key) if row is not None else None

    def _show(self) -> None:
        """Say more of the session under the cursor."""
        one = self._current
        lines = []
        if one is not None:
            tall = self.has_class("-tall")
            lines = session_rows.details(one, self.takeback.glyphs, time.time_ns(), tall)
        self.query_one("#session", Static).update(Content("\n".join(lines)))

    # --- Keys --------------------------------------------------------------------------------

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_open()

    def action_open(self) -> None:
        one = self._current
        if one is not None:
            self.takeback.open_project(one.where.root, one.session.id)

    def action_undo_here(self) -> None:
        self._plan("undo")

    def action_redo_here(self) -> None:
        self._plan("redo")

    def _plan(self, kind: OperationKind) -> None:
        one = self._current
        if one is None:
            return
        if not one.recorded:
            self.say(past.NO_UNDO, True)
        elif one.where.root != self.takeback.project.root:
            elsewhere = "This session is of another project: {sessions.open} opens it, then undo."
            self.say(keys.words(elsewhere), True)
        else:
            self.takeback.open_plan(Request(kind, session=one.session.id))

    def action_projects(self) -> None:
        """Show the sessions of all projects, or of the open one only."""
        self._tb_all = not self._tb_all
        self.takeback.prepare()

    def action_sort(self) -> None:
        self._tb_sort = SORTS[(SORTS.index(self._tb_sort) + 1) % len(SORTS)]
        self.takeback.prepare()
