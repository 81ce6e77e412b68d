"""The end of a session's chat: what happened since the last prompt, which no hook tells.

The file belongs to Gemini CLI, which appends to it while we read: a file that is missing, torn or
of another form says nothing. Only the lines that matter are taken apart, because agents wait.
"""

from __future__ import annotations

import json
import os
import re
import stat

from takeback.engine.agents.gemini import tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TAILS = (512 << 10, 8 << 20)
_HEAD = re.compile(rb'\{"id":"([^"\\]+)","timestamp":"([^"\\]*)","type":"(\w+)"')
_RESPONSE = b',"content":[{"functionResponse"'
_CALLS = b'"toolCalls":['
_CANCELLED = b'"Request cancelled."'
_RESTORED = b'"Restored project to the state before the tool call."'
_ADDED = "<hook_context>"
_OVER = frozenset({"success", "error", "cancelled"})


class Now:
    """The newest turn of a chat.

    Attributes:
        turn: the id of the message that began it.
        restored: the user went back to a checkpoint; no prompt followed.
        cancelled: when the user broke it off, "" for never.
        answers: the text of each model answer; the last one may still be written.
        calls: the calls that are over, by name: whether it failed, and whether it goes on.
    """

    __slots__ = ("answers", "calls", "cancelled", "restored", "turn")

    def __init__(self, turn: str, restored: bool) -> None:
        self.turn = turn
        self.restored = restored
        self.cancelled = ""
        self.answers = [""]
        self.calls: dict[str, tuple[bool, bool]] = {}


def now(path: str, calls: bool = False) -> Now | None:
    """The newest turn of a chat, None where it cannot be told.

    Args:
        calls: read which calls are over, too.
    """
    for size in _TAILS:
        lines, whole = _last_lines(path, size)
        begin = _begin(lines)
        if begin is not None:
            return _read(lines, begin, calls)
        if whole:
            return None
    return None


def _last_lines(path: str, size: int) -> tuple[list[bytes], bool]:
    """The lines at the end of a file, and whether they are all that there are."""
    try:
        fd = os.open(os.fsencode(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return [], True
            start = max(0, info.st_size - size)
            file.seek(start)
            lines = file.read(size).split(b"\n")
    except (OSError, ValueError):
        return [], True
    return (lines[1:], False) if start else (lines, True)


def _begin(lines: list[bytes]) -> int | None:
    for at in range(len(lines) - 1, -1, -1):
        head = _HEAD.match(lines[at])
        if head is None:
            continue
        if (head[3] == b"user" and is_prompt(lines[at], head.end())) or (
            head[3] == b"info" and _RESTORED in lines[at][:1000]
        ):
            return at
    return None


def is_prompt(line: bytes, at: int) -> bool:
    """Whether a message of the user's side was typed, rather than made by the program."""
    if line.startswith(_RESPONSE, at):
        return False
    return is_typed(text_of(_loaded(line).get("content")))


def is_typed(text: str) -> bool:
    """Whether a text is a prompt, as Gemini CLI itself tells it."""
    text = text.strip()
    return bool(text) and not text.startswith(("<session_context>", _ADDED, "/", "?"))


def _read(lines: list[bytes], begin: int, calls: bool) -> Now:
    head = _HEAD.match(lines[begin])
    assert head is not None
    found = Now(head[1].decode("utf-8", "replace"), head[3] == b"info")
    done: dict[bytes, list[Any]] = {}
    for line in lines[begin + 1 :]:
        head = _HEAD.match(line)
        if head is None:
            continue
        if head[3] == b"info" and _CANCELLED in line[:1000]:
            found.cancelled = head[2].decode("ascii", "replace")
        elif head[3] == b"user" and line.startswith(_RESPONSE, head.end()):
            found.answers.append("")
        elif head[3] == b"gemini" and _CALLS not in line:
            text = text_of(_loaded(line).get("content"))
            found.answers[-1] = "\n".join(part for part in (found.answers[-1], text) if part)
        elif head[3] == b"gemini" and calls:
            given = _loaded(line).get("toolCalls")
            done[head[1]] = given if isinstance(given, list) else []
    for given in done.values():
        for call in given:
            _note(found, call)
    return found


def _note(found: Now, call: Any) -> None:
    call = call if isinstance(call, dict) else {}
    tool, status = call.get("name"), call.get("status")
    if not isinstance(tool, str):
        return
    first = tools.prefix(found.turn, tool, call.get("args"))
    number = sum(name.startswith(first) for name in found.calls) + 1
    answer = response_of(call)
    failed = status != "success" or (tool in tools.SHELLS and tools.has_failed(answer))
    going = status not in _OVER or (tool in tools.SHELLS and tools.goes_on(answer))
    found.calls[f"{first}{number}"] = (failed, going)


def response_of(call: dict[str, Any]) -> str:
    """What a call of a chat answered, as its hook was told."""
    result = call.get("result")
    for part in result if isinstance(result, list) else []:
        given = part.get("functionResponse") if isinstance(part, dict) else None
        given = given.get("response") if isinstance(given, dict) else None
        output = given.get("output") if isinstance(given, dict) else None
        if isinstance(output, str):
            return output
    return ""


def text_of(content: Any) -> str:
    """The text of a message: a string, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    # What hooks add to a prompt is no part of what was typed.
    return "".join(t for t in texts if isinstance(t, str) and not t.startswith(_ADDED))


def _loaded(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
