"""Whatever went wrong as an error with a sentence and a hint."""

from __future__ import annotations

import os

from takeback.engine.errors import Exit, TakebackError
from takeback.tui.text import safe


def as_error(error: BaseException) -> TakebackError:
    """The error a user sees for any exception."""
    if isinstance(error, TakebackError):
        return error
    if isinstance(error, KeyboardInterrupt):
        stopped = TakebackError("Interrupted. Nothing was changed.")
        stopped.code = Exit.INTERRUPTED
        return stopped
    if isinstance(error, OSError):
        return _unusable(error)
    kind = type(error).__name__
    return TakebackError(
        f"Internal error ({kind}: {error}). The command did not finish.",
        "Please report it with what TAKEBACK_DEBUG=1 shows; takeback recover puts an operation "
        "right that was left half way.",
    )


def sentence(error: BaseException) -> str:
    """What went wrong and what to do, for one line of the screen."""
    found = as_error(error)
    return safe(f"{found.message} {found.hint}".strip())


def _unusable(error: OSError) -> TakebackError:
    """What the system refused, where nobody below knew a better sentence."""
    name = error.filename
    where = f" ({os.fsdecode(name)!r})" if isinstance(name, str | bytes) else ""
    return TakebackError(
        f"The system refused what was needed: {error.strerror or error}{where}. "
        "The command did not finish.",
        "Check that place, its permissions and the free space; takeback doctor says more.",
    )
