"""The light entry for agents' hooks: a payload on standard input becomes events.

Whatever goes wrong here, the agent goes on: the exit code is 0, standard output stays empty, and
the error becomes a line that `doctor` shows. Standard library only, and little of it.
"""

from __future__ import annotations

import json
import os
import time

from takeback.engine.facts import Event
from takeback.engine.frozen import changed
from takeback.engine.store import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 64 << 20
_WAIT_S = 10.0


def main(agent: str, data_dir: str | None = None) -> int:
    """Record the event on standard input; always 0."""
    data = paths.data_dir(data_dir)
    name = session = ""
    try:
        payload = json.loads(_read())
        name, session = _field(payload, "hook_event_name"), _field(payload, "session_id")
        for event in translate(agent, payload):
            from takeback.engine.record.recorder import feed

            feed(event, data, _WAIT_S)
    except Exception as error:
        log_error(data, agent, name, error)
        if session:
            _mark(data, session, error)
    return 0


def _mark(data: bytes, session: str, error: BaseException) -> None:
    from takeback.engine.errors import TakebackError
    from takeback.engine.record.recorder import mark_failure

    try:
        mark_failure(data, session, f"an event was not recorded: {_words(error)}")
    except (TakebackError, OSError):
        # The line in errors.jsonl says it all the same.
        return


def _words(error: BaseException) -> str:
    text = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    return str(text)[:500]


def _read() -> bytes:
    parts: list[bytes] = []
    size = 0
    while chunk := os.read(0, 1 << 20):
        size += len(chunk)
        if size > _LARGEST:
            raise ValueError(f"the payload is larger than {_LARGEST >> 20} MiB")
        parts.append(chunk)
    return b"".join(parts)


def _field(payload: Any, key: str) -> str:
    value = payload.get(key) if isinstance(payload, dict) else None
    return value[:200] if isinstance(value, str) else ""


def translate(agent: str, payload: Any) -> list[Event]:
    """The events of a payload, by the agent's own module.

    Raises:
        ValueError: takeback does not know the agent.
    """
    if agent != "claude":
        raise ValueError(f"takeback knows no agent {agent!r}")
    from takeback.engine.agents import claude

    pid = _pid("CLAUDE_PID")
    return [
        changed(event, pid=pid) if event.kind in ("begin", "tool-begin") else event
        for event in claude.translate(payload)
    ]


def _pid(variable: str) -> int:
    """The agent's process: as it says itself, else unknown."""
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def log_error(data: bytes, agent: str, event: str, error: BaseException) -> None:
    """Keep an error for `doctor`: what failed, nothing of the payload."""
    from takeback.engine.store.store import make_private, timestamp

    line = {"at": timestamp(), "t": time.time_ns(), "agent": agent, "event": event}
    try:
        make_private(data)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(os.path.join(data, b"errors.jsonl"), flags, 0o600)
        try:
            os.write(fd, json.dumps({**line, "message": _words(error)}).encode() + b"\n")
        finally:
            os.close(fd)
    except OSError:
        # Nowhere to write: the agent must not be disturbed, so this is the end of it.
        return
