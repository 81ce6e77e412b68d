"""The full-screen app: screens on the engine, keys and chords from one table.

Every call of the engine runs in a worker thread, one at a time, and answers with a message.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer

from takeback.engine.config import config_dir
from takeback.engine.model import Change, Plan, Request, Session, Turn
from takeback.tui import chords, diffs, glyphs, keys, theming, timeline_rows
from takeback.tui.chords import Chords
from takeback.tui.failures import as_error
from takeback.tui.messages import Applied, Diffed, Loaded, Planned, Said
from takeback.tui.screens.base import BaseScreen
from takeback.tui.screens.help import HelpScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.screens.undo import UndoScreen
from takeback.tui.widgets.which_key import WhichKey

if TYPE_CHECKING:
    from takeback.engine.project import Project

_FOLLOW_EVERY = 2.0
"""Seconds between two looks for something new in the record."""
_TWICE = 2.0
"""Seconds within which a second ctrl+c quits."""


class TakebackApp(App[None]):
    """The app of one project.

    Attributes:
        diff_number: the newest diff that was asked for; answers to older ones do not count.
        failure: what closed the app, if something broke.
    """

    TITLE = "takeback"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "quit", show=False, priority=True)
    ]

    def __init__(self, project: Project, said: Sequence[str] = ()) -> None:
        super().__init__()
        self.project = project
        self.glyphs = glyphs.named(project.config.glyphs)
        self.diff_number = 0
        self.failure: Exception | None = None
        self._tb_said = list(said)
        self._tb_engine = threading.Lock()
        self._tb_chords = Chords()
        self._tb_chord_timers: list[Timer] = []
        self._tb_stamp: tuple[tuple[str, int, int], ...] = ()
        self._tb_tries: dict[str, chords.Node] = {}
        self._tb_interrupted = 0.0

    def _handle_exception(self, error: Exception) -> None:
        """A failure of the app itself closes it with a sentence, not with a page of its insides."""
        if self.is_headless or os.environ.get("TAKEBACK_DEBUG") == "1":
            super()._handle_exception(error)
            return
        self.failure = self.failure or error
        self.exit(return_code=1)

    # --- Themes ------------------------------------------------------------------------------

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theming.defaults()

    def on_mount(self) -> None:
        folder = os.path.join(os.fsdecode(config_dir()), "themes")
        found, said = theming.load(folder)
        for theme in found:
            self.register_theme(theme)
        wanted = self.project.config.theme
        if wanted in self.available_themes:
            self.theme = wanted
        else:
            self.theme = theming.DEFAULT
            said.append(f"There is no theme {wanted!r}: {theming.DEFAULT} is shown.")
        self._tb_said += said
        self.push_screen(TimelineScreen())
        self.set_interval(_FOLLOW_EVERY, self._follow)

    # --- Following a running agent -----------------------------------------------------------

    def _follow(self) -> None:
        """Read the timeline again when something was recorded."""
        stamp = _stamp(self.project)
        if stamp != self._tb_stamp and not self._tb_engine.locked():
            self.load()

    def action_next_theme(self) -> None:
        own = sorted(name for name in self.available_themes if not name.startswith("textual"))
        at = own.index(self.theme) if self.theme in own else -1
        self.theme = own[(at + 1) % len(own)]
        self.say(f"Theme {self.theme}, until the app is closed.")

    # --- The engine --------------------------------------------------------------------------

    def _work(
        self,
        target: MessagePump,
        call: Callable[[], Message],
        failed: Callable[[BaseException], Message],
        stale: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run one call of the engine in a thread and post what it answers.

        Args:
            stale: whether the answer is no longer wanted; asked when it is this call's turn.
        """

        def run() -> None:
            with self._tb_engine:
                if stale():
                    return
                try:
                    answer = call()
                except Exception as error:
                    if os.environ.get("TAKEBACK_DEBUG") == "1":
                        self.log.error(repr(error))
                    answer = failed(error)
            target.post_message(answer)

        self.run_worker(run, thread=True, exit_on_error=False)

    def load(self) -> None:
        """Read the timeline; `on_loaded` shows it."""
        self._tb_stamp = _stamp(self.project)

        def call() -> Message:
            session = timeline_rows.newest(self.project.sessions(counts=True))
            if session is None:
                return Loaded(None, ())
            return Loaded(session, timeline_rows.entries(session, self.glyphs, time.time_ns()))

        self._work(self, call, _sentence)

    def plan(
        self, target: MessagePump, request: Request, number: int, newest: Callable[[], int]
    ) -> None:
        """Make a plan; the target gets `Planned`."""

        def call() -> Message:
            plan = self.project.plan(request)
            return Planned(number, plan, _turns(self.project.sessions(counts=True)))

        self._work(
            target,
            call,
            lambda error: Planned(number, None, (), as_error(error)),
            lambda: number != newest(),
        )

    def apply(self, target: MessagePump, plan: Plan, turns: Sequence[Turn]) -> None:
        """Carry a plan out; the target gets `Applied`."""
        self._work(
            target,
            lambda: Applied(self.project.apply(plan), turns),
            lambda error: Applied(None, turns, as_error(error)),
        )

    def diff(self, target: MessagePump, changes: Sequence[Change], details: Sequence[str]) -> None:
        """Make a diff; the target gets `Diffed`.

        Args:
            details: what is shown where there is no difference.
        """
        self.diff_number += 1
        number = self.diff_number
        if not changes:
            target.post_message(Diffed(number, diffs.note(*details)))
            return

        def call() -> Message:
            found = diffs.parse(self.project.diff(changes))
            return Diffed(number, found or diffs.note(*details))

        def failed(error: BaseException) -> Message:
            found = as_error(error)
            return Diffed(number, diffs.note(*details, found.message, found.hint))

        self._work(target, call, failed, lambda: number != self.diff_number)

    def on_loaded(self, message: Loaded) -> None:
        for screen in self.screen_stack:
            if isinstance(screen, TimelineScreen):
                screen.loaded(message.session, message.entries)
                if self._tb_said:
                    screen.say(" ".join(self._tb_said), True)
                    self._tb_said = []

    def on_said(self, message: Said) -> None:
        self.say(message.text, message.warning)

    # --- Undo and redo -----------------------------------------------------------------------

    def action_undo(self) -> None:
        self.open_plan(Request("undo"))

    def action_redo(self) -> None:
        self.open_plan(Request("redo"))

    def open_plan(self, request: Request) -> None:
        """Show the plan of a request, unless one is shown already."""
        if not any(isinstance(screen, UndoScreen) for screen in self.screen_stack):
            self.push_screen(UndoScreen(request))

    def close_panel(self, *sentences: str) -> None:
        """Close the panel without a plan and say why."""
        self._close_to_timeline()
        self.say(" ".join(text for text in sentences if text), True)

    def done(self, text: str) -> None:
        """Close the panel after its plan was carried out, and read the timeline again."""
        self._close_to_timeline()
        self.say(f"{self.glyphs.done} {text}")
        self.load()

    def _close_to_timeline(self) -> None:
        while len(self.screen_stack) > 1 and not isinstance(self.screen, TimelineScreen):
            self.pop_screen()

    # --- Keys --------------------------------------------------------------------------------

    def say(self, text: str, warning: bool = False) -> None:
        """Show a sentence on the screen that is open."""
        if isinstance(self.screen, BaseScreen):
            self.screen.say(text, warning)

    def action_help(self) -> None:
        if isinstance(self.screen, BaseScreen) and not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen.keys_of))

    def action_go_back(self) -> None:
        if isinstance(self.screen, BaseScreen) and self.screen.back():
            return
        if isinstance(self.screen, TimelineScreen):
            self.say("")
        elif isinstance(self.screen, BaseScreen):
            self.pop_screen()

    def action_leave(self) -> None:
        if isinstance(self.screen, TimelineScreen) and not self.screen.back():
            self.exit()
        else:
            self.action_go_back()

    async def action_quit(self) -> None:
        if any(isinstance(screen, UndoScreen) and screen.applying for screen in self.screen_stack):
            self.say("Working: this cannot be left half done.")
        else:
            self.exit()

    async def action_interrupt(self) -> None:
        now = time.monotonic()
        if now - self._tb_interrupted < _TWICE:
            await self.action_quit()
            return
        self._tb_interrupted = now
        self.say("ctrl+c once more quits.")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action that the table knows for everywhere."""
        for key in keys.of("common"):
            if key.group:
                action = key.action
                yield SystemCommand(
                    key.text.capitalize(), key.shown, lambda action=action: self._start(action)
                )

    def _start(self, action: str) -> None:
        self.call_later(self.run_action, action)

    async def on_event(self, event: events.Event) -> None:
        """Take chords out of the keys, in the one place where all of them pass in order."""
        if isinstance(event, events.Key) and not event.is_forwarded:
            if await self._chord(event.key):
                return
        elif isinstance(event, events.MouseDown | events.Paste) and self._tb_chords.pending:
            self._forget()
        await super().on_event(event)

    async def _chord(self, key: str) -> bool:
        """Feed one key; whether it belonged to a chord."""
        screen = self.screen
        if not isinstance(screen, BaseScreen):
            return False
        fed = self._tb_chords.feed(key, self._trie(screen))
        if fed.kind == "pass":
            return False
        self._forget(fed.kind != "wait")
        if fed.kind == "wait":
            self._tb_chord_timers = [
                self.set_timer(chords.SHOW_AFTER, self._show_chords),
                self.set_timer(chords.GIVE_UP_AFTER, self._forget),
            ]
        elif fed.kind == "unknown":
            self.say(f"{keys.shown(' '.join(fed.pressed))} means nothing here.")
        elif fed.key is not None:
            if fed.key.scope == "common" and self._held():
                self.say("Close the plan first: esc.")
            else:
                namespace = self if fed.key.scope == "common" else self.focused or screen
                await self.run_action(fed.key.action, namespace)
        return True

    def _held(self) -> bool:
        """Whether an open plan must be settled first."""
        return any(isinstance(screen, BaseScreen) and screen.holds for screen in self.screen_stack)

    def _trie(self, screen: BaseScreen) -> chords.Node:
        """The chords of the pane that has the focus."""
        panes = keys.SCREENS[screen.keys_of]
        at = next(
            (
                i
                for i, scopes in enumerate(panes)
                if self.focused and _scope(self.focused) in scopes
            ),
            0,
        )
        name = f"{screen.keys_of}:{at}"
        if name not in self._tb_tries:
            self._tb_tries[name] = chords.build(keys.of(*panes[at]))
        return self._tb_tries[name]

    def _forget(self, also_pending: bool = True) -> None:
        for timer in self._tb_chord_timers:
            timer.stop()
        self._tb_chord_timers = []
        if also_pending:
            self._tb_chords.reset()
        for screen in self.screen_stack:
            screen.query(WhichKey).remove()

    def _show_chords(self) -> None:
        if self._tb_chords.pending and isinstance(self.screen, BaseScreen):
            panel = WhichKey(self._tb_chords.pending, self._tb_chords.following())
            self.screen.mount(panel)


def _stamp(project: Project) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of what the timeline is read of: changes with the record."""
    if project.store is None:
        return ()
    found = []
    for folder in (
        os.fsdecode(project.store.dir),
        os.path.join(os.fsdecode(project.store.dir), "ledger"),
    ):
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        known = entry.stat()
                        found.append((entry.path, known.st_size, known.st_mtime_ns))
        except OSError:
            continue
    return tuple(sorted(found))


def _scope(widget: object) -> str:
    """The scope of the pane that a widget is."""
    return "diff" if type(widget).__name__ == "DiffPane" else "list"


def _turns(sessions: Iterable[Session]) -> tuple[Turn, ...]:
    """Every turn, by number."""
    found = [turn for session in sessions for turn in session.turns]
    return tuple(sorted(found, key=lambda turn: turn.n))


def _sentence(error: BaseException) -> Message:
    found = as_error(error)
    return Said(f"{found.message} {found.hint}".rstrip(), True)


class Listener:
    """Takes what the engine says while it makes us wait: first for the terminal, then the app.

    Attributes:
        tell: who hears it now.
    """

    def __init__(self, tell: Callable[[str], object]) -> None:
        self.tell = tell

    def __call__(self, text: str) -> None:
        self.tell(text)


def run(folder: bytes, data_dir: str | None, note: Callable[[str], object]) -> None:
    """Open the app on the project of a folder, until it is closed.

    Args:
        note: hears what the engine says before and after there is a screen.

    Raises:
        TakebackError: the project cannot be opened, or the app broke; what it was doing was
            finished or not begun.
    """
    from takeback.engine.project import Project

    listener = Listener(note)
    project = Project.open(folder, data_dir, notify=listener)
    app = TakebackApp(project, project.begin_command())
    listener.tell = lambda text: app.post_message(Said(text))
    try:
        app.run()
    finally:
        listener.tell = note
        project.close()
    if app.failure is not None:
        raise as_error(app.failure) from app.failure
