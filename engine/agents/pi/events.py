"""What our extension of pi tells, as events. Pure; a payload of any shape is taken.

The extension sends no content that is written: the files themselves are the record.
"""

from __future__ import annotations

import os

from takeback.engine.agents.own import is_own
from takeback.engine.agents.payload import as_map, as_path, as_text
from takeback.engine.agents.pi import tools
from takeback.engine.facts import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from takeback.engine.facts import EventKind

PROGRAM = b"pi"
PID = "TAKEBACK_AGENT_PID"
"""The variable in which our extension names pi's process."""

NEEDS_TURN = frozenset({"gave_up", "turn_end"})
"""Events whose meaning depends on what the session has open."""


def translate(payload: Any, running: Collection[str] | None = None) -> list[Event]:
    """The events of one payload, in order; none for what says nothing about files.

    Args:
        running: the calls that run in the session's open turn, or None if it has no open turn;
            looked at only for the events in `NEEDS_TURN`.
    """
    data = as_map(payload)
    session, folder = as_text(data.get("session_id")), as_text(data.get("cwd"))
    if not session or not folder:
        return []
    here = _Place(data, session, os.path.abspath(as_path(folder)))
    name = as_text(data.get("hook_event_name"))
    stop = as_text(data.get("stop_reason"))
    if name in ("before_agent_start", "user_message"):
        # What is typed while the agent works belongs to the turn, by the turn's own id.
        return [here.event("begin", prompt=as_text(data.get("prompt")))]
    if name == "agent_start":
        # Without a prompt: a new try after an error, or an extension that starts the agent.
        return [here.event("begin", continues=True)]
    if name == "tool_call":
        return here.call("tool-begin")
    if name == "tool_result":
        return here.call("tool-end", failed=data.get("is_error") is True)
    if name == "turn_end":
        text = as_text(data.get("text"))
        said = running is not None and (text or stop not in tools.BROKEN)
        return [here.event("step", text=text)] if said else []
    if name == "agent_end":
        # After an error of the model pi tries again by itself, and goes on with the turn.
        return [here.event("end", interrupted=stop == "aborted", background=stop == "error")]
    if name == "gave_up":
        # It did not try again.
        return [here.event("end")] if running is not None else []
    if name == "session_shutdown":
        return [here.event("session-end")]
    return []


def answer(name: str, note: str) -> bytes:
    """A note for the model, as our extension takes it; empty where it cannot."""
    if name != "before_agent_start":
        return b""
    import json

    return json.dumps({"note": note}).encode() + b"\n"


class _Place:
    """One payload, and what all events of it have in common."""

    def __init__(self, data: dict[str, Any], session: str, folder: bytes) -> None:
        self._data = data
        self._session = session
        self._folder = folder

    def event(self, kind: EventKind, **fields: Any) -> Event:
        data = self._data
        return Event(
            kind,
            self._session,
            self._folder,
            agent="pi",
            key=as_text(data.get("turn_id")),
            transcript=as_text(data.get("transcript_path")),
            **fields,
        )

    def call(self, kind: EventKind, **more: Any) -> list[Event]:
        """The begin or the end of a call, unless it has no id or is one of takeback itself."""
        call, tool = as_text(self._data.get("tool_call_id")), as_text(self._data.get("tool_name"))
        given = as_map(self._data.get("tool_input"))
        command = as_text(given.get("command")) if tool in tools.SHELLS else ""
        if not call or ("takeback" in command and is_own(command)):
            return []
        does = tools.call_kind(tool)
        paths = tools.paths_of(given) if does in ("edit", "other") else ()
        if does == "edit" and not paths:
            # An edit of we do not know what: all that changes meanwhile may be its work.
            does = None
        return [
            self.event(
                kind, call=call, tool=tool, call_kind=does, paths=paths, command=command, **more
            )
        ]
