"""What terminals can show: told from the environment, and seen in the bytes they are sent."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from takeback.tui import terminal
from takeback.tui.screens.undo import UndoScreen
from takeback.tui.terminal import Terminal
from tests.tui.driver import Driver, clean_turn, is_new, play
from tests.tui.test_terminal import WAIT_S, env_of, recorded

CODE = re.compile(rb"\x1b\[([0-9;]*)m")


@pytest.mark.parametrize(
    ("environ", "colors"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "full"),
        ({"TERM": "xterm", "COLORTERM": "24bit"}, "full"),
        ({"TERM": "xterm-256color"}, "256"),
        ({"TERM": "screen-256color", "TMUX": "/x"}, "256"),
        ({"TERM": "xterm-kitty"}, "256"),
        ({"TERM": "xterm"}, "16"),
        ({"TERM": "xterm-16color"}, "16"),
        ({"TERM": "linux"}, "16"),
        ({}, "16"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, "none"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "256"),
        ({"TERM": "xterm", "TEXTUAL_COLOR_SYSTEM": "truecolor"}, "full"),
    ],
)
def test_how_many_colours(environ: Mapping[str, str], colors: str) -> None:
    assert terminal.look(environ, "utf-8").colors == colors


@pytest.mark.parametrize(
    ("ground", "light"),
    [
        ("0;15", True),
        ("15;0", False),
        ("0;default;7", True),
        ("7;8", False),
        ("x", None),
        ("", None),
    ],
)
def test_some_terminals_say_whether_they_are_light(ground: str, light: bool | None) -> None:
    assert terminal.look({"COLORFGBG": ground}, "utf-8").light is light


@pytest.mark.parametrize(
    ("environ", "encoding", "unicode"),
    [
        ({"LANG": "de_CH.UTF-8"}, "utf-8", True),
        ({"LANG": "de_CH.utf8"}, "utf-8", True),
        ({}, "utf-8", True),
        ({}, "ascii", False),
        ({"LANG": "C.UTF-8", "LC_ALL": "C"}, "utf-8", False),
        ({"LANG": "de_CH.UTF-8", "LC_CTYPE": "de_CH.ISO-8859-1"}, "utf-8", False),
        ({"LANG": "de_CH@euro"}, "iso8859-15", False),
        ({"LANG": "de_CH.UTF-8@euro"}, "utf-8", True),
        ({"LANG": "de_CH.UTF-8", "TERM": "linux"}, "utf-8", False),
    ],
)
def test_whether_more_than_ascii_can_be_shown(
    environ: Mapping[str, str], encoding: str, unicode: bool
) -> None:
    assert terminal.look(environ, encoding).unicode is unicode


def test_where_no_screen_can_be_drawn() -> None:
    assert terminal.cannot_draw({"TERM": "xterm"}, True) == ""
    assert "terminal only" in terminal.cannot_draw({"TERM": "xterm"}, False)
    for name in ("dumb", ""):
        assert "TERM" in terminal.cannot_draw({"TERM": name}, True)


class Pty:
    """The app on a real pseudo-terminal."""

    def __init__(self, folder: Path, env: Mapping[str, str], size: tuple[int, int]) -> None:
        self.ours, theirs = pty.openpty()
        self.resize(size)
        self.seen = b""
        # The session's leader, and on its own terminal: a changed size is signalled to it.
        self.app = subprocess.Popen(
            [sys.executable, "-m", "takeback.tui.cli"],
            cwd=folder,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def resize(self, size: tuple[int, int]) -> None:
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))

    def read(self, enough: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT_S
        while not enough() and time.monotonic() < end:
            if select.select([self.ours], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.ours, 65536)
                except OSError:
                    return

    def until(self, words: bytes) -> None:
        self.read(lambda: words in self.seen)
        assert words in self.seen, self.seen[-3000:]

    def end(self) -> int:
        os.write(self.ours, b"\x18q")
        self.read(lambda: self.app.poll() is not None)
        return self.app.wait(WAIT_S)

    def close(self) -> None:
        self.app.kill()
        self.app.wait()
        os.close(self.ours)


def drawn(tmp_path: Path, changes: Mapping[str, str]) -> bytes:
    """What the app sends until its first screen is whole, and at its end."""
    folder = recorded(tmp_path)
    dropped = ("NO_COLOR", "COLORTERM", "LC_ALL", "LC_CTYPE", "LANG", "COLUMNS", "LINES")
    env = {k: v for k, v in env_of(tmp_path).items() if k not in dropped}
    on = Pty(folder, env | {"LANG": "C.UTF-8"} | changes, (80, 24))
    try:
        on.until(b"a.txt")
        on.until(b"agent")
        assert on.end() == 0
        return on.seen
    finally:
        on.close()


def codes(sent: bytes) -> set[str]:
    """Every graphic code: "7", "31", and those of more colours as "38;5" and "38;2"."""
    found = set()
    for match in CODE.finditer(sent):
        parts = match[1].decode().split(";")
        while parts:
            part = parts.pop(0)
            if part in ("38", "48") and parts:
                kind = parts.pop(0)
                part = f"{part};{kind}"
                del parts[: 3 if kind == "2" else 1]
            found.add(part)
    return found


COLORED = {str(code) for code in (*range(30, 38), *range(40, 48), *range(90, 108))}


def test_without_colours_none_is_sent_and_the_cursor_is_seen(tmp_path: Path) -> None:
    sent = codes(drawn(tmp_path, {"NO_COLOR": "1", "COLORTERM": "truecolor"}))
    assert not sent & {*COLORED, "38;5", "38;2", "48;5", "48;2"}
    assert "7" in sent


def test_no_color_set_to_nothing_means_nothing(tmp_path: Path) -> None:
    assert "38;2" in codes(drawn(tmp_path, {"NO_COLOR": "", "COLORTERM": "truecolor"}))


@pytest.mark.parametrize("name", ["xterm", "linux"])
def test_a_terminal_of_16_colours_gets_its_own(tmp_path: Path, name: str) -> None:
    sent = drawn(tmp_path, {"TERM": name})
    assert not codes(sent) & {"38;5", "38;2", "48;5", "48;2"}
    assert codes(sent) & COLORED
    assert "7" in codes(sent)
    assert sent.isascii() is (name == "linux")


def test_a_terminal_of_256_colours_gets_no_more(tmp_path: Path) -> None:
    sent = codes(drawn(tmp_path, {"TERM": "tmux-256color", "TMUX": "/tmp/none,1,0"}))
    assert {"38;5", "48;5"} <= sent
    assert not sent & {"38;2", "48;2"}


def test_a_locale_without_unicode_gets_ascii(tmp_path: Path) -> None:
    assert drawn(tmp_path, {"LC_ALL": "C", "COLORTERM": "truecolor"}).isascii()


def test_a_dumb_terminal_gets_a_sentence_and_no_codes(tmp_path: Path) -> None:
    on = Pty(recorded(tmp_path), env_of(tmp_path) | {"TERM": "dumb"}, (80, 24))
    try:
        on.read(lambda: on.app.poll() is not None)
        on.until(b"takeback log")
        assert on.app.wait(WAIT_S) == 0
        assert b"(TERM) cannot show" in on.seen
        assert b"\x1b" not in on.seen
    finally:
        on.close()


def test_no_screen_is_drawn_into_a_file_of_messages(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "takeback.tui.cli"],
            cwd=recorded(tmp_path),
            env=env_of(tmp_path),
            stdin=theirs,
            stdout=theirs,
            stderr=subprocess.PIPE,
            timeout=WAIT_S,
            check=False,
        )
        assert done.returncode == 0
        assert done.stderr == b""
        assert b"opens on a terminal only" in os.read(ours, 65536)
    finally:
        os.close(theirs)
        os.close(ours)


def test_another_size_is_drawn_at_once(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    env = {k: v for k, v in env_of(tmp_path).items() if k not in ("COLUMNS", "LINES")}
    on = Pty(folder, env, (80, 24))
    try:
        on.until(b"a.txt")
        on.resize((20, 5))
        on.app.send_signal(signal.SIGWINCH)
        on.until(b"20x5")
        on.seen = b""
        on.resize((100, 30))
        on.app.send_signal(signal.SIGWINCH)
        on.until(b"a.txt")
        assert on.end() == 0
        assert b"Traceback" not in on.seen
    finally:
        on.close()


def test_a_screen_without_room_says_so_and_does_nothing_unseen(folder: Path) -> None:
    clean_turn(folder)

    async def story(driver: Driver) -> None:
        await driver.pilot.resize_terminal(20, 5)
        await driver.until(lambda: "this is 20x5." in " ".join(driver.text().split()))
        assert "a.txt" not in driver.text()
        await driver.press("ctrl+x", "u", "enter", "u", "enter")
        await driver.pilot.pause()
        assert not isinstance(driver.app.screen, UndoScreen)
        assert is_new(folder)
        await driver.pilot.resize_terminal(*terminal.LEAST)
        await driver.until(lambda: "Turn 1" in driver.text())
        await driver.press("ctrl+x", "u")
        await driver.planned()
        assert "enter apply" in driver.text()
        assert "enter: restores 1 file" in driver.text()
        assert "Agent-edited" in driver.text()

    play(folder, story)


def test_the_least_size_is_what_the_sentence_says() -> None:
    assert terminal.too_small(*terminal.LEAST) == ""
    assert terminal.too_small(39, 10) == "Needs at least 40x10, this is 39x10."
    assert terminal.too_small(40, 9) == "Needs at least 40x10, this is 40x9."


def test_a_terminal_as_it_is_drawn_on_by_default() -> None:
    assert Terminal("full", None, True) == terminal.FULL
