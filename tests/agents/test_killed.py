"""Agents and hooks that are killed: nothing is lost, the next event makes the record whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.errors import NothingToDo, ProjectChanged, SessionRunning
from takeback.engine.model import Request
from takeback.engine.project import Project
from takeback.engine.store.objects import object_id
from takeback.engine.upkeep import doctor, verify
from tests.agents.players import AGENTS, PIDS, Player, Stage, call_hook, installed, lines, put

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)

LAST_WORDS: dict[str, dict[signal.Signals, list[str]]] = {
    "claude": {signal.SIGINT: ["SessionEnd"], signal.SIGTERM: ["SessionEnd"]},
    "codex": {signal.SIGINT: ["Interrupt", "SessionEnd"]},
    "gemini": {signal.SIGINT: ["SessionEnd"]},
    "opencode": {},
    "pi": {signal.SIGTERM: ["session_shutdown"]},
}
"""The events that the agents still tell of where a signal ends them."""

FAKE = """\
import json, os, signal, subprocess, sys, time

plan = json.load(open(sys.argv[1]))

def tell(payload):
    env = {**os.environ, **({plan["pid"]: str(os.getpid())} if plan["pid"] else {})}
    subprocess.run(plan["hook"], input=json.dumps(payload).encode(), env=env, check=True)

def die(number, frame):
    for payload in plan["last"].get(str(number), []):
        tell(payload)
    os._exit(128 + number)

for number in plan["caught"]:
    signal.signal(number, die)
for step in plan["steps"]:
    if "write" in step:
        with open(step["write"], "w") as file:
            file.write(step["text"])
    else:
        tell(step)
print("ready", flush=True)
time.sleep(120)
"""
"""An agent that does what it is told, and then waits for its end."""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(tmp_path, monkeypatch)


def start(stage: Stage, agent: str, words: list[str], root: Path) -> subprocess.Popen[bytes]:
    """An agent in the middle of a command, after an edit."""
    player = Player(agent, root, lambda who, payload: None, f"{agent}-{root.name}")
    first = lines("a")
    begin, edit_begin, edit_end = player.begins("Do it."), *player.edits("a.txt", first, "new\n")
    steps: list[dict[str, Any]] = [
        begin,
        edit_begin,
        {"write": str(root / "a.txt"), "text": "new\n"},
        edit_end,
        player.shells("make")[0],
        {"write": str(root / "made.txt"), "text": "made\n"},
    ]
    last = {
        int(number): [player.payload(name, reason="other") for name in names]
        for number, names in LAST_WORDS[agent].items()
    }
    plan = {
        "hook": words,
        "pid": PIDS.get(agent, ""),
        "steps": steps,
        "last": last,
        "caught": [int(number) for number in last],
    }
    (root.parent / f"{root.name}.json").write_text(json.dumps(plan))
    program = stage.place / agent
    if not program.exists():
        program.write_text(FAKE)
    command = [sys.executable, "-I", "-S", program, root.parent / f"{root.name}.json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc")
@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_that_is_killed(stage: Stage, agent: str) -> None:
    words = installed(agent, stage)
    running = {}
    for number in SIGNALS:
        root = stage.place / number.name
        root.mkdir()
        (root / "a.txt").write_text(lines("a"))
        running[number] = start(stage, agent, words, root)
    for number, process in running.items():
        assert process.stdout is not None and process.stdout.readline() == b"ready\n"
        project = Project.open(os.fsencode(stage.place / number.name), str(stage.data))
        (turn,) = (turn for session in project.sessions() for turn in session.turns)
        assert turn.state == "running" and turn.pid_known
        process.send_signal(number)
        process.communicate(timeout=60)
    assert stage.errors() == []
    for number in SIGNALS:
        stage.root = stage.place / number.name
        told = number in LAST_WORDS[agent]
        said = stage.project().begin_command()
        assert said == ([] if told else ["Turn 1 was closed: its process is gone."])
        (turn,) = stage.turns()
        assert turn.state == "interrupted" and turn.complete
        assert [call.state for call in turn.calls] == ["done", "lost"]
        found = {change.path: change.evidence for change in turn.changes}
        assert found[b"a.txt"] == "tool-edit"
        assert found[b"made.txt"] == ("during-call" if told else "no-record")
        stage.do()
        assert stage.files() == {"a.txt": lines("a"), "made.txt": "made\n"}
        stage.do(turn=turn.id, selection="all")
        assert stage.files() == {"a.txt": lines("a")}
        stage.do("redo")
        stage.do("redo")
        assert stage.files() == {"a.txt": "new\n", "made.txt": "made\n"}


# --- Killed hooks -------------------------------------------------------------------------------

ROUNDS = 15
"""Of killed hooks: each at another moment of its life, each event in turn."""


def kill_after(words: list[str], payload: dict[str, Any], wait_s: float) -> int:
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(json.dumps(payload).encode())
    process.stdin.close()
    time.sleep(wait_s)
    process.kill()
    process.stdin = None
    assert process.communicate(timeout=60)[0] == b""
    return process.returncode


def test_a_hook_that_is_killed(stage: Stage) -> None:
    dice = random.Random(4)
    stage.write("a.txt", lines("a"))
    words = {agent: installed(agent, stage) for agent in AGENTS}
    start_s = time.perf_counter()
    call_hook(words["claude"], b"{")
    life_s = 3 * (time.perf_counter() - start_s)
    (stage.data / "errors.jsonl").unlink()
    killed = 0
    for number in range(ROUNDS):
        agent = AGENTS[number % len(AGENTS)]
        before = stage.files()
        player = Player(agent, stage.root, stage.send, f"s{number}")
        text = before["a.txt"]
        new = put(number % 60 + 1, f"new {number}")(text)
        begin, edit, shell = (
            player.begins("p"),
            player.edits("a.txt", text, new),
            player.shells("x"),
        )
        events = [begin, *edit, *shell, player.stops()]
        dies = (number // len(AGENTS) * 2 + number) % len(events)
        for at, payload in enumerate(events):
            if at == dies:
                killed += kill_after(words[agent], payload, dice.random() * life_s) != 0
            else:
                stage.send(agent, payload)
            if at == 1:
                stage.write("a.txt", new)
            elif at == 3:
                stage.write("made.txt", f"made {number}\n")
        after = stage.files()
        assert after == {**before, "a.txt": new, "made.txt": f"made {number}\n"}
        # The next prompt closes what is still open.
        with player.turn():
            pass
        turns = stage.turns(player.session)
        assert [turn.state for turn in turns[-1:]] == ["complete"] and len(turns) <= 3
        assert all(turn.state != "running" for turn in turns)
        for turn in reversed(turns):
            try:
                stage.do(turn=turn.id, selection="all")
            except NothingToDo:
                continue
        assert stage.files() == before, (agent, dies)
    assert killed
    project = stage.project()
    project.sessions()
    assert project.damaged == [] and stage.errors() == []
    assert project.store is not None and verify.verify(project.store).damage == ()
    checks = doctor.doctor(os.fsencode(stage.root), os.fsencode(stage.data))
    # Some were killed before they told of a call, which is said.
    assert {check.name for check in checks if not check.ok} == {"events"}


# --- Hooks while takeback works -----------------------------------------------------------------


def test_hooks_that_run_while_takeback_takes_back(stage: Stage) -> None:
    """The one session's work is taken back and put back all the time while another one works."""
    for name in ("a", "b", "shared"):
        stage.write(f"{name}.txt", lines(name))
    words = installed("gemini", stage)
    one = stage.player("claude")
    before = stage.files()
    with one.turn():
        one.edit("a.txt", put(1, "of the first"))
        one.edit("shared.txt", put(1, "of the first"))
    two = Player("gemini", stage.root, lambda who, payload: ok(words, payload), "two")
    problems: list[BaseException] = []
    written: list[str] = []

    def work() -> None:
        try:
            for number in range(2, 10):
                with two.editing("b.txt", put(number, f"of the second {number}")):
                    pass
                written.append((stage.root / "b.txt").read_text())
            two.stop()
        except BaseException as error:
            problems.append(error)

    two.prompt()
    thread = threading.Thread(target=work)
    thread.start()
    done = {"undo": 0, "redo": 0, "changed": 0, "running": 0, "nothing": 0}
    while thread.is_alive():
        # A person's commands leave the store alone in between.
        time.sleep(0.05)
        for kind in ("undo", "redo"):
            try:
                stage.do(kind, session=one.session)
                done[kind] += 1
            except ProjectChanged:
                done["changed"] += 1
        try:
            stage.project().plan(Request("undo", session="two"))
        except SessionRunning:
            done["running"] += 1
        except NothingToDo:
            done["nothing"] += 1
    thread.join()
    assert problems == [] and stage.errors() == []
    assert done["undo"] and done["undo"] == done["redo"] and done["running"]
    (turn,) = stage.turns("two")
    assert turn.state == "complete" and len(turn.calls) == 8
    assert {change.path for change in turn.changes} == {b"b.txt"}
    assert stage.files()["b.txt"] == written[-1]
    store = stage.project().store
    assert store is not None
    for text in written:
        assert store.objects.read(object_id("blob", text.encode())) == text.encode()
    stage.do(session="two")
    stage.do(session=one.session)
    assert stage.files() == before


def ok(words: list[str], payload: dict[str, Any]) -> None:
    done = call_hook(words, json.dumps(payload).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
