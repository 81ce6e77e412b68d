"""One list for every screen: rows drawn line by line, with a cursor, tick boxes and columns.

A row is data; nothing is mounted for it, so a list of 10,000 rows opens like one of ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from takeback.tui.glyphs import UNICODE, Glyphs
from takeback.tui.widgets.cells import cell_len, fit
from takeback.tui.widgets.styles import style_of

Role = Literal[
    "", "agent", "unknown", "undone", "warning", "conflict", "muted", "added", "removed", "title",
    "running", "code", "emphasis",
]  # fmt: skip
Box = Literal["", "on", "some", "off"]
_BOXES = {"": "", "on": "[x] ", "some": "[-] ", "off": "[ ] "}
_LEAST_LEAD = 22


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of safe text and what it means.

    Attributes:
        path: cut at the front where it is too long.
    """

    text: str
    role: Role = ""
    path: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line.

    Attributes:
        key: names the row, so the cursor stays on it when the list is filled again.
        lead: what stands at the left; its last span is cut where the room is short.
        cells: columns at the right, as wide as the widest in the list; the first one is numbers.
        box: a tick box before it.
        head: `J` and `K` go from one of these to the next.
        still: the cursor passes over it.
        indent: cells left free before it.
        loose: its cells stand at the right edge, as wide as they are; no column is made for them.
    """

    key: str
    lead: tuple[Span, ...]
    cells: tuple[Span, ...] = ()
    box: Box = ""
    head: bool = False
    still: bool = False
    indent: int = 0
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows with what a list must know of all of them; made in a thread where they are many.

    Attributes:
        columns: the width of each column of cells.
        places: where each row stands, by its key.
    """

    rows: Sequence[Row]
    columns: tuple[int, ...]
    places: dict[str, int]


def listing(rows: Sequence[Row]) -> Listing:
    """Measure rows."""
    texts: list[set[str]] = []
    for row in rows:
        if row.loose:
            continue
        for at, span in enumerate(row.cells):
            if at == len(texts):
                texts.append(set())
            texts[at].add(span.text)
    columns = tuple(max(map(cell_len, column)) for column in texts)
    return Listing(rows, columns, {row.key: at for at, row in enumerate(rows)})


class RowList(ScrollView, can_focus=True):
    """A list of `Row`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row--agent", "row--unknown", "row--undone", "row--warning", "row--conflict", "row--muted",
        "row--added", "row--removed", "row--title", "row--running", "row--code", "row--emphasis",
        "row--marked", "row--cursor", "row--blurred",
    }  # fmt: skip
    DEFAULT_CSS = """
    RowList {
        height: 1fr; background: $surface; color: $foreground; scrollbar-size-vertical: 1;
        & .row--agent { color: $tb-agent; }
        & .row--unknown { color: $tb-unknown; }
        & .row--undone { color: $tb-undone; }
        & .row--warning { color: $tb-warning; }
        & .row--conflict { color: $tb-conflict; }
        & .row--muted { color: $tb-muted; }
        & .row--added { color: $tb-added; }
        & .row--removed { color: $tb-removed; }
        & .row--running { color: $tb-running; }
        & .row--title { text-style: bold; }
        & .row--code { color: $secondary; }
        & .row--emphasis { text-style: italic; }
        & .row--marked { background: $tb-marked; text-style: $tb-marked-style; }
        & .row--cursor {
            background: $tb-cursor; color: $tb-cursor-text; text-style: $tb-cursor-style;
        }
        & .row--blurred { background: $boost; text-style: $tb-blurred-style; }
    }
    """

    class Moved(Message):
        """The cursor is on another row, or the list was filled."""

        def __init__(self, row: Row | None) -> None:
            self.row = row
            super().__init__()

    class Picked(Message):
        """A row was clicked.

        Attributes:
            boxed: on its tick box, or on the place of its mark.
            twice: for the second time.
        """

        def __init__(self, row: Row, boxed: bool, twice: bool) -> None:
            self.row = row
            self.boxed = boxed
            self.twice = twice
            super().__init__()

    def __init__(
        self, glyphs: Glyphs = UNICODE, id: str | None = None, marking: bool = False
    ) -> None:
        """Make an empty list.

        Args:
            marking: its rows can be marked: there is room for the sign before them.
        """
        super().__init__(id=id)
        self._tb_rows: Sequence[Row] = ()
        self._tb_cursor = 0
        self._tb_columns: tuple[int, ...] = ()
        self._tb_places: dict[str, int] = {}
        self._tb_glyphs = glyphs
        self._tb_styles: dict[tuple[str, ...], Style] = {}
        self._tb_marked: frozenset[str] = frozenset()
        self._tb_gutter = 2 if marking else 1

    def use(self, glyphs: Glyphs) -> None:
        """Draw with other signs from now on."""
        self._tb_glyphs = glyphs
        self.refresh()

    # --- Content -----------------------------------------------------------------------------

    @property
    def rows(self) -> Sequence[Row]:
        return self._tb_rows

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        if 0 <= self._tb_cursor < len(self._tb_rows):
            return self._tb_rows[self._tb_cursor]
        return None

    @property
    def at_first(self) -> bool:
        """Whether the cursor is on the first row that can hold it."""
        return all(row.still for row in self._tb_rows[: self._tb_cursor])

    @property
    def marked(self) -> frozenset[str]:
        """The keys of the rows that are shown as marked."""
        return self._tb_marked

    def holds(self, key: str) -> bool:
        """Whether there is a row of this key."""
        return key in self._tb_places

    def stand_on(self, key: str) -> None:
        """Put the cursor on the row of this key, if there is one."""
        if key in self._tb_places:
            self.go(self._tb_places[key])

    def mark(self, keys: frozenset[str]) -> None:
        """Show these rows as marked, and no others."""
        changed = keys ^ self._tb_marked
        self._tb_marked = keys
        top = self.scroll_offset.y
        for y in range(top, min(top + self.size.height, len(self._tb_rows))):
            if self._tb_rows[y].key in changed:
                self._redraw(y)

    def fill(self, rows: Sequence[Row] | Listing, at: str = "") -> None:
        """Show other rows; only lines that differ are drawn again.

        The row under the cursor stays where it is on the screen, whatever came before it.

        Args:
            at: the row to stand on; the one that the cursor was on, if it is still there.
        """
        new = rows if isinstance(rows, Listing) else listing(rows)
        before = self.current
        wanted = at or (before.key if before else "")
        old_rows, old_columns, old_top = self._tb_rows, self._tb_columns, self.scroll_offset.y
        old_cursor = self._tb_cursor
        self._tb_rows, self._tb_columns, self._tb_places = new.rows, new.columns, new.places
        last = len(new.rows) - 1
        self._tb_cursor = self._nearest(new.places.get(wanted, min(old_cursor, last)), 1)
        if len(new.rows) != len(old_rows):
            self.virtual_size = Size(0, len(new.rows))
        if before is not None and before.key == wanted and old_top:
            top = old_top + self._tb_cursor - old_cursor
            self.scroll_to(y=max(0, top), animate=False, force=True, immediate=True)
        if old_columns != new.columns or self.scroll_offset.y != old_top:
            self.refresh()
        else:
            self._redraw_changed(old_rows, old_cursor)
        self._show_cursor()
        self.post_message(self.Moved(self.current))

    def _redraw_changed(self, old: Sequence[Row], old_cursor: int) -> None:
        top = self.scroll_offset.y
        for y in range(top, top + self.size.height):
            before = old[y] if y < len(old) else None
            after = self._tb_rows[y] if y < len(self._tb_rows) else None
            moved = old_cursor != self._tb_cursor and y in (old_cursor, self._tb_cursor)
            if moved or (before is not after and before != after):
                self._redraw(y)

    def _redraw(self, position: int) -> None:
        self.refresh(Region(0, position - self.scroll_offset.y, self.size.width, 1))

    def go(self, position: int, direction: int = 1) -> None:
        """Put the cursor on a row, or on the nearest one that can hold it."""
        new = self._nearest(position, direction)
        if new == self._tb_cursor:
            if not any(not row.still for row in self._tb_rows[:new]):
                self.scroll_to(y=0, animate=False)
            return
        old, self._tb_cursor = self._tb_cursor, new
        self._redraw(old)
        self._redraw(new)
        self._show_cursor()
        self.post_message(self.Moved(self.current))

    def _nearest(self, position: int, direction: int) -> int:
        last = len(self._tb_rows) - 1
        position = max(0, min(position, last))
        for step in (direction, -direction):
            at = position
            while 0 <= at <= last:
                if not self._tb_rows[at].still:
                    return at
                at += step
        return position

    def _show_cursor(self) -> None:
        self.scroll_to_region(Region(0, self._tb_cursor, 1, 1), animate=False, force=True)

    # --- Keys and mouse ----------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        self.go(self._tb_cursor + by, by)

    def action_page(self, by: int, part: int = 1) -> None:
        self.go(self._tb_cursor + by * max(1, (self.size.height - 1) // part), by)

    def action_top(self) -> None:
        self.go(0)

    def action_bottom(self) -> None:
        self.go(len(self._tb_rows) - 1, -1)

    def action_head(self, by: int) -> None:
        at = self._tb_cursor + by
        while 0 <= at < len(self._tb_rows):
            if self._tb_rows[at].head:
                self.go(at, by)
                return
            at += by

    def on_click(self, event: events.Click) -> None:
        position = self.scroll_offset.y + event.y
        if position >= len(self._tb_rows) or self._tb_rows[position].still:
            return
        self.go(position)
        row = self._tb_rows[position]
        left = self._tb_gutter + row.indent
        boxed = bool(row.box) and left <= event.x < left + 4
        boxed = boxed or event.x < self._tb_gutter > 1
        self.post_message(self.Picked(row, boxed, event.chain == 2))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    # --- Drawing -----------------------------------------------------------------------------

    def notify_style_update(self) -> None:
        self._tb_styles.clear()
        super().notify_style_update()

    def _style(self, role: str, cursor: bool, marked: bool = False) -> Style:
        names = [f"row--{role}"] if role else []
        # The role comes last, so that its colour wins over that of the cursor's text.
        if cursor:
            names.insert(0, "row--cursor" if self.has_focus else "row--blurred")
        elif marked:
            names.insert(0, "row--marked")
        key = tuple(names)
        found = self._tb_styles.get(key)
        if found is None:
            found = self._tb_styles[key] = style_of(self, *names)
        return found

    def _widths(self, row: Row, room: int) -> tuple[int, ...]:
        """The columns, made narrower from the right where the names would have no room."""
        if not row.cells:
            return ()
        widths = list(self._tb_columns)
        if row.loose:
            widths = [cell_len(span.text) for span in row.cells]
        gaps = sum(width + 2 for width in widths if width)
        over = gaps - max(0, room - max(_LEAST_LEAD, room * 2 // 5))
        for at in range(len(widths) - 1, -1, -1):
            if over <= 0:
                break
            cut = min(over, widths[at])
            widths[at] -= cut
            over -= cut
        return tuple(widths)

    def render_line(self, y: int) -> Strip:
        position = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if position >= len(self._tb_rows):
            return Strip.blank(width, self._style("", False))
        row = self._tb_rows[position]
        cursor, marked = position == self._tb_cursor, row.key in self._tb_marked
        base = self._style("", cursor, marked)
        sign = self._tb_glyphs.cursor if cursor else " "
        if self._tb_gutter > 1:
            sign += self._tb_glyphs.marked if marked else " "
        segments = [Segment(sign + " " * row.indent + _BOXES[row.box], base)]
        room = width - self._tb_gutter - row.indent - len(_BOXES[row.box])
        columns = self._widths(row, width - self._tb_gutter)
        # The last column does not touch the edge.
        room -= 1 + sum(column + 2 for column in columns if column)
        for at, span in enumerate(row.lead):
            last = at == len(row.lead) - 1
            length = max(0, room) if last else min(max(0, room), cell_len(span.text))
            text = fit(span.text, length, self._tb_glyphs.more, span.path)
            segments.append(Segment(text, self._style(span.role, cursor, marked)))
            room -= length
        for at, column in enumerate(columns):
            if not column:
                continue
            span = row.cells[at] if at < len(row.cells) else Span("")
            text = fit(span.text, column, self._tb_glyphs.more)
            if at == 0:
                text = " " * (len(text) - len(text.rstrip())) + text.rstrip()
            segments.append(Segment("  ", base))
            segments.extend(self._numbers(text, span, cursor, marked))
        return Strip(segments).simplify().adjust_cell_length(width, base)

    def _numbers(self, text: str, span: Span, cursor: bool, marked: bool) -> list[Segment]:
        """A cell; the two numbers of lines in their colours."""
        if span.role != "added":
            return [Segment(text, self._style(span.role, cursor, marked))]
        at = max(text.find("-"), text.find("−"))
        at = len(text) if at < 0 else at
        return [
            Segment(text[:at], self._style("added", cursor, marked)),
            Segment(text[at:], self._style("removed", cursor, marked)),
        ]
