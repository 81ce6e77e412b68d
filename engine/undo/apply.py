"""The transaction: all files of an operation change, or none, and no foreign byte is lost.

Everything new is staged beside the project's files first; each target is then checked against what
the plan was made from; after the point of no return the staged files are exchanged with the targets
one by one, and what comes out is checked again. A program that writes at the same moment therefore
keeps its bytes: they are put back, and the operation is rolled back (ORIGIN.md, The transaction).
"""

from __future__ import annotations

import errno
import os
import signal
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from takeback.engine.errors import ProjectChanged, TakebackError
from takeback.engine.model import DirChange, FileState, same
from takeback.engine.undo import fsops, journal
from takeback.engine.undo.fsops import Blocked, Tree
from takeback.engine.undo.journal import Journal, Target, pending

__all__ = ["Applied", "Blobs", "Recovered", "Target", "apply", "pending", "preflight", "recover"]

MARKER = b"takeback-staging"
_MANY = 300
_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Log = Callable[[dict[str, Any]], None]


class Blobs(Protocol):
    """Where contents come from and go to."""

    def read(self, oid: str) -> bytes: ...
    def write(self, kind: str, data: bytes) -> str: ...
    def flush(self, durable: bool = False) -> None: ...


@dataclass(slots=True)
class Applied:
    """What an applied operation left to say.

    Attributes:
        late: bytes that a program wrote through an old descriptor: path, blob id.
        notes: (what could not be kept, path).
    """

    late: list[tuple[bytes, str]] = field(default_factory=list)
    notes: list[tuple[str, bytes]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Recovered:
    """How an operation that was killed ended: dropped, forward, back or stuck."""

    outcome: str
    record: dict[str, Any] | None = None
    late: tuple[tuple[bytes, str], ...] = ()


class _Foreign(Exception):
    """Something stands at a path that the operation does not know."""

    def __init__(self, path: bytes) -> None:
        super().__init__(path)
        self.path = path


class _Stuck(Exception):
    """A path can be brought neither forward nor back without losing somebody's bytes."""


# --- Before anything is written ------------------------------------------------------------------


def preflight(root: bytes, targets: Sequence[Target]) -> dict[bytes, str]:
    """The targets that cannot be written, each with the reason. Writes nothing."""
    going = {t.path for t in targets if t.want.kind == "absent"}
    blocked: dict[bytes, str] = {}
    if not targets:
        return blocked
    with Tree(root) as tree:
        top = os.stat(root)
        whole = _folder_reason(tree, b"", top.st_dev)
        known: dict[bytes, str] = {b"": whole}
        for target in targets:
            reason = whole or _reason(tree, target, going, known, top.st_dev)
            if reason:
                blocked[target.path] = reason
    return blocked


def _reason(
    tree: Tree, target: Target, going: set[bytes], known: dict[bytes, str], device: int
) -> str:
    refused = _refused(target.path)
    if refused:
        return refused
    parts = target.path.split(b"/")[:-1]
    at = b""
    for part in parts:
        above, at = at, at + b"/" + part if at else part
        if at in known:
            if known[at]:
                return known[at]
            continue
        st = tree.lstat(at)
        if st is None or at in going:
            return known[above]
        if stat.S_ISLNK(st.st_mode):
            known[at] = "a parent folder is a link"
        elif not stat.S_ISDIR(st.st_mode):
            known[at] = "a file stands where its folder was"
        else:
            known[at] = _folder_reason(tree, at, device)
        if known[at]:
            return known[at]
    st = tree.lstat(target.path)
    if st is not None and st.st_dev != device:
        return "it is on another file system"
    return ""


def _refused(path: bytes) -> str:
    """Why nothing may ever be written at a path, or ""."""
    parts = path.split(b"/")
    if b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        return "it is no path inside the project"
    if any(part.lower() == b".git" for part in parts):
        return "it is inside a .git folder"
    return ""


def _folder_reason(tree: Tree, path: bytes, device: int) -> str:
    fd = tree.folder(path)
    st = os.fstat(fd)
    if st.st_dev != device:
        return "it is on another file system"
    if os.fstatvfs(fd).f_flag & os.ST_RDONLY:
        return "the file system is read-only"
    if not _writable(fd) and st.st_uid != os.geteuid():
        return "its folder may not be written"
    return ""


def _writable(fd: int) -> bool:
    return os.access(b".", os.W_OK | os.X_OK, dir_fd=fd, effective_ids=True)


# --- Applying ------------------------------------------------------------------------------------


def apply(
    store_dir: bytes,
    root: bytes,
    op_id: str,
    targets: Sequence[Target],
    dirs: Sequence[DirChange],
    blobs: Blobs,
    record: dict[str, Any],
    restore_mtime: bool,
    log: Log,
) -> Applied:
    """Carry an operation out. The caller holds the lock and has stored the safety snapshot.

    Args:
        targets: paths with what stands there and what shall.
        dirs: folders with their mode now and the mode wanted, None for absent.
        record: the operation's line; given to `log` when everything stands as wanted.

    Raises:
        ProjectChanged: a target is not as expected; nothing was changed.
        TakebackError: something failed; nothing was changed, or the journal was kept.
    """
    for path in (*(t.path for t in targets), *(d.path for d in dirs)):
        refused = _refused(path)
        if refused:
            raise TakebackError(
                f"{os.fsdecode(path)!r} cannot be written: {refused}. Nothing was changed."
            )
    work = Journal(store_dir, op_id, tuple(targets), tuple(dirs), record, restore_mtime)
    try:
        tree = Tree(root)
    except OSError as error:
        raise _said(error) from error
    with tree:
        job = _Job(tree, work, blobs)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            try:
                work.dirs = job.all_dirs()
                work.chmods = job.closed_folders()
                work.begin()
                job.open_folders()
                job.stage()
                job.check()
                # Raises what came just before; what comes later waits for the end.
                signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
            except BaseException as error:
                _abandon(job)
                raise _said(error) from error
            _commit(job, log)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return job.applied


def _abandon(job: _Job) -> None:
    """Clean up before the commit. What fails here is left to the next start: see `recover`."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    except BaseException:
        pass
    try:
        job.drop()
    except OSError:
        pass


def _commit(job: _Job, log: Log) -> None:
    work = job.work
    try:
        work.enter("commit")
        job.forward()
        work.enter("applied")
    except Exception as error:
        _roll_back(job, error)
    try:
        log(work.record)
    except (OSError, TakebackError) as error:
        # The line may be in the log all the same: from here on there is no way back.
        raise TakebackError(
            f"All files were written, but the operation could not be logged: {_words(error)}. "
            "The journal is kept.",
            "Make room, then run 'takeback recover': it finishes the operation.",
        ) from error
    try:
        job.finish()
    except OSError:
        pass  # The operation stands; the next start tidies up.


def _roll_back(job: _Job, error: Exception) -> NoReturn:
    work = job.work
    try:
        # Once it goes back, no recovery may go forward: the user is told that nothing changed.
        work.enter("back")
    except OSError:
        pass
    if work.phase != "applied" and job.back():
        try:
            work.enter("undone")
            job.finish()
        except OSError:
            pass  # Everything is back; the next start tidies up.
        raise _said(error) from error
    if work.phase != "applied":
        try:
            work.enter("stuck")
        except OSError:
            pass
    raise TakebackError(
        f"The operation failed ({_words(error)}) and could not be rolled back whole. "
        "Every byte is in the store, the journal is kept.",
        "See 'takeback doctor', then run 'takeback recover'.",
    ) from error


def _words(error: BaseException) -> str:
    if isinstance(error, _Foreign):
        return f"{os.fsdecode(error.path)!r} changed meanwhile"
    if isinstance(error, OSError):
        name = error.filename
        shown = f": {os.fsdecode(name)!r}" if isinstance(name, (bytes, str)) else ""
        return f"{error.strerror or error}{shown}"
    return str(error)


def _said(error: BaseException) -> BaseException:
    if isinstance(error, _Foreign):
        return ProjectChanged(
            f"{os.fsdecode(error.path)!r} changed meanwhile. Nothing was changed.",
            "Run the command again to see the new plan.",
        )
    if isinstance(error, OSError):
        return TakebackError(
            f"The operation failed: {_words(error)}. Nothing was changed.",
            "Check the free space and the permissions, then try again.",
        )
    return error


def _above(path: bytes) -> list[bytes]:
    """The folders above a path, the outermost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


class _Job:
    """The steps of one operation; each may be repeated after a kill."""

    def __init__(self, tree: Tree, work: Journal, blobs: Blobs) -> None:
        self.tree = tree
        self.work = work
        self.blobs = blobs
        self.applied = Applied()

    # Names in the staging folder: N new, N.o moved aside, N.b for rolling back.
    def _spot(self, at: int, kind: bytes = b"") -> tuple[int, bytes]:
        return self.tree.folder(self.work.stage), b"%d" % at + kind

    def _look(self, at: int, kind: bytes = b"") -> FileState:
        return self.tree.look(self.work.stage + b"/%d" % at + kind)

    # --- Folders that must be opened for a while ---------------------------------------------

    def all_dirs(self) -> tuple[DirChange, ...]:
        """The plan's folders as they are now, and those missing above a wanted file.

        What is not as the plan says is left alone: a folder that somebody made or removed since, a
        mode that somebody changed.
        """
        dirs: dict[bytes, DirChange] = {}
        for item in self.work.dirs:
            now = self.tree.folder_mode(item.path)
            if item.after is None and now is not None:
                dirs[item.path] = DirChange(item.path, now, None)
            elif item.after is not None and now == item.before:
                dirs[item.path] = item
        umask = os.umask(0o077)
        os.umask(umask)
        for target in self.work.targets:
            if not target.want.has_content:
                continue
            for above in _above(target.path):
                if above not in dirs and self.tree.folder_mode(above) is None:
                    dirs[above] = DirChange(above, None, 0o777 & ~umask)
        return tuple(dirs.values())

    def closed_folders(self) -> list[tuple[bytes, int]]:
        """Folders of ours that must be made writable: those that hold a target, and the root."""
        wanted = {b""}
        for path in [t.path for t in self.work.targets] + [d.path for d in self.work.dirs]:
            wanted.add(path.rpartition(b"/")[0])
        found = []
        for path in sorted(wanted):
            try:
                fd = self.tree.folder(path)
            except (FileNotFoundError, Blocked):
                continue
            except PermissionError:
                continue
            if not _writable(fd):
                st = os.fstat(fd)
                if st.st_uid == os.geteuid():
                    found.append((path, stat.S_IMODE(st.st_mode)))
        return found

    def open_folders(self) -> None:
        for path, mode in self.work.chmods:
            try:
                os.fchmod(self.tree.folder(path), mode | 0o700)
            except (FileNotFoundError, Blocked):
                continue

    def close_folders(self) -> None:
        """Give the opened folders their mode back where nobody else changed it."""
        final = {d.path: d.after for d in self.work.dirs if d.after is not None}
        for path, mode in reversed(self.work.chmods):
            now = self.tree.folder_mode(path)
            if now == mode | 0o700:
                wanted = final.get(path, mode) if self.work.phase == "applied" else mode
                os.fchmod(self.tree.folder(path), mode if wanted is None else wanted)

    # --- Staging -----------------------------------------------------------------------------

    def stage(self) -> None:
        """Write everything new beside the project's files, whole and durable."""
        work = self.work
        self._make_stage()
        many = len(work.targets) > _MANY
        for at, target in enumerate(work.targets):
            if target.want.has_content:
                self._stage_one(at, b"", target.want, target, sync=not many)
        if many:
            os.sync()
        fsops.sync_folder(self.tree.folder(work.stage))
        fsops.sync_folder(self.tree.folder(b""))

    def _make_stage(self) -> None:
        try:
            os.mkdir(self.work.stage, 0o700, dir_fd=self.tree.folder(b""))
        except FileExistsError:
            pass
        fd = self.tree.folder(self.work.stage)
        try:
            os.close(fsops.write_new(fd, MARKER, self.work.op.encode() + b"\n"))
        except FileExistsError:
            pass

    def _stage_one(
        self, at: int, kind: bytes, state: FileState, target: Target, sync: bool = True
    ) -> None:
        fd, name = self._spot(at, kind)
        if self._look(at, kind).kind != "absent":
            self._rescue(at, kind, target)
            os.unlink(name, dir_fd=fd)
        data = self.blobs.read(state.oid)
        when = (state.mtime_ns, state.mtime_ns)
        timed = self.work.restore_mtime and state.mtime_ns != 0
        old = self.tree.lstat(target.path)
        if state.kind == "link":
            os.symlink(data, name, dir_fd=fd)
            if old is not None:
                self._own_link(fd, name, old, target.path)
            if timed:
                os.utime(name, ns=when, dir_fd=fd, follow_symlinks=False)
            return
        out = fsops.write_new(fd, name, data)
        try:
            if old is not None and stat.S_ISREG(old.st_mode):
                self._own(out, old, target.path)
            os.fchmod(out, state.mode)
            if timed:
                os.utime(out, ns=when)
            if sync:
                os.fsync(out)
        finally:
            os.close(out)

    def _own(self, out: int, old: os.stat_result, path: bytes) -> None:
        """Keep owner, group and extended attributes of the file that is replaced."""
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            try:
                os.fchown(out, old.st_uid, old.st_gid)
            except OSError:
                self.applied.notes.append(("owner", path))
        if hasattr(os, "listxattr"):
            try:
                self._copy_attributes(out, path)
            except OSError:
                self.applied.notes.append(("extended attributes", path))

    def _copy_attributes(self, out: int, path: bytes) -> None:
        fd, name = self.tree.split(path)
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        source = os.open(name, flags, dir_fd=fd)
        try:
            for attribute in os.listxattr(source):
                os.setxattr(out, attribute, os.getxattr(source, attribute))
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENODATA):
                raise
        finally:
            os.close(source)

    def _own_link(self, fd: int, name: bytes, old: os.stat_result, path: bytes) -> None:
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            try:
                os.chown(name, old.st_uid, old.st_gid, dir_fd=fd, follow_symlinks=False)
            except OSError:
                self.applied.notes.append(("owner", path))

    def check(self) -> None:
        """Compare every target with what the plan was made from, once more.

        Raises:
            _Foreign: one differs.
        """
        targets = self.work.targets
        going = {t.path for t in targets if t.expect.has_content and not t.want.has_content}
        sound: set[bytes] = set()
        for target in targets:
            if not same(self.tree.look(target.path), target.expect):
                raise _Foreign(target.path)
            for above in _above(target.path):
                if above in sound:
                    continue
                st = self.tree.lstat(above)
                if st is None or above in going:
                    break
                if not stat.S_ISDIR(st.st_mode):
                    raise _Foreign(target.path)
                sound.add(above)

    # --- Forward -----------------------------------------------------------------------------

    def forward(self) -> None:
        """Bring every target to what is wanted; what is so already is left alone.

        Raises:
            _Foreign, OSError: it cannot be finished.
        """
        targets = self.work.targets
        removals = [i for i, t in enumerate(targets) if t.want.kind == "absent"]
        rest = [i for i, t in enumerate(targets) if t.want.kind != "absent"]
        for at in sorted(removals, key=lambda i: (-targets[i].path.count(b"/"), targets[i].path)):
            self._remove(at, targets[at])
        self._remove_folders([d for d in self.work.dirs if d.after is None])
        self.tree.forget()
        self._make_folders([d for d in self.work.dirs if d.before is None and d.after is not None])
        for at in sorted(rest, key=lambda i: (targets[i].path.count(b"/"), targets[i].path)):
            self._place(at, targets[at], targets[at].expect, targets[at].want, b"")
        self._set_modes()
        self._sync()
        self._late_writers()

    def _remove(self, at: int, target: Target) -> None:
        now = self.tree.look(target.path)
        aside = self._look(at, b".o")
        if now.kind == "absent":
            if aside.kind != "absent" and not same(aside, target.expect):
                self._put_aside_back(at, target)
                raise _Foreign(target.path)
            return
        if aside.kind != "absent" or not same(now, target.expect):
            raise _Foreign(target.path)
        fsops.take(self.tree.split(target.path), self._spot(at, b".o"))
        if not same(self._look(at, b".o"), target.expect):
            self._put_aside_back(at, target)
            raise _Foreign(target.path)

    def _put_aside_back(self, at: int, target: Target) -> None:
        fsops.move_new(self._spot(at, b".o"), self.tree.split(target.path))

    def _place(
        self, at: int, target: Target, have: FileState, want: FileState, kind: bytes
    ) -> None:
        """Put a staged file in the place of what is there, or of nothing."""
        path = target.path
        now = self.tree.look(path)
        staged = self._look(at, kind)
        if same(now, want):
            if staged.kind != "absent" and not same(staged, have) and not same(staged, want):
                # Killed after the swap, before the look at what came out: it was foreign.
                self._swap(at, path, kind)
                raise _Foreign(path)
            return
        if now.kind == "absent" and have.kind != "absent":
            # Without exchanging renames there is a moment with nothing at the path.
            aside = self._look(at, b".o" + kind)
            if not same(aside, have):
                raise _Foreign(path)
        elif not same(now, have):
            raise _Foreign(path)
        if not same(staged, want):
            self._stage_one(at, kind, want, target)
        if now.kind == "absent":
            st = self.tree.lstat(path)
            if st is not None and stat.S_ISDIR(st.st_mode):
                self._remove_folders([DirChange(path, stat.S_IMODE(st.st_mode), None)])
                self.tree.forget()
            try:
                fsops.move_new(self._spot(at, kind), self.tree.split(path))
            except FileExistsError as error:
                raise _Foreign(path) from error
            return
        self._swap(at, path, kind)
        came_out = self._look(at, kind)
        if came_out.kind == "absent":
            came_out = self._look(at, b".o" + kind)
        if not same(came_out, have):
            self._swap(at, path, kind)
            raise _Foreign(path)

    def _swap(self, at: int, path: bytes, kind: bytes) -> None:
        if fsops.exchange(self._spot(at, kind), self.tree.split(path)):
            return
        aside = self._spot(at, b".o" + kind)
        fsops.take(self.tree.split(path), aside)
        fsops.move_new(self._spot(at, kind), self.tree.split(path))
        os.rename(aside[1], b"%d" % at + kind, src_dir_fd=aside[0], dst_dir_fd=aside[0])

    def _remove_folders(self, dirs: Iterable[DirChange]) -> None:
        """Remove folders that are empty; others stay."""
        for item in sorted(dirs, key=lambda d: d.path.count(b"/"), reverse=True):
            self.tree.forget()
            try:
                fd, name = self.tree.split(item.path)
                os.rmdir(name, dir_fd=fd)
            except (FileNotFoundError, Blocked):
                continue
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EBUSY):
                    raise

    def _make_folders(self, dirs: Iterable[DirChange]) -> None:
        for item in sorted(dirs, key=lambda d: d.path.count(b"/")):
            try:
                fd, name = self.tree.split(item.path)
                os.mkdir(name, 0o700, dir_fd=fd)
            except FileExistsError:
                if self.tree.folder_mode(item.path) is None:
                    raise _Foreign(item.path) from None
            except Blocked as error:
                raise _Foreign(item.path) from error

    def _set_modes(self) -> None:
        """Give new and changed folders their mode, deepest first."""
        for item in sorted(self.work.dirs, key=lambda d: d.path.count(b"/"), reverse=True):
            now = self.tree.folder_mode(item.path)
            if item.after is None or now is None or now == item.after:
                continue
            if item.before is None or now in (item.before, item.before | 0o700):
                os.fchmod(self.tree.folder(item.path), item.after)

    def _sync(self) -> None:
        folders = {t.path.rpartition(b"/")[0] for t in self.work.targets}
        folders |= {d.path.rpartition(b"/")[0] for d in self.work.dirs}
        if len(folders) > _MANY:
            os.sync()
            return
        for path in sorted(folders):
            try:
                fsops.sync_folder(self.tree.folder(path))
            except (FileNotFoundError, Blocked):
                continue

    def _late_writers(self) -> None:
        """Keep what a program wrote into a file after it was swapped out."""
        for at, target in enumerate(self.work.targets):
            for kind in (b"", b".o"):
                self._rescue(at, kind, target)

    def _rescue(self, at: int, kind: bytes, target: Target) -> None:
        state = self._look(at, kind)
        if state.kind != "file" or state.oid in (target.expect.oid, target.want.oid):
            return
        fd, name = self._spot(at, kind)
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        with os.fdopen(source, "rb") as file:
            oid = self.blobs.write("blob", file.read())
        self.blobs.flush(durable=True)
        if (target.path, oid) not in self.applied.late:
            self.applied.late.append((target.path, oid))

    # --- Back --------------------------------------------------------------------------------

    def back(self) -> bool:
        """Bring every target back to what stood there; True if that worked.

        What a program wrote meanwhile at a path stays: it is newer than both.
        """
        targets = self.work.targets
        clean = True
        made = [i for i, t in enumerate(targets) if t.expect.kind == "absent"]
        rest = [i for i, t in enumerate(targets) if t.expect.kind != "absent"]
        self.tree.forget()
        try:
            for at in sorted(made, key=lambda i: -targets[i].path.count(b"/")):
                clean &= self._guarded(self._unmake, at)
            dirs = self.work.dirs
            self._remove_folders([d for d in dirs if d.before is None and d.after is not None])
            self.tree.forget()
            gone = [DirChange(d.path, None, d.before) for d in dirs if d.after is None]
            self._make_folders(gone)
            for at in sorted(rest, key=lambda i: targets[i].path.count(b"/")):
                clean &= self._guarded(self._unplace, at)
            for item in [*gone, *(DirChange(d.path, d.after, d.before) for d in dirs)]:
                now = self.tree.folder_mode(item.path)
                if item.after is not None and now is not None and now != item.after:
                    os.fchmod(self.tree.folder(item.path), item.after)
            self._sync()
            self._late_writers()
        except (OSError, TakebackError, _Foreign):
            return False
        return clean

    def _guarded(self, step: Callable[[int], None], at: int) -> bool:
        try:
            step(at)
        except _Foreign:
            return True
        except (OSError, TakebackError, _Stuck):
            return False
        return True

    def _unmake(self, at: int) -> None:
        target = self.work.targets[at]
        now = self.tree.look(target.path)
        if now.kind == "absent":
            return
        staged = self._look(at)
        if staged.kind != "absent" and not self._is_our_link(at, target.path):
            # It was not placed yet: what stands there is somebody else's.
            return
        if not same(now, target.want):
            raise _Stuck  # Placed, and edited since.
        fsops.take(self.tree.split(target.path), self._spot(at, b".b"))
        if not same(self._look(at, b".b"), target.want):
            fsops.move_new(self._spot(at, b".b"), self.tree.split(target.path))
            raise _Stuck

    def _is_our_link(self, at: int, path: bytes) -> bool:
        """Whether a kill left a staged file under both its names (see `fsops.move_new`)."""
        fd, name = self._spot(at)
        here, there = os.stat(name, dir_fd=fd, follow_symlinks=False), self.tree.lstat(path)
        return there is not None and (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino)

    def _unplace(self, at: int) -> None:
        target = self.work.targets[at]
        now = self.tree.look(target.path)
        if same(now, target.expect):
            return
        if now.kind == "absent":
            for kind in (b".o", b".o.b", b".o"):
                if self._look(at, kind).kind != "absent":
                    fsops.move_new(self._spot(at, kind), self.tree.split(target.path))
                    return
            if target.want.kind != "absent":
                return
            if not same(self._look(at, b".b"), target.expect):
                self._stage_one(at, b".b", target.expect, target)
            fsops.move_new(self._spot(at, b".b"), self.tree.split(target.path))
            return
        swapped = self._look(at)
        if not same(now, target.want):
            if target.want.has_content and same(swapped, target.expect):
                raise _Stuck  # Exchanged, and edited since.
            return
        if swapped.kind != "absent" and not same(swapped, target.want):
            self._swap(at, target.path, b"")
            return
        self._place(at, target, target.want, target.expect, b".b")

    # --- Ends --------------------------------------------------------------------------------

    def drop(self) -> None:
        """Forget an operation that changed nothing."""
        if self.work.phase:
            self.clean()
            self.close_folders()
            self.work.remove()

    def finish(self) -> None:
        """Clean up after the end."""
        self.clean()
        self.close_folders()
        self.work.remove()

    def clean(self) -> None:
        """Remove the staging folder; foreign bytes in it are kept in the store first."""
        try:
            fd = self.tree.folder(self.work.stage)
        except (FileNotFoundError, Blocked):
            return
        count = len(self.work.targets)
        for name in map(os.fsencode, os.listdir(fd)):
            number = name.partition(b".")[0]
            if number.isdigit() and int(number) < count:
                self._rescue(int(number), name[len(number) :], self.work.targets[int(number)])
            os.unlink(name, dir_fd=fd)
        self.tree.forget()
        os.rmdir(self.work.stage, dir_fd=self.tree.folder(b""))


# --- Recovery ------------------------------------------------------------------------------------


def recover(store_dir: bytes, root: bytes, blobs: Blobs, log: Log) -> Recovered | None:
    """Finish, roll back or drop an operation that was killed. May be killed itself, and repeated.

    Returns:
        None if there is none.

    Raises:
        TakebackError: the journal cannot be read, or the project cannot be reached.
    """
    work = journal.load(store_dir)
    if work is None:
        return None
    try:
        tree = Tree(root)
    except OSError as error:
        raise TakebackError(
            f"An operation was killed in {os.fsdecode(root)!r}, which cannot be reached: "
            f"{error.strerror}. Nothing was changed."
        ) from error
    with tree:
        job = _Job(tree, work, blobs)
        try:
            return _recovered(job, log)
        except OSError as error:
            if work.phase in ("commit", "back"):
                try:
                    work.enter("stuck")
                except OSError:
                    pass
            raise TakebackError(
                f"An operation that was killed could not be recovered: {_words(error)}. "
                "Every byte is in the store, the journal is kept.",
                "Check the free space and the permissions, then run 'takeback recover'.",
            ) from error


def _recovered(job: _Job, log: Log) -> Recovered:
    work = job.work
    if work.phase == "intent":
        job.drop()
        return Recovered("dropped")
    if work.phase not in ("applied", "undone"):
        job.open_folders()
        job._make_stage()
    if work.phase in ("commit", "stuck"):
        try:
            job.forward()
            work.enter("applied")
        except (_Foreign, OSError, TakebackError):
            work.enter("back")
    if work.phase == "back":
        if not job.back():
            work.enter("stuck")
            return Recovered("stuck", late=tuple(job.applied.late))
        work.enter("undone")
    if work.phase == "undone":
        job.finish()
        return Recovered("back", late=tuple(job.applied.late))
    log(work.record)
    job.finish()
    return Recovered("forward", work.record, tuple(job.applied.late))
