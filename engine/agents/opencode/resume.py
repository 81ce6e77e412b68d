"""Going on in a conversation of OpenCode from an earlier prompt. Pure."""

from __future__ import annotations

import shlex

from takeback.engine.agents.resume import Way


def way(session: str) -> Way:
    """See `takeback.engine.agents.resume`.

    A fork, not its undo: that would put whole files back. It lists the prompts, and begins before
    the one that is chosen.
    """
    command = f"opencode --session {shlex.quote(session)}"
    return Way("OpenCode", command, "type /fork, and pick")
