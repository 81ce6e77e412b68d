"""What all screens share: the common keys, a status line, and rows of text below the list."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.screen import Screen

from takeback.tui.widgets import too_small
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.too_small import TooSmall

if TYPE_CHECKING:
    from takeback.tui.app import TakebackApp

STATUS = "status"
BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]
"""From 100 columns on there is room for the diff beside the list."""


class BaseScreen(Screen[None]):
    """A screen with a name in the table of keys.

    Attributes:
        keys_of: that name.
        holds: whether chords wait until this screen is closed.
    """

    keys_of: ClassVar[str] = ""
    holds: ClassVar[bool] = False

    @property
    def takeback(self) -> TakebackApp:
        return cast("TakebackApp", self.app)

    def on_resize(self) -> None:
        if self.app.has_class(too_small.CLASS) and not self.query(TooSmall):
            self.mount(TooSmall())

    @property
    def asking(self) -> bool:
        """Whether a question is open that is answered with yes."""
        return False

    @property
    def applying(self) -> bool:
        """Whether something is being carried out that cannot be left half done."""
        return False

    @property
    def stands(self) -> bool:
        """Whether the widgets are there: sizes and answers also come before and after that."""
        return self.is_running and bool(self.query("#keys"))

    def say(self, text: str, warning: bool = False) -> None:
        """Show a sentence in the status line."""
        for line in self.query(f"#{STATUS}").results(TextLine):
            line.set_class(warning, "-warning")
            line.say(text)
        self.show_keys()

    def show_keys(self) -> None:
        """Draw the line of keys again: a question was opened or closed."""
        for line in self.query("#keys").results(KeyLine):
            line.refresh()

    def busy(self, text: str) -> None:
        """Show what the engine does just now, "" for nothing."""
        for line in self.query("#keys").results(KeyLine):
            line.busy(text)

    def on_screen_resume(self) -> None:
        # On the screen that was closed diffs may have been looked at in another way.
        for pane in self.query(DiffPane).results(DiffPane):
            if pane.look(self.takeback.diff_view):
                self.takeback.desk.diff_again(self)

    async def action_pane(self, action: str) -> None:
        """Start an action of the pane that has the focus, when its key is clicked."""
        await self.app.run_action(action, self.focused or self)

    def back(self) -> bool:
        """Go back one step within the screen; whether there was one."""
        return False
