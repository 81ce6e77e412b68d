"""Every key, from the table of keys; and what the signs mean."""

from __future__ import annotations

from textual.app import ComposeResult

from takeback.tui import keys
from takeback.tui.glyphs import Glyphs
from takeback.tui.screens.base import BaseScreen
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList, Span

_WITH_NAMES = 110
"""Columns from which on there is room for the names that `takeback.tui.keymap` takes."""


_TITLE = "Keys"
_WIDER = f"from {_WITH_NAMES} columns on with their names for keys.toml"


class HelpScreen(BaseScreen):
    """The keys, those of the screen it was opened from first."""

    keys_of = "help"
    CSS_PATH = "help.tcss"

    def __init__(self, opened_from: str) -> None:
        super().__init__()
        self._tb_from = opened_from

    def compose(self) -> ComposeResult:
        wide = self.app.size.width >= _WITH_NAMES
        yield TextLine(_TITLE if wide else f"{_TITLE}  ({_WIDER})", id="title")
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
    here = [scope for pane in keys.SCREENS.get(opened_from, ()) for scope in pane]
    # What holds on this screen alone comes first, then what holds there and elsewhere.
    own = [scope for scope in here if scope not in ("common", "main", "list", "diff")]
    order = [opened_from, *own, "common", *here, *keys.TITLES]
    rows: list[Row] = []
    for scope in dict.fromkeys(scope for scope in order if scope in keys.TITLES):
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
        (glyphs.later, "a later turn edits the same file"),
        (glyphs.marked, "marked"),
        (glyphs.warning, "conflict or warning"),
    )
    rows += [
        Row(f"sign:{at}", (Span(f"{sign:<20}", "agent"), Span(text)), indent=2)
        for at, (sign, text) in enumerate(signs)
    ]
    return rows
