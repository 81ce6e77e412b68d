"""One operation with every kind of change in it, as commands for the fault harness.

``python scenario.py setup|run|recover|check FOLDER [plain]``; with ``plain`` as on a file system
that cannot exchange two names; `check` prints ``before``, ``after``, or what
is wrong. Run by root, it becomes an ordinary user first, so that modes mean something.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPO / ".dev"))

from takeback.engine.errors import TakebackError  # noqa: E402
from takeback.engine.model import ABSENT, DirChange, FileState  # noqa: E402
from takeback.engine.undo import apply as transaction  # noqa: E402
from takeback.engine.undo import fsops  # noqa: E402

BEGIN, END = "/takeback-faults-begin", "/takeback-faults-end"
OLD, MINE = 1_600_000_000_123_456_789, 1_650_000_000_987_654_321
NOBODY = 65534

Node = tuple[str, int, bytes]
BEFORE: dict[str, Node] = {
    "a.txt": ("file", 0o644, b"agent A\n" * 50),
    "b.sh": ("file", 0o644, b"echo agent\n"),
    "ro.txt": ("file", 0o444, b"read only, by the agent\n"),
    "made.txt": ("file", 0o644, b"made by the agent\n"),
    "empty.txt": ("file", 0o644, b"not empty\n"),
    "x": ("file", 0o644, b"x is a file now\n"),
    "d": ("dir", 0o755, b""),
    "d/inner.txt": ("file", 0o644, b"d is a folder now\n"),
    "lnk": ("link", 0, b"a.txt"),
    "l2f": ("link", 0, b"nowhere"),
    "f2l": ("file", 0o600, b"a file now\n"),
    "deep": ("dir", 0o755, b""),
    "deep/made": ("dir", 0o755, b""),
    "deep/made/z.txt": ("file", 0o640, b"deep\n"),
    "closed": ("dir", 0o555, b""),
    "closed/c.txt": ("file", 0o444, b"closed, by the agent\n"),
    "closed/d.txt": ("file", 0o644, b"closed, made by the agent\n"),
    "void": ("dir", 0o755, b""),
    "m": ("dir", 0o755, b""),
    "stays": ("dir", 0o755, b""),
    "stays/agent.txt": ("file", 0o644, b"goes\n"),
    "stays/user.txt": ("file", 0o644, b"of the user\n"),
}
AFTER: dict[str, Node] = {
    "a.txt": ("file", 0o644, b"old A\n"),
    "b.sh": ("file", 0o755, b"echo old\n"),
    "ro.txt": ("file", 0o444, b"read only, as it was\n"),
    "gone.txt": ("file", 0o600, bytes(range(256)) * 64),
    "empty.txt": ("file", 0o644, b""),
    "x": ("dir", 0o750, b""),
    "x/y": ("file", 0o644, b"x was a folder\n"),
    "d": ("file", 0o644, b"d was a file\n"),
    "lnk": ("link", 0, b"b.sh"),
    "l2f": ("file", 0o644, b"was a file\n"),
    "f2l": ("link", 0, b"somewhere"),
    "new": ("dir", 0o711, b""),
    "new/sub": ("dir", 0o755, b""),
    "new/sub/n.txt": ("file", 0o644, b"deleted by the agent\n"),
    "closed": ("dir", 0o555, b""),
    "closed/c.txt": ("file", 0o444, b"closed, as it was\n"),
    "hollow": ("dir", 0o700, b""),
    "m": ("dir", 0o700, b""),
    "stays": ("dir", 0o755, b""),
    "stays/user.txt": ("file", 0o644, b"of the user\n"),
}


def blob_id(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Blobs:
    """A folder of blobs, each durable when `write` returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, oid: str) -> bytes:
        return (self.folder / oid).read_bytes()

    def write(self, kind: str, data: bytes) -> str:
        oid = blob_id(data)
        new = self.folder / f"{oid}.new"
        with open(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(new, self.folder / oid)
        return oid

    def flush(self, durable: bool = False) -> None:
        pass


def state(node: Node | None, mtime: int) -> FileState:
    if node is None or node[0] == "dir":
        return ABSENT
    return FileState("link" if node[0] == "link" else "file", node[1], blob_id(node[2]), mtime)


def targets() -> list[Any]:
    found = []
    for path in sorted({*BEFORE, *AFTER}):
        one, other = BEFORE.get(path), AFTER.get(path)
        expect, want = state(one, MINE), state(other, OLD)
        if one != other and (expect.kind, want.kind) != ("absent", "absent"):
            found.append(transaction.Target(path.encode(), expect, want))
    return found


def folders() -> list[DirChange]:
    found = []
    for path in sorted({*BEFORE, *AFTER}):
        one, other = BEFORE.get(path), AFTER.get(path)
        before = one[1] if one is not None and one[0] == "dir" else None
        after = other[1] if other is not None and other[0] == "dir" else None
        if before != after:
            found.append(DirChange(path.encode(), before, after))
    # A folder that holds something of the user's stays, also if it is named.
    return [*found, DirChange(b"stays", 0o755, None)]


def listing(root: Path) -> Iterator[tuple[str, list[Any]]]:
    """Every path with all that is promised about it; a folder's time is not."""
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = os.path.join(folder, name)
            st = os.lstat(path)
            kind, mode = "file", stat.S_IMODE(st.st_mode)
            content = ""
            if stat.S_ISLNK(st.st_mode):
                kind, mode, content = "link", 0, os.readlink(path)
            elif stat.S_ISDIR(st.st_mode):
                kind = "dir"
            elif stat.S_ISREG(st.st_mode):
                content = blob_id(Path(path).read_bytes())
            else:
                kind = "special"
            mtime = 0 if kind == "dir" else st.st_mtime_ns
            yield os.path.relpath(path, root), [kind, mode, content, mtime]


def promised(nodes: dict[str, Node], times: Callable[[str], int]) -> dict[str, list[Any]]:
    """What `listing` gives for a tree."""
    found: dict[str, list[Any]] = {}
    for path, (kind, mode, data) in nodes.items():
        content = os.fsdecode(data) if kind == "link" else blob_id(data) if kind == "file" else ""
        found[path] = [kind, mode, content, 0 if kind == "dir" else times(path)]
    return found


def build(root: Path, nodes: dict[str, Node], mtime: int) -> None:
    """Make a tree; folders get their mode when they are full."""
    for path, (kind, mode, data) in nodes.items():
        full = root / path
        if kind == "dir":
            full.mkdir()
        elif kind == "link":
            full.symlink_to(os.fsdecode(data))
        else:
            full.write_bytes(data)
            full.chmod(mode)
        os.utime(full, ns=(mtime, mtime), follow_symlinks=False)
    for path, (kind, mode, _) in reversed(nodes.items()):
        if kind == "dir":
            (root / path).chmod(mode)


def make_removable(folder: Path) -> None:
    for parent, _, _ in os.walk(folder):
        os.chmod(parent, 0o700)


def setup(base: Path) -> int:
    for child in list(base.iterdir()):
        if child.is_dir():
            make_removable(child)
            shutil.rmtree(child)
        else:
            child.unlink()
    for name in ("root", "store", "blobs"):
        (base / name).mkdir()
    build(base / "root", BEFORE, MINE)
    blobs = Blobs(base / "blobs")
    for nodes in (BEFORE, AFTER):
        for kind, _, data in nodes.values():
            if kind != "dir":
                blobs.write("blob", data)
    return 0


def log(base: Path, line: dict[str, Any]) -> None:
    """The log of operations: durable, and each operation once."""
    fd = os.open(base / "log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if line["id"] not in os.read(fd, 1 << 16).decode().split():
            os.write(fd, line["id"].encode() + b"\n")
        os.fsync(fd)
    finally:
        os.close(fd)


def places(base: Path) -> tuple[bytes, bytes, Blobs]:
    return os.fsencode(base / "store"), os.fsencode(base / "root"), Blobs(base / "blobs")


def run(base: Path) -> int:
    store, root, blobs = places(base)
    record, changes, dirs = {"id": "op1"}, targets(), folders()
    os.access(BEGIN, os.F_OK)
    try:
        transaction.apply(
            store, root, "op1", changes, dirs, blobs, record, True, lambda line: log(base, line)
        )
    except TakebackError as error:
        sys.stderr.write(error.message + "\n")
        return 1
    except KeyboardInterrupt:
        # It is held until everything is done; the command line then says what was done.
        return 0 if (base / "log").exists() else 130
    finally:
        os.access(END, os.F_OK)
    return 0


def recover(base: Path) -> int:
    store, root, blobs = places(base)
    os.access(BEGIN, os.F_OK)
    try:
        found = transaction.recover(store, root, blobs, lambda line: log(base, line))
    except TakebackError as error:
        sys.stderr.write(error.message + "\n")
        return 1
    finally:
        os.access(END, os.F_OK)
    sys.stdout.write((found.outcome if found is not None else "none") + "\n")
    return 0


def check(base: Path) -> str:
    now = dict(listing(base / "root"))
    before = promised(BEFORE, lambda path: MINE)
    after = promised(AFTER, lambda path: MINE if BEFORE.get(path) == AFTER[path] else OLD)
    logged = (base / "log").read_text().split() if (base / "log").exists() else []
    phase = transaction.pending(os.fsencode(base / "store"))
    tree = "before" if now == before else "after" if now == after else "MIXED"
    said = []
    if tree == "MIXED":
        wrong = [{p for p in {*t, *now} if t.get(p) != now.get(p)} for t in (before, after)]
        near, paths = min(zip((before, after), wrong, strict=True), key=lambda pair: len(pair[1]))
        said = [f"{path}: {now.get(path)}, not {near.get(path)}" for path in sorted(paths)]
    if phase is not None:
        said.append(f"journal {phase}")
    elif logged != (["op1"] if tree == "after" else []):
        said.append(f"log {logged}")
    return "; ".join([tree, *said])


def main(arguments: list[str]) -> int:
    command, base = arguments[0], Path(arguments[1])
    fsops.plain_renames = "plain" in arguments[2:]
    base.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        os.chown(base, NOBODY, NOBODY)
        # What is imported late would be out of this user's sight.
        ctypes.CDLL(None)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    os.umask(0o022)
    if command == "setup":
        return setup(base)
    if command == "run":
        return run(base)
    if command == "recover":
        return recover(base)
    found = check(base)
    sys.stdout.write(found + "\n")
    return 0 if found in ("before", "after") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
