"""The full-screen app: screens on the engine, keys and chords from one table.

Every call of the engine runs in a worker thread, one at a time, and answers with a message.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input

from takeback.engine.config import config_dir
from takeback.engine.errors import TakebackError
from takeback.engine.model import Request
from takeback.engine.store.paths import store_dir
from takeback.tui import chords, glyphs, keymap, keys, past, screens, theming
from takeback.tui import terminal as terminals
from takeback.tui.chords import Chords
from takeback.tui.diff_layout import View
from takeback.tui.failures import as_error
from takeback.tui.follow import Stamp, stamp
from takeback.tui.messages import Loaded, Opened, Record, Said
from takeback.tui.screens.base import BaseScreen
from takeback.tui.screens.main import MainScreen, folder_words
from takeback.tui.terminal import Terminal
from takeback.tui.widgets import too_small
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.plain import PlainSigns
from takeback.tui.widgets.search_line import SearchLine
from takeback.tui.widgets.which_key import WhichKey
from takeback.tui.work import Desk

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.tui.result_rows import Result

_FOLLOW_EVERY = 2.0
"""Seconds between two looks for something new in the record."""
_FIRST_MOST = 2_000
"""Changes that the first picture can wait for."""
_PLAIN = PlainSigns()
_UNSEEN = ("app.leave", "app.go_back", "app.quit", "app.interrupt")
"""Actions that also run while the terminal is too small to show what they do."""
_TWICE = 2.0
"""Seconds within which a second ctrl+c quits."""


class TakebackApp(App[None]):
    """The app of one project.

    Attributes:
        desk: takes the calls of the engine.
        record: what was recorded, as it was read last.
        first: what is shown until then, in the very first picture.
        theme_setting: the theme that the user wants, or "auto"; `theme` is the one that is shown.
        session_id: the session that the timeline shows, "" for the newest.
        diff_view: how diffs are looked at, on every screen.
        result: what the last operation did.
        failure: what closed the app, if something broke.
    """

    SCREENS = screens.MAIN

    TITLE = "takeback"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "quit", show=False, priority=True)
    ]

    def __init__(
        self,
        project: Project,
        said: Sequence[str] = (),
        terminal: Terminal = terminals.FULL,
        first: Record | None = None,
    ) -> None:
        # Without colours Textual would show greys, unless they are left to the terminal.
        super().__init__(ansi_color=True if terminal.colors == "none" else None)
        self.project = project
        self.terminal = terminal
        self.theme_setting = project.config.theme
        self.themes = theming.load(os.path.join(config_dir(), b"themes"))
        self.glyphs = glyphs.named(project.config.glyphs, terminal.unicode)
        table, wrong = keymap.load(config_dir(), project.config.keys)
        keys.use(table, self.glyphs)
        self.desk = Desk(self)
        self.record: Record | None = None
        self.first = first
        self.session_id = ""
        self.diff_view = View()
        self.result: Result | None = None
        self.failure: Exception | None = None
        self._tb_said = [*said, *wrong]
        self._tb_chords = Chords()
        self._tb_chord_timers: list[Timer] = []
        self._tb_stamp: Stamp = ()
        self._tb_tries: dict[str, chords.Node] = {}
        self._tb_interrupted = 0.0
        self._tb_prepared = 0
        self._tb_trail: list[str] = []
        self._tb_read_out = False
        self._tb_welcomed = False
        self._tb_work: Timer | None = None

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

    def get_line_filters(self) -> Sequence[LineFilter]:
        found = super().get_line_filters()
        return found if self.glyphs is glyphs.UNICODE else [*found, _PLAIN]

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(bool(terminals.too_small(*event.size)), too_small.CLASS)
        self.set_class(event.size.height < too_small.LOW_LINES, too_small.LOW)

    def show_theme(self, name: str) -> None:
        """Show a theme, in the colours that the terminal has."""
        self.register_theme(theming.adapted(self.themes.all[name], self.terminal))
        self.theme = name

    def on_mount(self) -> None:
        name, said = theming.chosen(self.theme_setting, self.themes.all, self.terminal)
        self.show_theme(name)
        self._tb_said += [text for text in (said, *self.themes.wrong) if text]
        self._tb_work = self.set_interval(0.1, self._show_work, pause=True)
        self.push_screen("timeline" if self.project.store is not None else "first_run")
        self.set_interval(_FOLLOW_EVERY, self._follow)

    # --- Following a running agent -----------------------------------------------------------

    def _follow(self) -> None:
        """Read the timeline again when something was recorded."""
        stamp = _stamp(self.project)
        if stamp != self._tb_stamp and self.desk.idle:
            self.load()

    def action_themes(self) -> None:
        from takeback.tui.screens.themes import ThemesScreen

        if not any(isinstance(screen, ThemesScreen) for screen in self.screen_stack):
            self.push_screen(ThemesScreen())

    # --- The engine --------------------------------------------------------------------------

    @property
    def main(self) -> MainScreen | None:
        """The main screen that is open, also below a panel."""
        return next((s for s in self.screen_stack if isinstance(s, MainScreen)), None)

    def load(self) -> None:
        """Read the record again; `on_loaded` shows it."""
        project = self.project
        self._tb_stamp = _stamp(project)

        def read() -> Record:
            found = project.conversations(counts=True)
            before = tuple(map(past.named, found.past))
            return Record(found.sessions, project.operations(), past=before, unread=found.unread)

        self._prepare(read)

    def prepare(self) -> None:
        """Make the rows of the open main screen again, from what was read last."""
        record = self.record
        if record is None:
            self.load()
        else:
            self._prepare(lambda: record)

    def _prepare(self, read: Callable[[], Record]) -> None:
        screen = self.main
        if screen is None:
            return
        self._tb_prepared += 1
        number = self._tb_prepared

        project, first = self.project, self.record is None

        def made(record: Record) -> Message:
            return Loaded(record, project.root, screen.keys_of, screen.prepare(record))

        def call() -> Message:
            if first and self.first is None and screen.keys_of == "timeline":
                glimpse = Record(project.glimpse(), partial=True)
                if glimpse.sessions:
                    self.post_message(made(glimpse))
            return made(read())

        self.desk.call(self, "Reading", call, _sentence, stale=lambda: number != self._tb_prepared)

    def on_loaded(self, message: Loaded) -> None:
        if message.root != self.project.root:
            return
        before = self.record
        if before is None or not message.record.partial:
            self.record = message.record
        if before is not None and before is not message.record and not before.partial:
            self._tb_read_out = message.record.unread >= before.unread
        screen = self.main
        if screen is None:
            return
        if screen.keys_of != message.screen:
            self.prepare()
            return
        screen.loaded(message.record, message.prepared)
        if message.record.partial:
            return
        if message.record.unread and not self._tb_read_out:
            # A look reads so much of old conversations and no more: the next one goes on.
            self.load()
        if not self._tb_welcomed:
            self._tb_welcomed = True
            if not message.record.sessions and screen.keys_of == "timeline":
                self.switch_screen("first_run")
                return
        if self._tb_said:
            screen.say(" ".join(self._tb_said), True)
            self._tb_said = []

    def on_diff_pane_again(self, message: DiffPane.Again) -> None:
        message.stop()
        self.desk.diff_again(self.screen)

    def on_said(self, message: Said) -> None:
        self.say(message.text, message.warning)

    def show_work(self) -> None:
        """Show calls that take long, until there is none."""
        if self._tb_work is not None:
            self._tb_work.resume()

    def _show_work(self) -> None:
        # The timer also comes when the app closes and has no screen any more.
        screen = self.screen_stack[-1] if self.screen_stack else None
        if isinstance(screen, BaseScreen):
            screen.busy(self.desk.words())
        if self.desk.idle and self._tb_work is not None:
            self._tb_work.pause()

    # --- Screens -----------------------------------------------------------------------------

    def action_go(self, name: str) -> None:
        """Open a main screen."""
        if self._held():
            self.say(f"Close the plan first: {keys.first('common.go_back')}.")
            return
        before = self.main.keys_of if self.main is not None else ""
        self._close_panels()
        if name != before:
            self._tb_trail = [known for known in self._tb_trail if known != before] + [before]
            self.switch_screen(name)

    def open_session(self, session: str) -> None:
        """Show a session of this project in the timeline; "" is the newest."""
        if session != self.session_id:
            self.session_id = session
        self.action_go("timeline")
        self.prepare()

    def open_project(self, root: bytes, session: str = "") -> None:
        """Open another project in place of this one, and show a session of it."""
        if root == self.project.root:
            self.open_session(session)
        else:
            from takeback.tui import opening

            opening.begin(self, root, session)

    def on_opened(self, message: Opened) -> None:
        from takeback.tui import opening

        before, self.project = self.project, message.project
        self.record, self.session_id, self.result = None, message.session, None
        self.desk.forget_diffs()
        self._tb_said = [f"Now in {folder_words(self.project.root)}.", *message.said]
        self.use_settings()
        self.action_go("timeline")
        self.load()
        opening.end(self, before)

    def later(self, *said: str) -> None:
        """Say something once the record was read."""
        self._tb_said += [text for text in said if text]

    def use_settings(self) -> None:
        """Show the theme, the signs and the keys that the settings name now."""
        config = self.project.config
        self.theme_setting = config.theme
        name, said = theming.chosen(config.theme, self.themes.all, self.terminal)
        if name != self.theme:
            self.show_theme(name)
        signs = glyphs.named(config.glyphs, self.terminal.unicode)
        table, wrong = keymap.load(config_dir(), config.keys)
        keys.use(table, signs)
        self._tb_tries.clear()
        self.later(said, *wrong)
        if signs != self.glyphs:
            self.glyphs = signs
            for name in screens.MAIN:
                if self.is_screen_installed(name) and isinstance(
                    screen := self._installed_screens[name], MainScreen
                ):
                    screen.use(signs)

    # --- Undo and redo -----------------------------------------------------------------------

    def action_undo(self) -> None:
        self.open_plan(Request("undo"))

    def action_redo(self) -> None:
        self.open_plan(Request("redo"))

    def open_plan(self, request: Request) -> None:
        """Show the plan of a request, unless one is shown already."""
        from takeback.tui.screens.undo import UndoScreen

        if not any(isinstance(screen, UndoScreen) for screen in self.screen_stack):
            self.push_screen(UndoScreen(request))

    def close_panel(self, *sentences: str) -> None:
        """Close the panel without a plan and say why."""
        self._close_panels()
        self.say(" ".join(text for text in sentences if text), True)

    def done(self, result: Result) -> None:
        """Close the panel after its plan was carried out, and read the timeline again."""
        from takeback.tui import result_rows

        self._close_panels()
        self.result = result
        self.say(f"{self.glyphs.done} {result_rows.sentence(result)}")
        self.load()
        if result.opens:
            self.action_result()

    def action_result(self) -> None:
        """Show what the last operation did."""
        from takeback.tui.screens.result import ResultScreen

        if self.result is None:
            self.say("Nothing was taken back or put back since the app was opened.")
        elif not isinstance(self.screen, ResultScreen):
            self.push_screen(ResultScreen(self.result))

    def _close_panels(self) -> None:
        while len(self.screen_stack) > 1 and not isinstance(self.screen, MainScreen):
            self.pop_screen()

    # --- Keys --------------------------------------------------------------------------------

    def say(self, text: str, warning: bool = False) -> None:
        """Show a sentence on the screen that is open."""
        if isinstance(self.screen, BaseScreen):
            self.screen.say(text, warning)

    def action_help(self) -> None:
        from takeback.tui.screens.help import HelpScreen

        if isinstance(self.screen, BaseScreen) and not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen.keys_of))

    def action_picture(self) -> None:
        """Put the screen as an SVG into the clipboard."""
        self.copy_to_clipboard(self.export_screenshot(title="takeback"))
        self.say("The screen was copied as SVG.")

    def action_go_back(self) -> None:
        self._back()

    def _back(self) -> bool:
        """Go back one step; whether there was one."""
        if isinstance(self.focused, SearchLine):
            self.focused.leave()
            return True
        if self.desk.stop():
            self.say("Cancelling…")
            return True
        if not isinstance(self.screen, BaseScreen) or self.screen.back():
            return True
        if not isinstance(self.screen, MainScreen):
            self.pop_screen()
            return True
        self.say("")
        if self._tb_trail:
            self.switch_screen(self._tb_trail.pop())
            return True
        return False

    def action_leave(self) -> None:
        if not self._back():
            self.exit()

    async def action_quit(self) -> None:
        if any(isinstance(screen, BaseScreen) and screen.applying for screen in self.screen_stack):
            self.say("Working: this cannot be left half done.")
        else:
            self.exit()

    async def action_interrupt(self) -> None:
        selected = self.screen.get_selected_text()
        if selected:
            self.screen.clear_selection()
            self.copy_to_clipboard(selected)
            self.say("Copied what was selected, where the terminal allows it.")
            return
        now = time.monotonic()
        if now - self._tb_interrupted < _TWICE:
            await self.action_quit()
            return
        self._tb_interrupted = now
        self.say(f"{keys.first('common.interrupt')} once more quits.")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action that the table knows for everywhere."""
        for key in keys.table():
            if key.scope == "common" and key.group:
                action = key.action
                yield SystemCommand(
                    key.text.capitalize(), key.shown, lambda action=action: self._start(action)
                )

    def _start(self, action: str) -> None:
        self.call_later(self.run_action, action)

    async def on_event(self, event: events.Event) -> None:
        """Take the keys of the table, in the one place where all of them pass in order.

        Bindings of widgets would run later, when keys of the same write have already gone
        elsewhere: after "/" they would not be typed into the filter.
        """
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
            # What the user took a key from must not come back by Textual's own bindings.
            return key in keys.freed() and not isinstance(self.focused, Input)
        self._forget(fed.kind != "wait")
        if fed.kind == "wait":
            self._tb_chord_timers = [
                self.set_timer(chords.SHOW_AFTER, self._show_chords),
                self.set_timer(chords.GIVE_UP_AFTER, self._forget),
            ]
        elif fed.kind == "unknown":
            self.say(f"{keys.shown(' '.join(fed.pressed))} means nothing here.")
        elif fed.key is not None:
            if self.has_class(too_small.CLASS) and fed.key.action not in _UNSEEN:
                return True
            if fed.key.scope == "common" and len(fed.pressed) > 1 and self._held():
                self.say(f"Close the plan first: {keys.first('common.go_back')}.")
            else:
                namespace = self if fed.key.scope == "common" else self.focused or screen
                await self.run_action(fed.key.action, namespace)
        return True

    def _held(self) -> bool:
        """Whether an open plan must be settled first."""
        return any(isinstance(screen, BaseScreen) and screen.holds for screen in self.screen_stack)

    def _trie(self, screen: BaseScreen) -> chords.Node:
        """The chords of the pane that has the focus; letters that are typed begin none."""
        if isinstance(self.focused, Input):
            return chords.build(keys.of("common"), typing=True)
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


def _stamp(project: Project) -> Stamp:
    """Changes when something is recorded in the open project, be it for the first time."""
    return stamp(store_dir(project.data, project.root))


def _scope(widget: object) -> str:
    """The scope of the pane that a widget is."""
    return "diff" if type(widget).__name__ == "DiffPane" else "list"


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


def _first_look(project: Project) -> Record | None:
    """The newest turns, for the first picture; None where that is for the worker to find out."""
    try:
        found = project.glimpse()
    except TakebackError:
        return None
    changes = sum(len(turn.changes) for session in found for turn in session.turns)
    return Record(found, partial=True) if found and changes <= _FIRST_MOST else None


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
    if not os.environ.get("NO_COLOR", "on"):
        # Set to nothing it means nothing; Textual takes it for a wish all the same.
        del os.environ["NO_COLOR"]
    encoding = getattr(sys.__stderr__, "encoding", "") or ""
    said = project.begin_command()
    app = TakebackApp(project, said, terminals.look(os.environ, encoding), _first_look(project))
    listener.tell = lambda text: app.post_message(Said(text))
    try:
        app.run()
    finally:
        listener.tell = note
        app.project.close()
    if app.failure is not None:
        raise as_error(app.failure) from app.failure
