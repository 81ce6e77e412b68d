"""What an agent's own file says that no hook does: that the user broke the turn off. Reads only."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from takeback.engine.record.openturn import OpenTurn

_TAIL = 512 << 10
_INTERRUPT = "[Request interrupted by user"


def was_interrupted(turn: OpenTurn) -> bool:
    """Whether Claude Code noted that an open turn was interrupted and did nothing in it since.

    A file that is missing, torn or of another form says nothing: the turn then stays open.
    """
    if turn.agent != "claude" or not turn.transcript or not turn.key:
        return False
    found = False
    for line in _last_lines(turn.transcript):
        if found and b'"assistant"' in line:
            found = _field(_record(line), "type") != "assistant"
        elif _INTERRUPT.encode() in line and turn.key.encode("utf-8", "replace") in line:
            found = _is_interrupt(_record(line), turn.key)
    return found


def _last_lines(path: str) -> list[bytes]:
    try:
        fd = os.open(os.fsencode(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return []
            start = max(0, info.st_size - _TAIL)
            file.seek(start)
            lines = file.read(_TAIL).split(b"\n")
    except (OSError, ValueError):
        return []
    return lines[1:] if start else lines


def _record(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _field(record: Any, key: str) -> Any:
    return record.get(key) if isinstance(record, dict) else None


def _is_interrupt(record: Any, key: str) -> bool:
    """Whether a line is the agent's own note, not a prompt that has the same words."""
    content = _field(_field(record, "message"), "content")
    if _field(record, "type") != "user" or _field(record, "promptId") != key:
        return False
    texts = [_field(part, "text") for part in content] if isinstance(content, list) else []
    return any(isinstance(text, str) and text.startswith(_INTERRUPT) for text in texts)
