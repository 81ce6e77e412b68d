"""The screens of the app, each with its style sheet beside it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from textual.screen import Screen


def _made(module: str, name: str) -> Callable[[], Screen[None]]:
    """A screen that is imported when it is first opened: the first one must come fast."""

    def make() -> Screen[None]:
        found = getattr(import_module(f"takeback.tui.screens.{module}"), name)
        return cast("Screen[None]", found())

    return make


MAIN = {
    "sessions": _made("sessions", "SessionsScreen"),
    "timeline": _made("timeline", "TimelineScreen"),
    "history": _made("history", "HistoryScreen"),
    "storage": _made("storage", "StorageScreen"),
    "settings": _made("settings", "SettingsScreen"),
    "first_run": _made("first_run", "FirstRunScreen"),
}
"""The main screens, by their names in `takeback.tui.keys.SCREENS`."""
