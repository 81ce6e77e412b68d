"""Undo, redo and status within Codex: skills, which is what it has for commands of one's own.

The user calls them by name, as ``$takeback-undo``; the model does not choose them by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from takeback.engine.agents.codex.folders import config_folder
from takeback.engine.agents.command import cli_command
from takeback.engine.agents.files import FileEdit, Level, read_file

MARK = "# Written by takeback; 'takeback uninstall codex' removes it."
"""What tells our files from others."""
_MARKED = 200

_VERBS = {
    "undo": ("undo", "Take back what the newest turn did to files"),
    "redo": ("redo", "Put back what the newest undo took back"),
    "status": ("history", "Show what undo and redo would do next"),
}

_SKILL = """\
---
{mark}
name: takeback-{name}
description: "{what}, with takeback. Only when the user asks for it by name."
---

Run this command once, exactly as it stands, before anything else and with no other tool call:

```sh
{command} {verb}
```

- It writes to takeback's own folder, outside the workspace: where commands run in a sandbox, ask \
for escalated permissions for it at once.
- Then show the user what it printed, word for word, and end your turn.
- Exit code 3: there is nothing to do. Exit code 4: it needs a decision of the user; show what it \
says, and run it again with an option of it only when the user names one.
- Do not repair, restore or change any file by yourself.
"""

_POLICY = """\
{mark}
interface:
  display_name: "takeback {name}"
  short_description: "{what}"
policy:
  allow_implicit_invocation: false
"""

_FOLDERS = 3
"""``skills/NAME/agents``: these go with the last file where nothing else is in them."""


def _texts(data_dir: str) -> Iterator[tuple[bytes, bytes]]:
    """Each file of a skill, relative to the settings' folder, with its content."""
    command = cli_command(data_dir)
    for name, (verb, what) in _VERBS.items():
        fields = {"mark": MARK, "name": name, "verb": verb, "what": what, "command": command}
        for path, text in zip(_paths(name), (_SKILL, _POLICY), strict=True):
            yield path, text.format(**fields).encode()


def _paths(name: str) -> tuple[bytes, bytes]:
    folder = f"skills/takeback-{name}".encode()
    return folder + b"/SKILL.md", folder + b"/agents/openai.yaml"


def _folder(level: Level, root: bytes, home: bytes) -> bytes:
    return os.path.join(root, b".codex") if level == "project" else config_folder(home)


def is_ours(data: bytes | None) -> bool:
    """Whether a file is one that we wrote."""
    return data is not None and MARK.encode() in data[:_MARKED]


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """The skills as they should be; a file of the same name that is not ours stays."""
    edits = []
    for name, text in _texts(data_dir):
        path = os.path.join(_folder(level, root, home), name)
        before = read_file(path)
        if before is None or is_ours(before):
            edits.append(FileEdit(path, before, text, level))
    return tuple(edits)


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """Our skills taken away, at both levels."""
    edits: list[FileEdit] = []
    levels: tuple[Level, ...] = ("user", "project")
    for level in levels:
        for name in (path for verb in _VERBS for path in _paths(verb)):
            path = os.path.join(_folder(level, root, home), name)
            before = read_file(path)
            known = any(os.path.realpath(edit.path) == os.path.realpath(path) for edit in edits)
            if is_ours(before) and not known:
                edits.append(FileEdit(path, before, None, level, _FOLDERS))
    return tuple(edits)
