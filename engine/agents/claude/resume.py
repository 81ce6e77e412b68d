"""Going on in a conversation of Claude Code from an earlier prompt. Pure."""

from __future__ import annotations

import shlex

from takeback.engine.agents.resume import Way


def way(session: str) -> Way:
    """See `takeback.engine.agents.resume`.

    `/rewind` goes back in the conversation; files are not its part here: takeback did them.
    """
    command = f"claude --resume {shlex.quote(session)}"
    return Way("Claude Code", command, "type /rewind, pick", ", and choose “Restore conversation”")
