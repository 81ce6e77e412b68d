"""Test trees of three sizes, the same bytes on every machine.

a: 1,000 files. b: 20,000 files (about 200 MB) and 30,000 ignored ones. c: 100,000 files (about
1.4 GB) and 30,000 ignored ones. Each is a git work tree with one commit.
"""

from __future__ import annotations

import contextlib
import fcntl
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.peers import environment

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_HEADS = ("def", "return", "if", "for", "import", "class", "const", "let", "await", "struct")
_FOLDERS = ("src", "lib", "core", "util", "api", "models", "views", "pkg", "cmd", "server")
_SUFFIXES = (".py", ".ts", ".js", ".go", ".rs", ".c", ".h", ".java", ".md", ".json", ".css")
_IGNORE = (
    "node_modules/\n/dist/\nbuild/\n*.log\n*.pyc\n__pycache__/\n.venv/\n.env\n.env.*\n"
    "!.env.example\n/coverage\n*.swp\n.DS_Store\n/tmp/*\n!/tmp/keep\n**/generated/*.pb.go\n"
)
_MAX_BYTES = 1_500_000


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a tree is; sizes of files are log-normal."""

    files: int
    ignored: int
    mu: float
    sigma: float


SHAPES = {
    "a": Shape(1_000, 0, 8.4, 1.1),
    "b": Shape(20_000, 30_000, 8.4, 1.25),
    "c": Shape(100_000, 30_000, 8.75, 1.25),
}


def _text(rng: random.Random, size: int) -> bytes:
    """Lines that look like code to a compressor."""
    words = ["".join(rng.choices(_LETTERS, k=rng.randint(2, 11))) for _ in range(4000)]
    parts, length = [], 0
    while length < size:
        indent = "    " * rng.choice((0, 1, 1, 2, 2, 3))
        glue = rng.choice((" = ", ".", "(", ", ", "_"))
        body = glue.join(rng.choices(words, k=rng.randint(2, 8)))
        line = f"{indent}{rng.choice(_HEADS)} {body}{rng.choice((';', ':', ')', ''))}\n"
        parts.append(line)
        length += len(line)
    return "".join(parts).encode()


def _folders(rng: random.Random, count: int) -> list[str]:
    """A random tree of folders, about one for nine files, up to nine deep."""
    found = [""]
    known = {""}
    while len(found) < count:
        recent = found[-max(50, len(found) // 2) :]
        parent = rng.choice(recent if rng.random() < 0.7 else found)
        if parent.count("/") >= 8:
            continue
        name = rng.choice(_FOLDERS) + (str(rng.randint(1, 99)) if rng.random() < 0.6 else "")
        path = f"{parent}/{name}" if parent else name
        if path not in known:
            known.add(path)
            found.append(path)
    return found


def _write(root: Path, shape: Shape) -> None:
    rng = random.Random(20)
    pool = _text(rng, 8 << 20)
    folders = _folders(rng, max(8, shape.files // 9))
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)

    def content(size: int, number: int) -> bytes:
        start = rng.randrange(len(pool))
        body = pool[start : start + size]
        return b"// file %d %d\n" % (number, rng.getrandbits(48)) + body + pool[: size - len(body)]

    for number in range(shape.files - 1):
        size = int(min(_MAX_BYTES, max(30, rng.lognormvariate(shape.mu, shape.sigma))))
        name = f"f{number:05}_{rng.choice(_FOLDERS)}{rng.choice(_SUFFIXES)}"
        (root / rng.choice(folders) / name).write_bytes(content(size, number))
    for number in range(shape.ignored):
        folder = root / f"node_modules/pkg{number // 40:04}/{'lib' if number % 40 < 20 else 'src'}"
        if number % 20 == 0:
            folder.mkdir(parents=True)
        (folder / f"m{number:05}.js").write_bytes(content(400, number))
    (root / ".gitignore").write_text(_IGNORE, "utf-8")


def _git(root: Path, *args: str) -> None:
    subprocess.run(["git", "-C", str(root), *args], check=True, env=environment())


@contextlib.contextmanager
def alone(base: Path) -> Iterator[None]:
    """Only one run at a time uses the trees below `base`."""
    base.mkdir(parents=True, exist_ok=True)
    with (base / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def make(name: str, base: Path) -> Path:
    """The tree `name` below `base`; made once, then taken as it stands after `reset`."""
    root = base / name
    done = base / f"{name}.complete"
    if done.exists():
        reset(root)
        return root
    root.mkdir(parents=True)
    _write(root, SHAPES[name])
    _git(root, "init", "--quiet", "--initial-branch=main")
    for key, value in (("user.name", "bench"), ("user.email", "bench@localhost"), ("gc.auto", "0")):
        _git(root, "config", key, value)
    _git(root, "-c", "core.looseCompression=1", "add", "--all")
    _git(root, "commit", "--quiet", "--message=One commit.")
    _git(root, "repack", "-adq", "--window=0")
    done.touch()
    return root


def reset(root: Path) -> None:
    """Bring the tree back to its commit."""
    _git(root, "reset", "--quiet", "--hard")
    _git(root, "clean", "--quiet", "-fd")


class Mutator:
    """Changes files the same way in every run: never twice the same bytes.

    Attributes:
        files: the files that it may change.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._round = 0
        self._made: list[Path] = []
        skip = ("node_modules", ".git")
        self.files = [
            path
            for path in sorted(root.rglob("f[0-9]*"))
            if path.is_file() and path.relative_to(root).parts[0] not in skip
        ]

    def change(self, count: int) -> list[Path]:
        """Append to `count` files."""
        self._round += 1
        rng = random.Random(self._round)
        chosen = rng.sample(self.files, count)
        for path in chosen:
            with path.open("ab") as file:
                file.write(b"// round %d\n" % self._round)
        return chosen

    def step(self) -> None:
        """Five files changed, one new, one deleted (the new one of the round before)."""
        self.change(5)
        if self._made:
            self._made.pop().unlink()
        path = self._root / f"new{self._round:05}.py"
        path.write_bytes(b"# new in round %d\n" % self._round)
        self._made.append(path)
