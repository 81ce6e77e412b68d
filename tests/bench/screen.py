"""``python -m tests.bench.screen``: the app on a real pseudo-terminal, beside stock widgets.

Every contestant is a process of its own on a terminal of the same size. Measured are the time from
its start until the first row is painted, the bytes and the milliseconds that one cursor move costs,
and the peak memory. The contestants take turns, so that a slow moment hits all of them.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from takeback.engine.project import Project

ROOT = Path(__file__).resolve().parents[2]
ROWS = 10_000
LINES = 50_000
TURNS = 100
FIRST = "first-row-of-all"
PAINT_RATIO = 1.6
PAINT_MS = 300
QUIET_S = 0.25

HELLO = """
from textual.app import App
from textual.widgets import Static
class Hello(App):
    def compose(self):
        yield Static("first-row-of-all")
Hello().run()
"""
OPTION_LIST = """
import sys
from textual.app import App
from textual.widgets import OptionList
class Rows(App):
    def compose(self):
        yield OptionList(*(
            "first-row-of-all" if not n else f"M src/part{n}/file{n}.py  +1 -1  agent"
            for n in range(int(sys.argv[1]))
        ))
Rows().run()
"""
DATA_TABLE = """
import sys
from textual.app import App
from textual.widgets import DataTable
class Rows(App):
    def compose(self):
        yield DataTable(cursor_type="row")
    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns("", "file", "lines", "class")
        table.add_rows(
            ("M", "first-row-of-all" if not n else f"src/part{n}/file{n}.py", "+1 -1", "agent")
            for n in range(int(sys.argv[1]))
        )
Rows().run()
"""
STATIC_DIFF = """
import sys
from textual.app import App
from textual.containers import VerticalScroll
from textual.widgets import Static
class Diff(App):
    def compose(self):
        with VerticalScroll():
            yield Static("first-row-of-all\\n" + "\\n".join(
                f"+ value_{n} = compute({n})" for n in range(int(sys.argv[1]))
            ), markup=False)
    def on_mount(self):
        self.query_one(VerticalScroll).focus()
Diff().run()
"""


@dataclass
class Figures:
    """What one contestant showed in all rounds: milliseconds, bytes, megabytes."""

    paint: list[float] = field(default_factory=list)
    moves_ms: list[float] = field(default_factory=list)
    moves_bytes: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)


class Terminal:
    """A process on a pseudo-terminal, of 120x36 unless the environment says else."""

    def __init__(self, argv: Sequence[str], folder: Path, env: dict[str, str]) -> None:
        self.ours, theirs = pty.openpty()
        size = int(env.get("LINES", 36)), int(env.get("COLUMNS", 120))
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            argv,
            cwd=folder,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = b""

    def read(self, wait_s: float) -> bytes:
        """What comes within a time; nothing if nothing does."""
        if not select.select([self.ours], [], [], wait_s)[0]:
            return b""
        try:
            got = os.read(self.ours, 1 << 16)
        except OSError:
            return b""
        self.seen += got
        return got

    def until(self, marker: str, wait_s: float = 60.0) -> float:
        """Milliseconds from the start until a text is on the screen."""
        end = time.perf_counter() + wait_s
        while marker.encode() not in self.seen:
            if time.perf_counter() > end:
                raise TimeoutError(f"{marker!r} never came: {self.seen[-400:]!r}")
            self.read(0.05)
        return (time.perf_counter() - self.begun) * 1000

    def quiet(self) -> int:
        """Read until nothing comes for a while; the number of bytes."""
        count = 0
        while got := self.read(QUIET_S):
            count += len(got)
        return count

    def press(self, key: bytes) -> tuple[float, int]:
        """One key: milliseconds to the first answer, and all its bytes."""
        begun = time.perf_counter()
        os.write(self.ours, key)
        first = len(self.read(2.0))
        took = (time.perf_counter() - begun) * 1000
        return took, first + self.quiet()

    def end(self) -> tuple[float, float]:
        """Stop it; its peak memory in megabytes and the CPU it used in milliseconds."""
        os.killpg(self.process.pid, signal.SIGKILL)
        _, _, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = -9
        os.close(self.ours)
        return usage.ru_maxrss / 1024, (usage.ru_utime + usage.ru_stime) * 1000


def recorded(base: Path, rows: int) -> Path:
    """A project whose timeline has that many rows, recorded through the public interface."""
    folder = base / "rows"
    folder.mkdir()
    each = rows // TURNS - 1
    names = [f"src/part{n}/file{n}.py" for n in range(each)]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("value = 0\n")
    project = Project.open(str(folder), str(base / "data"))
    for number in range(TURNS):
        last = number == TURNS - 1
        with project.turn("bench", "claude", f"change everything, round {number}") as turn:
            if last:
                with turn.edit(FIRST):
                    (folder / FIRST).write_text("made\n")
            with turn.edit(*names):
                for name in names:
                    (folder / name).write_text(f"value = {number + 1}\n")
    project.close()
    return folder


def compared(base: Path, lines: int) -> Path:
    """A project whose last turn changed a file of that many lines."""
    folder = base / "diff"
    folder.mkdir()
    target = folder / "big.py"
    old = "".join(f"value_{n} = {n}\n" for n in range(1, lines // 2))
    target.write_text(f"# {FIRST}\n" + old)
    project = Project.open(str(folder), str(base / "data"))
    with project.turn("bench", "claude", "rewrite it") as turn, turn.edit("big.py"):
        body = "".join(f"value_{n} = compute({n})\n" for n in range(1, lines // 2))
        target.write_text("# another\n" + body)
    project.close()
    return folder


@dataclass(frozen=True)
class Contestant:
    """A program and what is done with it.

    Attributes:
        key: moves once, empty for none.
        opens: pressed when `before` is on the screen; what is measured begins then.
    """

    argv: list[str]
    folder: Path
    key: bytes = b""
    opens: bytes = b""
    before: str = ""


def measure(
    contestants: dict[str, Contestant], env: dict[str, str], rounds: int, moves: int
) -> dict[str, Figures]:
    """Run everybody in turns; the first round warms caches and does not count."""
    found = {name: Figures() for name in contestants}
    for number in range(rounds + 1):
        names = list(contestants)
        for name in names if number % 2 else reversed(names):
            one = contestants[name]
            terminal = Terminal(one.argv, one.folder, env)
            figures = Figures() if number == 0 else found[name]
            try:
                if one.opens:
                    terminal.until(one.before)
                    terminal.quiet()
                    terminal.begun = time.perf_counter()
                    os.write(terminal.ours, one.opens)
                figures.paint.append(terminal.until(FIRST))
                terminal.quiet()
                for _ in range(moves if one.key else 0):
                    took, count = terminal.press(one.key)
                    figures.moves_ms.append(took)
                    figures.moves_bytes.append(count)
            finally:
                memory, cpu = terminal.end()
                figures.memory.append(memory)
                figures.cpu.append(cpu)
    return found


def table(title: str, found: dict[str, Figures], hello: str, word: str) -> None:
    """Print one comparison."""
    print(f"\n{title}")
    base = statistics.median(found[hello].paint)
    for name, figures in found.items():
        paint = statistics.median(figures.paint)
        line = f"  {name:22} {word} {paint:7.0f} ms {paint / base:5.2f}x"
        line += f"   memory {statistics.median(figures.memory):5.0f} MB"
        if figures.moves_ms:
            line += f"   move {statistics.median(figures.moves_ms):6.1f} ms"
            line += f" {statistics.median(figures.moves_bytes):7.0f} bytes"
        print(line)
    sys.stdout.flush()


def verdict(found: dict[str, Figures], hello: str, ours: str) -> None:
    """Say which targets of the first picture are met."""
    mine, base = (statistics.median(found[name].paint) for name in (ours, hello))
    ratio = mine / base
    met = _met(ratio <= PAINT_RATIO)
    print(f"  ratio to the hello app {ratio:.2f}, target {PAINT_RATIO}: {met}")
    print(f"  first picture {mine:.0f} ms, target {PAINT_MS} when quiet: {_met(mine <= PAINT_MS)}")
    sys.stdout.flush()


def _met(good: bool) -> str:
    return "met" if good else "MISSED"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.screen", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--moves", type=int, default=20)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--only", choices=("rows", "diff"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="takeback-screen-") as name:
        base = Path(name).resolve()
        env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TMUX")}
        env |= {
            "PYTHONPATH": str(ROOT / ".dev"),
            "TAKEBACK_DATA_DIR": str(base / "data"),
            "TAKEBACK_CONFIG_DIR": str(base / "config"),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        python = [sys.executable, "-c"]
        app = [sys.executable, "-m", "takeback.tui.cli"]
        down = b"\x1b[B"
        hello = Contestant([*python, HELLO], base)
        if args.only != "diff":
            rows = [str(args.rows)]
            found = measure(
                {
                    "hello world": hello,
                    "takeback": Contestant(app, recorded(base, args.rows), b"j"),
                    "OptionList": Contestant([*python, OPTION_LIST, *rows], base, down),
                    "DataTable": Contestant([*python, DATA_TABLE, *rows], base, down),
                },
                env,
                args.rounds,
                args.moves,
            )
            table(f"{args.rows} rows", found, "hello world", "first picture")
            verdict(found, "hello world", "takeback")
        if args.only != "rows":
            lines = [str(args.lines)]
            small = env | {"COLUMNS": "80", "LINES": "24"}
            found = measure(
                {
                    "hello world": hello,
                    "takeback, from the key": Contestant(
                        app, compared(base, args.lines), b"j", b"d", "rewrite it"
                    ),
                    "Static in a scroll": Contestant([*python, STATIC_DIFF, *lines], base, down),
                },
                small,
                args.rounds,
                args.moves,
            )
            table(f"a diff of {args.lines} changed lines", found, "hello world", "shown after")
    return 0


if __name__ == "__main__":
    sys.exit(main())
