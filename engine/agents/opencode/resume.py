"""Going on in a conversation of OpenCode from an earlier prompt. Pure."""

from __future__ import annotations

from takeback.engine.agents.resume import Point, Way


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`.

    A fork, not its undo: that would put whole files back. It lists the prompts, and begins before
    the one that is chosen.
    """
    argv = ("opencode", "--session", point.session)
    return Way("OpenCode", argv, point.folder, "type /fork, and pick")
