"""Every key, from the table of keys; and what the signs mean."""

from __future__ import annotations

from textual.app import ComposeResult

from takeback.tui import keys
from takeback.tui.glyphs import Glyphs
from takeback.tui.screens.base import BaseScreen
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList, Span

_WITH_NAMES = 80
"""Columns from which on there is room for the names that `takeback.tui.keymap` takes."""


class HelpScreen(BaseScreen):
    """The keys, those of the screen it was opened from first."""

    keys_of = "help"
    CSS_PATH = "help.tcss"

    def __init__(self, opened_from: str) -> None:
        super().__init__()
        self._tb_from = opened_from

    def compose(self) -> ComposeResult:
        yield TextLine("Keys", id="title")
        yield RowList(self.takeback.glyphs, id="rows")
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        rows = self.query_one("#rows", RowList)
        rows.focus()
        wide = self.app.size.width >= _WITH_NAMES
        rows.fill(help_rows(self._tb_from, self.takeback.glyphs, wide))


def help_rows(opened_from: str, glyphs: Glyphs, names: bool = True) -> list[Row]:
    """The whole table as rows, grouped by where the keys hold.

    Args:
        names: also what the file of the user's keys calls each action.
    """
    scopes = list(keys.TITLES)
    if opened_from in scopes:
        scopes.remove(opened_from)
        scopes.insert(0, opened_from)
    rows: list[Row] = []
    for scope in scopes:
        rows.append(Row(f"scope:{scope}", (Span(keys.TITLES[scope], "title"),), head=True))
        rows += [
            Row(
                f"key:{scope}:{key.keys}",
                (Span(f"{key.shown:<20}", "agent"), Span(key.text)),
                (Span(key.id, "muted"),) if names else (),
                indent=2,
            )
            for key in keys.of(scope)
        ]
    rows.append(Row("scope:signs", (Span("Signs", "title"),), head=True))
    signs = (
        (glyphs.agent, "agent-edited: the agent did it, and there is evidence"),
        (glyphs.unknown, "unknown origin: never taken back unless you tick it"),
        (glyphs.none, "no file changed"),
        (glyphs.undone, "undone"),
        (glyphs.warning, "conflict or warning"),
    )
    rows += [
        Row(f"sign:{at}", (Span(f"{sign:<20}", "agent"), Span(text)), indent=2)
        for at, (sign, text) in enumerate(signs)
    ]
    return rows
