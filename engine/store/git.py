"""Every git process of the product starts here.

The environment is scrubbed of all ``GIT_*``; no configuration of the user or the system, no hook,
prompt, pager or helper takes part; every call has a deadline and its error text is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from takeback.engine import work
from takeback.engine.errors import TakebackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from typing import IO

MINIMUM = (2, 30)


class GitError(TakebackError):
    """Git could not be started, failed, or did not answer in time."""


class GitTimeout(GitError):
    """Git did not answer in time; no further call is tried in this process."""


_timed_out = False
_answered = False
_FIRST_S = 5.0
"""A git that does not answer at all is found out within this time, and not asked again."""


def environment(extra: dict[bytes, bytes] | None = None) -> dict[bytes, bytes]:
    """The environment of every git process: the caller's, without anything that steers git."""
    env = {k: v for k, v in os.environb.items() if not k.startswith((b"GIT_", b"LC_", b"LANG"))}
    env.update(
        {
            b"GIT_CONFIG_GLOBAL": b"/dev/null",
            b"GIT_CONFIG_SYSTEM": b"/dev/null",
            b"GIT_CONFIG_NOSYSTEM": b"1",
            b"GIT_ATTR_NOSYSTEM": b"1",
            b"GIT_TERMINAL_PROMPT": b"0",
            b"GIT_OPTIONAL_LOCKS": b"0",
            b"GIT_NO_REPLACE_OBJECTS": b"1",
            b"GIT_LITERAL_PATHSPECS": b"1",
            b"GIT_FLUSH": b"0",
            b"LC_ALL": b"C",
        }
    )
    if extra:
        env.update(extra)
    return env


_FIXED = (
    "--no-pager",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "safe.directory=*",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
)


class Git:
    """Git on one git directory, with or without a work tree.

    Args:
        git_dir: the repository's directory.
        work_tree: the folder it is compared with.
        env: more environment, for example another object directory.
    """

    def __init__(
        self, git_dir: bytes, work_tree: bytes | None = None, env: dict[bytes, bytes] | None = None
    ) -> None:
        self.git_dir = git_dir
        self.work_tree = work_tree
        self._env = env

    def _argv(self, args: Iterable[str | bytes]) -> list[str | bytes]:
        argv: list[str | bytes] = ["git", *_FIXED, b"--git-dir=" + self.git_dir]
        if self.work_tree is not None:
            argv.append(b"--work-tree=" + self.work_tree)
        argv.extend(args)
        return argv

    def start(self, *args: str | bytes, stdin: bool = False) -> subprocess.Popen[bytes]:
        """Start a git process whose pipes the caller reads.

        Raises:
            GitError: there is no git that can be started.
        """
        import subprocess

        if _timed_out:
            raise GitTimeout("An earlier git call did not answer; no other was tried.")
        try:
            return subprocess.Popen(
                self._argv(args),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment(self._env),
                cwd=self.work_tree or self.git_dir,
            )
        except FileNotFoundError as error:
            raise GitError(
                "No git program was found on PATH, or a folder of the store is gone.",
                f"Install git {MINIMUM[0]}.{MINIMUM[1]} or newer and try again.",
            ) from error
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror}.") from error

    def run(
        self,
        *args: str | bytes,
        stdin: bytes | None = None,
        ok: Sequence[int] = (0,),
        timeout_s: float = 60.0,
    ) -> bytes:
        """Run git to its end and return its output.

        Raises:
            GitError: another exit code than those in `ok`, or no git.
            GitTimeout: no answer in `timeout_s`.
        """
        process = self.start(*args, stdin=stdin is not None)
        return finish(process, stdin, ok, timeout_s)


def finish(
    process: subprocess.Popen[bytes],
    stdin: bytes | None = None,
    ok: Sequence[int] = (0,),
    timeout_s: float = 60.0,
) -> bytes:
    """Collect the output of a process from `Git.start`; see `Git.run` for errors.

    Raises:
        Cancelled: that was wanted; the process was ended.
    """
    import subprocess

    global _answered
    exchange = _Exchange(process, stdin)
    try:
        try:
            out, err = exchange.go(timeout_s if _answered else _FIRST_S)
        except subprocess.TimeoutExpired:
            if _answered or not answers():
                raise
            # It answers, so this call is merely long.
            out, err = exchange.go(timeout_s)
        _answered = True
    except subprocess.TimeoutExpired as error:
        stop(process)
        give_up()
        raise GitTimeout("git did not answer in time. No other git call was tried.") from error
    except BaseException:
        stop(process)
        raise
    if process.returncode not in ok:
        said = err.decode("utf-8", "replace").strip().splitlines()
        detail = said[-1] if said else f"exit code {process.returncode}"
        raise GitError(f"git failed: {detail}.")
    return out


class _Exchange:
    """What ``Popen.communicate`` does, but it can be gone on with after a time without an answer.

    That one never writes the rest of the input when it is called again.
    """

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes | None) -> None:
        self._process = process
        self._left = memoryview(stdin or b"")
        self._parts: dict[int, list[bytes]] = {}
        self._open: dict[int, IO[bytes]] = {}
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            self._parts[stream.fileno()] = []
            self._open[stream.fileno()] = stream
        if process.stdin is not None:
            self._open[process.stdin.fileno()] = process.stdin
            if not self._left:
                self._close(process.stdin.fileno())

    def _close(self, fd: int) -> None:
        try:
            self._open.pop(fd).close()
        except BrokenPipeError:
            pass

    def go(self, timeout_s: float) -> tuple[bytes, bytes]:
        """Go on until the process ends.

        Raises:
            TimeoutExpired: it did not in this time.
            Cancelled: that was wanted.
        """
        import select
        import subprocess
        from time import monotonic

        end = monotonic() + timeout_s
        poll = select.poll()
        for fd in self._open:
            poll.register(fd, select.POLLIN if fd in self._parts else select.POLLOUT)
        while self._open:
            work.check()
            left = end - monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired("git", timeout_s)
            wait = min(left, work.SLICE_S) if work.can_stop() else left
            for fd, _ in poll.poll(max(1, int(wait * 1000))):
                if not (self._read(fd) if fd in self._parts else self._write(fd)):
                    poll.unregister(fd)
                    self._close(fd)
        self._process.wait(max(0.0, end - monotonic()))
        out, err = (b"".join(parts) for parts in self._parts.values())
        return out, err

    def _read(self, fd: int) -> bool:
        data = os.read(fd, 1 << 16)
        self._parts[fd].append(data)
        return bool(data)

    def _write(self, fd: int) -> bool:
        """Write as much as never blocks; whether there is more."""
        from select import PIPE_BUF

        try:
            self._left = self._left[os.write(fd, self._left[:PIPE_BUF]) :]
        except BrokenPipeError:
            return False
        return bool(self._left)


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process whose output is no longer wanted."""
    process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass
    process.wait()


def give_up() -> None:
    """Start no further git process: one did not answer."""
    global _timed_out
    _timed_out = True


def answers() -> bool:
    """Whether git answers the simplest question in time."""
    import subprocess

    try:
        subprocess.run(
            ["git", "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment(),
            timeout=_FIRST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return True


def version() -> tuple[int, ...]:
    """The version of the git on PATH.

    Raises:
        GitError: there is none, or it does not say.
    """
    import subprocess

    try:
        done = subprocess.run(
            ["git", "--version"], capture_output=True, env=environment(), timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitError(
            "No git program was found on PATH.",
            f"Install git {MINIMUM[0]}.{MINIMUM[1]} or newer and try again.",
        ) from error
    words = done.stdout.split()
    try:
        return tuple(int(part) for part in words[2].split(b".")[:2])
    except (IndexError, ValueError) as error:
        raise GitError("git did not say its version.") from error


def user_setting(folder: bytes, name: str) -> bytes:
    """A path setting as the user's own git has it for a folder, or b"". Reads only.

    This one call runs with the user's environment and settings, because it asks about them.
    """
    import subprocess

    env = {k: v for k, v in os.environb.items() if not k.startswith(b"GIT_")}
    env[b"GIT_OPTIONAL_LOCKS"] = b"0"
    try:
        done = subprocess.run(
            ["git", "config", "--get", "--path", "-z", name],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_FIRST_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        give_up()
        return b""
    except OSError:
        return b""
    return done.stdout.rstrip(b"\0") if done.returncode == 0 else b""
