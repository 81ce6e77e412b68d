"""The real pi against a scripted model: recorded, taken back, put back. Opt-in, see test_bed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.agents.test_bed import DEV, FIRST, SECOND, Bed, evidence, tree

pytestmark = pytest.mark.agents


class PiBed(Bed):
    def connect(self) -> list[str]:
        words = [sys.executable, "-m", "takeback.tui.cli", "install", "pi"]
        command = shlex.join([*words, "--data-dir", str(self.data)])
        return ["--install-hooks", f"PYTHONPATH={shlex.quote(str(DEV))} {command}"]

    def pi(self, *more: str) -> None:
        self.run(self.agent("pi", *more))


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)


def calls(turn: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["tool"], call["state"]) for step in turn["steps"] for call in step["calls"]]


def ids(turn: dict[str, Any]) -> list[str]:
    return [call["id"] for step in turn["steps"] for call in step["calls"]]


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_pi(tmp_path: Path, git: bool) -> None:
    b = PiBed(tmp_path, "basic3", git)
    before, repository = b.files(), tree(b.shop / ".git")
    b.pi("--turns", "1", *b.connect())
    between = b.files()
    b.pi("--turns", "2,3", "--resume")
    after = b.files()
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert all(turn["complete"] for turn in (one, two, three))
    assert [len(turn["steps"]) for turn in (one, two, three)] == [3, 3, 1]
    # Reading tools are not told: their call is found in pi's own file.
    assert [calls(turn) for turn in (one, two, three)] == [
        [("edit", "done"), ("write", "done")],
        [("bash", "done"), ("edit", "done")],
        [],
    ]
    assert one["prompt"] == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert [step["text"] for step in one["steps"]] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert evidence(one) == FIRST and evidence(two) == SECOND and evidence(three) == {}

    # By call, by file, by turn.
    b.tb("undo", "--call", ids(two)[1])
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
    assert tree(b.shop / ".git") == repository

    extension = b.home / ".pi/agent/extensions/takeback.ts"
    assert extension.exists()
    b.tb("uninstall", "pi")
    assert not extension.exists()
