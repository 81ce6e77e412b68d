"""Codex's hook payloads as events; a payload of any shape is taken.

What hooks do not tell is read from the end of the session's rollout: see `rollout`. Nothing of
what a patch writes is kept from a payload: the files themselves are the record.
"""

from __future__ import annotations

import os
import re

from takeback.engine.agents.codex import rollout
from takeback.engine.agents.own import is_own
from takeback.engine.agents.payload import as_map, as_path, as_text
from takeback.engine.facts import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any

    from takeback.engine.facts import CallKind, EventKind

PROGRAM = b"codex"
PID = ""
"""Codex names its process in no variable."""

EDITS = frozenset({"apply_patch"})
SHELLS = frozenset({"Bash", "exec_command", "local_shell", "shell", "shell_command", "write_stdin"})
READERS = frozenset(
    {
        "list_dir",
        "list_mcp_resource_templates",
        "list_mcp_resources",
        "close_agent",
        "followup_task",
        "grep_files",
        "interrupt_agent",
        "list_agents",
        "new_context",
        "read_file",
        "read_mcp_resource",
        "request_permissions",
        "request_user_input",
        "resume_agent",
        "send_input",
        "send_message",
        "spawn_agent",
        "tool_search",
        "tool_suggest",
        "update_goal",
        "update_plan",
        "view_image",
        "wait",
        "wait_agent",
        "web_search",
    }
)
"""Tools known not to write files themselves; what a subagent does has calls of its own."""
_AGENTS = ("collaboration", "multi_agent")
"""Tools that start subagents and wait for them are named after one of these spaces."""

NEEDS_TURN = frozenset(
    {"UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStop", "Stop", "SessionEnd"}
)
"""Events whose meaning depends on what the session has open."""

_HEADER = re.compile(r"[ \t]*\*\*\* (Add File|Update File|Delete File|Move to): (.*?)\s*$")
_PATCH = ("command", "input", "patch")


def call_kind(tool: str) -> CallKind | None:
    """What kind of call a tool makes; None for tools that nobody knows."""
    if tool in EDITS:
        return "edit"
    if tool in SHELLS or tool.startswith("mcp__"):
        return "shell"
    return "other" if tool in READERS or tool.startswith(_AGENTS) else None


def patch_paths(patch: str) -> tuple[bytes, ...]:
    """The files that a patch writes, moves and deletes, in its order.

    Lines of content begin with a sign or a blank. Codex forgives blanks before a header, except
    below the begin of a change, where they make it a line of context.
    """
    found: dict[bytes, None] = {}
    updates = within = False
    for line in patch.split("\n"):
        header = _HEADER.match(line)
        if header is not None and not (within and line[0] in " \t"):
            if header[2]:
                found[as_path(header[2])] = None
            updates, within = header[1] in ("Update File", "Move to"), False
        else:
            within = updates
    return tuple(found)


def patch_swaps(patch: str) -> tuple[tuple[bytes, tuple[tuple[bytes, bytes], ...]], ...]:
    """What a patch replaces in the files that it changes: for each the blocks of lines, as they
    were and as they became."""
    found: dict[bytes, list[tuple[list[str], list[str]]]] = {}
    blocks: list[tuple[list[str], list[str]]] | None = None
    for line in patch.split("\n"):
        header = _HEADER.match(line)
        if header is not None and line.startswith("*"):
            blocks = None
            if header[1] in ("Update File", "Move to"):
                blocks = found.setdefault(as_path(header[2]), [])
        elif line.startswith("*** End Patch"):
            blocks = None
        elif blocks is not None and not line.startswith("***"):
            if line.startswith("@@") or not blocks:
                blocks.append(([], []))
            if line[:1] in ("", " ", "-"):
                blocks[-1][0].append(line[1:])
            if line[:1] in ("", " ", "+"):
                blocks[-1][1].append(line[1:])
    return tuple(
        (path, tuple((_block(old), _block(new)) for old, new in known if old != new))
        for path, known in found.items()
    )


def _block(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass")


def translate(payload: Any, running: Collection[str] | None = None) -> list[Event]:
    """The events of one hook call, in order; none for what says nothing about files.

    Args:
        running: the calls that run in the session's open turn, with their kinds, or None if it has
            no open turn; looked at only for the events in `NEEDS_TURN`.
    """
    data = as_map(payload)
    session, folder = as_text(data.get("session_id")), as_text(data.get("cwd"))
    if not session or not folder:
        return []
    here = _Place(data, session, os.path.abspath(as_path(folder)))
    open_calls = _kinds(running)
    name = as_text(data.get("hook_event_name"))
    if name in ("PreToolUse", "PostToolUse") and here.is_own():
        return []
    if name == "PreToolUse":
        return here.begin(open_calls)
    if name == "PostToolUse":
        return here.end(open_calls)
    if name == "SubagentStop":
        if running is None:
            return []
        # A subagent's answers are not told apart from the agent's own; its work is one step.
        text = as_text(data.get("last_assistant_message"))
        return [*here.settled(open_calls)[0], here.event("step", text=text)]
    if data.get("agent_id"):
        # What begins and ends a subagent's own thread is no turn of the user.
        return []
    if name == "UserPromptSubmit":
        prompt, transcript = as_text(data.get("prompt")), as_text(data.get("transcript_path"))
        begin = here.event("begin", prompt=prompt, transcript=transcript)
        # What ran on after the turn before has an end of its own now.
        return [*here.settled(open_calls)[0], begin]
    if name == "Stop":
        return here.stop(open_calls, running is not None)
    if name == "Interrupt":
        return [here.event("end", interrupted=True)]
    if name == "SessionEnd":
        return [*here.settled(open_calls)[0], here.event("session-end")]
    return []


def _kinds(running: Collection[str] | None) -> dict[str, str]:
    if isinstance(running, dict):
        return {call: str(kind) for call, kind in running.items()}
    return dict.fromkeys(running or (), "shell")


def answer(name: str, note: str) -> bytes:
    """A note for the model, as the hook called `name` answers it; empty where it cannot."""
    if name != "UserPromptSubmit":
        return b""
    import json

    told = {"hookEventName": name, "additionalContext": note}
    return json.dumps({"hookSpecificOutput": told}).encode() + b"\n"


class _Place:
    """One payload: where it comes from, and the rollout that belongs to it."""

    def __init__(self, data: dict[str, Any], session: str, folder: bytes) -> None:
        self._data = data
        self._session = session
        self._folder = folder
        self._sub = bool(data.get("agent_id"))
        # A subagent's turns have ids of their own: a turn of the user is never known by one.
        self._key = "" if self._sub else as_text(data.get("turn_id"))
        self._read: list[bytes] | None = None

    def event(self, kind: EventKind, **fields: Any) -> Event:
        return Event(kind, self._session, self._folder, agent="codex", key=self._key, **fields)

    @property
    def _lines(self) -> list[bytes]:
        if self._read is None:
            path = as_text(self._data.get("agent_transcript_path"))
            path = path or as_text(self._data.get("transcript_path"))
            self._read = rollout.last_lines(path) if path else []
        return self._read

    def is_own(self) -> bool:
        """Whether takeback itself is called, which is no work of the agent's."""
        command = as_text(as_map(self._data.get("tool_input")).get("command"))
        return (
            "takeback" in command
            and as_text(self._data.get("tool_name")) in SHELLS
            and is_own(command)
        )

    def settled(self, calls: Mapping[str, str]) -> tuple[list[Event], set[str], set[str]]:
        """The ends of calls that no hook told of, and which those are; and those that go on."""
        if not calls:
            return [], set(), set()
        ended, going = rollout.ends(self._lines, calls)
        events = [self.event("tool-end", call=call, failed=bad) for call, bad in ended.items()]
        return events, set(ended), going

    def begin(self, running: Mapping[str, str]) -> list[Event]:
        """The begin of a call; a call that begins an answer ends the step before it."""
        call = as_text(self._data.get("tool_use_id"))
        if not call:
            return []
        events = self.settled({c: kind for c, kind in running.items() if c != call})[0]
        if not self._sub and call not in running and rollout.begins_answer(self._lines, call):
            events.append(self.event("step"))
        return [*events, self._call("tool-begin", call)]

    def end(self, running: Mapping[str, str]) -> list[Event]:
        """The end of a call; with all that its begin says, which may have been missed."""
        call = as_text(self._data.get("tool_use_id"))
        if not call:
            return []
        kind = call_kind(as_text(self._data.get("tool_name")))
        others = {c: k for c, k in running.items() if c != call}
        events = self.settled(others)[0]
        failed = as_map(self._data.get("tool_response")).get("isError") is True
        if kind == "shell":
            # The exit code stands in the rollout alone.
            ended, _ = rollout.ends(self._lines, {call: "other"})
            failed = failed or ended.get(call, False)
        return [*events, self._call("tool-end", call, failed=failed)]

    def _call(self, kind: EventKind, call: str, **more: Any) -> Event:
        tool = as_text(self._data.get("tool_name"))
        given = as_map(self._data.get("tool_input"))
        does = call_kind(tool)
        paths: tuple[bytes, ...] = ()
        if does == "edit":
            patch = next((t for t in map(as_text, map(given.get, _PATCH)) if t), "")
            paths = patch_paths(patch)
            if kind == "tool-end":
                more["swaps"] = patch_swaps(patch)
            # An edit of we do not know what: all that changes meanwhile may be its work.
            does = does if paths else None
        elif does == "other":
            paths = tuple(as_path(t) for t in (as_text(given.get("path")),) if t)
        command = as_text(given.get("command")) if tool in SHELLS else ""
        return self.event(
            kind, call=call, tool=tool, call_kind=does, paths=paths, command=command, **more
        )

    def stop(self, running: Mapping[str, str], known: bool) -> list[Event]:
        """The turn's end, with the ends of what was refused; commands and subagents may go on."""
        events, ended, going = self.settled(running)
        if known and rollout.answered(self._lines):
            events.append(self.event("step"))
        rest = {call: kind for call, kind in running.items() if call not in ended}
        edits = [call for call, kind in rest.items() if kind == "edit"]
        events.extend(self.event("tool-end", call=call, failed=True) for call in edits)
        # A script's commands have no line of their own before they end.
        nested = {c for c, kind in rest.items() if kind == "shell" and c.startswith("exec-")}
        goes_on = bool(going or (nested and self._lines)) or rollout.subagents(self._lines)
        text = as_text(self._data.get("last_assistant_message"))
        return [*events, self.event("end", text=text, background=goes_on)]
