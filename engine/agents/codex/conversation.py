"""Codex's past and running conversations, from its rollouts and its database. Reads only."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from takeback.engine.agents.codex.folders import config_folder
from takeback.engine.agents.codex.turns import Turns
from takeback.engine.agents.payload import as_path, as_text
from takeback.engine.agents.talk import Source, Talk

_HEAD = 64 << 10
_LONGEST_LINE = 16 << 20
_LONGEST_CHAIN = 100
_FILES = ("sessions", "archived_sessions")
_DATABASE = re.compile(r"state_(\d{1,6})\.sqlite")
_CWD = re.compile(rb'"cwd":("(?:[^"\\]|\\.)*")')
_ID = re.compile(rb'"id":"([\w-]{1,80})"')


def find(root: bytes, home: bytes) -> list[Source]:
    """The conversations that were held in a project, oldest first."""
    folder = os.fsdecode(config_folder(home))
    within = _Within(root)
    known = {place: (session, cwd) for session, place, cwd in _threads(folder)}
    found: dict[str, Source] = {}
    # A session whose user went back goes on in a new file: the database knows which, else the
    # newest is it.
    for path in dict.fromkeys([*_rollouts(folder), *known]):
        session, cwd = known.get(path) or _start(path)
        if not session or not within(cwd):
            continue
        before = found.get(session)
        if before is not None and before.place in known and path not in known:
            continue
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(info.st_mode):
            found[session] = Source("codex", session, path, (info.st_mtime_ns, info.st_size))
    return sorted(found.values(), key=lambda one: (os.path.basename(one.place), one.place))


def read(source: Source) -> Talk | None:
    """A whole conversation; None where its file is gone or no rollout."""
    turns = Turns()
    try:
        meta, parts = _chain(source.place)
        # A subagent's rollout begins with a copy of its parent's conversation.
        begin = _number(meta.get("subagent_history_start_ordinal"))
        for path, end in parts if begin <= 0 else parts[-1:]:
            for line in _lines(path, end):
                if begin <= 0 or _ordinal(line) >= begin:
                    turns.add(line)
    except (OSError, ValueError):
        return None
    if not meta:
        return None
    session = as_text(meta.get("id")) or source.session
    found = turns.result()
    prompts = (turn.prompt for turn in found)
    title = _title(source.place, session) or as_text(meta.get("agent_nickname"))
    parent = as_text(meta.get("parent_thread_id")) or as_text(meta.get("forked_from_id"))
    cwd = as_text(meta.get("cwd"))
    return Talk(session, "codex", title or next(prompts, ""), as_path(cwd), found, parent)


class _Within:
    """Whether a folder belongs to the project."""

    def __init__(self, root: bytes) -> None:
        self._root = os.path.realpath(root)
        self._known: dict[str, bool] = {}

    def __call__(self, cwd: str) -> bool:
        if cwd not in self._known:
            try:
                folder = os.path.realpath(os.fsencode(cwd)) if cwd else b""
            except (OSError, ValueError):
                folder = b""
            below = os.path.join(self._root, b"")
            self._known[cwd] = folder == self._root or folder.startswith(below)
        return self._known[cwd]


# --- Files ------------------------------------------------------------------------------------


def _rollouts(folder: str) -> Iterator[str]:
    for name in _FILES:
        for place, folders, names in os.walk(os.path.join(folder, name)):
            folders.sort()
            for file in sorted(names):
                if file.startswith("rollout-") and file.endswith(".jsonl"):
                    yield os.path.join(place, file)


def _start(path: str) -> tuple[str, str]:
    """The session and the folder that a rollout's first line names; empty where it does not."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            line = file.readline(_HEAD)
    except (OSError, ValueError):
        return "", ""
    if b'"session_meta"' not in line[:300]:
        return "", ""
    cwd, session = _CWD.search(line), _ID.search(line)
    try:
        return (session[1].decode(), str(json.loads(cwd[1]))) if cwd and session else ("", "")
    except ValueError:
        return "", ""


def _lines(path: str, end: int = -1) -> Iterator[bytes]:
    """The lines of a file, up to a place in it; one that is too long to be worth it is left out.

    Raises:
        OSError, ValueError: it cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("no file")
        while (end < 0 or file.tell() < end) and (line := file.readline(_LONGEST_LINE)):
            if line.endswith(b"\n") or len(line) < _LONGEST_LINE:
                yield line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(_LONGEST_LINE)


# --- Rollouts that go on from others ------------------------------------------------------------


def _chain(place: str) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """What a rollout says of itself, and the files that hold its conversation, oldest first.

    A fork, and a session whose user went back, begin in a new file that names the place in another
    up to which that is its past. Each file comes with that place, -1 for all of it.

    Raises:
        OSError, ValueError: the rollout cannot be read.
    """
    first = meta = _meta(place)
    parts = [(place, -1)]
    while len(parts) < _LONGEST_CHAIN:
        base = meta.get("history_base")
        if not isinstance(base, dict):
            break
        found = _base(place, base, {path for path, _ in parts})
        if found is None:
            break
        parts.append((found, _number(base.get("end_byte_offset"))))
        try:
            meta = _meta(found)
        except (OSError, ValueError):
            break
    return first, parts[::-1]


def _meta(path: str) -> dict[str, Any]:
    """What a rollout's first line says; empty where it is none."""
    line = next(_lines(path), b"")
    return _payload(line) if b'"type":"session_meta"' in line[:200] else {}


def _base(place: str, base: dict[str, Any], taken: set[str]) -> str | None:
    """The file that a rollout goes on from: the one with the right line at the right place."""
    thread, end = as_text(base.get("thread_id")), _number(base.get("end_byte_offset"))
    last = _number(base.get("end_ordinal_exclusive")) - 1
    folder = _home_of(place)
    if not thread or folder is None or not 0 < end < 1 << 62:
        return None
    for path in sorted(_rollouts(folder), reverse=True):
        if thread in os.path.basename(path) and path not in taken:
            try:
                with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
                    start = max(0, end - _LONGEST_LINE)
                    file.seek(start)
                    before = file.read(end - start)
            except OSError:
                continue
            lines = before.rsplit(b"\n", 2)
            if start + len(before) == end and len(lines) > 1 and _ordinal(lines[-2]) == last:
                return path
    return None


def _home_of(place: str) -> str | None:
    """Codex's folder, from the place of one of its rollouts."""
    folder = os.path.dirname(place)
    while os.path.basename(folder) not in _FILES:
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return os.path.dirname(folder)


_ORDINAL = re.compile(rb'"ordinal":(\d{1,15})')


def _ordinal(line: bytes) -> int:
    found = _ORDINAL.search(line, 0, 200)
    return int(found[1]) if found else 0


# --- Database ---------------------------------------------------------------------------------


def _database(folder: str) -> str | None:
    """The newest form of Codex's database; the number in its name is that of the form."""
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    found = [
        (int(match[1]), name) for name in names for match in [_DATABASE.fullmatch(name)] if match
    ]
    return os.path.join(folder, max(found)[1]) if found else None


def _query(folder: str, text: str, *values: str) -> list[tuple[Any, ...]]:
    """Rows of Codex's database; none where it is not there, busy, or of another form."""
    path = _database(folder)
    if path is None or not os.path.isfile(path):
        return []
    # A database that nobody has open can be read from a folder that cannot be written only so.
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        try:
            place = f"file:{quote(os.fsencode(os.path.abspath(path)))}?{mode}"
            connection = sqlite3.connect(place, uri=True, timeout=0.2)
            try:
                return connection.execute(text, values).fetchall()
            finally:
                connection.close()
        except (sqlite3.Error, OSError, ValueError, OverflowError):
            continue
    return []


def _threads(folder: str) -> Iterator[tuple[str, str, str]]:
    """Sessions with their rollout and folder, of all projects."""
    for row in _query(folder, "SELECT id, rollout_path, cwd FROM threads"):
        session, place, cwd = map(as_text, row)
        if session and os.path.isabs(place):
            yield session, place, cwd


def _title(place: str, session: str) -> str:
    """The title that Codex, or the user, gave a session."""
    above = _home_of(place)
    if above is None:
        return ""
    for column in ("name", "title"):
        # Not every version has both.
        for row in _query(above, f"SELECT {column} FROM threads WHERE id = ?", session):
            if as_text(row[0]):
                return as_text(row[0])
    return ""


def _payload(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    found = record.get("payload") if isinstance(record, dict) else None
    return found if isinstance(found, dict) else {}


def _number(value: Any) -> int:
    return value if isinstance(value, int) else -1
