"""Real agents against a scripted model: what they did is recorded, taken back and put back.

Opt-in (``-m agents``): needs a test bed of agents, a folder with ``run_agent.py``, ``scenarios/``
and a way to install the agents, named by the variable TAKEBACK_BED.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.agents

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
    """A project made from a scenario, a home for the agent, and takeback's own folders."""

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

    def connect(self) -> list[str]:
        """Options that connect takeback to the agent, with the data folder in the command."""
        words = [sys.executable, "-m", "takeback.tui.cli", "install", "claude"]
        command = shlex.join([*words, "--data-dir", str(self.data)])
        return ["--install-hooks", f"PYTHONPATH={shlex.quote(str(DEV))} {command}"]

    def turns(self) -> list[dict[str, Any]]:
        log = self.tb("log")
        found = [turn for session in log["sessions"] for turn in session["turns"]]
        return sorted(found, key=lambda turn: int(turn["n"]))

    def files(self) -> dict[str, tuple[str, bytes, int, int]]:
        return {k: v for k, v in tree(self.shop).items() if not k.startswith(".git/")}


def evidence(turn: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {c["path"]: (c["status"], c["evidence"]) for c in turn["changes"]}


FIRST = {"NOTES.md": ("added", "tool-edit"), "src/cart.py": ("modified", "tool-edit")}
SECOND = {
    "config.ini": ("modified", "during-call"),
    "old.txt": ("deleted", "during-call"),
    "gen.txt": ("added", "during-call"),
    "src/cart.py": ("modified", "tool-edit"),
}


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_claude_code(tmp_path: Path, git: bool) -> None:
    b = Bed(tmp_path, "basic3", git)
    before, repository = b.files(), tree(b.shop / ".git")
    b.run(b.agent("claude", "--turns", "1", *b.connect()))
    between = b.files()
    b.run(b.agent("claude", "--turns", "2,3", "--resume"))
    after = b.files()
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert all(turn["complete"] for turn in (one, two, three))
    assert [len(turn["steps"]) for turn in (one, two, three)] == [3, 3, 1]
    assert one["prompt"] == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert evidence(one) == FIRST and evidence(two) == SECOND and evidence(three) == {}
    checks = b.tb("doctor")["checks"]
    assert [
        check for check in checks if not check["ok"] and check["name"] in ("hooks", "claude")
    ] == []

    # The newest turn first: its edit by itself, then all of it, then the first turn.
    b.tb("undo")
    now = b.files()
    assert now["src/cart.py"] == between["src/cart.py"]
    assert {k: v for k, v in now.items() if k != "src/cart.py"} == {
        k: v for k, v in after.items() if k != "src/cart.py"
    }
    b.tb("undo", "--turn", "2", "--all", "--yes")
    assert b.files() == between
    b.tb("undo")
    assert b.files() == before
    for _ in range(3):
        b.tb("redo", "--yes")
    assert b.files() == after
    b.tb("redo", code=3)
    assert tree(b.shop / ".git") == repository

    settings = b.home / ".claude/settings.json"
    assert settings.exists()
    b.tb("uninstall", "claude")
    assert not settings.exists()


def test_claude_code_interrupted(tmp_path: Path) -> None:
    b = Bed(tmp_path, "slow", True)
    before = b.files()
    options = ["--turns", "slow", "--interrupt", "SIGINT", "--when", "slow1.txt"]
    b.run(b.agent("claude", *options, *b.connect()))
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert evidence(turn) == {"slow1.txt": ("added", "during-call")}
    b.tb("undo", code=4)
    b.tb("undo", "--include-unknown", "--yes")
    assert b.files() == before


def test_claude_code_with_a_subagent(tmp_path: Path) -> None:
    b = Bed(tmp_path, "subagent", True)
    b.run(b.agent("claude", *b.connect()))
    turns = b.turns()
    assert evidence(turns[0]) == {"sub.txt": ("added", "tool-edit")}
    assert all(turn["state"] == "complete" for turn in turns)
    assert not any("<task-notification>" in turn["prompt"] for turn in turns)


def test_claude_code_with_calls_that_fail(tmp_path: Path) -> None:
    b = Bed(tmp_path, "fail", False)
    before = b.files()
    b.run(b.agent("claude", *b.connect()))
    first = b.turns()[0]
    assert evidence(first) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    states = {(c["tool"], c["state"]) for step in first["steps"] for c in step["calls"]}
    assert states == {("Edit", "failed"), ("Bash", "failed"), ("Edit", "done")}
    b.tb("undo", "--all", "--yes")
    assert b.files() == before


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_pi_through_run(tmp_path: Path, git: bool) -> None:
    b = Bed(tmp_path, "basic3", git)
    b.env["BED_OFFLINE"] = "1"
    before, repository = b.files(), tree(b.shop / ".git")
    run = [sys.executable, "-m", "takeback.tui.cli", "run", "--agent", "pi"]
    b.run([*run, "--prompt", "one", "--", *b.agent("pi", "--turns", "1")])
    between = b.files()
    b.run([*run, "--prompt", "two", "--", *b.agent("pi", "--turns", "2", "--resume")])
    after = b.files()
    one, two = b.turns()
    assert {path: status for path, (status, _) in evidence(one).items()} == {
        path: status for path, (status, _) in FIRST.items()
    }
    assert {kind for turn in (one, two) for _, kind in evidence(turn).values()} == {"during-call"}
    assert evidence(two).keys() == SECOND.keys()
    b.tb("undo", code=4)
    assert b.files() == after
    b.tb("undo", "--include-unknown", "--yes")
    assert b.files() == between
    b.tb("undo", "--include-unknown", "--yes")
    assert b.files() == before
    b.tb("redo")
    b.tb("redo")
    assert b.files() == after
    assert tree(b.shop / ".git") == repository


def test_claude_code_outside_the_project(tmp_path: Path) -> None:
    b = Bed(tmp_path, "outside", True)
    b.run(b.agent("claude", *b.connect()))
    (turn,) = b.turns()
    reasons = {item["path"]: item["reason"] for item in turn["not_captured"]}
    assert reasons[".env"] in ("secret", "ignored")
    assert any("made.txt" in str(path) for path in reasons)
    for path in b.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_claude_code_killed(tmp_path: Path) -> None:
    b = Bed(tmp_path, "slow", True)
    options = ["--turns", "slow", "--interrupt", "SIGKILL", "--when", "slow1.txt"]
    b.run(b.agent("claude", *options, *b.connect()))
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert "slow1.txt" in evidence(turn)
