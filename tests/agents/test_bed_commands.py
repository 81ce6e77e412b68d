"""Claude Code's own run of our commands: an undo asked for within it. Opt-in, see test_bed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.real import Bed
from tests.agents.test_bed_telling import asked, connecting

pytestmark = pytest.mark.agents


def test_undo_redo_and_status_within_claude_code(tmp_path: Path) -> None:
    b = Bed(tmp_path, "basic3", git=True)
    before = b.files()
    # What takeback says cuts it off before the word that the scripted model would answer to.
    prompt = f"Fix total() {'very ' * 20}well [1]"
    b.run(b.agent("claude", "--prompt", prompt, *connecting(b, "claude")))
    after = b.files()
    for prompt, words, files in (
        ("/takeback:status", "Next undo: turn 1", after),
        ("/takeback:undo --dry-run", "takeback redo reverses it", after),
        ("/takeback:undo", "Took back turn 1", before),
        ("/takeback:redo --yes", "files restored", after),
        ("/takeback:redo", "Nothing was changed", after),
    ):
        b.run(b.agent("claude", "--resume", "--bodies", "--prompt", prompt))
        assert any(words in body for body in asked(b)), prompt
        assert b.files() == files, prompt
    turns = b.turns()
    assert [turn["prompt"].split()[0] for turn in turns[1:]] == ["/takeback:" + v for v in (
        "status", "undo", "undo", "redo", "redo",
    )]  # fmt: skip
    assert all(turn["changes"] == [] and turn["state"] == "complete" for turn in turns[1:])
