"""The staging folder of an operation: everything new is written there, whole, before the commit."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass, field
from typing import Protocol

from takeback.engine.model import NO_TIME, DirChange, FileState, same
from takeback.engine.undo import fsops
from takeback.engine.undo.fsops import Blocked, Tree
from takeback.engine.undo.journal import Journal, Target
from takeback.engine.undo.preflight import writable
from takeback.engine.work import step

MARKER = b"takeback-staging"
MANY = 300


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


class Foreign(Exception):
    """Something stands at a path that the operation does not know."""

    def __init__(self, path: bytes) -> None:
        super().__init__(path)
        self.path = path


class Stuck(Exception):
    """A path can be brought neither forward nor back without losing somebody's bytes."""


def above_of(path: bytes) -> list[bytes]:
    """The folders above a path, the outermost first."""
    parts = path.split(b"/")
    return [b"/".join(parts[:count]) for count in range(1, len(parts))]


class Staging:
    """What an operation prepares and tidies up; each step may be repeated after a kill."""

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
            for above in above_of(target.path):
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
            if not writable(fd):
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
        self.make_stage()
        many = len(work.targets) > MANY
        for at, target in enumerate(work.targets):
            step("Preparing files", at, len(work.targets))
            if target.want.has_content:
                self._stage_one(at, b"", target.want, target, sync=not many)
        if many:
            os.sync()
        fsops.sync_folder(self.tree.folder(work.stage))
        fsops.sync_folder(self.tree.folder(b""))

    def make_stage(self) -> None:
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
        timed = self.work.restore_mtime and state.mtime_ns != NO_TIME
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
            Foreign: one differs.
        """
        targets = self.work.targets
        going = {t.path for t in targets if t.expect.has_content and not t.want.has_content}
        sound: set[bytes] = set()
        for at, target in enumerate(targets):
            step("Checking files", at, len(targets))
            if not same(self.tree.look(target.path), target.expect):
                raise Foreign(target.path)
            for above in above_of(target.path):
                if above in sound:
                    continue
                st = self.tree.lstat(above)
                if st is None or above in going:
                    break
                if not stat.S_ISDIR(st.st_mode):
                    raise Foreign(target.path)
                sound.add(above)

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
