"""The one error base: what happened, what was not done, what to do next."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit codes of the command line, with their one meaning each."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOTHING = 3
    DECIDE = 4
    RUNNING = 5
    INTERRUPTED = 130


class TakebackError(Exception):
    """Base of every error that a user may see.

    Attributes:
        message: what happened and what was not done, as sentences.
        hint: what to do next, or "".
        code: the exit code of a command that ends with it.
    """

    code = Exit.FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TakebackError):
    """Wrong usage, an unknown id, or a refused project."""

    code = Exit.USAGE


class NothingToDo(TakebackError):
    """Nothing (left) to take back or put back."""

    code = Exit.NOTHING


class SessionRunning(TakebackError):
    """The operation would write files of a session that is running a turn."""

    code = Exit.RUNNING

    def __init__(self, message: str, hint: str = "", session: str = "") -> None:
        super().__init__(message, hint)
        self.session = session


class ProjectChanged(TakebackError):
    """A target no longer holds what the plan was made from; nothing was changed."""
