"""Kill, interrupt and starve an operation at every system call, then see what recovery leaves.

``python -m tests.faults.harness [--what …] [--full] [--plain] [--modes kill,…]`` prints figures for
each mode. What is tested: the ``transaction`` alone (scenario.py), or whole commands of the command
line (scenario_cli.py): ``undo``, and ``snapshot``, which is a turn's end and a turn's begin.

- ``kill``: SIGKILL on entering each call of the operation; then recovery.
- ``kill-recovery``: the same, and each recovery that had work is killed at every call as well.
- ``errors``: each call fails once with ENOSPC, EIO, EACCES, EROFS or EPERM; then recovery.
- ``signals``: SIGINT on entering each call: exit 130 and nothing changed, or 0 and all changed.

What must hold each time: all before or all after, as the exit code says; no journal, no leftover;
a second recovery finds nothing to do.

The four commands are parameters, so that the same faults can be put into anything that takes a
folder: see `Commands`.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
_PYTHON = (sys.executable, "-S", "-E", "-B", str(HERE / "scenario.py"))

# Calls that only read change nothing: a kill there equals a kill at the next that writes.
WRITING = frozenset(
    {
        "openat",
        "write",
        "pwrite64",
        "fsync",
        "fdatasync",
        "syncfs",
        "sync",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "unlink",
        "unlinkat",
        "mkdir",
        "mkdirat",
        "rmdir",
        "symlink",
        "symlinkat",
        "fchmod",
        "chmod",
        "fchmodat",
        "fchown",
        "fchownat",
        "utimensat",
        "fsetxattr",
        "setxattr",
        "ftruncate",
    }
)
READING = frozenset(
    {
        "read",
        "pread64",
        "readlink",
        "readlinkat",
        "newfstatat",
        "fstat",
        "stat",
        "lstat",
        "statx",
        "getdents64",
        "close",
        "flistxattr",
        "fgetxattr",
        "faccessat2",
        "faccessat",
        "access",
        "fstatfs",
        "statfs",
        "ioctl",
    }
)
# A failing `close` of a file that was made durable means nothing; `access` only answers.
NEVER_FAIL = frozenset({"close", "access", "faccessat", "faccessat2"})
ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EPERM")
CALLS_THAT_FAIL = (WRITING | READING) - NEVER_FAIL


@dataclass(frozen=True, slots=True)
class Commands:
    """What is tested. ``{}`` in an argument is the folder to work in.

    Attributes:
        setup: makes the folder anew; called once, then copied.
        run: the operation.
        recover: what the next start does.
        check: prints ``before``, ``after`` or what is wrong.
        begin, end: texts in the trace of `run` and `recover` between which faults are put.
        done, interrupted: exit codes of `run`.
        beyond: goes on working with what recovery left; prints what is wrong, or nothing.
        only: what a call's line in the trace must hold for a fault to be put there; "" for all.
        follow: whether faults are put into child processes, too.
    """

    setup: Sequence[str] = (*_PYTHON, "setup", "{}")
    run: Sequence[str] = (*_PYTHON, "run", "{}")
    recover: Sequence[str] = (*_PYTHON, "recover", "{}")
    check: Sequence[str] = (*_PYTHON, "check", "{}")
    begin: str = "/takeback-faults-begin"
    end: str = "/takeback-faults-end"
    nothing_to_recover: str = "none"
    done: int = 0
    interrupted: int = 130
    beyond: Sequence[str] = ()
    only: str = ""
    follow: bool = True


def plain() -> Commands:
    """The same scenario as on a file system that cannot exchange two names."""
    return Commands(
        run=(*_PYTHON, "run", "{}", "plain"), recover=(*_PYTHON, "recover", "{}", "plain")
    )


def command(what: str) -> Commands:
    """A whole command: ``undo``, ``end`` or ``begin``.

    Faults are put where it works on its folder, not into the loading of Python's modules, nor into
    git's own processes.
    """
    line = (sys.executable, "-S", "-E", "-B", str(HERE / "scenario_cli.py"), what)
    setup, run, recover, check, beyond = (
        (*line, step, "{}") for step in ("setup", "run", "recover", "check", "beyond")
    )
    return Commands(setup, run, recover, check, beyond=beyond, only="{}/", follow=False)


def subject(what: str, plainly: bool = False) -> Commands:
    """What one of the `SUBJECTS` runs."""
    if what != "transaction":
        return command(what)
    return plain() if plainly else Commands()


SUBJECTS: dict[str, tuple[str, ...]] = {
    "transaction": ("transaction",),
    "undo": ("undo",),
    "snapshot": ("end", "begin"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: the ``at``-th call of a name gets a signal or fails."""

    call: str
    at: int
    what: str

    @property
    def inject(self) -> str:
        return f"{self.call}:{self.what}:when={self.at}"

    def __str__(self) -> str:
        return self.inject


@dataclass(slots=True)
class Figures:
    """What came of one mode."""

    mode: str
    wanted: int = 0
    runs: int = 0
    recoveries_killed: int = 0
    ends: collections.Counter[str] = field(default_factory=collections.Counter)
    bad: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        ends = ", ".join(f"{end} {count}" for end, count in sorted(self.ends.items()))
        more = f", {self.recoveries_killed} recoveries killed" if self.recoveries_killed else ""
        text = f"{self.mode}: {self.runs} of {self.wanted} runs{more} in {self.seconds:.0f} s"
        return f"{text}; {ends}; {len(self.bad)} wrong"


class Bench:
    """A folder in which one fault after another is tried."""

    def __init__(self, commands: Commands, folder: Path) -> None:
        self.commands = commands
        self.folder = folder
        self._model = folder.with_name(folder.name + ".model")
        self._call(commands.setup)
        self._copy(folder, self._model)

    def fresh(self) -> None:
        self._copy(self._model, self.folder)

    def keep(self, name: str) -> None:
        self._copy(self.folder, self.folder.with_name(self.folder.name + "." + name))

    def back_to(self, name: str) -> None:
        self._copy(self.folder.with_name(self.folder.name + "." + name), self.folder)

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        if target.exists():
            subprocess.run(["chmod", "-R", "u+rwX", target], check=True)
            shutil.rmtree(target)
        subprocess.run(["cp", "-a", source, target], check=True)

    def _line(self, command: Sequence[str]) -> list[str]:
        return [part.replace("{}", str(self.folder)) for part in command]

    def _call(
        self, command: Sequence[str], fault: Fault | None = None
    ) -> subprocess.CompletedProcess[str]:
        line = self._line(command)
        if fault is not None:
            trace = ["-e", f"trace={fault.call}", "-e", f"inject={fault.inject}"]
            line = [*self._strace(), "-o", os.devnull, *trace, "--", *line]
        return subprocess.run(line, capture_output=True, text=True, timeout=120)

    def _strace(self) -> list[str]:
        return ["strace", "-qqq", *(["-f"] if self.commands.follow else [])]

    def run(self, fault: Fault | None = None) -> subprocess.CompletedProcess[str]:
        return self._call(self.commands.run, fault)

    def recover(self, fault: Fault | None = None) -> subprocess.CompletedProcess[str]:
        return self._call(self.commands.recover, fault)

    def check(self) -> str:
        done = self._call(self.commands.check)
        return (done.stdout.strip() or done.stderr.strip()[-300:]).replace("\n", " ")

    def beyond(self) -> str:
        """What is wrong when the work goes on, or ""."""
        if not self.commands.beyond:
            return ""
        done = self._call(self.commands.beyond)
        return (done.stdout.strip() or done.stderr.strip()[-300:]).replace("\n", " ")

    def calls(self, command: Sequence[str], wanted: Iterable[str]) -> Iterator[tuple[str, int]]:
        """The calls that a command makes between its marks, each with its number of its name."""
        trace = self.folder.with_name(self.folder.name + ".trace")
        line = [*self._strace(), "-y", "-e", "signal=none", "-o", str(trace), "--"]
        subprocess.run([*line, *self._line(command)], capture_output=True, timeout=120)
        wanted = set(wanted)
        count: collections.Counter[str] = collections.Counter()
        only = self.commands.only.replace("{}", str(self.folder))
        inside = False
        for text in trace.read_text(errors="replace").splitlines():
            match = re.match(r"(?:\d+ +)?(\w+)\(", text)
            if match is None:
                continue
            count[match[1]] += 1
            if self.commands.begin in text:
                inside = True
            elif self.commands.end in text:
                inside = False
            elif match[1] == "openat" and wanted <= WRITING and "O_RDONLY" in text:
                continue  # Opens what it only reads.
            elif inside and match[1] in wanted and only in text:
                yield match[1], count[match[1]]


def settle(bench: Bench) -> tuple[str, str]:
    """Recover, check, and recover once more: what stands, and what was wrong or ""."""
    recovered = bench.recover()
    found = bench.check()
    if found not in ("before", "after"):
        return found, f"recovery: {recovered.stdout.strip()} {recovered.stderr.strip()[-300:]}"
    again = bench.recover()
    if again.stdout.strip() != bench.commands.nothing_to_recover or bench.check() != found:
        return found, f"a second recovery did {again.stdout.strip()} {again.stderr.strip()[-300:]}"
    return found, ""


def try_fault(bench: Bench, mode: str, fault: Fault, figures: Figures, deadline: float) -> None:
    """One run with one fault, and what must hold after it."""
    commands = bench.commands
    bench.fresh()
    done = bench.run(fault)
    figures.runs += 1
    if mode == "kill-recovery":
        kill_recovery(bench, fault, figures, deadline)
        return
    between = bench.check() if mode != "kill" else ""
    found, wrong = settle(bench)
    if found not in ("before", "after"):
        wrong = f"{found} ({wrong})"
    elif mode == "signals" and done.returncode not in (commands.done, commands.interrupted):
        wrong = wrong or f"exit {done.returncode}: {done.stderr.strip()[-200:]}"
    elif mode in ("signals", "errors"):
        # What the exit code says must be so, and stay so after the next start.
        said = "after" if done.returncode == commands.done else "before"
        if not wrong and found != said and (said == "after" or "journal" not in between):
            wrong = f"exit {done.returncode} but {found}: {done.stderr.strip()[-200:]}"
        broken = "Traceback" in done.stderr or "Internal error" in done.stderr
        if not wrong and broken and mode == "errors":
            wrong = "a traceback: " + done.stderr.strip().splitlines()[-1][-200:]
    figures.ends[found if found in ("before", "after") else "neither"] += 1
    if mode == "errors" and "journal" in between:
        figures.ends["needed recovery"] += 1
    wrong = wrong or bench.beyond()
    if wrong:
        figures.bad.append(f"{fault}: {wrong}")


def kill_recovery(bench: Bench, fault: Fault, figures: Figures, deadline: float) -> None:
    """Kill the recovery of one killed run at each of its calls."""
    bench.keep("killed")
    for call, at in list(bench.calls(bench.commands.recover, WRITING)):
        if time.monotonic() > deadline:
            return
        bench.back_to("killed")
        second = Fault(call, at, "signal=KILL")
        bench.recover(second)
        figures.recoveries_killed += 1
        found, wrong = settle(bench)
        wrong = wrong or bench.beyond()
        figures.ends[found if found in ("before", "after") else "neither"] += 1
        if wrong or found not in ("before", "after"):
            figures.bad.append(f"{fault} then {second}: {found} ({wrong})")


def faults(bench: Bench, mode: str, full: bool) -> list[Fault]:
    """Every fault of a mode."""
    bench.fresh()
    if mode == "errors":
        commands = bench.commands
        # A whole command looks at much: without `full` only what writes, opens or lists fails.
        names = WRITING | {"getdents64"} if commands.only and not full else CALLS_THAT_FAIL
        calls = list(bench.calls(commands.run, names))
        errors = ERRORS[:4] if commands.only else ERRORS
        return [Fault(call, at, f"error={error}") for call, at in calls for error in errors]
    names = WRITING | READING if full and mode != "kill-recovery" else WRITING
    signal = "INT" if mode == "signals" else "KILL"
    return [Fault(c, at, f"signal={signal}") for c, at in bench.calls(bench.commands.run, names)]


MODES = ("kill", "signals", "errors", "kill-recovery")


def measure(
    mode: str,
    folder: Path,
    commands: Commands | None = None,
    *,
    full: bool = False,
    sample: int = 0,
    workers: int = 2,
    until_s: float = 0.0,
) -> Figures:
    """Run one mode.

    Args:
        folder: an empty folder to work in.
        full: kill at calls that only read, too.
        sample: at most about this many faults, spread evenly; 0 for all.
        until_s: begin no more faults after this many seconds; 0 for no limit.
    """
    commands = commands or Commands()
    start = time.monotonic()
    folder.mkdir(mode=0o755, exist_ok=True)
    benches = [Bench(commands, folder / f"{mode}-{n}") for n in range(workers)]
    wanted = faults(benches[0], mode, full)
    if sample and len(wanted) > sample:
        wanted = [wanted[int(n * len(wanted) / sample)] for n in range(sample)]
    if until_s:
        # Where the time ends, what was tried is spread over the whole operation.
        order = sorted(range(len(wanted)), key=lambda n: n * 0.6180339887 % 1)
        wanted = [wanted[n] for n in order]
    parts = [Figures(mode) for _ in benches]
    deadline = time.monotonic() + until_s if until_s else float("inf")

    def work(number: int) -> None:
        for fault in wanted[number::workers]:
            if time.monotonic() > deadline:
                return
            try_fault(benches[number], mode, fault, parts[number], deadline)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    total = Figures(mode, len(wanted), seconds=time.monotonic() - start)
    for part in parts:
        total.runs += part.runs
        total.recoveries_killed += part.recoveries_killed
        total.ends += part.ends
        total.bad += part.bad
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--what", choices=SUBJECTS, default="transaction")
    parser.add_argument("--full", action="store_true", help="every call, also those that read")
    parser.add_argument("--plain", action="store_true", help="without exchanging renames")
    parser.add_argument("--sample", type=int, default=0, help="about this many faults per mode")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--until", type=float, default=0.0, help="seconds for each mode")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", type=int, default=12, help="how many wrong ends to print")
    chosen = parser.parse_args()
    shared = Path("/dev/shm")
    folder = (shared if shared.is_dir() else Path("/tmp")) / f"takeback-faults-{os.getpid()}"
    folder.mkdir(mode=0o755)
    wrong = 0
    try:
        for what in SUBJECTS[chosen.what]:
            for mode in chosen.modes.split(","):
                figures = measure(
                    mode,
                    folder / what,
                    subject(what, chosen.plain),
                    full=chosen.full,
                    sample=chosen.sample,
                    workers=chosen.workers,
                    until_s=chosen.until,
                )
                sys.stdout.write(f"{what}, {figures}\n")
                for line in figures.bad[: chosen.show]:
                    sys.stdout.write(f"  {line}\n")
                sys.stdout.flush()
                wrong += len(figures.bad)
    finally:
        subprocess.run(["chmod", "-R", "u+rwX", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
