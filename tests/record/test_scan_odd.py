"""Scans on failing disks, with damaged caches, broken off: what nobody saw is never gone."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.record import scanstate, snapshot
from takeback.engine.record.scan import Scanner
from takeback.engine.record.snapshot import Snapshotter, list_tree
from takeback.engine.work import Cancelled
from tests.bed import Bed, captured, nothing_of_the_users_goes, shown

# --- Disks that fail -----------------------------------------------------------------------------


class Disk:
    """A disk that fails at one path: in listing, in telling the stat, in opening."""

    def __init__(self, bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
        self._top = os.fsencode(bed.root)
        self._patch = monkeypatch
        self._real = {name: getattr(os, name) for name in ("scandir", "lstat", "stat", "open")}

    @contextmanager
    def failing(self, call: str, name: str, number: int = errno.EIO) -> Iterator[None]:
        """Within the block a call fails for a path; ``entry`` is the stat of a listed name."""
        bad = os.path.join(self._top, os.fsencode(name))

        def check(now: str, path: Any) -> None:
            if now != call or isinstance(path, int):
                return
            if os.path.join(self._top, os.fsencode(path)) == bad:
                raise OSError(number, os.strerror(number), path)

        def watched(now: str) -> Callable[..., Any]:
            def call_it(path: Any, *args: Any, **words: Any) -> Any:
                if now != "stat" or "dir_fd" in words:  # As a scan asks, not as a test does.
                    check(now, path)
                return self._real[now](path, *args, **words)

            return call_it

        @contextmanager
        def listed(path: Any) -> Iterator[Iterator[Any]]:
            check("scandir", path)
            with self._real["scandir"](path) as listing:
                yield (_Entry(one, check) for one in listing)

        with self._patch.context() as patch:
            for now in ("lstat", "stat", "open"):
                patch.setattr(os, now, watched(now))
            patch.setattr(os, "scandir", listed)
            yield


class _Entry:
    """An entry of a folder whose stat may fail."""

    def __init__(self, entry: os.DirEntry[bytes], check: Callable[[str, Any], None]) -> None:
        self._entry = entry
        self._check = check
        self.name = entry.name

    def stat(self, follow_symlinks: bool) -> os.stat_result:
        self._check("entry", self._entry.path)
        return self._entry.stat(follow_symlinks=follow_symlinks)


@pytest.fixture
def disk(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> Disk:
    for name in ("sub/f", "sub/deep/g", "h"):
        bed.write(name, "one\n")
    return Disk(bed, monkeypatch)


FOLDER_FAILS = [
    ("scandir", errno.EIO),
    ("scandir", errno.EACCES),
    ("lstat", errno.EIO),
    ("stat", errno.EIO),
]


@pytest.mark.parametrize(("call", "number"), FOLDER_FAILS)
def test_a_folder_that_cannot_be_read_for_a_while_is_not_gone(
    bed: Bed, disk: Disk, call: str, number: int
) -> None:
    with bed.turn():
        pass
    bed.begin()
    with bed.shell():
        bed.write("sub/new", "new\n")  # The folder must be listed again.
        bed.write("h", "two\n")
    with disk.failing(call, "sub", number), bed.shell():
        bed.write("sub/f", "two\n")
        bed.write("sub/newer", "newer\n")
        bed.write("h", "three\n")
    with bed.shell():
        pass
    bed.end()
    turn = bed.turns()[-1]
    assert shown(bed.changes()).get("h") == ("file", "file")
    assert all(change.after.kind == "file" for change in turn.changes)
    if call != "stat":
        assert "sub/f" in bed.missing() and "sub/f" not in bed.changes()
        assert not turn.complete
        assert set(bed.missing().values()) == {"unreadable"}
    assert captured(bed) == {"h", "sub/deep/g", "sub/f", "sub/new", "sub/newer"}
    nothing_of_the_users_goes(bed, "sub/deep/g")


@pytest.mark.parametrize(
    ("call", "number"), [("scandir", errno.EIO), ("scandir", errno.EACCES), ("entry", errno.EIO)]
)
def test_below_a_folder_that_could_not_be_read_nothing_was_absent(
    bed: Bed, disk: Disk, call: str, number: int
) -> None:
    with disk.failing(call, "sub", number):
        with bed.turn():
            pass
        bed.begin()
    assert captured(bed) == {"h"}
    assert not bed.turns()[0].complete
    with bed.shell():
        bed.write("made", "made\n")
    bed.end()
    assert captured(bed) == {"h", "made", "sub/deep/g", "sub/f"}
    assert set(bed.changes()) == {"made"}
    nothing_of_the_users_goes(bed, "sub/deep/g", "sub/f")


@pytest.mark.parametrize("call", ["scandir", "entry"])
def test_what_could_not_be_read_is_looked_for_again_without_any_change(
    bed: Bed, disk: Disk, call: str
) -> None:
    time.sleep(0.05)  # The folders are too old to be listed again for their own sake.
    with disk.failing(call, "sub"), bed.turn():
        pass
    with disk.failing(call, "sub"), bed.turn():
        pass
    assert captured(bed) == {"h"}
    with bed.turn():
        pass
    assert captured(bed) == {"h", "sub/deep/g", "sub/f"}


def test_a_project_folder_that_cannot_be_listed_is_no_empty_one(bed: Bed, disk: Disk) -> None:
    with bed.turn():
        pass
    bed.write("new", "new\n")
    bed.begin()
    bed.write("newer", "newer\n")
    with disk.failing("scandir", ""):
        bed.end()
    turn = bed.turns()[-1]
    assert (turn.changes, turn.complete, turn.after) == ((), False, None)
    with bed.turn():
        pass
    assert captured(bed) == {"h", "new", "newer", "sub/deep/g", "sub/f"}


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_file_that_cannot_be_read_is_not_gone(bed: Bed, disk: Disk, number: int) -> None:
    with bed.turn():
        pass
    bed.begin()
    with disk.failing("open", "h", number), bed.shell():
        bed.write("sub/f", "two\n")
        os.truncate(bed.root / "h", 1)
    bed.end()
    assert captured(bed) == {"h", "sub/deep/g", "sub/f"}
    if number == errno.EACCES:
        assert shown(bed.changes()) == {"sub/f": ("file", "file")}
        assert bed.missing() == {"h": "unreadable"}
    else:  # Nothing is concluded from a scan on a failing disk.
        assert shown(bed.changes()) == {"h": ("file", "file"), "sub/f": ("file", "file")}
        assert set(bed.evidence().values()) == {"no-record"}


def test_a_known_file_whose_stat_fails_is_not_gone(bed: Bed, disk: Disk) -> None:
    time.sleep(0.05)  # Its folder is not listed again, so the file is asked by itself.
    with bed.turn():
        pass
    bed.begin()
    with disk.failing("lstat", "h"), bed.shell():
        pass
    bed.end()
    assert bed.changes() == {}
    assert bed.missing() == {"h": "unreadable"}
    assert captured(bed) == {"h", "sub/deep/g", "sub/f"}


@pytest.mark.parametrize("name", ["sub", "sub/f"])
def test_a_known_file_that_became_ignored_and_cannot_be_looked_at_is_not_gone(
    bed: Bed, disk: Disk, name: str
) -> None:
    with bed.turn():
        pass
    bed.write(".gitignore", "sub/\n")
    with disk.failing("lstat", name):
        bed.begin()
    bed.end()
    records = list(bed.store().lines("snapshots.jsonl"))
    states = {path: after for r in records[1:] for path, _, after in r["delta"]}
    assert states["sub/f"] in ("?unreadable", "?ignored")
    assert bed.changes() == {}


# --- Damaged and lost caches ---------------------------------------------------------------------


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as settled at once: git's index and the base come to hold them."""
    monkeypatch.setattr(scanstate, "_SETTLED_NS", 0)


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "emptied":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "garbage":
        path.write_bytes(b"\xff" * len(data))
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["emptied", "cut", "garbage", "gone"])
@pytest.mark.parametrize("name", ["state", "base-*", "index-*", "tracked"])
def test_a_damaged_cache_costs_a_scan_and_no_change(
    bed: Bed, settled: None, name: str, how: str
) -> None:
    for file in ("f", "g", "gone", "sub/h"):
        bed.write(file, "one\n")
    os.chmod(bed.root / "f", 0o600)
    time.sleep(0.05)
    bed.begin()
    damage(bed.store_file(f"scan/{name}"), how)
    with bed.shell():
        pass
    bed.write("f", "two\nlines\n")
    (bed.root / "gone").unlink()
    bed.end()
    assert shown(bed.changes()) == {"f": ("file", "file"), "gone": ("file", "absent")}
    assert bed.turns()[-1].complete
    bed.do(turn="1", selection="all")
    assert (bed.read("f"), bed.read("gone")) == ("one\n", "one\n")
    assert stat.S_IMODE(os.stat(bed.root / "f").st_mode) == 0o600


def test_without_any_cache_the_last_tree_tells_what_changed(bed: Bed) -> None:
    for file in ("f", "gone", "hidden", "sub/h"):
        bed.write(file, "one\n")
    os.chmod(bed.root / "f", 0o600)
    bed.begin()
    with bed.shell():
        shutil.rmtree(bed.store_file("scan"))
        bed.write("f", "two\n")
        bed.write("made", "made\n")
        bed.write(".gitignore", "hidden\n")
        (bed.root / "gone").unlink()
    bed.end()
    # Whether what is new now was left out before, nobody can say any more.
    assert shown(bed.changes()) == {"f": ("file", "file"), "gone": ("file", "absent")}
    assert bed.missing()["made"] == "failed"
    assert bed.missing()["hidden"] == "ignored"
    bed.do(turn="1", selection="all")
    assert (bed.read("f"), bed.read("gone")) == ("one\n", "one\n")
    assert (bed.read("made"), bed.read("hidden")) == ("made\n", "one\n")
    assert stat.S_IMODE(os.stat(bed.root / "f").st_mode) == 0o600


def test_without_a_cache_what_cannot_be_read_is_not_gone(bed: Bed, disk: Disk) -> None:
    with bed.turn():
        pass
    shutil.rmtree(bed.store_file("scan"))
    with disk.failing("scandir", "sub"), bed.turn():
        pass
    assert bed.changes() == {}
    assert bed.missing() == {"sub/": "unreadable"}
    with bed.turn():
        pass
    assert captured(bed) == {"h", "sub/deep/g", "sub/f"}


# --- Scans that are broken off -------------------------------------------------------------------


class Killed(BaseException):
    """The end of the process: nobody handles it."""


STAGES = {
    "after the scan": (Snapshotter, "_write_tree"),
    "before the record": (Snapshotter, "_append"),
    "after the record": (scanstate, "save"),
}


@pytest.mark.parametrize("stage", list(STAGES))
@pytest.mark.parametrize("error", [KeyboardInterrupt, Cancelled, MemoryError, Killed])
def test_what_a_broken_off_scan_found_is_found_again(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, stage: str, error: type[BaseException]
) -> None:
    bed.write("f", "one\n")
    bed.write("gone", "one\n")
    project = bed.project()
    bed.begin()
    with bed.shell():
        bed.write("f", "two\n")
        bed.write("made", "made\n")
        (bed.root / "gone").unlink()

        def broken(*args: Any, **words: Any) -> None:
            raise error

        snapshots = Snapshotter(bed.store(), project.config, project.place)
        with monkeypatch.context() as patch:
            patch.setattr(*STAGES[stage], broken)
            with pytest.raises(error), bed.store().lock:
                snapshots.take()
        if error is not Killed:
            with bed.store().lock:
                tree = snapshots.take().tree
            assert tree is not None
            assert set(list_tree(bed.store(), tree)) == {b"f", b"made"}
    bed.end()
    wanted = {"f": ("file", "file"), "gone": ("file", "absent"), "made": ("absent", "file")}
    assert shown(bed.changes()) == wanted
    assert set(bed.evidence().values()) == {"during-call"}
    bed.do(turn="1", selection="all")
    assert (bed.read("f"), bed.read("gone"), bed.read("made")) == ("one\n", "one\n", None)


@pytest.mark.parametrize("at", [b"index-2", b"base-2", b"state"])
def test_a_kill_while_the_caches_are_renewed_loses_no_change(
    bed: Bed, settled: None, monkeypatch: pytest.MonkeyPatch, at: bytes
) -> None:
    for name in ("f", "g"):
        bed.write(name, "one\n")
    time.sleep(0.05)
    monkeypatch.setattr(snapshot, "RENEW_ABOVE", 0)
    bed.begin()
    bed.edit("f", "two, longer\n")
    time.sleep(0.05)
    with bed.shell():
        pass
    with monkeypatch.context() as patch:
        real = scanstate.write_file
        written: list[bytes] = []

        def killed(path: bytes, *args: Any, **words: Any) -> None:
            written.append(path.rpartition(b"/")[2])
            if written[-1] == at and (at != b"state" or b"base-2" in written):
                raise Killed
            real(path, *args, **words)

        patch.setattr(scanstate, "write_file", killed)
        with pytest.raises(Killed):
            bed.end()
    bed.begin()
    with bed.shell():
        bed.write("f", "three, even longer\n")
        bed.write("g", "two, longer\n")
    bed.end()
    assert shown(bed.changes()) == {"f": ("file", "file"), "g": ("file", "file")}
    change = bed.changes()["f"]
    assert bed.bytes_of(change.before.oid) == "two, longer\n"
    assert len(list(bed.store_file("scan").glob("*-*"))) == 2


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), Killed()])
def test_what_an_operation_wrote_stays_its_own_where_the_scan_after_it_fails(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    bed.write("f", "one\n")
    with bed.turn():
        bed.edit("f", "two\n")
    bed.begin("other")
    project = bed.project()
    plan = bed.plan(turn="1")
    real = Scanner.run
    left = 1  # The first scan is the safety snapshot.

    def failing(self: Scanner) -> Any:
        nonlocal left
        if left:
            left -= 1
            return real(self)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Scanner, "run", failing)
        try:
            project.apply(plan)
        except Killed:
            assert isinstance(error, Killed)
    assert bed.read("f") == "one\n"
    bed.write("mine", "the user's\n")
    bed.event("step", "other")
    bed.end("other")
    assert set(bed.changes()) == {"mine"}
    assert not bed.store_file("scan").joinpath("claim").exists()
    bed.begin("other")
    bed.write("f", "three\n")
    bed.end("other")
    assert set(bed.changes()) == {"f"}
