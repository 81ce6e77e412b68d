"""Going on in a conversation of Gemini CLI from an earlier prompt. Pure."""

from __future__ import annotations

from takeback.engine.agents.resume import Point, Way


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`.

    `/rewind` goes back in the conversation; its restoring of files is not wanted here.
    """
    argv = ("gemini", "--resume", point.session)
    return Way(
        "Gemini CLI", argv, point.folder, "type /rewind, pick", ", and choose “Rewind conversation”"
    )
