"""How to go on in a conversation from before a turn: alone, with the files, in a copy, by hand."""

from __future__ import annotations

from textual.app import ComposeResult

from takeback.engine.model import Request
from takeback.tui import going_on, resume_rows
from takeback.tui.messages import Copied
from takeback.tui.resume_rows import Offer
from takeback.tui.screens.base import STATUS, BaseScreen
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList


class ResumeScreen(BaseScreen):
    """The choice for one turn."""

    keys_of = "resume"
    CSS_PATH = "resume.tcss"

    def __init__(self, offer: Offer, undone: bool = False) -> None:
        super().__init__()
        self._tb_offer = offer
        self._tb_undone = undone
        self._tb_copying = False

    def compose(self) -> ComposeResult:
        yield TextLine(resume_rows.title(self._tb_offer), id="title")
        yield RowList(self.takeback.glyphs, id="rows")
        yield TextLine(id="about")
        yield TextLine(id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        rows = self.query_one("#rows", RowList)
        rows.focus()
        rows.fill(resume_rows.rows(self._tb_offer), "only")
        if self._tb_undone:
            self.say("The files are taken back; the conversation still stands as it is.")

    @property
    def _row(self) -> str:
        row = self.query_one("#rows", RowList).current
        return row.key if row is not None else ""

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if message.row is not None and self.stands:
            said = resume_rows.about(self._tb_offer, message.row.key)
            self.query_one("#about", TextLine).say(said)

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_go()

    def action_go(self) -> None:
        """Do what the line under the cursor says."""
        row, offer, app = self._row, self._tb_offer, self.takeback
        if self._tb_copying:
            self.say("The copy is being made.")
        elif row == "only":
            going_on.start(app, offer.way)
        elif row == "both":
            app.pop_screen()
            app.open_plan(Request("undo", to=offer.turn.id), leads=offer.turn)
        elif row == "copy":
            self._tb_copying = True
            going_on.copy(app, self, offer.turn)
        elif row == "command":
            self.action_copy()

    def on_copied(self, message: Copied) -> None:
        message.stop()
        self._tb_copying = False
        if message.error is not None:
            parts = (message.error.message, message.error.hint)
            self.say(" ".join(part for part in parts if part), True)
        elif message.way is not None and self.stands and self.app.screen is self:
            going_on.start(self.takeback, message.way)

    def action_copy(self) -> None:
        """Put the command into the clipboard."""
        self.app.copy_to_clipboard(self._tb_offer.way.command(self._tb_offer.root))
        self.say("Copied the command, where the terminal allows it.")
