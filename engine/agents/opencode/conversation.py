"""OpenCode's past and running conversations, from its database. Reads only.

The database holds credentials, too: only named tables are read, and of them only what is said
here. Older servers keep a conversation as messages and parts, newer ones as one row a message.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from typing import Any
from urllib.parse import quote

from takeback.engine.agents.opencode import rows
from takeback.engine.agents.payload import as_path
from takeback.engine.agents.talk import Source, Talk

_DATABASE = re.compile(r"opencode(-[A-Za-z0-9._-]+)?\.db")
_LONGEST = 4 << 20
"""Rows with more data are left out: nobody reads so long a text, and we do not hold it."""
_WATCHED = 8
"""So many of the newest sessions are looked at for parts that their own row says nothing of."""


def data_folder(home: bytes) -> bytes:
    """The folder with OpenCode's database."""
    own = os.environ.get("XDG_DATA_HOME")
    folder = os.path.abspath(os.fsencode(own)) if own else os.path.join(home, b".local", b"share")
    return os.path.join(folder, b"opencode")


def find(root: bytes, home: bytes) -> list[Source]:
    """The conversations that were held in a project, oldest first."""
    below = os.path.join(os.path.realpath(root), b"")
    known: dict[str, bool] = {}

    def within(folder: Any) -> bool:
        if not isinstance(folder, str) or not folder:
            return False
        if folder not in known:
            try:
                known[folder] = os.path.join(os.path.realpath(as_path(folder)), b"").startswith(
                    below
                )
            except (OSError, ValueError):
                known[folder] = False
        return known[folder]

    found: list[tuple[int, Source]] = []
    for place in databases(home):
        try:
            with closing(connect(place)) as database:
                found += _sessions(database, place, within)
        except (sqlite3.Error, OSError, ValueError, OverflowError):
            continue
    return [source for _, source in sorted(found, key=lambda item: (item[0], item[1].session))]


def read(source: Source) -> Talk | None:
    """A whole conversation; None where it is gone or the database is of another form."""
    try:
        with closing(connect(source.place)) as database:
            return _talk(database, source.session)
    except (sqlite3.Error, OSError, ValueError, OverflowError):
        return None


def prompts(source: Source) -> list[str]:
    """The ids of a conversation's messages from the user, oldest first, as the older interface
    knows them: those of the newer one are not among them.

    Raises:
        sqlite3.Error, OSError, ValueError: they cannot be read.
    """
    with closing(connect(source.place)) as database:
        query = "SELECT id, data FROM message WHERE session_id = ? ORDER BY id"
        found = _rows(database, query, source.session)
    return [rows.text(name) for name, data in found if rows.record(data).get("role") == "user"]


def databases(home: bytes) -> list[str]:
    """OpenCode's databases: each channel of its releases has one."""
    folder = os.fsdecode(data_folder(home))
    own = os.environ.get("OPENCODE_DB")
    if own:
        return [os.path.join(folder, own)]
    try:
        names = os.listdir(folder)
    except (OSError, ValueError):
        return []
    return [os.path.join(folder, name) for name in sorted(names) if _DATABASE.fullmatch(name)]


def connect(place: str) -> sqlite3.Connection:
    """The database, to be read only.

    Raises:
        sqlite3.Error, OSError, ValueError: it cannot be read.
    """
    # A reader makes files of its own beside a database, unless it is told that nobody writes. That
    # holds where nobody has it open, and is all that is left where the folder cannot be written.
    if not os.path.isfile(place):
        raise ValueError("no database")
    modes = ("mode=ro", "mode=ro&immutable=1")
    for mode in modes if os.path.exists(f"{place}-wal") else modes[1:]:
        uri = f"file:{quote(os.fsencode(os.path.abspath(place)))}?{mode}"
        database = sqlite3.connect(uri, uri=True, timeout=0.2)
        try:
            database.text_factory = _text
            database.execute("SELECT id FROM session LIMIT 1").fetchall()
            return database
        except sqlite3.Error:
            database.close()
            if mode != modes[0]:
                raise
    raise ValueError("no database")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _rows(database: sqlite3.Connection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """Rows; none where the database is of another form, or damaged there."""
    try:
        return database.execute(query, values).fetchall()
    except sqlite3.DatabaseError:
        return []


def _sessions(database: sqlite3.Connection, place: str, within: Any) -> list[tuple[int, Source]]:
    columns = "id, directory, time_created, time_updated"
    found = [
        (rows.number(created), rows.number(updated), session)
        for session, folder, created, updated in _rows(database, f"SELECT {columns} FROM session")
        if isinstance(session, str) and session and within(folder)
    ]
    found.sort(key=lambda item: item[1], reverse=True)
    sources = []
    for at, (created, updated, session) in enumerate(found):
        stamp = [updated * 1_000_000]
        if at < _WATCHED:
            # A session's own row is not written with each of its parts.
            for table in ("message", "part", "session_message"):
                query = f"SELECT count(*), max(time_updated) FROM {table} WHERE session_id = ?"
                for counted in _rows(database, query, session):
                    stamp += map(rows.number, counted)
        sources.append((created, Source("opencode", session, place, tuple(stamp))))
    return sources


def _talk(database: sqlite3.Connection, session: str) -> Talk | None:
    head = _rows(database, "SELECT title, directory FROM session WHERE id = ?", session)
    if not head:
        return None
    title, folder = head[0]
    # Columns that not every version has.
    parent, revert = (
        next((row[0] for row in _rows(database, query, session)), None)
        for query in (
            "SELECT parent_id FROM session WHERE id = ?",
            "SELECT revert FROM session WHERE id = ?",
        )
    )
    long = f"length(data) < {_LONGEST}"
    turns = rows.turns(
        _rows(
            database,
            f"SELECT id, data FROM message WHERE session_id = ? AND {long} ORDER BY id",
            session,
        ),
        _rows(
            database,
            f"SELECT message_id, id, data FROM part WHERE session_id = ? AND {long} ORDER BY id",
            session,
        ),
        rows.record(revert),
    ) or rows.new_turns(
        _rows(
            database,
            "SELECT id, type, data FROM session_message "
            f"WHERE session_id = ? AND {long} ORDER BY seq",
            session,
        ),
        rows.record(revert),
    )
    named = rows.title(title) or next((turn.prompt for turn in turns), "")
    return Talk(session, "opencode", named, as_path(rows.text(folder)), turns, rows.text(parent))
