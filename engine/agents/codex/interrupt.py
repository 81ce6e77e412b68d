"""What a rollout says that no hook did: that the turn is over. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from takeback.engine.agents.codex import rollout

if TYPE_CHECKING:
    from takeback.engine.record.openturn import OpenTurn

_OVER = ("task_complete", "turn_aborted")


def was_interrupted(turn: OpenTurn) -> bool:
    """Whether Codex noted that an open turn was aborted, or that it ended without its hook.

    An error of the model ends a turn so. A rollout that is missing, torn or of another form says
    nothing: the turn then stays open.
    """
    if turn.agent != "codex" or not turn.transcript or not turn.key or turn.ended:
        return False
    for line in reversed(rollout.last_lines(turn.transcript)):
        what = rollout.kind_of(line)
        if what == "task_started" or what in _OVER:
            same = rollout.payload_of(line).get("turn_id") == turn.key
            if same or what == "task_started":
                return same and what in _OVER
    return False
