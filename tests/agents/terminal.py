"""An agent's own terminal app, driven as a person does: keys in, the screen out. Needs tmux."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_LONGEST_S = 90
_LOOK_S = 0.2
_TRIES = 15


class Terminal:
    """A window of a tmux server of its own, in which a program runs."""

    def __init__(self, socket: Path, words: Sequence[str], folder: Path, env: Mapping[str, str]):
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull]
        given = [f"{name}={value}" for name, value in env.items()]
        command = shlex.join(["env", "-i", *given, *words])
        # It stays when the program ends, so that its last words can be read.
        self._do("set", "-g", "remain-on-exit", "on", ";", "new-session", "-d", "-x", "110",
                 "-y", "50", "-c", str(folder), command, start=True)  # fmt: skip

    def _do(self, *words: str, start: bool = False) -> str:
        if start:
            words = ("start-server", ";", *words)
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done
        return done.stdout

    def screen(self) -> str:
        """What is seen, as text."""
        return self._do("capture-pane", "-p", "-J")

    def type(self, text: str) -> None:
        """Type a line and send it."""
        shown = text[:40]
        before = self.screen().count(shown)

        def stands() -> bool:
            # An app that was not ready has thrown the keys away.
            self._do("send-keys", "-l", text)
            for _ in range(_TRIES):
                if self.screen().count(shown) > before:
                    return True
                time.sleep(_LOOK_S)
            return False

        self.until(stands, f"{text!r} stands there")
        # Typed at once, a line end would be taken for one within pasted text.
        time.sleep(_LOOK_S)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        """Press keys, by tmux's names for them."""
        for key in keys:
            self._do("send-keys", key)
            time.sleep(0.2)

    def sees(self, text: str) -> None:
        """Wait until a text is on the screen."""
        self.until(lambda: text in self.screen(), f"{text!r} is on the screen")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until something holds.

        Raises:
            AssertionError: it does not; with what is on the screen.
        """
        end = time.monotonic() + _LONGEST_S
        while not holds():
            assert time.monotonic() < end, f"never: {what}\n{self.screen()}"
            time.sleep(_LOOK_S)

    def is_over(self) -> bool:
        """Whether the program has ended."""
        return self._do("display-message", "-p", "#{pane_dead}").strip() == "1"

    def close(self) -> None:
        """End the program and the server."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, timeout=30)


@contextmanager
def opened(
    socket: Path, words: Sequence[str], folder: Path, env: Mapping[str, str]
) -> Iterator[Terminal]:
    """A program in a terminal, ended in the end."""
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux to run the agent's terminal app in")
    terminal = Terminal(socket, words, folder, env)
    try:
        yield terminal
    finally:
        terminal.close()


@contextmanager
def model(bed: Path, scenario: dict[str, Any], root: Path, home: Path) -> Iterator[str]:
    """The bed's scripted model on this machine; its address."""
    spec = importlib.util.spec_from_file_location("bed_model_server", bed / "modelserver.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    server = module.start(scenario, root=str(root), home=str(home))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()


def program(env: Mapping[str, str], pattern: str) -> str:
    """An agent's program in the bed's own folder."""
    found = sorted(Path(env["BED_NODE"]).glob(pattern))
    if not found:
        pytest.skip(f"the bed has no {pattern}")
    return str(found[-1])
