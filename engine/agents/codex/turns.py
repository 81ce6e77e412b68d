"""The turns of a rollout, line by line. Lines of unknown kinds and shapes are passed over.

Newer versions of Codex write each finished thing as an item; older ones wrote an event for each
kind of thing. Either way a call's begin and its answer stand there as the model saw them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from takeback.engine.agents.codex import rollout
from takeback.engine.agents.codex.events import call_kind, patch_paths
from takeback.engine.agents.payload import as_map, as_path, as_text
from takeback.engine.agents.talk import TalkCall, TalkStep, TalkTurn

_SHELLS = frozenset({"exec_command", "local_shell", "shell", "shell_command", "container.exec"})
_SCRIPT = "exec"
"""In code mode, what the model calls: a script, whose own calls have items."""


@dataclass(slots=True)
class _Turn:
    key: str
    begun_ns: int
    prompts: list[str] = field(default_factory=list)
    steps: list[tuple[str, dict[str, TalkCall], int]] = field(default_factory=list)
    ended_ns: int = 0
    interrupted: bool = False
    between: bool = True


class Turns:
    """Built up from the lines in their order."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []

    def add(self, line: bytes) -> None:
        """Take one line of a rollout."""
        what = rollout.kind_of(line)
        if not what and b'"token_usage_record"' in line[:200]:
            what = "usage"
        take = _TAKES.get(what)
        if take is None:
            return
        record = _load(line)
        payload = as_map(record.get("payload"))
        if payload:
            take(self, payload, _ns(record.get("timestamp")))

    def result(self) -> tuple[TalkTurn, ...]:
        """The turns so far; calls of a turn that is over do not run."""
        return tuple(_built(turn) for turn in self._turns if turn.prompts or turn.steps)

    # --- Turns -------------------------------------------------------------------------------

    def _started(self, payload: dict[str, Any], at_ns: int) -> None:
        key = as_text(payload.get("turn_id"))
        if not self._turns or not key or self._turns[-1].key != key:
            self._turns.append(_Turn(key, at_ns))

    def _completed(self, payload: dict[str, Any], at_ns: int) -> None:
        self._over(payload, at_ns, payload.get("error") is not None)

    def _aborted(self, payload: dict[str, Any], at_ns: int) -> None:
        self._over(payload, at_ns, True)

    def _over(self, payload: dict[str, Any], at_ns: int, interrupted: bool) -> None:
        key = as_text(payload.get("turn_id"))
        for turn in reversed(self._turns):
            if turn.key == key or not key:
                turn.ended_ns, turn.interrupted = at_ns, interrupted
                return

    def _rolled_back(self, payload: dict[str, Any], at_ns: int) -> None:
        """The user went back: the newest turns are no part of the conversation any more."""
        number = payload.get("num_turns")
        if isinstance(number, int) and number > 0:
            del self._turns[-min(number, len(self._turns)) :]

    def _prompt(self, text: str, at_ns: int) -> None:
        turn = self._turns[-1] if self._turns else None
        if turn is None or (turn.ended_ns and turn.prompts):
            # Older versions did not write that a turn began.
            turn = _Turn("", at_ns)
            self._turns.append(turn)
        elif not turn.key and turn.steps:
            turn = _Turn("", at_ns)
            self._turns.append(turn)
        if text and text not in turn.prompts[-1:]:
            turn.prompts.append(text)

    # --- What happened in them ---------------------------------------------------------------

    def _current(self, at_ns: int) -> _Turn:
        if not self._turns:
            self._turns.append(_Turn("", at_ns))
        return self._turns[-1]

    def _step(self, at_ns: int) -> tuple[_Turn, dict[str, TalkCall]]:
        """The step that an answer's part belongs to: a new one after the answer before."""
        turn = self._current(at_ns)
        if turn.between or not turn.steps:
            turn.steps.append(("", {}, at_ns))
            turn.between = False
        return turn, turn.steps[-1][1]

    def _usage(self, payload: dict[str, Any], at_ns: int) -> None:
        """A model answer is complete."""
        if self._turns:
            self._turns[-1].between = True

    def _said(self, text: str, at_ns: int) -> None:
        if not text:
            return
        turn, calls = self._step(at_ns)
        before, _, begun = turn.steps[-1]
        if text not in before.split("\n\n"):
            turn.steps[-1] = (f"{before}\n\n{text}" if before else text, calls, begun)

    def _call(self, payload: dict[str, Any], at_ns: int) -> None:
        call, name = as_text(payload.get("call_id")), as_text(payload.get("name"))
        kind = as_text(payload.get("type"))
        if kind == "local_shell_call":
            name = "local_shell"
        if not call or not name:
            return
        _, calls = self._step(at_ns)
        if name == _SCRIPT and kind == "custom_tool_call":
            return
        if call not in calls:
            calls[call] = _called(call, name, payload, at_ns)

    def _output(self, payload: dict[str, Any], at_ns: int) -> None:
        if self._turns:
            self._turns[-1].between = True
        found = self._find(as_text(payload.get("call_id")))
        if found is None:
            return
        calls, call = found
        if call.state != "running":
            return
        text = json.dumps(payload.get("output"))
        if call.kind == "shell" and rollout._GOES_ON.decode() in text:
            return
        # What did something has an item, which came before.
        refused = call.kind == "edit" or '"success": false' in text
        calls[call.id] = replace(call, state="failed" if refused else "done")

    def _item(self, payload: dict[str, Any], at_ns: int) -> None:
        item = as_map(payload.get("item"))
        kind = item.get("type")
        if kind == "UserMessage":
            self._prompt(_joined(item.get("content")), at_ns)
        elif kind == "AgentMessage":
            self._said(_joined(item.get("content")), at_ns)
        elif kind == "CommandExecution" and not as_text(item.get("source")).startswith("user"):
            begun_ms = payload.get("started_at_ms")
            self._done(item, "Bash", _command(item.get("command")), (), at_ns, begun_ms)
        elif kind == "FileChange":
            self._done(item, "apply_patch", "", _changed(item.get("changes")), at_ns)

    def _done(
        self,
        item: dict[str, Any],
        tool: str,
        command: str,
        paths: tuple[bytes, ...],
        at_ns: int,
        begun_ms: Any = None,
    ) -> None:
        call = as_text(item.get("id"))
        if not call:
            return
        state = "failed" if rollout.failed(item) else "done"
        found = self._find(call)
        if found is None:
            # A call from within a script: it belongs to the answer that was the newest when it
            # began, for it may go on during the next.
            turn = self._current(at_ns)
            begun_ns = begun_ms * 1_000_000 if isinstance(begun_ms, int) else at_ns
            steps = [calls for _, calls, since in turn.steps if since <= begun_ns]
            calls = steps[-1] if steps else self._step(at_ns)[1]
            known = TalkCall(call, tool, call_kind(tool), paths, command, "running", at_ns)
        else:
            calls, known = found
        paths = paths or known.paths
        calls[call] = replace(known, paths=paths, state="failed" if state == "failed" else "done")

    def _find(self, call: str) -> tuple[dict[str, TalkCall], TalkCall] | None:
        for turn in reversed(self._turns[-2:]):
            for _, calls, _ in reversed(turn.steps):
                if call in calls:
                    return calls, calls[call]
        return None

    # --- As older versions wrote it ----------------------------------------------------------

    def _user_message(self, payload: dict[str, Any], at_ns: int) -> None:
        self._prompt(as_text(payload.get("message")), at_ns)

    def _agent_message(self, payload: dict[str, Any], at_ns: int) -> None:
        self._said(as_text(payload.get("message")), at_ns)

    def _exec_end(self, payload: dict[str, Any], at_ns: int) -> None:
        status = "completed" if payload.get("exit_code") in (0, None) else "failed"
        item = {"id": payload.get("call_id"), "status": status}
        self._done(item, "Bash", _command(payload.get("command")), (), at_ns)

    def _patch_end(self, payload: dict[str, Any], at_ns: int) -> None:
        status = "failed" if payload.get("success") is False else "completed"
        item = {"id": payload.get("call_id"), "status": status}
        self._done(item, "apply_patch", "", _changed(payload.get("changes")), at_ns)


_TAKES: dict[str, Callable[[Turns, dict[str, Any], int], None]] = {
    "task_started": Turns._started,
    "turn_started": Turns._started,
    "task_complete": Turns._completed,
    "turn_complete": Turns._completed,
    "turn_aborted": Turns._aborted,
    "thread_rolled_back": Turns._rolled_back,
    "item_completed": Turns._item,
    "call": Turns._call,
    "output": Turns._output,
    "token_count": Turns._usage,
    "usage": Turns._usage,
    "user_message": Turns._user_message,
    "agent_message": Turns._agent_message,
    "exec_command_end": Turns._exec_end,
    "patch_apply_end": Turns._patch_end,
}


def _built(turn: _Turn) -> TalkTurn:
    over = bool(turn.ended_ns)
    steps = []
    for text, calls, at_ns in turn.steps:
        found = (
            replace(c, state="lost") if over and c.state == "running" else c for c in calls.values()
        )
        steps.append(TalkStep(text, tuple(found), at_ns))
    kept = tuple(step for step in steps if step.text or step.calls)
    prompt = "\n".join(turn.prompts)
    return TalkTurn(turn.key, prompt, kept, turn.begun_ns, turn.ended_ns, turn.interrupted)


def _called(call: str, name: str, payload: dict[str, Any], at_ns: int) -> TalkCall:
    """A call as the model made it, under the name that hooks give it."""
    given: dict[str, Any] = {}
    if payload.get("type") == "function_call":
        given = _load(as_text(payload.get("arguments")))
    elif payload.get("type") == "local_shell_call":
        given = as_map(payload.get("action"))
    if name in _SHELLS:
        command = _command(given.get("cmd") or given.get("command"))
        return TalkCall(call, "Bash", "shell", (), command, "running", at_ns)
    if name == "apply_patch":
        patch = (
            as_text(payload.get("input"))
            or as_text(given.get("input"))
            or as_text(given.get("patch"))
        )
        paths = patch_paths(patch)
        return TalkCall(call, name, "edit" if paths else None, paths, "", "running", at_ns)
    tool = as_text(payload.get("namespace")) + name
    return TalkCall(call, tool, call_kind(tool), (), "", "running", at_ns)


def _command(value: Any) -> str:
    """A command as it was written: the shell that runs it is left out."""
    if isinstance(value, str):
        return value
    words = [word for word in value if isinstance(word, str)] if isinstance(value, list) else []
    if len(words) == 3 and words[1] in ("-lc", "-c"):
        return words[2]
    return " ".join(words)


def _changed(changes: Any) -> tuple[bytes, ...]:
    """The files of a patch that was applied, with the new names of those that were moved."""
    found: dict[bytes, None] = {}
    for path, change in as_map(changes).items():
        for name in (path, as_text(as_map(change).get("move_path"))):
            if name:
                found[as_path(name)] = None
    return tuple(found)


def _joined(content: Any) -> str:
    parts: Iterable[Any] = content if isinstance(content, list) else ()
    return "\n".join(text for part in parts for text in [as_text(as_map(part).get("text"))] if text)


def _load(text: bytes | str) -> dict[str, Any]:
    try:
        return as_map(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _ns(stamp: Any) -> int:
    """A time as the rollout writes it, 0 where it is none."""
    try:
        moment = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
        return int(moment.timestamp() * 1_000_000) * 1000
    except (AttributeError, ValueError, OverflowError, TypeError):
        return 0
