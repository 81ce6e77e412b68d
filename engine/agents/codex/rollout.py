"""The end of a rollout, Codex's own file about a session: which calls ended, where answers end.

Hooks do not tell of every end: a patch that was refused, or that was sent through the shell, has
none, nor has a command that goes on in the background. The rollout is the truth. It is only read,
it grows meanwhile, and every hook call reads it: lines are parsed only where they matter.
"""

from __future__ import annotations

import json
import os
import re
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

_TAIL = 512 << 10

_HEAD = re.compile(rb'"type":"(\w{1,40})","payload":\{"type":"(\w{1,40})"')
"""What stands at the begin of each line: other places may hold anything that a tool printed."""
_BEGIN = 300

_GOES_ON = b"Process running with session ID"
_WORK = ("CommandExecution", "FileChange")


def last_lines(path: str) -> list[bytes]:
    """The whole lines at a file's end; none where it cannot be read."""
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


def kind_of(line: bytes) -> str:
    """What a line is: ``call``, ``output`` (the answer to a call), the name of an event, or ""."""
    found = _HEAD.search(line, 0, _BEGIN)
    if found is None:
        return ""
    outer, inner = found.groups()
    if outer == b"event_msg":
        return inner.decode()
    if outer == b"response_item" and inner.endswith(b"_call"):
        return "call"
    return "output" if outer == b"response_item" and inner.endswith(b"_call_output") else ""


def payload_of(line: bytes) -> dict[str, Any]:
    """A line's content, empty where it is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    found = record.get("payload") if isinstance(record, dict) else None
    return found if isinstance(found, dict) else {}


def item_of(line: bytes) -> dict[str, Any]:
    """The item that a line reports as completed, empty where there is none."""
    item = payload_of(line).get("item")
    return item if isinstance(item, dict) else {}


def failed(item: Mapping[str, Any]) -> bool:
    """Whether a command or a patch did not do what it should."""
    return item.get("status") != "completed" or item.get("exit_code") not in (0, None)


def ends(lines: list[bytes], calls: Mapping[str, str]) -> tuple[dict[str, bool], set[str]]:
    """Which calls have ended.

    Args:
        calls: the calls asked for, each with its kind.

    Returns:
        The calls that ended, each with whether it failed, and those that go on in the background.
    """
    ended: dict[str, bool] = {}
    going: set[str] = set()
    for call, kind in calls.items():
        mark = b'"' + call.encode("utf-8", "replace") + b'"'
        for line in reversed(lines):
            if mark not in line:
                continue
            what = kind_of(line)
            if what == "item_completed":
                item = item_of(line)
                if item.get("id") == call and item.get("type") in _WORK:
                    ended[call] = failed(item)
                    break
            elif what == "output" and payload_of(line).get("call_id") == call:
                if kind == "shell" and _GOES_ON in line:
                    going.add(call)
                elif call not in ended:
                    # An edit or a command that did something has an item as well, further up.
                    ended[call] = kind != "other"
            elif what == "call":
                break
        if call in ended:
            going.discard(call)
    return ended, going


def _steps(lines: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Calls, outputs and what was done, newest first, back to the turn's begin."""
    for line in reversed(lines):
        what = kind_of(line)
        if what == "task_started":
            return
        if what in ("call", "output"):
            yield what, line
        elif what == "item_completed" and item_of(line).get("type") in _WORK:
            yield "work", line


def begins_answer(lines: list[bytes], call: str) -> bool:
    """Whether a call is the first of a model answer, and an answer with calls came before it.

    In code mode a call is made from within a script, which is the call that the rollout names.
    """
    nested = call.startswith("exec-")
    mark = b'"call_id":"' + call.encode("utf-8", "replace") + b'"'
    found = False
    for what, line in _steps(lines):
        if found:
            # An answer may hold several scripts.
            if what == "output" or (what == "call" and not nested):
                return what == "output"
        elif what == "call":
            found = nested or mark in line
        elif nested:
            # The script has done something before: this is not its first call.
            return False
    return False


def answered(lines: list[bytes]) -> bool:
    """Whether the newest answer of the turn followed one with calls."""
    return next((what == "output" for what, _ in _steps(lines) if what != "work"), False)


def subagents(lines: list[bytes]) -> bool:
    """Whether a subagent that the newest turn has started still works."""
    over: set[Any] = set()
    for line in reversed(lines):
        what = kind_of(line)
        if what == "task_started":
            return False
        if what == "item_completed" and b'"SubAgentActivity"' in line:
            item = item_of(line)
            thread, kind = str(item.get("agent_thread_id")), item.get("kind")
            if kind == "started" and thread not in over:
                return True
            over.add(thread)
    return False
