"""A user, an agent and takeback in one folder: the words in which the cases are written.

Takeback is only ever started as a command. Whatever it does, the user's repositories stay byte for
byte as they were, no stack trace is shown, and the exit code is the expected one: `World.tb` checks
all three for every command of every case.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

REPO = Path(__file__).resolve().parents[2]
INLINE = 1 << 16
BUCKETS = ("restored", "deleted", "merged", "kept", "conflicts")

Name = str | bytes | os.PathLike[str]
Work = str | Callable[[], object]
Codes = int | tuple[int, ...]


class Entry(NamedTuple):
    """All that a case compares of one name: folder times only where asked for."""

    kind: str
    mode: int
    mtime_ns: int
    data: bytes


Tree = dict[bytes, Entry]


def entry_of(path: bytes, dir_times: bool = False) -> Entry:
    info = os.lstat(path)
    mode, mtime = stat.S_IMODE(info.st_mode), info.st_mtime_ns
    if stat.S_ISLNK(info.st_mode):
        return Entry("link", 0, mtime, os.readlink(path))
    if stat.S_ISDIR(info.st_mode):
        return Entry("dir", mode, mtime if dir_times else 0, b"")
    if not stat.S_ISREG(info.st_mode):
        return Entry("special", mode, 0, b"")
    with open(path, "rb") as file:
        data = file.read()
    if len(data) > INLINE:
        data = b"sha256 " + hashlib.sha256(data).hexdigest().encode()
    return Entry("file", mode, mtime, data)


def tree_of(root: Name, *, git: bool = False, dir_times: bool = False) -> Tree:
    """Everything below a folder; `.git` is left out unless asked for."""
    found: Tree = {}
    top = os.fsencode(root)

    def walk(folder: bytes, prefix: bytes) -> None:
        for name in os.listdir(folder):
            if name == b".git" and not git:
                continue
            path = os.path.join(folder, name)
            found[prefix + name] = one = entry_of(path, dir_times)
            if one.kind == "dir":
                walk(path, prefix + name + b"/")

    walk(top, b"")
    return found


def differences(left: Tree, right: Tree, untimed: Iterable[bytes] = ()) -> list[str]:
    """What differs, one readable line each; times do not count for `untimed` names."""
    free = frozenset(untimed)
    lines = []
    for name in sorted(left.keys() | right.keys()):
        a, b = left.get(name), right.get(name)
        if a and b and name in free:
            a, b = a._replace(mtime_ns=0), b._replace(mtime_ns=0)
        if a == b:
            continue
        if a is None or b is None:
            lines.append(f"{name!r} {'appeared' if a is None else 'is gone'}: {a or b}"[:300])
            continue
        for field in Entry._fields:
            old, new = getattr(a, field), getattr(b, field)
            if old != new:
                lines.append(f"{name!r} {field}: {old!r} -> {new!r}"[:400])
    return lines


class Answer:
    """What a command said."""

    def __init__(self, words: tuple[Name, ...], code: int, out: bytes, err: bytes, took: float):
        self.words, self.code, self.out, self.err, self.took = words, code, out, err, took

    def __repr__(self) -> str:
        return f"{self.words} -> {self.code}\nout: {self.out!r:.3000}\nerr: {self.err!r:.2000}"

    @property
    def doc(self) -> Any:
        assert self.out.isascii(), self
        assert self.out.strip(), self
        return json.loads(self.out)

    def paths(self, bucket: str) -> list[bytes]:
        return sorted(
            os.fsencode(one if isinstance(one, str) else one["path"]) for one in self.doc[bucket]
        )

    def lists(self) -> dict[str, list[bytes]]:
        return {bucket: self.paths(bucket) for bucket in BUCKETS}

    def names(self, path: Name) -> bool:
        """Whether the answer mentions a path anywhere, as JSON writes it."""
        text = json.dumps(os.fsdecode(path))[1:-1].encode()
        return text in self.out or text in self.err


class Turn:
    """An open turn, as the agent's integration sees it."""

    def __init__(self, world: World, session: str, cwd: Name | None):
        self.world, self.session, self.cwd = world, session, cwd

    def tool_begin(self, kind: str, paths: Iterable[Name] = (), command: str = "") -> str:
        call = self.world.next_call()
        words: list[Name] = ["record", "tool-begin", "--session", self.session, "--call", call]
        words += ["--tool", {"edit": "Edit", "shell": "Bash"}.get(kind, kind), "--kind", kind]
        for path in paths:
            words += [b"--path=" + os.fsencode(path)]
        if command:
            words += ["--command", command]
        self.world.tb(*words, cwd=self.cwd)
        return call

    def tool_end(self, call: str, failed: bool = False) -> None:
        words = ["record", "tool-end", "--session", self.session, "--call", call]
        self.world.tb(*words, *(["--failed"] if failed else []), cwd=self.cwd)

    def edit(self, path: Name, data: bytes | None) -> str:
        """The agent's edit tool writes a file (or removes it)."""
        return self.edits({path: data})

    def edits(self, wanted: Mapping[Any, bytes | None]) -> str:
        """One call of the edit tool for several files; they keep their mode, parents are made."""
        call = self.tool_begin("edit", wanted)
        for path, data in wanted.items():
            place = os.path.join(os.fsencode(self.cwd or self.world.root), os.fsencode(path))
            if data is None:
                os.unlink(place)
                continue
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(data)
        self.tool_end(call)
        return call

    def append(self, path: Name, data: bytes) -> str:
        place = os.path.join(os.fsencode(self.cwd or self.world.root), os.fsencode(path))
        return self.edit(path, Path(os.fsdecode(place)).read_bytes() + data)

    def shell(self, work: Work, command: str = "", fails: bool = False) -> str:
        """The agent's shell runs a command, or a function that stands for one."""
        called = command or (work if isinstance(work, str) else "python work.py")
        call = self.tool_begin("shell", command=called)
        if isinstance(work, str):
            env = self.world.env
            place = self.cwd or self.world.root
            done = subprocess.run(work, shell=True, cwd=place, env=env, capture_output=True)
            assert (done.returncode != 0) == fails, (work, done.stdout, done.stderr)
        else:
            work()
        self.tool_end(call, failed=fails)
        return call

    def step(self, text: str = "") -> None:
        self.world.tb("record", "step", "--session", self.session, "--text", text, cwd=self.cwd)

    def end(self, interrupted: bool = False) -> None:
        words = ["record", "end", "--session", self.session]
        self.world.tb(*words, *(["--interrupted"] if interrupted else []), cwd=self.cwd)


class World:
    """A project folder with its own home, data and configuration."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.root, self.home = place / "project", place / "home"
        self.data, self.config = place / "data", place / "config"
        for folder in (self.root, self.home, self.config):
            folder.mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "PYTHONPATH": str(REPO / ".dev"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TAKEBACK_DATA_DIR": str(self.data),
            "TAKEBACK_CONFIG_DIR": str(self.config),
        }
        if "TMPDIR" in os.environ:
            self.env["TMPDIR"] = os.environ["TMPDIR"]
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = User\n\temail = user@example.com\n[init]\n\tdefaultBranch = main\n"
        )
        self.guarded: list[Path] = []
        self.calls = 0
        self.random = random.Random(str(place.name))

    # --- The user ---------------------------------------------------------------------------

    def path(self, name: Name) -> Path:
        return self.root / os.fsdecode(name)

    def write(self, name: Name, data: bytes = b"", *, mode: int | None = None, at: int = 0) -> Path:
        """The user writes a file: with a mode, and with a time in nanoseconds, if given."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if mode is not None:
            path.chmod(mode)
        if at:
            os.utime(path, ns=(at, at))
        return path

    def files(self, wanted: Mapping[str, bytes]) -> None:
        for name, data in wanted.items():
            self.write(name, data)

    def append(self, name: Name, data: bytes) -> None:
        with open(self.path(name), "ab") as file:
            file.write(data)

    def read(self, name: Name) -> bytes:
        return self.path(name).read_bytes()

    def has(self, name: Name) -> bool:
        return os.path.lexists(self.path(name))

    def stamp(self, name: Name) -> tuple[int, int, int]:
        """Changes whenever a file is rewritten, even with the same bytes and time."""
        info = os.lstat(self.path(name))
        return info.st_ino, info.st_mtime_ns, info.st_ctime_ns

    def tree(self, *, dir_times: bool = False) -> Tree:
        return tree_of(self.root, dir_times=dir_times)

    def is_now(
        self, wanted: Tree, *, untimed: Iterable[bytes] = (), dir_times: bool = False
    ) -> None:
        """The project holds exactly this: names, kinds, bytes, modes and times."""
        assert differences(wanted, self.tree(dir_times=dir_times), untimed) == []

    @contextmanager
    def nothing_changes(self) -> Iterator[None]:
        """Not a byte and not a time, those of folders included."""
        before = self.tree(dir_times=True)
        yield
        self.is_now(before, dir_times=True)

    # --- The user's git ---------------------------------------------------------------------

    def git(self, *words: Name, cwd: Path | None = None, ok: bool = True) -> bytes:
        done = subprocess.run(
            [b"git", *map(os.fsencode, words)],
            cwd=cwd or self.root,
            env=self.env,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )
        assert not ok or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def repository(self, name: Name = "", *options: str, commit: bool = True) -> Path:
        """A repository of the user's, with all that lies there in its first commit."""
        folder = self.path(name) if name else self.root
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", *options, cwd=folder)
        if commit:
            self.commit("first", cwd=folder)
        self.guard(folder / ".git")
        return folder

    def commit(self, message: str = "more", cwd: Path | None = None) -> None:
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "--allow-empty", "-m", message, cwd=cwd)

    def guard(self, *folders: Path) -> None:
        """No command may change these, not even a time."""
        self.guarded += folders

    def _guarded(self) -> dict[Path, Tree]:
        return {
            folder: tree_of(folder, git=True, dir_times=True)
            if folder.is_dir()
            else {b"": entry_of(os.fsencode(folder))}
            for folder in self.guarded
            if folder.exists()
        }

    # --- Takeback ---------------------------------------------------------------------------

    def start(self, *words: Name, cwd: Name | None = None, **more: Any) -> subprocess.Popen[bytes]:
        """Starts a command and does not wait for it."""
        settings: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        settings |= {"cwd": cwd or self.root, "env": self.env} | more
        command = [
            os.fsencode(sys.executable),
            b"-m",
            b"takeback.tui.cli",
            *map(os.fsencode, words),
        ]
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **settings)
        return process

    def tb(
        self,
        *words: Name,
        code: Codes | None = 0,
        cwd: Name | None = None,
        env: Mapping[str, str | None] | None = None,
        guard: bool = True,
        timeout: float = 120,
        **more: Any,
    ) -> Answer:
        """Runs a command to its end; `env` changes single variables, None removes one."""
        full = {k: v for k, v in (self.env | dict(env or {})).items() if v is not None}
        kept = self._guarded() if guard else {}
        begun = time.monotonic()
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self.start(*words, cwd=cwd, env=full, **pipes, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        answer = Answer(words, process.returncode, out, err, time.monotonic() - begun)
        assert b"Traceback" not in out + err, answer
        codes = (code,) if isinstance(code, int) else code
        assert codes is None or answer.code in codes, answer
        now = self._guarded() if guard else {}
        for folder, was in kept.items():
            assert folder in now, (f"{folder} is gone", answer)
            assert differences(was, now[folder]) == [], (folder, answer)
        return answer

    def killed(self, *words: Name, within: float) -> bool:
        """Starts a command and kills it at a random moment; whether it was still running."""
        process = self.start(*words)
        time.sleep(self.random.uniform(0, within))
        running = process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        return running

    def next_call(self) -> str:
        self.calls += 1
        return f"call-{self.calls}"

    def begin(
        self, session: str = "s", prompt: str = "do it", *, cwd: Name | None = None, **more: Any
    ) -> Turn:
        words = ("record", "begin", "--session", session, "--agent", "test", "--prompt", prompt)
        self.tb(*words, "--json", cwd=cwd, **more)
        return Turn(self, session, cwd)

    @contextmanager
    def turn(self, session: str = "s", *, cwd: Name | None = None) -> Iterator[Turn]:
        """One whole turn."""
        turn = self.begin(session, cwd=cwd)
        yield turn
        turn.end()

    def undo(self, *words: Name, code: Codes = 0, **more: Any) -> Answer:
        return self._operation("undo", words, code, more)

    def redo(self, *words: Name, code: Codes = 0, **more: Any) -> Answer:
        return self._operation("redo", words, code, more)

    def undo_all(self, *words: Name, code: Codes = 0, **more: Any) -> Answer:
        """Undoes the turn whole, whoever did it."""
        return self.undo("--all", "--yes", *words, code=code, **more)

    def undo_shell(self, *words: Name, code: Codes = 0, **more: Any) -> Answer:
        """Undoes a turn that has only shell calls: not without being asked for."""
        with self.nothing_changes():
            asked = self.undo(code=4, **more)
            assert asked.doc["operation"] is None, asked
        return self.undo_all(*words, code=code, **more)

    def _operation(
        self, verb: str, words: tuple[Name, ...], code: Codes, more: dict[str, Any]
    ) -> Answer:
        answer = self.tb(verb, *words, "--json", code=code, **more)
        document = answer.doc
        if answer.code not in (0, 4):
            assert document["error"]["code"] == answer.code, answer
            assert document["error"]["message"], answer
            return answer
        listed = [path for bucket in BUCKETS for path in answer.paths(bucket)]
        assert len(listed) == len(set(listed)), answer
        assert document["kind"] == verb, answer
        return answer

    def there_and_back(self, before: Tree, *, undo: tuple[str, ...] = ()) -> None:
        """Undo gives exactly the former tree, redo exactly the agent's."""
        after = self.tree()
        self.undo(*undo)
        self.is_now(before)
        self.redo()
        self.is_now(after)

    def log(self) -> Any:
        return self.tb("log", "--json").doc

    def turns(self) -> list[Any]:
        """All turns, oldest first."""
        found = [turn for session in self.log()["sessions"] for turn in session["turns"]]
        return sorted(found, key=lambda turn: turn["n"])

    def evidence(self, n: int = -1) -> dict[bytes, str]:
        """Path to evidence of one turn."""
        changes = self.turns()[n]["changes"]
        return {os.fsencode(one["path"]): one["evidence"] for one in changes}

    def not_captured(self, n: int = -1) -> dict[bytes, str]:
        named = self.turns()[n]["not_captured"]
        return {os.fsencode(one["path"]): one["reason"] for one in named}

    # --- The store --------------------------------------------------------------------------

    def store_files(self) -> list[Path]:
        return [path for path in sorted(self.data.rglob("*")) if path.is_file()]

    def store_size(self) -> int:
        return sum(path.stat().st_blocks * 512 for path in self.store_files())

    def store_gits(self) -> list[Path]:
        return sorted(self.data.glob("projects/*/git"))

    def store_holds(self, token: bytes) -> bool:
        """Whether a text is anywhere in the store: in a file as it is, or in an object."""
        if any(token in path.read_bytes() for path in self.store_files()):
            return True
        batch = ("cat-file", "--batch-all-objects", "--batch", "--unordered")
        return any(token in self.git("--git-dir", str(git), *batch) for git in self.store_gits())


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    begun = time.monotonic()
    yield
    took = time.monotonic() - begun
    assert took < seconds, f"took {took:.1f} s"
