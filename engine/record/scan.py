"""One look at the whole work tree: what differs from the last look.

Git compares the stat data of known files (``git diff-files`` against a private index, in C, on all
cores) while the folders are checked here: a folder whose own stat did not change holds no new
name. Only new names are asked about ignore rules, only files whose stat differs are read. In
contrast to ``git status`` nothing is hashed twice, empty folders, modes and special files are
seen, and a change of the mode alone shows.
"""

from __future__ import annotations

import os
import stat
import time
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from takeback.engine import work
from takeback.engine.config import default_excluded, secret_reason
from takeback.engine.errors import TakebackError
from takeback.engine.facts import ABSENT, DirChange, FileState, NotCaptured, PathChange, same
from takeback.engine.record import bulk, rules, scanstate
from takeback.engine.record.entries import RACY_NS, entry_of, exists_unseen, read_entry
from takeback.engine.record.files import signature
from takeback.engine.record.gitindex import IndexUnreadable, tracked_names
from takeback.engine.record.scanstate import Entry, Folder, ScanState
from takeback.engine.store import paths
from takeback.engine.store.git import Git, GitError, GitTimeout, finish, stop
from takeback.engine.store.objects import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

    from takeback.engine.config import Config
    from takeback.engine.store.store import Store

MARKER = b"takeback-staging"
_LARGEST_RULES = 1 << 20


class FuseBlown(TakebackError):
    """There is too much to read in one snapshot."""


@dataclass(slots=True)
class Scan:
    """What a scan found against the last one. Paths in `changes` are sorted."""

    changes: list[PathChange] = field(default_factory=list)
    dirs: list[DirChange] = field(default_factory=list)
    left_out: dict[bytes, tuple[str, tuple[int, ...]]] = field(default_factory=dict)
    touched: list[NotCaptured] = field(default_factory=list)
    rules_changed: bool = False
    learned: bool = True


class Scanner:
    """One scan. Use once, under the store's lock; `state` is renewed in memory, not saved."""

    def __init__(
        self, store: Store, config: Config, state: ScanState | None, root: paths.Root, full: bool
    ) -> None:
        self._store = store
        self._config = config
        self._root = root
        self._top = root.path.rstrip(b"/") + b"/"
        self._first = state is None
        self.state = state or ScanState()
        self._full = full
        self._limit = config.max_file_size_mb * (1 << 20)
        self._candidates: dict[bytes, os.stat_result] = {}
        self._fresh: set[bytes] = set()
        self._left_out: dict[bytes, tuple[str, tuple[int, ...]]] = {}
        self._folders: dict[bytes, Folder] = {}
        self._kept_unread: set[bytes] = set()
        self._ahead: dict[bytes, Entry] = {}
        self._learned = False
        self._met_rules: set[bytes] = set()
        self._former_files: dict[bytes, bytes] = {}
        self._rule_files: dict[bytes, bytes] = {}
        self._rules_before = (self.state.excludes, self.state.rules, self.state.tracked_sig)
        self._now = time.time_ns()
        own = os.path.realpath(store.data)
        self._own = own[len(self._top) :] if own.startswith(self._top) else None

    # --- Rules -------------------------------------------------------------------------------

    def _load_rules(self) -> bool:
        """Refresh the rules; True when one of them changed since the last scan."""
        state = self.state
        git_dir = paths.git_dir_of(self._root)
        if self._first or self._full:
            excludes = rules.user_excludes(git_dir, self._root.path)
        else:
            excludes = state.excludes
        path = os.path.join(self._store.git_dir, b"info/exclude")
        if excludes != state.excludes or self._first or not os.path.exists(path):
            self._store.write("git/info/exclude", excludes)
        tracked_sig: tuple[int, ...] = ()
        if git_dir is not None:
            try:
                tracked_sig = signature(os.stat(os.path.join(git_dir, b"index")))
            except OSError:
                tracked_sig = ()
        config = self._config
        own = b"%d %d %d" % (
            config.max_file_size_mb,
            config.store_secrets,
            config.default_undo_skip,
        )
        before = state.rules
        if tracked_sig != state.tracked_sig or self._first:
            self._load_tracked(git_dir)
            names = rules.digest(*self._tracked)
            self._store.write("scan/tracked", b"\0".join(self._tracked))
        else:
            names = state.rules.partition(" ")[0]
        state.rules = f"{names} {rules.digest(own, excludes)}"
        state.excludes = excludes
        state.tracked_sig = tracked_sig
        return state.rules != before

    def _load_tracked(self, git_dir: bytes | None) -> None:
        try:
            names = tracked_names(git_dir) if git_dir is not None else frozenset()
        except (IndexUnreadable, OSError):
            # A broken index of the user's: what was known of it before still holds.
            return
        self.state.tracked = sorted(names)

    @property
    def _tracked(self) -> list[bytes]:
        """The names in the user's index, sorted."""
        if self.state.tracked is None:
            try:
                with open(os.path.join(self._store.scan_dir, b"tracked"), "rb") as file:
                    self.state.tracked = [n for n in file.read().split(b"\0") if n]
            except FileNotFoundError:
                self.state.tracked = []
        return self.state.tracked

    def is_tracked(self, path: bytes) -> bool:
        """Whether the user's index holds a path."""
        names = self._tracked
        at = bisect_left(names, path)
        return at < len(names) and names[at] == path

    def _in_tracked(self, folder: bytes) -> bool:
        """Whether the user's index holds something below a folder."""
        prefix = folder + b"/"
        at = bisect_left(self._tracked, prefix)
        return at < len(self._tracked) and self._tracked[at].startswith(prefix)

    # --- The walk ----------------------------------------------------------------------------

    def run(self) -> Scan:
        """Look at everything.

        Raises:
            FuseBlown: too many or too large files are new.
            GitError, StoreError, OSError: nothing may be concluded from this scan.
        """
        state = self.state
        if not stat.S_ISDIR(os.stat(self._root.path).st_mode):
            raise StoreError("The project's folder is gone.")
        changed_rules = self._load_rules()
        process = None
        if state.base is not None:
            env = {b"GIT_INDEX_FILE": scanstate.index_path(self._store, state)}
            git = Git(self._store.git_dir, self._root.path, env)
            process = git.start("diff-files", "-z", "--no-renames", "--ignore-submodules=all")
        walk_all = self._first or changed_rules
        try:
            self._walk(self._check_folders(walk_all))
        except BaseException:
            if process is not None:
                stop(process)
            raise
        reported = self._reported(process) if process is not None else []
        if self._rule_files_changed() and not walk_all:
            walk_all = changed_rules = True
            self._folders = {}
            self._left_out.clear()
            self._fresh.clear()
            self._candidates.clear()
            self._walk([b""])
        self._former_files, state.rule_files = state.rule_files, self._rule_files
        state.looked_ns = self._now
        return self._compare(reported, walk_all, changed_rules and not self._first)

    def _check_folders(self, walk_all: bool) -> list[bytes]:
        if walk_all:
            return [b""]
        dirty: list[bytes] = []
        # Relative to an open folder: a short path is looked up faster.
        top = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._sort_folders(top, dirty)
        finally:
            os.close(top)
        if not dirty and len(self._folders) == len(self.state.folders):
            self._left_out.update(self.state.left_out)
            self._folders = self.state.folders
            return dirty
        # Below a folder that is gone or was replaced nothing is known any more.
        real = set(self._folders) | set(dirty)
        gone = set()
        for path in sorted(real):
            parent = path.rpartition(b"/")[0]
            if path and (parent not in real or parent in gone):
                gone.add(path)
                self._folders.pop(path, None)
        for path, item in self.state.left_out.items():
            parent = path.rstrip(b"/").rpartition(b"/")[0]
            if parent in self._folders:
                self._left_out[path] = item
        return [path for path in dirty if path not in gone]

    def _sort_folders(self, top: int, dirty: list[bytes]) -> None:
        """Tell the folders whose stat is as it was from those to list again."""
        look, is_dir = os.stat, stat.S_ISDIR
        # What could not be read is looked for again, with all below it: no folder's stat tells when
        # it can.
        unread = [
            path.rstrip(b"/")
            for path, (reason, _) in self.state.left_out.items()
            if reason == "unreadable"
        ]
        again = {path.rpartition(b"/")[0] for path in unread}
        below = tuple(path + b"/" for path in unread)
        for path, known in work.watched("Looking at folders", self.state.folders.items()):
            try:
                st = look(path or b".", dir_fd=top, follow_symlinks=False)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                dirty.append(path)
                continue
            if not is_dir(st.st_mode):
                continue
            if (
                known.ctime_ns == st.st_ctime_ns
                and known.mtime_ns == st.st_mtime_ns
                and known.ino == st.st_ino
                and known.mode == st.st_mode
                and path not in again
                and not (path + b"/").startswith(below)
            ):
                self._folders[path] = known
            else:
                dirty.append(path)

    def _walk(self, todo: list[bytes]) -> None:
        """List folders; new ones level by level, so that one question serves a whole level."""
        checker = rules.IgnoreCheck(self._store.git_dir, self._root.path)
        cap_files = self._config.snapshot_file_count_cap
        cap_bytes = self._config.snapshot_total_size_cap_mb * (1 << 20)
        count = size = 0
        state = self.state
        # The mode, owner or rules of a listed folder may have changed: its subfolders are checked
        # by themselves, unless all is walked.
        all_known = not self._folders and bool(todo)
        while todo:
            files: list[tuple[bytes, os.stat_result]] = []
            folders: list[bytes] = []
            for path in todo:
                work.step("Looking at files", len(self._candidates) + len(files))
                self._list(path, files, folders, all_known)
            ask = [
                path
                for path, _ in files
                if not self.is_tracked(path) and (all_known or state.find(path) is None)
            ]
            ask += [path for path in folders if not self._in_tracked(path)]
            ignored = checker.ignored(ask)
            todo = [path for path in folders if path not in ignored]
            for path, st in files:
                if path in ignored:
                    continue
                tracked = self.is_tracked(path)
                if not tracked and stat.S_ISREG(st.st_mode) and st.st_size > self._limit:
                    self._left_out[path] = ("too-large", signature(st))
                    continue
                self._candidates[path] = st
                if state.find(path) is None:
                    self._fresh.add(path)
                    if not tracked:
                        count += 1
                        size += st.st_size
            if count > cap_files or size > cap_bytes:
                raise FuseBlown(
                    f"There are more than {cap_files} new files or {cap_bytes >> 20} MiB to read: "
                    "only files that an edit call names are kept.",
                    "Ignore what need not be kept, or raise snapshot_file_count_cap or "
                    "snapshot_total_size_cap_mb.",
                )

    def _list(
        self,
        folder: bytes,
        files: list[tuple[bytes, os.stat_result]],
        folders: list[bytes],
        all_known: bool,
    ) -> None:
        full = self._top + folder
        try:
            st = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            self._unreadable_folder(folder)
            return
        try:
            with os.scandir(full) as listing:
                found = list(listing)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            self._unreadable_folder(folder)
            self._folders[folder] = Folder(st.st_mode, st.st_mtime_ns, 0, st.st_ino)
            return
        young = st.st_ctime_ns > self._now - RACY_NS
        ctime = 0 if young else st.st_ctime_ns
        self._folders[folder] = Folder(st.st_mode, st.st_mtime_ns, ctime, st.st_ino)
        prefix = folder + b"/" if folder else b""
        for item in found:
            name = item.name
            if name.lower() == b".git":
                continue
            path = prefix + name
            if name == b".gitignore":
                self._met_rules.add(path)
            try:
                st = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                self._left_out[path] = ("unreadable", ())
                self._kept_unread.add(path)
                continue
            if stat.S_ISDIR(st.st_mode):
                if path == self._own or self._is_staging(path, name):
                    continue
                if all_known or path not in self.state.folders:
                    tracked = self._in_tracked(path)
                    if not tracked and self._config.passed_over(path, True):
                        continue
                    folders.append(path)
            elif not stat.S_ISREG(st.st_mode) and not stat.S_ISLNK(st.st_mode):
                self._left_out[path] = ("special", ())
            elif secret_reason(path) and not self._config.store_secrets:
                self._left_out[path] = ("secret", signature(st))
            elif not self._config.passed_over(path, False) or self.is_tracked(path):
                files.append((path, st))

    def _unreadable_folder(self, folder: bytes) -> None:
        """What is in it stays as it was known, and is named as not captured."""
        if not folder:
            raise StoreError("The project's folder cannot be read.")
        self._left_out[folder + b"/"] = ("unreadable", ())
        self._kept_unread.add(folder)
        known = self.state.folders.get(folder)
        if known is not None:
            self._folders[folder] = known._replace(ctime_ns=0)

    def _is_staging(self, path: bytes, name: bytes) -> bool:
        return name.startswith(paths.STAGING_PREFIX) and os.path.lexists(
            os.path.join(self._top + path, MARKER)
        )

    def _reported(self, process: subprocess.Popen[bytes]) -> list[bytes]:
        """The base's paths that git finds different.

        Raises:
            CacheDamaged: git cannot read our index; it can be made anew.
        """
        try:
            return finish(process).split(b"\0")[1::2]
        except GitTimeout:
            raise
        except GitError as error:
            raise scanstate.CacheDamaged from error

    def _rule_files_changed(self) -> bool:
        """Read every ``.gitignore`` again, ignored ones too; whether one differs.

        They are read, not compared by stat: they are few, and what they say decides what an undo
        may delete.
        """
        known = {
            path
            for path in self.state.rule_files
            if path.rpartition(b"/")[0] in self._folders or not path.rpartition(b"/")[0]
        }
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        self._rule_files = {}
        for path in known | self._met_rules:
            try:
                fd = os.open(self._top + path, flags)
            except OSError:
                # Gone, a link, or closed to us: git reads no rules from it either.
                continue
            with open(fd, "rb") as file:
                if stat.S_ISREG(os.fstat(fd).st_mode):
                    self._rule_files[path] = file.read(_LARGEST_RULES)
        return self._rule_files != self.state.rule_files

    # --- Comparing ---------------------------------------------------------------------------

    def _compare(self, reported: Iterable[bytes], walked_all: bool, new_rules: bool) -> Scan:
        state, scan = self.state, Scan(rules_changed=new_rules)
        check = dict.fromkeys(reported)
        check.update(dict.fromkeys(state.overlay))
        self._shrunk()
        check.update(dict.fromkeys(self._candidates))
        if walked_all:
            check.update(dict.fromkeys(state.paths()))
        was_ignored = self._ignored_before() if new_rules else set()
        self._read_ahead()
        for path in work.watched("Comparing files", sorted(check)):
            before = state.find(path)
            old = before.state if before is not None else self._unseen(path, was_ignored)
            new = self._look(path, before, walked_all)
            if isinstance(new, Entry):
                if before is None or new != before:
                    self._learned = True
                    state.overlay[path] = new
                after = new.state
            else:
                if before is not None:
                    self._learned = True
                    state.overlay[path] = None
                    if state.base is None or state.base.find(path) is None:
                        del state.overlay[path]
                after = new
            if before is None and not isinstance(new, Entry):
                continue
            if old.kind == "unknown" or after.kind == "unknown" or not same(old, after):
                scan.changes.append(PathChange(path, old, after))
        self._compare_folders(scan)
        self._compare_left_out(scan)
        scan.learned = (
            walked_all
            or self._learned
            or (self._folders is not state.folders and self._folders != state.folders)
            or self._left_out != state.left_out
            or (state.excludes, state.rules, state.tracked_sig) != self._rules_before
        )
        scan.left_out = state.left_out = self._left_out
        state.folders = self._folders
        return scan

    def _shrunk(self) -> None:
        """Take files in that were too large and no longer are."""
        for path, (reason, _) in list(self._left_out.items()):
            if reason != "too-large":
                continue
            try:
                st = os.lstat(self._top + path)
            except OSError:
                continue
            if stat.S_ISREG(st.st_mode) and st.st_size <= self._limit:
                del self._left_out[path]
                self._candidates[path] = st

    def _read_ahead(self) -> None:
        """Read new files on two threads when there are many."""
        fresh = sorted(path for path in self._fresh if stat.S_ISREG(self._candidates[path].st_mode))
        if len(fresh) > bulk.ABOVE:
            for path, st, oid in bulk.read_many(self._store.objects, self._top, fresh):
                self._ahead[path] = entry_of(st, oid, self._now)

    def _look(self, path: bytes, before: Entry | None, walked_all: bool) -> Entry | FileState:
        """What stands at a path now: an entry, absence, or why nobody can say."""
        if path in self._left_out:
            reason = self._left_out[path][0]
            return (
                FileState("special") if reason == "special" else FileState("unknown", reason=reason)
            )
        for name in self._kept_unread:
            if path == name or path.startswith(name + b"/"):
                return FileState("unknown", reason="unreadable")
        parent = path.rpartition(b"/")[0]
        if parent not in self._folders:
            return self._look_outside(path)
        st = self._candidates.get(path)
        if st is None:
            try:
                st = os.lstat(self._top + path)
            except (FileNotFoundError, NotADirectoryError):
                return ABSENT
            except OSError:
                self._left_out[path] = ("unreadable", ())
                return FileState("unknown", reason="unreadable")
            if stat.S_ISDIR(st.st_mode):
                return ABSENT
            if not stat.S_ISREG(st.st_mode) and not stat.S_ISLNK(st.st_mode):
                return FileState("special")
            if walked_all:
                return FileState("unknown", reason="ignored")
        if before is not None and before.matches(st):
            return before
        if stat.S_ISREG(st.st_mode) and st.st_size > self._limit and not self.is_tracked(path):
            self._left_out[path] = ("too-large", signature(st))
            return FileState("unknown", reason="too-large")
        if path in self._ahead:
            return self._ahead[path]
        try:
            return read_entry(self._store.objects, self._top + path, st, self._now)
        except FileNotFoundError:
            return ABSENT
        except PermissionError:
            self._left_out[path] = ("unreadable", ())
            return FileState("unknown", reason="unreadable")

    def _look_outside(self, path: bytes) -> FileState:
        """A known path whose folder was not walked: gone, or ignored now."""
        at = b""
        for part in path.split(b"/")[:-1]:
            at = at + b"/" + part if at else part
            try:
                st = os.lstat(self._top + at)
            except (FileNotFoundError, NotADirectoryError):
                return ABSENT
            except OSError:
                return FileState("unknown", reason="unreadable")
            if not stat.S_ISDIR(st.st_mode):
                return ABSENT
        return exists_unseen(self._top + path)

    def _unseen(self, path: bytes, was_ignored: set[bytes]) -> FileState:
        """What is known of a path before that no scan held: absence, unless it was left out."""
        left = self.state.left_out
        if path in left:
            reason = left[path][0]
            return (
                FileState("special") if reason == "special" else FileState("unknown", reason=reason)
            )
        at = path
        while at := at.rpartition(b"/")[0]:
            # A folder whose stat failed was left out without anybody knowing that it is one.
            reason = (left.get(at + b"/") or left.get(at) or ("",))[0]
            if reason == "unreadable" or at + b"/" in left:
                return FileState("unknown", reason=reason)
        if path in was_ignored:
            return FileState("unknown", reason="ignored")
        return ABSENT

    def _ignored_before(self) -> set[bytes]:
        """Which of the paths that are new to us the former rules ignored."""
        fresh = [path for path in self._candidates if path in self._fresh]
        if not fresh:
            return set()
        check = rules.former_rules(self._store, self._rules_before[0], self._former_files)
        return check.ignored(fresh) | {path for path in fresh if self._excluded_before(path)}

    def _excluded_before(self, path: bytes) -> bool:
        """Whether a file's name, or that of a folder which was not walked, kept it out."""
        at = path
        while at := at.rpartition(b"/")[0]:
            if default_excluded(at, True) and at not in self.state.folders:
                return True
        return default_excluded(path, False)

    def _compare_folders(self, scan: Scan) -> None:
        old, new = self.state.folders, self._folders
        if old is new:
            return
        for path in sorted(old.keys() | new.keys()):
            before, after = old.get(path), new.get(path)
            if path and (before is None or after is None or before.mode != after.mode):
                gone = before is not None and after is None and os.path.isdir(self._top + path)
                if gone and not os.path.islink(self._top + path):
                    continue
                scan.dirs.append(
                    DirChange(
                        path,
                        before.mode & 0o7777 if before else None,
                        after.mode & 0o7777 if after else None,
                    )
                )

    def _compare_left_out(self, scan: Scan) -> None:
        for path, (reason, sig) in list(self._left_out.items()):
            if reason not in ("too-large", "secret"):
                continue
            try:
                now = signature(os.lstat(self._top + path))
            except OSError:
                del self._left_out[path]
                scan.touched.append(NotCaptured(path, reason))
                continue
            self._left_out[path] = (reason, now)
            former = self.state.left_out.get(path)
            if not self._first and (former is None or former[1] != now or sig != now):
                scan.touched.append(NotCaptured(path, reason))
        for path, (reason, _) in self.state.left_out.items():
            if path not in self._left_out and reason in ("too-large", "secret"):
                scan.touched.append(NotCaptured(path, reason))
