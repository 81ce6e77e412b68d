"""What a chat says that no hook does: that the user broke the turn off. Reads only."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from takeback.engine.agents.gemini import chat

if TYPE_CHECKING:
    from takeback.engine.record.openturn import OpenTurn

_LATE_S = 5.0


def was_interrupted(turn: OpenTurn) -> bool:
    """Whether Gemini CLI noted that an open turn was cancelled.

    The note must be newer than the turn: a prompt stands in the chat only some time after its hook.
    And the hook of a command that was stopped comes after the note: it gets its time to say so.
    """
    if turn.agent != "gemini" or not turn.transcript or not turn.key or turn.ended:
        return False
    found = chat.now(turn.transcript)
    if found is None or found.cancelled <= turn.key:
        return False
    running = any(known[3] == "running" for known in turn.calls.values())
    return not running or found.cancelled < _stamp(time.time() - _LATE_S)


def _stamp(at: float) -> str:
    """A time as chats have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
