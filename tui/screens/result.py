"""What the last operation did, to be read beside one's own `git diff`."""

from __future__ import annotations

from textual.app import ComposeResult

from takeback.tui import going_on, result_rows
from takeback.tui.result_rows import Result
from takeback.tui.screens.base import STATUS, BaseScreen
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList


class ResultScreen(BaseScreen):
    """The summary of one operation."""

    keys_of = "result"
    CSS_PATH = "result.tcss"

    def __init__(self, result: Result) -> None:
        super().__init__()
        self._tb_result = result

    def compose(self) -> ComposeResult:
        yield TextLine(self._title(), id="title")
        yield TextLine(
            f"{self.takeback.glyphs.done} {result_rows.sentence(self._tb_result)}", id="about"
        )
        yield RowList(self.takeback.glyphs, id="rows")
        yield TextLine(id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def _title(self) -> str:
        return f"Result: {result_rows.target(self._tb_result, self._tb_result.turns)}"

    def on_mount(self) -> None:
        rows = self.query_one("#rows", RowList)
        rows.focus()
        rows.fill(result_rows.rows(self._tb_result, self.takeback.glyphs))

    def action_copy(self) -> None:
        """Put the operation's id into the clipboard."""
        operation = self._tb_result.outcome.operation
        if operation:
            self.app.copy_to_clipboard(operation)
            self.say(f"Copied {operation}.")

    def action_resume(self) -> None:
        """Go on in the conversation from where this led."""
        going_on.after(self.takeback, self._tb_result)

    def action_close(self) -> None:
        row = self.query_one("#rows", RowList).current
        if row is not None and row.key in result_rows.LEADS:
            self.action_resume()
        else:
            self.app.pop_screen()
