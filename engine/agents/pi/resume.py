"""Going on in a conversation of pi from an earlier prompt. Pure."""

from __future__ import annotations

import shlex

from takeback.engine.agents.resume import Way


def way(session: str) -> Way:
    """See `takeback.engine.agents.resume`.

    A session of pi is a tree: what is left stays in it as a branch.
    """
    return Way("pi", f"pi --session {shlex.quote(session)}", "type /tree and pick")
