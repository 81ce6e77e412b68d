"""The light entry for agents' hooks: a payload on standard input becomes events.

Whatever goes wrong here, the agent goes on: the exit code is 0, standard output stays empty (but
for what the agent is told of an undo, where its protocol has a place for it), and the error becomes
a line that `doctor` shows. Standard library only, and little of it.
"""

from __future__ import annotations

import json
import os
import time

from takeback.engine.facts import Event
from takeback.engine.frozen import changed
from takeback.engine.store import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LARGEST = 64 << 20
_LONGEST_LOG = 1 << 20
_WAIT_S = 10.0
_HIGHEST = 8

AGENTS = ("claude", "codex", "gemini", "opencode", "pi")
"""Each has a module ``events`` with `translate`, see `takeback.engine.agents.claude.events`; with
``answer`` where the agent can be told something when a turn begins."""


def main(agent: str, data_dir: str | None = None) -> int:
    """Record the event on standard input; always 0."""
    data = b""
    name = session = ""
    recorded = True
    try:
        data = paths.data_dir(data_dir)
        if os.isatty(0):
            raise ValueError("a hook is called by the agent, with the event on standard input")
        payload = json.loads(_read())
        name, session = _field(payload, "hook_event_name"), _field(payload, "session_id")
        if not name or not session or not _field(payload, "cwd"):
            raise ValueError("the payload names no event, no session or no folder")
        for event in translate(agent, payload, data):
            from takeback.engine.upkeep.recover import feed

            recorded = event.kind == "begin"
            feed(event, data, _WAIT_S)
            if event.kind == "begin":
                tell(agent, name, event.session, data)
    except (Exception, KeyboardInterrupt) as error:
        if data and (recorded or not _is_refusal(error)):
            log_error(data, agent, name, error)
        if data and session:
            _mark(data, session, error)
    return 0


def _is_refusal(error: BaseException) -> bool:
    """Whether nothing may be recorded there: said once a turn, not for each of its calls."""
    from takeback.engine.errors import UsageError

    return isinstance(error, UsageError)


def _mark(data: bytes, session: str, error: BaseException) -> None:
    try:
        from takeback.engine.record.recorder import mark_failure

        mark_failure(data, session, f"an event was not recorded: {_words(error)}")
    except Exception:
        # The line in errors.jsonl says it all the same.
        return


def _words(error: BaseException) -> str:
    text = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    return str(text)[:500]


def _read() -> bytes:
    """All of standard input, also of what is too large: the agent must not meet a closed pipe.

    Raises:
        ValueError: it is too large.
    """
    parts: list[bytes] = []
    size = 0
    while chunk := os.read(0, 1 << 20):
        size += len(chunk)
        if size <= _LARGEST:
            parts.append(chunk)
        else:
            parts.clear()
    if size > _LARGEST:
        raise ValueError(f"the payload is larger than {_LARGEST >> 20} MiB")
    return b"".join(parts)


def _field(payload: Any, key: str) -> str:
    value = payload.get(key) if isinstance(payload, dict) else None
    return value[:200] if isinstance(value, str) else ""


def translate(agent: str, payload: Any, data: bytes) -> list[Event]:
    """The events of a payload, by the agent's own module.

    Raises:
        ValueError: takeback does not know the agent.
    """
    events = _events(agent)
    running: Any = None
    if _field(payload, "hook_event_name") in events.NEEDS_TURN:
        from takeback.engine.record import openturn

        turn = openturn.load(data, payload["session_id"])
        if getattr(events, "WHOLE_TURN", False):
            running = turn
        elif turn is not None:
            running = {
                call: str(known[1]) for call, known in turn.calls.items() if known[3] == "running"
            }
    pid = _pid(events.PID, events.PROGRAM)
    return [changed(event, pid=pid) for event in events.translate(payload, running)]


def _events(agent: str) -> Any:
    """The module ``events`` of an agent.

    Raises:
        ValueError: takeback does not know the agent.
    """
    if agent not in AGENTS:
        raise ValueError(f"takeback knows no agent {agent!r}")
    found = __import__(f"takeback.engine.agents.{agent}.events").engine.agents
    return getattr(found, agent).events


def hearing() -> list[str]:
    """The agents that can be told something."""
    return [agent for agent in AGENTS if hasattr(_events(agent), "answer")]


def tell(agent: str, name: str, session: str, data: bytes) -> None:
    """Tell the agent, in its own form on standard output, what was taken back of its work."""
    answer = getattr(_events(agent), "answer", None)
    if answer is None or not answer(name, "x"):
        # A note that this event cannot carry waits for one that can.
        return
    try:
        from takeback.engine.record import openturn

        turn = openturn.load(data, session)
        root = os.fsencode(turn.root) if turn is not None else b""
        notes = os.path.join(paths.store_dir(data, root), b"tell") if root else b""
        if not notes or not os.path.isdir(notes):
            return
        from takeback.engine.agents.tell import folder_of, hand_over
        from takeback.engine.config import load

        hand_over(
            folder_of(os.path.dirname(notes), session),
            lambda note: _print(answer(name, note)),
            lambda: load(root, data, forgiving=True).tell_agent,
        )
    except Exception as error:
        # The turn is recorded; the note is kept for the next prompt.
        log_error(data, agent, name, error)


def _print(text: bytes) -> bool:
    view = memoryview(text)
    while view:
        view = view[os.write(1, view) :]
    return bool(text)


def _pid(variable: str, program: bytes) -> int:
    """The agent's process: as it says itself, else the one of its name that started us, else 0."""
    text = os.environ.get(variable, "") if variable else ""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    return _named_ancestor(program)


def _named_ancestor(name: bytes, pid: int = 0) -> int:
    """The nearest process above us that is called so; a wrapper's end must not end the turn."""
    pid = pid or os.getppid()
    for _ in range(_HIGHEST):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read(4096).split(b"\0")
        except (OSError, ValueError, IndexError):
            return 0
        # Its own program, or the script that a `node` runs, behind options of its own.
        named = [word for word in words if not word.startswith(b"-")][:2]
        if any(os.path.basename(word).removesuffix(b".js") == name for word in named):
            return pid
        pid = parent
    return 0


def log_error(data: bytes, agent: str, event: str, error: BaseException) -> None:
    """Keep an error for `doctor`: what failed, nothing of the payload."""
    from takeback.engine.store.store import make_private, timestamp

    line = {"at": timestamp(), "t": time.time_ns(), "agent": agent[:40], "event": event}
    path = os.path.join(data, b"errors.jsonl")
    try:
        make_private(data)
        if os.path.exists(path) and os.stat(path).st_size > _LONGEST_LOG:
            os.rename(path, path + b".old")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            os.write(fd, json.dumps({**line, "message": _words(error)}).encode() + b"\n")
        finally:
            os.close(fd)
    except OSError:
        # Nowhere to write: the agent must not be disturbed, so this is the end of it.
        return
