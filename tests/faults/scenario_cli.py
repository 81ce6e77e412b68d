"""Whole commands of the command line, as commands for the fault harness.

``python scenario_cli.py undo|end|begin setup|run|recover|check|beyond FOLDER``: `undo` is
``takeback undo --all --yes``; `end` and `begin` are the events of a turn, each with a snapshot of
changed files. `beyond` goes on working after the fault and prints what is wrong, or nothing.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scenario import (
    BEGIN,
    END,
    MINE,
    OLD,
    Node,
    blob_id,
    build,
    listing,
    make_removable,
    promised,
)

from takeback.tui import cli

START: dict[str, Node] = {
    "changed.txt": ("file", 0o644, b"old\n" * 20),
    "run.sh": ("file", 0o755, b"echo old\n"),
    "gone.txt": ("file", 0o600, bytes(range(256)) * 8),
    "empty.txt": ("file", 0o644, b""),
    "lnk": ("link", 0, b"changed.txt"),
    "d": ("dir", 0o755, b""),
    "d/same.txt": ("file", 0o644, b"nobody touches it\n"),
}
MIDDLE: dict[str, Node] = {**START, "changed.txt": ("file", 0o644, b"first turn\n")}
LAST: dict[str, Node] = {
    "changed.txt": ("file", 0o644, b"new\n" * 30),
    "run.sh": ("file", 0o644, b"echo new\n"),
    "empty.txt": ("file", 0o644, b"not empty\n"),
    "lnk": ("link", 0, b"run.sh"),
    "d": START["d"],
    "d/same.txt": START["d/same.txt"],
    "new": ("dir", 0o755, b""),
    "new/made.txt": ("file", 0o644, b"made\n"),
}
FURTHER: dict[str, Node] = {
    **LAST,
    "changed.txt": ("file", 0o644, b"further\n"),
    "new/more.txt": ("file", 0o644, b"more\n"),
}
TREES = (START, MIDDLE, LAST, FURTHER)
FIRST = {("changed.txt", "modified")}
SECOND = {
    ("changed.txt", "modified"),
    ("run.sh", "modified"),
    ("gone.txt", "deleted"),
    ("empty.txt", "modified"),
    ("lnk", "modified"),
    ("new/made.txt", "added"),
}


class Wrong(Exception):
    """What does not hold."""


def takeback(base: Path, *words: str) -> tuple[int, str]:
    """One command in this process: exit code and standard output.

    Raises:
        Wrong: it ended with a traceback.
    """
    kept = [os.dup(1), os.dup(2)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            code = cli.main(["-C", str(base / "p"), *words])
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, fd in enumerate(kept, 1):
                os.dup2(fd, number)
                os.close(fd)
        out.seek(0)
        err.seek(0)
        text, said = out.read().decode(), err.read().decode()
    if "Traceback" in said or "Internal error" in said:
        raise Wrong(f"{words}: {said[-300:]}")
    return code, text + (said if code else "")


def must(base: Path, *words: str, code: int = 0) -> str:
    found, text = takeback(base, *words)
    if found != code:
        raise Wrong(f"{' '.join(words)}: exit {found}: {text[-300:]}")
    return text


def time_of(path: str, at: int) -> int:
    """When a path got what it holds in a tree: each tree changes it at another time."""
    while at and TREES[at].get(path) == TREES[at - 1].get(path):
        at -= 1
    return OLD + (0, 1, MINE - OLD, MINE - OLD + 7)[at]


def become(root: Path, at: int) -> None:
    """Bring the project from the tree before to this one, as an agent would."""
    old = TREES[at - 1] if at else {}
    differs = {p: n for p, n in TREES[at].items() if old.get(p) != n}
    for path in old:
        if path not in TREES[at] or path in differs:
            (root / path).unlink()
    build(root, differs, 0)
    for path in differs:
        when = time_of(path, at)
        os.utime(root / path, ns=(when, when), follow_symlinks=False)


def holds(base: Path, at: int) -> bool:
    """Whether the project is exactly this tree (a folder that was emptied aside: none is)."""
    now = {p: v for p, v in listing(base / "p") if p.split("/")[0] != ".git"}
    return now == promised(TREES[at], lambda path: time_of(path, at))


def expect(base: Path, at: int, after: str) -> None:
    if holds(base, at):
        return
    now = {p: v for p, v in listing(base / "p") if p.split("/")[0] != ".git"}
    want = promised(TREES[at], lambda path: time_of(path, at))
    wrong = [f"{p}: {now.get(p)}, not {want.get(p)}" for p in sorted({*now, *want})
             if now.get(p) != want.get(p)]  # fmt: skip
    raise Wrong(f"after {after}: {'; '.join(wrong)[:400]}")


def turns(base: Path) -> dict[str, Any]:
    """The turn of each session."""
    log = json.loads(must(base, "log", "--json"))
    return {s["id"]: turn for s in log["sessions"] for turn in s["turns"]}


def pending(base: Path) -> list[str]:
    return [path.name for path in (base / "data").glob("projects/*/journal-*")]


def right(base: Path, turn: dict[str, Any], side: str, at: int) -> None:
    """A tree that a complete turn names holds exactly what stood there."""
    (store,) = (base / "data").glob("projects/*/git")
    out = subprocess.run(
        ["git", f"--git-dir={store}", "ls-tree", "-r", "-z", "--full-tree", turn[side]],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    found = {line.partition("\t")[2]: line.split()[2] for line in out.split("\0") if line}
    want = {p: blob_id(n[2]) for p, n in TREES[at].items() if n[0] != "dir"}
    if found != want:
        wrong = {p for p in {*found, *want} if found.get(p) != want.get(p)}
        raise Wrong(f"the tree {side} turn {turn['n']} is wrong at {sorted(wrong)}")


def changes(turn: dict[str, Any], want: set[tuple[str, str]], old: int, new: int) -> None:
    found = {(c["path"], c["status"]) for c in turn["changes"]}
    if found != want:
        raise Wrong(f"turn {turn['n']} lists {sorted(found ^ want)} wrongly")
    for change in turn["changes"]:
        for side, at in (("before", old), ("after", new)):
            node = TREES[at].get(change["path"])
            if change[side] != (blob_id(node[2]) if node is not None else None):
                raise Wrong(f"turn {turn['n']}: {change['path']} {side} is {change[side]}")


def setup(base: Path, what: str) -> None:
    for child in list(base.iterdir()):
        make_removable(child)
        shutil.rmtree(child)
    for name in ("p", "home", "tmp", "config"):
        (base / name).mkdir()
    root = base / "p"
    subprocess.run(["git", "init", "-q", root], check=True)
    become(root, 0)
    must(base, "record", "begin", "--session", "s1")
    become(root, 1)
    must(base, "record", "end", "--session", "s1")
    if what != "begin":
        must(base, "record", "begin", "--session", "s2")
    become(root, 2)
    if what == "undo":
        must(base, "record", "end", "--session", "s2")


COMMANDS = {
    "undo": ("undo", "--all", "--yes"),
    "end": ("record", "end", "--session", "s2"),
    "begin": ("record", "begin", "--session", "s2"),
}


def run(base: Path, what: str) -> int:
    os.access(BEGIN, os.F_OK)
    try:
        return cli.main(["-C", str(base / "p"), *COMMANDS[what]])
    finally:
        os.access(END, os.F_OK)


def check(base: Path, what: str) -> str:
    """Where the folder stands. Calls takeback only for snapshots: that recovers."""
    if what == "undo":
        tree = "before" if holds(base, 2) else "after" if holds(base, 1) else "MIXED"
        return "; ".join([tree, *pending(base)])
    expect(base, 2, what)
    found = turns(base)
    if "s1" not in found or not found["s1"]["complete"]:
        raise Wrong("the first turn is lost")
    changes(found["s1"], FIRST, 0, 1)
    turn = found.get("s2")
    if what == "begin":
        if turn is None:
            return "before"
        if turn["complete"]:
            right(base, turn, "before", 2)
        return "after"
    if turn is None:
        raise Wrong("the second turn is lost")
    if turn["state"] == "running":
        return "before"
    if turn["complete"]:
        right(base, turn, "after", 2)
        changes(turn, SECOND, 1, 2)
    elif not turn["not_captured"]:
        raise Wrong("an incomplete turn says nothing of what it lacks")
    return "after"


def beyond(base: Path, what: str) -> None:
    if what == "undo":
        if holds(base, 2):
            must(base, *COMMANDS["undo"])
            expect(base, 1, "undo")
        must(base, "redo", "--yes")
        expect(base, 2, "redo")
        must(base, *COMMANDS["undo"])
        expect(base, 1, "undo")
        must(base, *COMMANDS["undo"])
        expect(base, 0, "undo of the first turn")
        must(base, "verify")
        return
    turn = turns(base).get("s2")
    if what == "end" and turn is not None and turn["state"] == "running":
        must(base, *COMMANDS["end"])
        if check(base, what) != "after" or not turns(base)["s2"]["complete"]:
            raise Wrong("the end again did not end the turn")
    whole = what == "end" and turns(base)["s2"]["complete"]
    if what == "begin" and (turn is None or turn["state"] != "running"):
        must(base, *COMMANDS["begin"])
        turn = turns(base)["s2"]
    session, sure = ("s3", True) if what == "end" else ("s2", bool(turn and turn["complete"]))
    if what == "end":
        must(base, "record", "begin", "--session", session)
    become(base / "p", 3)
    must(base, "record", "end", "--session", session)
    code, text = takeback(base, *COMMANDS["undo"])
    if sure and code:
        raise Wrong(f"undo of the next turn: exit {code}: {text[-300:]}")
    if code:
        expect(base, 3, "an undo that failed")
    elif sure:
        expect(base, 2, "undo of the next turn")
    elif any(not (base / "p" / path).exists() for path in LAST if path != "new"):
        raise Wrong("an undo took what no snapshot had seen")
    if whole:
        must(base, *COMMANDS["undo"])
        expect(base, 1, "undo of the second turn")
    if {"s1", session} - turns(base).keys():
        raise Wrong("a turn is no longer listed")
    must(base, "verify")


def main(arguments: list[str]) -> int:
    what, command, base = arguments[0], arguments[1], Path(arguments[2])
    base.mkdir(parents=True, exist_ok=True)
    for name in [n for n in os.environ if n.startswith(("GIT_", "TAKEBACK_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(
        HOME=str(base / "home"),
        TAKEBACK_DATA_DIR=str(base / "data"),
        TAKEBACK_CONFIG_DIR=str(base / "config"),
        TMPDIR=str(base / "tmp"),
    )
    os.umask(0o022)
    os.chdir("/")
    if command == "run":
        return run(base, what)
    try:
        if command == "setup":
            setup(base, what)
        elif command == "recover":
            was = pending(base)
            must(base, "log")
            sys.stdout.write("recovered\n" if was else "none\n")
        elif command == "check":
            found = check(base, what)
            left = [p.name for p in (base / "p").rglob(".takeback-*")]
            if left and "journal" not in found:
                found += f"; left {left}"
            sys.stdout.write(found + "\n")
        else:
            beyond(base, what)
    except Wrong as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
