"""Real agents against a scripted model: what the opt-in tests of all of them have in common."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import conversations
from takeback.engine.agents.talk import Talk
from tests.agents.replay import FIRST, SECOND

__all__ = ["FIRST", "SECOND"]

DEV = Path(__file__).resolve().parents[2] / ".dev"


def bed() -> Path:
    given = os.environ.get("TAKEBACK_BED")
    if not given:
        pytest.skip("TAKEBACK_BED names no folder with run_agent.py and scenarios/")
    folder = Path(given)
    if not (folder / "run_agent.py").is_file():
        pytest.skip(f"there is no run_agent.py in {folder}")
    return folder


def tree(folder: Path) -> dict[str, tuple[str, bytes, int, int]]:
    """Every file with its kind, bytes, mode and time; of folders the names only."""
    found = {}
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.fsencode(os.readlink(path)), 0, 0)
        elif path.is_dir():
            found[name] = ("dir", b"", 0, 0)
        else:
            found[name] = ("file", path.read_bytes(), info.st_mode & 0o7777, info.st_mtime_ns)
    return found


class Bed:
    """A project made from a scenario, a home for the agent, and takeback's own folders.

    Attributes:
        name: the agent's, as takeback calls it.
    """

    name = "claude"

    def __init__(self, place: Path, scenario: str, git: bool) -> None:
        self.bed, self.scenario = bed(), scenario
        self.shop, self.home, self.data = place / "my shop", place / "home", place / "data"
        self.git = git
        self.shop.mkdir()
        self.home.mkdir()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(DEV),
            "TAKEBACK_DATA_DIR": str(self.data),
            "TAKEBACK_CONFIG_DIR": str(place / "config"),
            "BED_NODE": os.environ.get("BED_NODE")
            or os.path.join(os.path.expanduser("~"), ".cache", "takeback-bed"),
        }
        given = json.loads((self.bed / "scenarios" / f"{scenario}.json").read_text("utf-8"))
        for name, text in given["files"].items():
            path = self.shop / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        if git:
            for words in (
                ["init", "-q"],
                ["add", "-A"],
                ["-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-qm", "base"],
            ):
                subprocess.run(["git", *words], cwd=self.shop, env=self.env, check=True)

    def agent(self, name: str, *more: str) -> list[str]:
        return [
            *(sys.executable, str(self.bed / "run_agent.py"), name),
            *("--scenario", self.scenario, "--project", str(self.shop)),
            *("--home", str(self.home), *more),
        ]

    def run(self, command: list[str]) -> dict[str, Any]:
        done = subprocess.run(
            command, cwd=self.shop, env=self.env, capture_output=True, text=True, timeout=300
        )
        if done.returncode and "not installed" in done.stderr:
            pytest.skip(f"the bed has no such agent: {done.stderr.strip()}")
        assert done.returncode == 0, done
        found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return found

    def tb(self, *words: str, code: int = 0) -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "takeback.tui.cli", "--json", *words],
            cwd=self.shop,
            env=self.env,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )
        assert done.returncode == code, done
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def connect(self, *more: str) -> list[str]:
        """Options that connect takeback to the agent, with the data folder in the command."""
        words = [sys.executable, "-m", "takeback.tui.cli", "install", self.name, *more]
        command = shlex.join([*words, "--data-dir", str(self.data)])
        return ["--install-hooks", f"PYTHONPATH={shlex.quote(str(DEV))} {command}"]

    def play(self, *more: str) -> None:
        """Let the agent work."""
        self.run(self.agent(self.name, *more))

    def talks(self) -> list[Talk]:
        """What the agent's own files say, oldest conversation first."""
        reader = dict(conversations.readers())[self.name]
        found = reader.find(os.fsencode(self.shop), os.fsencode(self.home))
        return [talk for talk in map(reader.read, found) if talk is not None]

    def turns(self) -> list[dict[str, Any]]:
        log = self.tb("log")
        found = [turn for session in log["sessions"] for turn in session["turns"]]
        return sorted(found, key=lambda turn: int(turn["n"]))

    def files(self) -> dict[str, tuple[str, bytes, int, int]]:
        return {k: v for k, v in tree(self.shop).items() if not k.startswith(".git/")}


def evidence(turn: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["path"]: (c["status"], c["evidence"]) for c in turn["changes"]}


def calls(turn: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["tool"], call["state"]) for step in turn["steps"] for call in step["calls"]]


def ids(turn: dict[str, Any]) -> list[str]:
    return [call["id"] for step in turn["steps"] for call in step["calls"]]


State = dict[str, tuple[str, bytes, int, int]]


def goes_back_and_forth(b: Bed, edit: str, before: State, between: State, after: State) -> None:
    """Two turns are taken back by call, by file and by turn, and put back, to the byte.

    Args:
        edit: the call of the second turn that changed src/cart.py.
        before, between, after: the files around the two turns.
    """
    b.tb("undo", "--call", edit)
    assert b.files()["src/cart.py"] == between["src/cart.py"]
    b.tb("redo")
    assert b.files() == after
    b.tb("undo", "--turn", "2", "--path", "old.txt", "--yes")
    assert b.files() == {**after, "old.txt": between["old.txt"]}
    b.tb("redo", "--yes")
    assert b.files() == after
    b.tb("undo", "--turn", "2", "--all", "--yes")
    assert b.files() == between
    b.tb("undo")
    assert b.files() == before
    b.tb("redo")
    b.tb("redo", "--yes")
    assert b.files() == after
