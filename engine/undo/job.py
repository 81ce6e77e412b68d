"""The steps of an operation on the project itself: forward, and back."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable

from takeback.engine.errors import TakebackError
from takeback.engine.model import DirChange, FileState, same
from takeback.engine.undo import fsops
from takeback.engine.undo.fsops import Blocked
from takeback.engine.undo.journal import Target
from takeback.engine.undo.staging import MANY, Foreign, Staging, Stuck
from takeback.engine.work import step as say


class Job(Staging):
    """The steps of one operation; each may be repeated after a kill."""

    # --- Forward -----------------------------------------------------------------------------

    def forward(self) -> None:
        """Bring every target to what is wanted; what is so already is left alone.

        Raises:
            Foreign, OSError: it cannot be finished.
        """
        targets = self.work.targets
        done = 0
        removals = [i for i, t in enumerate(targets) if t.want.kind == "absent"]
        rest = [i for i, t in enumerate(targets) if t.want.kind != "absent"]
        for at in sorted(removals, key=lambda i: (-targets[i].path.count(b"/"), targets[i].path)):
            say("Writing files", done, len(targets))
            done += 1
            self._remove(at, targets[at])
        self._remove_folders([d for d in self.work.dirs if d.after is None])
        self.tree.forget()
        self._make_folders([d for d in self.work.dirs if d.before is None and d.after is not None])
        for at in sorted(rest, key=lambda i: (targets[i].path.count(b"/"), targets[i].path)):
            say("Writing files", done, len(targets))
            done += 1
            self._place(at, targets[at], targets[at].expect, targets[at].want, b"")
        say("Writing files", done, len(targets))
        self._set_modes()
        self._sync()
        self._late_writers()

    def _remove(self, at: int, target: Target) -> None:
        now = self.tree.look(target.path)
        aside = self._look(at, b".o")
        if now.kind == "absent":
            if aside.kind != "absent" and not same(aside, target.expect):
                self._put_aside_back(at, target)
                raise Foreign(target.path)
            return
        if aside.kind != "absent" or not same(now, target.expect):
            raise Foreign(target.path)
        fsops.take(self.tree.split(target.path), self._spot(at, b".o"))
        if not same(self._look(at, b".o"), target.expect):
            self._put_aside_back(at, target)
            raise Foreign(target.path)

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
                raise Foreign(path)
            return
        if now.kind == "absent" and have.kind != "absent":
            # Without exchanging renames there is a moment with nothing at the path.
            aside = self._look(at, b".o" + kind)
            if not same(aside, have):
                raise Foreign(path)
        elif not same(now, have):
            raise Foreign(path)
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
                raise Foreign(path) from error
            return
        self._swap(at, path, kind)
        came_out = self._look(at, kind)
        if came_out.kind == "absent":
            came_out = self._look(at, b".o" + kind)
        if not same(came_out, have):
            self._swap(at, path, kind)
            raise Foreign(path)

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
                    raise Foreign(item.path) from None
            except Blocked as error:
                raise Foreign(item.path) from error

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
        if len(folders) > MANY:
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
        except (OSError, TakebackError, Foreign):
            return False
        return clean

    def _guarded(self, step: Callable[[int], None], at: int) -> bool:
        try:
            step(at)
        except Foreign:
            return True
        except (OSError, TakebackError, Stuck):
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
            raise Stuck  # Placed, and edited since.
        fsops.take(self.tree.split(target.path), self._spot(at, b".b"))
        if not same(self._look(at, b".b"), target.want):
            fsops.move_new(self._spot(at, b".b"), self.tree.split(target.path))
            raise Stuck

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
                raise Stuck  # Exchanged, and edited since.
            return
        if swapped.kind != "absent" and not same(swapped, target.want):
            self._swap(at, target.path, b"")
            return
        self._place(at, target, target.want, target.expect, b".b")
