"""Cleaning up loses nothing, wherever it is killed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.project import Project
from takeback.engine.store.objects import Objects, object_id
from takeback.engine.store.store import Store
from takeback.engine.upkeep import loose, prune
from takeback.engine.upkeep.verify import verify


def contents(store: Store) -> dict[str, bytes]:
    """Every object of the store as plain git sees it."""
    git = ["git", "--git-dir", os.fsdecode(store.git_dir), "cat-file"]
    listing = subprocess.run(
        [*git, "--batch-all-objects", "--batch-check=%(objectname)"],
        capture_output=True,
        check=True,
    )
    done = subprocess.run([*git, "--batch"], input=listing.stdout, capture_output=True, check=True)
    rest, found = done.stdout, {}
    while rest:
        head, _, rest = rest.partition(b"\n")
        oid, kind, size = head.decode().split()
        found[oid], rest = rest[: int(size)], rest[int(size) + 1 :]
        assert object_id(kind, found[oid]) == oid
    return found


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pack even a few objects, in batches of a few."""
    monkeypatch.setattr(prune, "_WORTH", 1)
    monkeypatch.setattr(prune, "_BATCH_OBJECTS", 15)
    monkeypatch.setattr(prune, "_PAUSE_S", 0)


def test_loose_objects_move_into_packs_that_git_reads(
    project: Project, store: Store, eager: None
) -> None:
    before = contents(store)
    count = len(list(loose.names(store.git_dir)))
    report = prune.prune(store)
    assert (report.packed, report.loose, report.damaged, report.stopped) == (count, 0, (), "")
    assert list(loose.names(store.git_dir)) == []
    assert contents(store) == before
    for oid, data in before.items():
        assert store.objects.read(oid) == data
        assert Objects(store.git_dir, store.temp).has(oid)
    assert verify(store).damage == ()
    git = ["git", "--git-dir", os.fsdecode(store.git_dir), "fsck", "--full", "--strict"]
    done = subprocess.run(git, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_recording_and_undo_go_on_after_it(project: Project, folder: Path, eager: None) -> None:
    assert project.store is not None
    prune.prune(project.store)
    with project.turn("s", prompt="after") as turn, turn.edit("a.txt"):
        (folder / "a.txt").write_text("after\n")
    from takeback.engine.model import Request

    project.apply(project.plan(Request("undo")))
    assert (folder / "a.txt").read_text() == "version 2\n"
    assert verify(project.store).damage == ()


def test_another_process_may_pack_what_this_one_wrote(store: Store, eager: None) -> None:
    oid = store.objects.write("blob", b"written here, not flushed past a loss of power\n")
    store.objects.flush()
    other = Store.open(store.root, store.data)
    assert other is not None
    assert prune.prune(other).packed > 0
    store.objects.flush(durable=True)
    store.objects.make_durable({oid})
    assert store.objects.read(oid).startswith(b"written here")


def test_few_objects_are_left_alone(store: Store) -> None:
    count = len(list(loose.names(store.git_dir)))
    assert 0 < count < 50
    assert prune.prune(store).packed == 0
    assert len(list(loose.names(store.git_dir))) == count


def test_a_dry_run_changes_nothing(store: Store, eager: None) -> None:
    Path(os.fsdecode(store.temp), "left").write_bytes(b"x")
    before = {path: os.lstat(path) for path in Path(os.fsdecode(store.dir)).rglob("*")}
    report = prune.prune(store, dry_run=True)
    assert report.dry_run
    assert report.temporary == 1
    assert report.packed == len(list(loose.names(store.git_dir)))
    after = {path: os.lstat(path) for path in Path(os.fsdecode(store.dir)).rglob("*")}
    assert {p: (s.st_ino, s.st_mtime_ns, s.st_size) for p, s in before.items()} == {
        p: (s.st_ino, s.st_mtime_ns, s.st_size) for p, s in after.items()
    }


def test_temporary_files_go_and_young_ones_of_others_stay(store: Store) -> None:
    pack = os.path.join(os.fsdecode(store.git_dir), "objects/pack")
    opened = os.path.join(os.fsdecode(store.data), "open")
    os.makedirs(opened, exist_ok=True)
    dead = [
        os.path.join(os.fsdecode(store.temp), "pack-1"),
        os.path.join(pack, "tmp_pack_x"),
        os.path.join(pack, "pack-" + "0" * 40 + ".idx"),
        os.path.join(opened, "old.json.new-1"),
    ]
    alive = [os.path.join(opened, "young.json.new-2"), os.path.join(opened, "a.json")]
    for path in dead + alive:
        Path(path).write_bytes(b"x")
    os.utime(dead[-1], (1, 1))
    os.mkdir(os.path.join(os.fsdecode(store.temp), "prune-1"))
    report = prune.prune(store)
    assert report.temporary == len(dead) + 1
    assert not any(map(os.path.exists, dead))
    assert all(map(os.path.exists, alive))


def test_a_damaged_object_is_left_alone_and_named(store: Store, eager: None) -> None:
    (oid, path), *_ = loose.names(store.git_dir)
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(-3, 2)
        file.write(b"\0\0\0")
    dry = prune.prune(store, dry_run=True)
    report = prune.prune(store)
    assert dry.damaged == report.damaged == (oid,)
    assert [name for name, _ in loose.names(store.git_dir)] == [oid]


def test_an_object_whose_name_is_another_s_is_not_packed(store: Store, eager: None) -> None:
    (first, a), (_, b), *_ = loose.names(store.git_dir)
    os.unlink(a)
    shutil.copy(b, a)
    assert prune.prune(store).damaged == (first,)


def test_nothing_is_packed_when_the_disk_is_short(
    store: Store, eager: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune, "free_bytes", lambda folder: 1 << 20)
    count = len(list(loose.names(store.git_dir)))
    for dry in (True, False):
        report = prune.prune(store, dry)
        assert (report.packed, report.loose) == (0, count)
        assert "free" in report.stopped


def test_large_and_shared_objects_stay(store: Store, eager: None, tmp_path: Path) -> None:
    zeros = tmp_path / "zeros"
    with zeros.open("wb") as file:
        file.truncate(9 << 20)
    fd = os.open(zeros, os.O_RDONLY)
    large = store.objects.write_file(fd, 9 << 20)
    os.close(fd)
    shared = store.objects.write("blob", b"of the user's own repository\n")
    store.objects.flush()
    os.link(loose.path_of(store.git_dir, shared), os.fsencode(tmp_path / "user"))
    report = prune.prune(store)
    assert report.damaged == ()
    assert {name for name, _ in loose.names(store.git_dir)} == {large, shared}


def in_a_child(work: Callable[[], Any]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except BaseException:
            os._exit(9)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("name", ["rename", "unlink", "fsync", "write", "rmdir", "mkdir"])
def test_killed_anywhere_nothing_is_lost(
    store: Store, tmp_path: Path, eager: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = contents(store)
    kept = tmp_path / "kept"
    shutil.copytree(os.fsdecode(store.dir), kept, symlinks=True)
    ended = False
    for nth in [*range(12), *range(12, 200, 9)]:
        real = getattr(os, name)
        calls = 0

        def dying(*args: Any, nth: int = nth, real: Any = real, **more: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls > nth:
                os._exit(7)
            return real(*args, **more)

        def work(dying: Any = dying) -> None:
            monkeypatch.setattr(os, name, dying)
            opened = Store.open(store.root, store.data)
            assert opened is not None
            prune.prune(opened)

        code = in_a_child(work)
        assert code in (0, 7)
        again = Store.open(store.root, store.data)
        assert again is not None
        for oid, data in before.items():
            assert again.objects.read(oid) == data, (nth, oid)
        again.close()
        if code == 0:
            ended = True
            break
        assert prune.prune(again).damaged == ()
        assert list(loose.names(again.git_dir)) == []
        assert os.listdir(again.temp) == []
        shutil.rmtree(os.fsdecode(store.dir))
        shutil.copytree(kept, os.fsdecode(store.dir), symlinks=True)
    assert ended
