"""Undo, redo and status within Claude Code: commands, as it runs them from files of its folder."""

from __future__ import annotations

import re
from collections.abc import Callable

from takeback.engine.agents import ownedfile
from takeback.engine.agents.command import words_of

ENDING = b".md"

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


def _text(name: str) -> Callable[[str], str]:
    verb, what, hint = _VERBS[name]
    fields = {"mark": ownedfile.mark("claude"), "what": what, "hint": hint, "verb": verb}
    return lambda command: _TEXT.format(name=name, command=command, **fields)


TEXTS = {name: _text(name) for name in _VERBS}


def program(data: bytes) -> str:
    """The program that a command of ours runs, "" where that cannot be told."""
    found = re.search(rb"^!`([^`\n]+)`$", data, re.MULTILINE)
    words = words_of(found[1].decode("utf-8", "replace")) if found else []
    return words[0] if words else ""
