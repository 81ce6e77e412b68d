"""Gemini CLI's past and running conversations, from its chats. Reads only.

A chat is a log in which messages are given anew, replaced and dropped. What was dropped has
happened all the same, so every message stays, where it stood first.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from takeback.engine.agents.gemini.messages import History
from takeback.engine.agents.gemini.setup import user_folder
from takeback.engine.agents.payload import as_map, as_path
from takeback.engine.agents.talk import Source, Talk

_LARGEST = 64 << 20
"""Of a longer chat the end is read."""
_HEAD = 64 << 10
_NAME = 8


class _Chat(NamedTuple):
    """A file, as its first line tells of it."""

    path: str
    session: str
    parent: str
    begun: str
    info: os.stat_result


_heads: dict[str, tuple[int, str, str]] = {}
"""By file: its number, and the session and time that its first line names."""


def find(root: bytes, home: bytes) -> list[Source]:
    """The conversations that were held in a project, oldest first."""
    sessions: dict[str, list[_Chat]] = {}
    for folder in _folders(os.path.realpath(root), user_folder(home)):
        for found in _chats(folder):
            sessions.setdefault(found.session, []).append(found)
    sources = []
    for session, chats in sessions.items():
        chats.sort(key=lambda one: (one.begun, one.path))
        times = max(one.info.st_mtime_ns for one in chats)
        size = sum(one.info.st_size for one in chats)
        stamp = (times, size, len(chats))
        sources.append(Source("gemini", session, chats[0].path, stamp))
    return sorted(sources, key=lambda source: (source.stamp[0], source.place))


def read(source: Source) -> Talk | None:
    """A whole conversation; None where its file is gone or no chat."""
    folder = os.path.dirname(source.place)
    parent = os.path.basename(folder) if os.path.basename(folder) != "chats" else ""
    history = _history(folder, parent, source.session)
    if history is None:
        return None
    copied: Collection[str] = ()
    if history.imported and not parent:
        origin = os.path.basename(history.imported).removesuffix(".jsonl")
        known = _history(folder, "", origin) if origin != source.session else None
        if known is not None:
            # What was said before stands in the conversation that this one is a copy of.
            copied, parent = known.names, origin
    turns = history.turns(copied)
    title = history.summary or next((turn.prompt for turn in turns), "")
    return Talk(source.session, "gemini", title, _place(source.place), turns, parent)


def chats(source: Source) -> list[str]:
    """The files of a conversation, the newest first."""
    found = [
        one for one in _files(os.path.dirname(source.place), "") if one.session == source.session
    ]
    return [one.path for one in sorted(found, key=lambda one: (one.begun, one.path), reverse=True)]


def imported(source: Source, path: str) -> str:
    """The conversation that Gemini CLI made from a file, beside another; "" for none."""
    folder = os.path.dirname(source.place)
    for session in {one.session for one in _files(folder, "")} - {source.session}:
        history = _history(folder, "", session)
        if history is not None and history.imported == path:
            return session
    return ""


def _history(folder: str, parent: str, session: str) -> History | None:
    """All that was said in a session, None where there is none."""
    chats = [one for one in _files(folder, parent) if one.session == session]
    if not chats:
        return None
    history = History()
    for one in sorted(chats, key=lambda one: (one.begun, one.path)):
        for record in records(one.path):
            history.take(record)
    return history


# --- Folders ----------------------------------------------------------------------------------


def _folders(root: bytes, home: bytes) -> Iterator[str]:
    """Gemini CLI's folders for a project and the folders in it."""
    base = os.path.join(os.fsdecode(home), ".gemini")
    temp = os.path.join(base, "tmp")
    known = as_map(as_map(_json(os.path.join(base, "projects.json"))).get("projects"))
    named = {
        name
        for path, name in known.items()
        if isinstance(name, str) and name == os.path.basename(name) and _is_within(path, root)
    }
    # As older releases named them.
    named.add(hashlib.sha256(root).hexdigest())
    for name in _entries(temp):
        if name in named or _is_within(_project(os.path.join(temp, name)), root):
            yield os.path.join(temp, name)


def _project(folder: str) -> str:
    """The project that a folder says it belongs to, "" where it does not."""
    found = _head(os.path.join(folder, ".project_root"), 8192)
    return found.decode("utf-8", "surrogateescape").strip()


def _place(path: str) -> bytes:
    """The project of a chat: where the agent was started."""
    folder = os.path.dirname(path)
    if os.path.basename(folder) != "chats":
        folder = os.path.dirname(folder)
    folder = os.path.dirname(folder)
    place = _project(folder)
    if not place:
        projects = os.path.join(os.path.dirname(os.path.dirname(folder)), "projects.json")
        known = as_map(as_map(_json(projects)).get("projects"))
        name = os.path.basename(folder)
        place = next((path for path, one in known.items() if one == name), "")
    return as_path(place)


def _is_within(path: Any, root: bytes) -> bool:
    if not isinstance(path, str) or not path.startswith("/"):
        return False
    try:
        real = os.path.realpath(as_path(path))
    except (OSError, ValueError):
        return False
    return real == root or real.startswith(os.path.join(root, b""))


# --- Files ------------------------------------------------------------------------------------


def _chats(folder: str) -> Iterator[_Chat]:
    """The chats in a folder of Gemini CLI's, those of subagents among them."""
    chats = os.path.join(folder, "chats")
    yield from _files(chats, "")
    for name in _entries(chats):
        if not name.endswith((".jsonl", ".json")):
            yield from _files(os.path.join(chats, name), name)


def _files(folder: str, parent: str) -> Iterator[_Chat]:
    names = _entries(folder)
    for name in names:
        if not name.endswith((".jsonl", ".json")) or f"{name}l" in names:
            # The older form of a chat that was gone on with in the newer one.
            continue
        path = os.path.join(folder, name)
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(info.st_mode):
            session, begun = _first(path, info)
            if session:
                yield _Chat(path, session, parent, begun, info)


def _first(path: str, info: os.stat_result) -> tuple[str, str]:
    """The session that a chat is of, and when it began; empty where it does not say (yet)."""
    known = _heads.get(path)
    if known is not None and known[0] == info.st_ino:
        return known[1], known[2]
    head = _head(path, _HEAD)
    if path.endswith(".jsonl"):
        record = _loaded(head.partition(b"\n")[0])
    else:
        record = _loaded(head) if info.st_size <= _HEAD else _json(path)
    found = as_map(record)
    session, begun = found.get("sessionId"), found.get("startTime")
    if not isinstance(session, str) or not session:
        return "", ""
    begun = begun if isinstance(begun, str) else ""
    _heads[path] = (info.st_ino, session, begun)
    return session, begun


def records(path: str) -> Iterator[Any]:
    if not path.endswith(".jsonl"):
        found = as_map(_json(path))
        messages = found.pop("messages", None)
        yield found
        yield from messages if isinstance(messages, list) else ()
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            size = os.fstat(fd).st_size
            if size > _LARGEST:
                file.seek(size - _LARGEST)
                file.readline()
            # Not what is written while we read: the next look has a stamp of its own.
            left = min(size, _LARGEST)
            while left > 0 and (line := file.readline(left)):
                left -= len(line)
                yield _loaded(line)
    except (OSError, ValueError):
        return


def _entries(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def _head(path: str, size: int) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            return file.read(size) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except (OSError, ValueError):
        return b""


def _json(path: str) -> Any:
    return _loaded(_head(path, _LARGEST))


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
