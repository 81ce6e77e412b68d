"""Going on in a conversation of Codex from an earlier prompt. Pure."""

from __future__ import annotations

import shlex

from takeback.engine.agents.resume import Way


def way(session: str) -> Way:
    """See `takeback.engine.agents.resume`.

    Pressed twice, Esc goes back to a prompt before.
    """
    command = f"codex resume {shlex.quote(session)}"
    return Way("Codex", command, "press Esc twice and pick")
