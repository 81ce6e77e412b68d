"""What the tests of undo and redo share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.undo.bed import Bed


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    bed = Bed(tmp_path)
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(bed.config.parent))
    return bed
