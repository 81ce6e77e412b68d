"""A dry look at a project before anything is recorded: what a snapshot would hold, what not.

Nothing is read but names and stats, and nothing is written to the project or to a store: git is
asked about ignore rules with a git directory that is thrown away.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from takeback.engine import work
from takeback.engine.config import secret_reason
from takeback.engine.record import rules
from takeback.engine.record.gitindex import IndexUnreadable, tracked_names
from takeback.engine.record.scan import MARKER
from takeback.engine.store import paths

if TYPE_CHECKING:
    from takeback.engine.config import Config

EXAMPLES = 3
"""So many paths are named for each reason."""


@dataclass(slots=True)
class Left:
    """What is left out for one reason: how much, and a few names; ``/`` ends a folder's."""

    count: int = 0
    names: list[bytes] = field(default_factory=list)

    def add(self, path: bytes) -> None:
        self.count += 1
        if len(self.names) < EXAMPLES:
            self.names.append(path)


@dataclass(slots=True)
class Look:
    """What a snapshot of a project would hold.

    Attributes:
        files: how many files and links.
        size: their bytes.
        left_out: by reason, as in `takeback.engine.facts.NotCaptured`. A folder that is ignored
            or excluded counts once, whatever is in it.
        too_much: whether one snapshot cannot hold so much: only files that an edit call names
            would be kept.
    """

    files: int = 0
    size: int = 0
    left_out: dict[str, Left] = field(default_factory=dict)
    too_much: bool = False

    def leave(self, reason: str, path: bytes) -> None:
        self.left_out.setdefault(reason, Left()).add(path)


def look(place: paths.Root, config: Config, data: bytes) -> Look:
    """Count what would be protected. Can be cancelled, and says how far it is.

    Args:
        data: the data folder, which is never part of a project.

    Raises:
        GitError: git failed, so that nothing is known about ignore rules.
        OSError: the folder cannot be read.
    """
    import tempfile

    git_dir = paths.git_dir_of(place)
    with tempfile.TemporaryDirectory(prefix="takeback-") as scratch:
        base = os.fsencode(scratch)
        for name in (b"objects", b"refs", b"info"):
            os.mkdir(os.path.join(base, name), 0o700)
        for name, text in (
            (b"HEAD", b"ref: refs/heads/none\n"),
            (b"config", b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"),
            (b"info/exclude", rules.user_excludes(git_dir, place.path)),
        ):
            with open(os.path.join(base, name), "wb") as file:
                file.write(text)
        checker = rules.IgnoreCheck(base, place.path)
        return _Walk(place.path, config, _tracked(git_dir), data).run(checker)


def _tracked(git_dir: bytes | None) -> list[bytes]:
    try:
        return sorted(tracked_names(git_dir)) if git_dir is not None else []
    except (IndexUnreadable, OSError):
        return []


class _Walk:
    """The walk over the folders, level by level as `scan.Scanner` does it."""

    def __init__(self, root: bytes, config: Config, tracked: Sequence[bytes], data: bytes) -> None:
        self._top = root.rstrip(b"/") + b"/"
        self._config = config
        self._names = tracked
        self._own = os.path.realpath(data)
        self._found = Look()

    def _is_tracked(self, path: bytes) -> bool:
        at = bisect_left(self._names, path)
        return at < len(self._names) and self._names[at] == path

    def _in_tracked(self, folder: bytes) -> bool:
        at = bisect_left(self._names, folder + b"/")
        return at < len(self._names) and self._names[at].startswith(folder + b"/")

    def run(self, checker: rules.IgnoreCheck) -> Look:
        found, config = self._found, self._config
        limit = config.max_file_size_mb << 20
        todo = [b""]
        untracked = untracked_size = 0
        while todo:
            files: list[tuple[bytes, os.stat_result]] = []
            folders: list[bytes] = []
            for path in todo:
                work.step("Looking at files", found.files + len(files))
                self._list(path, files, folders)
            ask = [path for path, _ in files if not self._is_tracked(path)]
            ask += [path for path in folders if not self._in_tracked(path)]
            ignored = checker.ignored(ask)
            todo = [path for path in folders if path not in ignored]
            for path in folders:
                if path in ignored:
                    found.leave("ignored", path + b"/")
            for path, st in files:
                tracked = self._is_tracked(path)
                if path in ignored:
                    found.leave("ignored", path)
                elif not tracked and stat.S_ISREG(st.st_mode) and st.st_size > limit:
                    found.leave("too-large", path)
                else:
                    found.files += 1
                    found.size += st.st_size
                    if not tracked:
                        untracked += 1
                        untracked_size += st.st_size
        found.too_much = (
            untracked > config.snapshot_file_count_cap
            or untracked_size > config.snapshot_total_size_cap_mb << 20
        )
        return found

    def _list(
        self, folder: bytes, files: list[tuple[bytes, os.stat_result]], folders: list[bytes]
    ) -> None:
        """Sort what a folder holds into files, folders and what is left out."""
        found, config = self._found, self._config
        try:
            with os.scandir(self._top + folder) as listing:
                entries = list(listing)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            if not folder:
                raise
            found.leave("unreadable", folder + b"/")
            return
        prefix = folder + b"/" if folder else b""
        for entry in entries:
            if entry.name.lower() == b".git":
                continue
            path = prefix + entry.name
            try:
                st = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError:
                found.leave("unreadable", path)
                continue
            if stat.S_ISDIR(st.st_mode):
                full = self._top + path
                if full == self._own or self._is_staging(full, entry.name):
                    continue
                if not self._in_tracked(path) and config.passed_over(path, True):
                    found.leave("excluded", path + b"/")
                else:
                    folders.append(path)
            elif not stat.S_ISREG(st.st_mode) and not stat.S_ISLNK(st.st_mode):
                found.leave("special", path)
            elif secret_reason(path) and not config.store_secrets:
                found.leave("secret", path)
            elif config.passed_over(path, False) and not self._is_tracked(path):
                found.leave("excluded", path)
            else:
                files.append((path, st))

    @staticmethod
    def _is_staging(full: bytes, name: bytes) -> bool:
        return name.startswith(paths.STAGING_PREFIX) and os.path.lexists(os.path.join(full, MARKER))
