"""What real agents keep of their conversations stands beside what was recorded of them. Opt-in, see
test_bed."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.engine.agents import conversations
from tests.agents.real import Bed
from tests.agents.test_bed_telling import connecting

pytestmark = pytest.mark.agents


@pytest.mark.parametrize("agent", [agent for agent, _ in conversations.readers()])
@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_before_and_after_takeback_was_connected(tmp_path: Path, agent: str, git: bool) -> None:
    b = Bed(tmp_path, "basic3", git)
    b.run(b.agent(agent, "--turns", "1"))
    log = b.tb("log")
    assert log["sessions"] == [] and not b.data.exists(), "reading makes nothing"
    (old,) = log["past"]
    (one,) = old["turns"]
    assert one["prompt"].strip('"').startswith("[1] Fix total()") and one["changes"] == []
    assert [step["text"] for step in one["steps"]] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert [len(step["calls"]) for step in one["steps"]] == [1, 2, 0]
    assert sorted(path for call in one["steps"][1]["calls"] for path in call["paths"]) == [
        "NOTES.md",
        "src/cart.py",
    ]

    b.run(b.agent(agent, "--turns", "2,3", "--resume", *connecting(b, agent)))
    log = b.tb("log")
    (session,) = log["sessions"]
    two, three = session["turns"]
    calls = {call["tool"]: step["text"] for step in two["steps"] for call in step["calls"]}
    assert set(calls.values()) == {"A shell command first.", "One more edit."}
    assert three["steps"][-1]["text"].startswith("I fixed total()")
    (old,) = log["past"]
    assert old["id"] == session["id"] and len(old["turns"]) == 1
    b.tb("undo", "--turn", old["turns"][0]["id"], code=2)
