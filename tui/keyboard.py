"""The keys as they come in: chords of the pane that has the focus, and what they start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.timer import Timer
from textual.widgets import Input

from takeback.tui import chords, keys
from takeback.tui.chords import Chords
from takeback.tui.screens.base import BaseScreen
from takeback.tui.widgets import too_small
from takeback.tui.widgets.which_key import WhichKey

if TYPE_CHECKING:
    from takeback.tui.app import TakebackApp

_UNSEEN = ("app.leave", "app.go_back", "app.quit", "app.interrupt")
"""Actions that also run while the terminal is too small to show what they do."""


class Keyboard:
    """Feeds the chords and starts what they mean."""

    def __init__(self, app: TakebackApp) -> None:
        self._app = app
        self._chords = Chords()
        self._timers: list[Timer] = []
        self._tries: dict[str, chords.Node] = {}

    @property
    def pending(self) -> bool:
        """Whether a chord has begun."""
        return bool(self._chords.pending)

    def renew(self) -> None:
        """The table of keys is another one."""
        self._tries.clear()

    async def press(self, key: str) -> bool:
        """Feed one key; whether it was dealt with here."""
        app = self._app
        screen = app.screen
        if not isinstance(screen, BaseScreen):
            return False
        fed = self._chords.feed(key, self._trie(screen))
        if fed.kind == "pass":
            # What the user took a key from must not come back by Textual's own bindings.
            return key in keys.freed() and not isinstance(app.focused, Input)
        self.forget(fed.kind != "wait")
        if fed.kind == "wait":
            self._timers = [
                app.set_timer(chords.SHOW_AFTER, self._show),
                app.set_timer(chords.GIVE_UP_AFTER, self.forget),
            ]
        elif fed.kind == "unknown":
            app.say(f"{keys.shown(' '.join(fed.pressed))} means nothing here.")
        elif fed.key is not None:
            if app.has_class(too_small.CLASS) and fed.key.action not in _UNSEEN:
                return True
            if fed.key.scope == "common" and len(fed.pressed) > 1 and app.held:
                app.say_held()
            else:
                namespace = app if fed.key.scope == "common" else app.focused or screen
                await app.run_action(fed.key.action, namespace)
        return True

    def forget(self, also_pending: bool = True) -> None:
        """Take the panel away, and give up the chord that has begun."""
        for timer in self._timers:
            timer.stop()
        self._timers = []
        if also_pending:
            self._chords.reset()
        for screen in self._app.screen_stack:
            screen.query(WhichKey).remove()

    def _show(self) -> None:
        screen = self._app.screen
        if self.pending and isinstance(screen, BaseScreen):
            screen.mount(WhichKey(self._chords.pending, self._chords.following()))

    def _trie(self, screen: BaseScreen) -> chords.Node:
        """The chords of the pane that has the focus; letters that are typed begin none."""
        focused = self._app.focused
        if isinstance(focused, Input):
            return chords.build(keys.of("common"), typing=True)
        panes = keys.SCREENS[screen.keys_of]
        scope = getattr(focused, "keys_of", "list")
        at = next((i for i, scopes in enumerate(panes) if focused and scope in scopes), 0)
        name = f"{screen.keys_of}:{at}"
        if name not in self._tries:
            self._tries[name] = chords.build(keys.of(*panes[at]))
        return self._tries[name]
