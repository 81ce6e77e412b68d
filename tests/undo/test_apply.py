"""The transaction on real files: what changes, what never does, and what a crash leaves."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.errors import ProjectChanged, TakebackError
from takeback.engine.model import ABSENT, NO_TIME, DirChange, FileState
from takeback.engine.record import scan
from takeback.engine.undo import apply as transaction
from takeback.engine.undo import fsops

WHEN = 1_500_000_000_123_456_789
REPO = Path(__file__).resolve().parent.parent.parent


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Blobs(dict[str, bytes]):
    """A store of blobs in memory."""

    def read(self, oid: str) -> bytes:
        return self[oid]

    def write(self, kind: str, data: bytes) -> str:
        self[blob_id(data)] = data
        return blob_id(data)

    def flush(self, durable: bool = False) -> None:
        pass


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours runs after it."""


class Bench:
    """A project, a store folder, and the calls of the transaction on them."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self.store = base / "store"
        self.root.mkdir(parents=True)
        self.store.mkdir()
        self.blobs = Blobs()
        self.logged: list[dict[str, Any]] = []

    def file(self, path: str, data: bytes, mode: int = 0o644) -> FileState:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)
        full.chmod(mode)
        return self.now(path)

    def link(self, path: str, target: str) -> FileState:
        (self.root / path).symlink_to(target)
        return self.now(path)

    def now(self, path: str) -> FileState:
        """What stands there; a folder is no file."""
        full = self.root / path
        try:
            st = full.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return ABSENT
        if stat.S_ISLNK(st.st_mode):
            return FileState("link", 0, blob_id(os.fsencode(os.readlink(full))), st.st_mtime_ns)
        if stat.S_ISDIR(st.st_mode):
            return ABSENT
        mode = stat.S_IMODE(st.st_mode)
        return FileState("file", mode, blob_id(full.read_bytes()), st.st_mtime_ns)

    def want(self, data: bytes, mode: int = 0o644, mtime_ns: int = WHEN) -> FileState:
        return FileState("file", mode, self.blobs.write("blob", data), mtime_ns)

    def want_link(self, target: bytes) -> FileState:
        return FileState("link", 0, self.blobs.write("blob", target), WHEN)

    def target(self, path: str, want: FileState) -> transaction.Target:
        state = self.now(path)
        if state.kind == "file":
            self.blobs.write("blob", (self.root / path).read_bytes())
        elif state.kind == "link":
            self.blobs.write("blob", os.fsencode(os.readlink(self.root / path)))
        return transaction.Target(os.fsencode(path), state, want)

    def apply(self, *targets: transaction.Target, dirs: tuple[DirChange, ...] = (),
              exact: bool = True) -> transaction.Applied:  # fmt: skip
        return transaction.apply(
            os.fsencode(self.store), os.fsencode(self.root), "op1", targets, dirs, self.blobs,
            {"id": "op1"}, exact, self.log,
        )  # fmt: skip

    def log(self, line: dict[str, Any]) -> None:
        if line not in self.logged:
            self.logged.append(line)

    def recover(self) -> transaction.Recovered | None:
        return transaction.recover(
            os.fsencode(self.store), os.fsencode(self.root), self.blobs, self.log
        )

    def preflight(self, *targets: transaction.Target) -> dict[bytes, str]:
        return transaction.preflight(os.fsencode(self.root), targets)

    @property
    def pending(self) -> str | None:
        return transaction.pending(os.fsencode(self.store))

    def tree(self) -> dict[str, object]:
        """The project with modes and times of files."""
        found: dict[str, object] = {}
        for path in sorted(self.root.rglob("*")):
            st = path.lstat()
            name = str(path.relative_to(self.root))
            if path.is_dir() and not path.is_symlink():
                found[name] = ("dir", stat.S_IMODE(st.st_mode))
            elif stat.S_ISSOCK(st.st_mode) or stat.S_ISFIFO(st.st_mode):
                found[name] = "special"
            else:
                found[name] = self.now(name)
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    yield Bench(tmp_path)
    for folder, _, _ in os.walk(tmp_path):
        os.chmod(folder, 0o700)


@pytest.fixture(params=["exchanging renames", "plain renames"])
def renames(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsops, "plain_renames", request.param == "plain renames")


def at_call(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int, act: Callable[[], None]
) -> None:
    """Act right before the n-th call of a function of `fsops`; ``moves``: of either move."""
    names = ("move_new", "take") if name == "moves" else (name,)
    count = [0]

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            count[0] += 1
            if count[0] == number:
                act()
            return real(*arguments)

        return call

    for each in names:
        monkeypatch.setattr(fsops, each, wrap(getattr(fsops, each)))


# --- What changes --------------------------------------------------------------------------------


@pytest.mark.usefixtures("renames")
def test_files_are_replaced_made_and_deleted_with_mode_and_time(bench: Bench) -> None:
    bench.file("a", b"now", 0o644)
    bench.file("gone", b"made by the agent")
    bench.apply(
        bench.target("a", bench.want(b"then", 0o4750)),
        bench.target("gone", ABSENT),
        bench.target("new", bench.want(b"", 0o400)),
    )
    assert bench.now("a") == FileState("file", 0o4750, blob_id(b"then"), WHEN)
    assert bench.now("new") == FileState("file", 0o400, blob_id(b""), WHEN)
    assert sorted(bench.tree()) == ["a", "new"]
    assert bench.logged == [{"id": "op1"}]
    assert bench.pending is None


@pytest.mark.usefixtures("renames")
def test_a_file_becomes_a_folder_and_a_folder_a_file(bench: Bench) -> None:
    bench.file("x", b"a file now")
    bench.file("d/in", b"a folder now")
    bench.apply(
        bench.target("x", ABSENT),
        bench.target("x/y", bench.want(b"inside")),
        bench.target("d/in", ABSENT),
        bench.target("d", bench.want(b"a file again")),
        dirs=(DirChange(b"x", None, 0o711), DirChange(b"d", 0o755, None)),
    )
    assert (bench.root / "x/y").read_bytes() == b"inside"
    assert stat.S_IMODE((bench.root / "x").stat().st_mode) == 0o711
    assert (bench.root / "d").read_bytes() == b"a file again"


@pytest.mark.usefixtures("renames")
def test_links_and_files_take_each_others_place(bench: Bench) -> None:
    bench.file("f", b"a file now")
    bench.link("l", "nowhere")
    bench.link("m", "here")
    bench.apply(
        bench.target("f", bench.want_link(b"../out")),
        bench.target("l", bench.want(b"a file again")),
        bench.target("m", bench.want_link(b"there")),
    )
    assert os.readlink(bench.root / "f") == "../out"
    assert bench.now("f").mtime_ns == WHEN
    assert not (bench.root / "l").is_symlink()
    assert os.readlink(bench.root / "m") == "there"


@pytest.mark.usefixtures("renames")
def test_a_link_that_was_a_folder_gives_way_to_the_folder(bench: Bench) -> None:
    bench.file("elsewhere/y", b"not a target")
    bench.link("x", "elsewhere")
    bench.apply(
        bench.target("x", ABSENT),
        transaction.Target(b"x/y", ABSENT, bench.want(b"inside")),
        dirs=(DirChange(b"x", None, 0o755),),
    )
    assert not (bench.root / "x").is_symlink()
    assert (bench.root / "x/y").read_bytes() == b"inside"
    assert (bench.root / "elsewhere/y").read_bytes() == b"not a target"


def test_times_of_now_where_they_are_asked_for(bench: Bench) -> None:
    start = time.time_ns() - 2_000_000_000
    bench.file("a", b"now")
    bench.file("b", b"now")
    bench.apply(bench.target("a", bench.want(b"then", mtime_ns=NO_TIME)))
    assert bench.now("a").mtime_ns > start
    bench.apply(bench.target("b", bench.want(b"then")), exact=False)
    assert bench.now("b").mtime_ns > start


@pytest.mark.parametrize("when", [-1_000_000_001, -1, 0])
def test_times_of_1970_and_before_are_exact(bench: Bench, when: int) -> None:
    bench.file("a", b"now")
    bench.apply(bench.target("a", bench.want(b"then", mtime_ns=when)))
    assert bench.now("a").mtime_ns == when


def test_names_of_any_bytes(bench: Bench) -> None:
    path = os.fsdecode(b"new\nline \xff -x:[*]")
    bench.file(path, b"now")
    bench.apply(bench.target(path, bench.want(b"then")))
    assert (bench.root / path).read_bytes() == b"then"


# --- Folders -------------------------------------------------------------------------------------


def test_missing_folders_are_made_with_the_mode_they_had(bench: Bench) -> None:
    old = os.umask(0o077)
    try:
        bench.apply(
            bench.target("p/q/f", bench.want(b"x")),
            dirs=(DirChange(b"p", None, 0o775), DirChange(b"p/q", None, 0o2751)),
        )
    finally:
        os.umask(old)
    assert bench.tree()["p"] == ("dir", 0o775)
    assert bench.tree()["p/q"] == ("dir", 0o2751)


def test_missing_folders_that_nobody_listed_are_made_too(bench: Bench) -> None:
    bench.apply(bench.target("p/q/f", bench.want(b"x")))
    assert (bench.root / "p/q/f").read_bytes() == b"x"


def test_a_folder_goes_only_if_it_is_listed_and_empty(bench: Bench) -> None:
    bench.file("listed/deep/f", b"x")
    bench.file("unlisted/f", b"x")
    bench.file("full/f", b"x")
    bench.file("full/mine", b"of the user")
    bench.apply(
        *(bench.target(p, ABSENT) for p in ("listed/deep/f", "unlisted/f", "full/f")),
        dirs=(
            DirChange(b"listed", 0o755, None),
            DirChange(b"listed/deep", 0o755, None),
            DirChange(b"full", 0o755, None),
        ),
    )
    assert sorted(bench.tree()) == ["full", "full/mine", "unlisted"]


def test_empty_folders_come_back_and_modes_change_where_they_are_as_they_were(
    bench: Bench,
) -> None:
    for name in ("same", "other"):
        (bench.root / name).mkdir()
    (bench.root / "same").chmod(0o755)
    (bench.root / "other").chmod(0o711)
    dirs = (
        DirChange(b"empty", None, 0o750),
        DirChange(b"same", 0o755, 0o700),
        DirChange(b"other", 0o755, 0o700),
    )
    bench.apply(dirs=dirs)
    assert bench.tree() == {
        "empty": ("dir", 0o750),
        "same": ("dir", 0o700),
        "other": ("dir", 0o711),
    }


def test_a_rollback_leaves_folders_alone_that_are_not_as_the_plan_says(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.file("a", b"now")
    for name, mode in (("made", 0o750), ("remoded", 0o711), ("goes", 0o710)):
        (bench.root / name).mkdir()
        (bench.root / name).chmod(mode)
    before = bench.tree()
    dirs = (
        DirChange(b"made", None, 0o755),
        DirChange(b"remoded", 0o755, 0o700),
        DirChange(b"goes", 0o755, None),
    )

    def fail() -> None:
        raise OSError(5, "Input/output error")

    at_call(monkeypatch, "exchange", 1, fail)
    with pytest.raises(TakebackError):
        bench.apply(bench.target("a", bench.want(b"then")), dirs=dirs)
    assert bench.tree() == before
    monkeypatch.undo()
    bench.apply(bench.target("a", bench.want(b"then")), dirs=dirs)
    assert sorted(bench.tree()) == ["a", "made", "remoded"]
    assert (bench.tree()["made"], bench.tree()["remoded"]) == (("dir", 0o750), ("dir", 0o711))


def test_a_folder_that_holds_something_of_the_users_never_gives_way_to_a_file(
    bench: Bench,
) -> None:
    bench.file("d/in", b"the agent's")
    bench.file("d/mine", b"of the user")
    before = bench.tree()
    with pytest.raises(ProjectChanged):
        bench.apply(
            bench.target("d/in", ABSENT),
            bench.target("d", bench.want(b"a file again")),
            dirs=(DirChange(b"d", 0o755, None),),
        )
    assert bench.tree() == before
    assert bench.pending is None


# --- What never changes --------------------------------------------------------------------------


def test_a_parent_that_is_a_link_is_never_gone_through(bench: Bench, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"now")
    state = FileState("file", 0o644, blob_id(b"now"))
    (outside / "f").chmod(0o644)
    (bench.root / "p").symlink_to(outside)
    for target in (
        transaction.Target(b"p/f", state, bench.want(b"then")),
        transaction.Target(b"p/f", state, ABSENT),
        transaction.Target(b"p/new", ABSENT, bench.want(b"then")),
    ):
        assert bench.preflight(target)
        with pytest.raises((ProjectChanged, TakebackError)):
            bench.apply(target)
    assert os.listdir(outside) == ["f"]
    assert (outside / "f").read_bytes() == b"now"
    assert sorted(os.listdir(bench.root)) == ["p"]
    assert bench.pending is None


@pytest.mark.parametrize("path", [".git/config", "sub/.git/hooks/x", "sub/.GIT/config", ".git"])
def test_nothing_inside_a_git_folder_is_written(bench: Bench, path: str) -> None:
    target = transaction.Target(path.encode(), ABSENT, bench.want(b"x"))
    assert "git" in bench.preflight(target)[path.encode()]
    with pytest.raises(TakebackError):
        bench.apply(target)
    assert bench.tree() == {}


@pytest.mark.parametrize("path", [b"../out", b"/etc/x", b"a/../../out", b"", b"a//b", b"./a"])
def test_paths_that_leave_the_project_are_refused(bench: Bench, path: bytes) -> None:
    target = transaction.Target(path, ABSENT, bench.want(b"x"))
    assert bench.preflight(target)
    with pytest.raises(TakebackError):
        bench.apply(target)
    assert bench.tree() == {}
    assert sorted(os.listdir(bench.root.parent)) == ["root", "store"]


def test_pipes_and_sockets_are_neither_opened_nor_touched(bench: Bench) -> None:
    os.mkfifo(bench.root / "pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(bench.root / "sock"))
    state = FileState("file", 0o644, blob_id(b"x"))
    for name in (b"pipe", b"sock"):
        for expect in (state, ABSENT):
            with pytest.raises(ProjectChanged):
                bench.apply(transaction.Target(name, expect, bench.want(b"y")))
    assert bench.tree() == {"pipe": "special", "sock": "special"}


@pytest.mark.parametrize("now", [b"edited", None])
def test_a_target_that_changed_stops_everything(bench: Bench, now: bytes | None) -> None:
    bench.file("a", b"now")
    bench.file("b", b"now")
    targets = [bench.target(p, bench.want(b"then")) for p in ("a", "b")]
    (bench.root / "b").unlink()
    if now is not None:
        bench.file("b", now)
    before = bench.tree()
    with pytest.raises(ProjectChanged):
        bench.apply(*targets)
    assert bench.tree() == before
    assert (bench.pending, bench.logged) == (None, [])


def test_a_mode_that_changed_is_a_change(bench: Bench) -> None:
    bench.file("a", b"now", 0o644)
    target = bench.target("a", bench.want(b"then"))
    (bench.root / "a").chmod(0o600)
    with pytest.raises(ProjectChanged):
        bench.apply(target)


def test_a_hard_link_keeps_its_other_name_as_it_is(bench: Bench) -> None:
    bench.file("a", b"now")
    os.link(bench.root / "a", bench.root / "other")
    bench.apply(bench.target("a", bench.want(b"then")))
    assert (bench.root / "other").read_bytes() == b"now"


def test_extended_attributes_of_a_replaced_file_are_kept(bench: Bench) -> None:
    bench.file("a", b"now")
    try:
        os.setxattr(bench.root / "a", "user.takeback", b"kept")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    bench.apply(bench.target("a", bench.want(b"then", 0o400)))
    assert os.getxattr(bench.root / "a", "user.takeback") == b"kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_the_owner_of_a_replaced_file_is_kept(bench: Bench) -> None:
    bench.file("a", b"now")
    os.chown(bench.root / "a", 1234, 2345)
    applied = bench.apply(bench.target("a", bench.want(b"then", 0o4755)))
    st = (bench.root / "a").stat()
    assert (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) == (1234, 2345, 0o4755)
    assert list(applied.notes) == []


# --- Programs that write at the same moment ------------------------------------------------------


@pytest.mark.usefixtures("renames")
@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("name", ["moves", "exchange"])
def test_an_edit_between_check_and_exchange_is_put_back_and_all_rolls_back(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    for path in ("a", "b", "gone1", "gone2"):
        bench.file(path, b"now " + path.encode())
    targets = [bench.target(p, bench.want(b"then")) for p in ("a", "b", "new1", "new2")]
    targets += [bench.target(p, ABSENT) for p in ("gone1", "gone2")]
    edited = b"the user's own bytes"
    fired = []

    def edit() -> None:
        # The file that is still as it was, so that the edit is one of the original.
        for path in ("b", "gone2", "a"):
            if bench.now(path).oid == blob_id(b"now " + path.encode()):
                (bench.root / path).write_bytes(edited)
                fired.append(path)
                return

    at_call(monkeypatch, name, number, edit)
    try:
        bench.apply(*targets)
        done = True
    except TakebackError:
        done = False
    if not fired:
        pytest.skip("this way of renaming makes no such call")
    assert not done
    assert (bench.root / fired[0]).read_bytes() == edited
    for path in {"a", "b", "gone1", "gone2"} - set(fired):
        assert (bench.root / path).read_bytes() == b"now " + path.encode()
    assert sorted(bench.tree()) == ["a", "b", "gone1", "gone2"]
    assert (bench.pending, bench.logged) == (None, [])


def test_bytes_written_late_through_an_old_descriptor_are_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a", "gone"):
        bench.file(path, b"now")
    open_files = [open(bench.root / p, "ab") for p in ("a", "gone")]  # noqa: SIM115
    targets = [bench.target("a", bench.want(b"then")), bench.target("gone", ABSENT)]

    # The folders are made durable after the last exchange, before the last look.
    real = fsops.sync_folder

    def sync(fd: int) -> None:
        if (bench.root / "a").read_bytes() == b"then":
            for file in open_files:
                if not file.closed:
                    file.write(b" and late")
                    file.close()
        real(fd)

    monkeypatch.setattr(fsops, "sync_folder", sync)
    applied = bench.apply(*targets)
    oid = blob_id(b"now and late")
    assert sorted(applied.late) == [(b"a", oid), (b"gone", oid)]
    assert bench.blobs[oid] == b"now and late"


# --- Failure, kill and recovery ------------------------------------------------------------------


def changes(bench: Bench) -> tuple[list[transaction.Target], tuple[DirChange, ...]]:
    """A bit of everything."""
    bench.file("a", b"now a")
    bench.file("b", b"now b")
    bench.file("x", b"a file now")
    bench.file("d/in", b"a folder now")
    bench.file("gone/deep/f", b"now f")
    targets = [
        bench.target("a", bench.want(b"then a")),
        bench.target("b", bench.want_link(b"a")),
        bench.target("x", ABSENT),
        bench.target("x/y", bench.want(b"inside")),
        bench.target("d/in", ABSENT),
        bench.target("d", bench.want(b"a file again")),
        bench.target("gone/deep/f", ABSENT),
        bench.target("new/sub/n", bench.want(b"new")),
    ]
    dirs = (
        DirChange(b"x", None, 0o755),
        DirChange(b"d", 0o755, None),
        DirChange(b"gone", 0o755, None),
        DirChange(b"gone/deep", 0o755, None),
        DirChange(b"new", None, 0o700),
        DirChange(b"new/sub", None, 0o755),
    )
    return targets, dirs


@pytest.mark.usefixtures("renames")
@pytest.mark.parametrize("number", range(1, 13))
def test_a_failing_rename_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    targets, dirs = changes(bench)
    before = bench.tree()

    def fail() -> None:
        raise OSError(28, "No space left on device")

    at_call(monkeypatch, "moves", number, fail)
    try:
        bench.apply(*targets, dirs=dirs)
    except TakebackError as error:
        assert "Nothing was changed." in error.message
        assert bench.tree() == before
        assert bench.logged == []
    else:
        assert number > 4
        assert bench.logged == [{"id": "op1"}]
    assert bench.pending is None


@pytest.mark.usefixtures("renames")
@pytest.mark.parametrize("number", range(1, 13))
def test_a_kill_at_a_rename_is_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    expected = Bench(tmp_path / "expected")
    targets, dirs = changes(expected)
    expected.apply(*targets, dirs=dirs)
    bench = Bench(tmp_path / "killed")
    targets, dirs = changes(bench)
    child = os.fork()
    if child == 0:
        at_call(monkeypatch, "moves", number, lambda: os._exit(9))
        try:
            bench.apply(*targets, dirs=dirs)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    found = bench.recover()
    if os.waitstatus_to_exitcode(status) == 9:
        assert found is not None
        assert found.outcome == "forward"
        assert found.record == {"id": "op1"}
        assert bench.logged == [{"id": "op1"}]
    assert bench.tree() == expected.tree()
    assert bench.recover() is None
    assert bench.pending is None


def test_recovery_goes_back_when_the_user_edited_what_was_not_exchanged_yet(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.file("a", b"now a")
    bench.file("b", b"now b")
    before = bench.tree()
    targets = [bench.target(p, bench.want(b"then " + p.encode())) for p in ("a", "b")]
    child = os.fork()
    if child == 0:
        at_call(monkeypatch, "exchange", 2, lambda: os._exit(9))
        try:
            bench.apply(*targets)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert bench.pending == "commit"
    left = "b" if bench.now("a").oid == blob_id(b"then a") else "a"
    (bench.root / left).write_bytes(b"edited since")
    found = bench.recover()
    assert found is not None
    assert found.outcome == "back"
    other = "a" if left == "b" else "b"
    assert bench.now(other) == before[other]
    assert (bench.root / left).read_bytes() == b"edited since"
    assert sorted(os.listdir(bench.root)) == ["a", "b"]
    assert (bench.pending, bench.logged, bench.recover()) == (None, [], None)


def test_recovery_that_can_go_neither_way_keeps_the_journal(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a", "b"):
        bench.file(path, b"now " + path.encode())
    targets = [bench.target(p, bench.want(b"then " + p.encode())) for p in ("a", "b")]
    child = os.fork()
    if child == 0:
        at_call(monkeypatch, "exchange", 2, lambda: os._exit(9))
        try:
            bench.apply(*targets)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    for path in ("a", "b"):
        with open(bench.root / path, "ab") as file:
            file.write(b", edited since")
    after_edit = {p: (bench.root / p).read_bytes() for p in ("a", "b")}
    found = bench.recover()
    assert found is not None
    assert {p: (bench.root / p).read_bytes() for p in ("a", "b")} == after_edit
    assert found.outcome == "stuck"
    assert bench.pending == "stuck"


def test_a_full_disk_while_staging_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets, dirs = changes(bench)
    before = bench.tree()

    def fail() -> None:
        raise OSError(28, "No space left on device")

    at_call(monkeypatch, "write_new", 3, fail)
    with pytest.raises(TakebackError, match=r"No space left on device.*Nothing was changed"):
        bench.apply(*targets, dirs=dirs)
    assert bench.tree() == before
    assert bench.pending is None


def test_a_log_that_cannot_be_written_is_an_answer_that_stays_true(bench: Bench) -> None:
    bench.file("a", b"now")
    target = bench.target("a", bench.want(b"then"))

    def fail(line: dict[str, Any]) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(TakebackError) as raised:
        transaction.apply(
            os.fsencode(bench.store), os.fsencode(bench.root), "op1", [target], (), bench.blobs,
            {"id": "op1"}, True, fail,
        )  # fmt: skip
    if "Nothing was changed." in raised.value.message:
        assert bench.pending is None
        assert (bench.root / "a").read_bytes() == b"now"
    else:
        assert bench.pending is not None
        found = bench.recover()
        assert found is not None
        assert found.outcome == "forward"
        assert bench.logged == [{"id": "op1"}]


def test_an_interruption_before_the_commit_changes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    targets, dirs = changes(bench)
    before = bench.tree()
    at_call(monkeypatch, "write_new", 3, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        bench.apply(*targets, dirs=dirs)
    assert bench.tree() == before
    assert (bench.pending, bench.logged) == (None, [])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_after_the_commit_waits_for_the_end(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    targets, dirs = changes(bench)
    got: list[int] = []
    old = signal.signal(number, lambda *_: got.append(len(bench.logged)))
    try:
        at_call(monkeypatch, "exchange", 1, lambda: signal.raise_signal(number))
        bench.apply(*targets, dirs=dirs)
    finally:
        signal.signal(number, old)
    assert got in ([1], [])
    assert (bench.root / "a").read_bytes() == b"then a"
    assert bench.pending is None


# --- Closed folders ------------------------------------------------------------------------------

UNPRIVILEGED = """
import ctypes, os, sys
base, code = sys.argv[1], sys.argv[2]
sys.path[:0] = [{dev!r}, {repo!r}]
from pathlib import Path
import tests.undo.test_apply as t
from takeback.engine.model import *
ctypes.CDLL(None)
if os.geteuid() == 0:
    os.chown(base, 65534, 65534)
    os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
os.umask(0o022)
bench = t.Bench(Path(base) / "p")
exec(code)
"""


def as_user(base: Path, code: str) -> None:
    """Run code where modes hold, also when the tests run as root."""
    if os.geteuid() == 0:
        for folder in (base, *base.parents[:3]):
            if folder != Path("/") and folder != Path("/tmp"):
                folder.chmod(0o711 | folder.stat().st_mode)
    script = UNPRIVILEGED.format(dev=str(REPO / ".dev"), repo=str(REPO))
    done = subprocess.run(
        [sys.executable, "-c", script, str(base), code], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


CLOSED = """
bench.file("c/a", b"now", 0o444); bench.file("c/gone", b"now"); bench.file("c/d/f", b"now")
for path in ("c/d", "c", ""): (bench.root / path).chmod(0o555)
"""


def test_a_closed_folder_is_opened_for_the_moment_only(tmp_path: Path) -> None:
    as_user(
        tmp_path,
        CLOSED
        + """
targets = [bench.target("c/a", bench.want(b"then", 0o444)), bench.target("c/gone", ABSENT),
           bench.target("c/d/f", ABSENT), bench.target("c/new", bench.want(b"new"))]
assert bench.preflight(*targets) == {}
bench.apply(*targets, dirs=(DirChange(b"c/d", 0o555, None),))
assert bench.tree() == {"c": ("dir", 0o555), "c/a": bench.want(b"then", 0o444),
                        "c/new": bench.want(b"new")}, bench.tree()
assert bench.root.stat().st_mode & 0o7777 == 0o555
for path in ("c", ""): (bench.root / path).chmod(0o755)
""",
    )


def test_a_rollback_closes_the_folder_again(tmp_path: Path) -> None:
    as_user(
        tmp_path,
        CLOSED
        + """
before = bench.tree()
targets = [bench.target("c/d/f", ABSENT), bench.target("c/gone", ABSENT),
           bench.target("c/a", bench.want(b"then", 0o444))]
from takeback.engine.undo import fsops
def fail(*_): raise OSError(5, "Input/output error")
fsops.exchange = fail
try: bench.apply(*targets, dirs=(DirChange(b"c/d", 0o555, None),))
except t.TakebackError: pass
else: raise AssertionError
assert bench.tree() == before, bench.tree()
assert bench.root.stat().st_mode & 0o7777 == 0o555
assert bench.pending is None
for path in ("c/d", "c", ""): (bench.root / path).chmod(0o755)
""",
    )


def test_a_folder_of_somebody_else_is_named_before_anything_is_written(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to make somebody else's folder")
    bench = Bench(tmp_path / "r")
    state = bench.file("other/a", b"now")
    (bench.root / "other").chmod(0o755)
    as_user(
        tmp_path,
        f"""
bench.root = Path(base) / "r/root"
target = t.transaction.Target(b"other/a", {state!r}, bench.want(b"then"))
assert list(bench.preflight(target)) == [b"other/a"]
""",
    )


def test_every_target_of_a_read_only_project_is_named(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.file("a", b"now")
    real = os.fstatvfs

    class Frozen:
        def __init__(self, found: os.statvfs_result) -> None:
            self.f_flag = found.f_flag | os.ST_RDONLY

    monkeypatch.setattr(os, "fstatvfs", lambda fd: Frozen(real(fd)))
    assert "read-only" in bench.preflight(bench.target("a", ABSENT))[b"a"]


# --- Size ----------------------------------------------------------------------------------------


def test_five_thousand_deletes_take_seconds(bench: Bench) -> None:
    (bench.root / "many").mkdir()
    state = None
    targets = []
    for number in range(5000):
        path = bench.root / f"many/{number}"
        path.write_bytes(b"%d" % number)
        st = path.stat()
        state = FileState("file", stat.S_IMODE(st.st_mode), blob_id(b"%d" % number))
        targets.append(transaction.Target(b"many/%d" % number, state, ABSENT))
    begun = time.monotonic()
    bench.preflight(*targets)
    bench.apply(*targets, dirs=(DirChange(b"many", 0o755, None),))
    assert time.monotonic() - begun < 10
    assert bench.tree() == {}


def test_the_scan_knows_our_staging_folder() -> None:
    assert transaction.MARKER == scan.MARKER
