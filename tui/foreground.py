"""Letting another program have the terminal until it ends, and taking the terminal back."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence

from takeback.engine.agents.programs import cannot_start, environment
from takeback.engine.errors import TakebackError
from takeback.tui.text import safe

_HELD = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
"""What the keyboard sends to the whole group is meant for the program alone."""


def run(argv: Sequence[str], folder: bytes, title: str) -> int:
    """Run a program until it ends; its exit code, 128+n for a signal.

    Args:
        title: how people call it.

    Raises:
        TakebackError: it could not be started.
    """
    with _held():
        try:
            child = subprocess.Popen(argv, cwd=folder or None, env=environment(folder))
        except (OSError, ValueError) as error:
            raise TakebackError(*cannot_start(argv, folder, error)) from error
        code = _ended(child)
        _take_terminal()
        if code:
            _read_first(f"{title} ended with exit code {code}. Enter goes back to takeback.")
    return code


def say(text: str) -> None:
    """Write a line to the terminal, if anybody still reads it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"{safe(text)}\n")
        sys.stderr.flush()


@contextlib.contextmanager
def _held() -> Iterator[None]:
    # Handlers, not SIG_IGN: what is ignored stays so in the program that is started.
    old = {number: signal.signal(number, lambda *_: None) for number in _HELD}
    try:
        yield
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _ended(child: subprocess.Popen[bytes]) -> int:
    """Wait for the end; one that was stopped goes on, because no shell could let it."""
    while True:
        _, status = os.waitpid(child.pid, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            os.kill(child.pid, signal.SIGCONT)
            continue
        code = os.waitstatus_to_exitcode(status)
        child.returncode = code
        return code if code >= 0 else 128 - code


def _take_terminal() -> None:
    """Be in the foreground again, also where the program left another group there."""
    old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    try:
        with contextlib.suppress(OSError, ValueError):
            os.tcsetpgrp(sys.stdin.fileno(), os.getpgrp())
    finally:
        signal.signal(signal.SIGTTOU, old)


def _read_first(text: str) -> None:
    """Leave what the program wrote on the screen until somebody has read it."""
    say(text)
    with contextlib.suppress(OSError, ValueError):
        if sys.stdin.isatty():
            sys.stdin.readline()
