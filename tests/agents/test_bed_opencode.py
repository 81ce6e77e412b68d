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

    def repository(self) -> dict[str, tuple[str, bytes, int, int]]:
        """What is within `.git`, but for the project's id, which OpenCode itself keeps there."""
        return {k: v for k, v in tree(self.shop / ".git").items() if k != "opencode"}


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
