"""Opening another project while the app runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from takeback.engine.project import Project
from takeback.tui.failures import as_error
from takeback.tui.messages import Ended, Opened, Said

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

    def failed(error: BaseException) -> Message:
        found = as_error(error)
        return Said(f"{found.message} {found.hint}".strip(), True)

    app.desk.call(app, "Opening", call, failed, can_stop=False)


def end(app: TakebackApp, project: Project) -> None:
    """Close a project that is no longer shown, after whatever still reads it."""

    def call() -> Message:
        project.close()
        return Ended()

    app.desk.call(app, "Closing", call, lambda _: Ended(), can_stop=False)
