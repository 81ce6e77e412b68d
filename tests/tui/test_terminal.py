"""``takeback`` without a verb on a real terminal: bytes in, the project's files out."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from takeback.engine.project import Project

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 30.0


def env_of(tmp_path: Path) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("TAKEBACK_")}
    return env | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / ".dev"), env.get("PYTHONPATH", "")]),
        "TAKEBACK_DATA_DIR": str(tmp_path / "data"),
        "TAKEBACK_CONFIG_DIR": str(tmp_path / "config"),
        "TERM": "xterm-256color",
        "LINES": "24",
        "COLUMNS": "80",
    }


def recorded(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    project = Project.open(str(folder), str(tmp_path / "data"))
    with project.turn("s", "claude", "change a") as turn, turn.edit("a.txt"):
        (folder / "a.txt").write_text("new\n")
    project.close()
    return folder


def test_one_write_of_three_keys_and_one_that_quits(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    ours, theirs = pty.openpty()
    app = subprocess.Popen(
        [sys.executable, "-m", "takeback.tui.cli"],
        cwd=folder,
        env=env_of(tmp_path),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    seen = b""

    def until(wanted: bytes) -> None:
        nonlocal seen
        end = time.monotonic() + WAIT_S
        while wanted not in seen and time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                seen += os.read(ours, 65536)
        assert wanted in seen, seen[-2000:]

    try:
        until(b"a.txt")
        os.write(ours, b"\x18u\r")
        until(b"Took back")
        assert (folder / "a.txt").read_text() == "old\n"
        os.write(ours, b"\x18r\r")
        until(b"Put back")
        assert (folder / "a.txt").read_text() == "new\n"
        # The plan is open or being carried out: none of these leaks into it or leads away.
        seen = b""
        os.write(ours, b"\x18u\r" + b"\x18h\x18g" * 10)
        until(b"Took back")
        assert (folder / "a.txt").read_text() == "old\n"
        os.write(ours, b"\x18q")
        end = time.monotonic() + WAIT_S
        while app.poll() is None and time.monotonic() < end:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    seen += os.read(ours, 65536)
                except OSError:
                    break
        assert app.wait(WAIT_S) == 0
        assert b"Traceback" not in seen
    finally:
        app.kill()
        app.wait()
        os.close(ours)


def test_without_a_terminal_it_says_where_to_look(tmp_path: Path) -> None:
    folder = recorded(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "takeback.tui.cli"],
        cwd=folder,
        env=env_of(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert b"opens on a terminal only" in done.stdout
    assert b"takeback log" in done.stdout
    assert b"\x1b" not in done.stdout


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
def test_three_keys_within_tmux(tmp_path: Path, size: tuple[int, int]) -> None:
    """A multiplexer has ways of its own with keys; the test above is the proof without one."""
    folder = recorded(tmp_path)
    # TERM and the size are tmux's own.
    env = {k: v for k, v in env_of(tmp_path).items() if k not in ("LINES", "COLUMNS", "TMUX")}
    # The path of a socket has room for about a hundred bytes.
    place = tempfile.mkdtemp(prefix="tb-")
    socket = os.path.join(place, "tmux")

    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", socket, "-f", os.devnull, *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    def until(wanted: str) -> None:
        end = time.monotonic() + WAIT_S
        shown = ""
        while wanted not in shown and time.monotonic() < end:
            time.sleep(0.1)
            shown = tmux("capture-pane", "-p")
        assert wanted in shown, shown

    start = shlex.join([sys.executable, "-m", "takeback.tui.cli"])
    width, height = map(str, size)
    tmux("new-session", "-d", "-x", width, "-y", height, "-c", str(folder), start)
    try:
        until("a.txt")
        chords = ["C-x", "h", "C-x", "g"] * 10
        tmux("send-keys", "C-x", "u", "Enter", *chords)
        until("Took back")
        assert (folder / "a.txt").read_text() == "old\n"
        tmux("send-keys", "C-x", "r", "Enter")
        until("Put back")
        assert (folder / "a.txt").read_text() == "new\n"
        tmux("send-keys", "C-x", "q")
        end = time.monotonic() + WAIT_S
        while tmux("list-sessions") and time.monotonic() < end:
            time.sleep(0.1)
        assert tmux("list-sessions") == ""
    finally:
        tmux("kill-server")
        shutil.rmtree(place)
