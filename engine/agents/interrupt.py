"""Whether an agent's own file says that an open turn was broken off, where no hook does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from takeback.engine.agents.claude import interrupt as claude
from takeback.engine.agents.codex import interrupt as codex
from takeback.engine.agents.gemini import interrupt as gemini
from takeback.engine.agents.opencode import interrupt as opencode

if TYPE_CHECKING:
    from takeback.engine.record.openturn import OpenTurn

_READERS = {
    "claude": claude.was_interrupted,
    "codex": codex.was_interrupted,
    "gemini": gemini.was_interrupted,
    "opencode": opencode.was_interrupted,
}


def was_interrupted(turn: OpenTurn) -> bool:
    """Whether the agent of an open turn noted that it is over. Reads only, never raises."""
    reader = _READERS.get(turn.agent)
    return reader is not None and reader(turn)
