"""A diff, drawn line by line: only what is on the screen is made into strips."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from rich.segment import Segment
from textual import events
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from takeback.tui import diff_layout, diffs, keys
from takeback.tui.diff_layout import NONE, View
from takeback.tui.diff_marks import Marks
from takeback.tui.diffs import SIGNS, Line
from takeback.tui.messages import Said
from takeback.tui.text import counted, quoted
from takeback.tui.widgets import diff_paint
from takeback.tui.widgets.cells import cell_len, fit
from takeback.tui.widgets.diff_paint import Look
from takeback.tui.widgets.search_line import SearchLine

if TYPE_CHECKING:
    from takeback.tui.app import TakebackApp

SIDE_BY_SIDE = 90
"""Columns from which on two columns of code can be read."""
_COPIED = 1_000_000
"""Characters that are sent to a terminal's clipboard at most."""
_RIGHT = 1_000_000
"""Where the characters of the right column begin, for what is selected with the mouse."""
_HEAD = 1
"""Rows at the top that do not scroll."""


class DiffPane(ScrollView, can_focus=True):
    """Shows the lines of `takeback.tui.diffs`."""

    keys_of: ClassVar[str] = "diff"
    COMPONENT_CLASSES: ClassVar[set[str]] = diff_paint.COMPONENTS
    DEFAULT_CSS = diff_paint.CSS

    class Again(Message):
        """The diff must be made again for the way in which diffs are now looked at."""

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tb_diff = diffs.of(())
        self._tb_layout = diff_layout.one_column(self._tb_diff)
        self._tb_view = View()
        self._tb_wrapped_at = 0
        self._tb_cursor = 0
        self._tb_matches: list[tuple[int, int, int]] = []
        self._tb_match = -1
        self._tb_wanted = ""
        self._tb_search: SearchLine | None = None
        self._tb_styles = diff_paint.Styles(self)
        self._tb_marks = Marks(self._tb_diff)
        self._tb_strips: LRUCache[tuple[int, int, int], Strip] = LRUCache(512)

    # --- What is shown -----------------------------------------------------------------------

    @property
    def lines(self) -> Sequence[Line]:
        return self._tb_diff.lines

    @property
    def two_columns(self) -> bool:
        """Whether old and new stand beside each other just now."""
        return self._tb_layout.right is not None

    def on_mount(self) -> None:
        parent = self.parent
        if isinstance(parent, Widget):
            self._tb_search = SearchLine(self._answered)
            parent.mount(self._tb_search, after=self)
        self._tb_view = self._wanted

    @property
    def _wanted(self) -> View:
        """How all diffs of the app are looked at."""
        return cast("TakebackApp", self.app).diff_view

    def show(self, lines: Sequence[Line]) -> None:
        """Show another diff from its top; the same one, or with more context, where it was."""
        diff = diffs.of(lines)
        view = self._wanted
        if view == self._tb_view and diff.same(self._tb_diff):
            return
        before, top = self._tb_diff, self._top_line
        stay = view.context != self._tb_view.context
        stay = stay and [file.name for file in before.files] == [file.name for file in diff.files]
        place = diff_layout.place(before, top)
        line = diff_layout.found_again(diff, place) if stay and top else 0
        self._tb_view = view
        self._tb_diff = diff
        self._tb_marks = Marks(diff)
        self._tb_matches, self._tb_match = [], -1
        self._lay_out(line, self.scroll_offset.x if stay else 0)
        if self._tb_wanted:
            self._tb_matches = diff_layout.find(diff, self._tb_wanted)

    def _lay_out(self, line: int, left: int) -> None:
        """Place every line anew; the given one at the top, and a column at the left."""
        width = self.scrollable_content_region.width
        two = self._tb_view.side and width >= SIDE_BY_SIDE
        make = diff_layout.two_columns if two else diff_layout.one_column
        self._tb_wrapped_at = width if self._tb_view.wrap else 0
        wrap = self._text_width(two, width) if self._tb_view.wrap else 0
        self._tb_layout = make(self._tb_diff, wrap)
        across = 0
        if not self._tb_view.wrap:
            across = width + max(0, self._tb_diff.widest - self._text_width(two, width))
        self.virtual_size = Size(across, self._tb_layout.rows + _HEAD)
        self._tb_strips.clear()
        top = self._tb_layout.row_of(line) if line else 0
        self.scroll_to(left, top, animate=False, force=True, immediate=True)
        self._tb_cursor = self._tb_layout.line_at(top)
        self.refresh()

    @property
    def _digits(self) -> int:
        return max(3, len(str(self._tb_diff.most)))

    def _gutter(self, two: bool) -> int:
        return self._digits + 3 if two else 2 * self._digits + 4

    def _text_width(self, two: bool, width: int) -> int:
        """The columns that the text of one line has."""
        return max(1, (width - 1) // 2 - self._gutter(True) if two else width - self._gutter(False))

    def on_resize(self) -> None:
        width = self.scrollable_content_region.width
        two = self._tb_view.side and width >= SIDE_BY_SIDE
        if two != self.two_columns or (self._tb_view.wrap and width != self._tb_wrapped_at):
            self._lay_out(self._top_line, self.scroll_offset.x)
        elif not self._tb_view.wrap:
            across = width + max(0, self._tb_diff.widest - self._text_width(two, width))
            self.virtual_size = Size(across, self._tb_layout.rows + _HEAD)
        self._tb_strips.clear()

    @property
    def _top_line(self) -> int:
        """The line at the top of what is seen, 0 at the very beginning."""
        top = self.scroll_offset.y
        return self._tb_layout.line_at(top) if top else 0

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._tb_cursor = self._tb_layout.line_at(round(new_value))

    # --- Moving ------------------------------------------------------------------------------

    def _go(self, line: int) -> None:
        """Bring a line to the top, as far as there is enough below it, and stand on it."""
        row = self._tb_layout.row_of(line)
        self.scroll_to(y=row, animate=False, immediate=True)
        self._tb_cursor = line
        self._redraw()

    def action_lines(self, by: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + by, animate=False, immediate=True)

    def action_columns(self, by: int) -> None:
        self.scroll_to(x=self.scroll_offset.x + by, animate=False, immediate=True)

    def action_page(self, by: int, part: int = 1) -> None:
        self.action_lines(by * max(1, (self.size.height - 1 - _HEAD) // part))

    def action_top(self) -> None:
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_bottom(self) -> None:
        self.scroll_to(y=self._tb_layout.rows, animate=False, immediate=True)

    def action_hunk(self, by: int) -> None:
        self._next([hunk.line for hunk in self._tb_diff.hunks], by, "hunk")

    def action_file(self, by: int) -> None:
        self._next([file.line for file in self._tb_diff.files], by, "file")

    def _next(self, stops: list[int], by: int, what: str) -> None:
        here = self._tb_cursor
        at = bisect_right(stops, here) if by > 0 else bisect_left(stops, here) - 1
        if 0 <= at < len(stops):
            self._go(stops[at])
        else:
            self._say(f"This is the {'last' if by > 0 else 'first'} {what}.")

    def on_focus(self) -> None:
        self._say_focus()

    def on_blur(self) -> None:
        self._say_focus()

    def _say_focus(self) -> None:
        """Show it in the headline, and the keys that hold now."""
        self.refresh()
        for line in self.screen.query("KeyLine"):
            line.refresh()

    def on_click(self, event: events.Click) -> None:
        row = self.scroll_offset.y + event.y - _HEAD
        if event.y >= _HEAD and row < self._tb_layout.rows:
            self._tb_cursor = self._tb_layout.line_at(row)
            self._tb_strips.clear()
            self.refresh()

    # --- Ways of looking ---------------------------------------------------------------------

    def action_side(self) -> None:
        width = self.scrollable_content_region.width
        if not self._tb_view.side and width < SIDE_BY_SIDE:
            key = keys.first(f"{getattr(self.screen, 'keys_of', '')}.diff")
            wider = key and self.app.size.width > SIDE_BY_SIDE
            self._say(
                f"Side by side needs {SIDE_BY_SIDE} columns, here are {width}."
                + (f" {key} shows the diff over the whole screen." if wider else "")
            )
            return
        self._change(replace(self._wanted, side=not self._tb_view.side))
        self._say("Side by side." if self._tb_view.side else "One column.")

    def action_wrap(self) -> None:
        self._change(replace(self._wanted, wrap=not self._tb_view.wrap))
        self._say("Long lines are wrapped." if self._tb_view.wrap else "Long lines are cut off.")

    def _change(self, view: View) -> None:
        """Look at all diffs in another way from now on."""
        cast("TakebackApp", self.app).diff_view = view
        self._set(replace(view, context=self._tb_view.context))

    def _set(self, view: View) -> None:
        """Look at the lines in another way, from the same place."""
        self._tb_view = view
        cursor = self._tb_cursor
        self._lay_out(self._top_line, self.scroll_offset.x)
        self._tb_cursor = cursor

    def look(self, view: View) -> bool:
        """Look as on another screen; whether the diff must be made again for it."""
        context = self._tb_view.context
        if view != self._tb_view:
            self._set(replace(view, context=context))
        return view.context != context

    def action_context(self, by: int) -> None:
        view = self._wanted
        context = diff_layout.context_after(view.context, by)
        if context == view.context:
            self._say("More than the whole file there is not." if by > 0 else "No less.")
            return
        self._change(replace(view, context=context))
        self.post_message(self.Again())
        whole = context == diff_layout.CONTEXTS[-1]
        around = "The whole file" if whole else counted(context, "line")
        self._say(f"{around} around each change.")

    # --- Searching ---------------------------------------------------------------------------

    def action_search(self) -> None:
        if self._tb_search is not None:
            self._tb_search.open(self._tb_wanted)

    def _answered(self, text: str | None) -> None:
        """The search line was closed, with what is looked for or without."""
        self.screen.set_focus(self)
        self._tb_wanted = text or ""
        self._tb_matches = diff_layout.find(self._tb_diff, self._tb_wanted)
        at = bisect_left(self._tb_matches, (self._tb_cursor, -1, -1))
        self._match(at if at < len(self._tb_matches) else 0)

    def action_match(self, by: int) -> None:
        if not self._tb_wanted:
            begin = keys.first("diff.search")
            self._say(f"Nothing was looked for yet: {begin} begins." if begin else "")
            return
        at = self._tb_match + by
        self._match(at)
        if self._tb_matches and not 0 <= at < len(self._tb_matches):
            self._say("The search went on at the other end.")

    def _match(self, at: int) -> None:
        """Go to a match; after the last comes the first."""
        self._redraw()
        count = len(self._tb_matches)
        self._tb_match = at % count if count else -1
        if not count:
            if self._tb_wanted:
                self._say(f"{quoted(self._tb_wanted)} is nowhere in this diff.")
            return
        line, start, _ = self._tb_matches[self._tb_match]
        row = self._tb_layout.row_of(line)
        top, room = self.scroll_offset.y, self.size.height - _HEAD
        if not top <= row < top + room:
            self.scroll_to(y=row - room // 3, animate=False, immediate=True)
        if not self._tb_view.wrap:
            self._show_column(cell_len(self._tb_diff[line].text[:start]))
        self._tb_cursor = line

    def _show_column(self, column: int) -> None:
        """Scroll sideways to a place in a line if it is out of sight."""
        width = self._text_width(self.two_columns, self.scrollable_content_region.width)
        left = self.scroll_offset.x
        if not left <= column < left + width - 8:
            self.scroll_to(x=max(0, column - width // 2), animate=False, immediate=True)

    # --- Copying -----------------------------------------------------------------------------

    def action_copy(self) -> None:
        selection = self.text_selection
        found = self.get_selection(selection) if selection is not None else None
        if found is not None and found[0]:
            self._copy(found[0], counted(found[0].count("\n") + 1, "selected line"))
            return
        at = diff_layout.hunk_at(self._tb_diff, self._tb_cursor)
        if at == NONE:
            self._say("There is no hunk here. Nothing was copied.")
            return
        text = self._tb_diff.patch_of(self._tb_diff.hunks[at])
        self._copy(text, f"hunk {at + 1} of {len(self._tb_diff.hunks)}, as a patch")

    def _copy(self, text: str, what: str) -> None:
        if len(text) > _COPIED:
            self._say(f"{what.capitalize()}: too long for a clipboard. Nothing was copied.")
            return
        self.app.copy_to_clipboard(text)
        self._say(f"Copied {what}, where the terminal allows it.")

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        layout = self._tb_layout
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else layout.rows - 1
        out: list[str] = []
        for row in range(max(0, first), min(last, layout.rows - 1) + 1):
            right, start, end = self._selected(selection, row)
            item, part = layout.at(row)
            line = layout.right[item] if right and layout.right is not None else layout.left[item]
            if line == NONE:
                continue
            begin, text = self._part(line, part)
            piece = text[max(0, start - begin) : max(0, end - begin)]
            if part and out:
                out[-1] += piece
            else:
                out.append(piece)
        return "\n".join(out), "\n"

    def _selected(self, selection: Selection, row: int) -> tuple[bool, int, int]:
        """What is selected of a row: whether at the right, and from where to where in the text."""
        right = selection.start is not None and selection.start.x >= _RIGHT // 2
        span = selection.get_span(row)
        if span is None:
            return right, 0, 0
        start, end = span
        shift = _RIGHT if right else 0
        return right, max(0, start - shift), _RIGHT if end == -1 else max(0, end - shift)

    def selection_updated(self, selection: Selection | None) -> None:
        self._redraw()

    # --- Drawing -----------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.post_message(Said(text))

    def _redraw(self) -> None:
        self._tb_strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        self._tb_styles.clear()
        self._tb_strips.clear()
        super().notify_style_update()

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        width = self.scrollable_content_region.width
        if y < _HEAD:
            return self._headline(width)
        row = top + y - _HEAD
        if row >= self._tb_layout.rows:
            return Strip.blank(width, self._tb_styles.plain("same"))
        key = (row, left, width)
        found = self._tb_strips.get(key)
        if found is None:
            found = self._tb_strips[key] = self._row(row, left, width)
        return found

    def _headline(self, width: int) -> Strip:
        """The row that stays: the file, and where in it we are."""
        name, place = diff_layout.headline(self._tb_diff, self._tb_cursor)
        if self._tb_wanted and self._tb_matches:
            count = len(self._tb_matches)
            at = self._tb_match + 1
            found = f"match {at}/{count}" if at else counted(count, "match", "matches")
            place = f"{found}  {place}"
        room = width - cell_len(place) - 3
        text = f" {fit(name, max(1, room), keep_end=True)} {place} "
        style = self._tb_styles.plain("head-focus" if self.has_focus else "head")
        return Strip([Segment(fit(text, width), style)])

    def _row(self, row: int, left: int, width: int) -> Strip:
        layout = self._tb_layout
        item, part = layout.at(row)
        line = layout.left[item]
        if layout.right is None or (line == layout.right[item] and self._over(line)):
            return self._column(line, row, part, left, width, 0)
        half = (width - 1) // 2
        return Strip.join([
            self._column(line, row, part, left, half, 0),
            Strip([Segment("|", self._tb_styles.plain("number"))]),
            self._column(layout.right[item], row, part, left, width - 1 - half, _RIGHT),
        ])  # fmt: skip

    def _over(self, line: int) -> bool:
        """Whether a line stands over both columns."""
        return self._tb_diff[line].kind not in SIGNS

    def _part(self, line: int, part: int) -> tuple[int, str]:
        """One row of a line: where it begins in the line's text, and its text."""
        known = self._tb_diff[line]
        if not self._tb_view.wrap or known.kind not in SIGNS:
            return 0, diffs.shown(known)
        width = self._text_width(self.two_columns, self._tb_wrapped_at)
        return diff_layout.part(known, part, width)

    def _column(self, line: int, row: int, part: int, left: int, width: int, at: int) -> Strip:
        """One line's row, in the only column or in one of two."""
        styles = self._tb_styles
        if line == NONE:
            return Strip.blank(width, styles.plain("same"))
        known = self._tb_diff[line]
        gutter = self._numbers(known, part, at)
        style = styles.plain(known.kind)
        if known.kind == "hunk" and line == self._hunk_line:
            gutter = ">"
        begin, text = self._part(line, part)
        room = max(0, width - len(gutter))
        first, before, text = diff_paint.seen(text, 0 if self._over(line) else left, room)
        first += begin
        found = self._looks(line, first, len(text), row, at)
        lexed = known.kind in SIGNS and self._tb_marks.lexed(line)
        body = diff_paint.segments(text, found, lambda look: styles.of(known.kind, look, lexed))
        if before:
            body.insert(0, Segment(" " * before, style))
        body_strip = Strip(body).crop_extend(0, room, style)
        numbers = styles.plain("number") if known.kind == "same" else style
        return Strip.join([
            Strip([Segment(gutter, numbers)]).apply_offsets(at + first - len(gutter), row),
            body_strip.apply_offsets(at + first, row),
        ])  # fmt: skip

    @property
    def _hunk_line(self) -> int:
        """The first line of the hunk that the keys act on."""
        at = diff_layout.hunk_at(self._tb_diff, self._tb_cursor)
        return self._tb_diff.hunks[at].line if at != NONE else NONE

    def _numbers(self, line: Line, part: int, at: int) -> str:
        """Numbers and sign before a line; nothing but blanks where it goes on."""
        sign = SIGNS.get(line.kind)
        if sign is None:
            return " "
        digits = self._digits
        if part:
            return " " * self._gutter(self.two_columns)
        if self.two_columns:
            return f"{(line.new if at else line.old) or '':>{digits}} {sign} "
        return f"{line.old or '':>{digits}} {line.new or '':>{digits}} {sign} "

    def _looks(self, line: int, first: int, length: int, row: int, at: int) -> list[Look]:
        """What stands on the characters of a line that are seen."""
        marks = self._tb_marks
        known = self._tb_diff[line]
        content = known.kind in SIGNS
        start = bisect_left(self._tb_matches, (line, -1, -1))
        matches = []
        for i in range(start, len(self._tb_matches)):
            where, begin, end = self._tb_matches[i]
            if where != line:
                break
            matches.append((begin, end, i == self._tb_match))
        chosen = (0, 0)
        if (selection := self.text_selection) is not None:
            right, begin, end = self._selected(selection, row)
            chosen = (begin, end) if right == bool(at) else (0, 0)
        return diff_paint.looks(
            first,
            length,
            marks.tokens(line) if content else (),
            marks.words(line) if content else (),
            matches,
            chosen,
        )
