"""Files in an agent's folders that are takeback's alone: a plugin, an extension, a command.

They are written whole. One that does not say in its first lines that takeback made it is the
user's, and is neither replaced nor deleted.
"""

from __future__ import annotations

import os

from takeback.engine.agents.files import NOTHING, FileEdit, Level, read_file
from takeback.engine.errors import UsageError

_HEAD = 400


def mark(agent: str) -> str:
    """What the first comment of such a file says."""
    return f"Remove it with: takeback uninstall {agent}"


def is_ours(data: bytes | None, agent: str) -> bool:
    """Whether takeback made a file, this or another version of it."""
    return data is not None and mark(agent).encode() in data[:_HEAD]


def write(path: bytes, content: bytes, agent: str, level: Level) -> FileEdit:
    """Write a file, or renew it.

    Raises:
        UsageError: a file that is not ours is in its place, or it cannot be read.
    """
    before = read_file(path)
    if before is not None and not is_ours(before, agent):
        raise UsageError(
            f"{os.fsdecode(path)!r} is there and is not takeback's. {NOTHING}",
            "Move it away first.",
        )
    return FileEdit(path, before, content, level)


def delete(path: bytes, agent: str, level: Level) -> FileEdit | None:
    """Delete a file, and its folder where that is empty then; None where there is none of ours.

    Raises:
        UsageError: it cannot be read.
    """
    before = read_file(path)
    return FileEdit(path, before, None, level, folders=1) if is_ours(before, agent) else None
