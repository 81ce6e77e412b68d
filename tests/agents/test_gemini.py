"""Gemini CLI's own payloads and chats, captured from real runs, against what really happened."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine.agents import hook, interrupt
from takeback.engine.agents.gemini import chat, tools
from takeback.engine.agents.gemini import events as gemini
from takeback.engine.agents.gemini import interrupt as gemini_interrupt
from takeback.engine.facts import Event
from takeback.engine.model import Request, Turn
from takeback.engine.record import openturn
from takeback.engine.record.openturn import OpenTurn
from tests.agents import replay as replays
from tests.agents.replay import FIRST, JUNK, SECOND, SHOP, WEIRD, changes, lines, summary

DATA = Path(__file__).parent / "data/gemini"
NAMES = sorted(path.name for path in DATA.iterdir())
CHATS = sorted(DATA.glob("*/tmp/*/chats/**/*.jsonl"))


def payloads(name: str) -> list[dict[str, Any]]:
    return [line["payload"] for line in lines(DATA / name / "hooks.jsonl")]


def written(line: dict[str, Any]) -> str:
    """When a line of a chat was written, as far as it says."""
    inner = line.get("$set", {})
    calls = [call["timestamp"] for call in line.get("toolCalls", [])]
    return max([line.get("timestamp", ""), line.get("startTime", ""), *calls,
                inner.get("lastUpdated", "")])  # fmt: skip


class Replay(replays.Replay):
    """A captured run once more: its payloads to the hook, its chats as they were at that time, its
    writes to a folder of ours."""

    agent = "gemini"

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(place, monkeypatch)
        self.home = place / ".gemini"

    def run(self, name: str, chats: bool = True, stop: Callable[..., bool] | None = None) -> None:
        for payload in payloads(name):
            if stop is not None and stop(payload):
                return
            if chats:
                self.until(name, payload["timestamp"])
            self.step(payload)

    def step(self, payload: dict[str, Any]) -> None:
        self.send(payload)
        if payload["hook_event_name"] == "BeforeTool":
            self._work(payload["tool_name"], payload["tool_input"])

    def until(self, name: str, t: str) -> None:
        """The chats as they were at a time."""
        for path in (DATA / name).glob("tmp/*/chats/*.jsonl"):
            known, last = [], ""
            for text in path.read_text("utf-8").splitlines(keepends=True):
                last = max(last, written(json.loads(text)))
                if last <= t:
                    known.append(text)
            file = self.home / path.relative_to(DATA / name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.moved("".join(known)), "utf-8")

    def place(self, name: str) -> None:
        """All of Gemini CLI's own files as they were at the end of a run."""
        for path in (DATA / name).rglob("*"):
            if path.is_file() and path.name != "hooks.jsonl":
                file = self.home / path.relative_to(DATA / name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(self.moved(path.read_text("utf-8")), "utf-8")

    def _work(self, tool: str, given: dict[str, Any]) -> None:
        path = Path(self.moved(str(given.get("file_path", ""))))
        if tool == "replace" and given["old_string"] in path.read_text():
            path.write_text(path.read_text().replace(given["old_string"], given["new_string"]))
        elif tool == "write_file":
            self.write(given["file_path"], given["content"])
        elif tool == "run_shell_command":
            self.shell(given["command"])


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    return Replay(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def quiet(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No hook writes to standard output: Gemini CLI takes that as JSON."""
    yield
    assert capfd.readouterr().out == ""


# --- What happened, as it was captured --------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "plain"])
def test_three_turns_in_three_processes(replay: Replay, name: str) -> None:
    replay.run(name)
    one, two, three = replay.turns()
    # The samples hold the hooks of reading tools as well, which we do not subscribe to.
    assert summary(one) == ("[1]", "complete", 3, 3)
    assert summary(two) == ("[2]", "complete", 3, 2)
    assert summary(three) == ("[3]", "complete", 1, 0)
    assert one.complete and two.complete and three.complete
    assert changes(one) == FIRST and changes(two) == SECOND and changes(three) == {}
    assert [step.text for step in one.steps] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert [[call.tool for call in step.calls] for step in one.steps] == [
        ["read_file"],
        ["replace", "write_file"],
        [],
    ]
    assert {call.state for turn in (one, two) for call in turn.calls} == {"done"}
    assert replay.errors() == []
    (session,) = replay.project().sessions()
    assert session.agent == "gemini" and session.id == payloads(name)[0]["session_id"]


def test_calls_have_names_of_their_own(replay: Replay) -> None:
    replay.run("basic3")
    names = [call.id for turn in replay.turns() for call in turn.calls]
    assert len(set(names)) == 5
    assert all(name.startswith(("3ee2ae28-", "e4fa6cce-")) for name in names)


def test_without_a_chat_the_steps_are_lost_and_nothing_else(replay: Replay) -> None:
    replay.run("basic3", chats=False)
    one, two, three = replay.turns()
    assert summary(one) == ("[1]", "complete", 1, 3)
    assert one.steps[-1].text.endswith("total() is fixed and NOTES.md is written. ")
    assert changes(one) == FIRST and changes(two) == SECOND and changes(three) == {}


def test_undo_of_a_replayed_run_gives_the_bytes_back(replay: Replay) -> None:
    replay.run("basic3")
    replays.takes_all_back(replay)


def test_an_interrupted_command(replay: Replay) -> None:
    replay.run("slow")
    slow, after = replay.turns()
    assert summary(slow)[:2] == ("[slow]", "interrupted")
    assert [call.state for call in slow.calls] == ["lost"]
    assert changes(slow) == {"slow1.txt": ("added", "during-call")}
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_calls_that_fail(replay: Replay) -> None:
    replay.run("fail")
    turn, after = replay.turns()
    assert summary(turn) == ("[fail]", "complete", 3, 3)
    assert [(call.tool, call.state) for call in turn.calls] == [
        ("replace", "failed"),
        ("run_shell_command", "failed"),
        ("replace", "done"),
    ]
    assert [len(step.calls) for step in turn.steps] == [2, 1, 0]
    assert changes(turn) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    assert changes(after) == {}


def test_renames_are_two_changes(replay: Replay) -> None:
    replay.run("rename")
    one, two = replay.turns()
    assert changes(one)["src/price.py"] == ("deleted", "during-call")
    assert changes(one)["src/pricing.py"] == ("added", "mixed")
    assert changes(two) == {
        "config.ini": ("deleted", "during-call"),
        "shop.ini": ("added", "during-call"),
    }


def test_what_lies_outside_is_left_alone_and_secrets_are_not_kept(replay: Replay) -> None:
    replay.run("outside")
    (turn,) = replay.turns()
    assert [call.tool for call in turn.calls] == ["run_shell_command"]
    assert changes(turn) == {}
    for path in replay.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_a_subagents_work_belongs_to_the_turn(replay: Replay) -> None:
    replay.run("subagent")
    turn, after = replay.turns()
    assert turn.prompt == "[delegate] Let a subagent write sub.txt."
    assert summary(turn) == ("[delegate]", "complete", 2, 2)
    assert changes(turn) == {"sub.txt": ("added", "tool-edit")}
    assert {call.state for call in turn.calls} == {"done"}
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_a_terminal_with_a_return_to_a_checkpoint_and_a_cancelled_command(replay: Replay) -> None:
    def restores(payload: dict[str, Any]) -> bool:
        return payload["timestamp"].startswith("2026-11-30T23:06:22")

    replay.run("interactive", stop=restores)
    for payload in payloads("interactive"):
        if payload["timestamp"] < "2026-11-30T23:06:22":
            continue
        if restores(payload) and payload["hook_event_name"] == "BeforeTool":
            # What `/restore` does before it repeats the call.
            (replay.root / "src/app.py").write_text(SHOP["src/app.py"])
        replay.until("interactive", payload["timestamp"])
        replay.step(payload)
    turns = replay.turns()
    assert [summary(turn)[:2] for turn in turns] == [
        ("TB-ONE:", "complete"),
        ("TB-ONE:", "complete"),
        ("TB-TWO:", "complete"),
        ("/restore", "complete"),
        ("TB-SLOW:", "interrupted"),
    ]
    assert [len(turn.calls) for turn in turns] == [3, 3, 2, 1, 1]
    assert [len(turn.steps) for turn in turns[:3]] == [3, 3, 3]
    restored, slow = turns[3:]
    assert changes(restored) == {"src/app.py": ("modified", "tool-edit")}
    assert restored.complete and not restored.background
    # Both replaced the same text in the same file; the calls are told apart all the same.
    assert restored.calls[0].id not in {call.id for turn in turns[:3] for call in turn.calls}
    assert slow.calls[0].state == "failed"
    assert changes(slow) == {"slow1.txt": ("added", "during-call")}
    assert replay.errors() == []


@pytest.mark.parametrize("name", NAMES)
def test_every_event_may_come_twice(replay: Replay, name: str) -> None:
    replay.run(name)
    once = [summary(turn)[1:] for turn in replay.turns()]
    other = Replay(replay.root.parent / "again", replay._patch)
    for payload in payloads(name):
        other.until(name, payload["timestamp"])
        other.step(payload)
        other.send(payload)
    twice = [summary(turn)[1:] for turn in other.turns()]
    assert twice == once


# --- What hooks do not tell -------------------------------------------------------------------

T = "2026-12-01T10:00:0{}.000Z"


class Session:
    """A session made by hand: its hooks, and the chat that it writes."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.chat = replay.home / "chat.jsonl"
        self.chat.parent.mkdir(parents=True, exist_ok=True)
        self.count = 0

    def say(self, kind: str, content: Any, second: int = 1, **more: Any) -> None:
        self.count += 1
        fields = {"id": f"{self.count:08x}-m", "timestamp": T.format(second), "type": kind}
        with self.chat.open("a") as file:
            file.write(json.dumps({**fields, "content": content, **more}, separators=(",", ":")))
            file.write("\n")

    def hook(self, event: str, second: int = 1, **more: Any) -> None:
        self.replay.send(
            {
                "session_id": "s", "cwd": str(self.replay.root), "hook_event_name": event,
                "timestamp": T.format(second), "transcript_path": str(self.chat), **more,
            }
        )  # fmt: skip

    def begin(self, prompt: str = "go") -> None:
        self.hook("BeforeAgent", prompt=prompt)
        self.say("user", [{"text": prompt}])

    def shell(self, event: str, command: str = "make", **more: Any) -> None:
        given = {"command": command}
        self.hook(event, tool_name="run_shell_command", tool_input=given, **more)

    def over(self, status: str, command: str = "make", output: str = "") -> None:
        result = [{"functionResponse": {"name": "x", "response": {"output": output}}}]
        call = {"id": "1", "name": "run_shell_command", "args": {"command": command}}
        self.say("gemini", "", toolCalls=[{**call, "status": status, "result": result}])

    def turn(self) -> Turn:
        return self.replay.turns()[-1]


@pytest.fixture
def session(replay: Replay) -> Session:
    return Session(replay)


def test_an_answer_that_is_cancelled_ends_the_turn_though_no_hook_says_so(
    session: Session,
) -> None:
    session.begin()
    assert session.turn().state == "running"
    session.say("info", "Request cancelled.", second=2)
    session.replay.project().begin_command()
    assert session.turn().state == "interrupted"


def test_a_command_that_is_cancelled_ends_the_turn_at_once(session: Session) -> None:
    session.begin()
    session.say("gemini", "Slow.")
    session.shell("BeforeTool")
    session.say("info", "Request cancelled.", second=2)
    answer = "<untrusted_context>\nCommand was cancelled by user before it could complete."
    session.shell("AfterTool", second=2, tool_response={"llmContent": answer})
    turn = session.turn()
    assert turn.state == "interrupted" and turn.calls[0].state == "failed"


def test_the_hook_of_a_cancelled_command_gets_its_time(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.begin()
    session.shell("BeforeTool")
    (session.replay.root / "made.txt").write_text("made\n")
    session.say("info", "Request cancelled.", second=2)
    # Somebody looks before it has come.
    monkeypatch.setattr(gemini_interrupt, "_stamp", lambda at: "2000")
    session.replay.project().begin_command()
    assert session.turn().state == "running"
    session.shell("AfterTool", second=2, tool_response={"llmContent": "Command was cancelled"})
    turn = session.turn()
    assert turn.state == "interrupted" and turn.calls[0].state == "failed"
    assert [change.evidence for change in turn.changes] == ["during-call"]


def test_a_cancelled_command_of_which_no_hook_tells_is_over(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.begin()
    session.shell("BeforeTool")
    session.say("info", "Request cancelled.", second=2)
    monkeypatch.setattr(gemini_interrupt, "_stamp", lambda at: "9000")
    session.replay.project().begin_command()
    assert session.turn().state == "interrupted"


def test_a_cancelled_turn_before_this_one_says_nothing_of_it(session: Session) -> None:
    session.begin()
    session.say("info", "Request cancelled.", second=2)
    session.hook("BeforeAgent", second=3, prompt="again")
    turn = openturn.load(os.fsencode(session.replay.data), "s")
    assert turn is not None and not interrupt.was_interrupted(turn)


def test_a_prompt_with_the_words_of_a_note_is_a_prompt(session: Session) -> None:
    session.begin()
    session.say("gemini", "Request cancelled.", second=2)
    session.say("user", [{"text": "Request cancelled."}], second=2)
    turn = openturn.load(os.fsencode(session.replay.data), "s")
    assert turn is not None and not interrupt.was_interrupted(turn)


@pytest.mark.parametrize(
    "answer",
    [
        "Command moved to background (PID: 7). Output hidden. Press Ctrl+B to view.",
        "<untrusted_context>\nOutput: x\nBackground PIDs: 7\nProcess Group PGID: 6\n"
        "</untrusted_context>",
    ],
)
def test_a_command_in_the_background_keeps_the_turn_open(session: Session, answer: str) -> None:
    session.begin()
    session.shell("BeforeTool")
    session.shell("AfterTool", tool_response={"llmContent": answer})
    session.over("success", output=answer)
    session.hook("AfterAgent", prompt_response="It runs.")
    turn = session.turn()
    assert turn.background and turn.calls[0].state != "done"
    (session.replay.root / "late.txt").write_text("late\n")
    session.hook("SessionEnd")
    turn = session.turn()
    assert turn.state == "complete" and not turn.background
    assert changes(turn) == {"late.txt": ("added", "during-call")}


def test_words_of_a_command_are_not_taken_for_its_end(session: Session) -> None:
    output = "Background PIDs: 7\nExit Code: 3\nbye"
    answer = f"<untrusted_context>\nOutput: {output}\nProcess Group PGID: 6\n</untrusted_context>"
    session.begin()
    session.shell("BeforeTool")
    session.shell("AfterTool", tool_response={"llmContent": answer})
    assert session.turn().calls[0].state == "done"


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_a_call_that_a_rule_forbids_has_no_end_of_its_own(session: Session, status: str) -> None:
    session.begin()
    session.shell("BeforeTool")
    session.over(status)
    session.hook("AfterAgent", prompt_response="Not allowed.")
    turn = session.turn()
    assert turn.state == "complete" and turn.calls[0].state == "failed" and not turn.background


def test_a_call_that_was_changed_in_between_is_the_same_call(session: Session) -> None:
    session.begin()
    session.shell("BeforeTool", "make")
    session.shell("AfterTool", "make all", tool_response={"llmContent": "Output: x"})
    (call,) = session.turn().calls
    assert call.state == "done" and call.command == "make"


def test_equal_calls_one_after_the_other_are_two(session: Session) -> None:
    session.begin()
    for _ in range(2):
        session.shell("BeforeTool")
        session.shell("AfterTool", tool_response={"llmContent": "Output: x"})
    one, two = session.turn().calls
    assert one.id[:-1] == two.id[:-1] and (one.id[-1], two.id[-1]) == ("1", "2")
    assert chat.now(str(session.chat)) is not None


def test_calls_whose_begin_was_missed_are_recorded(session: Session) -> None:
    session.shell("AfterTool", tool_response={"llmContent": "Output: x"})
    (call,) = session.turn().calls
    assert call.state == "done" and session.turn().prompt == ""


def test_what_somebody_wrote_while_the_user_was_asked_is_not_the_agents(session: Session) -> None:
    file = session.replay.root / "config.ini"
    given = {"file_path": str(file), "old_string": "level = 1", "new_string": "level = 2"}
    session.begin()
    session.hook("BeforeTool", tool_name="replace", tool_input=given)
    mine = "[shop]\nlevel = 1\nmine = 1\n"
    file.write_text(mine.replace("level = 1", "level = 2"))
    display = {"originalContent": mine, "isNewFile": False}
    response = {"llmContent": "Done.", "returnDisplay": display}
    session.hook("AfterTool", tool_name="replace", tool_input=given, tool_response=response)
    session.hook("AfterAgent", prompt_response="Done.")
    project = session.replay.project()
    project.apply(project.plan(Request("undo")))
    assert file.read_text() == mine


def test_a_file_that_is_no_utf8_text_was_not_changed_by_being_read(session: Session) -> None:
    file = session.replay.root / "utf16.txt"
    file.write_bytes("level = 1\n".encode("utf-16"))
    given = {"file_path": str(file), "content": "level = 2\n"}
    session.begin()
    session.hook("BeforeTool", tool_name="write_file", tool_input=given)
    file.write_bytes("level = 2\n".encode("utf-16"))
    display = {"originalContent": "level = 1\n", "isNewFile": False}
    response = {"llmContent": "Done.", "returnDisplay": display}
    session.hook("AfterTool", tool_name="write_file", tool_input=given, tool_response=response)
    session.hook("AfterAgent", prompt_response="Done.")
    assert changes(session.turn()) == {"utf16.txt": ("modified", "tool-edit")}
    project = session.replay.project()
    project.apply(project.plan(Request("undo", selection="all")))
    assert file.read_bytes() == "level = 1\n".encode("utf-16")


def test_takeback_itself_is_no_call_of_the_agents(session: Session) -> None:
    session.begin()
    for event in ("BeforeTool", "AfterTool"):
        session.shell(event, "takeback undo --all")
    assert session.turn().calls == ()
    session.shell("BeforeTool", "takeback undo; rm x")
    assert len(session.turn().calls) == 1


def test_only_the_end_of_a_long_chat_is_read(session: Session) -> None:
    session.begin()
    for _ in range(3):
        session.say("gemini", "x" * 400_000)
        session.say("user", [{"functionResponse": {"response": {"output": "y" * 200_000}}}])
    found = chat.now(str(session.chat))
    assert found is not None and len(found.answers) == 4
    for _ in range(20):
        session.say("gemini", "x" * 500_000)
    assert chat.now(str(session.chat)) is None


# --- Whose process it is ----------------------------------------------------------------------


def test_the_agent_is_found_behind_the_options_of_its_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "gemini.js"
    script.write_text("sleep 60 & echo $!; wait\n")
    sh = tmp_path / "node"
    sh.symlink_to("/bin/sh")
    with subprocess.Popen([str(sh), "-e", str(script)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        below = int(child.stdout.readline())
        try:
            # Itself, too, as long as it has not become the other program.
            assert hook._named_ancestor(b"gemini", below) in (child.pid, below)
            assert hook._named_ancestor(b"gemini", child.pid) == child.pid
            assert hook._named_ancestor(b"node_", below) == 0
        finally:
            os.kill(below, 9)


# --- Payloads of any shape --------------------------------------------------------------------

HOOKS = ["BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionStart", "SessionEnd", "No"]
TURNS = st.none() | st.builds(
    lambda calls, steps: OpenTurn("s", "/", "t", 1, "gemini", calls=calls, steps=steps),
    st.dictionaries(
        st.text(min_size=1, max_size=4) | st.just("a-write_file-00000000-1"),
        st.sampled_from(["running", "done"]).map(lambda state: [1, "edit", [], state]),
        max_size=3,
    ),
    st.integers(0, 3),
)


@given(JUNK, TURNS)
def test_anything_is_taken(payload: Any, turn: OpenTurn | None) -> None:
    assert isinstance(gemini.translate(payload, turn), list)


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {
            "session_id": st.text(min_size=1, max_size=5),
            "cwd": st.text(min_size=1, max_size=5),
            "hook_event_name": st.sampled_from(HOOKS),
        },
        optional={
            "prompt": WEIRD,
            "timestamp": WEIRD,
            "transcript_path": WEIRD | st.sampled_from([str(path) for path in CHATS]),
            "tool_name": st.sampled_from(["replace", "write_file", "run_shell_command"]) | WEIRD,
            "tool_input": st.dictionaries(st.sampled_from(["file_path", "command"]), WEIRD) | WEIRD,
            "tool_response": st.dictionaries(
                st.sampled_from(["llmContent", "returnDisplay", "error"]), WEIRD
            )
            | WEIRD,
            "prompt_response": WEIRD,
        },
    ),
    TURNS,
)
def test_payloads_with_fields_of_any_type(payload: dict[str, Any], turn: OpenTurn | None) -> None:
    for event in gemini.translate(payload, turn):
        assert isinstance(event, Event) and event.session == payload["session_id"]
        assert os.path.isabs(event.folder) and b"\0" not in event.folder
        assert all(isinstance(path, bytes) and path and b"\0" not in path for path in event.paths)
        assert isinstance(event.text, str) and isinstance(event.prompt, str)
        assert event.call_kind != "edit" or event.paths
        assert event.call or event.kind not in ("tool-begin", "tool-end")


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_chat_is_read(tmp_path: Path, data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(CHATS)).read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.binary(max_size=40) | JUNK.map(lambda value: json.dumps(value).encode()))
    file = tmp_path / "chat.jsonl"
    file.write_bytes(raw[:cut] + junk + raw[cut + data.draw(st.integers(0, 400)) :])
    found = chat.now(str(file), calls=True)
    assert found is None or found.answers


def test_lines_of_any_shape_are_passed_over(tmp_path: Path) -> None:
    head = '{"id":"a","timestamp":"b","type":'
    odd = ["3", "null", "[]", '"c"', '{"text":3}', '[{"text":3},4,null]', "[" * 9000]
    rows = [f'{head}"user","content":[{{"text":"go"}}]}}']
    for value in odd:
        rows += [f'{head}"{kind}","content":{value}}}' for kind in ("user", "gemini", "info")]
        calls = f'{head}"gemini","content":"","toolCalls":'
        rows += [f"{calls}{value}}}", f"{calls}[{value}]}}"]
        rows.append(f'{calls}[{{"name":"x","args":{value},"status":{value},"result":{value}}}]}}')
    file = tmp_path / "chat.jsonl"
    file.write_text("\n".join(rows))
    found = chat.now(str(file), calls=True)
    assert found is not None and found.cancelled == ""


def test_a_chat_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/none", str(tmp_path), str(tmp_path / "pipe"), "a\0b", "\ud800"):
        assert chat.now(path, calls=True) is None


def test_names_of_calls_say_which_tool() -> None:
    for tool in ("replace", "mcp_a-b", "", "-", "x" * 200):
        name = tools.prefix("3ee2ae28-0c9e", tool, {"a": "\ud800"}) + "12"
        assert tools.tool_of(name) == tool[:60] and tools.turn_of([name]) == "3ee2ae28"


def test_a_note_is_told_with_a_prompt_only() -> None:
    told = json.loads(gemini.answer("BeforeAgent", "Note."))
    assert told == {
        "hookSpecificOutput": {"hookEventName": "BeforeAgent", "additionalContext": "Note."}
    }
    assert gemini.answer("BeforeTool", "Note.") == b""
