"""Claude Code's hook payloads as events. Pure; a payload of any shape is taken.

Nothing of what an edit writes is kept from a payload: the files themselves are the record.
"""

from __future__ import annotations

import os

from takeback.engine.facts import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.engine.facts import CallKind, EventKind

EDITS = frozenset({"Edit", "Write", "NotebookEdit", "MultiEdit"})
READERS = frozenset(
    {
        "Agent",
        "AskUserQuestion",
        "ExitPlanMode",
        "Glob",
        "Grep",
        "LS",
        "NotebookRead",
        "Read",
        "Skill",
        "Task",
        "TaskCreate",
        "TaskGet",
        "TaskList",
        "TaskOutput",
        "TaskUpdate",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
    }
)
"""Tools known not to write files themselves; what a subagent does has calls of its own."""

_SYNTHETIC = ("<task-notification>",)
_ERROR = "<tool_use_error>"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def call_kind(tool: str) -> CallKind | None:
    """What kind of call a tool makes; None for tools that nobody knows."""
    if tool in EDITS:
        return "edit"
    if tool == "Bash" or tool.startswith("mcp__"):
        return "shell"
    return "other" if tool in READERS else None


def translate(payload: Any) -> list[Event]:
    """The events of one hook call, in order; none for what says nothing about files."""
    data = _map(payload)
    session, folder = _text(data.get("session_id")), _text(data.get("cwd"))
    if not session or not folder:
        return []
    name = _text(data.get("hook_event_name"))
    if name == "UserPromptSubmit":
        prompt = _text(data.get("prompt"))
        own = prompt.lstrip().startswith(_SYNTHETIC)
        return [
            _event(
                "begin", session, folder, agent="claude", prompt="" if own else prompt,
                key=_text(data.get("prompt_id")), continues=own,
            )
        ]  # fmt: skip
    if name == "PreToolUse":
        return _begin(session, folder, data)
    if name == "PostToolUse":
        if _map(data.get("tool_response")).get("backgroundTaskId"):
            # The command goes on: its window stays open until the turn's end.
            return []
        return _end(session, folder, data, failed=False)
    if name == "PostToolUseFailure":
        return _end(session, folder, data, failed=True)
    if name == "PostToolBatch":
        return _batch(session, folder, data)
    if name == "Stop":
        tasks = data.get("background_tasks")
        return [
            _event(
                "end", session, folder, text=_text(data.get("last_assistant_message")),
                background=isinstance(tasks, list) and bool(tasks),
            )
        ]  # fmt: skip
    if name == "SessionEnd":
        return [_event("session-end", session, folder)]
    return []


def _event(kind: EventKind, session: str, folder: str, **fields: Any) -> Event:
    return Event(kind, session, os.fsencode(folder.replace("\0", "")), **fields)


def _paths(tool_input: dict[str, Any]) -> tuple[bytes, ...]:
    found = []
    for key in ("file_path", "notebook_path"):
        path = _text(tool_input.get(key))
        if path and "\0" not in path:
            found.append(path.encode("utf-8", "surrogateescape"))
    return tuple(found)


def _begin(session: str, folder: str, data: dict[str, Any]) -> list[Event]:
    call, tool = _text(data.get("tool_use_id")), _text(data.get("tool_name"))
    if not call:
        return []
    tool_input = _map(data.get("tool_input"))
    kind = call_kind(tool)
    return [
        _event(
            "tool-begin", session, folder, agent="claude", call=call, tool=tool, call_kind=kind,
            paths=_paths(tool_input) if kind in ("edit", "other") else (),
            command=_text(tool_input.get("command")) if kind == "shell" else "",
        )
    ]  # fmt: skip


def _end(session: str, folder: str, data: dict[str, Any], failed: bool) -> list[Event]:
    begun = _begin(session, folder, data)
    if not begun:
        return []
    first = begun[0]
    return [
        _event(
            "tool-end", session, folder, agent="claude", call=first.call, tool=first.tool,
            call_kind=first.call_kind, paths=first.paths, command=first.command, failed=failed,
        )
    ]  # fmt: skip


def _batch(session: str, folder: str, data: dict[str, Any]) -> list[Event]:
    """The end of a model answer. A failed edit shows here only, and in no other hook."""
    events: list[Event] = []
    calls = data.get("tool_calls")
    for call in calls if isinstance(calls, list) else []:
        item = _map(call)
        if _ERROR in _text(item.get("tool_response")):
            events.extend(_begin(session, folder, item))
            events.extend(_end(session, folder, item, failed=True))
    if not data.get("agent_id"):
        events.append(_event("step", session, folder))
    return events
