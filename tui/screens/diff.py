"""A diff over the whole screen, for terminals too narrow for two panes."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from takeback.engine.model import Change
from takeback.tui.messages import Diffed
from takeback.tui.screens.base import STATUS, BaseScreen
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.lines import KeyLine, TextLine


class DiffScreen(BaseScreen):
    """The diff of some changes."""

    keys_of = "diff"
    CSS_PATH = "diff.tcss"

    def __init__(self, changes: Sequence[Change], details: Sequence[str]) -> None:
        super().__init__()
        self._tb_changes = changes
        self._tb_details = details

    def compose(self) -> ComposeResult:
        yield TextLine("  ".join(self._tb_details), id="title")
        yield DiffPane(id="diff")
        yield TextLine(id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        self.query_one("#diff", DiffPane).focus()
        self.takeback.desk.diff(self, self._tb_changes, self._tb_details)

    def on_diffed(self, message: Diffed) -> None:
        message.stop()
        if self.stands and message.number == self.takeback.desk.newest_diff(self):
            self.query_one("#diff", DiffPane).show(message.lines)
