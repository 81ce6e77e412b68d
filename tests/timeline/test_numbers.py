"""Numbers of lines: counted once, kept, and counted again where the cache is no good."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.engine.model import Change
from takeback.engine.project import Project
from takeback.engine.timeline import numbers


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a").write_text("1\n2\n")
    made = Project.open(str(folder))
    with made.turn("s", "claude", "x") as turn, turn.edit("a", "b", "c"):
        (folder / "a").write_text("1\n3\n4\n")
        (folder / "b").write_bytes(b"\0\1")
        (folder / "c").write_text("")
    return Project.open(str(folder))


def shown(project: Project) -> list[tuple[bytes, int | None, int | None, bool]]:
    (session,) = project.sessions(counts=True)
    return [(c.path, c.plus, c.minus, c.binary) for c in session.turns[0].changes]


RIGHT = [(b"a", 2, 1, False), (b"b", None, None, True), (b"c", 0, 0, False)]


def test_what_was_counted_once_is_not_counted_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(project) == RIGHT

    def never(*_: object) -> object:
        raise AssertionError("git was asked again")

    monkeypatch.setattr(numbers, "_count", never)
    assert shown(project) == RIGHT


@pytest.mark.parametrize("harm", ["torn", "gone", "a folder"])
def test_a_harmed_cache_changes_no_number(project: Project, harm: str) -> None:
    assert shown(project) == RIGHT
    assert project.store is not None
    cache = Path(project.store.dir.decode()) / "scan/lines"
    if harm == "torn":
        cache.write_bytes(cache.read_bytes()[:-7])
    else:
        cache.unlink()
    if harm == "a folder":
        cache.mkdir()
    assert shown(project) == RIGHT
    assert shown(project) == RIGHT


def test_a_torn_cache_is_whole_again_after_the_next_count(project: Project) -> None:
    shown(project)
    assert project.store is not None
    cache = Path(project.store.dir.decode()) / "scan/lines"
    whole = cache.read_bytes()
    cache.write_bytes(whole[:-7])
    shown(project)
    (session,) = project.sessions()
    change: Change = session.turns[0].changes[0]
    assert numbers.count(project.store, [(change.before, change.after)]) == [(2, 1, False)]
    assert len(cache.read_bytes()) % numbers._RECORD.size == 0
