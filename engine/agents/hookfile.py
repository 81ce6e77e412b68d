"""Hooks in an agent's JSON settings file: ours are put in and taken out, all else stays.

The files belong to the user and the agent: what is not ours stays byte for byte, and taking our
entries out gives back the bytes that were there before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from takeback.engine.agents import jsontext
from takeback.engine.agents.command import hook_command, is_ours, literal
from takeback.engine.agents.files import NOTHING, FileEdit, Level, read_file
from takeback.engine.agents.jsontext import Node
from takeback.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class Hooks:
    """What an agent calls us for, and where that is written.

    Attributes:
        title: the agent's name as people write it.
        events: each event with the matcher of its tools, "" for none.
        timeout: in the agent's own unit.
        file: the settings file of a level, from the project's root and the home folder.
        shorter: events for which the agent allows less time, each with that.
        comments: the agent reads its settings with comments in them.
    """

    agent: str
    title: str
    events: Mapping[str, str]
    timeout: int
    file: Callable[[Level, bytes, bytes], bytes]
    shorter: Mapping[str, int] = field(default_factory=dict)
    comments: bool = False

    def group(self, event: str, command: str) -> dict[str, Any]:
        """An entry of an event's array."""
        matcher, timeout = self.events[event], self.shorter.get(event, self.timeout)
        hook = {"type": "command", "command": command, "timeout": timeout}
        return {**({"matcher": matcher} if matcher else {}), "hooks": [hook]}


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

    def __init__(self, path: bytes, data: bytes, hooks: Hooks) -> None:
        self._path = path
        self._agent = hooks.agent
        try:
            text = data.decode("utf-8")
            self.mark = "\ufeff" if text.startswith("\ufeff") else ""
            self.text = text[len(self.mark) :]
        except ValueError as error:
            raise self._refused(f"is no text: {error}") from error
        try:
            self.root = jsontext.parse(self.text, hooks.comments)
        except (ValueError, RecursionError) as error:
            why = _unread(self.text, hooks)
            raise self._refused(why or f"is not valid JSON: {error}") from error
        if self.root.kind != "object":
            raise self._refused("is no JSON object")
        self.hooks = self._only(self.root, "hooks", "object")

    def _refused(self, why: str) -> UsageError:
        return UsageError(
            f"The settings file {os.fsdecode(self._path)!r} {why}. {NOTHING}", "Mend it first."
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


def _unread(text: str, hooks: Hooks) -> str:
    """What a file that is no JSON has of JSON's looser forms, which its agent does not read."""
    for comments, commas in ((True, False), (False, True), (True, True)):
        try:
            jsontext.parse(jsontext.strict(text, comments, commas))
        except (ValueError, RecursionError):
            continue
        found = [
            comments and not hooks.comments and "comments",
            commas and "a comma behind the last of several values",
        ]
        has = " and ".join(word for word in found if word)
        return f"has {has}, so that {hooks.title} does not read the file"
    return ""


def _installed(path: bytes, data: bytes, hooks: Hooks, command: str) -> bytes:
    file = _renewed(path, HookFile(path, data, hooks), hooks, command)
    style = jsontext.style_of(file.text, file.root)
    present = {ours.event for ours in file.ours()}
    for event in hooks.events:
        if event in present:
            continue
        group = hooks.group(event, command)
        groups = file.groups(event)
        if groups is not None:
            text = jsontext.put(file.text, groups, None, group, style)
        elif file.hooks is not None:
            text = jsontext.put(file.text, file.hooks, event, [group], style)
        else:
            text = jsontext.put(file.text, file.root, "hooks", {event: [group]}, style)
        file = HookFile(path, (file.mark + text).encode(), hooks)
    return (file.mark + file.text).encode()


def _renewed(path: bytes, file: HookFile, hooks: Hooks, command: str) -> HookFile:
    """The file with the command in each of our hooks; those of one event more than once, or of an
    event that is not needed any more, are taken out."""
    seen: set[str] = set()
    for ours in file.ours():
        if ours.event in seen or ours.event not in hooks.events:
            rest = _without(file, ours)
            return _renewed(path, HookFile(path, rest or b"{}", hooks), hooks, command)
        seen.add(ours.event)
    text = file.text
    for ours in reversed(list(file.ours())):
        if ours.command.value != command:
            text = text[: ours.command.start] + literal(command) + text[ours.command.end :]
    return HookFile(path, (file.mark + text).encode(), hooks)


def _without(file: HookFile, ours: OurHook) -> bytes | None:
    """The file without one of our hooks, nor what would be empty only for that; None for nothing
    left.

    A container that was empty before stays, empty, as long as our group is laid out as we wrote it;
    where a program has written the file anew, what it was like before cannot be told. Nor is one
    emptied in which there are comments.
    """
    (hooks, hook_at), (groups, group_at), (events, event_at) = reversed(ours.trail)
    if len(hooks.items) > 1:
        return (file.mark + jsontext.take(file.text, hooks, hook_at)).encode()
    as_written = not jsontext.began_empty(groups.items[group_at].value)
    top = next(at for at, item in enumerate(file.root.items) if item.value is events)
    for node, at in ((groups, group_at), (events, event_at), (file.root, top)):
        was_empty = as_written and jsontext.began_empty(node)
        if len(node.items) > 1 or was_empty or jsontext.says_more(file.text, node, at):
            return (file.mark + jsontext.take(file.text, node, at)).encode()
    around = file.text[: file.root.start], file.text[file.root.end :]
    if any(map(jsontext.has_comments, around)):
        return (file.mark + "{}".join(around)).encode()
    return None


def _has_ours(path: bytes, data: bytes | None, hooks: Hooks) -> bool:
    if data is None or not data.strip():
        return False
    return any(True for _ in HookFile(path, data, hooks).ours())


def _check(path: bytes, before: bytes, after: bytes | None, hooks: Hooks) -> None:
    """Make sure that an edit touches nothing but our hooks.

    Raises:
        UsageError: it would.
    """
    if _rest(before, hooks) != _rest(after or b"{}", hooks):
        raise UsageError(
            f"The settings file {os.fsdecode(path)!r} cannot be changed without touching the rest "
            f"of it. {NOTHING}",
            "Add or remove takeback's hooks by hand.",
        )


def _rest(data: bytes, hooks: Hooks) -> Any:
    """All that is not ours, without containers that are empty."""

    def pruned(value: Any) -> Any:
        if isinstance(value, dict):
            if is_ours(value.get("command"), hooks.agent):
                return None
            found = {key: pruned(item) for key, item in value.items()}
            kept = {key: item for key, item in found.items() if item not in (None, {}, [])}
            return {} if set(kept) <= {"matcher"} and "hooks" in value else kept
        if isinstance(value, list):
            return [item for item in map(pruned, value) if item not in (None, {}, [])]
        return value

    text = data.decode("utf-8-sig")
    return pruned(json.loads(jsontext.strict(text) if hooks.comments else text))


# --- Plans ------------------------------------------------------------------------------------


def plan_install(
    hooks: Hooks, level: Level, root: bytes, home: bytes, data_dir: str = ""
) -> FileEdit:
    """What connecting an agent changes; no change where it is connected already.

    Args:
        data_dir: the data folder, where the user chose another than the usual one.

    Raises:
        UsageError: it is connected at the other level, or its settings file cannot be changed
            safely.
    """
    agent = hooks.agent
    path = hooks.file(level, root, home)
    other_level: Level = "project" if level == "user" else "user"
    other = hooks.file(other_level, root, home)
    if os.path.realpath(other) == os.path.realpath(path):
        if level == "project":
            raise UsageError(
                f"{os.fsdecode(path)!r} is the file of all your projects. {NOTHING}",
                "Leave --project out.",
            )
    elif _has_ours(other, read_file(other), hooks):
        shown = os.fsdecode(other)
        raise UsageError(
            f"{agent} is already connected, in {shown!r}; at two levels, every event would be "
            f"recorded twice. {NOTHING}",
            f"Run 'takeback uninstall {agent}' first.",
        )
    before = read_file(path)
    command = hook_command(agent, data_dir)
    if before is None or not before.strip():
        found = {event: [hooks.group(event, command)] for event in hooks.events}
        text = jsontext.Style("  ", "\n").written({"hooks": found}, "") + "\n"
        return FileEdit(path, before, text.encode(), level)
    after = _installed(path, before, hooks, command)
    _check(path, before, after, hooks)
    return FileEdit(path, before, after, level)


def plan_uninstall(hooks: Hooks, root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """What disconnecting an agent changes, at both levels; empty where it is not connected.

    Raises:
        UsageError: a settings file cannot be changed safely.
    """
    edits: list[FileEdit] = []
    levels: tuple[Level, ...] = ("user", "project")
    for level in levels:
        path = hooks.file(level, root, home)
        if any(os.path.realpath(edit.path) == os.path.realpath(path) for edit in edits):
            continue
        before = read_file(path)
        if before is None or not _has_ours(path, before, hooks):
            continue
        after: bytes | None = before
        while after is not None:
            file = HookFile(path, after, hooks)
            ours = next(file.ours(), None)
            if ours is None:
                break
            after = _without(file, ours)
        if after is None and os.path.islink(path):
            after = b"{}\n"
        _check(path, before, after, hooks)
        edits.append(FileEdit(path, before, after, level))
    return tuple(edits)
