"""A copy of a conversation of Codex's, made by its app server, which a stand-in is here."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.codex import conversation, resume
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import CannotFork, Point

SESSION = "01a230fd-692d-7f10-9fcf-71360c4e2bc3"

SERVER = """
import json, pathlib, sys
for line in sys.stdin:
    asked = json.loads(line)
    with open(pathlib.Path(HERE, "asked"), "a") as file:
        file.write(json.dumps([sys.argv[1:], asked]) + "\\n")
    if "id" in asked:
        print("no json", flush=True)
        print(json.dumps({"method": "warning", "id": asked["id"], "params": {}}), flush=True)
        print(json.dumps({"id": asked["id"], **ANSWERS.get(asked["method"], {})}), flush=True)
"""


class Codex:
    """A rollout, and a stand-in for the program."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.root, self.home = place, place / "shop", place / "home"
        self.programs = place / "bin"
        folder = self.home / ".codex/sessions/2026/12/01"
        for one in (self.root, self.programs, folder):
            one.mkdir(parents=True)
        self.file = folder / f"rollout-2026-12-01T09-44-03-{SESSION}.jsonl"
        monkeypatch.delenv("CODEX_HOME", raising=False)
        monkeypatch.setenv("PATH", str(self.programs))
        self.answers: dict[str, Any] = {
            "initialize": {"result": {}},
            "thread/fork": {"result": {"thread": {"id": "new"}}},
        }
        self.write(("t1", "one"), ("t2", "two"), ("t3", "one"))

    def write(self, *turns: tuple[str, str]) -> None:
        lines = [("session_meta", {"id": SESSION, "cwd": str(self.root)})]
        for name, prompt in turns:
            content = [{"type": "text", "text": prompt}]
            item = {"type": "UserMessage", "id": f"i-{name}", "content": content}
            lines += [
                ("event_msg", {"type": "task_started", "turn_id": name}),
                ("event_msg", {"type": "item_completed", "turn_id": name, "item": item}),
                ("event_msg", {"type": "task_complete", "turn_id": name}),
            ]
        text = "".join(
            json.dumps(
                {"timestamp": "2026-12-01T09:44:03.000Z", "type": kind, "payload": payload},
                separators=(",", ":"),
            )
            + "\n"
            for kind, payload in lines
        )
        self.file.write_text(text)

    def fork(self, prompt: str = "", key: str = "", session: str = SESSION) -> tuple[str, ...]:
        program = self.programs / "codex"
        given = f"HERE, ANSWERS = {str(self.place)!r}, {self.answers!r}"
        program.write_text(f"#!{sys.executable}\n{given}\n{SERVER}")
        program.chmod(0o755)
        home = os.fsencode(self.home)
        point = Point(session, os.fsencode(self.root), prompt, key, -1, home)
        way = resume.fork(point, Programs())
        assert way.exact and way.folder == os.fsencode(self.root)
        return way.argv

    def asked(self) -> list[Any]:
        path = self.place / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Codex:
    return Codex(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("prompt", "key", "last"),
    [("two", "t2", "t1"), ("changed", "t3", "t2"), ("two", "", "t1"), ("two", "gone", "t1")],
)
def test_codex_copies_up_to_the_turn_before(c: Codex, prompt: str, key: str, last: str) -> None:
    before = c.file.read_bytes()
    assert c.fork(prompt, key) == ("codex", "resume", "new")
    argv, asked = zip(*c.asked(), strict=True)
    assert argv == (["app-server"],) * 3
    assert [one["method"] for one in asked] == ["initialize", "initialized", "thread/fork"]
    assert asked[2]["params"] == {"threadId": SESSION, "lastTurnId": last, "excludeTurns": True}
    assert c.file.read_bytes() == before


def test_nothing_comes_before_the_first_prompt(c: Codex) -> None:
    assert c.fork(key="t1") == ("codex",)
    assert c.asked() == []


@pytest.mark.parametrize(
    ("method", "answer", "said"),
    [
        ("thread/fork", {"error": {"code": -32600, "message": "no such turn"}}, "no such turn"),
        ("thread/fork", {"error": None}, "refused"),
        ("thread/fork", {"result": {}}, "made no copy"),
        ("thread/fork", {"result": {"thread": {"id": SESSION}}}, "made no copy"),
        ("initialize", {"error": {"message": "too old"}}, "too old"),
    ],
)
def test_codex_refuses(c: Codex, method: str, answer: Any, said: str) -> None:
    c.answers[method] = answer
    with pytest.raises(CannotFork, match=said):
        c.fork(key="t2")


def test_what_cannot_be_copied_starts_nothing(c: Codex) -> None:
    for prompt, key in (("one", ""), ("never said", "gone")):
        with pytest.raises(CannotFork, match="or more than once"):
            c.fork(prompt, key)
    with pytest.raises(CannotFork, match="was not found"):
        c.fork(key="t2", session="gone")
    assert c.asked() == []


def test_a_codex_that_ends_at_once(c: Codex) -> None:
    program = c.programs / "codex"
    point = Point(SESSION, os.fsencode(c.root), "", "t2", -1, os.fsencode(c.home))
    with pytest.raises(CannotFork, match="not found"):
        resume.fork(point, Programs())
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(CannotFork, match=r"ended before|did not answer"):
        resume.fork(point, Programs())
    assert [turn.key for source in conversation.find(point.folder, point.home)
            for turn in conversation.read(source).turns] == ["t1", "t2", "t3"]  # fmt: skip
