"""The first screen: what the agents did, newest turn first, with the diff of the row beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message

from takeback.engine.model import Change, Part, Turn
from takeback.engine.timeline.later import later_edits
from takeback.tui import diffs, going_on, keys, marks, past, timeline_shown, timeline_words
from takeback.tui.failures import sentence
from takeback.tui.messages import Diffed, Record
from takeback.tui.present import NOTHING_RECORDED
from takeback.tui.screens.base import BREAKPOINTS, STATUS
from takeback.tui.screens.diff import DiffScreen
from takeback.tui.screens.main import MainScreen
from takeback.tui.text import counted
from takeback.tui.timeline_model import Entry, View
from takeback.tui.timeline_shown import Shown
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.filter_line import FilterLine
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList

_NEXT = "Connect an agent with 'takeback install AGENT', or record with 'takeback run -- COMMAND'."
_SHARES = (30, 40, 50, 60, 70)
"""What the list can have of the width, in percent."""
_RANGE = "A range begins here: go to its end and press {turns.range} again."
_STOPPED = "Nothing moves the cursor now. {turns.follow} follows again."
MANY = 2000
"""Rows and steps from which on all of them are not made while the keys wait."""
_TURNED = {None: "Folded as usual.", True: "Everything is unfolded.", False: "Folded to headings."}


@dataclass
class Next(Message):
    """What undo and redo would take next, in words."""

    words: str


_BESIDES = 4
"""Cells of the list that rows do not have: the signs before, the scroll bar, one at the edge."""

_AROUND = 5
"""Lines around the list: head, session, detail, status and keys."""


class TimelineScreen(MainScreen):
    """One session of the project, the newest if none was chosen."""

    keys_of = "timeline"
    CSS_PATH = "main.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._tb_shown: Shown | None = None
        self._tb_opened: dict[str, bool] = {}
        self._tb_every: bool | None = None
        self._tb_width = 76
        self._tb_marks: dict[str, Part] = {}
        self._tb_net: tuple[Shown, Mapping[str, Part], tuple[Change, ...]] | None = None
        self._tb_anchor = ""
        self._tb_turn = ""
        self._tb_follows = True
        self._tb_filling = False
        self._tb_share = 50
        self._tb_beside: object = None
        self._tb_filtered = ""
        self._tb_next = ""
        self._tb_said = ""
        self._tb_next_of: Record | None = None

    def compose(self) -> ComposeResult:
        yield self.head()
        yield TextLine(id="about")
        yield FilterLine(id="filter")
        with Horizontal(id="panes"):
            yield RowList(self.takeback.glyphs, id="rows", marking=True)
            with Vertical(id="side"):
                yield DiffPane(id="diff")
        yield TextLine(id="detail")
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        first = self.takeback.first
        if first is not None:
            width = self.app.size.width
            wide = width >= BREAKPOINTS[1][0]
            self._tb_width = (width * self._tb_share // 100 if wide else width) - _BESIDES
            self.loaded(first, self.prepare(first))

    @property
    def rows(self) -> RowList:
        return self.query_one("#rows", RowList)

    def on_resize(self) -> None:
        if not self.stands:
            return
        # A pane that just appeared has no diff yet.
        self._tb_beside = None
        self.call_after_refresh(self._measure)

    def _measure(self) -> None:
        """Break the lines again where the list got another width."""
        if not self.stands:
            return
        width = self.rows.size.width - _BESIDES
        shown = self._tb_shown
        other = shown is not None and shown.view.height != self._height
        if (width != self._tb_width or other) and width > 0:
            self._tb_width = width
            if self._tb_shown is not None:
                self._again()
        self._about()
        self._beside()

    @property
    def _height(self) -> int:
        """Lines for the rows, while no sentence needs more than one."""
        return self.app.size.height - _AROUND

    # --- Rows --------------------------------------------------------------------------------

    def prepare(self, record: Record) -> Shown | None:
        known = self._tb_shown
        wanted = self.takeback.session_id
        if not wanted and known is not None and not self._tb_follows:
            # Another session's new turn takes nobody away from what is read.
            wanted = known.session.id
        view = View(
            self.takeback.glyphs,
            time.time_ns(),
            self._tb_width,
            self.filter_words,
            later_edits(record.sessions),
            dict(self._tb_opened),
            self._tb_every,
            self._height,
        )
        # The newest of those from before comes first: it is shown where nothing was recorded.
        sessions = (*record.sessions, *reversed(record.past))
        return timeline_shown.made(sessions, view, wanted, known)

    def show(self, prepared: object) -> None:
        shown = cast("Shown | None", prepared)
        before = self._tb_shown
        if shown is None:
            self._tb_shown = None
            self.rows.fill([])
            hint = f"{keys.first('common.go_first_run')} shows what takeback found here."
            self.query_one("#diff", DiffPane).show(diffs.note(NOTHING_RECORDED, _NEXT, hint))
            self.say(f"{NOTHING_RECORDED} {_NEXT} {hint}")
            return
        other = before is None or before.session.id != shown.session.id
        if other:
            self._tb_marks, self._tb_anchor = {}, ""
            self._tb_follows = shown.has_newest
        self._tb_marks = marks.standing(self._tb_marks, shown.turns)
        self._keep_open(before, shown)
        self._tb_shown = shown
        view = shown.view
        if (view.width, view.opened, view.every) != (
            self._tb_width,
            self._tb_opened,
            self._tb_every,
        ):
            self._again()
        else:
            self._fill(f"turn:{shown.session.turns[-1].id}" if other else "")
        self._look_ahead()
        if view.words != self._tb_filtered:
            self._tb_filtered = view.words
            self.say(f"{counted(shown.hits, 'line')} found." if view.words else "")

    def _look_ahead(self) -> None:
        """Ask what undo and redo would take next, once for each record."""
        app, record = self.takeback, self.takeback.record
        if record is None or record.partial or record is self._tb_next_of:
            return
        self._tb_next_of = record

        def call() -> Message:
            return Next(timeline_words.next_words(*app.project.next_targets()))

        def failed(error: BaseException) -> Message:
            return Next(f"What undo would take next is not known: {sentence(error)}")

        app.desk.call(self, "Reading", call, failed, stale=lambda: record is not app.record)

    def on_next(self, message: Next) -> None:
        message.stop()
        self._tb_next = message.words
        if not self._tb_said and self.stands:
            self.say("")

    def say(self, text: str, warning: bool = False) -> None:
        """Show a sentence; without one, what undo and redo would take next."""
        self._tb_said = text
        super().say(text or self._tb_next, warning and bool(text))

    def _keep_open(self, before: Shown | None, shown: Shown) -> None:
        """A turn that is read stays as it is when a newer one begins."""
        entry = self.current
        if before is None or self._tb_follows or entry is None or entry.turn is None:
            return
        old = before.session.turns[-1]
        newer = entry.turn.id == old.id != shown.session.turns[-1].id
        if newer or before.view.fits > shown.view.fits:
            self._tb_opened.setdefault(f"turn:{entry.turn.id}", True)

    def _again(self, *turns: str) -> None:
        """Make the rows again, of some turns or (without any) of all, with what is folded now."""
        shown = self._tb_shown
        if shown is None:
            return
        if not turns and len(shown.entries) + shown.counts.steps > MANY:
            # So many take a while: they are made in a thread.
            self.takeback.prepare()
            return
        opened = dict(self._tb_opened)
        view = replace(
            shown.view,
            width=self._tb_width,
            opened=opened,
            every=self._tb_every,
            height=self._height,
        )
        shown.again(view, turns)
        self._fill()

    def _fill(self, at: str = "") -> None:
        shown = self._tb_shown
        if shown is None:
            return
        self.rows.mark(marks.shown(self._tb_marks, shown.entries))
        self._tb_filling = True
        follows = self._tb_follows and (not at or shown.newest.state == "running")
        at = (shown.followed(self.current) if follows else "") or at
        row = self.rows.current
        at = at or (shown.nearest(row.key, self._tb_turn) if row is not None else "")
        self.rows.fill(shown.rows, at)
        self._about()

    @property
    def current(self) -> Entry | None:
        """The row under the cursor."""
        shown, row = self._tb_shown, self.rows.current
        return shown.entry(row.key) if shown is not None and row is not None else None

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if not self.stands:
            return
        if self._tb_filling:
            self._tb_filling = False
        else:
            self._moved()
        entry = self.current
        if entry is not None and entry.turn is not None:
            self._tb_turn = entry.turn.id
        self._beside()

    def _moved(self) -> None:
        """Who stands on the newest turn's heading or last part follows what comes."""
        shown, entry = self._tb_shown, self.current
        if shown is None or entry is None or self._tb_filtered:
            return
        follows = shown.follows(entry)
        if follows != self._tb_follows:
            self._tb_follows = follows
            self._about()

    # --- What stands around the list -----------------------------------------------------------

    def _about(self) -> None:
        shown = self._tb_shown
        if shown is None:
            return
        glyphs = self.takeback.glyphs
        parts = timeline_words.headline(shown.session, shown.counts, glyphs)
        right = self._follow_words()
        room = self.size.width - 2
        left = timeline_words.fitted(parts, room - len(right) - 2 * bool(right))
        self.query_one("#about", TextLine).say(f"{left}  {right}" if right else left)

    def _follow_words(self) -> str:
        shown = self._tb_shown
        if shown is None:
            return ""
        running = shown.newest.state == "running"
        if self._tb_follows:
            return keys.words("follows the agent ({turns.follow} stops)") if running else ""
        if shown.newest.session != shown.session.id:
            said = f"turn {shown.newest.n} is newer: {{turns.follow}} goes there"
            return keys.words(said) if running else ""
        return keys.words("{turns.follow} follows again") if running else ""

    def _beside(self) -> None:
        """Say what the row is, and show its difference where there is room beside the list."""
        entry = self.current
        if entry is None or self._tb_shown is None:
            return
        if self._tb_marks:
            glyphs = self.takeback.glyphs
            said = marks.details(self._tb_marks, self._tb_shown.turns, self._net, glyphs)
        else:
            said = timeline_words.details(entry, self._tb_shown.view.later)
        self.query_one("#detail", TextLine).say("  ".join(said))
        if not self.has_class("-wide"):
            return
        changes, besides = self._difference(entry)
        wanted = (changes, besides)
        if wanted != self._tb_beside:
            self._tb_beside = wanted
            self.takeback.desk.diff(self, changes, besides)

    def _difference(self, entry: Entry) -> tuple[Sequence[Change], Sequence[str]]:
        """What the pane shows, and what it says where there is no difference."""
        shown = self._tb_shown
        if self._tb_marks and shown is not None:
            what = marks.words(self._tb_marks, shown.turns)
            what = f"{what[:1].upper()}{what[1:]}"
            return self._net, (f"{what}{', together.' if self._net else ': no difference.'}",)
        width = self.query_one("#diff", DiffPane).size.width
        return entry.changes, timeline_words.beside(entry, width - 3)

    @property
    def _net(self) -> tuple[Change, ...]:
        """The net difference of what is marked, made once."""
        shown = self._tb_shown
        if shown is None:
            return ()
        known = self._tb_net
        if known is None or known[0] is not shown or known[1] != self._tb_marks:
            found = marks.changes(self._tb_marks, shown.turns)
            known = self._tb_net = (shown, dict(self._tb_marks), found)
        return known[2]

    def on_diffed(self, message: Diffed) -> None:
        message.stop()
        if self.stands and message.number == self.takeback.desk.newest_diff(self):
            self.query_one("#diff", DiffPane).show(message.lines)

    # --- Folds -------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Open or shut what the row belongs to."""
        entry, shown = self.current, self._tb_shown
        if entry is None or shown is None or entry.turn is None or not entry.fold:
            return
        turn = entry.turn
        is_open = self._tb_opened.get(entry.fold, self._tb_every)
        if is_open is None:
            hidden = f"more:{turn.id}" in shown.rows.places
            is_open = entry.fold == f"turn:{turn.id}" and not hidden
        self._tb_opened[entry.fold] = not is_open
        at = ""
        if is_open:
            # What folded up is gone: its first line takes the cursor.
            at = f"turn:{turn.id}" if entry.fold.startswith("turn:") else ""
            at = f"{entry.fold}:0" if entry.fold.startswith("text:") else at
            at = entry.fold if entry.kind == "prompt" else at
        self._unfold_to(turn, entry, at, not is_open)

    def _unfold_to(self, turn: Turn, entry: Entry, at: str, opened: bool) -> None:
        shown = self._tb_shown
        place = shown.rows.places.get(entry.row.key, 0) if shown is not None else 0
        self._again(turn.id)
        if at:
            self.rows.stand_on(at)
        elif opened and not self.rows.holds(entry.row.key):
            # The first line of what was unfolded stands where its fold stood.
            self.rows.go(place)

    def action_fold_all(self) -> None:
        """Unfold everything, then fold it to headings, then as usual."""
        turns: dict[bool | None, bool | None] = {None: True, True: False, False: None}
        self._tb_every = turns[self._tb_every]
        self._tb_opened.clear()
        entry = self.current
        self._again()
        if entry is not None and not self.rows.holds(entry.row.key) and entry.turn is not None:
            self.rows.stand_on(f"turn:{entry.turn.id}")
        self.say(_TURNED[self._tb_every])

    def action_open(self) -> None:
        """Unfold what is folded, else show the diff."""
        entry = self.current
        if entry is not None and (entry.kind == "more" or entry.fold.startswith("text:")):
            self.action_fold()
        else:
            self.action_diff()

    # --- Marks -------------------------------------------------------------------------------

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        entry = self.current
        if message.boxed:
            self.action_mark()
        elif message.twice or (entry is not None and entry.kind == "more"):
            self.action_open()

    def action_mark(self) -> None:
        entry = self.current
        if entry is None or self._tb_shown is None:
            return
        if self._is_past:
            self.say(past.NO_UNDO, True)
            return
        if not marks.of_row(entry):
            self.say("There is nothing to mark here: this answer changed no file.")
            return
        self._tb_anchor = entry.row.key
        self._mark(marks.toggled(self._tb_marks, entry))

    def action_range(self) -> None:
        """Mark from the row marked last to this one."""
        shown, entry = self._tb_shown, self.current
        if shown is None or entry is None:
            return
        places = shown.rows.places
        if self._tb_anchor not in places:
            self._tb_anchor = entry.row.key
            self.say(keys.words(_RANGE))
            return
        first, last = sorted((places[self._tb_anchor], places[entry.row.key]))
        after = shown.entries[last + 1] if last + 1 < len(shown.entries) else None
        self._tb_anchor = ""
        self._mark(marks.ranged(self._tb_marks, shown.entries[first : last + 1], after))

    def _mark(self, found: dict[str, Part]) -> None:
        shown = self._tb_shown
        self._tb_marks = found
        if shown is not None:
            self.rows.mark(marks.shown(found, shown.entries))
        self.say("")
        self._beside()

    # --- Follow ------------------------------------------------------------------------------

    def action_follow(self) -> None:
        """Follow the agent, or stop it."""
        shown = self._tb_shown
        if shown is None:
            return
        if self._tb_follows and shown.has_newest:
            self._tb_follows = False
            self.say(keys.words(_STOPPED))
        else:
            self._tb_follows = True
            if not shown.has_newest:
                self.takeback.session_id = ""
                self.takeback.prepare()
            else:
                self.rows.stand_on(shown.followed(None))
        self._about()

    # --- Undo, redo, diff --------------------------------------------------------------------

    def action_undo_here(self) -> None:
        request = marks.undo(self.current, self._tb_marks)
        if request is not None:
            self.takeback.open_plan(request)
        elif self._is_past:
            self.say(past.NO_UNDO, True)

    @property
    def _is_past(self) -> bool:
        """Whether the row is of a turn from before takeback."""
        entry = self.current
        return entry is not None and entry.turn is not None and not entry.turn.recorded

    def action_redo_here(self) -> None:
        entry, record = self.current, self.takeback.record
        if entry is None or entry.turn is None or record is None:
            return
        request = marks.redo(entry, record.operations)
        if self._is_past:
            self.say(past.NO_UNDO, True)
        elif request is not None:
            self.takeback.open_plan(request)
        else:
            self.say(f"Nothing of turn {entry.turn.n} was taken back, so nothing can be put back.")

    def action_resume_here(self) -> None:
        entry = self.current
        if entry is not None and entry.turn is not None:
            going_on.open_for(self.takeback, entry.turn)

    def action_diff(self) -> None:
        entry = self.current
        if entry is None:
            return
        pane = self.query_one("#diff", DiffPane)
        if self.has_class("-wide") and not pane.has_focus:
            pane.focus()
        else:
            changes, besides = self._difference(entry)
            self.app.push_screen(DiffScreen(tuple(changes), tuple(besides)))

    def action_split(self, by: int) -> None:
        """Give the list more or less of the width."""
        at = _SHARES.index(self._tb_share) + by
        if self.has_class("-wide") and 0 <= at < len(_SHARES):
            self._tb_share = _SHARES[at]
            self.query_one("#side").styles.width = f"{100 - self._tb_share}%"
            self.call_after_refresh(self._measure)

    def back(self) -> bool:
        if self.query_one("#diff", DiffPane).has_focus:
            self.rows.focus()
            return True
        if super().back():
            return True
        if self._tb_marks or self._tb_anchor:
            self._tb_anchor = ""
            self._mark({})
            return True
        return False
