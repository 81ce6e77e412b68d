"""Starting an agent's own program for what only the agent may do, such as copying a conversation.

The program gets no terminal, must answer in time, and is ended with all that it started.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from takeback.engine.agents.resume import CannotFork

_WAIT_S = 60.0
_END_S = 5.0


class Programs:
    """Starts programs of agents."""

    def run(
        self, argv: Sequence[str], folder: bytes, given: bytes = b"", wait_s: float = _WAIT_S
    ) -> bytes:
        """What a program writes to standard output.

        Raises:
            CannotFork: it cannot be started, fails, or does not end in time.
        """
        with self.started(argv, folder) as process:
            try:
                answer, said = process.communicate(given, wait_s)
            except subprocess.TimeoutExpired as error:
                raise CannotFork(
                    f"{argv[0]} did not answer within {wait_s:.0f} s, and was ended.",
                    f"See what it does by itself: {shlex.join(argv)}",
                ) from error
        if process.returncode:
            last = said.decode("utf-8", "replace").strip().split("\n")[-1]
            raise CannotFork(
                f"{argv[0]} failed with exit code {process.returncode}: {last or 'no message'}",
                f"See what it does by itself: {shlex.join(argv)}",
            )
        return answer

    @contextlib.contextmanager
    def started(
        self, argv: Sequence[str], folder: bytes, more: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A program that goes on while it is spoken with; it is ended afterwards in any case.

        Args:
            more: variables beside those of our own environment.

        Raises:
            CannotFork: it cannot be started.
        """
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                argv,
                cwd=folder or None,
                env={**environment(folder), **(more or {})},
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise CannotFork(*cannot_start(argv, folder, error)) from error
        try:
            yield process
        finally:
            _end(process)


def lines(said: IO[bytes], wait_s: float = _WAIT_S) -> Iterator[bytes]:
    """The lines of a program's output, as long as it has any in time."""
    rest = b""
    end = time.monotonic() + wait_s
    with selectors.DefaultSelector() as selector:
        selector.register(said, selectors.EVENT_READ)
        while selector.select(max(0.0, end - time.monotonic())):
            read = os.read(said.fileno(), 1 << 16)
            if not read:
                break
            *whole, rest = (rest + read).split(b"\n")
            yield from whole


def environment(folder: bytes) -> dict[str, str]:
    """Our own environment for a program in a folder: some ask PWD where they are."""
    return {**os.environ, **({"PWD": os.fsdecode(folder)} if folder else {})}


def cannot_start(argv: Sequence[str], folder: bytes, error: Exception) -> tuple[str, str]:
    """Why a program could not be started, and what to do."""
    if isinstance(error, FileNotFoundError) and folder and not os.path.isdir(folder):
        return (
            f"The folder {os.fsdecode(folder)} does not exist any more. Nothing was started.",
            "The conversation was begun there: its agent finds it in that folder only.",
        )
    if isinstance(error, FileNotFoundError):
        return (
            f"The program {argv[0]!r} was not found. Nothing was started.",
            f"Install it, or see that it stands in PATH: {shlex.join(argv)}",
        )
    reason = error.strerror if isinstance(error, OSError) else error
    return (
        f"The program {argv[0]!r} cannot be started: {reason}. Nothing was started.",
        f"Start it by hand: {shlex.join(argv)}",
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and what it started, gently first."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
            break
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
