"""A project for the app's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.txt").write_text("one\ntwo\n")
    return made
