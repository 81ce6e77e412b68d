"""What the stores take of the disk, what is left out, and the upkeep of the open project."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from takeback.engine.model import NotCaptured
from takeback.engine.store.store import Store
from takeback.engine.upkeep.prune import PruneReport, prune
from takeback.engine.upkeep.storage import ProjectUse, StorageReport, storage
from takeback.engine.upkeep.verify import VerifyReport, verify
from takeback.tui import keys, present, storage_rows, upkeep_lines
from takeback.tui.failures import sentence
from takeback.tui.glyphs import ASCII
from takeback.tui.messages import Record, Said
from takeback.tui.screens.base import STATUS
from takeback.tui.screens.listing import ListingScreen
from takeback.tui.screens.main import MainScreen, folder_words
from takeback.tui.storage_rows import Checks
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList

_MEASURE_EVERY = 20.0
"""Seconds for which a measure counts: every file of every store is looked at for one."""


@dataclass
class Pruned(Message):
    """A project was cleaned up, or it is known what that would do."""

    report: PruneReport
    store: Store = field(repr=False)


@dataclass
class Verified(Message):
    """Everything that is kept of the open project was read."""

    report: VerifyReport = field(repr=False)


@dataclass(frozen=True, slots=True)
class Shown:
    """What the screen shows."""

    rows: list[Row]
    report: StorageReport
    skipped: Sequence[NotCaptured]

    @property
    def known(self) -> dict[str, ProjectUse]:
        return {f"project:{one.root.hex()}": one for one in self.report.projects}


class StorageScreen(MainScreen):
    """The projects with their sizes."""

    keys_of = "storage"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["main.tcss", "storage.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self._tb_shown: Shown | None = None
        self._tb_checks = Checks()
        self._tb_would: Store | None = None
        self._tb_measured: tuple[float, StorageReport] | None = None

    def compose(self) -> ComposeResult:
        yield self.head()
        yield Static(id="store", markup=False)
        yield RowList(self.takeback.glyphs, id="rows")
        yield TextLine(id="detail")
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def prepare(self, record: Record) -> Shown:
        project = self.takeback.project
        now = time.monotonic()
        if self._tb_measured is None or now - self._tb_measured[0] > _MEASURE_EVERY:
            self._tb_measured = (now, storage(project.data, project.config))
        report = self._tb_measured[1]
        gitless = {
            one.root
            for one in report.projects
            if not os.path.lexists(os.path.join(one.root, b".git"))
        }
        skipped = storage_rows.skipped(record.sessions)
        rows = storage_rows.rows(
            report, project.root, self.takeback.glyphs, folder_words, gitless, skipped
        )
        return Shown(rows, report, skipped)

    def show(self, prepared: object) -> None:
        self._tb_shown = cast("Shown", prepared)
        here = f"project:{self.takeback.project.root.hex()}"
        rows = self.query_one("#rows", RowList)
        rows.fill(self._tb_shown.rows, here if rows.current is None else "")
        self._tell()

    def _tell(self) -> None:
        """Show the use, the limits and the last checks."""
        if self._tb_shown is None:
            return
        project = self.takeback.project
        lines = storage_rows.about(
            self._tb_shown.report,
            project.config,
            folder_words(project.data),
            self._tb_checks,
            self.takeback.glyphs == ASCII,
        )
        self.query_one("#store", Static).update(Content("\n".join(lines)))

    @property
    def _current(self) -> ProjectUse | None:
        row = self.query_one("#rows", RowList).current
        known = self._tb_shown.known if self._tb_shown is not None else {}
        return known.get(row.key) if row is not None else None

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if self.stands:
            one, said = self._current, ""
            if one is not None and self._tb_shown is not None:
                here = one.root == self.takeback.project.root
                missed = len(self._tb_shown.skipped) if here else 0
                said = storage_rows.details(one, folder_words(one.root), missed)
            self.query_one("#detail", TextLine).say(said)

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_open()

    # --- Keys --------------------------------------------------------------------------------

    def action_open(self) -> None:
        """List what is not captured in the open project."""
        one, shown = self._current, self._tb_shown
        if one is None or shown is None:
            return
        project = self.takeback.project
        if one.root != project.root:
            self.say("This is listed for the open project only; open the other one by a session.")
            return
        title = f"Not captured in {folder_words(project.root)}, as of the newest turn"
        rows = storage_rows.skipped_rows(shown.skipped, project.config)
        self.app.push_screen(ListingScreen(title, rows))

    def _upkeep(self, what: str, call: Callable[[Store], Message], can_stop: bool = True) -> None:
        """Make a call for the store of the open project."""
        store = self.takeback.project.store
        if store is None:
            self.say(present.NOTHING_RECORDED)
            return

        def failed(error: BaseException) -> Message:
            return Said(sentence(error), True)

        self.say("")
        self._tb_would = None
        self.show_keys()
        self.takeback.desk.call(self, what, lambda: call(store), failed, can_stop=can_stop)

    def action_prune(self) -> None:
        """Say what cleaning up would do; `action_agree` does it."""
        self._upkeep("Looking", lambda store: Pruned(prune(store, dry_run=True), store))

    @property
    def asking(self) -> bool:
        return self._tb_would is not None and self._tb_would is self.takeback.project.store

    def action_agree(self) -> None:
        # What was shown was for one project; another one may be open by now.
        if self._tb_would is None or self._tb_would is not self.takeback.project.store:
            self._tb_would = None
            self.show_keys()
            none = (
                "There is nothing to say yes to: {storage.prune} shows what cleaning up would do."
            )
            self.say(keys.words(none))
        else:
            self._upkeep("Cleaning up", lambda store: Pruned(prune(store), store), can_stop=False)

    def action_verify(self) -> None:
        """Read everything that is kept of the open project."""
        self._upkeep("Checking", lambda store: Verified(verify(store)))

    def on_pruned(self, message: Pruned) -> None:
        message.stop()
        report = message.report
        if report.dry_run:
            self._tb_would = message.store if storage_rows.worth(report) else None
            self.show_keys()
            self.say(storage_rows.prune_question(report), self._tb_would is not None)
            return
        said = " ".join(line.strip() for line in storage_rows.pruned(report))
        self.say(f"{self.takeback.glyphs.done} {said}")
        freed = f"{time.strftime('%H:%M')}, {upkeep_lines.size(report.freed)} free again"
        self._tb_checks = replace(self._tb_checks, pruned=freed)
        self._tb_measured = None
        self.takeback.load()

    def on_verified(self, message: Verified) -> None:
        message.stop()
        said = storage_rows.verified(message.report)
        self._tb_checks = replace(self._tb_checks, verified=f"{time.strftime('%H:%M')}, {said}")
        self._tell()
        if message.report.damage or message.report.lines:
            self.say(f"Checked {said}.", True)
            rows = storage_rows.damage_rows(message.report)
            self.app.push_screen(
                ListingScreen("What is missing or damaged, and who needs it", rows)
            )
        else:
            self.say(f"{self.takeback.glyphs.done} Checked {said}.")

    def back(self) -> bool:
        if self._tb_would is not None:
            self._tb_would = None
            self.show_keys()
            self.say("Nothing was cleaned up.")
            return True
        return super().back()
