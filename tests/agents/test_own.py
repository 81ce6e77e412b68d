"""Which commands of an agent's shell are takeback itself."""

from __future__ import annotations

import os
import shlex
import sys
import sysconfig
from importlib import metadata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.engine.agents.command import cli_command
from takeback.engine.agents.own import is_own

COMMAND = cli_command("/my data")

OWN = [
    f"{COMMAND} undo",
    f"{COMMAND} redo --yes",
    f"{cli_command()} history",
    "takeback undo",
    "/opt/bin/takeback --data-dir /d undo --turn 3 --path 'a b'",
    "takeback -C /p --json log",
    "'/a b/python3' -I -m takeback.tui.cli show 3",
    "/usr/bin/python -m takeback.tui.cli diff",
]

OTHERS = [
    "",
    "takeback",
    "takeback --version",
    "takeback run -- rm x",
    "takeback record end --session s",
    "takeback hook codex",
    "takeback undo && rm x",
    "takeback undo; rm x",
    "takeback undo > out.txt",
    "takeback undo | tee out.txt",
    "takeback undo & rm x",
    "(takeback undo)",
    "takeback undo $(rm x)",
    "takeback undo `rm x`",
    'takeback undo "$(rm x)"',
    "takeback undo\nrm x",
    "rm x takeback undo",
    "X=1 takeback undo",
    "mytakeback undo",
    "takeback 'undo",
    "python -c 'import takeback' undo",
    "python -m takeback.engine undo",
    "python x.py takeback.tui.cli undo",
    "takeback --data-dir undo",
    f"rm x; {COMMAND} undo",
    "takeback undo " + "x" * 5000,
]


@pytest.mark.parametrize("command", OWN)
def test_takeback_by_itself_is_no_work_of_the_agent(command: str) -> None:
    assert is_own(command)


@pytest.mark.parametrize("command", OTHERS)
def test_anything_else_is(command: str) -> None:
    assert not is_own(command)


@given(st.text(max_size=30))
def test_any_text_is_taken(text: str) -> None:
    assert not is_own(f"takeback undo ;{text}")
    is_own(f"takeback {text}")


class _Found:
    """What is known of an installation."""

    def __init__(self, place: str) -> None:
        self._place = place

    def locate_file(self, path: str) -> str:
        return os.path.join(self._place, path)


@pytest.mark.parametrize("installed", [True, False])
def test_a_checkout_that_is_installed_is_called_without_code(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    place = sysconfig.get_path("purelib") if installed else "/"
    monkeypatch.setattr(metadata, "distribution", lambda name: _Found(place))
    command = cli_command("/my data")
    if installed:
        words = [sys.executable, "-I", "-m", "takeback.tui.cli", "--data-dir", "/my data"]
        assert shlex.split(command) == words
    else:
        assert "-c" in shlex.split(command) and "sys.path.insert" in command
    assert is_own(f"{command} undo --yes")
