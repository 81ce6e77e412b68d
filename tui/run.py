"""The verb ``run``: one turn around any command, with the terminal and the signals its own."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

from takeback.engine.errors import TakebackError, UsageError
from takeback.engine.facts import Event
from takeback.engine.upkeep import recover
from takeback.tui import context

if TYPE_CHECKING:
    from takeback.engine.record.recorder import Begun
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output

_CLOSING_S = 9.0
"""The turn is closed within this time of the child's death, or later by the next command."""

_CALL = "run"
_PASSED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_ENDED_BY_USER = frozenset({*_PASSED, signal.SIGKILL, signal.SIGQUIT})


class _TooLate(BaseException):
    """The closing snapshot took longer than `_CLOSING_S`."""


def run(args: Arguments, out: Output) -> int:
    """Run a command as one turn; returns the command's exit code."""
    text = context.texts(args, "--prompt")
    folder = context.folder(args)
    command = [os.fsencode(word) for word in args.command]
    program = _program(command[0], folder)
    turn = _Recorded(args, out, folder, text["--prompt"])
    turn.begin([os.fsdecode(word) for word in command], args.flag("--unprotected"))
    return _Child(program, command, folder, turn.id).supervise(turn)


def _program(name: bytes, folder: bytes) -> bytes:
    """The program's path, found before anything is recorded.

    Raises:
        UsageError: the folder is none.
        _NoProgram: there is none, or it may not be started.
    """
    if not os.path.isdir(folder):
        raise UsageError(f"{os.fsdecode(folder)!r} is not a folder. Nothing was started.")
    if b"/" in name:
        path = os.path.join(folder, name)
        found = path if os.access(path, os.X_OK) and not os.path.isdir(path) else None
        exists = os.path.exists(path)
    else:
        found = shutil.which(name)
        exists = False
    if found is None:
        raise _NoProgram(name, exists)
    return os.path.abspath(found)


class _NoProgram(TakebackError):
    """There is no such program, with the exit code that shells give for it."""

    def __init__(self, name: bytes, exists: bool) -> None:
        what = "may not be started" if exists else "was not found"
        super().__init__(f"The command {os.fsdecode(name)!r} {what}. Nothing was recorded.")
        self.code = 126 if exists else 127  # type: ignore[assignment]


class _Recorded:
    """The turn around the command, or no turn when the user chose to go on unprotected.

    Attributes:
        id: the turn's id, "" without one.
    """

    def __init__(self, args: Arguments, out: Output, folder: bytes, prompt: str) -> None:
        self._data = context.data(args)
        self._out = out
        self._folder = folder
        self._agent = args.value("--agent", "run")
        self._prompt = prompt
        self.session = args.value("--session") or _new_session()
        self.id = ""
        self._called = False

    def begin(self, words: list[str], unprotected: bool) -> None:
        """Take the first snapshot and open the turn with its one call.

        Raises:
            TakebackError: the snapshot failed and nobody agreed to go on without it.
        """
        begin = Event(
            "begin",
            self.session,
            self._folder,
            agent=self._agent,
            prompt=self._prompt,
            pid=os.getpid(),
        )
        call = Event(
            "tool-begin",
            self.session,
            self._folder,
            call=_CALL,
            tool="run",
            call_kind="shell",
            command=shlex.join(words),
        )
        try:
            try:
                begun = self._feed(begin)
                self.id = begun.turn if begun else ""
                _check(begun)
            except TakebackError as error:
                self._go_on(error, unprotected)
            if self.id:
                self._feed(call)
                self._called = True
        except BaseException:
            self.end(interrupted=True)
            raise

    def _go_on(self, error: TakebackError, unprotected: bool) -> None:
        """Return if the command may be started all the same, else raise the error."""
        if unprotected:
            self._out.note(f"takeback: {error.message} Going on without protection.")
            return
        if isinstance(error, UsageError):
            raise error
        self._out.note(f"takeback: {error.message}")
        if self._out.ask("Run the command without protection?") is not True:
            raise error

    def _feed(self, event: Event) -> Begun | None:
        return recover.feed(event, self._data, 30.0, self._out.note)

    def end(self, interrupted: bool, failed: bool = False) -> None:
        """Close the call and the turn."""
        if not self.id:
            return
        if self._called:
            self._feed(Event("tool-end", self.session, self._folder, call=_CALL, failed=failed))
        self._feed(Event("end", self.session, self._folder, interrupted=interrupted))

    def end_in_time(self, interrupted: bool, failed: bool) -> None:
        """Close the turn, but let nobody wait: what is missing is done by the next command."""

        def late(_number: int, _frame: FrameType | None) -> None:
            raise _TooLate

        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, _CLOSING_S)
        try:
            self.end(interrupted, failed)
        except _TooLate:
            self._out.note(
                "takeback: The closing snapshot took too long. "
                "The next takeback command closes the turn."
            )
        except TakebackError as error:
            self._out.note(f"takeback: The turn could not be closed: {error.message}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _new_session() -> str:
    return f"run-{time.strftime('%Y%m%dT%H%M%S')}-{os.urandom(4).hex()}"


def _check(begun: Begun | None) -> None:
    """Raise if the first snapshot protects nothing."""
    if begun is None:
        return
    why = begun.error.rstrip(".")
    for entry in begun.not_captured:
        if entry.path == b"./" and entry.reason in ("failed", "fuse"):
            why = why or "there is too much to capture"
    if why:
        raise TakebackError(
            f"The first snapshot failed: {why}.",
            "The command was not started. Use --unprotected to go on without undo.",
        )


class _Child:
    """The command as a process group of its own that owns the terminal while it runs."""

    def __init__(self, program: bytes, command: list[bytes], folder: bytes, turn: str) -> None:
        self._program = program
        self._command = command
        self._folder = folder
        self._env = dict(os.environb)
        if turn:
            self._env[b"TAKEBACK_RUN"] = turn.encode()
        self._pid = 0
        self._signals = 0
        self._group = os.getpgrp()
        self._terminal = _terminal()
        # One that was ignored when we were started (nohup) stays so, for the command as well.
        self._passed = [n for n in _PASSED if signal.getsignal(n) is not signal.SIG_IGN]

    def supervise(self, turn: _Recorded) -> int:
        """Start it, pass signals on, wait for its end, close the turn."""
        # Held back until the child exists, so that none gets lost.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._passed)
        old = {number: signal.signal(number, self._pass_on) for number in self._passed}
        self._pid = self._start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._passed)
        status = self._wait()
        self._take_terminal()
        for number in self._passed:
            signal.signal(number, signal.SIG_IGN)
        code = os.waitstatus_to_exitcode(status)
        by_user = code < 0 and -code in _ENDED_BY_USER
        interrupted = bool(self._signals) or by_user or code == 128 + signal.SIGINT
        turn.end_in_time(interrupted, failed=code != 0)
        for number, handler in old.items():
            signal.signal(number, handler)
        return code if code >= 0 else 128 - code

    def _start(self) -> int:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            code = 126
            try:
                self._become()
            except BaseException as error:
                text = f"takeback: The command could not be started: {error}\n"
                os.write(2, text.encode("utf-8", "backslashreplace"))
                code = 127 if isinstance(error, FileNotFoundError) else 126
            finally:
                os._exit(code)
        try:
            os.setpgid(pid, pid)
        except OSError:
            pass  # It has done so itself, or is gone already.
        return pid

    def _become(self) -> None:
        os.setpgid(0, 0)
        if self._terminal is not None and os.tcgetpgrp(self._terminal) == self._group:
            # Without this a process that is not in the foreground group would be stopped here.
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(self._terminal, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        for number in (*self._passed, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._passed)
        os.chdir(self._folder)
        try:
            os.execve(self._program, self._command, self._env)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
        # A script without its first line: what a shell would do.
        os.execve(b"/bin/sh", [b"sh", self._program, *self._command[1:]], self._env)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self._signals += 1
        self._signal(number if self._signals == 1 else signal.SIGKILL)

    def _signal(self, number: int) -> None:
        try:
            os.killpg(self._pid, number)
        except (ProcessLookupError, PermissionError):
            pass

    def _wait(self) -> int:
        """Wait for the end; a stop from the keyboard stops us too, so that the shell sees it."""
        while True:
            _, status = os.waitpid(self._pid, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                return status
            if os.WSTOPSIG(status) == signal.SIGSTOP:
                continue  # Somebody stopped just the command, and will let it go on.
            self._take_terminal()
            # Without a shell that could continue us the system ignores this.
            os.kill(os.getpid(), os.WSTOPSIG(status))
            self._give_terminal()
            self._signal(signal.SIGCONT)

    def _give_terminal(self) -> None:
        self._set_foreground(self._pid, only_from=self._group)

    def _take_terminal(self) -> None:
        self._set_foreground(self._group, only_from=self._pid)

    def _set_foreground(self, group: int, only_from: int) -> None:
        if self._terminal is None:
            return
        old = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        try:
            if os.tcgetpgrp(self._terminal) == only_from:
                os.tcsetpgrp(self._terminal, group)
        except OSError:
            pass  # The terminal is gone.
        finally:
            signal.signal(signal.SIGTTOU, old)


def _terminal() -> int | None:
    """The controlling terminal, if there is one."""
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
