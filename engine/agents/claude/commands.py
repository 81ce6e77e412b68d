"""Undo, redo and status within Claude Code: commands, as it runs them from files of its folder.

The command line is called before the model is asked, and its answer stands in the prompt: nothing
has to be decided by the model.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace

from takeback.engine.agents import ownedfile
from takeback.engine.agents.command import cli_command, words_of
from takeback.engine.agents.files import FileEdit, Level, read_file
from takeback.engine.errors import UsageError

_VERBS = {
    "undo": ("undo", "Take back what the newest turn did to files", "[--turn N] [--all] [--yes]"),
    "redo": ("redo", "Put back what the newest undo took back", "[OPERATION] [--yes]"),
    "status": ("history", "Show what undo and redo would do next", ""),
}

_TEXT = """\
---
# Made by takeback. {mark}
description: "takeback: {what}"
argument-hint: "{hint}"
allowed-tools: Bash({command} {verb}:*)
disable-model-invocation: true
---
The user called takeback's {name}. It was run already and said:

!`{command} {verb} $ARGUMENTS 2>&1 || true`

Show the user what it said, word for word, and end your turn. Call no tool; repair, restore or \
change no file. Where it needs a decision, the user calls the command again with the option that \
it names.
"""


def _path(folder: bytes, name: str) -> bytes:
    return os.path.join(folder, b"commands", b"takeback", f"{name}.md".encode())


def plan_install(folder: bytes, level: Level, data_dir: str) -> tuple[FileEdit, ...]:
    """The commands as they should be.

    Args:
        folder: Claude Code's folder of the level.

    Raises:
        UsageError: a file that is not ours has the name of one of them.
    """
    command = cli_command(data_dir)
    edits = []
    for name, (verb, what, hint) in _VERBS.items():
        mark = ownedfile.mark("claude")
        text = _TEXT.format(mark=mark, what=what, hint=hint, command=command, verb=verb, name=name)
        edits.append(ownedfile.write(_path(folder, name), text.encode(), "claude", level))
    return tuple(edits)


def plan_uninstall(folder: bytes, level: Level) -> tuple[FileEdit, ...]:
    """Our commands taken away; see `plan_install`."""
    found = (ownedfile.delete(_path(folder, name), "claude", level) for name in _VERBS)
    # Their own folder goes with them, and the one for all commands where it held no others.
    return tuple(replace(edit, folders=2) for edit in found if edit is not None)


def problem(folder: bytes) -> str:
    """Why our commands of a level do not work, "" where they do."""
    for name in _VERBS:
        path = _path(folder, name)
        try:
            data = read_file(path)
        except UsageError:
            return f"{os.fsdecode(path)!r} cannot be read"
        if not ownedfile.is_ours(data, "claude"):
            return f"{os.fsdecode(path)!r} is not there, or not takeback's"
        found = re.search(rb"^!`([^`\n]+)`$", data or b"", re.MULTILINE)
        words = words_of(found[1].decode("utf-8", "replace")) if found else []
        if not words or not os.access(words[0], os.X_OK):
            return f"what {os.fsdecode(path)!r} runs is gone"
    return ""
