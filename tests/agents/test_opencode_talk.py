"""OpenCode's conversations, from its database: what was really said and done, nothing raised."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine.agents import interrupt
from takeback.engine.agents.opencode import conversation, rows
from takeback.engine.agents.opencode.events import READERS, translate
from takeback.engine.agents.talk import Source, Talk, TalkTurn
from takeback.engine.record.openturn import OpenTurn
from tests.agents.replay import JUNK, WEIRD
from tests.agents.test_opencode import DATA, payloads

NAMES = sorted(path.stem for path in DATA.glob("*.db"))
NEW: dict[str, list[dict[str, Any]]] = json.loads((DATA / "rows-v2.json").read_text("utf-8"))


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_DATA_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)


def talks(path: Path) -> list[Talk]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        query = "SELECT id FROM session ORDER BY time_created"
        found = [session for (session,) in database.execute(query)]
    read = [conversation.read(Source("opencode", session, str(path), ())) for session in found]
    assert None not in read
    return [talk for talk in read if talk is not None]


def talk(name: str) -> Talk:
    return talks(DATA / f"{name}.db")[0]


def shape(turn: TalkTurn) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(step.text, [(call.tool, call.state) for call in step.calls]) for step in turn.steps]


# --- What was said ----------------------------------------------------------------------------


def test_three_turns() -> None:
    found = talk("basic3")
    assert found.folder == b"/home/dev/shop" and found.parent == "" and found.agent == "opencode"
    assert found.session == payloads("basic3")[0]["session_id"] and found.title == "Fix total"
    one, two, three = found.turns
    assert one.prompt == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert shape(one) == [
        ("I read the file first.", [("read", "done")]),
        ("Now both files.", [("edit", "done"), ("write", "done")]),
        ("total() is fixed and NOTES.md is written.", []),
    ]
    assert [call.paths for call in one.steps[1].calls] == [
        (b"/home/dev/shop/src/cart.py",),
        (b"/home/dev/shop/NOTES.md",),
    ]
    assert [len(step.calls) for step in two.steps] == [1, 1, 0]
    assert two.steps[0].calls[0].command.startswith("sed -i ")
    assert [len(step.calls) for step in three.steps] == [0]
    assert not any(turn.interrupted for turn in found.turns)
    assert 0 < one.begun_ns < one.steps[0].calls[0].at_ns < one.ended_ns < two.begun_ns


@pytest.mark.parametrize("name", NAMES)
def test_the_plugin_names_turns_calls_and_texts_the_same(name: str) -> None:
    """What was recorded and what was said are joined by these."""
    found = {call.id: call for t in talks(DATA / f"{name}.db") for call in calls(t)}
    main = talk(name)
    prompts = {turn.key: turn.prompt for turn in main.turns}
    texts = [step.text for turn in main.turns for step in turn.steps]
    told = []
    for payload in payloads(name):
        for event in translate(payload, ()):
            if event.kind == "begin":
                assert prompts.pop(event.key) == event.prompt
            if event.kind == "tool-begin":
                call = found.pop(event.call)
                assert (call.tool, call.kind) == (event.tool, event.call_kind)
                assert (call.paths, call.command) == (event.paths, event.command)
            told += [event.text] if event.kind in ("step", "end") else []
    assert prompts == {} and {call.tool for call in found.values()} <= READERS
    # Of an answer that was interrupted no end is told.
    assert told == texts[1:] if name == "slow" else told == texts


def calls(talk: Talk) -> Iterator[Any]:
    for turn in talk.turns:
        for step in turn.steps:
            yield from step.calls


def test_an_interrupted_turn() -> None:
    slow, after = talk("slow").turns
    assert slow.interrupted and not after.interrupted and after.ended_ns
    assert shape(slow) == [("A slow command with a side effect.", [("bash", "lost")])]


def test_calls_that_failed() -> None:
    turn, _ = talk("fail").turns
    assert [found for _, found in shape(turn)] == [
        [("edit", "failed"), ("bash", "failed")],
        [("edit", "done")],
        [],
    ]


def test_a_subagent_is_a_conversation_of_its_own() -> None:
    parent, child = talks(DATA / "subagent.db")
    assert child.parent == parent.session and parent.parent == ""
    assert [shape(turn) for turn in child.turns] == [
        [("Writing.", [("write", "done")]), ("sub.txt is written.", [])]
    ]
    assert [call.tool for call in calls(parent)] == ["task"]


# --- A newer server ---------------------------------------------------------------------------


def made(path: Path, tables: dict[str, list[dict[str, Any]]], drop: str = "") -> Path:
    """A database with rows; columns are those of the rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        for name, found in tables.items():
            if not found:
                continue
            columns = [column for column in found[0] if column != drop]
            database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            for row in found:
                marks = ", ".join("?" * len(columns))
                values = [row[column] for column in columns]
                database.execute(f"INSERT INTO {name} VALUES ({marks})", values)
    return path


def test_the_rows_of_a_newer_server(tmp_path: Path) -> None:
    (found,) = talks(made(tmp_path / "opencode.db", NEW))
    (turn,) = found.turns
    assert found.title == turn.prompt == "[mv] v2" and turn.key == NEW["session_message"][0]["id"]
    assert shape(turn) == [("go", [("bash", "done")]), ("done", [])]
    assert turn.steps[0].calls[0].command == "mv c.txt renamed.txt; echo AG >> a.txt; rm old.txt"
    assert turn.ended_ns and not turn.interrupted


def test_a_newer_conversation_that_was_taken_back(tmp_path: Path) -> None:
    key = NEW["session_message"][0]["id"]
    tables = {**NEW, "session": [{**NEW["session"][0], "revert": json.dumps({"messageID": key})}]}
    (found,) = talks(made(tmp_path / "opencode.db", tables))
    assert found.turns == ()


@pytest.mark.parametrize("column", ["parent_id", "revert", "slug", "cost", "time_archived"])
def test_columns_may_be_missing(tmp_path: Path, column: str) -> None:
    tables = {"session": NEW["session"], "session_message": NEW["session_message"]}
    (found,) = talks(made(tmp_path / "opencode.db", tables, drop=column))
    assert len(found.turns) == 1


# --- Messages by themselves -------------------------------------------------------------------


class Rows:
    """A conversation, written down as an older server does."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.parts: list[tuple[str, str, str]] = []

    def part(self, message: str, **data: Any) -> None:
        self.parts.append((message, f"prt_{len(self.parts):04}", json.dumps(data)))

    def user(self, at: int, *said: str | dict[str, Any]) -> str:
        name = f"msg_{at:04}"
        self.messages.append((name, json.dumps({"role": "user", "time": {"created": at}})))
        for item in said:
            self.part(name, **({"type": "text", "text": item} if isinstance(item, str) else item))
        return name

    def answer(
        self, parent: str, at: int, until: int | None, *said: str | dict[str, Any], **more: Any
    ) -> str:
        name = f"msg_{at:04}"
        time = {"created": at, **({"completed": until} if until else {})}
        data = {"role": "assistant", "parentID": parent, "time": time, "finish": "stop", **more}
        self.messages.append((name, json.dumps(data)))
        for item in said:
            self.part(name, **({"type": "text", "text": item} if isinstance(item, str) else item))
        return name

    def turns(self, **revert: str) -> tuple[TalkTurn, ...]:
        return rows.turns(sorted(self.messages), self.parts, revert)


def tool(call: str, status: str = "completed", name: str = "bash", **state: Any) -> dict[str, Any]:
    return {
        "type": "tool", "tool": name, "callID": call, "state": {"status": status, **state},
    }  # fmt: skip


def test_a_prompt_that_waited_belongs_to_the_turn_that_ran() -> None:
    r = Rows()
    first = r.user(10, '"go on"')
    second = r.user(30, "and this")
    r.answer(first, 20, 50, "One.", finish="tool-calls")
    r.answer(second, 60, 70, "Two.")
    third = r.user(80, "then")
    r.answer(third, 81, 82, "Three.")
    one, two = r.turns()
    assert one.prompt == "go on\nand this" and one.key == first
    assert shape(one) == [("One.", []), ("Two.", [])] and not one.interrupted
    assert two.key == third


def test_a_prompt_after_an_agent_that_died_is_a_turn_of_its_own() -> None:
    r = Rows()
    r.answer(r.user(10, "go"), 20, None, tool("c", "running"))
    r.user(30, "again")
    one, two = r.turns()
    assert one.interrupted and shape(one) == [("", [("bash", "lost")])]
    assert two.prompt == "again" and not two.interrupted and two.steps == ()


def test_a_turn_that_runs_has_calls_that_run() -> None:
    r = Rows()
    r.answer(r.user(10, "go"), 20, None, "Building.", tool("c", "running", input={"command": "x"}))
    (turn,) = r.turns()
    assert not turn.interrupted and turn.ended_ns == 0
    assert shape(turn) == [("Building.", [("bash", "running")])]


def test_an_answer_that_was_aborted() -> None:
    r = Rows()
    r.answer(r.user(10, "go"), 20, 30, tool("c", "error"), error={"name": "MessageAbortedError"})
    (turn,) = r.turns()
    assert turn.interrupted and shape(turn) == [("", [("bash", "failed")])]


def test_what_opencode_writes_itself_is_no_prompt() -> None:
    r = Rows()
    first = r.user(10, "look at @a.py", {"type": "text", "text": "its content", "synthetic": True})
    r.answer(first, 20, 30, "Seen.")
    compact = r.user(40, {"type": "compaction", "auto": True})
    r.answer(compact, 41, 42, "A summary.", summary=True)
    on = r.user(50, {"type": "text", "text": "Continue", "synthetic": True})
    r.answer(on, 51, 52, "More.")
    shell = r.user(60, {"type": "text", "text": f"{rows._OF_THE_USER}.", "synthetic": True})
    r.answer(shell, 61, 62, tool("mine"))
    task = r.user(70, {"type": "subtask", "prompt": "review it", "agent": "general"})
    r.answer(task, 71, 72, "Reviewed.")
    one, two = r.turns()
    assert one.prompt == "look at @a.py" and shape(one) == [("Seen.", []), ("More.", [])]
    assert two.prompt == "review it"


def test_a_conversation_that_was_taken_back() -> None:
    r = Rows()
    first = r.user(10, "one")
    answer = r.answer(first, 20, 30, "Text.", tool("c"))
    second = r.user(40, "two")
    r.answer(second, 50, 60, "Done.")
    assert [turn.key for turn in r.turns(messageID=second)] == [first]
    assert r.turns(messageID=first) == ()
    (turn,) = r.turns(messageID=answer, partID=r.parts[2][1])
    assert shape(turn) == [("Text.", [])]
    assert len(r.turns(messageID="msg_9999")) == 2


# --- Finding them -----------------------------------------------------------------------------


def place(home: Path, root: Path) -> Path:
    """OpenCode's database in a home, with one session in a project and one in another folder."""
    (root / "sub").mkdir(parents=True)
    path = home / ".local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True)
    shutil.copy(DATA / "subagent.db", path)
    with closing(sqlite3.connect(path)) as database, database:
        where = "WHERE parent_id IS"
        database.execute(f"UPDATE session SET directory = ? {where} NULL", (str(root / "sub"),))
        database.execute(f"UPDATE session SET directory = '/else' {where} NOT NULL")
    return path


def find(root: Path, home: Path) -> list[Source]:
    return conversation.find(os.fsencode(root), os.fsencode(home))


def test_the_conversations_of_a_project(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "shop"
    path = place(home, root)
    (tmp_path / "link").symlink_to(root)
    (source,) = find(tmp_path / "link", home)
    assert source.place == str(path) and source.session == talk("subagent").session
    assert source.stamp[0] > 1 << 60
    assert find(tmp_path / "sho", home) == [] and find(root, tmp_path / "none") == []
    found = conversation.read(source)
    assert found is not None and len(found.turns) == 2


def test_a_stamp_changes_with_each_part(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "shop"
    path = place(home, root)
    (before,) = find(root, home)
    assert find(root, home) == [before]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "UPDATE part SET time_updated = time_updated + 1 WHERE id = "
            "(SELECT max(id) FROM part WHERE session_id = ?)",
            (before.session,),
        )
    (after,) = find(root, home)
    assert after.stamp != before.stamp


def test_a_database_in_use_and_one_that_nobody_uses(tmp_path: Path) -> None:
    home, root = tmp_path / "home", tmp_path / "shop"
    path = place(home, root)
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE session SET title = 'Newer' WHERE parent_id IS NULL")
        writer.commit()
        (source,) = find(root, home)
        found = conversation.read(source)
        assert found is not None and found.title == "Newer"
        writer.execute("BEGIN IMMEDIATE")
        assert conversation.read(source) == found
    before = sorted(entry.name for entry in path.parent.iterdir())
    assert conversation.read(source) == found and find(root, home)
    assert sorted(entry.name for entry in path.parent.iterdir()) == before


def test_other_names_of_the_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, root = tmp_path / "home", tmp_path / "shop"
    path = place(home, root)
    path.rename(path.with_name("opencode-dev.db"))
    (path.parent / "other.db").write_bytes(b"")
    (source,) = find(root, home)
    assert source.place.endswith("opencode-dev.db")
    monkeypatch.setenv("OPENCODE_DB", "none.db")
    assert find(root, home) == []
    monkeypatch.delenv("OPENCODE_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local/share"))
    assert len(find(root, tmp_path / "none")) == 1


def test_only_what_is_said_here_is_read() -> None:
    folder = Path(conversation.__file__).parent
    text = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    assert set(re.findall(r"FROM (\w+)", text)) == {"session", "message", "part", "session_message"}
    assert set(re.findall(r"for table in \((.*)\)", text)) == {
        '"message", "part", "session_message"'
    }
    assert "SELECT *" not in text


# --- What a database may hold -----------------------------------------------------------------


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_file_is_read(tmp_path: Path, data: st.DataObject) -> None:
    whole = (DATA / "subagent.db").read_bytes()
    cut = data.draw(st.integers(0, len(whole)))
    text = whole[:cut] + data.draw(st.binary(max_size=40))
    text += whole[cut + data.draw(st.integers(0, 400)) :] if data.draw(st.booleans()) else b""
    path = tmp_path / "home/.local/share/opencode/opencode.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    for source in find(Path("/home/dev"), tmp_path / "home"):
        conversation.read(source)
    conversation.read(Source("opencode", talk("subagent").session, str(path), ()))


def test_no_database(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/none", str(tmp_path), "a\0b", "\ud800", ""):
        assert conversation.read(Source("opencode", "s", path, ())) is None


ROW = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant"]) | WEIRD,
        "time": st.dictionaries(st.sampled_from(["created", "completed"]), WEIRD) | WEIRD,
        "parentID": st.sampled_from(["a", "b"]) | WEIRD,
        "finish": WEIRD,
        "error": WEIRD,
        "summary": WEIRD,
        "text": WEIRD,
        "content": st.lists(
            st.fixed_dictionaries(
                {"type": st.sampled_from(["tool", "text"]) | WEIRD},
                optional={"id": WEIRD, "name": WEIRD, "text": WEIRD, "state": WEIRD, "time": WEIRD},
            ),
            max_size=2,
        )
        | WEIRD,
    },
)
PART = st.fixed_dictionaries(
    {"type": st.sampled_from(["tool", "text", "subtask", "compaction"]) | WEIRD},
    optional={
        "tool": WEIRD,
        "callID": WEIRD,
        "text": WEIRD,
        "prompt": WEIRD,
        "synthetic": WEIRD,
        "state": st.dictionaries(
            st.sampled_from(["status", "input", "metadata", "time"]),
            WEIRD | st.dictionaries(st.sampled_from(["exit", "filePath", "start"]), WEIRD),
        )
        | WEIRD,
    },
)
ID = st.sampled_from(["a", "b", "c"]) | WEIRD


def written(value: Any) -> st.SearchStrategy[Any]:
    return value.map(json.dumps) | WEIRD | st.binary(max_size=5)


@settings(max_examples=200)
@given(
    st.lists(st.tuples(ID, written(ROW)), max_size=4),
    st.lists(st.tuples(ID, ID, written(PART)), max_size=5),
    st.dictionaries(st.sampled_from(["messageID", "partID"]), ID) | st.just({}),
)
def test_rows_of_any_shape(messages: Any, parts: Any, revert: Any) -> None:
    for found in (
        rows.turns(messages, parts, revert),
        rows.new_turns([(name, "user", data) for name, data in messages], revert),
        rows.new_turns([("u", "user", "{}"), *((n, "assistant", d) for n, d in messages)], revert),
    ):
        for turn in found:
            assert isinstance(turn.prompt, str) and isinstance(turn.key, str)
            assert turn.begun_ns >= 0 and turn.ended_ns >= 0
            for step in turn.steps:
                assert isinstance(step.text, str)
                assert all(call.id and isinstance(call.command, str) for call in step.calls)


@given(JUNK)
def test_values_of_any_type(value: Any) -> None:
    assert isinstance(rows.record(json.dumps(value)), dict)
    assert isinstance(rows.title(value), str) and isinstance(rows.number(value), int)
    assert isinstance(rows._ns(value), int)


# --- A turn that is over without a hook -------------------------------------------------------

DONE = {"role": "assistant", "time": {"completed": 1_700_000_000_000}, "finish": "stop"}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (DONE, True),
        ({**DONE, "error": {"name": "MessageAbortedError"}, "finish": None}, True),
        ({**DONE, "error": {"name": "APIError"}, "finish": "tool-calls"}, True),
        ({**DONE, "finish": "tool-calls"}, False),
        ({**DONE, "time": {"created": 1}}, False),
        ({**DONE, "time": {"completed": 1 << 42}}, False),
        ({**DONE, "role": "user"}, False),
        ({**DONE, "summary": True}, False),
        ({}, False),
    ],
)
def test_what_the_database_says_of_a_turns_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: dict[str, Any], expected: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    path = place(tmp_path / "home", tmp_path / "shop")
    newest = talk("slow").turns[-1].key
    with closing(sqlite3.connect(path)) as database, database:
        row = ("msg_zz", "s", 0, 0, json.dumps(message))
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
    turn = OpenTurn("s", "/p", "t", 1, "opencode", newest)
    assert interrupt.was_interrupted(turn) is expected
    for field, value in (("agent", "x"), ("key", ""), ("key", "n"), ("ended", True)):
        other = OpenTurn("s", "/p", "t", 1, "opencode", newest)
        setattr(other, field, value)
        assert not interrupt.was_interrupted(other)
    path.write_bytes(b"SQLite format 3\0 torn")
    assert not interrupt.was_interrupted(turn)
    path.unlink()
    assert not interrupt.was_interrupted(turn)
