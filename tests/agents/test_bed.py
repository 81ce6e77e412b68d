"""Real agents against a scripted model: what they did is recorded, taken back and put back.

Opt-in (``-m agents``): needs a test bed of agents, a folder with ``run_agent.py``, ``scenarios/``
and a way to install the agents, named by the variable TAKEBACK_BED.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.agents.real import FIRST, SECOND, Bed, evidence, tree

pytestmark = pytest.mark.agents


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
