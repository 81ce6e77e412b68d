"""A turn that the user broke off with a key: no hook tells, the agent's own file does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.claude import interrupt as transcript
from takeback.engine.model import Request
from takeback.engine.record.openturn import OpenTurn
from tests.agents.replay import changes
from tests.agents.test_claude import Replay, payloads

KEY = "8a841519-05d3-4471-932d-b330336ee51e"
WORDS = "[Request interrupted by user for tool use]"


def line(kind: str = "user", key: str = KEY, content: Any = None) -> str:
    if content is None:
        content = [{"type": "text", "text": WORDS}]
    return json.dumps(
        {"type": kind, "promptId": key, "message": {"role": kind, "content": content}}
    )


ANSWER = line("assistant", content=[{"type": "text", "text": "I go on."}])
RESULT = line(content=[{"type": "tool_result", "content": "rejected"}])
FILLER = line("assistant", content=[{"type": "text", "text": "x" * 4000}])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line()], True),
        ([ANSWER, RESULT, line()], True),
        ([line(), '{"type":"last-prompt"}', "", "{torn"], True),
        ([*([FILLER] * 300), line()], True),
        ([line(), ANSWER], False),
        ([line(key="other")], False),
        ([line(content=WORDS)], False),
        ([line("assistant")], False),
        ([line(content=[{"type": "text", "text": f"Why {WORDS} {KEY}?"}])], False),
        ([line()[:-5]], False),
        ([json.dumps({"a": f"{WORDS} {KEY}"}), "[" * 20_000 + WORDS + KEY], False),
        ([], False),
    ],
)
def test_what_the_lines_say(tmp_path: Path, lines: list[str], expected: bool) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    turn = OpenTurn("s", "/p", "t", 1, "claude", KEY, transcript=str(file))
    assert transcript.was_interrupted(turn) is expected
    assert not transcript.was_interrupted(
        OpenTurn("s", "/p", "t", 1, "x", KEY, transcript=str(file))
    )
    assert not transcript.was_interrupted(OpenTurn("s", "/p", "t", 1, "claude", KEY))


def test_what_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/none", str(tmp_path), str(tmp_path / "pipe"), "a\0b", "\ud800"):
        turn = OpenTurn("s", "/p", "t", 1, "claude", KEY, transcript=path)
        assert not transcript.was_interrupted(turn)


def test_undo_right_after_the_escape_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Replay(tmp_path, monkeypatch)
    file = tmp_path / "t.jsonl"
    file.write_text(RESULT + "\n")
    for payload in payloads("interactive"):
        if payload.get("prompt", "").startswith("TB-THREE"):
            break
        replay.send({**payload, "transcript_path": str(file)})
    (replay.root / "slow1.txt").write_text("before\n")
    project = replay.project()
    assert project.begin_command() == []
    assert replay.turns()[-1].state == "running"
    file.write_text(RESULT + "\n" + line() + "\n")
    project = replay.project()
    assert project.begin_command() == ["Turn 3 was closed: it was interrupted."]
    turn = replay.turns()[-1]
    assert turn.state == "interrupted" and set(changes(turn)) == {"slow1.txt"}
    plan = project.plan(Request("undo", selection="all"))
    project.apply(plan)
    assert not (replay.root / "slow1.txt").exists()
