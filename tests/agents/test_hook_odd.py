"""Any payload of any agent through the hook as it is installed: the agent never notices."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.upkeep import doctor
from tests.agents.players import AGENTS, PIDS, Player, Stage, call_hook, held, installed, put, whole

SECRET = "sk-never-stored-5e8a1f"

HUGE = b'{"session_id": "s", "cwd": "/", "hook_event_name": "Stop", "x": "%s"}' % (
    b"x" * 100_000_000
)
DEEP = b'{"session_id": "s", "cwd": "/", "hook_event_name": "Stop", "x": %s1%s}' % (
    b"[" * 50_000,
    b"]" * 50_000,
)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(tmp_path, monkeypatch)
    stage.write("a.txt", "one\ntwo\n")
    return stage


def told(agent: str, stage: Stage) -> list[dict[str, Any]]:
    """The payloads of a turn with an edit and a command."""
    player = stage.player(agent)
    edit = player.edits("a.txt", "one\ntwo\n", "1\ntwo\n")
    return [player.begins("Do it."), *edit, *player.shells("make"), player.stops()]


def odd_values(dice: random.Random) -> Any:
    return dice.choice(
        [
            None, True, 0, -1, 1e308, 10**30, "", "\0", "\ud800", "\udcff/\ud800", "a" * 5000, [],
            {}, [None], {"": {"": []}}, [[["x"]]], "../" * 500, "/proc/self/mem", "-rf",
            {"status": 3}, "*** Update File: \0", "<task-notification>",
        ]
    )  # fmt: skip


def spoiled(payload: dict[str, Any], dice: random.Random) -> dict[str, Any]:
    """A payload of another version: fields that are missing, new, or of another type."""
    found: dict[str, Any] = json.loads(json.dumps(payload))
    for _ in range(dice.randrange(1, 4)):
        place = found
        inner = [value for value in found.values() if isinstance(value, dict)]
        if inner and dice.random() < 0.5:
            place = dice.choice(inner)
        names = [name for name in place if name not in ("session_id", "hook_event_name", "cwd")]
        name = dice.choice([*names, "new_field"])
        if dice.random() < 0.25:
            place.pop(name, None)
        else:
            place[name] = odd_values(dice)
    return found


@pytest.mark.parametrize("agent", AGENTS)
def test_payloads_that_are_none(stage: Stage, agent: str) -> None:
    """Torn, empty, of another kind, too large, too deep: a line for `doctor`, and nothing else."""
    words = installed(agent, stage)
    text = json.dumps(told(agent, stage)[1]).encode()
    dice = random.Random(agent)
    cut = dice.randrange(1, len(text))
    nameless = json.dumps({**told(agent, stage)[0], "hook_event_name": 3}).encode()
    homeless = json.dumps({**told(agent, stage)[0], "cwd": {}}).encode()
    cut_off = (b"", text[:cut], text[:-1], b"\0" * 40, b"\xff\xfe{}")
    payloads = [*cut_off, b"[]", b"null", b"3", nameless, homeless, DEEP, HUGE]
    for payload in payloads:
        before = len(stage.errors())
        done = call_hook(words, payload)
        shown = payload[:80]
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), shown
        assert len(stage.errors()) == before + 1, shown
    checks = doctor.doctor(os.fsencode(stage.root), os.fsencode(stage.data))
    failed = [check.message for check in checks if check.name == "hooks" and not check.ok]
    assert any("larger than" in message for message in failed)
    assert all(agent in message for message in failed)
    assert not (stage.data / "projects").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_payloads_of_other_versions(stage: Stage, agent: str) -> None:
    """Fields of any type: taken as far as they say something, and the record stays whole."""
    words = installed(agent, stage)
    dice = random.Random(f"other {agent}")
    payloads = told(agent, stage)
    assert call_hook(words, json.dumps(payloads[0]).encode()).returncode == 0
    for number in range(14):
        payload = spoiled(payloads[number % len(payloads)], dice)
        done = call_hook(words, json.dumps(payload).encode())
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), payload
    # A session that none of it has closed goes on as if nothing had been.
    before = stage.files()
    player = stage.player(agent, "after", lambda who, payload: send(words, payload))
    with player.turn():
        player.edit("a.txt", put(1, "1"))
        player.edit("new.txt", whole("new\n"))
    assert stage.turns("after")[0].state == "complete"
    stage.do(session="after")
    assert stage.files() == before
    for check in doctor.doctor(os.fsencode(stage.root), os.fsencode(stage.data)):
        assert "Traceback" not in check.message and (check.ok or check.name != "records"), check


def send(words: list[str], payload: dict[str, Any], env: dict[str, str] | None = None) -> None:
    done = call_hook(words, json.dumps(payload).encode(), env)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_of_the_hooks_environment_is_stored(stage: Stage, agent: str) -> None:
    words = installed(agent, stage)
    env = {
        "HOME": str(stage.home),
        "PATH": os.environ["PATH"],
        "AGENT_API_KEY": SECRET,
        "GIT_AUTHOR_NAME": f"name-{SECRET}",
        "USER": f"user-{SECRET}",
        SECRET.replace("-", "_"): "1",
        "TAKEBACK_CONFIG_DIR": str(stage.place / "config"),
    }
    if agent in PIDS:
        env[PIDS[agent]] = str(os.getpid())
    player = Player(agent, stage.root, lambda who, payload: send(words, payload, env))
    with player.turn():
        player.edit("a.txt", put(1, "1"))
        with player.shell("env > /dev/null"):
            stage.write("made.txt", "made\n")
    call_hook(words, b"{", env)
    assert stage.errors() and stage.turns()[0].calls
    stage.do(selection="all")
    names = 0
    for place, data in held(stage.data):
        names += 1
        for text in (SECRET.encode(), SECRET.replace("-", "_").encode()):
            assert text not in data and text.decode() not in place, place
    assert names > 10
