"""Undo, redo and status within Gemini CLI: commands, as it reads them from files of its folder.

The command line is called before the model is asked, and its answer stands in the prompt: nothing
has to be decided by the model.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace

from takeback.engine.agents import ownedfile
from takeback.engine.agents.command import cli_command, literal, words_of
from takeback.engine.agents.files import FileEdit, Level, read_file
from takeback.engine.errors import UsageError

_VERBS = {
    "undo": ("undo", "Take back what the newest turn did to files"),
    "redo": ("redo", "Put back what the newest undo took back"),
    "status": ("history", "Show what undo and redo would do next"),
}

# Gemini CLI gives what follows a command as one word: the shell takes it apart again.
_PROMPT = """\
takeback {name}, called by the user. It was run already and said:

!{{more={{{{args}}}}; {command} {verb} $more 2>&1}}

Show the user what it said, word for word, and end your turn. Call no tool; repair, restore or \
change no file. Where it needs a decision, the user calls the command again with the option that \
it names.
"""

_TEXT = """\
# Made by takeback. {mark}
description = {what}
prompt = {prompt}
"""


def _path(folder: bytes, name: str) -> bytes:
    return os.path.join(folder, b"commands", b"takeback", f"{name}.toml".encode())


def plan_install(folder: bytes, level: Level, data_dir: str) -> tuple[FileEdit, ...]:
    """The commands as they should be.

    Args:
        folder: Gemini CLI's folder of the level.

    Raises:
        UsageError: a file that is not ours has the name of one of them.
    """
    command = cli_command(data_dir)
    edits = []
    for name, (verb, what) in _VERBS.items():
        prompt = _PROMPT.format(name=name, verb=verb, command=command)
        mark = ownedfile.mark("gemini")
        text = _TEXT.format(mark=mark, what=literal(f"takeback: {what}"), prompt=literal(prompt))
        edits.append(ownedfile.write(_path(folder, name), text.encode(), "gemini", level))
    return tuple(edits)


def plan_uninstall(folder: bytes, level: Level) -> tuple[FileEdit, ...]:
    """Our commands taken away; see `plan_install`."""
    found = (ownedfile.delete(_path(folder, name), "gemini", level) for name in _VERBS)
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
        if data is None or not ownedfile.is_ours(data, "gemini"):
            return f"{os.fsdecode(path)!r} is not there, or not takeback's"
        if not os.access(_program(data), os.X_OK):
            return f"what {os.fsdecode(path)!r} runs is gone"
    return ""


def _program(data: bytes) -> str:
    """The program that a command of ours runs, "" where that cannot be told."""
    try:
        prompt = str(tomllib.loads(data.decode("utf-8")).get("prompt"))
    except ValueError:
        return ""
    words = words_of(prompt.partition("{{args}}; ")[2].partition(" 2>&1}")[0])
    return words[0] if words else ""
