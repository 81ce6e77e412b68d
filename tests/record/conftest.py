"""One bed for each test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bed import Bed


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    return Bed(tmp_path, monkeypatch)
