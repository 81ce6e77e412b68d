"""Turns out of the rows of OpenCode's database. Pure; rows of any shape are taken.

Older servers have one row for each message and one for each part of it: a user's message, then a
message for each answer, which names the user's. Newer ones have one row for each message, with
all of its parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from takeback.engine.agents.opencode.events import describe, is_failure
from takeback.engine.agents.opencode.prompts import typed
from takeback.engine.agents.payload import as_map
from takeback.engine.agents.talk import TalkCall, TalkStep, TalkTurn

_UNNAMED = re.compile(r"(New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z")
_OF_THE_USER = "The following tool was executed by the user"


def text(value: Any) -> str:
    """A text, "" where it is none."""
    return value if isinstance(value, str) else ""


def number(value: Any) -> int:
    """A whole number, 0 where it is none."""
    return value if isinstance(value, int) and -(1 << 62) < value < 1 << 62 else 0


def record(data: Any) -> dict[str, Any]:
    """A JSON object, empty where it is none."""
    try:
        return as_map(json.loads(data)) if isinstance(data, str) else {}
    except (ValueError, RecursionError):
        return {}


def title(value: Any) -> str:
    """A session's title, "" until it has been named by its content."""
    return "" if _UNNAMED.fullmatch(text(value)) else text(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ns(value: Any) -> int:
    """A time, which the database has in milliseconds."""
    ms = value if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
    return int(ms) * 1_000_000 if 0 < ms < 1 << 43 else 0


@dataclass(slots=True)
class _Turn:
    key: str
    prompts: list[str]
    begun_ns: int
    steps: list[TalkStep] = field(default_factory=list)
    ended_ns: int = 0
    open: bool = False
    interrupted: bool = False

    def answered(self, step: TalkStep, data: dict[str, Any]) -> None:
        """Take an answer, with its row's data."""
        if step.text or step.calls:
            self.steps.append(step)
        self.ended_ns = _ns(as_map(data.get("time")).get("completed"))
        self.open = not self.ended_ns or "tool" in text(data.get("finish"))
        self.interrupted = bool(data.get("error"))


def _built(found: Iterable[_Turn]) -> tuple[TalkTurn, ...]:
    """The turns; one that another follows is over, and one whose last answer is not is broken."""
    turns = list(found)
    built = []
    for at, turn in enumerate(turns):
        last = at == len(turns) - 1
        broken = turn.interrupted or (turn.open and not last)
        steps = turn.steps
        if not last or turn.interrupted or not turn.open:
            steps = [replace(step, calls=tuple(map(_lost, step.calls))) for step in steps]
        ended = turn.ended_ns if broken or not turn.open else 0
        prompt = "\n".join(turn.prompts)
        built.append(TalkTurn(turn.key, prompt, tuple(steps), turn.begun_ns, ended, broken))
    return tuple(built)


def _lost(call: TalkCall) -> TalkCall:
    return replace(call, state="lost") if call.state == "running" else call


# --- Messages and parts -----------------------------------------------------------------------


def turns(
    messages: Iterable[tuple[Any, ...]],
    parts: Iterable[tuple[Any, ...]],
    revert: dict[str, Any],
) -> tuple[TalkTurn, ...]:
    """The turns of an older server's rows.

    Args:
        messages: id and data.
        parts: message id, id and data.
        revert: the session's own, of a conversation that was taken back to some place.
    """
    end, end_part = text(revert.get("messageID")), text(revert.get("partID"))
    by_message: dict[str, list[dict[str, Any]]] = {}
    for message, part, data in parts:
        if not (end_part and message == end and text(part) >= end_part):
            by_message.setdefault(text(message), []).append(record(data))
    found: list[_Turn] = []
    of: dict[str, _Turn | None] = {}
    until: dict[str, int] = {}
    for message, data in messages:
        key, row = text(message), record(data)
        if end and (key > end or (key == end and not end_part)):
            break
        begun = _ns(as_map(row.get("time")).get("created"))
        known = by_message.get(key, [])
        if row.get("role") == "user":
            prompt = _prompt(known)
            last = found[-1] if found else None
            if prompt is None:
                shell = any(text(p.get("text")).startswith(_OF_THE_USER) for p in known)
                of[key] = None if shell else last
            elif last is not None and begun < until.get(last.key, 0):
                # It waited until an answer was complete, so it belongs to the same turn.
                last.prompts += [prompt] if prompt else []
                of[key] = last
            else:
                found.append(_Turn(key, [prompt] if prompt else [], begun))
                of[key] = found[-1]
        elif row.get("role") == "assistant" and row.get("summary") is not True:
            turn = of.get(text(row.get("parentID")))
            if turn is not None:
                turn.answered(_step(known, begun), row)
                until[turn.key] = max(until.get(turn.key, 0), turn.ended_ns)
    return _built(found)


def _prompt(parts: list[dict[str, Any]]) -> str | None:
    """What the user typed; None for a message that OpenCode wrote itself."""
    own = [
        part
        for part in parts
        if not (part.get("synthetic") or part.get("ignored") or part.get("type") == "compaction")
    ]
    if not own:
        return None
    said = (
        text(part.get("text"))
        if part.get("type") == "text"
        else text(part.get("prompt"))
        if part.get("type") == "subtask"
        else ""
        for part in own
    )
    return typed("\n".join(filter(None, said)))


def _step(parts: list[dict[str, Any]], at_ns: int) -> TalkStep:
    said = [
        text(part.get("text"))
        for part in parts
        if part.get("type") == "text" and not part.get("synthetic")
    ]
    calls = [
        _call(
            part.get("callID"),
            part.get("tool"),
            as_map(part.get("state")),
            as_map(as_map(part.get("state")).get("metadata")),
            as_map(as_map(part.get("state")).get("time")).get("start"),
        )
        for part in parts
        if part.get("type") == "tool"
    ]
    return TalkStep("\n\n".join(filter(None, said)), tuple(filter(None, calls)), at_ns)


def _call(
    name: Any, tool: Any, state: dict[str, Any], result: dict[str, Any], begun: Any
) -> TalkCall | None:
    if not text(name):
        return None
    does, paths, command = describe(text(tool), state.get("input"))
    now: Literal["running", "done", "failed", "lost"] = "running"
    if state.get("status") == "error":
        now = "failed"
    elif state.get("status") == "completed":
        bad = does == "shell" and "exit" in result and is_failure(result["exit"])
        now = "failed" if bad else "done"
    return TalkCall(text(name), text(tool), does, paths, command, now, _ns(begun))


def answered_ns(message: dict[str, Any]) -> int:
    """When a message, the newest of its turn, ended the turn; 0 where it did not."""
    last = message.get("role") == "assistant" and message.get("summary") is not True
    goes_on = "tool" in text(message.get("finish")) and not message.get("error")
    return _ns(as_map(message.get("time")).get("completed")) if last and not goes_on else 0


# --- One row for each message -----------------------------------------------------------------


def new_turns(rows: Iterable[tuple[Any, ...]], revert: dict[str, Any]) -> tuple[TalkTurn, ...]:
    """The turns of a newer server's rows.

    Args:
        rows: id, type and data, in their order.
        revert: the session's own, of a conversation that was taken back to some place.
    """
    end = text(revert.get("messageID"))
    found: list[_Turn] = []
    for message, kind, data in rows:
        if end and message == end:
            break
        row = record(data)
        begun = _ns(as_map(row.get("time")).get("created"))
        if kind == "user":
            found.append(_Turn(text(message), [typed(text(row.get("text")))], begun))
        elif kind == "assistant" and found:
            found[-1].answered(_new_step(_list(row.get("content")), begun), row)
    return _built(found)


def _new_step(content: list[Any], at_ns: int) -> TalkStep:
    items = [as_map(item) for item in content]
    said = [text(item.get("text")) for item in items if item.get("type") == "text"]
    calls = [
        _call(
            item.get("id"),
            item.get("name"),
            as_map(item.get("state")),
            as_map(as_map(item.get("state")).get("structured")),
            as_map(item.get("time")).get("created"),
        )
        for item in items
        if item.get("type") == "tool"
    ]
    return TalkStep("\n\n".join(filter(None, said)), tuple(filter(None, calls)), at_ns)
