"""Going on in a conversation of Claude Code from an earlier prompt. Pure."""

from __future__ import annotations

from takeback.engine.agents.resume import Point, Way


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`.

    `/rewind` goes back in the conversation; files are not its part here: takeback did them.
    """
    argv = ("claude", "--resume", point.session)
    return Way(
        "Claude Code",
        argv,
        point.folder,
        "type /rewind, pick",
        ", and choose “Restore conversation”",
    )
