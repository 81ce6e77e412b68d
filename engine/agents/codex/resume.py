"""Going on in a conversation of Codex from an earlier prompt. Pure."""

from __future__ import annotations

from takeback.engine.agents.resume import Point, Way


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`.

    Pressed twice, Esc goes back to a prompt before.
    """
    argv = ("codex", "resume", point.session)
    return Way("Codex", argv, point.folder, "press Esc twice and pick")
