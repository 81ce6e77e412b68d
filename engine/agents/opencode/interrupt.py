"""What OpenCode's database says that no hook did: that the turn is over. Reads only.

The plugin tells of every end, unless its hook is killed while OpenCode itself goes on.
"""

from __future__ import annotations

import os
import time
from contextlib import closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from takeback.engine.record.openturn import OpenTurn

_GRACE_NS = 15 * 1_000_000_000
"""So long may the hook of the turn's end be on its way: it may wait for the store."""


def was_interrupted(turn: OpenTurn) -> bool:
    """Whether the last answer in an open turn is complete, and has been for a while.

    A database that is missing or of another form says nothing: the turn then stays open.
    """
    if turn.agent != "opencode" or not turn.key or turn.ended:
        return False
    # Every command loads this module, and few meet an open turn of OpenCode.
    import sqlite3

    from takeback.engine.agents.opencode import conversation, rows

    home = os.fsencode(os.path.expanduser("~"))
    for place in conversation.databases(home):
        try:
            with closing(conversation.connect(place)) as database:
                found = database.execute(
                    "SELECT data FROM message WHERE session_id = ? AND id >= ? "
                    "ORDER BY id DESC LIMIT 1",
                    (turn.session, turn.key),
                ).fetchone()
        except (sqlite3.Error, OSError, ValueError, OverflowError):
            continue
        if found is not None:
            ended_ns = rows.answered_ns(rows.record(found[0]))
            return 0 < ended_ns < time.time_ns() - _GRACE_NS
    return False
