"""Whatever is wrong with the input or the store: a sentence and an exit code, never a traceback.

The command line runs in this process, with ``TAKEBACK_DEBUG`` set: an error that nobody expected
comes out as it is and fails the test.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.model import Request
from takeback.engine.project import Project
from takeback.tui import cli

READING = (
    ("log",),
    ("sessions",),
    ("show",),
    ("show", "1"),
    ("diff",),
    ("diff", "--patch"),
    ("history",),
    ("storage",),
    ("verify",),
    ("doctor",),
    ("config",),
    ("prune", "--dry-run"),
    ("undo", "--dry-run", "--all"),
    ("redo", "--dry-run"),
    ("goto", "1@before", "--dry-run"),
)
RECORDING = (
    ("record", "begin", "--session", "s"),
    ("record", "tool-begin", "--session", "s", "--call", "c", "--tool", "T", "--kind", "shell"),
    ("record", "tool-end", "--session", "s", "--call", "c"),
    ("record", "step", "--session", "s"),
    ("record", "end", "--session", "s"),
    ("recover",),
    ("prune",),
)
JUNK = (
    b"",
    b"\0" * 5000,
    b"\xff\xfe\x00garbage\n\n{",
    b'null\n[]\n1\n"x"\n{}\n',
    b"[" * 100_000,
    b'{"e":"begin"',
)
VALUES: tuple[Any, ...] = (None, "x", "", -1, 2**70, 1.5, True, [], [[1]], ["x", 2], {}, {"a": 1})


class World:
    """A project with two turns and an undone one, and the command line on it."""

    def __init__(self, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = base / "project"
        self.data = base / "data"
        self._capsys = capsys
        self.folder.mkdir()
        project = Project.open(str(self.folder), str(self.data))
        for number in range(2):
            with project.turn("s", prompt=f"turn {number}") as turn:
                with turn.edit("a.txt"):
                    (self.folder / "a.txt").write_text(f"version {number}\n")
                with turn.shell("make"):
                    (self.folder / f"made {number}").write_text("made\n")
                turn.step("done")
        project.apply(project.plan(Request("undo")))
        assert project.store is not None
        self.store = Path(os.fsdecode(project.store.dir))
        project.close()

    def tree(self) -> dict[str, tuple[bytes, int, int]]:
        found = {}
        for path in sorted(self.folder.rglob("*")):
            st = path.lstat()
            data = path.read_bytes() if path.is_file() else b""
            found[str(path)] = (data, st.st_mode, st.st_mtime_ns)
        return found

    def say(self, *words: str, codes: tuple[int, ...] = (0, 1, 2, 3, 4, 5)) -> tuple[int, str]:
        """Run a command, plain and as JSON; its exit code and what it said."""
        before = self.tree()
        code = cli.main(words)
        plain = self._capsys.readouterr()
        assert code in codes, (words, code, plain)
        said = plain.out + plain.err
        assert "Traceback" not in said and "Internal error" not in said
        if code in (1, 2, 3, 5):
            assert plain.err.startswith("takeback: "), (words, plain)
            assert "." in plain.err
        code_json = cli.main(["--json", *words])
        answer = self._capsys.readouterr()
        assert "Internal error" not in answer.err
        document = json.loads(answer.out)
        if code_json in (1, 2, 3, 5) and words[0] != "recover":
            assert document["error"]["code"] == code_json
        assert self.tree() == before, words
        return code, said


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> World:
    for name in [name for name in os.environ if name.startswith("TAKEBACK_")]:
        monkeypatch.delenv(name)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_DEBUG", "1")
    made = World(tmp_path, capsys)
    monkeypatch.chdir(made.folder)
    return made


@pytest.mark.parametrize(
    "words",
    [
        ("show", "nope"),
        ("show", "99"),
        ("show", "0"),
        ("show", ""),
        ("show", "\x1b[2J\udcff"),
        ("diff", "nope"),
        ("diff", "--against", "HEAD"),
        ("log", "--session", "nope"),
        ("undo", "--turn", "nope"),
        ("undo", "--turn", "-1"),
        ("undo", "--to", "99"),
        ("undo", "--step", "nope"),
        ("undo", "--call", "nope"),
        ("undo", "--session", "nope"),
        ("undo", "--path", "../outside"),
        ("undo", "--path", "/etc/passwd"),
        ("redo", "nope"),
        ("redo", "--session", "nope"),
        ("goto", "nope"),
        ("goto", "1@sideways"),
        ("restore", "--op", "nope"),
        ("config", "nope"),
        ("config", "snapshots", "maybe"),
        ("record", "begin", "--session", ""),
        ("record", "begin", "--session", "s", "--pid", "x"),
        ("record", "begin", "--session", "s", "--pid", str(2**64)),
        ("purge", "nope"),
        ("compare", "nope"),
        ("switch", "nope"),
        ("install", "nope"),
    ],
)
def test_unknown_names_are_wrong_usage(world: World, words: tuple[str, ...]) -> None:
    world.say(*words, codes=(2,))


def test_a_folder_that_is_none(world: World, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for place in (str(file), str(tmp_path / "gone"), "", "a\0b", str(file / "below")):
        for words in (("log",), ("undo", "--yes"), ("record", "begin", "--session", "new")):
            if place or words[0] == "log":
                world.say("-C", place, *words, codes=(2,) if place else (0,))
        world.say("-C", place, "doctor", codes=(0, 2))


def test_a_project_folder_that_is_gone(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(world.folder)
    for words in (("log",), ("undo",), ("storage",), ("record", "end", "--session", "s")):
        world.say(*words)


@pytest.mark.parametrize("name", ["format", "root", "all"])
def test_a_garbage_project_file(world: World, name: str) -> None:
    path = world.store / "project.json"
    info = json.loads(path.read_text())
    bodies = [*JUNK] if name == "all" else []
    if name != "all":
        bodies = [json.dumps({**info, name: value}).encode() for value in VALUES]
    before = path.read_bytes()
    for body in bodies:
        path.write_bytes(body)
        for words in (("log",), ("storage",), ("doctor",), *RECORDING[:1]):
            world.say(*words)
        path.write_bytes(before)


def test_a_newer_store_is_refused_and_untouched(world: World) -> None:
    path = world.store / "project.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in world.store.rglob("*"))
    for words in (*READING, *RECORDING):
        if words[0] in ("storage", "config"):
            continue
        code, said = world.say(*words)
        if words[0] == "doctor":
            assert "format 99" in said
        elif words[:2] != ("record", "end"):
            assert code == 1 and "format 99" in said, words
    assert sorted((str(p), p.lstat().st_mtime_ns) for p in world.store.rglob("*")) == before


FILES = (
    "ledger",
    "snapshots.jsonl",
    "operations.jsonl",
    "counters",
    "scan/state",
    "scan/base",
    "git/refs/takeback/current",
    "git/HEAD",
    "git/config",
    "lock",
)


def files(world: World, name: str) -> Iterator[Path]:
    if name == "ledger":
        yield from sorted((world.store / "ledger").glob("*.jsonl"))
    else:
        yield from sorted(world.store.glob(name + "*"))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("junk", range(len(JUNK) + 2))
def test_a_store_file_of_garbage(world: World, name: str, junk: int) -> None:
    for path in files(world, name):
        data = path.read_bytes()
        path.chmod(0o600)
        if junk < len(JUNK):
            path.write_bytes(JUNK[junk])
        elif junk == len(JUNK):
            path.write_bytes(data[: len(data) // 2])
        else:
            path.write_bytes(data + data[: len(data) // 2] + b"\n" + JUNK[2])
    for words in (*READING, *RECORDING, ("log",), ("undo", "--dry-run")):
        world.say(*words)


@pytest.mark.parametrize("name", [*FILES, "tmp", "scan", "git/objects/pack", "project.json"])
def test_a_folder_or_a_file_in_the_wrong_place(world: World, name: str) -> None:
    for path in files(world, name) if "tmp" not in name else [world.store / "tmp"]:
        if path.is_dir():
            shutil.rmtree(path)
            path.write_text("a file")
        else:
            path.unlink()
            path.mkdir()
    for words in (*READING, *RECORDING):
        world.say(*words)


def mutants(data: bytes) -> Iterator[bytes]:
    """Each record of a file, each of its values replaced by values of other types."""
    for line in data.splitlines():
        record = json.loads(line)
        for key in record:
            for value in VALUES:
                yield json.dumps({**record, key: value}).encode() + b"\n"
            yield json.dumps({k: v for k, v in record.items() if k != key}).encode() + b"\n"


@pytest.mark.parametrize("name", ["ledger", "snapshots.jsonl", "operations.jsonl"])
def test_records_of_wrong_types_block_nothing(world: World, name: str) -> None:
    (path,) = files(world, name)
    data = path.read_bytes()
    project = Project.open(str(world.folder), str(world.data))
    for mutant in mutants(data):
        for body in (mutant, data + mutant, mutant + data):
            path.write_bytes(body)
            try:
                project.sessions(counts=False)
                project.operations()
            except Exception as error:
                raise AssertionError(mutant) from error
    path.write_bytes(b"".join(mutants(data)) + data)
    project.close()
    for words in (*READING, *RECORDING):
        world.say(*words)


@pytest.mark.parametrize("junk", range(len(JUNK)))
def test_garbage_in_the_open_turn(world: World, junk: int) -> None:
    world.say("record", "begin", "--session", "s")
    (path,) = (world.data / "open").glob("*.json")
    path.write_bytes(JUNK[junk])
    for words in (*READING, *RECORDING):
        world.say(*words)


def test_wrong_types_in_the_open_turn(world: World) -> None:
    world.say("record", "begin", "--session", "s")
    (path,) = (world.data / "open").glob("*.json")
    record = json.loads(path.read_text())
    for key in record:
        for value in VALUES:
            path.write_text(json.dumps({**record, key: value}))
            for words in (("log",), ("doctor",), RECORDING[1]):
                try:
                    world.say(*words)
                except AssertionError:
                    raise
                except Exception as error:
                    raise AssertionError((key, value, words)) from error


def test_no_git_on_the_path(world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    for words in (*READING, *RECORDING):
        code, _ = world.say(*words)
        if words[0] in ("log", "sessions", "doctor"):
            assert code == 0


def test_the_data_folder_is_a_file(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for place in (file, file / "below", Path("/dev/null"), Path("/proc/nowhere")):
        monkeypatch.setenv("TAKEBACK_DATA_DIR", str(place))
        for words in (("log",), ("doctor",), ("storage",), ("undo",), ("prune",), ("verify",)):
            world.say(*words)
        code, said = world.say("record", "begin", "--session", "s")
        assert code == 1, said
    assert file.read_text() == ""


def test_a_damaged_settings_file(world: World, tmp_path: Path) -> None:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    for body in (b"\xff", b"a = ", b"snapshots = 3\n", b"[snapshots]\n", b"\0"):
        config.write_bytes(body)
        for words in (("log",), ("doctor",), ("undo", "--dry-run")):
            world.say(*words)
    config.unlink()
    config.mkdir()
    world.say("log")
    world.say("doctor")


def test_a_damaged_project_settings_file(world: World) -> None:
    path = world.folder / ".takeback.toml"
    for body in (b"\xff", b"a = ", b"snapshots = 3\n", b"[snapshots]\n", b"\0"):
        path.write_bytes(body)
        for words in (("log",), ("doctor",), ("undo", "--dry-run")):
            world.say(*words)
