"""How agents are connected: for `doctor`. Reads only."""

from __future__ import annotations

import json
import os

from takeback.engine.agents.install import (
    EVENTS,
    HookFile,
    Level,
    OurHook,
    read_file,
    settings_file,
    words_of,
)
from takeback.engine.errors import UsageError

Check = tuple[str, bool, str, str]
"""Name, whether it is well, a sentence, and what to do if not."""


def status(root: bytes, home: bytes) -> list[Check]:
    """How each agent that takeback can be connected to is connected."""
    checks: list[Check] = []
    connected: list[Level] = []
    off = False
    levels: tuple[Level, ...] = ("user", "project")
    for level in levels:
        path = settings_file(level, root, home)
        if level == "project" and os.path.realpath(path) == os.path.realpath(
            settings_file("user", root, home)
        ):
            continue
        shown = os.fsdecode(path)
        try:
            data = read_file(path)
            if data is None or not data.strip():
                continue
            file = HookFile(path, data, "claude")
        except UsageError as error:
            checks.append(
                ("claude", False, error.message.replace(" Nothing was changed.", ""), error.hint)
            )
            continue
        off = off or any(node.value is True for node in file.root.named("disableAllHooks"))
        found = list(file.ours())
        if found:
            connected.append(level)
            checks.append(_connection(level, shown, found))
    if len(connected) > 1:
        message = "Claude Code is connected at two levels, so every event is recorded twice."
        fix = "Run 'takeback uninstall claude', then 'takeback install claude'."
        checks.append(("claude", False, message, fix))
    if connected and off:
        message = "Claude Code's hooks are switched off by 'disableAllHooks': nothing is recorded."
        checks.append(("claude", False, message, "Remove that setting."))
    if not checks:
        checks.append(
            (
                "claude",
                True,
                "Claude Code is not connected.",
                "takeback install claude connects it.",
            )
        )
    return checks


def _connection(level: Level, shown: str, found: list[OurHook]) -> Check:
    fix = "takeback install claude" + (" --project" if level == "project" else "")
    for ours in found:
        why = _stale(str(ours.command.value))
        if why:
            message = f"Claude Code's hooks in {shown!r} do not work: {why}."
            return ("claude", False, message, fix)
    missing = [event for event in EVENTS if event not in {ours.event for ours in found}]
    if missing:
        message = f"Claude Code's hooks in {shown!r} lack {', '.join(missing)}."
        return ("claude", False, message, fix)
    where = "this project" if level == "project" else "all projects"
    return ("claude", True, f"Claude Code is connected for {where}, in {shown!r}.", "")


def _stale(command: str) -> str:
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
