"""Opening the app: the project, the terminal, the first picture, and what is said at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from takeback.engine.errors import TakebackError
from takeback.engine.project import Project
from takeback.engine.upkeep import recover as recovery
from takeback.tui import terminal as terminals
from takeback.tui.app import TakebackApp
from takeback.tui.failures import as_error
from takeback.tui.messages import Record, Said

_FIRST_MOST = 2_000
"""Changes that the first picture can wait for."""


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
    listener = Listener(note)
    project = Project.open(folder, data_dir, notify=listener)
    if not os.environ.get("NO_COLOR", "on"):
        # Set to nothing it means nothing; Textual takes it for a wish all the same.
        del os.environ["NO_COLOR"]
    encoding = getattr(sys.__stderr__, "encoding", "") or ""
    if project.store is not None and recovery.pending(project.store):
        note("An operation was interrupted. It is finished or rolled back first…")
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
