"""The panel of an undo or redo: the plan, what is ticked of it, and what is left alone.

A clean plan is applied by enter, one that asks by `y`. Enter pressed before the plan is there is
kept and counts for a clean plan only; a `y` never does, because it answers a question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from takeback.engine.errors import ProjectChanged, SessionRunning, TakebackError
from takeback.engine.model import Change, Request, Turn
from takeback.tui import choice, diffs, present
from takeback.tui.choice import Choice
from takeback.tui.messages import Applied, Diffed, Planned
from takeback.tui.screens.base import BREAKPOINTS, STATUS, BaseScreen
from takeback.tui.screens.diff import DiffScreen
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import Row, RowList

_WAIT = "Planning…"
_RUNNING = "y: close that turn as interrupted and show what would be done. esc: leave it running."
_WORDS = {"undo": "Undo", "redo": "Redo"}


class UndoScreen(BaseScreen):
    """One request as a plan that can be changed and applied."""

    keys_of = "undo"
    holds = True
    CSS_PATH = "undo.tcss"

    def __init__(self, request: Request) -> None:
        super().__init__()
        self.HORIZONTAL_BREAKPOINTS = BREAKPOINTS
        self._tb_request = request
        self._tb_choice: Choice | None = None
        self._tb_turns: Sequence[Turn] = ()
        self._tb_number = 0
        self._tb_enter = False
        self._tb_applying = False
        self._tb_running = False

    def compose(self) -> ComposeResult:
        yield TextLine(_WORDS.get(self._tb_request.kind, "Plan"), id="title")
        with Horizontal(id="panes"):
            yield RowList(self.takeback.glyphs, id="rows")
            with Vertical(id="side"):
                yield DiffPane(id="diff")
        yield TextLine(id="detail")
        yield Static(Content(_WAIT), id="summary", markup=False)
        yield TextLine(id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        self.query_one("#rows", RowList).focus()
        self._plan(self._tb_request)

    def _plan(self, request: Request) -> None:
        self._tb_number += 1
        self.takeback.desk.plan(self, request, self._tb_number, lambda: self._tb_number)

    # --- What came of it ---------------------------------------------------------------------

    def on_planned(self, message: Planned) -> None:
        message.stop()
        if message.number != self._tb_number or not self.stands:
            return
        if message.error is not None or message.plan is None:
            self._failed(message.error)
            return
        if self._tb_choice is None:
            self._tb_turns = message.turns
            self._tb_choice = choice.opened(self._tb_request, message.plan, message.turns)
            found = self._tb_choice
            self.query_one("#title", TextLine).say(present.plan_title(message.plan, message.turns))
            first = next((f"file:{file.path.hex()}" for file in found.files), "")
            self._draw(first)
        else:
            self._tb_choice = replace(self._tb_choice, plan=message.plan)
            self._draw()
        if self._tb_enter:
            self._tb_enter = False
            if not self._tb_choice.asks and not self._tb_choice.useless:
                self._apply()

    def _failed(self, error: TakebackError | None) -> None:
        self._tb_enter = False
        if error is None:
            return
        if isinstance(error, SessionRunning) and not self._tb_request.while_running:
            self._tb_running = True
            self._summary([f"! {error.message}", _RUNNING], True)
            return
        if self._tb_choice is None:
            # There is no plan to look at: say why where the user came from.
            self.takeback.close_panel(error.message, error.hint)
            return
        self._summary([f"! {error.message}", *([error.hint] if error.hint else [])], True)

    def on_applied(self, message: Applied) -> None:
        message.stop()
        self._tb_applying = False
        if message.outcome is not None:
            # Without the prompt: the line must have room for what was left alone.
            lines = present.outcome_lines(message.outcome)
            said = [lines[0], *message.outcome.notes]
            if message.outcome.operation:
                back = "ctrl+x r puts it back" if self._tb_request.kind == "undo" else ""
                said.append(f"{back or 'ctrl+x u takes it back again'}.")
            self.takeback.done(" ".join(said))
            return
        if isinstance(message.error, ProjectChanged):
            self.say("Something changed meanwhile and nothing was written. This is the new plan.")
            self._again()
            return
        self._failed(message.error)

    def _again(self) -> None:
        """Plan what is ticked once more."""
        if self._tb_choice is None:
            return
        request = self._tb_choice.request()
        self._tb_choice = replace(self._tb_choice, plan=None)
        if request is not None:
            self._plan(request)
        self._draw()

    # --- Drawing -----------------------------------------------------------------------------

    def _draw(self, at: str = "") -> None:
        found = self._tb_choice
        if found is None:
            return
        self.query_one("#rows", RowList).fill(choice.rows(found, self.takeback.glyphs), at)
        self._summary(choice.summary(found, "enter", "y"), found.asks or found.useless)

    def _summary(self, lines: Sequence[str], asks: bool) -> None:
        line = self.query_one("#summary", Static)
        line.set_class(asks, "-asks")
        line.update(Content("\n".join(lines)))

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
            self.takeback.desk.diff(self, changes, said)

    def _changes(self, row: Row) -> tuple[tuple[Change, ...], tuple[str, ...]]:
        """What would happen to the files of a row, from now to afterwards."""
        found = self._tb_choice
        if found is None:
            return (), (_WAIT,)
        out = []
        known = found.entries()
        for path in found.of_row(row.key):
            entry = known.get(path) if path in found.ticked else None
            if entry is not None and entry.action in ("restore", "delete", "merge"):
                out.append(Change(entry.path, entry.expect, entry.want, "no-record", (), ()))
        said = "Nothing would be changed here."
        return tuple(out), (said,)

    def on_diffed(self, message: Diffed) -> None:
        message.stop()
        if self.stands and message.number == self.takeback.desk.diff_number:
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
            self._tick([file.path for file in self._tb_choice.files])

    def _tick(self, paths: Sequence[bytes]) -> None:
        found = self._tb_choice
        if found is None or self._tb_applying or not paths:
            return
        if not found.can_choose:
            self.say("Files are chosen for an undo of a turn only; this goes as a whole.")
            return
        self.say("")
        self._tb_enter = False
        # A plan that is still being made is for other ticks: its answer must not count.
        self._tb_number += 1
        self._tb_choice = found.toggled(paths)
        self._again()

    def action_apply(self) -> None:
        found = self._tb_choice
        if self._tb_applying:
            return
        if self._tb_running:
            self.say("This asks first: y does it, esc leaves everything as it is.", True)
        elif found is None or (found.plan is None and found.ticked):
            self._tb_enter = True
        elif found.useless:
            self.say("There is nothing to apply: see above.", True)
        elif found.asks:
            self.say("This plan asks first: y does it, esc leaves everything as it is.", True)
        else:
            self._apply()

    def action_agree(self) -> None:
        found = self._tb_choice
        if self._tb_running:
            self._tb_running = False
            self._tb_request = replace(self._tb_request, while_running=True)
            if found is not None:
                self._tb_choice = replace(found, base=replace(found.base, while_running=True))
                self._again()
            else:
                self._summary([_WAIT], False)
                self._plan(self._tb_request)
            return
        if found is None or self._tb_applying or found.plan is None:
            return
        if found.useless:
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

    def action_overwrite(self) -> None:
        """Plan again with the files in conflict taken back whole, or without."""
        found = self._tb_choice
        if found is None or self._tb_applying:
            return
        whole = self._tb_request.on_conflict != "overwrite"
        if whole and not found.first.conflicts:
            self.say("No file is in conflict here.")
            return
        self._tb_request = replace(self._tb_request, on_conflict="overwrite" if whole else "merge")
        self._tb_choice = None
        self._tb_enter = False
        self.say("Files in conflict are taken back whole." if whole else "")
        self._summary([_WAIT], False)
        self._plan(self._tb_request)

    @property
    def applying(self) -> bool:
        """Whether a plan is being carried out just now."""
        return self._tb_applying

    def action_diff(self) -> None:
        if self._row is None:
            return
        if self.has_class("-wide"):
            self.query_one("#diff", DiffPane).focus()
        else:
            self.app.push_screen(DiffScreen(*self._changes(self._row)))

    def back(self) -> bool:
        rows = self.query_one("#rows", RowList)
        if self._tb_applying:
            self.say("Working: this cannot be left half done.")
            return True
        if self.query_one("#diff", DiffPane).has_focus:
            rows.focus()
            return True
        return False
