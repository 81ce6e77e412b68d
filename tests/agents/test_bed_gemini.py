"""The real Gemini CLI against a scripted model: recorded, taken back, put back. Opt-in, see
test_bed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.real import (
    FIRST,
    SECOND,
    Bed,
    calls,
    evidence,
    goes_back_and_forth,
    ids,
    tree,
)
from tests.agents.test_bed_telling import asked

pytestmark = pytest.mark.agents


class GeminiBed(Bed):
    name = "gemini"


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_gemini(tmp_path: Path, git: bool) -> None:
    b = GeminiBed(tmp_path, "basic3", git)
    before, repository = b.files(), tree(b.shop / ".git")
    b.play("--turns", "1", *b.connect())
    between = b.files()
    b.play("--turns", "2,3", "--resume")
    after = b.files()
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert all(turn["complete"] for turn in (one, two, three))
    assert [len(turn["steps"]) for turn in (one, two, three)] == [3, 3, 1]
    # Reading tools start no hook of ours: their calls are found in Gemini CLI's own file.
    assert [calls(turn) for turn in (one, two, three)] == [
        [("replace", "done"), ("write_file", "done")],
        [("run_shell_command", "done"), ("replace", "done")],
        [],
    ]
    assert one["prompt"] == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert [step["text"] for step in one["steps"]] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert evidence(one) == FIRST and evidence(two) == SECOND and evidence(three) == {}
    checks = b.tb("doctor")["checks"]
    assert [c for c in checks if not c["ok"] and c["name"] in ("hooks", "gemini")] == []

    # What was said is found in Gemini CLI's own files, by the same names.
    (talk,) = b.talks()
    assert [turn.prompt for turn in talk.turns] == [t["prompt"] for t in (one, two, three)]
    for said, recorded in zip(talk.turns, (one, two, three), strict=True):
        named = [c.id for step in said.steps for c in step.calls if c.tool != "read_file"]
        assert named == ids(recorded) and len(said.steps) == len(recorded["steps"])

    # By call, by file, by turn.
    goes_back_and_forth(b, ids(two)[1], before, between, after)
    assert tree(b.shop / ".git") == repository

    settings = b.home / ".gemini/settings.json"
    assert "takeback" in settings.read_text()
    b.tb("uninstall", "gemini")
    assert "takeback" not in settings.read_text()
    assert not (b.home / ".gemini/commands").exists()


def test_gemini_with_calls_that_fail(tmp_path: Path) -> None:
    b = GeminiBed(tmp_path, "fail", False)
    before = b.files()
    b.play(*b.connect())
    first, after = b.turns()
    assert evidence(first) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    assert calls(first) == [
        ("replace", "failed"),
        ("run_shell_command", "failed"),
        ("replace", "done"),
    ]
    assert evidence(after) == {}
    b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_gemini_that_renames(tmp_path: Path) -> None:
    b = GeminiBed(tmp_path, "rename", True)
    before, repository = b.files(), tree(b.shop / ".git")
    b.play(*b.connect())
    one, two = b.turns()
    assert evidence(one)["src/price.py"] == ("deleted", "during-call")
    assert evidence(one)["src/pricing.py"][0] == "added"
    assert evidence(two) == {
        "config.ini": ("deleted", "during-call"),
        "shop.ini": ("added", "during-call"),
    }
    for _ in range(2):
        b.tb("undo", "--all", "--yes")
    assert b.files() == before
    assert tree(b.shop / ".git") == repository


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_gemini_that_is_stopped(tmp_path: Path, signal: str) -> None:
    b = GeminiBed(tmp_path, "slow", True)
    b.play("--turns", "slow", "--interrupt", signal, "--when", "slow1.txt", *b.connect())
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert evidence(turn)["slow1.txt"][0] == "added"
    b.play("--turns", "after", "--resume")
    slow, after = b.turns()
    assert slow["state"] == "interrupted" and after["state"] == "complete"


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_gemini_with_a_subagent(tmp_path: Path, git: bool) -> None:
    b = GeminiBed(tmp_path, "subagent", git)
    before = b.files()
    b.play(*b.connect())
    first, after = b.turns()
    assert evidence(first) == {"sub.txt": ("added", "tool-edit")} and evidence(after) == {}
    assert first["state"] == after["state"] == "complete"
    parent, child = sorted(b.talks(), key=lambda talk: talk.parent)
    assert child.parent == parent.session
    b.tb("undo")
    assert b.files() == before


def test_gemini_outside_the_project(tmp_path: Path) -> None:
    b = GeminiBed(tmp_path, "outside", True)
    b.play(*b.connect())
    (turn,) = b.turns()
    assert calls(turn) == [("run_shell_command", "done")] and evidence(turn) == {}
    for path in b.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_gemini_and_odd_names(tmp_path: Path) -> None:
    b = GeminiBed(tmp_path, "names", True)
    before = b.files()
    b.play(*b.connect())
    turns = b.turns()
    assert {turn["state"] for turn in turns} == {"complete"}
    assert any(evidence(turn) for turn in turns)
    for _ in turns:
        b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_gemini_with_work_in_the_background(tmp_path: Path) -> None:
    b = GeminiBed(tmp_path, "background", True)
    b.play(*b.connect())
    assert {turn["state"] for turn in b.turns()} == {"complete"}


def test_undo_redo_and_status_within_gemini(tmp_path: Path) -> None:
    b = GeminiBed(tmp_path, "basic3", True)
    before = b.files()
    # What takeback says cuts it off before the word that the scripted model would answer to.
    prompt = f"Fix total() {'very ' * 20}well [1]"
    b.play("--prompt", prompt, *b.connect())
    after = b.files()
    for given, words, files in (
        ("/takeback:status", "Next undo: turn 1", after),
        ("/takeback:undo --dry-run", "takeback redo reverses it", after),
        ("/takeback:undo", "Took back turn 1", before),
        ("/takeback:redo --yes", "files restored", after),
        ("/takeback:redo", "Nothing was changed", after),
    ):
        b.play("--resume", "--bodies", "--prompt", given)
        assert any(words in body for body in asked(b)), given
        assert b.files() == files, given
    turns = b.turns()
    assert all(turn["changes"] == [] and turn["state"] == "complete" for turn in turns[1:])
