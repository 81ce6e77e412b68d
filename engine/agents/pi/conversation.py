"""pi's past and running conversations, from its session files. Reads only.

A session is a tree: each entry names the one before it, and the newest entry is where the
conversation stands. What lies off the way to it has happened all the same.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from takeback.engine.agents.files import read_file
from takeback.engine.agents.payload import as_path, as_text
from takeback.engine.agents.pi import tools
from takeback.engine.agents.pi.setup import agent_folder, settings_file
from takeback.engine.agents.talk import Source, Talk, TalkCall, TalkStep, TalkTurn
from takeback.engine.errors import UsageError

_LARGEST = 64 << 20
"""Of a longer session the end is read."""
_HEAD = 64 << 10

_heads: dict[str, tuple[int, str, bytes]] = {}
"""By file: its number, and the session and folder that its first line names."""


def find(root: bytes, home: bytes) -> list[Source]:
    """The conversations that were held in a project, oldest first."""
    within = os.path.realpath(root)
    found: list[Source] = []
    for folder in _folders(home, within):
        for name in _entries(folder):
            path = os.path.join(folder, name)
            try:
                info = os.stat(path)
            except (OSError, ValueError):
                continue
            if not name.endswith(".jsonl") or not stat.S_ISREG(info.st_mode):
                continue
            session, place = _first(path, info)
            if session and _is_within(place, within):
                found.append(Source("pi", session, path, (info.st_mtime_ns, info.st_size)))
    return sorted(found, key=lambda source: (source.stamp[0], source.place))


def read(source: Source) -> Talk | None:
    """A whole conversation; None where its file is gone or no session."""
    lines = records(source.place)
    header = next(lines, None)
    if header is None or header.get("type") != "session":
        return None
    origin = as_text(header.get("parentSession"))
    session = Session(_time(header) if origin and os.path.exists(origin) else 0)
    for record in lines:
        session.take(record)
    turns = session.turns()
    title = session.name or next((turn.prompt for turn in turns), "")
    place = as_path(as_text(header.get("cwd")))
    return Talk(source.session, "pi", title, place, turns, _session_of(origin))


class Session:
    """A session file's entries.

    Attributes:
        name: what the user or pi calls the conversation.
    """

    def __init__(self, forked_ns: int = 0) -> None:
        """Begin to read.

        Args:
            forked_ns: entries from before are copies, whose own file is there; 0 for none.
        """
        self.name = ""
        self._forked = forked_ns
        self._parents: dict[str, str] = {}
        self._turn_of: dict[str, _Turn] = {}
        self._turns: list[_Turn] = []
        self._mid_run: set[str] = set()
        self._leaf = ""

    def take(self, record: dict[str, Any]) -> None:
        """Take in one entry; what is of no known kind is only a link of the tree."""
        name, parent = as_text(record.get("id")), as_text(record.get("parentId"))
        if not name or name in self._parents:
            return
        self._parents[name] = parent
        self._leaf = name
        turn = self._turn_of.get(parent)
        if record.get("type") == "session_info":
            self.name = as_text(record.get("name")) or self.name
        message = record.get("message") if record.get("type") == "message" else None
        message = message if isinstance(message, dict) else {}
        if message.get("role") == "user":
            prompt = tools.text_of(message.get("content"))
            if turn is not None and parent in self._mid_run:
                # Typed while the agent was at work.
                turn.prompt += f"\n{prompt}"
            else:
                turn = _Turn(name, parent or "first", prompt, _time(record))
                self._turns.append(turn)
        elif turn is not None and message:
            turn.take(message, _time(record))
            if message.get("role") == "toolResult":
                self._mid_run.add(name)
        if turn is not None:
            self._turn_of[name] = turn

    def turns(self) -> tuple[TalkTurn, ...]:
        """What was asked and what was done, oldest first."""
        way: set[str] = set()
        at = self._leaf
        while at and at not in way:
            way.add(at)
            at = self._parents.get(at, "")
        own = [turn for turn in self._turns if turn.begun >= self._forked]
        return tuple(turn.made(rewound=turn.name not in way) for turn in own)


class _Turn:
    """A turn while it is read."""

    def __init__(self, name: str, key: str, prompt: str, at: int) -> None:
        self.name = name
        self.prompt = prompt
        self.begun = at
        self._key = key
        self._ended = at
        self._steps: list[tuple[str, list[tuple[str, dict[str, Any]]], int]] = []
        self._ends: dict[str, bool] = {}
        self._stop = ""

    def take(self, message: dict[str, Any], at: int) -> None:
        """Take in the next message."""
        role = message.get("role")
        if role == "assistant":
            content = message.get("content")
            parts = content if isinstance(content, list) else []
            calls = [
                one for one in parts if isinstance(one, dict) and one.get("type") == "toolCall"
            ]
            named = [(as_text(one.get("id")), one) for one in calls]
            self._stop = as_text(message.get("stopReason"))
            text = tools.text_of(message.get("content"))
            if text or named or self._stop not in tools.BROKEN:
                self._steps.append((text, named, at))
        elif role == "toolResult":
            self._ends[as_text(message.get("toolCallId"))] = message.get("isError") is True
        else:
            # What the user ran or an extension wrote.
            return
        self._ended = max(self._ended, at)

    def _call(self, name: str, given: dict[str, Any], at: int) -> TalkCall:
        tool, args = as_text(given.get("name")), given.get("arguments")
        kind = tools.call_kind(tool)
        command = args.get("command") if isinstance(args, dict) and tool in tools.SHELLS else ""
        failed = self._ends.get(name)
        return TalkCall(
            name,
            tool,
            kind,
            tools.paths_of(args) if kind in ("edit", "other") else (),
            as_text(command),
            "lost" if failed is None else "failed" if failed else "done",
            at,
        )

    def made(self, rewound: bool) -> TalkTurn:
        """The turn."""
        steps = tuple(
            TalkStep(text, tuple(self._call(name, one, at) for name, one in calls), at)
            for text, calls, at in self._steps
        )
        stopped = self._stop == "aborted"
        return TalkTurn(self._key, self.prompt, steps, self.begun, self._ended, stopped, rewound)


# --- Files ------------------------------------------------------------------------------------


def _folders(home: bytes, root: bytes) -> Iterator[str]:
    """The folders in which sessions of a project can be."""
    given: list[str] = []
    own = os.environ.get("PI_CODING_AGENT_SESSION_DIR")
    if own:
        given.append(own)
    inner = os.fsdecode(root)
    # Any of them may have been the one that counted when a session was held.
    for path in (settings_file("project", root, home), settings_file("user", root, home)):
        named = as_text(_loaded(_head(path)).get("sessionDir"))
        if named:
            given.append(named)
    user = os.fsdecode(home)
    found = [os.path.join(inner, re.sub(r"^~(?=/|$)", lambda _: user, one)) for one in given]
    slug = "--" + re.sub(r"[/\\:]", "-", inner.lstrip("/"))
    sessions = os.path.join(os.fsdecode(agent_folder(home)), "sessions")
    found += [os.path.join(sessions, name) for name in _entries(sessions) if name.startswith(slug)]
    yield from dict.fromkeys(map(os.path.normpath, found))


def _head(path: bytes) -> bytes:
    try:
        return (read_file(path) or b"")[:_HEAD]
    except UsageError:
        return b""


def _first(path: str, info: os.stat_result) -> tuple[str, bytes]:
    """The session that a file is of, and its folder; empty where it does not say (yet)."""
    known = _heads.get(path)
    if known is not None and known[0] == info.st_ino:
        return known[1], known[2]
    try:
        with open(path, "rb") as file:
            header = _loaded(file.readline(_HEAD))
    except (OSError, ValueError):
        return "", b""
    session, place = as_text(header.get("id")), as_text(header.get("cwd"))
    if header.get("type") != "session" or not session or not place.startswith("/"):
        return "", b""
    try:
        folder = os.path.realpath(as_path(place))
    except (OSError, ValueError):
        return "", b""
    _heads[path] = (info.st_ino, session, folder)
    return session, folder


def records(path: str) -> Iterator[dict[str, Any]]:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                return
            yield _loaded(file.readline(_HEAD))
            if info.st_size > _LARGEST:
                file.seek(info.st_size - _LARGEST)
                file.readline()
            # Not what is written while we read: the next look has a stamp of its own.
            left = info.st_size - file.tell()
            while left > 0 and (line := file.readline(left)):
                left -= len(line)
                yield _loaded(line)
    except (OSError, ValueError):
        return


def _session_of(path: str) -> str:
    """The session that a file is of, by its name."""
    return os.path.basename(path).removesuffix(".jsonl").partition("_")[2]


def _is_within(folder: bytes, root: bytes) -> bool:
    return folder == root or folder.startswith(os.path.join(root, b""))


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def _time(record: dict[str, Any]) -> int:
    """When an entry was written, in nanoseconds since the epoch; 0 where it does not say."""
    try:
        text = as_text(record.get("timestamp")).replace("Z", "+00:00")
        found = datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0
    return max(0, round(found * 1000)) * 1_000_000


def _loaded(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
