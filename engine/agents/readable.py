"""Whether the agents' own files of a project can be read: for `doctor`. Reads only."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Iterator
from typing import Protocol, cast

from takeback.engine.agents import conversations, install
from takeback.engine.agents.files import Check
from takeback.engine.agents.talk import Source

_LARGEST = 64 << 20
"""Of a longer file the end is looked at, as by the readers."""
_BUDGET = 256 << 20
"""So much of an agent's files is looked at, the newest first; some seconds."""
_SHOWN = 3
_FIX = (
    "Nothing must be done: what takeback recorded is shown and can be taken back all the same; "
    "prompts and answers that stand only there are missing."
)


class _WithDatabase(Protocol):
    """A module ``conversation`` of an agent that keeps all in a database."""

    def connect(self, place: str) -> sqlite3.Connection:
        """Open one, to be read only."""


def status(root: bytes, home: bytes) -> list[Check]:
    """For each agent whose conversations cannot be read in part: what, and where."""
    checks: list[Check] = []
    for agent, reader in conversations.readers():
        title = install.setup(agent).TITLE
        try:
            sources = reader.find(root, home)
            databases = getattr(reader, "databases", None)
            places = set(databases(home)) if databases is not None else set()
            nameless = getattr(reader, "nameless", None)
            others = nameless(root, home) if nameless is not None else []
        except Exception as error:
            # Files of others may hold anything, and doctor never fails.
            said = f"{title}'s conversations cannot be looked for ({type(error).__name__})."
            checks.append((agent, False, said, _FIX))
            continue
        troubles = list(_troubles(sources, places, others, reader))
        if troubles:
            shown = "; ".join(troubles[:_SHOWN])
            more = f"; and {len(troubles) - _SHOWN} more" if len(troubles) > _SHOWN else ""
            said = f"{title}'s conversations can be read only in part: {shown}{more}."
            checks.append((agent, False, said, _FIX))
    return checks


def _troubles(
    sources: list[Source],
    databases: set[str],
    others: list[str],
    reader: conversations.Reader,
) -> Iterator[str]:
    """What cannot be read, a few words for each file."""
    left = _BUDGET
    sources = sorted(sources, key=lambda source: source.stamp[:1], reverse=True)
    for place in dict.fromkeys([*databases, *others, *(source.place for source in sources)]):
        left -= _size(place)
        if left < 0:
            return
        shown = repr(place)
        try:
            if place.endswith(".jsonl"):
                spoiled = _spoiled_lines(place)
                if spoiled:
                    yield f"{spoiled} line{'s' * (spoiled > 1)} of {shown}"
            elif place.endswith(".json"):
                with open(place, "rb") as file:
                    json.loads(file.read(_LARGEST))
            elif place in databases:
                _ask(reader, place)
            else:
                os.stat(place)
        except FileNotFoundError:
            continue  # Removed since it was found, or never made.
        except OSError as error:
            yield f"{shown}: {error.strerror or error}"
        except Exception as error:
            yield f"{shown}: {str(error)[:100]}"
    for source in sources:
        try:
            reader.read(source)
        except Exception as error:
            yield f"session {source.session[:80]!r}: {type(error).__name__}"


def _size(place: str) -> int:
    try:
        return os.stat(place).st_size if place.endswith((".jsonl", ".json")) else 0
    except (OSError, ValueError):
        return 0


def _ask(reader: conversations.Reader, place: str) -> None:
    """Open an agent's database as its reader does.

    Raises:
        Exception: it cannot be read.
    """
    if os.path.exists(place):
        cast(_WithDatabase, reader).connect(place).close()


def _spoiled_lines(place: str) -> int:
    """How many lines are no JSON object; one that is written at this moment is not counted.

    Raises:
        OSError: the file cannot be read.
    """
    spoiled = 0
    fd = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(fd, "rb") as file:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return 0
        if info.st_size > _LARGEST:
            file.seek(info.st_size - _LARGEST)
            file.readline()
        for line in file:
            if not line.endswith(b"\n"):
                break
            spoiled += bool(line.strip()) and not _is_object(line)
    return spoiled


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
