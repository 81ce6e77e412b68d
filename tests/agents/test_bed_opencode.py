"""The real OpenCode against a scripted model; opt-in, see `test_bed`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.agents.test_bed import DEV, FIRST, SECOND, Bed, evidence, tree

pytestmark = pytest.mark.agents


class Shop(Bed):
    """A project with OpenCode connected."""

    def connect(self, *more: str) -> list[str]:
        words = [sys.executable, "-m", "takeback.tui.cli", "install", "opencode", *more]
        command = shlex.join([*words, "--data-dir", str(self.data)])
        return ["--install-hooks", f"PYTHONPATH={shlex.quote(str(DEV))} {command}"]

    def repository(self) -> dict[str, tuple[str, bytes, int]]:
        """What is within `.git`, but for what OpenCode itself does there: it keeps the project's id
        in a file, and touches objects."""
        found = tree(self.shop / ".git").items()
        return {name: state[:3] for name, state in found if name != "opencode"}


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_three_turns(tmp_path: Path, git: bool) -> None:
    b = Shop(tmp_path, "basic3", git)
    before, repository = b.files(), b.repository()
    b.run(b.agent("opencode", "--turns", "1", *b.connect()))
    between = b.files()
    b.run(b.agent("opencode", "--turns", "2,3", "--resume"))
    after = b.files()
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert all(turn["complete"] for turn in (one, two, three))
    assert [len(turn["steps"]) for turn in (one, two, three)] == [3, 3, 1]
    assert one["prompt"] == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert evidence(one) == FIRST and evidence(two) == SECOND and evidence(three) == {}
    checks = b.tb("doctor")["checks"]
    named = [c for c in checks if c["name"] in ("hooks", "opencode")]
    assert [check for check in named if not check["ok"]] == []

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
    assert b.repository() == repository

    plugin = b.home / ".config/opencode/plugin/takeback.js"
    assert plugin.exists()
    b.tb("uninstall", "opencode")
    assert not plugin.exists()


def test_calls_that_fail(tmp_path: Path) -> None:
    b = Shop(tmp_path, "fail", False)
    before = b.files()
    b.run(b.agent("opencode", *b.connect()))
    first, second = b.turns()
    assert evidence(first) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    states = {(c["tool"], c["state"]) for step in first["steps"] for c in step["calls"]}
    assert states == {("edit", "failed"), ("bash", "failed"), ("edit", "done")}
    assert len(first["steps"]) == 3 and evidence(second) == {}
    edit = next(c["id"] for c in first["steps"][1]["calls"])
    b.tb("undo", "--call", edit)
    assert b.files()["README.md"] == before["README.md"] and "partial.txt" in b.files()
    b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_renames(tmp_path: Path) -> None:
    b = Shop(tmp_path, "rename", True)
    before, repository = b.files(), b.repository()
    b.run(b.agent("opencode", "--turns", "mv", *b.connect()))
    between = b.files()
    b.run(b.agent("opencode", "--turns", "move", "--resume"))
    after = b.files()
    one, two = b.turns()
    assert evidence(one) == {
        "src/price.py": ("deleted", "during-call"),
        "src/pricing.py": ("added", "mixed"),
    }
    assert evidence(two) == {
        "config.ini": ("deleted", "during-call"),
        "shop.ini": ("added", "during-call"),
    }
    b.tb("undo", "--path", "config.ini", "--yes")
    assert b.files()["config.ini"] == before["config.ini"] and "shop.ini" in b.files()
    b.tb("undo", "--all", "--yes")
    assert b.files() == between
    b.tb("undo", "--all", "--yes")
    assert b.files() == before
    for _ in range(3):
        b.tb("redo", "--yes")
    assert b.files() == after and b.repository() == repository


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_an_agent_that_is_stopped(tmp_path: Path, signal: str) -> None:
    b = Shop(tmp_path, "slow", True)
    before = b.files()
    options = ["--turns", "slow", "--interrupt", signal, "--when", "slow1.txt"]
    b.run(b.agent("opencode", *options, *b.connect()))
    (turn,) = b.turns()
    assert turn["state"] == "interrupted" and turn["prompt"] == "[slow] Run the slow command."
    assert evidence(turn)["slow1.txt"][0] == "added"
    (call,) = (call for step in turn["steps"] for call in step["calls"])
    assert call["state"] in ("lost", "failed")
    b.tb("undo", code=4)
    b.tb("undo", "--include-unknown", "--yes")
    assert {k: v for k, v in b.files().items() if k != "slow2.txt"} == before


def test_a_subagent(tmp_path: Path) -> None:
    b = Shop(tmp_path, "subagent", True)
    before = b.files()
    b.run(b.agent("opencode", *b.connect()))
    turns = b.turns()
    assert [turn["prompt"].split(" ")[0] for turn in turns] == ["[delegate]", "[after]"]
    assert evidence(turns[0]) == {"sub.txt": ("added", "tool-edit")}
    assert all(turn["state"] == "complete" for turn in turns)
    assert len(b.tb("log")["sessions"]) == 1
    b.tb("undo")
    assert b.files() == before


def test_outside_the_project(tmp_path: Path) -> None:
    b = Shop(tmp_path, "outside", True)
    b.run(b.agent("opencode", *b.connect()))
    (turn,) = b.turns()
    reasons = {str(item["path"]): item["reason"] for item in turn["not_captured"]}
    assert reasons[".env"] in ("secret", "ignored")
    assert any("made.txt" in path for path in reasons)
    for path in b.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_a_plugin_of_the_project(tmp_path: Path) -> None:
    b = Shop(tmp_path, "basic3", True)
    b.run(b.agent("opencode", "--turns", "1", *b.connect("--project")))
    assert (b.shop / ".opencode/plugin/takeback.js").exists()
    (turn,) = b.turns()
    assert evidence(turn) == FIRST


def test_settings_in_another_folder(tmp_path: Path) -> None:
    b = Shop(tmp_path, "basic3", True)
    own = tmp_path / "own"
    own.mkdir()
    # The bed's settings of the model are read from there as well.
    (own / "opencode").symlink_to(b.home / ".config/opencode")
    b.run(b.agent("opencode", "--turns", "1", "--env", f"XDG_CONFIG_HOME={own}", *b.connect()))
    (turn,) = b.turns()
    assert evidence(turn) == FIRST
