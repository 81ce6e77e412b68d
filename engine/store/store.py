"""One project's private store: its folder, format, counters, event files and refs.

Layout (all folders 0700, all files 0600)::

    project.json      root, when it was created, the format version
    git/              a bare repository: every snapshot and every kept version of a file
    scan/             caches that make the next scan fast; safe to delete
    ledger/           one JSONL file per session
    snapshots.jsonl   what each scan found changed
    operations.jsonl  what undo, redo and the like did
    journal*          an operation that has not ended yet
    counters lock tmp/
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator

from takeback.engine.errors import TakebackError
from takeback.engine.store import paths
from takeback.engine.store.lock import Lock
from takeback.engine.store.objects import Objects, StoreError, sync_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = 1

_TAIL = 4096
"""As much as the last line of most files takes."""

_CONFIG = b"""[core]
\trepositoryformatversion = 0
\tbare = true
\tfilemode = true
\tautocrlf = false
\tsafecrlf = false
\tfsmonitor = false
\tlongpaths = true
\thooksPath = /dev/null
\tuntrackedCache = false
\tlogAllRefUpdates = false
[index]
\tversion = 4
\tthreads = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[receive]
\tdenyCurrentBranch = refuse
"""
_ATTRIBUTES = b"* -text -eol -filter -ident -working-tree-encoding -diff -merge\n"


class NewerFormat(TakebackError):
    """The store was written by a newer version of takeback."""


def timestamp(ns: int | None = None) -> str:
    """ISO 8601 in UTC, with microseconds."""
    ns = time.time_ns() if ns is None else ns
    seconds, rest = divmod(ns, 1_000_000_000)
    year, month, day, hour, minute, second = time.gmtime(seconds)[:6]
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest // 1000:06}Z"


def _unwritable(path: bytes, error: OSError) -> StoreError:
    return StoreError(
        f"The store at {os.fsdecode(path)!r} cannot be used: {error.strerror}. "
        "Nothing was recorded or changed.",
        "Check the folder's permissions and the free space, or choose another with --data-dir.",
    )


def make_private(path: bytes) -> None:
    """Make a folder and its missing parents, for the owner only."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            if not os.path.isdir(folder):
                raise


def write_file(path: bytes, data: bytes, durable: bool = False, temp: bytes = b"") -> None:
    """Replace a file as a whole: a reader sees the old bytes or the new.

    Args:
        temp: a folder of the same file system for the new file until it is complete; what a kill
            leaves there is swept.
    """
    name = b"new-%d" % os.getpid()
    temp = os.path.join(temp, name) if temp else path + b"." + name
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        if durable:
            os.fsync(fd)
    except BaseException:
        os.close(fd)
        os.unlink(temp)
        raise
    os.close(fd)
    os.rename(temp, path)
    if durable:
        sync_path(os.path.dirname(path))


class Store:
    """An open store. Reading needs no lock; everything that writes holds `lock`."""

    def __init__(self, folder: bytes, root: bytes, data: bytes) -> None:
        self.dir = folder
        self.root = root
        self.data = data
        self.git_dir = os.path.join(folder, b"git")
        self.temp = os.path.join(folder, b"tmp")
        self.scan_dir = os.path.join(folder, b"scan")
        self.lock = Lock(os.path.join(folder, b"lock"))
        self.objects = Objects(self.git_dir, self.temp)

    @classmethod
    def open(cls, root: bytes, data: bytes, create: bool = False) -> Store | None:
        """Open the store of a project root.

        Returns:
            None if there is none and `create` is false.

        Raises:
            NewerFormat: a newer takeback wrote it.
            StoreError: it cannot be read or made.
        """
        folder = paths.store_dir(data, root)
        store = cls(folder, root, data)
        try:
            with open(os.path.join(folder, b"project.json"), "rb") as file:
                info = json.loads(file.read())
            found = info["format"]
        except FileNotFoundError:
            if not create:
                if os.path.lexists(data) and not os.path.isdir(data):
                    raise _unwritable(data, NotADirectoryError(20, "Not a directory")) from None
                return None
            store._create()
            return store
        except OSError as error:
            raise _unwritable(folder, error) from error
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(
                f"The file project.json of the store {os.fsdecode(folder)!r} is damaged. "
                "Nothing was changed.",
                "Move that folder away to start anew; what it holds can still be read with git.",
            ) from error
        if not isinstance(found, int) or found > FORMAT:
            raise NewerFormat(
                f"This project's store has format {found}; this takeback knows up to {FORMAT}. "
                "Nothing was done.",
                "Use the newer takeback that wrote it.",
            )
        return store

    def _create(self) -> None:
        try:
            make_private(self.dir)
            with self.lock:
                for name in (
                    b"git/objects/pack",
                    b"git/objects/info",
                    b"git/refs/takeback",
                    b"git/refs/heads",
                    b"git/info",
                    b"scan",
                    b"ledger",
                    b"tmp",
                ):
                    make_private(os.path.join(self.dir, name))
                write_file(os.path.join(self.git_dir, b"config"), _CONFIG)
                write_file(os.path.join(self.git_dir, b"HEAD"), b"ref: refs/heads/takeback\n")
                write_file(os.path.join(self.git_dir, b"info/attributes"), _ATTRIBUTES)
                info = {"root": os.fsdecode(self.root), "created": timestamp(), "format": FORMAT}
                write_file(os.path.join(self.dir, b"project.json"), json.dumps(info).encode(), True)
        except OSError as error:
            raise _unwritable(self.dir, error) from error

    # --- Small files -------------------------------------------------------------------------

    def path(self, name: str) -> bytes:
        return os.path.join(self.dir, name.encode())

    def append(self, name: str, record: dict[str, Any], durable: bool = False) -> None:
        """Append one line to a JSONL file; a torn last line of a killed writer is closed first."""
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        fd = os.open(self.path(name), os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            end = os.fstat(fd).st_size
            if end and os.pread(fd, 1, end - 1) != b"\n":
                line = b"\n" + line
            view = memoryview(line)
            while view:
                view = view[os.write(fd, view) :]
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)

    def lines(
        self, name: str, damaged: Callable[[str, int], None] | None = None
    ) -> Iterator[dict[str, Any]]:
        """The records of a JSONL file; lines that are no records are skipped and reported."""
        try:
            with open(self.path(name), "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unwritable(self.path(name), error) from error
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line:
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                record = None
            if isinstance(record, dict):
                yield record
            elif damaged is not None:
                damaged(name, number)

    def counters(self) -> tuple[int, int]:
        """The last sequence number and the last turn number given out."""
        try:
            with open(self.path("counters"), "rb") as file:
                text = file.read()
        except FileNotFoundError:
            text = b""
        if len(text) == 42 and text[:20].isdigit() and text[21:41].isdigit():
            return int(text[:20]), int(text[21:41])
        return self._count_again()

    def _count_again(self) -> tuple[int, int]:
        seq = turn = 0
        names = ["snapshots.jsonl", "operations.jsonl"]
        names += [f"ledger/{name}" for name in self.ledger_names()]
        for name in names:
            for record in self.lines(name):
                value, number = record.get("seq"), record.get("n")
                seq = max(seq, value if isinstance(value, int) else 0)
                turn = max(turn, number if isinstance(number, int) else 0)
        return seq, turn

    def next_seq(self, turn: bool = False, durable: bool = False) -> tuple[int, int]:
        """Give out the next sequence number (and turn number). Needs the lock.

        Args:
            durable: it must not be given out again, whatever happens: an operation's name.
        """
        seq, number = self.counters()
        # A loss of power may have left counters that are older than what they counted.
        seq = max(seq, *(self._last_seq(name) for name in ("operations.jsonl", "snapshots.jsonl")))
        seq, number = seq + 1, number + (1 if turn else 0)
        text = b"%020d %020d\n" % (seq, number)
        fd = os.open(self.path("counters"), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.pwrite(fd, text, 0)
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        return seq, number

    def _last_seq(self, name: str) -> int:
        """The sequence number of the last line of a file whose lines begin with it, or 0."""
        start = b'\n{"seq":'
        try:
            fd = os.open(self.path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        try:
            end = os.fstat(fd).st_size
            length = _TAIL
            while True:
                length = min(length, end)
                data = os.pread(fd, length, end - length)
                if length == end:
                    data = b"\n" + data
                at = data.rfind(start)
                if at >= 0:
                    digits = data[at + len(start) :].partition(b",")[0]
                    if len(digits) < 17 and digits.isdigit():
                        return int(digits)
                if length == end:
                    return 0
                length *= 8
        finally:
            os.close(fd)

    def ledger_names(self) -> list[str]:
        try:
            return sorted(
                name
                for name in os.listdir(os.fsdecode(self.path("ledger")))
                if name.endswith(".jsonl")
            )
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unwritable(self.path("ledger"), error) from error

    # --- Refs --------------------------------------------------------------------------------

    def set_ref(self, name: str, oid: str, durable: bool = False) -> None:
        """Hold an object (and all it reaches) by ``refs/takeback/<name>``."""
        path = os.path.join(self.git_dir, b"refs/takeback", name.encode())
        try:
            write_file(path, oid.encode() + b"\n", durable, self.temp)
        except FileNotFoundError:
            make_private(os.path.dirname(path))
            write_file(path, oid.encode() + b"\n", durable, self.temp)

    def write(self, name: str, data: bytes, durable: bool = False) -> None:
        """Replace one of the store's own files as a whole."""
        write_file(self.path(name), data, durable, self.temp)

    def sweep(self) -> None:
        """Remove what killed writers left, and make folders again that may be deleted.

        Needs the lock: nobody else is writing.
        """
        for folder in (self.temp, os.path.join(self.git_dir, b"objects/pack")):
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                make_private(folder)
                continue
            for name in names:
                path = os.path.join(folder, name)
                if folder == self.temp and os.path.isdir(path):
                    import shutil

                    shutil.rmtree(path)
                elif folder == self.temp or name.startswith((b"tmp_", b".tmp-")):
                    os.unlink(path)
        make_private(os.path.join(self.git_dir, b"refs"))
        make_private(self.scan_dir)

    def close(self) -> None:
        self.objects.close()
