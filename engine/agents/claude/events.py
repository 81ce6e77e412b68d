"""Claude Code's hook payloads as events. Pure; a payload of any shape is taken.

Nothing of what an edit writes is kept from a payload: the files themselves are the record.
"""

from __future__ import annotations

import os

from takeback.engine.agents.own import is_own
from takeback.engine.agents.payload import as_map, as_maps, as_path, as_text
from takeback.engine.facts import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from takeback.engine.facts import CallKind, EventKind

PROGRAM = b"claude"
PID = "CLAUDE_PID"
"""The variable in which the agent names its process; "" where there is none."""

EDITS = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
SHELLS = frozenset({"Bash", "PowerShell"})
READERS = frozenset(
    {
        "Agent",
        "AskUserQuestion",
        "BashOutput",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "KillShell",
        "LS",
        "NotebookRead",
        "Read",
        "Skill",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskStop",
        "TaskUpdate",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
    }
)
"""Tools known not to write files themselves; what a subagent does has calls of its own."""

NEEDS_TURN = frozenset({"UserPromptSubmit", "PostToolBatch", "SubagentStop"})
"""Events whose meaning depends on what the session has open."""

_NOTIFICATION = "<task-notification>"
_ERROR = "<tool_use_error>"
_WROTE = ("The file ", "File created ")
"""How the answers of edits begin that were made; a refusal of the user has many forms."""
_OVER = frozenset({"completed", "failed", "killed", "stopped", "cancelled", "error"})


def call_kind(tool: str) -> CallKind | None:
    """What kind of call a tool makes; None for tools that nobody knows."""
    if tool in EDITS:
        return "edit"
    if tool in SHELLS or tool.startswith("mcp__"):
        return "shell"
    return "other" if tool in READERS else None


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
    name = as_text(data.get("hook_event_name"))
    here = _Place(session, os.path.abspath(as_path(folder)), as_text(data.get("prompt_id")))
    if name == "UserPromptSubmit":
        prompt, transcript = as_text(data.get("prompt")), as_text(data.get("transcript_path"))
        return _prompt(here, prompt, transcript, running or ())
    if name in ("PreToolUse", "PostToolUse", "PostToolUseFailure") and _calls_us(data):
        return []
    if name == "PreToolUse":
        return here.begin(data)
    if name == "PostToolUse":
        if as_map(data.get("tool_response")).get("backgroundTaskId"):
            # The command goes on: its window stays open until it is reported, or the turn's end.
            return []
        return here.end(data, failed=False)
    if name == "PostToolUseFailure":
        return here.end(data, failed=True)
    if name == "PostToolBatch":
        return _batch(here, data, running)
    if name == "Stop":
        tasks = as_maps(data.get("background_tasks"))
        goes_on = any(as_text(task.get("status")).lower() not in _OVER for task in tasks)
        text = as_text(data.get("last_assistant_message"))
        return [here.event("end", text=text, background=goes_on)]
    if name == "SubagentStop" and running is not None:
        # A subagent's answers are not told apart from the agent's own; its work is one step.
        return [here.event("step", text=as_text(data.get("last_assistant_message")))]
    if name == "SessionEnd":
        return [here.event("session-end")]
    return []


def answer(name: str, note: str) -> bytes:
    """A note for the model, as the hook called `name` answers it; empty where it cannot."""
    if name != "UserPromptSubmit":
        return b""
    import json

    told = {"hookEventName": name, "additionalContext": note}
    return json.dumps({"hookSpecificOutput": told}).encode() + b"\n"


class _Place:
    """Where an event comes from: what all events of one payload have in common."""

    def __init__(self, session: str, folder: bytes, key: str) -> None:
        self._session = session
        self._folder = folder
        self._key = key

    def event(self, kind: EventKind, **fields: Any) -> Event:
        return Event(kind, self._session, self._folder, agent="claude", key=self._key, **fields)

    def begin(self, data: dict[str, Any]) -> list[Event]:
        """The begin of a call, unless it has no id."""
        return self._call("tool-begin", data)

    def end(self, data: dict[str, Any], failed: bool) -> list[Event]:
        """The end of a call; with all that its begin says, which may have been missed."""
        read = as_map(data.get("tool_response")).get("originalFile")
        found = read.encode("utf-8", "surrogatepass") if isinstance(read, str) else None
        return self._call("tool-end", data, failed=failed, found=found, swaps=_swaps(data))

    def _call(self, kind: EventKind, data: dict[str, Any], **more: Any) -> list[Event]:
        call, tool = as_text(data.get("tool_use_id")), as_text(data.get("tool_name"))
        if not call:
            return []
        tool_input = as_map(data.get("tool_input"))
        does = call_kind(tool)
        paths = _paths(tool_input) if does in ("edit", "other") else ()
        if does == "edit" and not paths:
            # An edit of we do not know what: all that changes meanwhile may be its work.
            does = None
        command = as_text(tool_input.get("command")) if tool in SHELLS else ""
        return [
            self.event(
                kind, call=call, tool=tool, call_kind=does, paths=paths, command=command, **more
            )
        ]


def _calls_us(data: dict[str, Any]) -> bool:
    """Whether takeback itself is called, which is no work of the agent's."""
    command = as_text(as_map(data.get("tool_input")).get("command"))
    return "takeback" in command and as_text(data.get("tool_name")) in SHELLS and is_own(command)


def _paths(tool_input: dict[str, Any]) -> tuple[bytes, ...]:
    found = (as_text(tool_input.get(key)) for key in ("file_path", "notebook_path"))
    return tuple(as_path(path) for path in found if path)


def _swaps(data: dict[str, Any]) -> tuple[tuple[bytes, tuple[tuple[bytes, bytes], ...]], ...]:
    """What an edit replaced, in its own words."""
    given = as_map(data.get("tool_input"))
    path, old, new = (as_text(given.get(key)) for key in ("file_path", "old_string", "new_string"))
    if not path or not new or given.get("replace_all"):
        return ()
    swap = (old.encode("utf-8", "surrogatepass"), new.encode("utf-8", "surrogatepass"))
    return ((as_path(path), (swap,)),)


def _prompt(here: _Place, prompt: str, transcript: str, running: Collection[str]) -> list[Event]:
    """A prompt. One that the agent sends to itself, because work in the background has ended, goes
    on with the open turn and ends the call that it is about."""
    if not prompt.lstrip().startswith(_NOTIFICATION):
        return [here.event("begin", prompt=prompt, transcript=transcript)]
    events = []
    call = _tag(prompt, "tool-use-id")
    if call in running:
        events.append(here.event("tool-end", call=call, failed=_tag(prompt, "status") == "failed"))
    prompt = _tag(prompt, "summary")
    return [*events, here.event("begin", prompt=prompt, transcript=transcript, continues=True)]


def _tag(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _batch(here: _Place, data: dict[str, Any], running: Collection[str] | None) -> list[Event]:
    """The end of a model answer, and of the calls whose own end was not reported.

    A call that was refused (an edit whose old text is absent) has no other hook than this.
    """
    events: list[Event] = []
    wrote = False
    for item in as_maps(data.get("tool_calls")):
        call, tool = as_text(item.get("tool_use_id")), as_text(item.get("tool_name"))
        said = as_text(item.get("tool_response"))
        failed = said.startswith(_ERROR) or (tool in EDITS and not said.startswith(_WROTE))
        wrote = wrote or (call_kind(tool) != "other" and not _calls_us(item))
        if running is not None and call in running:
            if tool not in SHELLS:
                # A shell command may go on in the background.
                events.extend(here.end(item, failed=failed))
        elif running is not None and failed and tool in EDITS:
            refused = {"call": call, "tool": tool, "call_kind": "other"}
            paths = _paths(as_map(item.get("tool_input")))
            if call:
                # Known ones are left as they are: every event is idempotent by its call.
                events.append(here.event("tool-begin", paths=paths, **refused))
                events.append(here.event("tool-end", paths=paths, failed=True, **refused))
    if not data.get("agent_id") and (running is not None or wrote):
        events.append(here.event("step"))
    return events
