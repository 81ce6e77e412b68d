"""How agents with hooks in a settings file are connected: for `doctor`. Reads only."""

from __future__ import annotations

import json
import os

from takeback.engine.agents.command import words_of
from takeback.engine.agents.files import Check, Level, read_file
from takeback.engine.agents.hookfile import HookFile, Hooks, OurHook
from takeback.engine.errors import UsageError


def status(hooks: Hooks, root: bytes, home: bytes) -> list[Check]:
    """How an agent is connected by hooks in its settings files."""
    agent, title = hooks.agent, hooks.title
    checks: list[Check] = []
    connected: list[Level] = []
    off = False
    levels: tuple[Level, ...] = ("user", "project")
    for level in levels:
        path = hooks.file(level, root, home)
        if level == "project" and os.path.realpath(path) == os.path.realpath(
            hooks.file("user", root, home)
        ):
            continue
        shown = os.fsdecode(path)
        try:
            data = read_file(path)
            if data is None or not data.strip():
                continue
            file = HookFile(path, data, hooks)
        except UsageError as error:
            checks.append(
                (agent, False, error.message.replace(" Nothing was changed.", ""), error.hint)
            )
            continue
        off = off or any(node.value is True for node in file.root.named("disableAllHooks"))
        found = list(file.ours())
        if found:
            connected.append(level)
            checks.append(_connection(hooks, level, shown, found))
    if len(connected) > 1:
        message = f"{title} is connected at two levels, so every event is recorded twice."
        fix = f"Run 'takeback uninstall {agent}', then 'takeback install {agent}'."
        checks.append((agent, False, message, fix))
    if connected and off:
        message = f"{title}'s hooks are switched off by 'disableAllHooks': nothing is recorded."
        checks.append((agent, False, message, "Remove that setting."))
    if not checks:
        checks.append(
            (
                agent,
                True,
                f"{title} is not connected.",
                f"takeback install {agent} connects it.",
            )
        )
    return checks


def levels(hooks: Hooks, root: bytes, home: bytes) -> list[Level]:
    """The levels at which an agent is connected, by what its settings files hold."""
    found: dict[bytes, Level] = {}
    both: tuple[Level, ...] = ("user", "project")
    for level in both:
        path = hooks.file(level, root, home)
        try:
            data = read_file(path)
            ours = bool(data and data.strip() and any(HookFile(path, data, hooks).ours()))
        except UsageError:
            continue
        if ours:
            found.setdefault(os.path.realpath(path), level)
    return list(found.values())


def _connection(hooks: Hooks, level: Level, shown: str, found: list[OurHook]) -> Check:
    agent, title = hooks.agent, hooks.title
    fix = f"takeback install {agent}" + (" --project" if level == "project" else "")
    for ours in found:
        why = stale(str(ours.command.value))
        if why:
            message = f"{title}'s hooks in {shown!r} do not work: {why}."
            return (agent, False, message, fix)
    missing = [event for event in hooks.events if event not in {ours.event for ours in found}]
    if missing:
        message = f"{title}'s hooks in {shown!r} lack {', '.join(missing)}."
        return (agent, False, message, fix)
    where = "this project" if level == "project" else "all projects"
    return (agent, True, f"{title} is connected for {where}, in {shown!r}.", "")


def stale(command: str) -> str:
    """Why a hook's command cannot work any more, or ""."""
    words = words_of(command)
    program = words[0]
    if os.path.isabs(program) and not os.access(program, os.X_OK):
        return f"{program!r} is gone"
    if "-c" in words[1:-1]:
        code = words[-1]
        start = code.find("sys.path.insert(0, ")
        try:
            folder, _ = json.JSONDecoder().raw_decode(code, start + len("sys.path.insert(0, "))
        except ValueError:
            return ""
        if not os.path.exists(os.path.join(str(folder), "takeback", "engine", "agents", "hook.py")):
            return f"takeback is gone from {folder!r}"
    return ""
