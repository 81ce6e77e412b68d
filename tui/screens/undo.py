"""The panel of an undo or redo: the plan, what is ticked of it, and what is left alone.

A clean plan is applied by enter, one that asks by `y`. Enter pressed before the plan is there is
kept and counts for a clean plan only; a `y` never does, because it answers a question. A plan that
was made again because something changed under it is never applied before it was looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from takeback.engine.agents import resume
from takeback.engine.errors import ProjectChanged, SessionRunning, TakebackError
from takeback.engine.model import Change, Plan, Request, Turn
from takeback.engine.work import Cancelled
from takeback.tui import choice, diffs, keys, plan_rows, resume_rows, resuming
from takeback.tui.choice import Choice
from takeback.tui.messages import Applied, Diffed, Planned, Watched
from takeback.tui.result_rows import Result
from takeback.tui.screens.base import BREAKPOINTS, STATUS, BaseScreen
from takeback.tui.screens.diff import DiffScreen
from takeback.tui.text import safe
from takeback.tui.watching import Stamps
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList
from takeback.tui.work import Stopped

WATCH_EVERY = 1.0
"""Seconds between two looks whether the plan still fits."""
_WAIT = "Planning…"
_RUNNING = (
    "Wait: this is planned by itself when the turn ends.",
    "{undo.agree}: close that turn as interrupted now, and show what would be done.",
    "{common.go_back}: leave it running.",
)
_WORDS = {"undo": "Undo", "redo": "Redo", "goto": "Go to", "restore": "Restore"}
_LOOK = "Nothing was done yet: look at this plan, then press {undo.apply} again."
_ASKS = "This asks first: {undo.agree} does it, {common.go_back} leaves everything as it is."


class UndoScreen(BaseScreen):
    """One request as a plan that can be changed and applied."""

    keys_of = "undo"
    holds = True
    CSS_PATH = "undo.tcss"

    def __init__(self, request: Request, leads: Turn | None = None) -> None:
        super().__init__()
        self._tb_leads = leads
        self._tb_leads_on = leads is not None
        self.HORIZONTAL_BREAKPOINTS = BREAKPOINTS
        self._tb_number = 0
        self._tb_applying = False
        self._tb_looking = False
        self._tb_begin(request)
        # Its target is named where it is asked for: enter may come before the plan.
        self._tb_foretold = True

    def _tb_begin(self, request: Request) -> None:
        """Forget everything about another plan."""
        self._tb_request = request
        self._tb_choice: Choice | None = None
        self._tb_turns: Sequence[Turn] = ()
        self._tb_shown: Plan | None = None
        self._tb_stamps: Stamps = {}
        self._tb_changed: tuple[bytes, ...] | None = None
        self._tb_enter = False
        self._tb_unseen = False
        self._tb_planning = False
        self._tb_foretold = False
        self._tb_running: tuple[str, frozenset[str]] | None = None

    def compose(self) -> ComposeResult:
        yield TextLine(_WORDS.get(self._tb_request.kind, "Plan"), id="title")
        with Horizontal(id="panes"):
            yield RowList(self.takeback.glyphs, id="rows")
            with Vertical(id="side"):
                yield TextLine(id="preview")
                yield DiffPane(id="diff")
        yield TextLine(id="detail")
        yield Static(Content(_WAIT), id="summary", markup=False)
        yield TextLine(id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        self.query_one("#rows", RowList).focus()
        self._plan(self._tb_request)
        self.set_interval(WATCH_EVERY, self._look)

    def on_unmount(self) -> None:
        # Nobody waits for a plan any more.
        self._tb_number += 1

    def _plan(self, request: Request) -> None:
        self._tb_number += 1
        self._tb_planning = True
        self.takeback.desk.plan(self, request, self._tb_number, lambda: self._tb_number)

    # --- What came of it ---------------------------------------------------------------------

    def on_planned(self, message: Planned) -> None:
        message.stop()
        if message.number != self._tb_number or not self.stands:
            return
        self._tb_planning = False
        if message.error is not None or message.plan is None:
            self._failed(message.error, message.running)
            return
        plan, found, first = message.plan, self._tb_choice, ""
        self._tb_turns, self._tb_stamps = message.turns, message.stamps
        again = found.again(plan) if found is not None else None
        if found is not None and again is None:
            self._tb_foretold = False
        if again is None:
            base = found.base if found is not None else self._tb_request
            again = choice.opened(base, plan, message.turns)
            top = [file for file in again.files if not file.held] or again.files
            first = next((f"file:{file.path.hex()}" for file in top), "")
        self._tb_choice = again
        self._told(plan)
        self._draw(first)
        enter, self._tb_enter = self._tb_enter, False
        if enter and not self._tb_foretold:
            self.say(keys.words(_LOOK), True)
        elif enter and not again.asks and not again.useless:
            self._apply()
        # What is ticked in a plan that was seen says what the next one is for.
        self._tb_foretold = True

    def _told(self, plan: Plan) -> None:
        """Say what a plan that the user did not ask for changes; it must be seen first."""
        old, self._tb_shown = self._tb_shown, plan
        changed, self._tb_changed = self._tb_changed, None
        if changed is None or old is None or not choice.differs(old, plan):
            return
        self._tb_unseen = True
        if changed:
            more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
            said = f"{safe(changed[0])}{more} changed: planned again."
        else:
            said = "Something changed meanwhile and nothing was written. This is the new plan."
        if self._tb_enter:
            said += keys.words(" Nothing was done yet: look, then press {undo.apply} again.")
            self._tb_enter = self._tb_unseen = False
        self.say(said, True)

    def _failed(self, error: TakebackError | None, running: frozenset[str] = frozenset()) -> None:
        self._tb_enter = False
        self._tb_changed = None
        if error is None:
            return
        if isinstance(error, SessionRunning):
            # A yes closed another turn than the one that runs by now: it asks again.
            self._tb_request = replace(self._tb_request, while_running=False)
            self._tb_running = (error.session, running)
            if self._tb_choice is not None:
                self._tb_choice = replace(self._tb_choice, plan=None)
            self._summary([f"! {error.message}", *map(keys.words, _RUNNING)], True)
            return
        if self._tb_choice is None:
            # There is no plan to look at: say why where the user came from.
            self.takeback.close_panel(error.message, error.hint)
            return
        self._tb_choice = replace(self._tb_choice, plan=None)
        self._summary([f"! {error.message}", *([error.hint] if error.hint else [])], True)

    def on_applied(self, message: Applied) -> None:
        message.stop()
        self._tb_applying = False
        found = self._tb_choice
        if message.outcome is not None:
            named = {entry.known_as for entry in message.outcome.plan.entries}
            left = set(found.can_tick) - found.ticked - named if found is not None else set()
            self.takeback.done(
                Result(
                    message.outcome,
                    message.turns,
                    message.took_s,
                    tuple(sorted(left)),
                    self._git,
                    message.too_late,
                    self._leads[0] if self._tb_leads_on and self._leads is not None else None,
                )
            )
            return
        if isinstance(message.error, ProjectChanged):
            self.say("Something changed meanwhile and nothing was written. This is the new plan.")
            self._tb_changed = ()
            self._again(quietly=True)
            return
        if isinstance(message.error, Cancelled | Stopped):
            self.say("Cancelled. Nothing was changed.")
            return
        self._failed(message.error)

    def _again(self, quietly: bool = False) -> None:
        """Plan what is ticked once more.

        Args:
            quietly: the plan that is shown stays until the new one is there.
        """
        if self._tb_choice is None:
            return
        request = self._tb_choice.request()
        if not quietly:
            self._tb_choice = replace(self._tb_choice, plan=None)
            self._tb_changed = None
            self._tb_unseen = False
        if request is not None:
            self._plan(request)
        if not quietly:
            self._draw()

    # --- Looking whether the plan still fits -------------------------------------------------

    def _look(self) -> None:
        busy = self._tb_applying or self._tb_planning or self._tb_looking
        if busy or not self.stands or not (self._tb_stamps or self._tb_running):
            return
        self._tb_looking = True
        desk = self.takeback.desk
        desk.watch(self, self._tb_number, self._tb_stamps, self._tb_running)

    def on_watched(self, message: Watched) -> None:
        message.stop()
        self._tb_looking = False
        if message.number != self._tb_number or self._tb_applying or self._tb_planning:
            return
        if message.ended and self._tb_running is not None:
            self._tb_running = None
            self.say("The turn has ended: planned again.")
            self._resume()
        elif message.changed and self._tb_running is None:
            self._tb_changed = message.changed
            self._again(quietly=True)

    def _resume(self) -> None:
        """Plan after a running turn was waited for or closed."""
        self._tb_foretold = False
        if self._tb_choice is not None:
            self._again()
        else:
            self._summary([_WAIT], False)
            self._plan(self._tb_request)

    # --- Drawing -----------------------------------------------------------------------------

    @property
    def _git(self) -> bool:
        return self.takeback.project.place.git is not None

    def _draw(self, at: str = "") -> None:
        found = self._tb_choice
        if found is None:
            return
        self.query_one("#title", TextLine).say(plan_rows.title(found))
        self.query_one("#rows", RowList).fill(plan_rows.rows(found, self.takeback.glyphs), at)
        after = ""
        if found.first.kind == "undo" and not found.first.reverses:
            record = self.takeback.record
            operations = record.operations if record is not None else ()
            after = plan_rows.after_words(plan_rows.next_turn(found, operations))
        enter, yes = keys.first("undo.apply"), keys.first("undo.agree")
        lines = plan_rows.summary(found, enter, yes, git=self._git, after=after)
        if self._leads is not None and not found.useless:
            lines = [*lines, resume_rows.line(self._leads[1], self._tb_leads_on)]
        self._summary(lines, found.asks or found.useless)

    @property
    def _leads(self) -> tuple[Turn, str] | None:
        """The turn before which the conversation can go on afterwards, and its agent's title."""
        found = self._tb_choice
        plan = found.plan if found is not None else None
        if plan is None:
            return None
        turn, running = self._tb_leads, False
        after = resume.turn_after(plan, self._tb_turns)
        if after is not None:
            turn, running = after
        way = resume.continue_from(turn) if turn is not None and not running else None
        return (turn, way.title) if turn is not None and way is not None else None

    def action_both(self) -> None:
        """Whether the conversation is opened as well, once the files are taken back."""
        if self._tb_applying:
            return
        if self._leads is None:
            self.say(resuming.NO_WAY)
        else:
            self._tb_leads_on = not self._tb_leads_on
            self._draw()

    def _summary(self, lines: Sequence[str], asks: bool) -> None:
        line = self.query_one("#summary", Static)
        line.set_class(asks, "-asks")
        line.update(Content("\n".join(map(safe, lines))))
        self.show_keys()

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if self.stands:
            self._show(message.row)

    def on_resize(self) -> None:
        if self.stands:
            self._show(self._row)

    def _show(self, row: Row | None) -> None:
        if row is None or self._tb_choice is None:
            return
        parts = [row.lead[-1].text if row.cells else "".join(span.text for span in row.lead)]
        parts += [row.cells[-1].text] if row.cells else []
        self.query_one("#detail", TextLine).say(": ".join(part for part in parts if part))
        if self.has_class("-wide"):
            changes, said = self._changes(row)
            self.query_one("#preview", TextLine).say(said)
            self.takeback.desk.diff(self, changes, ("Nothing would be changed here.",))

    def _changes(self, row: Row) -> tuple[tuple[Change, ...], str]:
        """What would happen to the files of a row, from now to afterwards."""
        if self._tb_choice is None:
            return (), _WAIT
        return plan_rows.preview(self._tb_choice, row.key)

    def on_diffed(self, message: Diffed) -> None:
        message.stop()
        if self.stands and message.number == self.takeback.desk.newest_diff(self):
            self.query_one("#diff", DiffPane).show(message.lines or diffs.note(""))

    # --- Keys --------------------------------------------------------------------------------

    @property
    def _row(self) -> Row | None:
        return self.query_one("#rows", RowList).current

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.boxed:
            self.action_tick()

    def action_tick(self) -> None:
        if self._row is not None and self._tb_choice is not None:
            self._tick(self._tb_choice.of_row(self._row.key))

    def action_group(self) -> None:
        if self._row is not None and self._tb_choice is not None:
            self._tick(self._tb_choice.group_of(self._row.key))

    def action_all(self) -> None:
        if self._tb_choice is not None:
            self._tick(self._tb_choice.can_tick)

    def _tick(self, paths: Sequence[bytes]) -> None:
        found = self._tb_choice
        if found is None or self._tb_applying or not paths:
            return
        if not found.can_choose:
            self.say("Files are chosen for an undo of a turn only; this goes as a whole.")
            return
        boxes = set(found.can_tick)
        if not boxes.issuperset(paths):
            self.say("This file is left alone as it stands; c chooses something else.")
            return
        self._change(found.toggled(paths))

    def _change(self, found: Choice) -> None:
        """Take over other ticks or choices, and plan for them."""
        self.say("")
        self._tb_enter = False
        # A plan that is still being made is for other ticks: its answer must not count.
        self._tb_number += 1
        self._tb_planning = False
        self._tb_running = None
        self._tb_choice = found
        self._again()

    def action_choose(self) -> None:
        """The next choice for the file under the cursor: merge, keep, take back whole."""
        found, row = self._tb_choice, self._row
        if found is None or row is None or self._tb_applying:
            return
        paths = found.of_row(row.key) if row.key.startswith("file:") else []
        if not paths:
            self.say("A choice is for one file: put the cursor on it.")
        elif not found.ways(paths[0]):
            ticked = paths[0] in found.ticked
            missing = "Tick it first: what changed since is planned then."
            self.say("This file did not change since: no choice is needed." if ticked else missing)
        else:
            self._change(found.turned(paths[0]))

    def action_overwrite(self) -> None:
        """Plan again with the files in conflict taken back whole, or without."""
        found = self._tb_choice
        if found is None or self._tb_applying:
            return
        paths = found.in_conflict
        if not paths:
            self.say("No file is in conflict here.")
            return
        whole = not found.whole.issuperset(paths)
        self._change(found.chosen(paths, "whole" if whole else "merge"))
        self.say("Files in conflict are taken back whole." if whole else "")

    def action_other(self, by: int) -> None:
        """The panel for the next older or newer turn of which something stands."""
        found = self._tb_choice
        if found is None or self._tb_applying:
            return
        if not found.can_choose:
            self.say("Only the undo of a turn has an older and a newer one beside it.")
            return
        turn = choice.neighbour(found.turns, choice.meant(found.first, found.turns), by)
        if turn is None:
            self.say(f"There is no {'older' if by < 0 else 'newer'} turn of which anything stands.")
            return
        self._tb_leads, self._tb_leads_on = None, False
        self._tb_begin(Request("undo", turn=turn.id))
        self.say("")
        self._summary([_WAIT], False)
        self._plan(self._tb_request)

    def action_apply(self) -> None:
        found = self._tb_choice
        if self._tb_applying:
            return
        if self._tb_running is not None:
            self.say(keys.words(_ASKS), True)
        elif self._tb_planning:
            self._tb_enter = True
        elif found is None or (found.plan is None and found.request() is not None):
            # The last try failed or was cancelled.
            self._again()
        elif self._unseen():
            return
        elif found.useless:
            self.say("There is nothing to apply: see above.", True)
        elif found.asks:
            self.say(keys.words(f"This plan asks first: {_ASKS.partition(': ')[2]}"), True)
        else:
            self._apply()

    def _unseen(self) -> bool:
        """Whether the plan is new and was not asked for; from now on it counts as seen."""
        if self._tb_unseen:
            self._tb_unseen = False
            self.say("This plan is new: look at it, then press the key again.", True)
            return True
        return False

    @property
    def asking(self) -> bool:
        found = self._tb_choice
        return self._tb_running is not None or (found is not None and found.asks)

    def action_agree(self) -> None:
        found = self._tb_choice
        if self._tb_applying:
            return
        if self._tb_running is not None:
            self._tb_running = None
            self._tb_request = replace(self._tb_request, while_running=True)
            if found is not None:
                self._tb_choice = replace(found, base=replace(found.base, while_running=True))
            self._resume()
        elif self._tb_planning or found is None or found.plan is None:
            if found is not None:
                self.say("The plan is being made: look at it first.", True)
        elif self._unseen():
            return
        elif found.useless:
            self.say("There is nothing to apply: see above.", True)
        else:
            self._apply()

    def _apply(self) -> None:
        found = self._tb_choice
        if found is None or found.plan is None:
            return
        self._tb_applying = True
        self.say("Working…")
        self.takeback.desk.apply(self, found.plan, self._tb_turns)

    @property
    def applying(self) -> bool:
        """Whether a plan is being carried out just now."""
        return self._tb_applying

    def action_diff(self) -> None:
        if self._row is None:
            return
        pane = self.query_one("#diff", DiffPane)
        if self.has_class("-wide") and not pane.has_focus:
            pane.focus()
        else:
            changes, said = self._changes(self._row)
            self.app.push_screen(DiffScreen(changes, (said,)))

    def back(self) -> bool:
        rows = self.query_one("#rows", RowList)
        if self._tb_applying:
            self.say("Working: from here on this cannot be left half done.")
            return True
        if self.query_one("#diff", DiffPane).has_focus:
            rows.focus()
            return True
        return False
