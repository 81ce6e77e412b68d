"""Gemini CLI's tools: what they do, and names for their calls, which have none in hooks."""

from __future__ import annotations

import hashlib
import json

from takeback.engine.agents.payload import as_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from takeback.engine.facts import CallKind

EDITS = frozenset({"replace", "write_file"})
SHELLS = frozenset({"run_shell_command"})
READERS = frozenset(
    {
        "activate_skill",
        "ask_user",
        "complete_task",
        "enter_plan_mode",
        "exit_plan_mode",
        "get_internal_docs",
        "glob",
        "google_web_search",
        "grep_search",
        "invoke_agent",
        "list_directory",
        "list_mcp_resources",
        "read_file",
        "read_many_files",
        "read_mcp_resource",
        "search_file_content",
        "tracker_add_dependency",
        "tracker_create_task",
        "tracker_get_task",
        "tracker_list_tasks",
        "tracker_update_task",
        "tracker_visualize",
        "update_topic",
        "web_fetch",
        "write_todos",
    }
)
"""Tools known not to write files of the project; what a subagent does has calls of its own."""

_LONGEST = 60
_SHORT = 8

_MOVED = "Command moved to background"
_PIDS = "\nBackground PIDs: "
_EXIT = "Exit Code: "
_FOOT = ("Process Group PGID: ", "Background PIDs: ", "Signal: ", "Error: ", _EXIT, "</untrusted")


def call_kind(tool: str) -> CallKind | None:
    """What kind of call a tool makes; None for tools that nobody knows."""
    if tool in EDITS:
        return "edit"
    if tool in SHELLS:
        return "shell"
    return "other" if tool in READERS else None


def path_of(given: Any) -> tuple[bytes, ...]:
    """The file that a call's input names."""
    value = given.get("file_path") if isinstance(given, dict) else None
    return (as_path(value),) if isinstance(value, str) and value else ()


# --- Names ------------------------------------------------------------------------------------


def prefix(turn: str, tool: str, given: Any) -> str:
    """What the names of all equal calls of a turn begin with.

    Hooks and chats name no call alike, so a name is made of what both know: the turn's message, the
    tool, and its input.

    Args:
        turn: the id of the message that began the turn.
    """
    text = json.dumps(given, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha1(text.encode()).hexdigest()
    return f"{short(turn)}-{tool[:_LONGEST]}-{digest[:_SHORT]}-"


def short(turn: str) -> str:
    """A turn's part of the names of its calls."""
    return turn[:_SHORT].replace("-", "_")


def tool_of(call: str) -> str:
    """The tool in a call's name."""
    return call.rsplit("-", 2)[0].partition("-")[2]


def turn_of(calls: Iterable[str]) -> str:
    """The turn in the names of a turn's calls; "" where there are none."""
    return next((call.partition("-")[0] for call in calls), "")


# --- What a call answered ---------------------------------------------------------------------


def answer_of(value: Any) -> str:
    """The text of a tool's answer: a string, a part, or a list of parts."""
    if isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        value = value.get("text")
    return value if isinstance(value, str) else ""


def goes_on(answer: str) -> bool:
    """Whether a shell command still runs, or has left something running."""
    text = answer.removeprefix("<untrusted_context>\n")
    return text.startswith(_MOVED) or _PIDS in _foot(answer)


def has_failed(answer: str) -> bool:
    """Whether a shell command ended with an error; its answer alone says so."""
    text = answer.removeprefix("<untrusted_context>\n")
    return "\n" + _EXIT in _foot(answer) or text.startswith("Command was ")


def _foot(answer: str) -> str:
    """The lines below a command's output, each after a line end."""
    lines = answer[-2000:].split("\n")
    at = len(lines)
    while at > 0 and lines[at - 1].startswith(_FOOT):
        at -= 1
    return "".join(f"\n{line}" for line in lines[at:])
