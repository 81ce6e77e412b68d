"""What takeback found, and connecting an agent: the first screen where nothing was recorded yet."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import ClassVar, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from takeback.engine import work
from takeback.engine.agents import install
from takeback.engine.agents.files import FileEdit, Level
from takeback.engine.record.look import look
from takeback.engine.store import paths
from takeback.tui import agents_here, first_run, keys, verbs_agents
from takeback.tui.failures import as_error, sentence
from takeback.tui.first_run import Counted, Found
from takeback.tui.messages import Record
from takeback.tui.screens.base import STATUS
from takeback.tui.screens.main import MainScreen, folder_words
from takeback.tui.text import safe
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList

_LOOK_EVERY = 3.0
"""Seconds between two looks at how the agents are connected."""
_TELL_EVERY = 0.2
"""Seconds between two words about how far the count is."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of an agent's files that is shown and waits for a yes.

    Attributes:
        done: what is said once it was made.
    """

    title: str
    edits: tuple[FileEdit, ...]
    lines: tuple[str, ...]
    done: str


@dataclass
class Looked(Message):
    """How far the dry look is, or what came of it; `number`: which look."""

    number: int
    counted: Counted


@dataclass
class Shown(Message):
    """A plan was made, or there is only something to say; `number`: which one was asked for."""

    plan: Plan | None
    text: str = ""
    warning: bool = False
    number: int = 0


@dataclass
class Changed(Message):
    """A plan was carried out, or was not."""

    text: str
    failed: bool = False


@dataclass
class Made(Message):
    """The demo's project was made, or was not."""

    root: bytes
    text: str = ""


class FirstRunScreen(MainScreen):
    """The agents of this machine, what would be protected, and how to begin."""

    keys_of = "first_run"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["main.tcss", "first_run.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self._tb_found: Found | None = None
        self._tb_counted = Counted()
        self._tb_looks = 0
        self._tb_cancel: work.Cancel | None = None
        self._tb_looked_at = b""
        self._tb_plan: Plan | None = None
        self._tb_asked = 0
        self._tb_waits = False

    def compose(self) -> ComposeResult:
        yield self.head()
        yield TextLine("What takeback found", id="about")
        yield RowList(self.takeback.glyphs, id="rows")
        yield Static(id="line", markup=False)
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    def on_mount(self) -> None:
        self.set_interval(_LOOK_EVERY, self._look_again)

    def on_screen_resume(self) -> None:
        # Who comes here by a key stays; who waits here for the first session is taken along.
        record = self.takeback.record
        self._tb_waits = record is not None and not record.sessions

    def _look_again(self) -> None:
        """An agent may be connected from elsewhere as well."""
        app = self.takeback
        if app.screen is self and app.desk.idle and self._tb_plan is None:
            app.prepare()

    # --- What is there -----------------------------------------------------------------------

    def prepare(self, record: Record) -> Found:
        project = self.takeback.project
        home = agents_here.home()
        store = paths.store_dir(project.data, project.root)
        return Found(
            agents_here.agents(project.root, home),
            agents_here.others(),
            folder_words(project.root),
            project.place.git is not None,
            project.place.refused,
            folder_words(store),
            os.path.isdir(store),
            len(record.sessions),
            project.config.max_file_size_mb,
        )

    def show(self, prepared: object) -> None:
        found = cast("Found", prepared)
        if found.sessions and self._tb_waits:
            self.call_later(self._begin)
        self._tb_waits = not found.sessions
        self._tb_found = found
        root = self.takeback.project.root
        if root != self._tb_looked_at and not found.refused:
            self._tb_looked_at = root
            self._look()
        self._draw()

    def _begin(self) -> None:
        """Something was recorded: leave for the timeline."""
        self.takeback.later("The first session is here.")
        self.takeback.open_session("")

    def _draw(self, at: str = "") -> None:
        rows = self.query_one("#rows", RowList)
        if self._tb_plan is not None:
            rows.fill(first_run.plan_rows(self._tb_plan.title, self._tb_plan.lines), at)
        elif self._tb_found is not None:
            signs = self.takeback.glyphs
            rows.fill(first_run.rows(self._tb_found, self._tb_counted, signs), at)

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        """Show a line of a plan whole: its end is what is run."""
        message.stop()
        shown = self._tb_plan is not None and message.row is not None
        line = self.query_one("#line", Static)
        line.display = shown
        if shown and message.row is not None:
            line.update(Content("".join(span.text for span in message.row.lead)))

    # --- Counting ----------------------------------------------------------------------------

    def _look(self) -> None:
        """Count in a thread of its own: connecting an agent need not wait for it."""
        self._tb_looks += 1
        number = self._tb_looks
        self._tb_counted = Counted()
        if self._tb_cancel is not None:
            self._tb_cancel.set()
        cancel = self._tb_cancel = work.Cancel()
        project = self.takeback.project
        told = 0.0

        def progress(_: str, done: int, __: int) -> None:
            nonlocal told
            now = time.monotonic()
            if now - told >= _TELL_EVERY:
                told = now
                self.post_message(Looked(number, Counted(far=done)))

        def run() -> None:
            try:
                with work.using(cancel, progress):
                    found = Counted(look(project.place, project.config, project.data))
            except work.Cancelled:
                found = Counted(failed=keys.words(_CANCELLED))
            except Exception as error:
                found = Counted(failed=safe(as_error(error).message))
            self.post_message(Looked(number, found))

        self.app.run_worker(run, thread=True, exit_on_error=False)

    def on_looked(self, message: Looked) -> None:
        message.stop()
        if message.number != self._tb_looks:
            return
        self._tb_counted = message.counted
        if message.counted.look is not None or message.counted.failed:
            self._tb_cancel = None
        if self.stands and self._tb_plan is None:
            self._draw()

    # --- Connecting --------------------------------------------------------------------------

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_open()

    @property
    def _row(self) -> tuple[str, str]:
        """What the cursor is on: its kind and name."""
        row = self.query_one("#rows", RowList).current
        kind, _, name = row.key.partition(":") if row is not None else ("", "", "")
        return kind, name

    def action_open(self) -> None:
        kind, _ = self._row
        if self._tb_plan is not None:
            self.say(keys.words(f"This asks first: {_AGREE}"), True)
        elif kind == "demo":
            self.action_demo()
        elif kind == "count":
            self._look()
            self._draw()
        else:
            self.action_connect()

    def action_connect(self, level: Level = "user") -> None:
        """Show what connecting the agent of this row would change."""
        name = self._agent()
        if name:
            project = self.takeback.project
            home = agents_here.home()
            # As the command line has it: only a folder that was chosen is written down.
            data = os.fsdecode(project.data) if project.data != paths.data_dir() else ""
            self._plan(
                "connect",
                name,
                lambda: install.plan_install(name, level, project.root, home, data),
                verbs_agents.connected_words(name, level),
                f"{name} is connected already.",
            )

    def action_disconnect(self) -> None:
        """Show what disconnecting the agent of this row would change."""
        name = self._agent()
        if name:
            root, home = self.takeback.project.root, agents_here.home()
            self._plan(
                "disconnect",
                name,
                lambda: install.plan_uninstall(name, root, home),
                verbs_agents.disconnected_words(name),
                f"{name} was not connected.",
            )

    def _agent(self) -> str:
        """The agent of the row, or "" after saying why there is none."""
        if self._tb_plan is not None:
            self.say(keys.words(f"This asks first: {_AGREE}"), True)
            return ""
        kind, name = self._row
        if kind == "agent":
            return name
        if kind == "other":
            self.say(
                f"{name} cannot be connected yet. Record it with: takeback run -- {name}", True
            )
        else:
            self.say("Go to the line of an agent first.")
        return ""

    def _plan(
        self, kind: str, name: str, make: Callable[[], Iterable[FileEdit]], done: str, idle: str
    ) -> None:
        self._tb_asked += 1
        number = self._tb_asked

        def call() -> Message:
            edits = tuple(edit for edit in make() if edit.changes)
            if not edits:
                return Shown(None, f"{idle} Nothing was changed.", number=number)
            title = first_run.plan_title(name, kind, [os.fsdecode(edit.path) for edit in edits])
            lines = [line for edit in edits for line in verbs_agents.shown(edit)]
            return Shown(Plan(title, edits, tuple(lines), done), number=number)

        def failed(error: BaseException) -> Message:
            return Shown(None, sentence(error), True, number)

        self.takeback.desk.call(
            self, "Planning", call, failed, stale=lambda: number != self._tb_asked
        )

    def on_shown(self, message: Shown) -> None:
        message.stop()
        if not self.stands or message.number != self._tb_asked:
            # Another one was asked for since: a yes must not meet a plan that comes late.
            return
        if message.plan is None:
            self.say(safe(message.text), message.warning)
            return
        self._tb_plan = message.plan
        self.show_keys()
        self._draw("plan")
        self.say(keys.words(_AGREE), True)

    @property
    def asking(self) -> bool:
        return self._tb_plan is not None

    def action_agree(self) -> None:
        plan = self._tb_plan
        if plan is None:
            return
        self._tb_plan = None
        self.show_keys()

        def call() -> Message:
            install.apply_all(plan.edits)
            return Changed(plan.done)

        def failed(error: BaseException) -> Message:
            return Changed(sentence(error), True)

        self.takeback.desk.call(self, "Writing", call, failed, can_stop=False)

    def on_changed(self, message: Changed) -> None:
        message.stop()
        self._draw()
        self.say(safe(message.text), message.failed)
        self.takeback.prepare()

    def back(self) -> bool:
        if self._tb_plan is not None:
            self._tb_plan = None
            self.show_keys()
            self.say("Nothing was changed.")
            self._draw()
            return True
        if self._tb_cancel is not None:
            self._tb_cancel.set()
            return True
        return super().back()

    # --- The demo ----------------------------------------------------------------------------

    def action_demo(self) -> None:
        """Make the demo's project and go there."""
        data = os.fsdecode(self.takeback.project.data)

        def call() -> Message:
            from takeback.tui import demo

            folder = Path(tempfile.mkdtemp(prefix="takeback-demo-")).resolve()
            demo.prepare(folder, data)
            return Made(os.fsencode(folder))

        def failed(error: BaseException) -> Message:
            return Made(b"", sentence(error))

        self.takeback.desk.call(self, "Recording a demo", call, failed, can_stop=False)

    def on_made(self, message: Made) -> None:
        message.stop()
        if message.root:
            self.takeback.open_project(message.root)
        else:
            self.say(safe(message.text), True)


_AGREE = "{first_run.agree} changes it so, {common.go_back} leaves everything as it is."
_CANCELLED = "the count was cancelled. {first_run.open} counts again."
