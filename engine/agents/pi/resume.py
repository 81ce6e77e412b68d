"""Going on in a conversation of pi from an earlier prompt. Pure."""

from __future__ import annotations

from takeback.engine.agents.resume import Point, Way


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`.

    A session of pi is a tree: what is left stays in it as a branch.
    """
    argv = ("pi", "--session", point.session)
    return Way("pi", argv, point.folder, "type /tree and pick")
