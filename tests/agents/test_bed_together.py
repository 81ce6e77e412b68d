"""Two real agents and a person at work in one folder at the same time. Opt-in, see test_bed."""

from __future__ import annotations

import json
import shlex
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents.players import lines, put
from tests.agents.real import DEV, Bed, evidence, tree

pytestmark = pytest.mark.agents


def until(condition: str) -> str:
    return f"timeout 100 sh -c 'until {condition}; do sleep 0.1; done'"


def edit(name: str, line: int, text: str) -> dict[str, str]:
    old = f"{name.removesuffix('.txt')} line {line}"
    return {"op": "edit", "path": name, "old": f"{old}\n", "new": f"{text}\n"}


def bash(command: str) -> dict[str, str]:
    return {"op": "bash", "command": command, "why": "in step with the other"}


def scenario(name: str, *steps: list[dict[str, str]]) -> dict[str, Any]:
    told = [{"text": f"Step {at}.", "tools": tools} for at, tools in enumerate(steps, 1)]
    reading = {"text": "First a look.", "tools": [{"op": "read", "path": "shared.txt"}]}
    turn = {
        "match": f"[{name}]",
        "prompt": f"[{name}] Work beside the other.",
        "title": name,
        "steps": [reading, *told, {"text": f"The {name} is done."}],
    }
    return {"name": name, "files": {}, "turns": [turn]}


ONE = scenario(
    "one",
    [bash(f"touch build/one; {until('[ -e build/two ]')}")],
    [edit("shared.txt", 5, "of the first"), {"op": "write", "path": "new1.txt", "content": "1\n"}],
    # The other edits while this runs, and the person does.
    [bash(f"touch build/runs; {until('[ -e build/person ]')}; echo built > built.txt")],
)
TWO = scenario(
    "two",
    [bash(f"touch build/two; {until('[ -e build/runs ]')}")],
    [{"op": "read", "path": "two.txt"}, {"op": "read", "path": "shared.txt"}],
    [edit("shared.txt", 30, "of the second"), edit("two.txt", 3, "of the second")],
    [{"op": "write", "path": "new2.txt", "content": "2\n"}],
)


class Both(Bed):
    """One project, and two agents with a home each."""

    def start(self, name: str, given: dict[str, Any], place: Path, problems: list[Any]) -> Any:
        file, home = place / f"{given['name']}.json", place / f"home-{given['name']}"
        file.write_text(json.dumps(given))
        home.mkdir()
        words = [sys.executable, "-m", "takeback.tui.cli", "install", name]
        command = shlex.join([*words, "--data-dir", str(self.data)])
        hooks = f"PYTHONPATH={shlex.quote(str(DEV))} {command}"
        run = [sys.executable, str(self.bed / "run_agent.py"), name, "--scenario", str(file)]
        run += ["--project", str(self.shop), "--home", str(home), "--install-hooks", hooks]

        def work() -> None:
            try:
                self.run(run)
            except BaseException as error:
                problems.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        return thread


@pytest.mark.parametrize(
    ("first", "second"),
    [("claude", "codex"), ("gemini", "pi"), ("opencode", "claude"), ("codex", "gemini")],
)
def test_each_session_takes_back_its_own(tmp_path: Path, first: str, second: str) -> None:
    b = Both(tmp_path, "basic3", True)
    for name in ("shared", "two", "mine"):
        (b.shop / f"{name}.txt").write_text(lines(name))
    (b.shop / "build").mkdir()
    before, repository = texts(b), repository_of(b)
    problems: list[Any] = []
    agents = [
        b.start(first, ONE, tmp_path, problems),
        b.start(second, TWO, tmp_path, problems),
    ]
    deadline = time.monotonic() + 120
    while not (b.shop / "new2.txt").exists() and agents[1].is_alive():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for name, line in (("shared.txt", 55), ("mine.txt", 1)):
        path = b.shop / name
        path.write_text(put(line, "of the person")(path.read_text()))
    (b.shop / "build/person").touch()
    for agent in agents:
        agent.join()
    assert problems == []
    after = texts(b)
    shared = put(55, "of the person")(before["shared.txt"])
    assert after["shared.txt"] == put(5, "of the first")(put(30, "of the second")(shared))

    one, two = (
        next(turn for turn in b.turns() if turn["prompt"].strip('"').startswith(f"[{name}]"))
        for name in ("one", "two")
    )
    assert one["state"] == two["state"] == "complete"
    assert evidence(one)["new1.txt"] == ("added", "tool-edit")
    assert evidence(one)["built.txt"] == ("added", "during-call")
    assert evidence(two)["new2.txt"] == ("added", "tool-edit")
    assert evidence(two)["two.txt"] == ("modified", "tool-edit")
    assert {"two.txt", "new2.txt"}.isdisjoint(evidence(one))
    assert "new1.txt" not in evidence(two)

    sessions = {s["agent"]: s["id"] for s in b.tb("sessions")["sessions"]}
    kept = {name: text for name, text in after.items() if name not in ("new1.txt", "new2.txt")}
    only_one = {**kept, "new1.txt": "1\n", "two.txt": before["two.txt"]}
    only_one["shared.txt"] = put(5, "of the first")(shared)
    only_two = {**kept, "new2.txt": "2\n", "shared.txt": put(30, "of the second")(shared)}
    neither = {**kept, "shared.txt": shared, "two.txt": before["two.txt"]}
    for order, between in (((first, second), only_two), ((second, first), only_one)):
        for agent, expected in zip(order, (between, neither), strict=True):
            b.tb("undo", "--session", sessions[agent])
            assert texts(b) == expected, (order, agent)
        for agent in order[::-1]:
            b.tb("redo", "--session", sessions[agent])
        assert texts(b) == after
    assert repository_of(b) == repository


def texts(b: Bed) -> dict[str, str]:
    found = b.files().items()
    return {k: v[1].decode() for k, v in found if v[0] == "file" and not k.startswith("build/")}


def repository_of(b: Bed) -> dict[str, Any]:
    """What is within `.git`, but for what OpenCode itself does there."""
    found = tree(b.shop / ".git").items()
    return {name: state[:3] for name, state in found if name != "opencode"}


@pytest.mark.parametrize("signal", ["SIGTERM", "SIGHUP"])
def test_claude_code_that_is_stopped(tmp_path: Path, signal: str) -> None:
    b = Bed(tmp_path, "slow", True)
    options = ["--turns", "slow", "--interrupt", signal, "--when", "slow1.txt"]
    b.run(b.agent("claude", *options, *b.connect()))
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert evidence(turn)["slow1.txt"][0] == "added"
    b.run(b.agent("claude", "--turns", "after", "--resume"))
    slow, after = b.turns()
    assert slow["state"] == "interrupted" and after["state"] == "complete"
