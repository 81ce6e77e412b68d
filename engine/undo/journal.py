"""The journal of an operation: written whole and durably, its phase is its file's name.

``intent``: nothing of the project was changed. ``commit``: from here on it is finished or rolled
back. ``applied``: everything stands as wanted, only the log and the cleaning are missing.
``back``: it is being rolled back, and never goes forward again. ``undone``: it is rolled back, only
the cleaning is missing.
``stuck``: it can be neither finished nor rolled back; kept for a person to see.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from takeback.engine.errors import TakebackError
from takeback.engine.model import DirChange, FileState
from takeback.engine.record import codec
from takeback.engine.store.objects import sync_path

PHASES = ("intent", "commit", "applied", "back", "undone", "stuck")


@dataclass(frozen=True, slots=True)
class Target:
    """One path of an operation: what stands there now, and what shall."""

    path: bytes
    expect: FileState
    want: FileState


@dataclass(slots=True)
class Journal:
    """An operation under way.

    Attributes:
        chmods: folders that are opened for the time of the operation: path, mode before.
    """

    folder: bytes
    op: str
    targets: tuple[Target, ...]
    dirs: tuple[DirChange, ...]
    record: dict[str, Any]
    restore_mtime: bool
    chmods: list[tuple[bytes, int]] = field(default_factory=list)
    phase: str = ""

    @property
    def stage(self) -> bytes:
        return b".takeback-" + self.op.encode()

    def _path(self, phase: str) -> bytes:
        return os.path.join(self.folder, b"journal-" + phase.encode())

    def begin(self) -> None:
        """Write the journal, durable, in its first phase."""
        value = {
            "op": self.op,
            "targets": [
                [codec.text(t.path), codec.pack_state(t.expect), codec.pack_state(t.want)]
                for t in self.targets
            ],
            "dirs": codec.pack_dirs(self.dirs),
            "record": self.record,
            "restore_mtime": self.restore_mtime,
            "chmods": [[codec.text(path), mode] for path, mode in self.chmods],
        }
        temp = os.path.join(self.folder, b"tmp", b"journal")
        os.makedirs(os.path.dirname(temp), 0o700, exist_ok=True)
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(json.dumps(value).encode())
            while view:
                view = view[os.write(fd, view) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        os.rename(temp, self._path("intent"))
        self.phase = "intent"
        sync_path(self.folder)

    def enter(self, phase: str) -> None:
        """Go to another phase, durable."""
        os.rename(self._path(self.phase), self._path(phase))
        self.phase = phase
        sync_path(self.folder)

    def remove(self) -> None:
        os.unlink(self._path(self.phase))
        sync_path(self.folder)


def pending(folder: bytes) -> str | None:
    """The phase of a journal that lies in a store."""
    for phase in PHASES:
        if os.path.lexists(os.path.join(folder, b"journal-" + phase.encode())):
            return phase
    return None


def load(folder: bytes) -> Journal | None:
    """The journal that lies in a store.

    Raises:
        TakebackError: it cannot be read.
    """
    phase = pending(folder)
    if phase is None:
        return None
    path = os.path.join(folder, b"journal-" + phase.encode())
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
        return Journal(
            folder,
            str(value["op"]),
            tuple(
                Target(codec.raw(p), codec.unpack_state(a), codec.unpack_state(b))
                for p, a, b in value["targets"]
            ),
            tuple(codec.unpack_dirs(value["dirs"])),
            dict(value["record"]),
            bool(value["restore_mtime"]),
            [(codec.raw(p), int(m)) for p, m in value["chmods"]],
            phase,
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TakebackError(
            f"The journal {os.fsdecode(path)!r} of an operation that was killed cannot be read: "
            f"{error}. Nothing was changed.",
            "Look at the project's files, then move the journal away.",
        ) from error
