"""The real Codex against a scripted model: recorded, taken back, put back. Opt-in, see test_bed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.codex.resume import fork
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import Point
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

pytestmark = pytest.mark.agents

SCRIPTS = "gpt-5.6-sol"
"""A model that works in code mode."""


class CodexBed(Bed):
    name = "codex"


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)


@pytest.mark.parametrize("model", [[], ["--model", SCRIPTS]], ids=["patches", "scripts"])
@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_codex(tmp_path: Path, git: bool, model: list[str]) -> None:
    b = CodexBed(tmp_path, "basic3", git)
    before, repository = b.files(), tree(b.shop / ".git")
    b.play("--turns", "1", *model, *b.connect())
    between = b.files()
    b.play("--turns", "2,3", "--resume", *model)
    after = b.files()
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert all(turn["complete"] for turn in (one, two, three))
    assert [len(turn["steps"]) for turn in (one, two, three)] == [3, 3, 1]
    assert [len(step["calls"]) for step in one["steps"]] == [1, 2, 0]
    assert [len(calls(turn)) for turn in (one, two, three)] == [3, 2, 0]
    assert one["prompt"] == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert evidence(one) == FIRST and evidence(two) == SECOND and evidence(three) == {}

    # What was said is found in Codex's own files, by the same names.
    (talk,) = b.talks()
    assert [turn.prompt for turn in talk.turns] == [t["prompt"] for t in (one, two, three)]
    for said, recorded in zip(talk.turns, (one, two, three), strict=True):
        assert [call.id for step in said.steps for call in step.calls] == ids(recorded)
        assert len(said.steps) == len(recorded["steps"])

    # By call, by file, by turn.
    goes_back_and_forth(b, ids(two)[1], before, between, after)
    assert tree(b.shop / ".git") == repository

    hooks = b.home / ".codex/hooks.json"
    assert hooks.exists()
    b.tb("uninstall", "codex")
    assert not hooks.exists()


def test_undo_and_redo_from_within_codex(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "basic3", True)
    b.play("--turns", "1", *b.connect())
    before = b.files()
    b.play("--turns", "2", "--resume")
    after = b.files()
    asked = tmp_path / "asked.json"
    turns = []
    for name in ("undo", "redo", "status"):
        text = (b.home / f".codex/skills/takeback-{name}/SKILL.md").read_text("utf-8")
        command = text.partition("```sh\n")[2].partition("\n```")[0]
        yes = " --turn 2 --all --yes" if name == "undo" else ""
        call = {"raw": "exec_command", "args": {"cmd": command + yes, "yield_time_ms": 30_000}}
        steps = [{"text": "", "tools": [call]}, {"text": "Done."}]
        prompt = f"$takeback-{name} [{name}]"
        turns.append({"match": f"[{name}]", "prompt": prompt, "steps": steps})
    asked.write_text(json.dumps({"name": "asked", "files": {}, "turns": turns}), "utf-8")
    b.scenario = str(asked)
    b.play("--turns", "undo", "--resume")
    assert b.files() == before
    b.play("--turns", "redo", "--resume")
    assert b.files() == after
    b.play("--turns", "status", "--resume")
    *_, undo, redo, status = b.turns()
    for turn in (undo, redo, status):
        assert turn["state"] == "complete" and evidence(turn) == {} and calls(turn) == []
    output = [path.read_text() for path in sorted((b.home / "bed-logs").glob("turn-*.out"))][-1]
    assert "exit_code" in output and "undo" in output


def test_codex_without_approval_records_nothing_and_doctor_says_so(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "basic3", True)
    b.play("--turns", "1", "--no-trust", *b.connect())
    assert not (b.data / "projects").exists()
    checks = b.tb("doctor")["checks"]
    assert any(c["name"] == "codex" and not c["ok"] and "approval" in str(c) for c in checks)
    settings = b.home / ".codex/config.toml"
    assert b"trusted_hash" not in settings.read_bytes()
    # The conversation is there all the same.
    (talk,) = b.talks()
    assert talk.turns[0].steps[-1].text == "total() is fixed and NOTES.md is written."


def test_codex_with_patches_through_the_shell(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "basic3", True)
    before = b.files()
    b.play("--model", "unheard-of", *b.connect())
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert {state for turn in (one, two) for _, state in calls(turn)} == {"done"}
    assert {path: status for path, (status, _) in evidence(one).items()} == {
        path: status for path, (status, _) in FIRST.items()
    }
    assert {kind for turn in (one, two) for _, kind in evidence(turn).values()} == {"during-call"}
    for _ in range(2):
        b.tb("undo", "--include-unknown", "--yes")
    assert b.files() == before


def test_codex_with_calls_that_fail(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "fail", False)
    before = b.files()
    b.play(*b.connect())
    first, after = b.turns()
    assert evidence(first) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    assert calls(first) == [("apply_patch", "failed"), ("Bash", "failed"), ("apply_patch", "done")]
    assert evidence(after) == {}
    b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_codex_that_renames(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "rename", True)
    before, repository = b.files(), tree(b.shop / ".git")
    b.play(*b.connect())
    one, two = b.turns()
    assert evidence(one)["src/price.py"] == ("deleted", "during-call")
    assert evidence(one)["src/pricing.py"][0] == "added"
    assert evidence(two) == {
        "config.ini": ("deleted", "tool-edit"),
        "shop.ini": ("added", "tool-edit"),
    }
    after = b.files()
    b.tb("undo")
    assert b.files()["config.ini"] == before["config.ini"] and "shop.ini" not in b.files()
    b.tb("redo")
    assert b.files() == after
    for _ in range(2):
        b.tb("undo", "--all", "--yes")
    assert b.files() == before
    assert tree(b.shop / ".git") == repository


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_codex_that_is_stopped(tmp_path: Path, signal: str) -> None:
    b = CodexBed(tmp_path, "slow", True)
    before = b.files()
    b.play("--turns", "slow", "--interrupt", signal, "--when", "slow1.txt", *b.connect())
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert evidence(turn)["slow1.txt"][0] == "added"
    b.play("--turns", "after", "--resume")
    slow, after = b.turns()
    assert slow["state"] == "interrupted" and after["state"] == "complete"
    if signal == "SIGINT":
        assert evidence(slow) == {"slow1.txt": ("added", "during-call")}
        b.tb("undo", code=4)
        b.tb("undo", "--include-unknown", "--yes")
        assert b.files() == before


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_codex_with_a_subagent(tmp_path: Path, git: bool) -> None:
    b = CodexBed(tmp_path, "subagent", git)
    before = b.files()
    b.play("--model", SCRIPTS, *b.connect())
    first, after = b.turns()
    assert evidence(first) == {"sub.txt": ("added", "tool-edit")} and evidence(after) == {}
    assert first["state"] == after["state"] == "complete"
    parent, child = sorted(b.talks(), key=lambda talk: talk.parent)
    assert child.parent == parent.session
    inner = [call.id for turn in child.turns for step in turn.steps for call in step.calls]
    outer = [call.id for step in parent.turns[0].steps for call in step.calls]
    assert sorted(ids(first)) == sorted(inner + outer)
    b.tb("undo")
    assert b.files() == before


def test_codex_outside_the_project(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "outside", True)
    b.play(*b.connect())
    (turn,) = b.turns()
    reasons = {item["path"]: item["reason"] for item in turn["not_captured"]}
    assert reasons[".env"] in ("secret", "ignored")
    assert any("made.txt" in str(path) for path in reasons)
    for path in b.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_codex_and_odd_names(tmp_path: Path) -> None:
    b = CodexBed(tmp_path, "names", True)
    before = b.files()
    b.play(*b.connect())
    after = b.files()
    turns = b.turns()
    assert {turn["state"] for turn in turns} == {"complete"}
    changed = {path for turn in turns for path in evidence(turn)}
    assert changed == {path for path in before.keys() | after.keys() if is_new(path, before, after)}
    for _ in turns:
        b.tb("undo", "--all", "--yes")
    assert b.files() == before


def is_new(path: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    one, two = before.get(path), after.get(path)
    return one != two and "dir" not in ((one or two)[0], (two or one)[0])


def test_a_copy_ends_before_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b = CodexBed(tmp_path, "basic3", True)
    b.play("--turns", "1", *b.connect())
    b.play("--turns", "2,3", "--resume")
    state = b.files()
    (talk,) = b.talks()
    held = {path: path.read_bytes() for path in (b.home / ".codex/sessions").rglob("rollout*")}
    program = Path(b.env["BED_NODE"]) / "codex/node_modules/.bin"
    monkeypatch.setenv("PATH", f"{program}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(b.home))
    folder, home = os.fsencode(b.shop), os.fsencode(b.home)
    points = [Point(talk.session, folder, turn.prompt, turn.key, -1, home) for turn in talk.turns]
    # The model's server is gone by now: nobody can be asked anything.
    assert fork(points[0], Programs()).argv == ("codex",)
    way = fork(points[2], Programs())
    assert way.exact and way.argv[:2] == ("codex", "resume")
    copy = next(one for one in b.talks() if one.session == way.argv[2])
    assert copy.parent == talk.session
    assert [turn.prompt for turn in copy.turns] == [turn.prompt for turn in talk.turns[:2]]
    assert all(path.read_bytes() == data for path, data in held.items())
    assert b.files() == state and len(b.turns()) == 3
