"""The agents' own files, spoiled in many ways: a project's conversations are shown all the same."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import conversations, readable
from takeback.engine.agents.claude import conversation
from tests.agents.players import AGENTS, Stage

DATA = Path(__file__).parent / "data"
VARIANTS = 25
"""Of each agent's files."""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(conversations, "_talks", {})
    monkeypatch.setattr(conversation, "_heads", {})
    own = ("GEMINI_CLI_HOME", "OPENCODE_DB", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR")
    for name in own:
        monkeypatch.delenv(name, raising=False)
    return Stage(tmp_path, monkeypatch)


def put_files(agent: str, stage: Stage) -> None:
    """Everything that was captured of an agent, in its place."""
    home, data = stage.home, DATA / agent
    if agent == "claude":
        slug = home / ".claude/projects/-home-dev-shop"
        for folder in (data / "talks").iterdir():
            shutil.copytree(folder, slug, dirs_exist_ok=True)
    elif agent == "codex":
        sessions = home / ".codex/sessions/2026/12/01"
        sessions.mkdir(parents=True)
        for path in data.glob("*/rollout*"):
            shutil.copy(path, sessions)
    elif agent == "gemini":
        for folder in data.iterdir():
            shutil.copytree(folder, home / ".gemini", dirs_exist_ok=True)
        (home / ".gemini/hooks.jsonl").unlink()
    elif agent == "pi":
        slug = "--" + str(stage.root).lstrip("/").replace("/", "-") + "--"
        sessions = home / ".pi/agent/sessions" / slug
        sessions.mkdir(parents=True)
        for path in data.glob("*/sessions/*/*.jsonl"):
            shutil.copy(path, sessions)
    else:
        folder = home / ".local/share/opencode"
        folder.mkdir(parents=True)
        shutil.copy(data / "basic3.db", folder / "opencode.db")
    for path in home.rglob("*"):
        if path.is_file() and path.suffix != ".db":
            text = path.read_bytes().replace(b"/home/dev/shop", os.fsencode(stage.root))
            path.write_bytes(text)
        elif path.is_file():
            _rows(path, lambda value: _moved(value, str(stage.root)))


def _moved(value: Any, root: str) -> Any:
    held = isinstance(value, str) and "/home/dev/shop" in value
    return value.replace("/home/dev/shop", root) if held else value


def odd(dice: random.Random) -> Any:
    return dice.choice(
        [
            None, False, -1, 1.5e300, 10**40, "", "\0", "\ud800", "2026-99-99T99:99Z", "x" * 999,
            [], {}, [[]], [None, 3, {"type": 4}], {"type": "text"}, {"text": []}, "/" * 300,
        ]
    )  # fmt: skip


def spoil_value(value: Any, dice: random.Random) -> Any:
    """A JSON value with another one somewhere in it, or with something missing."""
    if not isinstance(value, (dict, list)) or not value or dice.random() < 0.15:
        return odd(dice)
    keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
    key = dice.choice(keys)
    if dice.random() < 0.2:
        del value[key]
    else:
        value[key] = spoil_value(value[key], dice)
    return value


def spoil_text(text: str, dice: random.Random) -> str:
    """The same for JSON as text."""
    try:
        return json.dumps(spoil_value(json.loads(text), dice))
    except ValueError:
        return text


def _no_json(dice: random.Random) -> bytes:
    return dice.choice(
        [b"", b"\0" * 50, b"\xff\xfe\xfa", b"{", b"[" * 60_000, b"3", b"null", b'"x"', b"[1, 2]",
         b'{"type": ', b"{}" * 3, b'{"a": "' + b"y" * 3_000_000 + b'"}']
    )  # fmt: skip


def spoil_file(data: bytes, dice: random.Random) -> bytes:
    """A file of lines, or of one document, torn, mixed up, or with other values."""
    rows = data.split(b"\n")
    at = dice.randrange(len(rows))
    way = dice.randrange(7)
    if way == 0:
        return data[: dice.randrange(len(data) + 1)]
    if way == 1:
        return b"\n".join(row for row in rows if dice.random() < 0.7)
    if way == 2:
        rows.insert(at, _no_json(dice))
    elif way == 3:
        dice.shuffle(rows)
    elif way == 4:
        spoiled = bytearray(data)
        for _ in range(20):
            spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
        return bytes(spoiled)
    else:
        for at in range(len(rows)):
            if dice.random() < 0.4 or len(rows) < 3:
                text = rows[at].decode("utf-8", "replace")
                rows[at] = spoil_text(text, dice).encode("utf-8", "surrogatepass")
    return b"\n".join(rows)


def spoil_database(path: Path, dice: random.Random) -> None:
    """Rows with values of other types, or a file that is torn."""
    if dice.random() < 0.25:
        data = bytearray(path.read_bytes())
        for _ in range(200):
            data[dice.randrange(100, len(data))] = dice.randrange(256)
        path.write_bytes(data[: dice.randrange(len(data))] if dice.random() < 0.5 else data)
        return
    _rows(path, lambda value: _spoil_cell(value, dice) if dice.random() < 0.2 else value)


def _spoil_cell(value: Any, dice: random.Random) -> Any:
    if isinstance(value, str) and value.startswith("{") and dice.random() < 0.8:
        return spoil_text(value, dice)
    return dice.choice([None, -1, 2**62, 0.5, "", "x", b"\xff\0", "{", "[]", "3"])


def _rows(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the values of OpenCode's database, but for what the schema does not let change."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA foreign_keys = OFF")
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            names = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            for row in database.execute(f'SELECT rowid, * FROM "{table}"').fetchall():
                for name, value in zip(names, row[1:], strict=True):
                    new = change(value)
                    if new is value:
                        continue
                    try:
                        database.execute(
                            f'UPDATE "{table}" SET "{name}" = ? WHERE rowid = ?', (new, row[0])
                        )
                    except (sqlite3.IntegrityError, sqlite3.DataError):
                        continue
        database.commit()


@pytest.mark.parametrize("agent", AGENTS)
def test_conversations_of_any_shape(stage: Stage, agent: str) -> None:
    put_files(agent, stage)
    good = {path: path.read_bytes() for path in stage.home.rglob("*") if path.is_file()}
    whole = stage.project().conversations()
    assert whole.failed == () and len(whole.past) >= (1 if agent == "opencode" else 5)
    # One of them is recorded, too: what was said is joined with it.
    known = whole.past[0]
    player = stage.player(agent, known.id)
    player.prompt(known.turns[0].prompt)
    player.edit("a.txt", lambda old: "a\n")
    player.stop()
    dice = random.Random(f"files of {agent}")
    for number in range(VARIANTS):
        path = dice.choice(sorted(good))
        if path.suffix == ".db":
            spoil_database(path, dice)
        else:
            path.write_bytes(spoil_file(good[path], dice))
        conversations._talks.clear()
        found = stage.project().conversations()
        assert found.failed == (), (number, path)
        assert [session.id for session in found.sessions] == [known.id]
        assert found.sessions[0].turns[0].changes
        if path.name != "projects.json" and path.suffix == ".jsonl":
            # The files that are whole are read as ever.
            assert len(found.past) >= len(whole.past) - 3, (number, path)
        for each, data in good.items():
            each.write_bytes(data)
    assert stage.errors() == []


def test_words_that_are_no_text_and_folders_that_are_no_paths(stage: Stage) -> None:
    """A copied conversation whose first line has an id of half a character, and one whose folder
    holds a NUL."""
    put_files("claude", stage)
    folder = stage.home / ".claude/projects/-home-dev-shop"
    (copy,) = folder.glob("430b1d70*.jsonl")
    rows = [json.loads(row) for row in copy.read_text("utf-8").splitlines()]
    next(row for row in rows if "uuid" in row)["uuid"] = "\ud800"
    copy.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    (plain,) = folder.glob("65c64de5*.jsonl")
    rows = [json.loads(row) for row in plain.read_text("utf-8").splitlines()]
    for row in rows:
        if "cwd" in row:
            row["cwd"] = "/gone\0"
    rows.insert(0, {"type": "mode", "cwd": str(stage.root)})
    plain.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    assert stage.project().conversations().failed == ()


def spoiled(stage: Stage) -> dict[str, tuple[bool, str]]:
    home = os.fsencode(stage.home)
    return {
        name: (ok, text)
        for name, ok, text, _ in readable.status(os.fsencode(os.path.realpath(stage.root)), home)
    }


@pytest.mark.parametrize("agent", AGENTS)
def test_doctor_names_files_that_can_be_read_only_in_part(stage: Stage, agent: str) -> None:
    put_files(agent, stage)
    assert spoiled(stage) == {}
    if agent == "opencode":
        path = stage.home / ".local/share/opencode/opencode.db"
        path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    else:
        path = Path(conversations_of(stage, agent)[0])
        whole = path.read_bytes()
        path.write_bytes(whole + b'{"type": "being written')
        assert spoiled(stage) == {}, "a line that is just written is no trouble"
        path.write_bytes(whole + b"\0\0\0\n[1]\n")
    (name,) = found = spoiled(stage)
    ok, text = found[name]
    assert name == agent and not ok
    assert str(path) in text
    assert agent == "opencode" or "2 lines of" in text


def conversations_of(stage: Stage, agent: str) -> list[str]:
    readers = dict(conversations.readers())
    found = readers[agent].find(os.fsencode(os.path.realpath(stage.root)), os.fsencode(stage.home))
    return [source.place for source in found if source.place.endswith(".jsonl")]


def test_doctor_names_a_transcript_of_which_nothing_is_left(stage: Stage) -> None:
    slug = re.sub(r"[^a-zA-Z0-9]", "-", os.path.realpath(stage.root))
    folder = stage.home / ".claude/projects" / slug
    folder.mkdir(parents=True)
    (folder / "begun.jsonl").write_text('{"type": "mode"}\n')
    assert spoiled(stage) == {}
    (folder / "gone.jsonl").write_bytes(b"\x93\xff\n" * 7)
    assert "7 lines of" in spoiled(stage)["claude"][1]


@pytest.mark.parametrize("agent", ["opencode", "codex"])
def test_a_pipe_in_the_place_of_a_database_is_none(stage: Stage, agent: str) -> None:
    name = {"opencode": ".local/share/opencode/opencode.db", "codex": ".codex/state_5.sqlite"}
    path = stage.home / name[agent]
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    assert stage.project().conversations().past == ()
    assert agent == "codex" or "no database" in spoiled(stage)[agent][1]


def test_doctor_names_files_that_may_not_be_read(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_files("pi", stage)
    path = conversations_of(stage, "pi")[0]
    real = os.open

    def refuse(name: str, *rest: int, **more: int) -> int:
        if name == path:
            raise PermissionError(13, "Permission denied", name)
        return real(name, *rest, **more)

    monkeypatch.setattr(os, "open", refuse)
    assert "Permission denied" in spoiled(stage)["pi"][1]


def test_doctor_goes_on_where_an_agents_reader_fails(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(root: bytes, home: bytes) -> list[Any]:
        raise RuntimeError("odd")

    monkeypatch.setattr(conversation, "find", fail)
    assert "cannot be looked for (RuntimeError)" in spoiled(stage)["claude"][1]
