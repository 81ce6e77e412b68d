"""Going on in a conversation of pi: what pi is asked for, and what it answers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.pi import resume
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import CannotFork, Point

SESSION = "01a230d5-ff6b-730f-bbda-fc87a57b65ef"

ASKED = """\
import json, sys
for line in sys.stdin:
    given = json.loads(line)
    with open("asked", "a") as file:
        file.write(json.dumps([sys.argv[1:], given]) + "\\n")
    print("no json\\n[1]\\n" + json.dumps({"type": "event", "id": None}))
    answer = ANSWERS[given["type"]]
    if answer is None:
        sys.exit(1)
    print(json.dumps({"id": given["id"], **answer}), flush=True)
"""


class Pi:
    """A home with one session, and a program that stands for pi."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.home, self.programs = place / "shop", place / "home", place / "bin"
        slug = str(self.root).strip("/").replace("/", "-")
        self.file = self.home / f".pi/agent/sessions/--{slug}--/2026_{SESSION}.jsonl"
        for folder in (self.root, self.file.parent, self.programs):
            folder.mkdir(parents=True)
        monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
        monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR", raising=False)
        monkeypatch.setenv("PATH", str(self.programs))
        self.copy = place / "copy.jsonl"
        self.copy.touch()
        said = {"sessionId": "new", "sessionFile": str(self.copy)}
        self.answers: dict[str, Any] = {
            "fork": {"success": True, "data": {"cancelled": False}},
            "get_state": {"success": True, "data": said},
        }
        self.write(
            ("m", None, None),
            ("u1", "m", "one"),
            ("a1", "u1", None),
            ("u2", "a1", "two"),
            ("a2", "u2", None),
            ("u3", "a1", "two again"),
            ("a3", "u3", None),
            ("u4", "a3", "one"),
        )

    def write(self, *entries: tuple[str, str | None, str | None]) -> None:
        lines: list[Any] = [{"type": "session", "id": SESSION, "cwd": str(self.root)}]
        for name, parent, prompt in entries:
            message = {"role": "user", "content": prompt} if prompt else {"role": "assistant"}
            lines.append({"type": "message", "id": name, "parentId": parent, "message": message})
        self.file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def fork(self, prompt: str = "", key: str = "") -> tuple[str, ...]:
        program = self.programs / "pi"
        program.write_text(f"#!{sys.executable}\nANSWERS = {self.answers!r}\n{ASKED}")
        program.chmod(0o755)
        point = Point(SESSION, os.fsencode(self.root), prompt, key, -1, os.fsencode(self.home))
        way = resume.fork(point, Programs())
        assert way.exact and way.folder == os.fsencode(self.root)
        return way.argv

    def asked(self) -> list[Any]:
        path = self.root / "asked"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pi:
    return Pi(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("prompt", "key", "entry"),
    [
        ("two", "a1", "u2"),
        ("two again", "a1", "u3"),
        ("changed since", "a1", "u3"),
        ("one", "a3", "u4"),
        ("two", "", "u2"),
        ("two", "gone", "u2"),
    ],
)
def test_pi_copies_up_to_the_prompt(p: Pi, prompt: str, key: str, entry: str) -> None:
    before = p.file.read_bytes()
    assert p.fork(prompt, key) == ("pi", "--session", "new")
    argv = ["--mode", "rpc", "--no-extensions", "--session", str(p.file)]
    assert p.asked() == [
        [argv, {"id": "fork", "type": "fork", "entryId": entry}],
        [argv, {"id": "get_state", "type": "get_state"}],
    ]
    assert p.file.read_bytes() == before


def test_before_the_first_prompt_pi_begins_anew(p: Pi) -> None:
    assert p.fork("one", "m") == ("pi",) and p.asked() == []
    p.write(("u1", None, "one"))
    assert p.fork("one", "first") == ("pi",) and p.asked() == []


@pytest.mark.parametrize(("prompt", "key"), [("one", ""), ("none", ""), ("none", "gone")])
def test_a_prompt_that_cannot_be_told(p: Pi, prompt: str, key: str) -> None:
    with pytest.raises(CannotFork, match="Nothing was done"):
        p.fork(prompt, key)
    assert p.asked() == []


def test_a_session_that_is_gone(p: Pi) -> None:
    p.file.unlink()
    with pytest.raises(CannotFork, match="was not found"):
        p.fork("two", "a1")


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"fork": {"success": False, "error": "Invalid entry"}}, "Invalid entry"),
        ({"fork": {"success": True, "data": {"cancelled": True}}}, "refused"),
        ({"fork": None}, "did not answer"),
        ({"get_state": None}, "did not answer"),
        ({"get_state": {"success": True, "data": {"sessionId": SESSION}}}, "made no copy"),
        ({"get_state": {"success": True, "data": {"sessionId": "new"}}}, "made no copy"),
        ({"get_state": {"success": True, "data": [1]}}, "made no copy"),
    ],
)
def test_what_pi_does_not_do_is_said(p: Pi, answers: dict[str, Any], says: str) -> None:
    p.answers |= answers
    with pytest.raises(CannotFork, match=says):
        p.fork("two", "a1")
