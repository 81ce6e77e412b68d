"""A project with a few recorded turns, and its store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from takeback.engine.project import Project
from takeback.engine.store.store import Store


@pytest.fixture(autouse=True)
def own_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("TAKEBACK_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def project(folder: Path, data: Path) -> Project:
    """Three turns: each edits one file and adds one below a folder."""
    opened = Project.open(str(folder), str(data))
    for number in range(3):
        with opened.turn("s", prompt=f"turn {number}") as turn:
            with turn.edit("a.txt"):
                (folder / "a.txt").write_text(f"version {number}\n")
            with turn.shell("make"):
                (folder / "sub").mkdir(exist_ok=True)
                (folder / "sub" / f"{number}.txt").write_text(f"made {number}\n")
    return opened


@pytest.fixture
def store(project: Project) -> Store:
    assert project.store is not None
    return project.store
