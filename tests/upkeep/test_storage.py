"""Disk use, project by project."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from takeback.engine.config import Config
from takeback.engine.project import Project
from takeback.engine.store.store import Store
from takeback.engine.upkeep import storage as storage_module
from takeback.engine.upkeep.storage import roots, storage


def blocks(folder: bytes) -> int:
    """Bytes on the disk, counted another way: every inode below a folder once."""
    found = {}
    for at, _, names in os.walk(folder):
        for path in (at, *(os.path.join(at, name) for name in names)):
            st = os.lstat(path)
            found[st.st_ino] = st.st_blocks * 512
    return sum(found.values())


def test_counts_and_bytes_of_a_project(project: Project, store: Store) -> None:
    report = storage(project.data, Config(max_disk_mb_total=3))
    (one,) = report.projects
    assert report.cap == 3 << 20
    assert (one.root, one.sessions, one.note) == (project.root, 1, "")
    lines = Path(os.fsdecode(store.path("snapshots.jsonl"))).read_text().splitlines()
    assert one.snapshots == len(lines)
    assert one.oldest is not None and one.oldest.endswith("Z")
    assert one.size == blocks(store.dir)
    assert report.size == blocks(project.data)


def test_a_hard_link_counts_once(project: Project, store: Store) -> None:
    big = store.path("big")
    with open(big, "wb") as file:
        file.write(os.urandom(1 << 20))
    before = storage(project.data, Config()).size
    os.link(big, store.path("big-again"))
    assert storage(project.data, Config()).size - before < 1 << 16


def test_a_hole_in_a_file_is_not_counted(project: Project, store: Store) -> None:
    before = storage(project.data, Config()).size
    with open(store.path("sparse"), "wb") as file:
        file.truncate(1 << 30)
    assert storage(project.data, Config()).size - before < 1 << 16


def test_notes_say_what_is_odd(project: Project, store: Store, folder: Path, data: Path) -> None:
    def note() -> str:
        return storage(os.fsencode(data), Config()).projects[0].note

    shutil.rmtree(folder)
    assert note() == "the folder is gone"
    folder.write_text("")
    assert note() == "it is no folder any more"
    info = Path(os.fsdecode(store.path("project.json")))
    info.write_text(json.dumps({"root": str(folder), "format": 99}))
    assert "newer takeback" in note()
    for garbage in (b"\xff\0", b"[]", b"{}", b'{"root":1,"format":1}', b'{"root":"\\u0000","for'):
        info.write_bytes(garbage)
        assert note() == "project.json is damaged"
    info.unlink()
    assert "never finished" in note()


def test_a_garbage_first_record_leaves_the_oldest_time_to_the_next(
    project: Project, store: Store
) -> None:
    path = Path(os.fsdecode(store.path("snapshots.jsonl")))
    good = path.read_bytes()
    path.write_bytes(b"\xff\0{\n" + b'{"t":"x"}\n' + b'{"t":99999999999999999999999}\n' + good)
    assert storage(project.data, Config()).projects[0].oldest is not None
    path.write_bytes(b"\0" * 1000)
    one = storage(project.data, Config()).projects[0]
    assert (one.snapshots, one.oldest) == (0, None)


def test_no_data_folder_is_no_use(tmp_path: Path) -> None:
    report = storage(os.fsencode(tmp_path / "nowhere"), Config())
    assert (report.size, report.projects) == (0, ())


def test_the_projects_are_named_without_measuring_them(
    project: Project, data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = data / "projects" / "broken"
    broken.mkdir()
    monkeypatch.setattr(storage_module, "_use", None)
    assert roots(os.fsencode(data)) == sorted(
        [
            (os.fsencode(folder.resolve()), ""),
            (os.fsencode(broken), "no project.json: the store was never finished"),
        ]
    )
    assert roots(os.fsencode(data / "none")) == []
