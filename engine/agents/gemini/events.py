"""Gemini CLI's hook payloads as events; a payload of any shape is taken.

Hooks name no call and tell of no step: names are made, see `tools.prefix`, and steps are read from
the end of the session's chat, see `chat`. Nothing of what an edit writes is kept from a payload:
the files themselves are the record.
"""

from __future__ import annotations

import os

from takeback.engine.agents.gemini import chat, tools
from takeback.engine.agents.own import is_own
from takeback.engine.agents.payload import as_map, as_path, as_text
from takeback.engine.facts import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.engine.facts import EventKind
    from takeback.engine.record.openturn import OpenTurn

PROGRAM = b"gemini"
PID = ""
"""Gemini CLI names its process in no variable."""

NEEDS_TURN = frozenset({"BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"})
"""Events whose meaning depends on what the session has open."""
WHOLE_TURN = True
"""`translate` is given the open turn itself: calls are told apart by those that were before."""

_RESTORE = "/restore"
_NO_TEXT = "[no response text]"


def translate(payload: Any, turn: OpenTurn | None = None) -> list[Event]:
    """The events of one hook call, in order; none for what says nothing about files.

    Args:
        turn: what the session has open; looked at only for the events in `NEEDS_TURN`.
    """
    data = as_map(payload)
    session, folder = as_text(data.get("session_id")), as_text(data.get("cwd"))
    if not session or not folder:
        return []
    here = _Place(data, session, os.path.abspath(as_path(folder)), turn)
    name = as_text(data.get("hook_event_name"))
    if name in ("BeforeTool", "AfterTool") and here.is_own():
        return []
    if name == "BeforeAgent":
        return [*here.settled(), here.event("begin", prompt=as_text(data.get("prompt")))]
    if name == "BeforeTool":
        return here.begin()
    if name == "AfterTool":
        return here.end()
    if name == "AfterAgent":
        return here.stop()
    if name == "SessionEnd":
        return [here.event("session-end")]
    return []


def answer(name: str, note: str) -> bytes:
    """A note for the model, as the hook called `name` answers it; empty where it cannot."""
    if name != "BeforeAgent":
        return b""
    import json

    told = {"hookEventName": name, "additionalContext": note}
    return json.dumps({"hookSpecificOutput": told}).encode() + b"\n"


class _Place:
    """One payload: where it comes from, what its session has open, and what its chat says."""

    def __init__(
        self, data: dict[str, Any], session: str, folder: bytes, turn: OpenTurn | None
    ) -> None:
        self._data = data
        self._session = session
        self._folder = folder
        self._open = turn is not None
        self._calls = turn.calls if turn is not None else {}
        self._steps = turn.steps if turn is not None else 0
        self._path = as_text(data.get("transcript_path"))
        running = [call for call, known in self._calls.items() if known[3] == "running"]
        self._running = running
        settles = bool(running) and data.get("hook_event_name") != "AfterTool"
        self._now = chat.now(self._path, calls=settles) if self._path else None

    def event(self, kind: EventKind, **fields: Any) -> Event:
        return Event(
            kind,
            self._session,
            self._folder,
            agent="gemini",
            # Turns have no id; when the prompt came tells it from all others.
            key=as_text(self._data.get("timestamp")) if kind == "begin" else "",
            transcript=self._path,
            **fields,
        )

    # --- What only the chat tells --------------------------------------------------------------

    def settled(self) -> list[Event]:
        """The ends of calls that no hook told of: refused by a rule, or by the user."""
        over = self._now.calls if self._now is not None else {}
        ended = {call: over[call] for call in self._running if call in over}
        events = []
        for call, (failed, going) in ended.items():
            if not going:
                events.append(self.event("tool-end", call=call, failed=failed))
                self._running.remove(call)
        return events

    def _stepped(self) -> list[Event]:
        """The model answers that ended since the last event."""
        if self._now is None or self._now.restored or not self._open:
            return []
        ended = self._now.answers[:-1]
        return [self.event("step", text=text) for text in ended[self._steps :]]

    # --- Calls ---------------------------------------------------------------------------------

    def is_own(self) -> bool:
        """Whether takeback itself is called, which is no work of the agent's."""
        command = as_text(as_map(self._data.get("tool_input")).get("command"))
        return (
            "takeback" in command
            and as_text(self._data.get("tool_name")) in tools.SHELLS
            and is_own(command)
        )

    def _name(self) -> tuple[str, list[str]]:
        """What the names of calls equal to this one begin with, and those that were."""
        known = tools.turn_of(self._calls) or (self._now.turn if self._now is not None else "")
        tool = as_text(self._data.get("tool_name"))
        first = tools.prefix(known or "0", tool, self._data.get("tool_input"))
        return first, [call for call in self._calls if call.startswith(first)]

    def begin(self) -> list[Event]:
        """The begin of a call. The one that `/restore` repeats belongs to no prompt."""
        restored = self._now is not None and self._now.restored
        events = [] if restored else [*self.settled(), *self._stepped()]
        if restored and not self._calls_of_restore():
            events.append(self.event("begin", prompt=_RESTORE))
            self._calls, self._running = {}, []
        first, equal = self._name()
        running = [call for call in equal if call in self._running]
        # The same hook twice: equal calls do not run at the same time.
        call = running[0] if running else f"{first}{len(equal) + 1}"
        return [*events, self._call("tool-begin", call)]

    def _calls_of_restore(self) -> bool:
        """Whether the open turn is the one that a return to a checkpoint began."""
        assert self._now is not None
        return self._open and tools.turn_of(self._calls) == tools.short(self._now.turn)

    def end(self) -> list[Event]:
        """The end of a call; with all that its begin says, which may have been missed."""
        first, equal = self._name()
        running = [call for call in equal if call in self._running]
        if not running:
            # The user or a hook may have changed what the call was asked for.
            tool = tools.tool_of(first + "1")
            same = [call for call in self._running if tools.tool_of(call) == tool]
            running = same if len(same) == 1 and not equal else []
        response = as_map(self._data.get("tool_response"))
        answer = tools.answer_of(response.get("llmContent"))
        shell = as_text(self._data.get("tool_name")) in tools.SHELLS
        events = []
        if not (shell and tools.goes_on(answer)):
            # What goes on keeps its window open, until the turn's end.
            failed = bool(response.get("error")) or (shell and tools.has_failed(answer))
            # Told twice, it is over already: then this says nothing new.
            call = running[0] if running else f"{first}1"
            found = self._found(response)
            events.append(self._call("tool-end", call, failed=failed, found=found))
        if self._now is not None and self._open:
            if self._now.restored and self._calls_of_restore():
                events.append(self.event("end"))
            elif self._now.cancelled:
                events += [*self._stepped(), self.event("end", interrupted=True)]
        return events

    def _found(self, response: dict[str, Any]) -> bytes | None:
        """What an edit read before it wrote; not where that was no text."""
        display = as_map(response.get("returnDisplay"))
        text = display.get("originalContent")
        if not isinstance(text, str) or display.get("isNewFile") is not False or "\ufffd" in text:
            return None
        return text.encode("utf-8", "surrogatepass")

    def _call(self, kind: EventKind, call: str, **more: Any) -> Event:
        tool, given = as_text(self._data.get("tool_name")), self._data.get("tool_input")
        does = tools.call_kind(tool)
        paths = tools.path_of(given) if does in ("edit", "other") else ()
        if does == "edit" and not paths:
            # An edit of we do not know what: all that changes meanwhile may be its work.
            does = None
        command = as_text(as_map(given).get("command")) if tool in tools.SHELLS else ""
        return self.event(
            kind, call=call, tool=tool, call_kind=does, paths=paths, command=command, **more
        )

    # --- The end -------------------------------------------------------------------------------

    def stop(self) -> list[Event]:
        """The turn's end; commands in the background may go on."""
        if not self._open:
            return []
        events = [*self.settled(), *self._stepped()]
        text = as_text(self._data.get("prompt_response"))
        if self._now is not None and not self._now.restored:
            text = self._now.answers[-1] or ("" if text == _NO_TEXT else text)
        over = self._now.calls if self._now is not None else None
        going = [
            call
            for call in self._running
            if tools.tool_of(call) in tools.SHELLS
            and (over is None or over.get(call, (False, False))[1])
        ]
        return [*events, self.event("end", text=text, background=bool(going))]
