"""One writer per store: an advisory lock that the kernel releases when its owner dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType

from takeback.engine import work
from takeback.engine.errors import TakebackError

try:
    import fcntl
except ImportError:  # pragma: no cover - not a POSIX system
    fcntl = None  # type: ignore[assignment]


class StoreBusy(TakebackError):
    """Another process held the store for longer than this one may wait."""


class Lock:
    """A lock file. Nested use by the same object is counted.

    The file is never removed: removing it while somebody waits would give two owners.
    """

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._fd = -1
        self._depth = 0
        self.wait_s = 30.0
        self.notify: Callable[[str], None] | None = None

    def acquire(self) -> None:
        """Take the lock, waiting up to `wait_s` seconds.

        Raises:
            StoreBusy: the wait was too long.
            Cancelled: that was wanted while it waited.
            OSError: the file cannot be opened.
        """
        if self._depth:
            self._depth += 1
            return
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        self._depth = 1

    def _wait(self, fd: int) -> None:
        start = time.monotonic()
        pause, told = 0.002, False
        while True:
            try:
                if fcntl is not None:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                waited = time.monotonic() - start
            if waited >= self.wait_s:
                raise StoreBusy(
                    f"Another takeback process has held this project's store for {waited:.0f} s. "
                    "Nothing was done.",
                    "Try again when it is done.",
                )
            if waited >= 1 and not told and self.notify is not None:
                told = True
                self.notify("Waiting for another takeback process in this project…")
            work.check()
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)

    def release(self) -> None:
        self._depth -= 1
        if self._depth == 0:
            os.close(self._fd)
            self._fd = -1

    @property
    def held(self) -> bool:
        return self._depth > 0

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
