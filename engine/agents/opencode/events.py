"""What our plugin in OpenCode tells, as events. Pure; a payload of any shape is taken.

The plugin (``plugin.js``) gives OpenCode's own events on under their names, with ``step`` for a
model answer that is complete. A subagent is a session of its own in OpenCode: the plugin tells of
its calls as of its parent's.
"""

from __future__ import annotations

import os

from takeback.engine.agents.opencode.prompts import typed
from takeback.engine.agents.own import is_own
from takeback.engine.agents.payload import as_map, as_path, as_text
from takeback.engine.facts import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from takeback.engine.facts import CallKind, EventKind

PROGRAM = b"opencode"
PID = "TAKEBACK_AGENT_PID"
"""The plugin names the agent's process in it."""

EDITS = frozenset({"apply_patch", "edit", "multiedit", "patch", "write"})
SHELLS = frozenset({"bash"})
READERS = frozenset(
    {
        "codesearch",
        "glob",
        "grep",
        "invalid",
        "list",
        "lsp",
        "plan_enter",
        "plan_exit",
        "question",
        "read",
        "skill",
        "task",
        "todoread",
        "todowrite",
        "webfetch",
        "websearch",
    }
)
"""Tools known not to write files themselves; what a subagent does has calls of its own."""

NEEDS_TURN = frozenset({"step", "session.idle"})
"""Events whose meaning depends on what the session has open."""

_HEADERS = ("*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:")


def call_kind(tool: str) -> CallKind | None:
    """What kind of call a tool makes; None for tools that nobody knows, as those of servers."""
    if tool in EDITS:
        return "edit"
    if tool in SHELLS:
        return "shell"
    return "other" if tool in READERS else None


def describe(tool: str, args: Any) -> tuple[CallKind | None, tuple[bytes, ...], str]:
    """A call's kind, the paths that it names, and its command."""
    given = as_map(args)
    does = call_kind(tool)
    paths: tuple[bytes, ...] = ()
    if does in ("edit", "other"):
        # Newer servers have another name for it.
        path = as_text(given.get("filePath")) or as_text(given.get("path"))
        paths = (as_path(path),) if path else patch_paths(as_text(given.get("patchText")))
    if does == "edit" and not paths:
        # An edit of we do not know what: all that changes meanwhile may be its work.
        does = None
    return does, paths, as_text(given.get("command")) if tool in SHELLS else ""


def patch_paths(patch: str) -> tuple[bytes, ...]:
    """The files that a patch writes, moves and deletes, in its order.

    Lines of content begin with a sign or a blank, so they are no headers.
    """
    found: dict[bytes, None] = {}
    for line in patch.split("\n"):
        if line.startswith(_HEADERS):
            name = line.partition(":")[2].strip()
            if name:
                found[as_path(name)] = None
    return tuple(found)


def is_failure(exit_code: Any) -> bool:
    """Whether a command's exit code, null for one that was ended, says that it failed."""
    return bool(exit_code != 0)


def translate(payload: Any, running: Collection[str] | None = None) -> list[Event]:
    """The events of one hook call, in order; none for what says nothing about files.

    Args:
        running: the calls that run in the session's open turn, or None if it has no open turn;
            looked at only for the events in `NEEDS_TURN`.
    """
    data = as_map(payload)
    session, folder = as_text(data.get("session_id")), as_text(data.get("cwd"))
    if not session or not folder:
        return []
    here = _Place(session, os.path.abspath(as_path(folder)), data)
    name = as_text(data.get("hook_event_name"))
    if name in ("chat.message", "session.next.prompted"):
        prompt, title = typed(as_text(data.get("prompt"))), as_text(data.get("title"))
        # Until it has been named by its content, it is named by its time.
        title = "" if title.startswith("New session - ") else title
        continues = data.get("continues") is True
        return [here.event("begin", prompt=prompt, title=title, continues=continues)]
    if name == "tool.execute.before":
        return here.call("tool-begin")
    if name == "tool.execute.after":
        bad = data.get("failed") is True or ("exit" in data and is_failure(data["exit"]))
        return here.call("tool-end", failed=bad)
    if name == "step" and running is not None:
        return [here.event("step", text=as_text(data.get("text")))]
    if name == "session.idle" and running is not None:
        return here.stop(running)
    if name == "dispose":
        return [here.event("session-end")]
    return []


def answer(name: str, note: str) -> bytes:
    """A note for the model, as the plugin takes it of the hook called `name`; else empty."""
    if name != "chat.message":
        return b""
    import json

    return json.dumps({"note": note}).encode() + b"\n"


class _Place:
    """One payload, and where it comes from."""

    def __init__(self, session: str, folder: bytes, data: dict[str, Any]) -> None:
        self._session = session
        self._folder = folder
        self._data = data

    def event(self, kind: EventKind, **fields: Any) -> Event:
        key = as_text(self._data.get("key"))
        return Event(kind, self._session, self._folder, agent="opencode", key=key, **fields)

    def call(self, kind: EventKind, **more: Any) -> list[Event]:
        """The begin or the end of a call, unless it has no id; an end says all that a begin says,
        which may have been missed."""
        call, tool = as_text(self._data.get("call")), as_text(self._data.get("tool"))
        if not call:
            return []
        does, paths, command = describe(tool, self._data.get("args"))
        if "takeback" in command and is_own(command):
            # Takeback itself is called, which is no work of the agent's.
            return []
        return [
            self.event(
                kind, call=call, tool=tool, call_kind=does, paths=paths, command=command, **more
            )
        ]

    def stop(self, running: Collection[str]) -> list[Event]:
        """The turn's end; calls that still run have failed, unless subagents go on."""
        goes_on = self._data.get("background") is True
        calls = () if goes_on else tuple(running)
        events = [self.event("tool-end", call=call, failed=True) for call in calls]
        text, broken = as_text(self._data.get("text")), self._data.get("interrupted") is True
        return [*events, self.event("end", text=text, background=goes_on, interrupted=broken)]
