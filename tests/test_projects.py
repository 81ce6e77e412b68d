"""All projects of a data folder, damaged ones too."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from takeback.engine import Project
from takeback.engine.projects import Known, known
from takeback.engine.work import Cancel, Cancelled, using


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))


def record(base: Path, name: str, turns: int = 1) -> Path:
    """A project with a session of some turns; returns its store."""
    root = base / name
    root.mkdir(exist_ok=True)
    for number in range(turns):
        project = Project.open(str(root), str(base / "data"))
        names = ("f", f"g{number}")
        turn = project.turn(f"s-{name}", agent="claude", prompt=f"prompt {number}")
        with turn as handle, handle.edit(*names):
            for one in names:
                (root / one).write_text(f"{number}\n")
        project.close()
    assert project.store is not None
    return Path(os.fsdecode(project.store.dir))


def all_of(base: Path) -> dict[str, Known]:
    return {Path(os.fsdecode(one.root)).name: one for one in known(os.fsencode(base / "data"))}


def test_no_data_folder_has_no_projects(tmp_path: Path) -> None:
    assert known(os.fsencode(tmp_path / "none")) == ()


def test_each_project_is_told_with_its_sessions_the_newest_first(tmp_path: Path) -> None:
    record(tmp_path, "one", 2)
    (tmp_path / "two/.git").mkdir(parents=True)
    record(tmp_path, "two")
    found = all_of(tmp_path)
    assert list(found) == ["two", "one"]
    assert [(one.there, one.git, one.note) for one in found.values()] == [
        (True, True, ""),
        (True, False, ""),
    ]
    session = found["one"].sessions[0]
    assert (session.id, session.agent, session.title) == ("s-one", "claude", "prompt 0")
    assert (session.state, len(session.turns)) == ("complete", 2)
    files = {change.path for turn in session.turns for change in turn.changes}
    assert files == {b"f", b"g0", b"g1"}
    here = Project.open(str(tmp_path / "one"), str(tmp_path / "data"))
    assert found["one"].sessions == here.sessions()


def test_a_project_whose_folder_is_gone_is_told_from_its_record(tmp_path: Path) -> None:
    record(tmp_path, "one")
    (tmp_path / "one").rename(tmp_path / "moved")
    found = all_of(tmp_path)["one"]
    assert (found.there, found.git, found.note) == (False, False, "the folder is gone")
    assert len(found.sessions) == 1


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("project.json", b"{", "project.json is damaged"),
        ("project.json", None, "no project.json: the store was never finished"),
        (
            "project.json",
            json.dumps({"root": "/x", "format": 99}).encode(),
            "format 99: a newer takeback wrote it",
        ),
    ],
)
def test_a_store_that_says_nothing_is_named_and_hides_no_other(
    tmp_path: Path, name: str, data: bytes | None, note: str
) -> None:
    record(tmp_path, "one")
    store = record(tmp_path, "broken")
    if data is None:
        (store / name).unlink()
    else:
        (store / name).write_bytes(data)
    found = all_of(tmp_path)
    assert len(found) == 2
    broken = found.pop("x" if data and b"99" in data else store.name)
    assert (broken.sessions, broken.note) == ((), note)
    assert len(found["one"].sessions) == 1 and found["one"].note == ""


def test_damaged_lines_are_counted_and_what_can_be_read_is_told(tmp_path: Path) -> None:
    store = record(tmp_path, "one")
    with open(next(store.glob("ledger/*")), "ab") as file:
        file.write(b"{torn\n")
    found = all_of(tmp_path)["one"]
    assert found.note == "1 line of its record cannot be read"
    assert len(found.sessions) == 1


def test_a_store_whose_files_cannot_be_read_is_named(tmp_path: Path) -> None:
    record(tmp_path, "one")
    store = record(tmp_path, "two")
    (store / "snapshots.jsonl").unlink()
    (store / "snapshots.jsonl").mkdir()
    found = all_of(tmp_path)
    assert found["two"].note.startswith("cannot be read: ")
    assert len(found["one"].sessions) == 1


def test_reading_them_all_is_cancelled_and_told(tmp_path: Path) -> None:
    record(tmp_path, "one")
    record(tmp_path, "two")
    told: list[tuple[str, int, int]] = []
    with using(None, lambda *words: told.append(words)):
        known(os.fsencode(tmp_path / "data"))
    assert told[0] == ("Reading projects", 0, 2) and ("Reading projects", 2, 2) in told
    cancel = Cancel()
    cancel.set()
    with pytest.raises(Cancelled), using(cancel, None):
        known(os.fsencode(tmp_path / "data"))
