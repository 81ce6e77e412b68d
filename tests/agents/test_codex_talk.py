"""Codex's conversations, from its own files: what was really said and done, and nothing raised."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents.codex import conversation
from takeback.engine.agents.codex.turns import _TAKES, Turns
from takeback.engine.agents.talk import Source, Talk, TalkTurn
from tests.agents.replay import JUNK
from tests.agents.test_codex import DATA, NAMES, ROLLOUTS, entry, payloads


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_HOME", raising=False)


def source(path: Path) -> Source:
    return Source("codex", "s", str(path), ())


def talk(name: str, at: int = 0) -> Talk:
    found = conversation.read(source(sorted((DATA / name).glob("rollout*"))[at]))
    assert found is not None
    return found


def told(*items: dict[str, Any], kind: str = "event_msg") -> tuple[TalkTurn, ...]:
    turns = Turns()
    for item in items:
        turns.add(entry(item.pop("line", kind), item).encode("utf-8", "surrogatepass"))
    return turns.result()


def shape(turn: TalkTurn) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(step.text, [(call.tool, call.state) for call in step.calls]) for step in turn.steps]


# --- What was said ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "plain", "codemode", "unknown"])
def test_three_turns(name: str) -> None:
    found = talk(name)
    assert found.session == payloads(name)[0]["session_id"]
    assert found.folder == b"/home/dev/shop" and found.parent == "" and found.agent == "codex"
    patch = "Bash" if name == "unknown" else "apply_patch"
    one, two, three = found.turns
    assert found.title == one.prompt == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert shape(one) == [
        ("I read the file first.", [("Bash", "done")]),
        ("Now both files.", [(patch, "done"), (patch, "done")]),
        ("total() is fixed and NOTES.md is written.", []),
    ]
    first, second = one.steps[1].calls
    assert first.paths == (b"/home/dev/shop/src/cart.py",)
    assert second.paths == (b"/home/dev/shop/NOTES.md",)
    assert one.steps[0].calls[0].command == "cat -- 'src/cart.py'"
    assert [len(step.calls) for step in two.steps] == [1, 1, 0]
    assert shape(three) == [
        ("I fixed total(), wrote NOTES.md, set the level and changed greet().", [])
    ]
    assert not any(turn.interrupted for turn in found.turns)
    assert 0 < one.begun_ns < one.ended_ns < two.begun_ns


@pytest.mark.parametrize("name", NAMES)
def test_hooks_name_turns_calls_and_prompts_the_same(name: str) -> None:
    """What was recorded and what was said are joined by these."""
    main = talk(name)
    calls = {call.id for turn in main.turns for step in turn.steps for call in step.calls}
    prompts = {turn.key: turn.prompt for turn in main.turns}
    for payload in payloads(name):
        if payload["hook_event_name"] == "UserPromptSubmit":
            assert prompts[payload["turn_id"]] == payload["prompt"]
        if payload["hook_event_name"] == "PreToolUse" and "agent_id" not in payload:
            assert payload["tool_use_id"] in calls
            calls.discard(payload["tool_use_id"])
    assert calls == set()


def test_an_interrupted_turn() -> None:
    slow, after = talk("slow").turns
    assert slow.interrupted and not after.interrupted
    assert shape(slow) == [("A slow command with a side effect.", [("Bash", "failed")])]


def test_calls_that_failed() -> None:
    turn, _ = talk("fail").turns
    assert [call for _, call in shape(turn)] == [
        [("apply_patch", "failed"), ("Bash", "failed")],
        [("apply_patch", "done")],
        [],
    ]
    assert turn.steps[0].calls[0].paths == (b"README.md",)


def test_a_file_that_was_moved_has_both_names() -> None:
    _, move = talk("rename").turns
    (call,) = (call for step in move.steps for call in step.calls)
    assert call.paths == (b"/home/dev/shop/config.ini", b"/home/dev/shop/shop.ini")


def test_a_subagent_is_a_conversation_of_its_own_without_the_copy_of_its_parents() -> None:
    parent, child = talk("subagent"), talk("subagent", 1)
    assert child.parent == parent.session and child.title == "Mendel"
    (turn,) = child.turns
    assert [text for text, _ in shape(turn)] == ["Writing.", "sub.txt is written."]
    assert [turn.key for turn in parent.turns] == [
        p["turn_id"] for p in payloads("subagent") if p["hook_event_name"] == "UserPromptSubmit"
    ]


# --- Lines by themselves ----------------------------------------------------------------------

STARTED = {"type": "task_started", "turn_id": "k"}


def item(**fields: Any) -> dict[str, Any]:
    return {"type": "item_completed", "turn_id": "k", "item": fields}


def said(text: str, kind: str = "AgentMessage") -> dict[str, Any]:
    return item(type=kind, content=[{"type": "text", "text": text}])


def test_a_turn_that_runs_has_calls_that_run() -> None:
    call = {
        "line": "response_item", "type": "function_call", "call_id": "c", "name": "exec_command",
        "arguments": '{"cmd": "make"}',
    }  # fmt: skip
    running = [dict(STARTED), said("go", "UserMessage"), said("Building."), dict(call)]
    (turn,) = told(*map(dict, running))
    assert turn.ended_ns == 0 and shape(turn) == [("Building.", [("Bash", "running")])]
    goes_on = {
        "line": "response_item", "type": "function_call_output", "call_id": "c",
        "output": "Process running with session ID 7",
    }  # fmt: skip
    (turn,) = told(*map(dict, running), dict(goes_on))
    assert turn.steps[0].calls[0].state == "running"
    over = {"type": "turn_aborted", "turn_id": "k"}
    (turn,) = told(*map(dict, running), dict(goes_on), over)
    assert turn.interrupted and turn.steps[0].calls[0].state == "lost"


def test_an_error_of_the_model_ends_a_turn_as_interrupted() -> None:
    error = {"type": "task_complete", "turn_id": "k", "error": {"message": "503"}}
    (turn,) = told(dict(STARTED), said("go", "UserMessage"), error)
    assert turn.interrupted and turn.ended_ns


def test_prompts_of_one_turn_are_joined() -> None:
    (turn,) = told(dict(STARTED), said("one", "UserMessage"), said("two", "UserMessage"))
    assert turn.prompt == "one\ntwo"


def test_turns_that_were_taken_back_are_no_part_of_it() -> None:
    lines: list[dict[str, Any]] = []
    for key in "abc":
        lines += [{"type": "task_started", "turn_id": key}, said(key, "UserMessage")]
    lines.append({"type": "thread_rolled_back", "num_turns": 2})
    assert [turn.key for turn in told(*lines)] == ["a"]
    for odd in (0, -1, True, "2", None, 9):
        told(dict(STARTED), {"type": "thread_rolled_back", "num_turns": odd})


def test_commands_of_the_user_are_not_the_agents() -> None:
    command = item(type="CommandExecution", id="u", source="user_shell", command=["ls"])
    (turn,) = told(dict(STARTED), said("go", "UserMessage"), command)
    assert turn.steps == ()


def test_a_scripts_command_that_goes_on_belongs_to_the_answer_that_began_it() -> None:
    """As measured: its item comes when it ends, after the next answer."""
    turns = Turns()

    def add(second: int, kind: str, payload: dict[str, Any]) -> None:
        line = entry(kind, payload).replace("00:00:00", f"00:00:{second:02}")
        turns.add(line.encode())

    script = {"type": "custom_tool_call", "call_id": "s", "name": "exec", "input": "..."}
    command = item(type="CommandExecution", id="exec-1", status="completed", command=["make"])
    begun_ms = 1_796_083_202_000
    add(0, "event_msg", dict(STARTED))
    add(1, "event_msg", said("Building."))
    add(1, "response_item", script)
    add(3, "response_item", {"type": "custom_tool_call_output", "call_id": "s", "output": "1"})
    add(4, "event_msg", said("It runs."))
    add(9, "event_msg", {**command, "started_at_ms": begun_ms})
    (turn,) = turns.result()
    assert shape(turn) == [("Building.", [("Bash", "done")]), ("It runs.", [])]


def test_what_older_versions_wrote() -> None:
    answer = {"line": "response_item", "type": "function_call", "name": "shell"}
    turns = told(
        {"type": "user_message", "message": "fix it"},
        {"type": "agent_message", "message": "Looking."},
        {**answer, "call_id": "a", "arguments": '{"command": ["bash", "-lc", "cat x"]}'},
        {"type": "exec_command_end", "call_id": "a", "exit_code": 1},
        {"line": "response_item", "type": "function_call_output", "call_id": "a", "output": "{}"},
        {"line": "response_item", "type": "custom_tool_call", "call_id": "b", "name": "apply_patch",
         "input": "*** Begin Patch\n*** Delete File: x\n*** End Patch"},
        {"type": "patch_apply_end", "call_id": "b", "success": True, "changes": {"/p/x": {}}},
        {"type": "agent_message", "message": "Gone."},
        {"type": "user_message", "message": "thanks"},
    )  # fmt: skip
    one, two = turns
    assert one.prompt == "fix it" and two.prompt == "thanks" and one.key == ""
    assert [(c.id, c.command, c.state) for s in one.steps for c in s.calls] == [
        ("a", "cat x", "failed"),
        ("b", "", "done"),
    ]
    assert one.steps[1].calls[0].paths == (b"/p/x",)


# --- Finding them -----------------------------------------------------------------------------


class Home:
    def __init__(self, place: Path) -> None:
        self.path, self.root = place / "home", place / "shop"
        self.folder = self.path / ".codex"
        self.root.mkdir(parents=True)
        (self.folder / "sessions").mkdir(parents=True)

    def add(self, name: str, cwd: Path | None = None, under: str = "sessions/2026/12/01") -> Path:
        (self.folder / under).mkdir(parents=True, exist_ok=True)
        (path,) = (DATA / name).glob("rollout*")
        text = path.read_text("utf-8").replace("/home/dev/shop", str(cwd or self.root))
        new = self.folder / under / path.name
        new.write_text(text, "utf-8")
        return new

    def found(self) -> list[Source]:
        return conversation.find(os.fsencode(self.root), os.fsencode(self.path))

    def database(self, path: Path, cwd: Path, file: str = "state_5.sqlite", **more: str) -> None:
        with sqlite3.connect(self.folder / file) as db:
            db.execute("DROP TABLE IF EXISTS threads")
            db.execute("CREATE TABLE threads (id, rollout_path, cwd, title, name)")
            row = (more.get("id", "s"), str(path), str(cwd), more.get("title"), more.get("name"))
            db.execute("INSERT INTO threads VALUES (?, ?, ?, ?, ?)", row)
        db.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_sessions_of_the_project_are_found(home: Home) -> None:
    one = home.add("basic3")
    two = home.add("slow", home.root / "src")
    home.add("fail", home.root.parent / "shop2")
    old = home.add("plain", under="archived_sessions")
    (home.folder / "sessions/rollout-x.txt").write_text("no")
    (home.folder / "sessions/rollout-y.jsonl").write_text('{"torn')
    (home.folder / "sessions/rollout-z.jsonl").mkdir()
    found = home.found()
    assert [source.place for source in found] == [str(one), str(two), str(old)]
    assert found[0].session == payloads("basic3")[0]["session_id"]
    before = found[0].stamp
    with one.open("a") as file:
        file.write("{}\n")
    assert home.found()[0].stamp != before


def test_a_link_to_the_project_is_the_project(home: Home) -> None:
    link = home.root.parent / "link"
    link.symlink_to(home.root)
    home.add("basic3", link)
    assert len(home.found()) == 1


def test_the_database_says_where_sessions_are_and_how_they_are_called(home: Home) -> None:
    path = home.add("basic3", home.root.parent / "elsewhere")
    assert home.found() == []
    home.database(path, home.root, title="Carts", id="01a")
    home.database(path, home.root.parent, "state_4.sqlite", title="older")
    (found,) = home.found()
    assert found.session == "01a" and found.place == str(path)
    real = payloads("basic3")[0]["session_id"]
    home.database(path, home.root, title="Carts", id=real)
    said = conversation.read(found)
    assert said is not None and said.title == "Carts"
    home.database(path, home.root, title="Carts", name="Mine", id=real)
    said = conversation.read(found)
    assert said is not None and said.title == "Mine"


def test_the_real_database_is_understood(home: Home) -> None:
    shutil.copy(DATA / "basic3/state_5.sqlite", home.folder)
    path = home.add("basic3")
    assert len(home.found()) == 1
    said = conversation.read(home.found()[0])
    assert said is not None and said.title.startswith("[1] Fix total()")
    path.unlink()
    assert home.found() == [] and conversation.read(source(path)) is None


@pytest.mark.parametrize("data", [b"", b"no database", b"SQLite format 3\0" + b"\0" * 200])
def test_without_a_database_the_files_say_all(home: Home, data: bytes) -> None:
    home.add("basic3")
    (home.folder / "state_9.sqlite").write_bytes(data)
    (found,) = home.found()
    said = conversation.read(found)
    assert said is not None and said.title.startswith("[1] Fix total()")
    assert (home.folder / "state_9.sqlite").read_bytes() == data


def test_a_database_of_another_form_is_passed_over(home: Home) -> None:
    path = home.add("basic3")
    with sqlite3.connect(home.folder / "state_7.sqlite") as db:
        db.execute("CREATE TABLE threads (id, rollout_path, cwd)")
        db.execute("INSERT INTO threads VALUES (x'ff', 3, NULL)")
    db.close()
    assert [source.place for source in home.found()] == [str(path)]


def test_nothing_of_codexs_is_written(home: Home) -> None:
    path = home.add("basic3")
    home.database(path, home.root, title="Carts")
    before = sorted((p, p.stat().st_mtime_ns) for p in home.folder.rglob("*"))
    conversation.read(home.found()[0])
    assert sorted((p, p.stat().st_mtime_ns) for p in home.folder.rglob("*")) == before


def test_without_codex_there_is_nothing(tmp_path: Path) -> None:
    assert conversation.find(os.fsencode(tmp_path), os.fsencode(tmp_path / "none")) == []


# --- Forks, and users who went back -----------------------------------------------------------


class Thread:
    """Rollouts as Codex writes them: a new file that goes on from a place in another."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.folder / "sessions/2026/12/01"
        self.folder.mkdir(parents=True, exist_ok=True)

    def write(
        self, at: int, thread: str, first: int, keys: str, base: dict[str, Any] | None = None
    ) -> Path:
        more = {"history_base": base, "forked_from_id": (base or {}).get("thread_id")}
        meta = {"id": thread, "cwd": str(self.home.root), **(more if base else {})}
        lines = [entry("session_meta", meta)]
        for key in keys:
            lines.append(entry("event_msg", {"type": "task_started", "turn_id": key}))
            lines.append(entry("event_msg", said(key, "UserMessage")))
        path = self.folder / f"rollout-2026-12-01T00-00-0{at}-{thread}.jsonl"
        text = (
            line.replace('"ordinal":1', f'"ordinal":{n}') for n, line in enumerate(lines, first)
        )
        path.write_text("".join(text), "utf-8")
        return path

    def base(self, path: Path, thread: str, lines: int) -> dict[str, Any]:
        """The place in a file after so many of its lines."""
        kept = path.read_bytes().splitlines(keepends=True)[:lines]
        end = int(json.loads(kept[-1])["ordinal"]) + 1
        size = sum(map(len, kept))
        return {"thread_id": thread, "end_ordinal_exclusive": end, "end_byte_offset": size}

    def keys(self) -> dict[str, str]:
        found = {}
        for one in self.home.found():
            said = conversation.read(one)
            assert said is not None
            found[said.session] = "".join(turn.key for turn in said.turns)
        return found


def test_a_fork_begins_with_its_parents_conversation(home: Home) -> None:
    t = Thread(home)
    one = t.write(1, "p", 0, "abc")
    two = t.write(2, "f", 5, "x", t.base(one, "p", 5))
    t.write(3, "g", 8, "y", t.base(two, "f", 3))
    assert t.keys() == {"p": "abc", "f": "abx", "g": "abxy"}
    (fork,) = (
        talk for talk in map(conversation.read, home.found()) if talk and talk.session == "f"
    )
    assert fork.parent == "p"


def test_a_user_who_went_back_goes_on_in_a_new_file_of_the_same_session(home: Home) -> None:
    t = Thread(home)
    one = t.write(1, "p", 0, "abc")
    two = t.write(2, "p_2", 3, "x", t.base(one, "p", 3))
    text = two.read_text().replace('"id":"p_2"', '"id":"p"')
    two.write_text(text)
    assert t.keys() == {"p": "ax"}
    # The database knows which file it is, should a newer one have been left.
    home.database(one, home.root, id="p")
    assert t.keys() == {"p": "abc"}


@pytest.mark.parametrize(
    "odd",
    [
        {"thread_id": "none"},
        {"end_byte_offset": 7},
        {"end_byte_offset": 10**30},
        {"end_byte_offset": -1},
        {"end_byte_offset": "x"},
        {"end_ordinal_exclusive": 4},
        {"thread_id": ["p"]},
    ],
)
def test_a_past_that_is_not_where_it_should_be_is_left_out(home: Home, odd: Any) -> None:
    t = Thread(home)
    one = t.write(1, "p", 0, "abc")
    t.write(2, "f", 5, "x", {**t.base(one, "p", 5), **odd})
    assert t.keys() == {"p": "abc", "f": "x"}


def test_files_that_go_on_from_each_other_end(home: Home) -> None:
    t = Thread(home)
    one = t.write(1, "p", 0, "ab")
    two = t.write(2, "q", 0, "cd", t.base(one, "p", 5))
    t.write(1, "p", 0, "ab", t.base(two, "q", 5))
    assert set(t.keys()) == {"p", "q"}


# --- What a file may hold ---------------------------------------------------------------------


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "empty").write_text("")
    for place in ("/none", str(tmp_path), str(tmp_path / "pipe"), str(tmp_path / "empty"), "a\0b"):
        assert conversation.read(Source("codex", "s", place, ())) is None


def test_a_torn_last_line_and_lines_that_are_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_LONGEST_LINE", 4000)
    meta = entry("session_meta", {"id": "s", "cwd": "/p"})
    lines = [meta, entry("event_msg", dict(STARTED)), entry("event_msg", said("go", "UserMessage"))]
    long = entry("event_msg", said("x" * 9000))
    path = tmp_path / "r.jsonl"
    path.write_text("".join([*lines, long, entry("event_msg", said("short"))]) + '{"type":"ev')
    found = conversation.read(source(path))
    assert found is not None
    assert [step.text for step in found.turns[0].steps] == ["short"]


@settings(max_examples=80)
@given(st.data())
def test_any_file_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(ROLLOUTS)).read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.binary(max_size=40) | JUNK.map(lambda value: json.dumps(value).encode()))
    path = tmp_path_factory.mktemp("r") / "rollout-x.jsonl"
    path.write_bytes(raw[:cut] + junk + raw[cut + data.draw(st.integers(0, 3000)) :])
    found = conversation.read(source(path))
    assert found is None or isinstance(found, Talk)


FIELDS = st.sampled_from(
    ["turn_id", "item", "id", "call_id", "name", "arguments", "input", "output", "content", "text",
     "type", "changes", "command", "status", "exit_code", "message", "num_turns", "move_path",
     "error", "source", "action", "namespace", "success"]
)  # fmt: skip
KINDS = st.sampled_from(["UserMessage", "AgentMessage", "CommandExecution", "FileChange", "x"])
VALUES = st.recursive(
    JUNK | KINDS | st.sampled_from(["a", "b", "apply_patch", "exec_command", "{}", '{"cmd": 3}']),
    lambda inner: st.dictionaries(FIELDS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=8,
)
HEADS = st.sampled_from(
    [
        *[("event_msg", name) for name in _TAKES],
        ("response_item", "function_call"),
        ("response_item", "custom_tool_call"),
        ("response_item", "local_shell_call"),
        ("response_item", "function_call_output"),
        ("token_usage_record", "x"),
    ]
)


@settings(max_examples=300)
@given(st.lists(st.tuples(HEADS, st.dictionaries(FIELDS, VALUES, max_size=5)), max_size=8))
def test_lines_with_fields_of_any_type(lines: list[tuple[tuple[str, str], dict[str, Any]]]) -> None:
    items = [{"line": kind, **fields, "type": name} for (kind, name), fields in lines]
    items = [{"line": one.pop("line"), "type": one.pop("type"), **one} for one in items]
    for turn in told(*items):
        assert isinstance(turn.prompt, str) and isinstance(turn.key, str)
        for step in turn.steps:
            assert isinstance(step.text, str)
            for call in step.calls:
                assert call.id and all(isinstance(path, bytes) and path for path in call.paths)
                assert isinstance(call.command, str)
