"""Whether the user has approved our hooks within Codex, as its settings say. Reads only.

Codex keeps the approval of each hook in ``config.toml``, by the hook's place and a hash of what it
runs. A hook that has none is left out without a word.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from takeback.engine.agents.files import Check, Level, read_file
from takeback.engine.agents.hookfile import HookFile, Hooks
from takeback.engine.agents.payload import as_map
from takeback.engine.errors import UsageError

BRIEF = ("Interrupt", "SessionEnd")
"""Events at which Codex waits for `BRIEF_S` seconds at most."""
BRIEF_S = 3

_FIX = "Start codex, type /hooks and approve takeback's hooks."


def checks(hooks: Hooks, folder: bytes, root: bytes, home: bytes) -> list[Check]:
    """What keeps Codex from running our hooks; empty where nothing does or none is installed.

    Args:
        folder: where Codex keeps its settings.
    """
    found: list[Check] = []
    levels: tuple[Level, ...] = ("user", "project")
    config: dict[str, Any] | None = None
    seen: set[bytes] = set()
    for level in levels:
        path = hooks.file(level, root, home)
        if os.path.realpath(path) in seen:
            continue
        seen.add(os.path.realpath(path))
        ours = list(_ours(hooks, path))
        if not ours:
            continue
        if config is None:
            config = _config(os.path.join(folder, b"config.toml"))
        if config is None:
            message = f"It cannot be seen whether {hooks.title}'s hooks are approved."
            return [(hooks.agent, False, message, _FIX)]
        sentence, fix = _problem(config, path, ours, root if level == "project" else None)
        if sentence:
            found.append((hooks.agent, False, f"{hooks.title} {sentence}", fix))
    return found


def _ours(hooks: Hooks, path: bytes) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Our hooks in a file: where each stands, in Codex's words, its event, and its group."""
    try:
        data = read_file(path)
        file = HookFile(path, data, hooks) if data and data.strip() else None
    except UsageError:
        # The check of the file itself says so.
        return
    for hook in file.ours() if file is not None else ():
        _, (groups, group_at), (inner, hook_at) = hook.trail
        node = groups.items[group_at].value
        assert file is not None
        group = json.loads(file.text[node.start : node.end])
        only = {**group, "hooks": [json.loads(_text(file, inner.items[hook_at].value))]}
        event = _label(hook.event)
        yield f"{event}:{group_at}:{hook_at}", event, only


def _label(event: str) -> str:
    """An event's name as Codex writes it in its settings."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def _text(file: HookFile, node: Any) -> str:
    return file.text[node.start : node.end]


def _config(path: bytes) -> dict[str, Any] | None:
    """Codex's settings; None where they cannot be read."""
    try:
        data = read_file(path)
        return tomllib.loads(data.decode("utf-8")) if data is not None else {}
    except (UsageError, ValueError, RecursionError):
        return None


def _problem(
    config: dict[str, Any],
    path: bytes,
    ours: list[tuple[str, str, dict[str, Any]]],
    project: bytes | None,
) -> tuple[str, str]:
    """The first reason why Codex does not run our hooks of a file, and what to do about it."""
    shown = os.fsdecode(path)
    if as_map(config.get("features")).get("hooks") is False:
        return "runs no hooks at all, as its config.toml says: nothing is recorded.", (
            "Remove 'hooks = false' from its [features]."
        )
    if project is not None and not _is_trusted(config, project):
        return f"does not run the hooks in {shown!r}: it does not trust the project.", (
            "Start codex in the project and trust it, then type /hooks and approve them."
        )
    states = as_map(as_map(config.get("hooks")).get("state"))
    new = old = off = 0
    for place, event, group in ours:
        state = as_map(states.get(f"{shown}:{place}"))
        off += state.get("enabled") is False
        kept = state.get("trusted_hash")
        new += kept is None
        old += kept is not None and kept != hash_of(event, group) and _is_plain(group)
    if new:
        return (
            f"waits for your approval of takeback's hooks in {shown!r}: nothing is recorded before."
        ), _FIX
    if off:
        return f"has takeback's hooks in {shown!r} switched off.", (
            "Start codex, type /hooks and switch them on."
        )
    if old:
        return (
            f"has takeback's hooks in {shown!r} approved as they were before, and may not run "
            "them as they are now."
        ), _FIX
    return "", ""


def _is_trusted(config: dict[str, Any], project: bytes) -> bool:
    projects = as_map(config.get("projects"))
    names = {os.fsdecode(project), os.fsdecode(os.path.realpath(project))}
    return any(as_map(projects.get(name)).get("trust_level") == "trusted" for name in names)


def _is_plain(group: dict[str, Any]) -> bool:
    """Whether a hook stands there as we write it, so that its hash is known."""
    hook = group["hooks"][0]
    return set(group) <= {"matcher", "hooks"} and set(hook) == {"type", "command", "timeout"}


def hash_of(event: str, group: dict[str, Any]) -> str:
    """What Codex keeps of a hook that was approved: a hash of all that decides what it runs."""
    value = {"event_name": event, **group}
    value["hooks"] = hooks = [{"async": False, **hook} for hook in group["hooks"]]
    if event in map(_label, BRIEF):
        for hook in hooks:
            if isinstance(hook.get("timeout"), int):
                hook["timeout"] = min(hook["timeout"], BRIEF_S)
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
