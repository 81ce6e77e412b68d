"""The line below a diff in which the words to look for are typed."""

from __future__ import annotations

from collections.abc import Callable

from textual.widgets import Input


class SearchLine(Input):
    """Hidden until it is asked for; answers with what was typed, or None if it was given up."""

    DEFAULT_CSS = """
    SearchLine {
        height: 1; border: none; padding: 0 1; display: none; background: $panel;
        &:focus { border: none; }
    }
    """

    def __init__(self, answer: Callable[[str | None], None]) -> None:
        super().__init__(placeholder="search the diff", compact=True, select_on_focus=True)
        self._tb_answer = answer

    def open(self, text: str) -> None:
        """Show it and take the keys at once: what follows in the same write is typed here."""
        self.value = text
        self.display = True
        self.screen.set_focus(self)

    def leave(self) -> None:
        """Hide it again and look for nothing."""
        self._close(None)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self._close(message.value)

    def on_input_changed(self, message: Input.Changed) -> None:
        message.stop()

    def _close(self, text: str | None) -> None:
        self._tb_answer(text)
        self.display = False
