"""The full-screen app: screens on the engine, keys and chords from one table.

Every call of the engine runs in a worker thread, one at a time, and answers with a message.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen
from textual.timer import Timer

from takeback.engine.config import config_dir
from takeback.engine.model import Request, Turn
from takeback.tui import glyphs, keymap, keys, reading, screens, theming
from takeback.tui import terminal as terminals
from takeback.tui.diff_layout import View
from takeback.tui.keyboard import Keyboard
from takeback.tui.messages import Loaded, Noticed, Opened, Record, Said
from takeback.tui.reading import Reading
from takeback.tui.screens.base import BaseScreen
from takeback.tui.screens.main import MainScreen
from takeback.tui.terminal import Terminal
from takeback.tui.widgets import too_small
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.plain import PlainSigns
from takeback.tui.widgets.search_line import SearchLine
from takeback.tui.work import Desk

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.tui.result_rows import Result

_PLAIN = PlainSigns()
_TWICE = 2.0
"""Seconds within which a second ctrl+c quits."""


class TakebackApp(App[None]):
    """The app of one project.

    Attributes:
        desk: takes the calls of the engine.
        reading: reads the record of the open project.
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
        self.reading = Reading(self, welcomes=True)
        self.record: Record | None = None
        self.first = first
        self.session_id = ""
        self.diff_view = View()
        self.result: Result | None = None
        self.failure: Exception | None = None
        self._tb_said = [*said, *wrong]
        self._tb_keyboard = Keyboard(self)
        self._tb_interrupted = 0.0
        self._tb_return = ""
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
        self.set_interval(reading.FOLLOW_EVERY, self._follow)

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
        """Read the record again, and show it on the main screen that is open."""
        self.reading.load()

    def prepare(self) -> None:
        """Make the rows of the open main screen again, from what was read last."""
        self.reading.prepare()

    def on_loaded(self, message: Loaded) -> None:
        if self.reading.loaded(message) and self.main is not None:
            self.later(self.reading.damage())
            if self._tb_said:
                self.main.say(" ".join(self._tb_said), True)
                self._tb_said = []

    def _follow(self) -> None:
        self.reading.follow()

    def on_noticed(self, message: Noticed) -> None:
        self.reading.noticed(message)

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
        if self.held:
            self.say_held()
            return
        before = self.main.keys_of if self.main is not None else ""
        self.close_panels()
        if name != before:
            # What a number leads to is nobody's child; what has none was opened from somewhere.
            self._tb_return = "" if name in keys.MAIN else before
            self.switch_screen(name)

    def open_session(self, session: str) -> None:
        """Show a session of this project in the timeline; "" is the newest."""
        if session != self.session_id:
            self.session_id = session
        chosen = self.main is not None and self.main.keys_of == "sessions"
        self.action_go("timeline")
        if chosen and not self.held:
            self._tb_return = "sessions"
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

        opening.finish(self, message)

    def enter(self, project: Project, session: str) -> None:
        """Show another project from now on, and nothing of the one before."""
        self.project = project
        self.record, self.session_id, self.result = None, session, None
        self.reading = Reading(self, welcomes=False)
        self.desk.forget_diffs()
        # A plan of the project before must not be applied in this one.
        self.close_panels()
        self.use_settings()
        self.action_go("timeline")
        self.load()

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
        self._tb_keyboard.renew()
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

    def open_plan(self, request: Request, leads: Turn | None = None) -> None:
        """Show the plan of a request, unless one is shown already.

        Args:
            leads: afterwards the conversation goes on from before this turn.
        """
        from takeback.tui.screens.undo import UndoScreen

        if not any(isinstance(screen, UndoScreen) for screen in self.screen_stack):
            self.push_screen(UndoScreen(request, leads))

    def close_panel(self, *sentences: str) -> None:
        """Close the panel without a plan and say why."""
        self.close_panels()
        self.say(" ".join(text for text in sentences if text), True)

    def done(self, result: Result) -> None:
        """Close the panel after its plan was carried out, and read the timeline again."""
        from takeback.tui import going_on, result_rows

        self.close_panels()
        self.result = result = going_on.told(self, result)
        self.say(f"{self.glyphs.done} {result_rows.sentence(result)}")
        self.load()
        if result.opens:
            self.action_result()
        if result.leads is not None and result.outcome.operation:
            going_on.open_for(self, result.leads, undone=True)

    def action_resume(self) -> None:
        """Show how the conversation can go on from where the last undo led."""
        from takeback.tui import going_on
        from takeback.tui.screens.resume import ResumeScreen

        if self.held:
            self.say_held()
        elif not isinstance(self.screen, ResumeScreen):
            going_on.open_last(self)

    def action_result(self) -> None:
        """Show what the last operation did."""
        from takeback.tui.screens.result import ResultScreen

        if self.result is None:
            self.say("Nothing was taken back or put back since the app was opened.")
        elif not isinstance(self.screen, ResultScreen):
            self.push_screen(ResultScreen(self.result))

    def close_panels(self) -> None:
        """Close what lies above the main screen."""
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
        if self._tb_return:
            self.action_go(self._tb_return)
            return True
        return False

    @property
    def held(self) -> bool:
        """Whether an open plan must be settled first."""
        return any(isinstance(screen, BaseScreen) and screen.holds for screen in self.screen_stack)

    def say_held(self) -> None:
        """Say that an open plan must be settled first."""
        self.say(f"Close the plan first: {keys.first('common.go_back')}.")

    @property
    def applying(self) -> bool:
        """Whether something is being carried out that cannot be left half done."""
        return any(
            isinstance(screen, BaseScreen) and screen.applying for screen in self.screen_stack
        )

    def action_leave(self) -> None:
        if not self._back():
            self.exit()

    async def action_quit(self) -> None:
        if self.applying:
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
            if await self._tb_keyboard.press(event.key):
                return
        elif isinstance(event, events.MouseDown | events.Paste) and self._tb_keyboard.pending:
            self._tb_keyboard.forget()
        await super().on_event(event)
