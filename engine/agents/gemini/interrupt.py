"""What a chat says that no hook does: that the user broke the turn off. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from takeback.engine.agents.gemini import chat

if TYPE_CHECKING:
    from takeback.engine.record.openturn import OpenTurn


def was_interrupted(turn: OpenTurn) -> bool:
    """Whether Gemini CLI noted that an open turn was cancelled.

    The note must be newer than the turn: a prompt stands in the chat only some time after its hook.
    """
    if turn.agent != "gemini" or not turn.transcript or not turn.key or turn.ended:
        return False
    found = chat.now(turn.transcript)
    return found is not None and found.cancelled > turn.key
