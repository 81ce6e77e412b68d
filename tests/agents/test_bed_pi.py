"""The real pi against a scripted model: recorded, taken back, put back. Opt-in, see test_bed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from takeback.engine.agents.pi.resume import fork
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
from tests.agents.terminal import program
from tests.agents.test_bed_telling import asked

pytestmark = pytest.mark.agents


class PiBed(Bed):
    name = "pi"


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_pi(tmp_path: Path, git: bool) -> None:
    b = PiBed(tmp_path, "basic3", git)
    before, repository = b.files(), tree(b.shop / ".git")
    b.play("--turns", "1", *b.connect())
    between = b.files()
    b.play("--turns", "2,3", "--resume")
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

    checks = b.tb("doctor")["checks"]
    assert [c for c in checks if not c["ok"] and c["name"] in ("hooks", "pi")] == []

    # What was said is found in pi's own files, by the same names.
    (talk,) = b.talks()
    assert [turn.prompt for turn in talk.turns] == [t["prompt"] for t in (one, two, three)]
    for said, recorded in zip(talk.turns, (one, two, three), strict=True):
        named = [call.id for step in said.steps for call in step.calls if call.tool != "read"]
        assert named == ids(recorded) and len(said.steps) == len(recorded["steps"])

    # By call, by file, by turn.
    goes_back_and_forth(b, ids(two)[1], before, between, after)
    assert tree(b.shop / ".git") == repository

    extension = b.home / ".pi/agent/extensions/takeback.ts"
    assert extension.exists()
    b.tb("uninstall", "pi")
    assert not extension.exists()


def test_pi_with_calls_that_fail(tmp_path: Path) -> None:
    b = PiBed(tmp_path, "fail", False)
    before = b.files()
    b.play(*b.connect())
    first, after = b.turns()
    assert evidence(first)["partial.txt"] == ("added", "during-call")
    assert evidence(first)["README.md"][0] == "modified"
    assert calls(first) == [("edit", "failed"), ("bash", "failed"), ("edit", "done")]
    assert evidence(after) == {}
    b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_pi_that_renames(tmp_path: Path) -> None:
    b = PiBed(tmp_path, "rename", True)
    before, repository = b.files(), tree(b.shop / ".git")
    b.play(*b.connect())
    one, two = b.turns()
    assert evidence(one)["src/price.py"] == ("deleted", "during-call")
    assert evidence(one)["src/pricing.py"][0] == "added"
    assert set(evidence(two)) == {"config.ini", "shop.ini"}
    for _ in range(2):
        b.tb("undo", "--all", "--yes")
    assert b.files() == before
    assert tree(b.shop / ".git") == repository


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_pi_that_is_stopped(tmp_path: Path, signal: str) -> None:
    b = PiBed(tmp_path, "slow", True)
    b.play("--turns", "slow", "--interrupt", signal, "--when", "slow1.txt", *b.connect())
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert evidence(turn)["slow1.txt"][0] == "added"
    b.play("--turns", "after", "--resume")
    slow, after = b.turns()
    assert slow["state"] == "interrupted" and after["state"] == "complete"


def test_pi_outside_the_project(tmp_path: Path) -> None:
    b = PiBed(tmp_path, "outside", True)
    b.play(*b.connect())
    (turn,) = b.turns()
    reasons = {item["path"]: item["reason"] for item in turn["not_captured"]}
    assert reasons[".env"] in ("secret", "ignored")
    assert any("made.txt" in str(path) for path in reasons)
    for path in b.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_pi_and_odd_names(tmp_path: Path) -> None:
    b = PiBed(tmp_path, "names", True)
    before = b.files()
    b.play(*b.connect())
    after = b.files()
    turns = b.turns()
    assert {turn["state"] for turn in turns} == {"complete"}
    changed = {path for turn in turns for path in evidence(turn)}
    new = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {path for path in new if not (b.shop / path).is_dir()}
    for _ in turns:
        b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_undo_redo_and_status_within_pi(tmp_path: Path) -> None:
    b = PiBed(tmp_path, "basic3", True)
    before = b.files()
    b.play("--turns", "1", *b.connect())
    after = b.files()
    for given, words, files in (
        ("/takeback-status", "Next undo: turn 1", after),
        ("/takeback-undo --dry-run", "takeback redo reverses it", after),
        ("/takeback-undo", "Took back turn 1", before),
        ("/takeback-redo --yes", "files restored", after),
        ("/takeback-redo", "Nothing was changed", after),
    ):
        # No model is asked: the bed takes that for a failure.
        done = subprocess.run(
            b.agent("pi", "--resume", "--prompt", given),
            cwd=b.shop, env=b.env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert '"requests": 0' in done.stdout, done
        newest = max((b.home / "bed-logs").glob("turn-*.err"), key=lambda p: p.stat().st_mtime_ns)
        assert words in newest.read_text("utf-8"), given
        assert b.files() == files, given
    assert len(b.turns()) == 1


def test_a_copy_of_a_conversation_before_a_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = PiBed(tmp_path, "basic3", True)
    b.play("--turns", "1,2", *b.connect())
    (file,) = (b.home / ".pi/agent/sessions").rglob("*.jsonl")
    held = file.read_bytes()
    script = program(b.env, "pi/node_modules/@mariozechner/pi-coding-agent/dist/cli.js")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/pi").symlink_to(script)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(b.home))
    # The model's server is gone by now: nobody can be asked anything.
    session = b.tb("log")["sessions"][0]["id"]
    points = {
        key: Point(session, os.fsencode(b.shop), turn.prompt, turn.key, -1, os.fsencode(b.home))
        for key, turn in zip((1, 2), b.talks()[0].turns, strict=True)
    }
    assert fork(points[1], Programs()).argv == ("pi",)
    way = fork(points[2], Programs())
    assert way.exact and way.argv[:2] == ("pi", "--session") and way.argv[2] != session
    assert file.read_bytes() == held and len(b.turns()) == 2
    copy = next(talk for talk in b.talks() if talk.session == way.argv[2])
    assert copy.parent == session and copy.turns == ()

    b.play("--turns", "3", "--bodies", *(f"--arg={word}" for word in way.argv[1:]))
    last = asked(b)[-1]
    assert "[1]" in last and "[3]" in last and "[2]" not in last
    assert file.read_bytes() == held
