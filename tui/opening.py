"""Opening another project while the app runs."""

from __future__ import annotations

from collections.abc import Callable

from takeback.engine.project import Project
from takeback.tui.messages import Opened


def opened(root: bytes, data: bytes, session: str, tell: Callable[[str], object]) -> Opened:
    """A project, after what every command does first. Runs in a thread.

    Args:
        session: the session of it that is to be shown.
        tell: hears what makes the engine wait.

    Raises:
        TakebackError: it cannot be opened.
    """

    def notify(text: str) -> None:
        tell(text)

    project = Project.open(root, data, notify=notify)
    try:
        return Opened(project, session, project.begin_command())
    except BaseException:
        project.close()
        raise
