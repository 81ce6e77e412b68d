"""The pictures in ``screenshots/``, made from real output: ``python -m tests.shots``.

Each shows what the app drew, or what the commands said, on the demo's project. Only what differs
from run to run (times, ids of operations) is replaced; `tests/test_shots.py` fails when a picture
no longer says what the program says. The PNG files need ``rsvg-convert``.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from takeback.tui import cli, demo
from takeback.tui.app import TakebackApp
from tests.tui import still
from tests.tui.driver import Driver, settled

FOLDER = Path(__file__).resolve().parent.parent / "screenshots"

# What each picture plays; the commands before the last are shown, too.
SHOTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "log": (("log",),),
    "undo": (("undo", "--dry-run"), ("undo",)),
    "history": (
        ("undo",),
        ("undo", "--turn", "2"),
        ("history",),
    ),
}
# What is pressed in the app, and the size of its terminal.
APP: dict[str, tuple[tuple[str, ...], tuple[int, int]]] = {
    "timeline": ((), (120, 36)),
    "panel": (("ctrl+x", "u", "A"), (120, 36)),
    "sessions": (("1",), (80, 24)),
}
_HIDDEN = {"history": 2}
"""How many of a picture's commands are played without being shown."""

_GROUND, _RED, _GREEN, _YELLOW = (20, 22, 31), (255, 128, 153), (158, 206, 106), (224, 175, 104)
_BLUE, _PINK, _CYAN, _WHITE = (122, 162, 247), (187, 154, 247), (125, 207, 255), (213, 218, 240)
_ANSI = [_GROUND, _RED, _GREEN, _YELLOW, _BLUE, _PINK, _CYAN, _WHITE]
_THEME = TerminalTheme(_GROUND, _WHITE, _ANSI)


@contextlib.contextmanager
def project() -> Iterator[list[str]]:
    """The demo's project in a folder of its own; yields the options that lead there."""
    with tempfile.TemporaryDirectory(prefix="takeback-shots-") as base:
        folder = Path(base).resolve() / "shop"
        folder.mkdir()
        # Neither the caller's settings nor time zone may show in a picture.
        fresh = {"TAKEBACK_CONFIG_DIR": f"{base}/config", "TZ": "UTC", "NO_COLOR": "1"}
        fresh["HOME"] = base
        with mock.patch.dict(os.environ, fresh):
            time.tzset()
            demo.prepare(folder, f"{base}/data")
            yield ["-C", str(folder), "--data-dir", f"{base}/data"]


def play(where: Sequence[str], words: Sequence[str]) -> str:
    """What a command says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        cli.main([*where, *words])
    return said.getvalue()


def steady(text: str) -> str:
    """Text without what differs between two runs."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?", r"2026-12-01 14:02\1", text)
    text = re.sub(r"(?<!\d)\d\d:\d\d:\d\d(?!\d)", "14:02:08", text)
    # An operation's id counts what was recorded before it, which is not the picture's subject.
    ids = sorted(set(re.findall(r"\bop(\d+)\b", text)), key=int)
    return re.sub(r"\bop(\d+)\b", lambda found: f"op{ids.index(found[1]) + 1}", text)


def render(text: str) -> str:
    """An SVG of a terminal that shows this text."""
    lines = text.rstrip("\n").split("\n")
    width = max(60, max(map(len, lines)) + 1)
    console = Console(record=True, width=width, file=io.StringIO(), color_system="truecolor")
    for line in lines:
        style = "bold bright_white" if line.startswith("$ ") else ""
        console.print(Text(line, style=style), no_wrap=True, crop=False, overflow="ignore")
    return console.export_svg(title="takeback", theme=_THEME, unique_id="takeback")


def text_of(name: str) -> str:
    """What a picture says now."""
    parts = []
    with project() as where:
        for number, words in enumerate(SHOTS[name]):
            said = play(where, words)
            if number >= _HIDDEN.get(name, 0):
                parts.append(f"$ takeback {' '.join(words)}\n{said}")
    return steady("\n".join(parts))


def drawn(name: str) -> str:
    """An SVG of the app now."""
    pressed, size = APP[name]
    with project() as where:
        opened = still.StillProject.open(where[1], where[3])

        async def run() -> str:
            # The commands' pictures are without colours, those of the app with.
            os.environ.pop("NO_COLOR", None)
            app = TakebackApp(opened)
            async with app.run_test(size=size) as pilot:
                driver = Driver(app, pilot)
                await settled(driver)
                for key in pressed:
                    await driver.press(key)
                    await settled(driver)
                svg = app.export_screenshot(title="takeback")
            return re.sub(r"terminal-\d+-", "terminal-", svg)

        with mock.patch("time.time_ns", lambda: still.NOW):
            try:
                return asyncio.run(run())
            finally:
                opened.close()


def as_png(svg: str, path: Path) -> None:
    """Draw an SVG into a PNG file.

    Raises:
        SystemExit: there is no program that does it.
    """
    program = shutil.which("rsvg-convert")
    if program is None:
        raise SystemExit("rsvg-convert is needed for the PNG files; the SVG files are made.")
    # It would swallow the blanks at a text's ends.
    kept = svg.replace("<text ", '<text xml:space="preserve" ').replace("&#160;", " ")
    command = [program, "--zoom", "1", "-o", str(path)]
    subprocess.run(command, input=kept.encode(), check=True)


def words_in(svg: str) -> list[str]:
    """The lines of text in a picture: independent of the release of Rich that drew it."""
    found = re.findall(r"<text [^>]*\by=\"([\d.]+)\"[^>]*>(.*?)</text>", svg, re.DOTALL)
    lines: dict[str, str] = {}
    for y, piece in found:
        lines[y] = lines.get(y, "") + html.unescape(piece).replace("\xa0", " ")
    return [line.rstrip() for line in lines.values() if line.strip()]


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    made = {name: render(text_of(name)) for name in SHOTS} | {name: drawn(name) for name in APP}
    for name, svg in made.items():
        (FOLDER / f"{name}.svg").write_text(svg, "utf-8")
        sys.stdout.write(f"screenshots/{name}.svg\n")
    for name in APP:
        as_png(made[name], FOLDER / f"{name}.png")
        sys.stdout.write(f"screenshots/{name}.png\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
