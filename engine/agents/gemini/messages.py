"""The messages of a chat, in the order in which they came about, and the turns that they make."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from takeback.engine.agents.gemini import chat, tools
from takeback.engine.agents.talk import TalkCall, TalkStep, TalkTurn

_CANCELLED = "Request cancelled."
_RESTORED = "Restored project to the state before the tool call."
_IMPORTED = "Imported session from "


def time_of(value: Any) -> int:
    """Nanoseconds since the epoch, 0 for what is no time."""
    if not isinstance(value, str):
        return 0
    try:
        found = datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError):
        return 0
    return max(0, int(found * 1000)) * 1_000_000


class History:
    """All messages that a chat has ever had.

    Attributes:
        summary: what Gemini CLI itself calls the conversation.
        imported: the file that it was begun from, "" for none.
    """

    def __init__(self) -> None:
        self.summary = ""
        self.imported = ""
        self._messages: dict[str, dict[str, Any]] = {}
        self._gone: set[str] = set()
        self._before: set[str] = set()

    def take(self, record: Any) -> None:
        """Take in one record of a chat; what is of no known kind is left out."""
        if not isinstance(record, dict):
            return
        rewind, name, change = record.get("$rewindTo"), record.get("id"), record.get("$set")
        if isinstance(rewind, str):
            ids = list(self._messages)
            self._gone.update(ids[ids.index(rewind) :] if rewind in self._messages else ids)
        elif isinstance(name, str):
            self._message(name, record)
        else:
            fields = change if isinstance(change, dict) else record
            if isinstance(fields.get("summary"), str):
                self.summary = fields["summary"]
            messages = fields.get("messages")
            if isinstance(messages, list):
                self._replace([one for one in messages if isinstance(one, dict)])

    def _message(self, name: str, record: dict[str, Any]) -> None:
        said = chat.text_of(record.get("content")) if record.get("type") == "info" else ""
        if said == _RESTORED:
            # Only now it is known why the messages before were replaced.
            self._gone |= self._before
        elif said.startswith(_IMPORTED) and name.startswith("import-"):
            self.imported = said.removeprefix(_IMPORTED)
        self._messages[name] = record
        self._gone.discard(name)

    def _replace(self, messages: list[dict[str, Any]]) -> None:
        """The list of messages is given anew: after a resume, a compression, or a return."""
        ids = [one["id"] for one in messages if isinstance(one.get("id"), str)]
        if not any(is_typed(one) for one in self._messages.values()):
            # All that there is: the chat in which they came about is gone.
            for one in messages:
                if isinstance(one.get("id"), str):
                    self._messages.setdefault(one["id"], one)
            return
        kept = set(ids)
        dropped = [name for name in self._messages if name not in kept]
        if not dropped:
            return
        # Messages that were just written for the list say again what was said before.
        known = list(self._messages)
        again = known[known.index(dropped[-1]) + 1 :]
        earlier = {text_of(self._messages[name]) for name in known[: -len(again) or None]}
        said: set[str] = set()
        if all(_is_again(self._messages[name], earlier) for name in again):
            said = {call for name in again for call in _call_ids(self._messages.pop(name))}
        self._before = {name for name in dropped if not said & set(_call_ids(self._messages[name]))}

    # --- Turns ---------------------------------------------------------------------------------

    @property
    def names(self) -> Collection[str]:
        """The names of all messages."""
        return self._messages.keys()

    def turns(self, without: Collection[str] = ()) -> tuple[TalkTurn, ...]:
        """What was asked and what was done, oldest first.

        Args:
            without: messages whose turns are told elsewhere.
        """
        made: list[_Turn] = []
        for name, record in self._messages.items():
            kind = record.get("type")
            if kind == "user" and is_typed(record):
                made.append(_Turn(name, text_of(record), record))
            elif kind == "info" and text_of(record) == _RESTORED:
                made.append(_Turn(name, "/restore", record))
            elif made:
                made[-1].take(record)
                made[-1].stays = made[-1].stays or (kind == "gemini" and name not in self._gone)
        own = [turn for turn in made if turn.name not in without]
        return tuple(turn.made(turn.name in self._gone and not turn.stays) for turn in own)


class _Turn:
    """A turn while it is read."""

    def __init__(self, name: str, prompt: str, record: dict[str, Any]) -> None:
        self.name = name
        self.stays = False
        self._prompt = prompt
        self._begun = self._ended = time_of(record.get("timestamp"))
        self._steps: list[tuple[list[str], list[TalkCall], int]] = [([], [], 0)]
        self._names: list[str] = []
        self._interrupted = False

    def take(self, record: dict[str, Any]) -> None:
        """Take in the next message."""
        at = time_of(record.get("timestamp"))
        self._ended = max(self._ended, at)
        kind, text = record.get("type"), text_of(record)
        if kind == "user":
            self._steps.append(([], [], 0))
        elif kind == "info" and text == _CANCELLED:
            self._interrupted = True
        elif kind == "gemini":
            texts, calls, begun = self._steps[-1]
            if text:
                texts.append(text)
            calls += self._calls(record)
            self._steps[-1] = (texts, calls, begun or at)

    def _calls(self, record: dict[str, Any]) -> list[TalkCall]:
        given = record.get("toolCalls")
        if isinstance(given, list) and given:
            return [self._call(one) for one in given if isinstance(one, dict)]
        # As the history of a chat that is gone on with in another file has them.
        parts = record.get("content")
        calls = [one.get("functionCall") for one in _maps(parts)]
        return [self._call({**one, "status": "success"}) for one in calls if isinstance(one, dict)]

    def _call(self, given: dict[str, Any]) -> TalkCall:
        tool, status = given.get("name"), given.get("status")
        tool = tool if isinstance(tool, str) else ""
        args, at = given.get("args"), time_of(given.get("timestamp"))
        self._ended = max(self._ended, at)
        first = tools.prefix(self.name, tool, args)
        number = sum(name.startswith(first) for name in self._names) + 1
        self._names.append(f"{first}{number}")
        failed = status in ("error", "cancelled") or (
            tool in tools.SHELLS and tools.has_failed(chat.response_of(given))
        )
        kind = tools.call_kind(tool)
        command = args.get("command") if isinstance(args, dict) and tool in tools.SHELLS else ""
        return TalkCall(
            self._names[-1],
            tool,
            kind,
            tools.path_of(args) if kind in ("edit", "other") else (),
            command if isinstance(command, str) else "",
            "failed" if failed else "done" if status == "success" else "running",
            at,
        )

    def made(self, rewound: bool) -> TalkTurn:
        """The turn, without what is empty of its steps."""
        steps = tuple(
            TalkStep("\n".join(texts), tuple(calls), at)
            for texts, calls, at in self._steps
            if texts or calls
        )
        times = self._begun, self._ended
        return TalkTurn("", self._prompt, steps, *times, self._interrupted, rewound)


def text_of(record: dict[str, Any]) -> str:
    return chat.text_of(record.get("content"))


def _maps(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def is_typed(record: dict[str, Any]) -> bool:
    parts = _maps(record.get("content"))
    answers = any("functionResponse" in part for part in parts)
    return record.get("type") == "user" and not answers and chat.is_typed(text_of(record))


def _is_again(record: dict[str, Any], earlier: set[str]) -> bool:
    """Whether a message only says again what was said: answers come as text, not as parts."""
    if record.get("type") == "gemini":
        return not isinstance(record.get("content"), str)
    return not is_typed(record) or text_of(record) in earlier


def _call_ids(record: dict[str, Any]) -> list[str]:
    """The calls that a message makes, by the names that the chat has for them."""
    inner = [part.get("functionCall") for part in _maps(record.get("content"))]
    calls = [one for one in inner if isinstance(one, dict)] + _maps(record.get("toolCalls"))
    return [one["id"] for one in calls if isinstance(one.get("id"), str)]
