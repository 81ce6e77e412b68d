"""Connecting OpenCode: a plugin in its settings folder."""

from __future__ import annotations

import json
import os
import shlex

from takeback.engine.agents import hookstatus, ownedfile
from takeback.engine.agents.command import cli_command, hook_command, literal, words_of
from takeback.engine.agents.files import NOTHING, Check, FileEdit, Level, read_file
from takeback.engine.agents.opencode.events import READERS
from takeback.engine.errors import UsageError

PROGRAM = "opencode"
TITLE = "OpenCode"
NEXT = (
    "Start it anew where it runs already; with its first plugin it fetches what plugins need, "
    "which takes a while. Within it, /takeback-undo, /takeback-redo and /takeback-status call "
    "takeback."
)

_AGENT = "opencode"
_LEVELS: tuple[Level, ...] = ("user", "project")
_COMMANDS = {
    "takeback-undo": ("undo", "Take back what the newest turn did to files"),
    "takeback-redo": ("redo", "Put back what the newest undo took back"),
    "takeback-status": ("history", "Show what undo and redo would do next"),
}
"""What the user can call within OpenCode, with takeback's verb: the plugin runs it."""

_COMMAND = """\
---
# Made by takeback. {mark}
description: {what}
---
/{name} $ARGUMENTS

The user called takeback, which undoes what was done to files; what it said stands below. Show it \
to the user word for word and end your turn. Do not repair, restore or change any file by yourself.
"""


def config_folder(level: Level, root: bytes, home: bytes) -> bytes:
    """OpenCode's settings folder of a level."""
    if level == "project":
        return os.path.join(root, b".opencode")
    own = os.environ.get("XDG_CONFIG_HOME")
    folder = os.path.abspath(os.fsencode(own)) if own else os.path.join(home, b".config")
    return os.path.join(folder, b"opencode")


def plugin_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Where our plugin of a level stands."""
    return os.path.join(config_folder(level, root, home), b"plugin", b"takeback.js")


def plugin(data_dir: str = "") -> bytes:
    """The plugin's text.

    Raises:
        UsageError: it is not known which Python it should start.
    """
    text = _template()
    for name, command in (("HOOK", hook_command(_AGENT, data_dir)), ("CLI", cli_command(data_dir))):
        text = text.replace(f"@{name}@", f"[{', '.join(map(literal, words_of(command)))}]")
    return text.encode()


def _template() -> str:
    with open(os.path.join(os.path.dirname(__file__), "plugin.js"), encoding="utf-8") as file:
        text = file.read()
    verbs = {name: verb for name, (verb, _) in _COMMANDS.items()}
    text = text.replace("@COMMANDS@", json.dumps(verbs))
    return text.replace("@READERS@", json.dumps(sorted(READERS)))


def _command_files(level: Level, root: bytes, home: bytes) -> dict[bytes, bytes]:
    folder = os.path.join(config_folder(level, root, home), b"command")
    mark = ownedfile.mark(_AGENT)
    return {
        os.path.join(folder, f"{name}.md".encode()): _COMMAND.format(
            mark=mark, name=name, what=what
        ).encode()
        for name, (_, what) in _COMMANDS.items()
    }


def plan_install(level: Level, root: bytes, home: bytes, data_dir: str) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`."""
    path = plugin_file(level, root, home)
    other = plugin_file("project" if level == "user" else "user", root, home)
    if os.path.realpath(other) == os.path.realpath(path):
        if level == "project":
            raise UsageError(
                f"{os.fsdecode(path)!r} is the file of all your projects. {NOTHING}",
                "Leave --project out.",
            )
    elif ownedfile.is_ours(read_file(other), _AGENT):
        raise UsageError(
            f"{_AGENT} is already connected, in {os.fsdecode(other)!r}; at two levels, every event "
            f"would be recorded twice. {NOTHING}",
            f"Run 'takeback uninstall {_AGENT}' first.",
        )
    edits = [ownedfile.write(path, plugin(data_dir), _AGENT, level)]
    for name, text in _command_files(level, root, home).items():
        # A command of the user's that is called so stays.
        before = read_file(name)
        if before is None or ownedfile.is_ours(before, _AGENT):
            edits.append(FileEdit(name, before, text, level))
    return tuple(edits)


def plan_uninstall(root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    found: dict[bytes, FileEdit] = {}
    for level in _LEVELS:
        for path in (plugin_file(level, root, home), *_command_files(level, root, home)):
            edit = ownedfile.delete(path, _AGENT, level)
            if edit is not None:
                found.setdefault(os.path.realpath(edit.path), edit)
    return tuple(found.values())


def status(root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    checks: list[Check] = []
    connected: dict[bytes, Level] = {}
    for level in _LEVELS:
        path = plugin_file(level, root, home)
        if os.path.realpath(path) in connected:
            continue
        try:
            data = read_file(path)
        except UsageError as error:
            message = error.message.replace(f" {NOTHING}", "")
            checks.append((_AGENT, False, message, error.hint))
            continue
        if data is not None and ownedfile.is_ours(data, _AGENT):
            connected[os.path.realpath(path)] = level
            checks.append(_connection(level, path, data))
    if len(connected) > 1:
        message = f"{TITLE} is connected at two levels, so every event is recorded twice."
        fix = f"Run 'takeback uninstall {_AGENT}', then 'takeback install {_AGENT}'."
        checks.append((_AGENT, False, message, fix))
    if not checks:
        fix = f"takeback install {_AGENT} connects it."
        checks.append((_AGENT, True, f"{TITLE} is not connected.", fix))
    return checks


def _connection(level: Level, path: bytes, data: bytes) -> Check:
    shown = os.fsdecode(path)
    fix = f"takeback install {_AGENT}" + (" --project" if level == "project" else "")
    words = _hook_of(data)
    why = hookstatus.stale(shlex.join(words)) if words else "it does not say what to start"
    if why:
        message = f"{TITLE}'s plugin {shown!r} does not work: {why}."
        return (_AGENT, False, message, fix)
    if _rest(data) != _rest(_template().encode()):
        message = f"{TITLE}'s plugin {shown!r} is of another version of takeback."
        return (_AGENT, False, message, fix)
    where = "this project" if level == "project" else "all projects"
    return (_AGENT, True, f"{TITLE} is connected for {where}, in {shown!r}.", "")


_HOOK = b"const HOOK = "
_VARYING = (_HOOK, b"const CLI = ")


def _hook_of(data: bytes) -> list[str]:
    """The command that a plugin starts; empty where none can be read."""
    line = next((line for line in data.split(b"\n") if line.startswith(_HOOK)), b"")
    try:
        words = json.loads(line.removeprefix(_HOOK))
    except ValueError:
        return []
    good = isinstance(words, list) and words and all(isinstance(word, str) for word in words)
    return words if good else []


def _rest(data: bytes) -> list[bytes]:
    """A plugin without its commands, which differ by installation and data folder."""
    return [line for line in data.split(b"\n") if not line.startswith(_VARYING)]
