"""The first look: the newest turns from the ends of the files, as the whole log has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.engine.project import Project
from takeback.engine.timeline import tail


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    made = tmp_path / "project"
    made.mkdir()
    return made


def record(folder: Path, turns: int) -> None:
    """Turns of two sessions in turns, each with an edit, a shell call and a change by a person."""
    project = Project.open(str(folder))
    for number in range(turns):
        with project.turn(f"s{number % 2}", "claude", f"turn {number} {'x' * 300}") as turn:
            with turn.edit("a"):
                (folder / "a").write_text(f"{number}\n")
            (folder / "mine").write_text(f"{number}\n")
            with turn.shell("make"):
                (folder / f"made{number}").write_text("made\n")
            turn.step("done")
    project.close()


@pytest.mark.parametrize("block", [64, 1 << 16])
def test_the_first_look_is_the_end_of_the_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(tail, "_BLOCK", block)
    record(folder, 8)
    project = Project.open(str(folder))
    whole = project.sessions()[1]
    (seen,) = project.glimpse(2)
    assert whole.turns[-1].n == 8
    assert [turn.n for turn in seen.turns] == [6, 8]
    assert seen.turns == whole.turns[-2:]


def test_a_short_session_is_whole_with_its_name(folder: Path) -> None:
    record(folder, 1)
    project = Project.open(str(folder))
    assert project.glimpse() == project.sessions()


def test_nothing_recorded_is_nothing(folder: Path) -> None:
    assert Project.open(str(folder)).glimpse() == ()


def test_a_torn_end_is_passed_over(folder: Path) -> None:
    record(folder, 1)
    project = Project.open(str(folder))
    assert project.store is not None
    (name,) = project.store.ledger_names()
    with open(project.store.path(f"ledger/{name}"), "ab") as file:
        file.write(b'{"e":"begin","seq":')
    assert [turn.n for turn in project.glimpse()[0].turns] == [1]
