"""File operations below a project's root that never follow a link and never lose what they meet."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import sys
from collections import OrderedDict
from typing import Any

from takeback.engine.model import ABSENT, FileState

_DIR = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NOREPLACE, _EXCHANGE = 1, 2
_CACHE = 64

plain_renames = False
"""Set by tests: behave as on a file system without exchanging renames."""


class Blocked(OSError):
    """A parent of a path is a link or no folder: the path is not the project's any more."""


class Tree:
    """Open folders below a root. Parents are opened component by component, links refused."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._top = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._open: OrderedDict[bytes, int] = OrderedDict()

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.forget()
        os.close(self._top)

    def forget(self) -> None:
        """Close the folders kept open: names may stand for others now."""
        for fd in self._open.values():
            os.close(fd)
        self._open.clear()

    def folder(self, path: bytes) -> int:
        """A descriptor of a folder; valid until the next call.

        Raises:
            FileNotFoundError: it is not there.
            Blocked: a component is a link or no folder.
        """
        if not path:
            return self._top
        known = self._open.get(path)
        if known is not None:
            self._open.move_to_end(path)
            return known
        parent, _, name = path.rpartition(b"/")
        above = self.folder(parent)
        try:
            fd = os.open(name, _DIR, dir_fd=above)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK):
                raise Blocked(
                    error.errno, "a parent folder is a link or no folder", path
                ) from error
            raise
        self._open[path] = fd
        if len(self._open) > _CACHE:
            _, oldest = self._open.popitem(last=False)
            os.close(oldest)
        return fd

    def split(self, path: bytes) -> tuple[int, bytes]:
        """The parent's descriptor and the name of a path; see `folder`."""
        parent, _, name = path.rpartition(b"/")
        return self.folder(parent), name

    def look(self, path: bytes) -> FileState:
        """What stands at a path. A folder counts as no file; see `is_folder`."""
        try:
            fd, name = self.split(path)
        except (FileNotFoundError, Blocked):
            return ABSENT
        return look_at(fd, name)

    def lstat(self, path: bytes) -> os.stat_result | None:
        """The stat of a path, or None if nothing is there."""
        try:
            fd, name = self.split(path) if path else (self._top, b".")
            return os.stat(name, dir_fd=fd, follow_symlinks=False)
        except (FileNotFoundError, Blocked):
            return None

    def folder_mode(self, path: bytes) -> int | None:
        """The mode of a folder, or None if none stands there."""
        st = self.lstat(path)
        return stat.S_IMODE(st.st_mode) if st is not None and stat.S_ISDIR(st.st_mode) else None


def look_at(folder: int, name: bytes) -> FileState:
    """What stands at a name in an open folder. Never blocks, never follows a link."""
    for _ in range(3):
        try:
            st = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(st.st_mode):
                target = os.readlink(name, dir_fd=folder)
                return FileState("link", 0, blob_id(target), st.st_mtime_ns)
            if stat.S_ISDIR(st.st_mode):
                return ABSENT
            if not stat.S_ISREG(st.st_mode):
                return FileState("special")
            fd = os.open(name, _READ, dir_fd=folder)
        except FileNotFoundError:
            return ABSENT
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EINVAL):
                continue  # It became a link, or stopped being one, under our eyes.
            raise
        try:
            return _read_state(fd)
        finally:
            os.close(fd)
    return FileState("special")


def _read_state(fd: int) -> FileState:
    st = os.fstat(fd)
    if not stat.S_ISREG(st.st_mode):
        return FileState("special")
    digest = hashlib.sha1(b"blob %d\0" % st.st_size)
    left = st.st_size
    while chunk := os.read(fd, 1 << 20):
        digest.update(chunk)
        left -= len(chunk)
    # A file that grew or shrank meanwhile matches nothing that was expected.
    oid = digest.hexdigest() if left == 0 else "0" * 40
    return FileState("file", stat.S_IMODE(st.st_mode), oid, st.st_mtime_ns)


def blob_id(data: bytes) -> str:
    """The id of bytes as a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


# --- Renames -------------------------------------------------------------------------------------


_loaded: Any = None


def _call() -> Any:
    """Linux renameat2 or macOS renameatx_np, or None; loaded once, and only by who writes."""
    global _loaded
    if _loaded is None:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
        _loaded = (getattr(libc, name, None), ctypes.get_errno)
    return _loaded


def _rename2(old: tuple[int, bytes], new: tuple[int, bytes], flags: int) -> None:
    """Rename with flags.

    Raises:
        OSError: as the system says; ENOSYS where there is no such call.
    """
    call, error_number = _call()
    if plain_renames or call is None:
        raise OSError(errno.ENOSYS, "no exchanging rename")
    if sys.platform == "darwin":
        flags = {_NOREPLACE: 4, _EXCHANGE: 2}[flags]
    if call(old[0], old[1], new[0], new[1], flags) != 0:
        number = error_number()
        raise OSError(number, os.strerror(number), new[1])


def _unsupported(error: OSError) -> bool:
    return error.errno in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def _refuse_standing(new: tuple[int, bytes]) -> None:
    try:
        os.stat(new[1], dir_fd=new[0], follow_symlinks=False)
    except FileNotFoundError:
        return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new[1])


def move_new(old: tuple[int, bytes], new: tuple[int, bytes]) -> None:
    """Move a file of the staging folder to a name of the project that must be free.

    Raises:
        FileExistsError: it is not.
    """
    try:
        _rename2(old, new, _NOREPLACE)
        return
    except OSError as error:
        if not _unsupported(error):
            raise
    try:
        os.link(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0], follow_symlinks=False)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EMLINK) and not _unsupported(error):
            raise
        # Neither exclusive renames nor hard links: a look and a rename is all there is.
        _refuse_standing(new)
        os.rename(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0])
        return
    os.unlink(old[1], dir_fd=old[0])


def take(old: tuple[int, bytes], new: tuple[int, bytes]) -> None:
    """Move whatever stands at a name of the project into the staging folder, in one step.

    Linking and unlinking would lose what another program puts there between the two; nobody else
    writes into the staging folder.
    """
    try:
        _rename2(old, new, _NOREPLACE)
    except OSError as error:
        if not _unsupported(error):
            raise
        _refuse_standing(new)
        os.rename(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0])


def exchange(one: tuple[int, bytes], other: tuple[int, bytes]) -> bool:
    """Swap two names at once; False where the file system cannot."""
    try:
        _rename2(one, other, _EXCHANGE)
    except OSError as error:
        if not _unsupported(error):
            raise
        return False
    return True


def sync_folder(fd: int) -> None:
    """Flush a folder's entries to the disk."""
    os.fsync(fd)


def write_new(folder: int, name: bytes, data: bytes) -> int:
    """Make a new file for the owner only; the open descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    except BaseException:
        os.close(fd)
        raise
    return fd
