"""Real agents hear what was taken back: it stands in what they ask their model. Opt-in, see
test_bed."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.agents.real import DEV, Bed

pytestmark = pytest.mark.agents

WORDS = "The user took back changes of yours to"


def connecting(b: Bed, agent: str) -> list[str]:
    words = [sys.executable, "-m", "takeback.tui.cli", "install", agent]
    command = shlex.join([*words, "--data-dir", str(b.data)])
    return ["--install-hooks", f"PYTHONPATH={shlex.quote(str(DEV))} {command}"]


def asked(b: Bed) -> list[str]:
    """What the model was asked in the last run, a request each."""
    path = b.home / "bed-logs/bodies.jsonl"
    lines = path.read_text("utf-8").splitlines()
    path.unlink()
    return [json.dumps(json.loads(line), ensure_ascii=False) for line in lines]


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "pi"])
def test_the_next_request_carries_the_note_once(tmp_path: Path, agent: str) -> None:
    b = Bed(tmp_path, "basic3", git=True)
    b.run(b.agent(agent, "--turns", "1", "--bodies", *connecting(b, agent)))
    assert not any(WORDS in body for body in asked(b))
    b.tb("undo")
    b.run(b.agent(agent, "--turns", "3", "--resume", "--bodies"))
    bodies = asked(b)
    assert any(WORDS in body for body in bodies)
    (named,) = {body[body.index(WORDS) :][:80] for body in bodies if WORDS in body}
    assert "NOTES.md" in named and "src/cart.py" in named
    b.run(b.agent(agent, "--turns", "3", "--resume", "--bodies"))
    # It is a part of the conversation now: still one, not one for each prompt.
    assert {body.count(WORDS) for body in asked(b)} <= {0, 1}
    assert all(check["ok"] for check in b.tb("doctor")["checks"] if check["name"] == "hooks")
