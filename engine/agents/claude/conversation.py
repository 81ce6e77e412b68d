"""Claude Code's past and running conversations, from its transcripts. Reads only.

A transcript grows while we look at it, so of one that was read before only what is new is read.
"""

from __future__ import annotations

import json
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

from takeback.engine.agents.claude.setup import config_folder
from takeback.engine.agents.claude.transcript import Lines
from takeback.engine.agents.payload import as_path
from takeback.engine.agents.talk import Source, Talk, TalkStep, TalkTurn

_LARGEST = 64 << 20
"""Of a longer transcript the end is read."""

_LONGEST_LINE = 16 << 20
_PART = 64 << 10
_KEPT = 16
_SLUG_LENGTH = 200
_UUID = re.compile(rb'"uuid":"([\w-]{1,80})"')
_CWD = re.compile(rb'"cwd":("(?:[^"\\]|\\.)*")')


@dataclass(slots=True)
class _Kept:
    """A transcript as far as it was read; ``mark`` are the bytes before that place."""

    file: tuple[int, int]
    lines: Lines
    at: int = 0
    mark: bytes = b""


_lock = threading.Lock()
_kept: OrderedDict[str, _Kept] = OrderedDict()
_heads: dict[str, tuple[int, bytes, bytes]] = {}
"""By transcript: its number, where its session was started, and the id of its first line."""


def find(root: bytes, home: bytes) -> list[Source]:
    """The conversations that were held in a project, oldest first."""
    within = os.path.realpath(root)
    projects = os.path.join(config_folder(home), b"projects")
    slug = re.sub(rb"[^a-zA-Z0-9]", b"-", within)[:_SLUG_LENGTH]
    found: list[Source] = []
    for folder in _entries(os.fsdecode(projects)):
        likely = os.fsencode(os.path.basename(folder)).startswith(slug)
        for path in _entries(folder):
            if not path.endswith(".jsonl"):
                continue
            try:
                info = os.stat(path)
            except (OSError, ValueError):
                continue
            if not stat.S_ISREG(info.st_mode):
                continue
            if _is_within(_started_in(path, info), within):
                session = os.path.basename(path).removesuffix(".jsonl")
                stamp = (info.st_mtime_ns, info.st_size, *_stamp(path))
                found.append(Source("claude", session, path, stamp))
            elif not likely:
                # The name says little, but it is the same for all in it.
                break
    return sorted(found, key=lambda source: (source.stamp[0], source.place))


def nameless(root: bytes, home: bytes) -> list[str]:
    """Files in the project's own folder that name no folder themselves: begun just now, or no
    transcripts any more."""
    slug = re.sub(rb"[^a-zA-Z0-9]", b"-", os.path.realpath(root))[:_SLUG_LENGTH]
    folder = os.path.join(config_folder(home), b"projects", slug)
    found = []
    for path in _entries(os.fsdecode(folder)):
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            continue
        if path.endswith(".jsonl") and stat.S_ISREG(info.st_mode) and not _started_in(path, info):
            found.append(path)
    return found


def read(source: Source) -> Talk | None:
    """A whole conversation; None where its file is gone or no transcript."""
    with _lock:
        lines = _read(source.place)
        if lines is None or not lines.folder:
            return None
        turns = lines.turns()
        title = lines.title or next((turn.prompt for turn in turns), "")
        parent = lines.parent or (_parent(source.place, lines.first) if lines.is_copy else "")
        helpers = [helper for path in _helpers(source.place) for helper in [_read(path, True)]]
    for helper in helpers:
        if helper is not None:
            turns = _with_helper(turns, helper.turns())
    return Talk(source.session, "claude", title, as_path(lines.folder), turns, parent)


# --- Files ------------------------------------------------------------------------------------


def _entries(folder: str) -> list[str]:
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except (OSError, ValueError):
        return []


def _started_in(path: str, info: os.stat_result) -> bytes:
    """The folder that a transcript names first, b"" where it names none (yet)."""
    known = _heads.get(path)
    if known is not None and known[0] == info.st_ino:
        return known[1]
    found = first = b""
    try:
        with _opened(path) as file:
            head = file.read(_PART)
            uuid, cwd = _UUID.search(head), _CWD.search(head)
            if cwd is None:
                file.seek(max(0, info.st_size - _PART))
                cwd = _CWD.search(file.read(_PART))
            if cwd is not None:
                found = os.path.realpath(as_path(json.loads(cwd[1])))
            first = uuid[1] if uuid is not None else b""
    except (OSError, ValueError):
        return b""
    if found:
        _heads[path] = (info.st_ino, found, first)
    return found


def _parent(place: str, first: str) -> str:
    """The one other session that begins with the same line, "" if there is not exactly one."""
    found = [
        os.path.basename(path).removesuffix(".jsonl")
        for path, (_, _, uuid) in list(_heads.items())
        if uuid == first.encode("utf-8", "replace") and path != place
    ]
    return found[0] if len(found) == 1 and first else ""


def _is_within(folder: bytes, root: bytes) -> bool:
    return folder == root or folder.startswith(os.path.join(root, b""))


def _helpers(place: str) -> list[str]:
    """The transcripts of a session's subagents."""
    folder = os.path.join(place.removesuffix(".jsonl"), "subagents")
    return [path for path in _entries(folder) if path.endswith(".jsonl")]


def _stamp(place: str) -> tuple[int, ...]:
    stamps = []
    for path in _helpers(place):
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            continue
        stamps.append((info.st_mtime_ns, info.st_size))
    return (max(stamps)[0], sum(size for _, size in stamps)) if stamps else ()


def _opened(path: str) -> BinaryIO:
    """A file to read.

    Raises:
        OSError, ValueError: it is none, or cannot be read.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ValueError("no file")
    return os.fdopen(fd, "rb")


def _read(path: str, sidechain: bool = False) -> Lines | None:
    """The lines of a transcript, of which only those are read that were not there before."""
    try:
        with _opened(path) as file:
            info = os.fstat(file.fileno())
            known = _kept.pop(path, None)
            if known is not None and not _goes_on(file, known, info):
                known = None
            if known is None:
                known = _Kept((info.st_dev, info.st_ino), Lines(sidechain))
                known.at = max(0, info.st_size - _LARGEST)
                if known.at:
                    file.seek(known.at)
                    known.at += len(file.readline(_LONGEST_LINE))
            file.seek(known.at)
            for line in _whole_lines(file, known):
                known.lines.add(line)
            start = max(0, known.at - 64)
            file.seek(start)
            known.mark = file.read(known.at - start)
    except (OSError, ValueError):
        return None
    _kept[path] = known
    while len(_kept) > _KEPT:
        _kept.popitem(last=False)
    return known.lines


def _goes_on(file: BinaryIO, known: _Kept, info: os.stat_result) -> bool:
    if known.file != (info.st_dev, info.st_ino) or info.st_size < known.at:
        return False
    file.seek(known.at - len(known.mark))
    return file.read(len(known.mark)) == known.mark


def _whole_lines(file: BinaryIO, known: _Kept) -> Iterator[bytes]:
    """Lines that are complete; one that is too long to be worth it is left out."""
    while line := file.readline(_LONGEST_LINE):
        if line.endswith(b"\n"):
            known.at += len(line)
            yield line
            continue
        size = len(line)
        while line and not line.endswith(b"\n"):
            line = file.readline(_LONGEST_LINE)
            size += len(line)
        if not line:
            # Torn: it may be whole the next time.
            return
        known.at += size


# --- Subagents --------------------------------------------------------------------------------


def _with_helper(turns: tuple[TalkTurn, ...], work: tuple[TalkTurn, ...]) -> tuple[TalkTurn, ...]:
    """Turns with a subagent's work as one step of the turn that it was sent out in, as hooks have
    it: by its end at the latest."""
    steps = list(chain.from_iterable(turn.steps for turn in work))
    if not steps:
        return turns
    at = next((at for at, turn in enumerate(turns) if turn.key and turn.key == work[0].key), -1)
    if at < 0:
        begun = steps[0].at_ns
        at = max((at for at, turn in enumerate(turns) if turn.begun_ns <= begun), default=-1)
    if at < 0:
        return turns
    calls = tuple(call for step in steps for call in step.calls)
    texts = [step.text for step in steps if step.text]
    one = TalkStep(texts[-1] if texts else "", calls, steps[0].at_ns)
    turn = turns[at]
    place = sum(step.at_ns <= one.at_ns for step in turn.steps)
    changed = replace(turn, steps=(*turn.steps[:place], one, *turn.steps[place:]))
    return (*turns[:at], changed, *turns[at + 1 :])
