"""The turn a session has open: one small file per session in the data folder.

It lets an event find its turn's project wherever the agent has changed directory to, and makes
every event idempotent. It is derived from the ledger's events and removed when the turn ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from takeback.engine.errors import TakebackError
from takeback.engine.store import paths
from takeback.engine.store.store import make_private, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class OpenTurn:
    """State of an open turn.

    Attributes:
        calls: call id to [number, kind, paths, state] with state ``running`` or ``done``, and for
            an edit the blob id of what stood there, for each of its files.
        shards: ids of full image trees; ``images``: entries of the newest one.
        ended: the agent said that the turn ended while work of it goes on.
    """

    __slots__ = (
        "agent", "calls", "ended", "images", "key", "last_ns", "n", "pid", "pid_start", "root",
        "session", "shards", "steps", "transcript", "turn",
    )  # fmt: skip

    def __init__(
        self,
        session: str,
        root: str,
        turn: str,
        n: int,
        agent: str = "",
        key: str = "",
        pid: int = 0,
        pid_start: str = "",
        last_ns: int = 0,
        calls: dict[str, list[Any]] | None = None,
        shards: list[str] | None = None,
        images: dict[str, list[Any]] | None = None,
        steps: int = 0,
        ended: bool = False,
        transcript: str = "",
    ) -> None:
        self.session = session
        self.root = root
        self.turn = turn
        self.n = n
        self.agent = agent
        self.key = key
        self.pid = pid
        self.pid_start = pid_start
        self.last_ns = last_ns
        self.calls = calls or {}
        self.shards = shards or []
        self.images = images or {}
        self.steps = steps
        self.ended = ended
        self.transcript = transcript


def _folder(data: bytes) -> bytes:
    return os.path.join(data, b"open")


def _prefix(session: str) -> bytes:
    return paths.key_of(session.encode("utf-8", "surrogateescape")).encode() + b"-"


def _path(data: bytes, session: str, root: bytes) -> bytes:
    name = _prefix(session) + paths.key_of(root).encode() + b".json"
    return os.path.join(_folder(data), name)


def _load(path: bytes) -> OpenTurn | None:
    try:
        with open(path, "rb") as file:
            return parse(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # Nothing may be concluded: the turn may well be open.
        raise TakebackError(
            f"The open turn {os.fsdecode(path)!r} cannot be read: {error.strerror}. "
            "Nothing was recorded.",
            "Check the permissions of the data folder, then report the event again.",
        ) from error
    except ValueError:
        # Damaged: the ledger closes such a turn as one whose end is missing.
        return None


def parse(text: bytes) -> OpenTurn:
    """The open turn that a file holds.

    Raises:
        ValueError: it is damaged.
    """
    try:
        turn = OpenTurn(**json.loads(text))
    except (TypeError, RecursionError) as error:
        raise ValueError("no open turn") from error
    empty = OpenTurn("", "", "", 0)
    for name in OpenTurn.__slots__:
        if type(getattr(turn, name)) is not type(getattr(empty, name)):
            raise ValueError(name)
    numbers = (turn.n, turn.pid, turn.last_ns, turn.steps)
    if not (turn.session and turn.root.startswith("/") and turn.turn) or min(numbers) < 0:
        raise ValueError("no open turn")
    if not all(isinstance(v, list) and len(v) in (4, 5) for v in turn.calls.values()):
        raise ValueError("calls")
    if not all(isinstance(v, list) and len(v) == 2 for v in turn.images.values()):
        raise ValueError("images")
    if not all(isinstance(oid, str) and len(oid) == 40 for oid in turn.shards):
        raise ValueError("shards")
    return turn


def load(data: bytes, session: str, root: bytes | None = None) -> OpenTurn | None:
    """The open turn of a session: in one project, or the newest in any.

    A session may have one in several projects only where scripts use the same id in each.

    Raises:
        TakebackError: it is there and cannot be read.
    """
    if root is not None:
        return _load(_path(data, session, root))
    try:
        names = os.listdir(_folder(data))
    except (FileNotFoundError, NotADirectoryError):
        return None
    prefix = _prefix(session)
    found = [
        turn
        for name in names
        if name.startswith(prefix) and name.endswith(b".json")
        for turn in [_load(os.path.join(_folder(data), name))]
        if turn is not None
    ]
    return max(found, key=lambda turn: turn.last_ns, default=None)


def save(data: bytes, turn: OpenTurn) -> None:
    fields = {name: getattr(turn, name) for name in OpenTurn.__slots__}
    folder = _folder(data)
    make_private(folder)
    write_file(
        _path(data, turn.session, os.fsencode(turn.root)),
        json.dumps(fields, separators=(",", ":")).encode(),
    )


def remove(data: bytes, session: str, root: bytes) -> None:
    try:
        os.unlink(_path(data, session, root))
    except FileNotFoundError:
        pass


def of_project(data: bytes, root: bytes) -> Iterator[OpenTurn]:
    """Every open turn of one project that can be read."""
    shown = os.fsdecode(root)
    try:
        names = os.listdir(_folder(data))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in sorted(names):
        if name.endswith(b".json"):
            try:
                turn = _load(os.path.join(_folder(data), name))
            except TakebackError:
                continue
            if turn is not None and turn.root == shown:
                yield turn


def process_start(pid: int) -> str:
    """When a process was started, in the system's own terms; "" if it does not exist.

    A process id alone is used again by the system; with the start time it is not.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
        fields = text[text.rindex(b")") + 2 :].split()
        return "" if fields[0] in (b"Z", b"X") else fields[19].decode()
    except FileNotFoundError:
        if os.path.exists("/proc/self/stat"):
            return ""
    except (OSError, ValueError, IndexError):
        return ""
    import subprocess

    try:
        done = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)],
            capture_output=True,
            timeout=5,
            check=False,
            env={"LC_ALL": "C", "PATH": os.environ.get("PATH", "")},
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.decode("ascii", "replace").strip()


def is_gone(turn: OpenTurn) -> bool:
    """Whether the process that ends the turn is known and no longer runs."""
    if not turn.pid:
        return False
    return process_start(turn.pid) != turn.pid_start
