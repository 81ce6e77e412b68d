"""The verbs that connect and disconnect an agent."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from takeback.engine.agents import install as agents
from takeback.engine.errors import Exit, UsageError
from takeback.tui import context
from takeback.tui.text import safe

if TYPE_CHECKING:
    from takeback.engine.agents.install import FileEdit
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output


def install(args: Arguments, out: Output) -> int:
    """Connect an agent at one level."""
    agent = agents.known(args.places[0])
    level: agents.Level = "project" if args.flag("--project") else "user"
    data = args.value("--data-dir")
    edits = agents.plan_install(agent, level, _root(args), _home(), data)
    where = "this project" if level == "project" else "all your projects"
    done = connected_words(agent, level)
    return _carry_out(agent, edits, args, out, done, f"{agent} was connected for {where} before.")


def uninstall(args: Arguments, out: Output) -> int:
    """Disconnect an agent, at both levels or at the one that is named."""
    agent = agents.known(args.places[0])
    edits = list(agents.plan_uninstall(agent, _root(args), _home()))
    for level in ("user", "project"):
        if args.flag(f"--{level}"):
            edits = [edit for edit in edits if edit.level == level]
    done = disconnected_words(agent)
    return _carry_out(agent, edits, args, out, done, f"{agent} was not connected.")


def connected_words(agent: str, level: agents.Level) -> str:
    """What is said once an agent is connected."""
    where = "this project" if level == "project" else "all your projects"
    return f"{agent} is connected for {where}. {agents.setup(agent).NEXT}"


def disconnected_words(agent: str) -> str:
    """What is said once an agent is disconnected."""
    return f"{agent} is disconnected. What was recorded stays."


def _root(args: Arguments) -> bytes:
    """The project's root; the caller's folder where there can be none."""
    from takeback.engine import config
    from takeback.engine.store import paths

    folder, data = context.folder(args), context.data(args)
    allow = config.load(None, data).allow_root
    try:
        place = paths.find_root(folder, data, allow)
    except UsageError:
        if args.flag("--project"):
            raise
        return folder
    if place.refused and args.flag("--project"):
        raise UsageError(f"This is no project: {place.refused}. Nothing was changed.")
    return place.path


def _home() -> bytes:
    return os.fsencode(os.path.expanduser("~"))


def _carry_out(
    agent: str, edits: Sequence[FileEdit], args: Arguments, out: Output, done: str, idle: str
) -> int:
    """Show each edit and apply it, unless it is only to be shown."""
    dry = args.flag("--dry-run")
    edits = [edit for edit in edits if edit.changes]
    lines = [line for edit in edits for line in shown(edit)]
    if not dry:
        agents.apply_all(edits)
    document = {
        "agent": agent,
        "changed": bool(edits) and not dry,
        "dry_run": dry,
        "files": [os.fsdecode(edit.path) for edit in edits],
    }
    said = "Nothing was changed (--dry-run)." if dry else done
    out.answer(document, [*lines, safe(said)] if edits else [safe(f"{idle} Nothing was changed.")])
    return Exit.DONE


def shown(edit: FileEdit) -> list[str]:
    """An edit as a diff without context: the lines around it are the user's, perhaps secret.

    For the same reason a file that is one single line is only named.
    """
    name = os.fsdecode(edit.path)
    old, new = (
        (data or b"").decode("utf-8", "surrogateescape").splitlines()
        for data in (edit.before, edit.after)
    )
    if len(old) == 1 or len(new) == 1:
        return [safe(f"takeback's hooks in {name}, a file of one line.")]
    names = ["/dev/null" if data is None else name for data in (edit.before, edit.after)]
    diff = difflib.unified_diff(old, new, names[0], names[1], n=0, lineterm="")
    return [safe(line) for line in diff]
