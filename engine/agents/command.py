"""The command by which an agent's hook reaches us, and how such a command is known again."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any

from takeback.engine.agents.files import NOTHING
from takeback.engine.agents.own import CALL
from takeback.engine.errors import UsageError

_ENTRY = "from takeback.engine.agents import hook"


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
        raise UsageError(f"It is not known which Python runs this. {NOTHING}")
    data = os.path.abspath(data_dir) if data_dir else ""
    folder = import_folder()
    words = [sys.executable, "-I"]
    if folder is not None:
        more = f", {literal(data)}" if data else ""
        code = (
            f"import sys; sys.path.insert(0, {literal(folder)}); {_ENTRY}; "
            f"sys.exit(hook.main({literal(agent)}{more}))"
        )
        words += ["-S", "-c", code]
    else:
        words += ["-m", "takeback.tui.cli", *(["--data-dir", data] if data else []), "hook", agent]
    return _as_text(" ".join(shlex.quote(word) for word in words))


def cli_command(data_dir: str = "") -> str:
    """The shell command that runs takeback's command line with this interpreter, but for the verb.

    As plain as can be: Claude Code allows a command by its words, and none with code in it.

    Raises:
        UsageError: the interpreter's place is unknown, or its name is no text.
    """
    if not sys.executable or not os.path.isabs(sys.executable):
        raise UsageError(f"It is not known which Python runs this. {NOTHING}")
    folder = import_folder()
    words = [sys.executable, "-I"]
    if folder is not None and os.path.basename(folder) == ".dev" and not _is_installed():
        words += ["-c", f"import sys; sys.path.insert(0, {literal(folder)}); {CALL}"]
    else:
        words += ["-m", "takeback.tui.cli"]
    words += ["--data-dir", os.path.abspath(data_dir)] if data_dir else []
    return _as_text(" ".join(shlex.quote(word) for word in words))


def _is_installed() -> bool:
    """Whether this interpreter finds takeback by itself, also that of a checkout."""
    from importlib import metadata
    from sysconfig import get_path

    try:
        place = str(metadata.distribution("takeback").locate_file(""))
        return any(os.path.samefile(place, get_path(name)) for name in ("purelib", "platlib"))
    except (metadata.PackageNotFoundError, OSError):
        return False


def _as_text(command: str) -> str:
    try:
        command.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The path {command!r} cannot stand in a settings file. {NOTHING}",
            "Install takeback in a folder whose name is UTF-8.",
        ) from error
    return command


def literal(text: str) -> str:
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
