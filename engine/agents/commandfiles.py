"""Commands within an agent, one file each, beside hooks in a settings file.

The command line is called before the model is asked, and its answer stands in the prompt: nothing
has to be decided by the model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from takeback.engine.agents import hookfile, hookstatus, ownedfile
from takeback.engine.agents.command import cli_command
from takeback.engine.agents.files import Check, FileEdit, Level, read_file
from takeback.engine.agents.hookfile import Hooks
from takeback.engine.errors import UsageError

LEVELS: tuple[Level, ...] = ("user", "project")

NEXT = (
    "Start it anew where it runs already. Within it, /takeback:undo, /takeback:redo and "
    "/takeback:status call takeback."
)


@dataclass(frozen=True, slots=True)
class Commands:
    """How an agent takes commands.

    Attributes:
        hooks: those that come with them.
        folder: the agent's own folder of a level, of a root and a home.
        ending: what its files end with.
        texts: for each command, by its name, what its file holds, given our command line.
        program: the program that a file of ours runs, "" where that cannot be told.
    """

    hooks: Hooks
    folder: Callable[[Level, bytes, bytes], bytes]
    ending: bytes
    texts: dict[str, Callable[[str], str]]
    program: Callable[[bytes], str]

    def path(self, folder: bytes, name: str) -> bytes:
        """The file of a command in a folder of the agent's."""
        return os.path.join(folder, b"commands", b"takeback", name.encode() + self.ending)


def plan_install(
    commands: Commands, level: Level, root: bytes, home: bytes, data_dir: str
) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_install`.

    Raises:
        UsageError: as there, or a file that is not ours has the name of one of the commands.
    """
    hooks = hookfile.plan_install(commands.hooks, level, root, home, data_dir)
    agent, folder = commands.hooks.agent, commands.folder(level, root, home)
    call = cli_command(data_dir)
    return (
        hooks,
        *(
            ownedfile.write(commands.path(folder, name), text(call).encode(), agent, level)
            for name, text in commands.texts.items()
        ),
    )


def plan_uninstall(commands: Commands, root: bytes, home: bytes) -> tuple[FileEdit, ...]:
    """See `takeback.engine.agents.install.plan_uninstall`."""
    edits = list(hookfile.plan_uninstall(commands.hooks, root, home))
    for level in LEVELS:
        folder = commands.folder(level, root, home)
        for name in commands.texts:
            edit = ownedfile.delete(commands.path(folder, name), commands.hooks.agent, level)
            known = {os.path.realpath(one.path) for one in edits}
            if edit is not None and os.path.realpath(edit.path) not in known:
                # Their own folder goes with them, and that for all commands if it held no others.
                edits.append(replace(edit, folders=2))
    return tuple(edits)


def status(commands: Commands, root: bytes, home: bytes) -> list[Check]:
    """See `takeback.engine.agents.connection.status`."""
    hooks = commands.hooks
    checks = hookstatus.status(hooks, root, home)
    for level in hookstatus.levels(hooks, root, home):
        why = problem(commands, commands.folder(level, root, home))
        if why:
            fix = f"takeback install {hooks.agent}" + (" --project" if level == "project" else "")
            message = f"The commands of takeback in {hooks.title} do not work: {why}."
            checks.append((hooks.agent, False, message, fix))
    return checks


def problem(commands: Commands, folder: bytes) -> str:
    """Why our commands in a folder of the agent's do not work, "" where they do."""
    for name in commands.texts:
        path = commands.path(folder, name)
        try:
            data = read_file(path)
        except UsageError:
            return f"{os.fsdecode(path)!r} cannot be read"
        if data is None or not ownedfile.is_ours(data, commands.hooks.agent):
            return f"{os.fsdecode(path)!r} is not there, or not takeback's"
        if not os.access(commands.program(data), os.X_OK):
            return f"what {os.fsdecode(path)!r} runs is gone"
    return ""
