"""Files of the user and of the agents that we change: planned first, shown, then applied."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from takeback.engine.errors import TakebackError, UsageError

Level = Literal["user", "project"]

NOTHING = "Nothing was changed."

Check = tuple[str, bool, str, str]
"""What `doctor` shows: name, whether it is well, a sentence, and what to do if not."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file as it is and as it will be; None for a file that is not there.

    Attributes:
        level: whether it holds for all projects of the user or for one.
        folders: how many of the folders above it go with the file, where they are empty then.
    """

    path: bytes
    before: bytes | None
    after: bytes | None
    level: Level = "user"
    folders: int = 0

    @property
    def changes(self) -> bool:
        return self.before != self.after


def read_file(path: bytes) -> bytes | None:
    """A file's bytes, None where there is none.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise UsageError(f"{os.fsdecode(path)!r} is no regular file. {NOTHING}")
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(
            f"{os.fsdecode(path)!r} cannot be read: {error.strerror}. {NOTHING}"
        ) from error


def apply_edit(edit: FileEdit) -> None:
    """Carry an edit out: at once or not at all, through a symbolic link, with the mode kept.

    Raises:
        UsageError: the file is not what the edit was made from.
        TakebackError: it cannot be written; nothing was changed.
    """
    if not edit.changes:
        return
    path = os.path.realpath(edit.path)
    if read_file(path) != edit.before:
        raise UsageError(f"{os.fsdecode(path)!r} was changed meanwhile. {NOTHING}", "Try again.")
    try:
        if edit.after is None and path != os.path.abspath(edit.path):
            # Through a link: it goes on leading to a file.
            _replace(path, b"")
        elif edit.after is None:
            os.unlink(path)
            _remove_empty(os.path.dirname(path), edit.folders)
        else:
            _replace(path, edit.after)
    except OSError as error:
        raise TakebackError(
            f"{os.fsdecode(path)!r} cannot be written: {error.strerror}. {NOTHING}"
        ) from error


def apply_all(edits: Iterable[FileEdit]) -> None:
    """Carry edits out, all of them or none.

    Raises:
        UsageError, TakebackError: as `apply_edit`; the edits before it were taken back.
    """
    done: list[tuple[FileEdit, int]] = []
    for edit in edits:
        made = _missing_folders(edit.path)
        try:
            apply_edit(edit)
        except TakebackError as error:
            left = [os.fsdecode(one.path) for one, n in reversed(done) if not _taken_back(one, n)]
            if left:
                message = error.message.replace(NOTHING, "").rstrip()
                names = ", ".join(map(repr, left))
                raise TakebackError(f"{message} {names} had been changed already.") from error
            raise
        done.append((edit, made))


def _missing_folders(path: bytes) -> int:
    """How many of the folders above a file would be made with it."""
    folder, number = os.path.dirname(os.path.realpath(path)), 0
    while not os.path.lexists(folder):
        folder, number = os.path.dirname(folder), number + 1
    return number


def _taken_back(edit: FileEdit, made: int) -> bool:
    """Whether a file is again what it was before an edit, and the folders made for it are gone."""
    try:
        apply_edit(replace(edit, before=edit.after, after=edit.before, folders=made))
    except TakebackError:
        return False
    return True


def _remove_empty(folder: bytes, number: int) -> None:
    for _ in range(number):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)


def _replace(path: bytes, data: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    new = path + b".takeback-%d" % os.getpid()
    try:
        old: os.stat_result | None = os.stat(path)
    except FileNotFoundError:
        old = None
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            if old is not None:
                if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
                    try:
                        os.fchown(fd, old.st_uid, old.st_gid)
                    except OSError:
                        pass
                os.fchmod(fd, stat.S_IMODE(old.st_mode))
            file.flush()
            os.fsync(fd)
        os.rename(new, path)
    except BaseException:
        os.unlink(new)
        raise
