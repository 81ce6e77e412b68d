"""A transcript's lines as turns. Lines of unknown kinds and shapes are passed over.

The lines form a tree. Several of them make one model answer, and the answers of tools that ran at
the same time hang side by side: only where a prompt hangs did the conversation really part.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from takeback.engine.agents.claude.events import SHELLS, call_kind
from takeback.engine.agents.payload import as_map, as_path, as_text
from takeback.engine.agents.talk import TalkCall, TalkStep, TalkTurn

_ATTACHED = b'"type":"attachment"'
_UUID = re.compile(rb'"uuid":"([\w-]{1,80})"')
_PARENT = re.compile(rb'"parentUuid":"([\w-]{1,80})"')
_COMMAND = "<command-"
_SYNTHETIC = (
    "<local-command",
    "<bash-",
    "<task-notification>",
    "<system-reminder>",
    "[Request interrupted",
)
_INTERRUPT = "[Request interrupted"
_NO_MODEL = "<synthetic>"
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_BEST = ("custom-title", "ai-title", "summary")


@dataclass(slots=True)
class _Step:
    at_ns: int
    texts: list[str] = field(default_factory=list)
    calls: dict[str, TalkCall] = field(default_factory=dict)


@dataclass(slots=True)
class _Turn:
    key: str
    at_ns: int
    prompts: list[str] = field(default_factory=list)
    steps: dict[str, _Step] = field(default_factory=dict)
    ended_ns: int = 0
    interrupted: bool = False
    hidden: bool = False
    """It began with a command of the user: shown only if the model answered."""

    def goes_on(self, key: str) -> bool:
        """Whether a prompt with this key was given while the agent still worked on this turn.

        A fork gives all that it copies the key of its own first turn.
        """
        last = next(reversed(self.steps.values()), None)
        return self.key == key and not self.hidden and (last is None or bool(last.calls))


class Lines:
    """Built up from the lines of one transcript in their order; more may be added at any time.

    Attributes:
        folder: where the agent was started; "" as long as no line says.
        parent: the session that this one was forked from, where a line says so.
        first: the id of the first line, which a fork has from its parent.
    """

    def __init__(self, sidechain: bool = False) -> None:
        self.folder = ""
        self.parent = ""
        self.first = ""
        self._sidechain = sidechain
        self._turns: list[_Turn] = []
        self._of: dict[str, int] = {}
        self._above: dict[str, str] = {}
        self._calls: dict[str, tuple[_Step, str]] = {}
        self._titles: dict[str, str] = {}
        self._last = ""

    def add(self, line: bytes) -> None:
        """Take one line; a torn one says nothing."""
        if b'"uuid"' not in line:
            if b'-title"' in line[:200] or b'"summary"' in line[:200]:
                self._name(_load(line))
            return
        if _ATTACHED in line and b'"message":' not in line and b'"queued_command"' not in line:
            self._pass_over(line)
            return
        record = _load(line)
        uuid = as_text(record.get("uuid"))
        if not uuid:
            return
        self.first = self.first or uuid
        self.folder = self.folder or as_text(record.get("cwd"))
        self.parent = self.parent or as_text(as_map(record.get("forkedFrom")).get("sessionId"))
        if _is_set(record, "isSidechain") == self._sidechain:
            # Older versions wrote a subagent's lines among the others.
            self._take(uuid, record)

    def _name(self, record: dict[str, Any]) -> None:
        kind = as_text(record.get("type"))
        title = as_text(record.get(_TITLES.get(kind, "")))
        if title.strip():
            self._titles[kind] = title

    def _pass_over(self, line: bytes) -> None:
        """Lines with what was told to the model besides: only their place in the tree is read."""
        uuid, above = _UUID.search(line), _PARENT.search(line)
        if uuid is not None:
            known = above[1].decode() if above else ""
            self._hang(uuid[1].decode(), known if known in self._of else self._last, None)

    def _above_of(self, record: dict[str, Any]) -> str:
        """What a line hangs on; "" for a prompt at the very begin.

        A line that is not there (cut off, or left out at a compaction) is as good as the one before
        in the file.
        """
        above = as_text(record.get("parentUuid"))
        if above:
            return above if above in self._of else self._last
        logical = as_text(record.get("logicalParentUuid"))
        if logical in self._of:
            return logical
        plain = record.get("type") == "user" and not _is_set(record, "isCompactSummary")
        return "" if plain else self._last

    def _hang(self, uuid: str, above: str, turn: int | None) -> None:
        self._of[uuid] = self._of.get(above, -1) if turn is None else turn
        self._above[uuid] = above
        self._last = uuid

    def _take(self, uuid: str, record: dict[str, Any]) -> None:
        kind = as_text(record.get("type"))
        at_ns = _ns(record.get("timestamp"))
        message = as_map(record.get("message"))
        above = self._above_of(record)
        at: int | None = None
        if kind == "user":
            at = self._user(above, record, message, at_ns)
        elif kind == "attachment":
            self._queued(above, as_map(record.get("attachment")))
        self._hang(uuid, above, at)
        turn = self._turn(uuid)
        if turn is None:
            return
        if kind == "assistant" and message.get("model") != _NO_MODEL:
            self._answer(turn, message, at_ns)
        if kind == "user":
            self._results(message)
        if kind in ("user", "assistant", "system"):
            turn.ended_ns = max(turn.ended_ns, at_ns)

    def _turn(self, uuid: str) -> _Turn | None:
        at = self._of.get(uuid, -1)
        return self._turns[at] if at >= 0 else None

    # --- Prompts -----------------------------------------------------------------------------

    def _user(
        self, above: str, record: dict[str, Any], message: dict[str, Any], at_ns: int
    ) -> int | None:
        """The number of the turn that a user's line begins or goes on with, None for the one that
        it hangs on."""
        texts, results = _said(message.get("content"))
        if results or _is_set(record, "isMeta") or _is_set(record, "isCompactSummary"):
            return None
        text = "\n".join(texts)
        if text.startswith(_INTERRUPT):
            turn = self._turn(above)
            if turn is not None:
                turn.interrupted = True
            return None
        key = as_text(record.get("promptId"))
        hidden = text.lstrip().startswith(("<bash-input>", _COMMAND))
        if not hidden and (not text.strip() or text.lstrip().startswith(_SYNTHETIC)):
            return None
        shown = _command(text) if hidden else text
        if key and shown and self._turns and self._turns[-1].goes_on(key):
            self._turns[-1].prompts.append(shown)
            return len(self._turns) - 1
        self._turns.append(_Turn(key, at_ns, [shown] if shown else [], hidden=hidden))
        return len(self._turns) - 1

    def _queued(self, above: str, attachment: dict[str, Any]) -> None:
        """A prompt that was given while the agent worked: it belongs to the same turn."""
        text = as_text(attachment.get("prompt"))
        at = self._of.get(above, -1)
        if text.strip() and at >= 0 and not text.lstrip().startswith(_SYNTHETIC):
            self._turns[at].prompts.append(text)

    # --- Answers -----------------------------------------------------------------------------

    def _answer(self, turn: _Turn, message: dict[str, Any], at_ns: int) -> None:
        name = as_text(message.get("id")) or f"#{len(turn.steps)}"
        step = turn.steps.setdefault(name, _Step(at_ns))
        turn.interrupted = False
        content = message.get("content")
        for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            part = as_map(part)
            if part.get("type") == "text" and as_text(part.get("text")).strip():
                step.texts.append(as_text(part.get("text")))
            elif part.get("type") == "tool_use":
                call = _called(part, at_ns)
                if call is not None and call.id not in self._calls:
                    step.calls[call.id] = call
                    self._calls[call.id] = (step, call.id)

    def _results(self, message: dict[str, Any]) -> None:
        _, results = _said(message.get("content"))
        for result in results:
            step, name = self._calls.get(as_text(result.get("tool_use_id")), (None, ""))
            if step is not None:
                state = "failed" if _is_set(result, "is_error") else "done"
                step.calls[name] = replace(step.calls[name], state=state)  # type: ignore[arg-type]

    # --- What came of it ---------------------------------------------------------------------

    @property
    def is_copy(self) -> bool:
        """Whether it begins with turns of another session."""
        keys = [turn.key for turn in self._turns if turn.key and turn.prompts]
        return len(keys) > len(set(keys))

    @property
    def title(self) -> str:
        """The best title: the user's, the agent's, or an old version's summary; else ""."""
        return next((self._titles[kind] for kind in _BEST if self._titles.get(kind)), "")

    def turns(self) -> tuple[TalkTurn, ...]:
        """The turns so far, in the order in which they were begun."""
        line = self._line()
        last = len(self._turns) - 1
        keys = {turn.key: at for at, turn in enumerate(self._turns)}
        return tuple(
            _built(turn, turn.key if keys[turn.key] == at else "", at not in line, at == last)
            for at, turn in enumerate(self._turns)
            if turn.prompts and (turn.steps or not turn.hidden)
        )

    def _line(self) -> set[int]:
        """The turns that the conversation, as it stands, goes through."""
        found: set[int] = set()
        seen: set[str] = set()
        at = self._last
        while at and at not in seen:
            seen.add(at)
            found.add(self._of.get(at, -1))
            at = self._above.get(at, "")
        return found


def _built(turn: _Turn, key: str, rewound: bool, last: bool) -> TalkTurn:
    steps = []
    for step in turn.steps.values():
        calls = tuple(
            replace(call, state="lost")
            if call.state == "running" and (turn.interrupted or not last)
            else call
            for call in step.calls.values()
        )
        if calls or step.texts:
            steps.append(TalkStep("\n\n".join(step.texts), calls, step.at_ns))
    return TalkTurn(
        key,
        "\n".join(turn.prompts),
        tuple(steps),
        turn.at_ns,
        turn.ended_ns,
        turn.interrupted,
        rewound,
    )


def _called(part: dict[str, Any], at_ns: int) -> TalkCall | None:
    call, tool = as_text(part.get("id")), as_text(part.get("name"))
    if not call or not tool:
        return None
    given = as_map(part.get("input"))
    kind = call_kind(tool)
    names = (as_text(given.get(key)) for key in ("file_path", "notebook_path"))
    paths = tuple(as_path(name) for name in names if name) if kind in ("edit", "other") else ()
    command = as_text(given.get("command")) if tool in SHELLS else ""
    return TalkCall(call, tool, kind, paths, command, "running", at_ns)


def _command(text: str) -> str:
    """What the user typed for a command of the agent; "" for one of the shell."""
    name = _tag(text, "command-name")
    return f"{name} {_tag(text, 'command-args')}".strip() if name else ""


def _tag(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _said(content: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """The texts and the tools' results of a user's line."""
    if isinstance(content, str):
        return [content], []
    parts = [as_map(part) for part in content] if isinstance(content, list) else []
    texts = [as_text(part.get("text")) for part in parts if part.get("type") == "text"]
    return texts, [part for part in parts if part.get("type") == "tool_result"]


def _load(line: bytes) -> dict[str, Any]:
    try:
        return as_map(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _is_set(record: dict[str, Any], key: str) -> bool:
    return record.get(key) is True


def _ns(stamp: Any) -> int:
    """A time as a transcript writes it, 0 where it is none."""
    try:
        moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        return int(moment.timestamp() * 1_000_000) * 1000
    except (AttributeError, ValueError, OverflowError, TypeError, OSError):
        return 0
