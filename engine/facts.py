"""The facts that are recorded: what stands at a path, what changed, what an agent reports.

Paths are ``bytes`` relative to the project's root with ``/`` between components. Times are
nanoseconds since the epoch. Object ids are 40 hex characters of SHA-1, as git writes them.
Every hook imports this module: see `frozen` for why these are no dataclasses.
"""

from __future__ import annotations

from takeback.engine.frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    StateKind = Literal["file", "link", "dir", "special", "absent", "unknown"]

    Reason = Literal[
        "too-large",
        "unreadable",
        "special",
        "nested",
        "ignored",
        "excluded",
        "secret",
        "outside-project",
        "inside-git",
        "fuse",
        "failed",
    ]
    EventKind = Literal["begin", "tool-begin", "tool-end", "step", "end", "session-end"]
    CallKind = Literal["edit", "shell", "other"]

HARMLESS_REASONS = frozenset({"ignored", "excluded", "secret", "special"})
"""Reasons that leave a snapshot complete: these paths are never captured by design."""

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

NO_TIME = -(1 << 63)
"""The time of content that never lay on disk. Zero would not do: files may be dated 1970."""


class FileState(Frozen):
    """What stands at one path.

    Attributes:
        kind: ``absent`` is proven absence; ``unknown`` means nobody looked (see ``reason``), and
            must never be read as absence.
        mode: permission bits (``0o7777``); 0 for links and for kinds without content.
        oid: blob id of the bytes, or of a link's target.
        mtime_ns: modification time, or `NO_TIME`; never part of equality of content, see `same`.
        reason: for ``unknown`` only, why it was not captured.
    """

    kind: StateKind
    mode: int = 0
    oid: str = ""
    mtime_ns: int = NO_TIME
    reason: str = ""

    @property
    def has_content(self) -> bool:
        return self.kind in ("file", "link")


ABSENT = FileState("absent")


def same(a: FileState, b: FileState) -> bool:
    """Whether two known states hold the same kind, bytes and mode (times aside).

    Nobody knows what a special file holds, so it is the same as nothing, itself included.
    """
    known = a.kind not in ("unknown", "special")
    return known and a.kind == b.kind and a.oid == b.oid and a.mode == b.mode


class NotCaptured(Frozen):
    """A path that a snapshot does not hold; ``dir/`` with a slash for a folder, ``./`` for all."""

    path: bytes
    reason: str


class DirChange(Frozen):
    """A folder that appeared, vanished or changed its mode; ``None`` means absent."""

    path: bytes
    before: int | None
    after: int | None


class PathChange(Frozen):
    """One path between two snapshots."""

    path: bytes
    before: FileState
    after: FileState


# --- Recording -----------------------------------------------------------------------------------


class Event(Frozen):
    """What an agent (or a script) reports, the same for every agent.

    Attributes:
        folder: where the agent works; paths that are relative are relative to it.
        key: the agent's own id of the turn: a second ``begin`` with the key of the open turn adds
            a prompt to it instead of opening another.
        pid: the process whose end ends the turn, 0 when unknown.
        background: for ``end``: work goes on after the agent said that it ended.
        transcript: the agent's own file about the session, where it notes an interrupt.
        continues: for ``begin``: a prompt that the agent sent to itself; it opens a turn only where
            none is open.
        found: for ``tool-end`` of an edit of one file: what the tool itself read before it wrote.
        swaps: for ``tool-end`` of an edit: for a path the pieces of text that the tool replaced,
            each as it was and as it became.
    """

    kind: EventKind
    session: str
    folder: bytes
    agent: str = ""
    prompt: str = ""
    title: str = ""
    key: str = ""
    pid: int = 0
    call: str = ""
    tool: str = ""
    call_kind: CallKind | None = None
    paths: tuple[bytes, ...] = ()
    command: str = ""
    failed: bool = False
    text: str = ""
    interrupted: bool = False
    background: bool = False
    continues: bool = False
    transcript: str = ""
    found: bytes | None = None
    swaps: tuple[tuple[bytes, tuple[tuple[bytes, bytes], ...]], ...] = ()
