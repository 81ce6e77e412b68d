"""Going on in a conversation of Gemini CLI from an earlier prompt. Pure."""

from __future__ import annotations

import shlex

from takeback.engine.agents.resume import Way


def way(session: str) -> Way:
    """See `takeback.engine.agents.resume`.

    `/rewind` goes back in the conversation; its restoring of files is not wanted here.
    """
    command = f"gemini --resume {shlex.quote(session)}"
    return Way("Gemini CLI", command, "type /rewind, pick", ", and choose “Rewind conversation”")
