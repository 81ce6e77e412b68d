"""Connecting agents: our entries in their settings files, and nothing else in them.

An edit is planned first and applied later, so that it can be shown. The files belong to the user
and the agent: what is not ours stays byte for byte, and taking our entries out gives back the bytes
that were there before.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from takeback.engine.agents import jsontext
from takeback.engine.agents.jsontext import Node
from takeback.engine.errors import TakebackError, UsageError

Level = Literal["user", "project"]

AGENTS = ("claude",)
_LATER = ("codex", "opencode", "gemini", "pi", "acp")

_TIMEOUT_S = 60
_TOOLS = "Edit|Write|NotebookEdit|Bash|mcp__.*"
EVENTS = {
    "SessionStart": "",
    "UserPromptSubmit": "",
    "PreToolUse": _TOOLS,
    "PostToolUse": _TOOLS,
    "PostToolUseFailure": _TOOLS,
    "PostToolBatch": "",
    "SubagentStop": "",
    "Stop": "",
    "SessionEnd": "",
}
_ENTRY = "from takeback.engine.agents import hook"
_NOTHING = "Nothing was changed."


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file as it is and as it will be; None for a file that is not there."""

    path: bytes
    before: bytes | None
    after: bytes | None

    @property
    def changes(self) -> bool:
        return self.before != self.after


def known(agent: str) -> str:
    """The agent's name.

    Raises:
        UsageError: takeback cannot be connected to it.
    """
    if agent in AGENTS:
        return agent
    if agent in _LATER:
        raise UsageError(
            f"Connecting {agent!r} comes in a later version. {_NOTHING}",
            "Start it through 'takeback run -- COMMAND' meanwhile.",
        )
    raise UsageError(
        f"There is no agent {agent!r} to connect. {_NOTHING}",
        f"Agents: {', '.join(AGENTS)}. Others run through 'takeback run -- COMMAND'.",
    )


def settings_file(level: Level, root: bytes, home: bytes) -> bytes:
    """Claude Code's settings file of a level."""
    if level == "project":
        return os.path.join(root, b".claude", b"settings.json")
    own = os.environ.get("CLAUDE_CONFIG_DIR")
    folder = os.path.abspath(os.fsencode(own)) if own else os.path.join(home, b".claude")
    return os.path.join(folder, b"settings.json")


# --- The command ------------------------------------------------------------------------------


def import_folder() -> str | None:
    """The folder that takeback is imported from without the help of `site`, if there is one."""
    here = os.path.dirname(os.path.abspath(__file__))
    engine = os.path.dirname(here)
    installed = os.path.dirname(os.path.dirname(engine))
    checkout = os.path.join(os.path.dirname(engine), ".dev")
    for folder in (installed, checkout):
        try:
            if os.path.samefile(os.path.join(folder, "takeback", "engine", "agents"), here):
                return folder
        except OSError:
            continue
    return None


def hook_command(agent: str, data_dir: str = "") -> str:
    """The shell command that hooks run: this interpreter, started in the lightest way.

    Without `site` Python starts in half the time. The code does not name a file to run: where
    takeback is gone Python must not end with 2, which would block the agent.

    Raises:
        UsageError: the interpreter's place is unknown, or its name is no text.
    """
    if not sys.executable or not os.path.isabs(sys.executable):
        raise UsageError(f"It is not known which Python runs this. {_NOTHING}")
    data = os.path.abspath(data_dir) if data_dir else ""
    folder = import_folder()
    words = [sys.executable, "-I"]
    if folder is not None:
        more = f", {_literal(data)}" if data else ""
        code = (
            f"import sys; sys.path.insert(0, {_literal(folder)}); {_ENTRY}; "
            f"sys.exit(hook.main({_literal(agent)}{more}))"
        )
        words += ["-S", "-c", code]
    else:
        words += ["-m", "takeback.tui.cli", *(["--data-dir", data] if data else []), "hook", agent]
    command = " ".join(shlex.quote(word) for word in words)
    try:
        command.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The path {command!r} cannot stand in a settings file. {_NOTHING}",
            "Install takeback in a folder whose name is UTF-8.",
        ) from error
    return command


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def is_ours(command: Any, agent: str) -> bool:
    """Whether a hook's command is takeback's, of this or another installation."""
    words = words_of(command)
    if len(words) < 3:
        return False
    if "-c" in words[1:-1]:
        code = words[words.index("-c", 1) + 1]
        return words[-1] == code and f"{_ENTRY};" in code and f'main("{agent}"' in code
    by_module = "takeback.tui.cli" in words[1:]
    by_name = os.path.basename(words[0]) == "takeback"
    plain = not any(word in ("&&", "||", "|", ";", "&") for word in words)
    return words[-2:] == ["hook", agent] and plain and (by_module or by_name)


def words_of(command: Any) -> list[str]:
    """A shell command's words; none where it is no text or no command."""
    try:
        return shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return []


# --- The settings file ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OurHook:
    """One of our hooks in a file, with the containers around it, innermost last."""

    event: str
    trail: tuple[tuple[Node, int], ...]
    command: Node


class HookFile:
    """A settings file's text, taken apart.

    Raises:
        UsageError: it cannot be changed without risk to what is the user's.
    """

    def __init__(self, path: bytes, data: bytes, agent: str) -> None:
        self._path = path
        self._agent = agent
        try:
            text = data.decode("utf-8")
            self.mark = "\ufeff" if text.startswith("\ufeff") else ""
            self.text = text[len(self.mark) :]
            self.root = jsontext.parse(self.text)
        except (ValueError, RecursionError) as error:
            raise self._refused(f"is not valid JSON: {error}") from error
        if self.root.kind != "object":
            raise self._refused("is no JSON object")
        self.hooks = self._only(self.root, "hooks", "object")

    def _refused(self, why: str) -> UsageError:
        return UsageError(
            f"The settings file {os.fsdecode(self._path)!r} {why}. {_NOTHING}", "Mend it first."
        )

    def _only(self, node: Node, key: str, kind: str) -> Node | None:
        found = node.named(key)
        if len(found) > 1:
            raise self._refused(f"has {key!r} twice")
        if found and found[0].kind != kind:
            raise self._refused(f"has something else than an {kind} as {key!r}")
        return found[0] if found else None

    def groups(self, event: str) -> Node | None:
        """The array of an event's groups."""
        return self._only(self.hooks, event, "array") if self.hooks is not None else None

    def ours(self) -> Iterator[OurHook]:
        """Our hooks, in the order of the text."""
        if self.hooks is None:
            return
        for at, entry in enumerate(self.hooks.items):
            for group_at, group in enumerate(
                entry.value.items if entry.value.kind == "array" else ()
            ):
                lists = [node for node in group.value.named("hooks") if node.kind == "array"]
                for hooks in lists[:1]:
                    for hook_at, hook in enumerate(hooks.items):
                        commands = hook.value.named("command")
                        if commands and is_ours(commands[-1].value, self._agent):
                            trail = ((self.hooks, at), (entry.value, group_at), (hooks, hook_at))
                            yield OurHook(entry.key or "", trail, commands[-1])


def _installed(path: bytes, data: bytes, agent: str, command: str) -> bytes:
    file = HookFile(path, data, agent)
    file = _renewed(path, file, agent, command)
    style = jsontext.style_of(file.text, file.root)
    present = {ours.event for ours in file.ours()}
    for event, matcher in EVENTS.items():
        if event in present:
            continue
        hook = {"type": "command", "command": command, "timeout": _TIMEOUT_S}
        group = {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}
        groups = file.groups(event)
        if groups is not None:
            text = jsontext.put(file.text, groups, None, group, style)
        elif file.hooks is not None:
            text = jsontext.put(file.text, file.hooks, event, [group], style)
        else:
            text = jsontext.put(file.text, file.root, "hooks", {event: [group]}, style)
        file = HookFile(path, (file.mark + text).encode(), agent)
    return (file.mark + file.text).encode()


def _renewed(path: bytes, file: HookFile, agent: str, command: str) -> HookFile:
    """The file with the command in each of our hooks; those of one event more than once, or of an
    event that is not needed any more, are taken out."""
    seen: set[str] = set()
    for ours in file.ours():
        if ours.event in seen or ours.event not in EVENTS:
            rest = _without(file, ours)
            return _renewed(path, HookFile(path, rest or b"{}", agent), agent, command)
        seen.add(ours.event)
    text = file.text
    for ours in reversed(list(file.ours())):
        if ours.command.value != command:
            text = text[: ours.command.start] + _literal(command) + text[ours.command.end :]
    return HookFile(path, (file.mark + text).encode(), agent)


def _without(file: HookFile, ours: OurHook) -> bytes | None:
    """The file without one of our hooks, nor what would be empty only for that; None for nothing
    left.

    A container that was empty before stays, empty, as long as our group is laid out as we wrote it;
    where a program has written the file anew, what it was like before cannot be told.
    """
    (hooks, hook_at), (groups, group_at), (events, event_at) = reversed(ours.trail)
    if len(hooks.items) > 1:
        return (file.mark + jsontext.take(file.text, hooks, hook_at)).encode()
    as_written = not jsontext.began_empty(groups.items[group_at].value)
    top = next(at for at, item in enumerate(file.root.items) if item.value is events)
    for node, at in ((groups, group_at), (events, event_at), (file.root, top)):
        if len(node.items) > 1 or (as_written and jsontext.began_empty(node)):
            return (file.mark + jsontext.take(file.text, node, at)).encode()
    return None


def read_file(path: bytes) -> bytes | None:
    """A settings file's bytes, None where there is none.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UsageError(f"{os.fsdecode(path)!r} is no regular file. {_NOTHING}")
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(
            f"The settings file {os.fsdecode(path)!r} cannot be read: {error.strerror}. {_NOTHING}"
        ) from error


def _has_ours(path: bytes, data: bytes | None, agent: str) -> bool:
    if data is None or not data.strip():
        return False
    return any(True for _ in HookFile(path, data, agent).ours())


# --- Plans ------------------------------------------------------------------------------------


def plan_install(
    agent: str, level: Level, root: bytes, home: bytes, data_dir: str = ""
) -> FileEdit:
    """What connecting an agent changes; no change where it is connected already.

    Args:
        data_dir: the data folder, where the user chose another than the usual one.

    Raises:
        UsageError: no such agent, it is connected at the other level, or its settings file cannot
            be changed safely.
    """
    known(agent)
    path = settings_file(level, root, home)
    other_level: Level = "project" if level == "user" else "user"
    other = settings_file(other_level, root, home)
    if os.path.realpath(other) == os.path.realpath(path):
        if level == "project":
            raise UsageError(
                f"{os.fsdecode(path)!r} is the file of all your projects. {_NOTHING}",
                "Leave --project out.",
            )
    elif _has_ours(other, read_file(other), agent):
        shown = os.fsdecode(other)
        raise UsageError(
            f"{agent} is already connected, in {shown!r}; at two levels, every event would be "
            f"recorded twice. {_NOTHING}",
            f"Run 'takeback uninstall {agent}' first.",
        )
    before = read_file(path)
    command = hook_command(agent, data_dir)
    if before is None or not before.strip():
        hooks = {}
        for event, matcher in EVENTS.items():
            hook = {"type": "command", "command": command, "timeout": _TIMEOUT_S}
            hooks[event] = [{**({"matcher": matcher} if matcher else {}), "hooks": [hook]}]
        text = jsontext.Style("  ", "\n").written({"hooks": hooks}, "") + "\n"
        return FileEdit(path, before, text.encode())
    after = _installed(path, before, agent, command)
    _check(path, before, after, agent)
    return FileEdit(path, before, after)


def plan_uninstall(agent: str, root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """What disconnecting an agent changes, at both levels; empty where it is not connected.

    Raises:
        UsageError: no such agent, or a settings file cannot be changed safely.
    """
    known(agent)
    edits: list[FileEdit] = []
    for level in ("user", "project"):
        path = settings_file(level, root, home)
        if any(os.path.realpath(edit.path) == os.path.realpath(path) for edit in edits):
            continue
        before = read_file(path)
        if before is None or not _has_ours(path, before, agent):
            continue
        after: bytes | None = before
        while after is not None:
            file = HookFile(path, after, agent)
            ours = next(file.ours(), None)
            if ours is None:
                break
            after = _without(file, ours)
        if after is None and os.path.islink(path):
            after = b"{}\n"
        _check(path, before, after, agent)
        edits.append(FileEdit(path, before, after))
    return tuple(edits)


def _check(path: bytes, before: bytes, after: bytes | None, agent: str) -> None:
    """Make sure that an edit touches nothing but our hooks.

    Raises:
        UsageError: it would.
    """
    if _rest(before, agent) != _rest(after or b"{}", agent):
        raise UsageError(
            f"The settings file {os.fsdecode(path)!r} cannot be changed without touching the rest "
            f"of it. {_NOTHING}",
            "Add or remove takeback's hooks by hand.",
        )


def _rest(data: bytes, agent: str) -> Any:
    """All that is not ours, without containers that are empty."""

    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            if is_ours(value.get("command"), agent):
                return None
            found = {key: pruned(item) for key, item in value.items()}
            kept = {key: item for key, item in found.items() if item not in (None, {}, [])}
            return {} if set(kept) <= {"matcher"} and "hooks" in value else kept
        if isinstance(value, list):
            return [item for item in map(pruned, value) if item not in (None, {}, [])]
        return value

    return pruned(json.loads(data.decode("utf-8-sig")))


def apply_edit(edit: FileEdit) -> None:
    """Carry an edit out: at once or not at all, through a symbolic link, with the mode kept.

    Raises:
        UsageError: the file is not what the edit was made from.
        TakebackError: it cannot be written; nothing was changed.
    """
    if not edit.changes:
        return
    path = os.path.realpath(edit.path)
    if read_file(path) != edit.before:
        raise UsageError(f"{os.fsdecode(path)!r} was changed meanwhile. {_NOTHING}", "Try again.")
    try:
        if edit.after is None:
            os.unlink(path)
        else:
            _replace(path, edit.after)
    except OSError as error:
        raise TakebackError(
            f"{os.fsdecode(path)!r} cannot be written: {error.strerror}. {_NOTHING}"
        ) from error


def _replace(path: bytes, data: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    new = path + b".takeback-%d" % os.getpid()
    try:
        old: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        old = None
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if old is not None:
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                    try:
                        os.fchown(fd, old.st_uid, old.st_gid)
                    except OSError:
                        pass
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.flush()
            os.fsync(fd)
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise
