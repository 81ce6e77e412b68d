"""Undo, redo and status within Gemini CLI: commands, as it reads them from files of its folder."""

from __future__ import annotations

import tomllib
from collections.abc import Callable

from takeback.engine.agents import ownedfile
from takeback.engine.agents.command import literal, words_of

ENDING = b".toml"

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


def _text(name: str) -> Callable[[str], str]:
    verb, what = _VERBS[name]

    def text(command: str) -> str:
        prompt = literal(_PROMPT.format(name=name, verb=verb, command=command))
        mark = ownedfile.mark("gemini")
        return _TEXT.format(mark=mark, what=literal(f"takeback: {what}"), prompt=prompt)

    return text


TEXTS = {name: _text(name) for name in _VERBS}


def program(data: bytes) -> str:
    """The program that a command of ours runs, "" where that cannot be told."""
    try:
        prompt = str(tomllib.loads(data.decode("utf-8")).get("prompt"))
    except ValueError:
        return ""
    words = words_of(prompt.partition("{{args}}; ")[2].partition(" 2>&1}")[0])
    return words[0] if words else ""
