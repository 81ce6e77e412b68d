"""Opening another project while the app runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from takeback.engine.project import Project
from takeback.tui.failures import sentence
from takeback.tui.messages import Ended, Opened, Said
from takeback.tui.screens.main import folder_words

if TYPE_CHECKING:
    from takeback.tui.app import TakebackApp


def begin(app: TakebackApp, root: bytes, session: str) -> None:
    """Open a project in a thread, after what every command does first; the app gets `Opened`.

    Args:
        session: the session of it that is to be shown.
    """
    data = app.project.data

    def notify(text: str) -> None:
        app.post_message(Said(text))

    def call() -> Message:
        project = Project.open(root, data, notify=notify)
        try:
            return Opened(project, session, project.begin_command())
        except BaseException:
            project.close()
            raise

    app.desk.call(app, "Opening", call, lambda error: Said(sentence(error), True), can_stop=False)


def finish(app: TakebackApp, message: Opened) -> None:
    """Show the project that was opened, unless something is carried out in the one that is open."""
    folder = folder_words(message.project.root)
    if app.applying:
        _close(app, message.project)
        app.say(f"{folder} was not opened: a plan is being carried out here.", True)
        return
    before = app.project
    app.later(f"Now in {folder}.", *message.said)
    app.enter(message.project, message.session)
    _close(app, before)


def _close(app: TakebackApp, project: Project) -> None:
    """Close a project that is not shown, after whatever still reads it."""

    def call() -> Message:
        project.close()
        return Ended()

    app.desk.call(app, "Closing", call, lambda _: Ended(), can_stop=False)
