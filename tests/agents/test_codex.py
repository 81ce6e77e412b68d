"""Codex's own payloads and rollouts, captured from real runs, against what really happened."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents import interrupt
from takeback.engine.agents.codex import events as codex
from takeback.engine.agents.codex import rollout
from takeback.engine.facts import Event
from takeback.engine.frozen import changed
from takeback.engine.model import Request
from takeback.engine.record.openturn import OpenTurn
from tests.agents import replay as replays
from tests.agents.replay import FIRST, JUNK, SECOND, WEIRD, changes, lines, summary

DATA = Path(__file__).parent / "data/codex"
NAMES = sorted(path.name for path in DATA.iterdir())


def payloads(name: str) -> list[dict[str, Any]]:
    return [line["payload"] for line in lines(DATA / name / "hooks.jsonl")]


def seconds(line: str) -> float:
    stamp = str(json.loads(line)["timestamp"])
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


class Replay(replays.Replay):
    """A captured run once more: its payloads to the hook, its rollouts as they were at that time,
    its writes to a folder of ours."""

    agent = "codex"

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(place, monkeypatch)
        self.sessions = place / ".codex/sessions/2026/12/01"
        self.sessions.mkdir(parents=True)

    def run(self, name: str, rollouts: bool = True) -> None:
        for line in lines(DATA / name / "hooks.jsonl"):
            if rollouts:
                self.until(name, line["t"])
            self.step(line["payload"])

    def step(self, payload: dict[str, Any]) -> None:
        self.send(payload)
        if payload["hook_event_name"] == "PreToolUse":
            self._work(payload["tool_name"], payload["tool_input"])

    def until(self, name: str, t: float) -> None:
        """The rollouts as they were at a time."""
        for path in (DATA / name).glob("rollout*"):
            text = path.read_text("utf-8").splitlines(keepends=True)
            known = [line for line in text if seconds(line) <= t]
            (self.sessions / path.name).write_text(self.moved("".join(known)), "utf-8")

    def _work(self, tool: str, given: dict[str, Any]) -> None:
        command = self.moved(str(given.get("command", "")))
        if tool == "apply_patch" or command.startswith("apply_patch"):
            self._apply(command)
        elif tool == "Bash":
            self.shell(command)

    def _apply(self, patch: str) -> None:
        parts = re.split(r"^\*\*\* (?=Add|Update|Delete)", patch, flags=re.M)
        for part in parts[1:]:
            head, *body = part.split("\n")
            path = self.root / head.partition(": ")[2]
            new = path
            if body[0].startswith("*** Move to: "):
                new = self.root / body.pop(0).partition(": ")[2]
            old, put = ("\n".join(b[1:] for b in body if b.startswith(sign)) for sign in "-+")
            if head.startswith("Add"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(put + "\n")
            elif old in path.read_text():
                text = path.read_text().replace(old, put)
                path.unlink()
                new.write_text(text)


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    return Replay(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def quiet(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No hook writes to standard output."""
    yield
    assert capfd.readouterr().out == ""


# --- What happened, as it was captured --------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "plain", "codemode"])
def test_three_turns_in_three_processes(replay: Replay, name: str) -> None:
    replay.run(name)
    one, two, three = replay.turns()
    assert summary(one) == ("[1]", "complete", 3, 3)
    assert summary(two) == ("[2]", "complete", 3, 2)
    assert summary(three) == ("[3]", "complete", 1, 0)
    assert one.complete and two.complete and three.complete
    assert changes(one) == FIRST and changes(two) == SECOND and changes(three) == {}
    assert [step.text for step in one.steps] == [
        "",
        "",
        "total() is fixed and NOTES.md is written.",
    ]
    assert [len(step.calls) for step in one.steps] == [1, 2, 0]
    assert [call.tool for call in one.calls] == ["Bash", "apply_patch", "apply_patch"]
    assert {call.state for turn in (one, two) for call in turn.calls} == {"done"}
    assert replay.errors() == []
    (session,) = replay.project().sessions()
    assert session.agent == "codex" and session.id == payloads(name)[0]["session_id"]


def test_undo_of_a_replayed_run_gives_the_bytes_back(replay: Replay) -> None:
    replay.run("basic3")
    replays.takes_all_back(replay)


def test_an_interrupted_command(replay: Replay) -> None:
    replay.run("slow")
    slow, after = replay.turns()
    assert summary(slow) == ("[slow]", "interrupted", 1, 1)
    assert slow.calls[0].state == "lost"
    assert changes(slow) == {"slow1.txt": ("added", "during-call")}
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_a_patch_that_is_refused_ends_with_the_next_event(replay: Replay) -> None:
    replay.run("fail")
    turn, after = replay.turns()
    assert summary(turn) == ("[fail]", "complete", 3, 3)
    assert [(call.tool, call.state) for call in turn.calls] == [
        ("apply_patch", "failed"),
        ("Bash", "failed"),
        ("apply_patch", "done"),
    ]
    assert changes(turn) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    assert [len(step.calls) for step in turn.steps] == [2, 1, 0]
    assert changes(after) == {}


def test_without_a_rollout_a_refused_patch_ends_with_the_turn(replay: Replay) -> None:
    replay.run("fail", rollouts=False)
    turn = replay.turns()[0]
    states = [(call.tool, call.state) for call in turn.calls]
    assert states == [("apply_patch", "failed"), ("Bash", "done"), ("apply_patch", "done")]
    assert turn.state == "complete"
    assert changes(turn)["README.md"][1] in ("tool-edit", "mixed")


def test_renames_are_two_changes(replay: Replay) -> None:
    replay.run("rename")
    one, two = replay.turns()
    assert changes(one)["src/price.py"] == ("deleted", "during-call")
    assert changes(one)["src/pricing.py"] == ("added", "mixed")
    assert changes(two) == {
        "config.ini": ("deleted", "tool-edit"),
        "shop.ini": ("added", "tool-edit"),
    }


def test_what_lies_outside_is_named_and_secrets_are_not_kept(replay: Replay) -> None:
    replay.run("outside")
    (turn,) = replay.turns()
    reasons = {os.fsdecode(item.path): item.reason for item in turn.not_captured}
    assert reasons[".env"] in ("secret", "ignored")
    assert reasons[str(replay.root.parent / "elsewhere/made.txt")] == "outside-project"
    for path in replay.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_a_subagents_work_belongs_to_the_turn(replay: Replay) -> None:
    replay.run("subagent")
    turn, after = replay.turns()
    assert turn.prompt == "[delegate] Let a subagent write sub.txt."
    assert turn.state == "complete" and not turn.background
    assert changes(turn) == {"sub.txt": ("added", "tool-edit")}
    assert "sub.txt is written." in [step.text for step in turn.steps]
    assert {call.state for call in turn.calls} == {"done"}
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_a_subagent_that_still_works_keeps_the_turn_open(replay: Replay) -> None:
    for line in lines(DATA / "subagent/hooks.jsonl"):
        payload = line["payload"]
        if payload["hook_event_name"] == "SubagentStop":
            break
        replay.until("subagent", line["t"])
        replay.step(payload)
    (stop, *_) = (p for p in payloads("subagent") if p["hook_event_name"] == "Stop")
    replay.send(stop)
    (turn,) = replay.turns()
    assert turn.background and turn.state == "complete"


def test_patches_through_the_shell_are_told_apart(replay: Replay) -> None:
    replay.run("unknown")
    one, two, _ = replay.turns()
    assert summary(one) == ("[1]", "complete", 3, 3)
    assert {call.state for turn in (one, two) for call in turn.calls} == {"done"}
    assert changes(one) == {
        "NOTES.md": ("added", "during-call"),
        "src/cart.py": ("modified", "during-call"),
    }
    for change in one.changes:
        (segment,) = change.segments
        assert len(segment.call_ids) == 1, "each patch has a window of its own"


@pytest.mark.parametrize("name", NAMES)
def test_every_event_may_come_twice(replay: Replay, name: str) -> None:
    replay.run(name)
    once = [summary(turn)[1:] for turn in replay.turns()]
    other = Replay(replay.root.parent / "again", replay._patch)
    for line in lines(DATA / name / "hooks.jsonl"):
        other.until(name, line["t"])
        other.step(line["payload"])
        if line["payload"]["hook_event_name"] in ("PreToolUse", "PostToolUse"):
            other.send(line["payload"])
    twice = [summary(turn)[1:] for turn in other.turns()]
    assert twice == once


def test_a_command_in_the_background_keeps_the_turn_open_until_it_is_over(
    replay: Replay,
) -> None:
    """As measured: a command that goes on has no PostToolUse, its output says so."""
    file = replay.sessions / "r.jsonl"
    base = {
        "session_id": "s", "cwd": str(replay.root), "turn_id": "k", "transcript_path": str(file),
    }  # fmt: skip
    call = {"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "make &"}}
    output = {"type": "function_call_output", "call_id": "c1"}
    told = [
        entry("event_msg", {"type": "task_started", "turn_id": "k"}),
        entry("response_item", {"type": "function_call", "call_id": "c1"}),
        entry("response_item", {**output, "output": "Process running with session ID 7\n"}),
    ]
    item = {"type": "CommandExecution", "id": "c1", "status": "completed", "exit_code": 0}
    over = entry("event_msg", {"type": "item_completed", "turn_id": "k", "item": item})
    file.write_text("".join(told[:1]))
    replay.send({**base, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    file.write_text("".join(told[:2]))
    replay.send({**base, "hook_event_name": "PreToolUse", **call})
    file.write_text("".join(told))
    replay.send({**base, "hook_event_name": "Stop", "last_assistant_message": "It runs."})
    (turn,) = replay.turns()
    assert turn.background and turn.calls[0].state != "done"
    assert [step.text for step in turn.steps] == ["", "It runs."]
    (replay.root / "late.txt").write_text("late\n")
    file.write_text("".join([*told, over]))
    replay.send({**base, "hook_event_name": "Stop", "last_assistant_message": "Done."})
    (turn,) = replay.turns()
    assert turn.state == "complete" and not turn.background and turn.calls[0].state == "done"
    assert changes(turn) == {"late.txt": ("added", "during-call")}


def test_a_command_that_ended_between_two_prompts_has_its_own_end(replay: Replay) -> None:
    file = replay.sessions / "r.jsonl"
    base = {
        "session_id": "s", "cwd": str(replay.root), "turn_id": "k", "transcript_path": str(file),
    }  # fmt: skip
    call = {"tool_name": "Bash", "tool_use_id": "c1", "tool_input": {"command": "make"}}
    output = {"type": "function_call_output", "call_id": "c1", "output": rollout._GOES_ON.decode()}
    file.write_text(entry("response_item", output))
    replay.send({**base, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    replay.send({**base, "hook_event_name": "PreToolUse", **call})
    replay.send({**base, "hook_event_name": "Stop", "last_assistant_message": "It runs."})
    (replay.root / "late.txt").write_text("late\n")
    item = {"type": "CommandExecution", "id": "c1", "status": "failed", "exit_code": 2}
    with file.open("a") as rest:
        rest.write(entry("event_msg", {"type": "item_completed", "turn_id": "k", "item": item}))
    replay.send({**base, "hook_event_name": "UserPromptSubmit", "turn_id": "l", "prompt": "now"})
    one, two = replay.turns()
    assert one.state == "complete" and one.calls[0].state == "failed"
    assert changes(one) == {"late.txt": ("added", "during-call")}
    assert two.prompt == "now" and two.calls == ()


# --- A turn that is over without a hook -------------------------------------------------------

STARTED = {"type": "task_started", "turn_id": "k"}
ABORTED = {"type": "turn_aborted", "turn_id": "k", "reason": "interrupted"}
ERROR = {"type": "task_complete", "turn_id": "k", "error": {"message": "no model"}}
OTHER = {"type": "task_started", "turn_id": "l"}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([STARTED, ABORTED], True),
        ([STARTED, ERROR], True),
        ([ABORTED], True),
        ([STARTED], False),
        ([STARTED, {**ABORTED, "turn_id": "l"}], False),
        ([STARTED, ABORTED, OTHER], False),
        ([STARTED, {**ABORTED, "turn_id": ["k"]}], False),
        ([{"type": "agent_message", "message": json.dumps(ABORTED)}], False),
        ([], False),
    ],
)
def test_what_a_rollout_says_of_a_turns_end(
    tmp_path: Path, told: list[dict[str, Any]], expected: bool
) -> None:
    file = tmp_path / "r.jsonl"
    file.write_text("".join(entry("event_msg", item) for item in told) + '{"torn')
    turn = OpenTurn("s", "/p", "t", 1, "codex", "k", transcript=str(file))
    assert interrupt.was_interrupted(turn) is expected
    for field, value in (("agent", "x"), ("key", ""), ("transcript", "/none"), ("ended", True)):
        other = OpenTurn("s", "/p", "t", 1, "codex", "k", transcript=str(file))
        setattr(other, field, value)
        assert not interrupt.was_interrupted(other)


def test_undo_after_a_turn_that_ended_with_an_error(replay: Replay) -> None:
    file = replay.sessions / "r.jsonl"
    base = {
        "session_id": "s", "cwd": str(replay.root), "turn_id": "k", "transcript_path": str(file),
    }  # fmt: skip
    patch = "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch"
    call = {"tool_name": "apply_patch", "tool_use_id": "c", "tool_input": {"command": patch}}
    file.write_text(entry("event_msg", STARTED))
    replay.send({**base, "hook_event_name": "UserPromptSubmit", "prompt": "go"})
    replay.step({**base, "hook_event_name": "PreToolUse", **call})
    replay.send({**base, "hook_event_name": "PostToolUse", **call})
    assert replay.project().begin_command() == []
    file.write_text(entry("event_msg", STARTED) + entry("event_msg", ERROR))
    project = replay.project()
    assert project.begin_command() == ["Turn 1 was closed: it was interrupted."]
    (turn,) = replay.turns()
    assert turn.state == "interrupted" and changes(turn) == {"new.txt": ("added", "tool-edit")}
    project.apply(project.plan(Request("undo")))
    assert not (replay.root / "new.txt").exists()


def entry(kind: str, payload: dict[str, Any]) -> str:
    value = {"timestamp": "2026-12-01T00:00:00.000Z", "ordinal": 1, "type": kind}
    return json.dumps({**value, "payload": payload}, separators=(",", ":")) + "\n"


# --- What a payload may hold ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_event_holds_what_a_patch_writes(name: str) -> None:
    for payload in payloads(name):
        if payload.get("tool_name") != "apply_patch":
            continue
        written = re.findall(r"^[+](.{4,})$", payload["tool_input"]["command"], re.M)
        for event in codex.translate(payload, {}):
            # What it replaced is compared with the file, and kept only as a version of it.
            assert not any(text in repr(changed(event, swaps=())) for text in written)
            assert event.agent == "codex" and event.session == payload["session_id"]


def one(name: str, running: Any = None, **more: Any) -> list[Event]:
    base = {"session_id": "s", "cwd": "/p", "turn_id": "k", "hook_event_name": name}
    return codex.translate({**base, **more}, running)


def test_tools_have_their_kinds() -> None:
    assert codex.call_kind("apply_patch") == "edit"
    for tool in ("Bash", "write_stdin", "mcp__files__write"):
        assert codex.call_kind(tool) == "shell"
    for tool in ("update_plan", "view_image", "collaborationspawn_agent", "wait_agent"):
        assert codex.call_kind(tool) == "other"
    assert codex.call_kind("Brandnew") is None and codex.call_kind("") is None


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("*** Begin Patch\n*** Add File: a b/ü.txt\n+x\n*** End Patch", ["a b/ü.txt"]),
        ("*** Update File: a\n*** Move to: b\n@@\n-x\n+y", ["a", "b"]),
        ("*** Delete File: /abs/x  \r\n*** Add File: y\r\n+1\r\n", ["/abs/x", "y"]),
        ("*** Add File: a\n+*** Add File: no\n  *** Add File: b\n+1", ["a", "b"]),
        ("*** Update File: a\n@@\n *** Update File: no\n-x\n*** Update File: b", ["a", "b"]),
        ("*** Update File: a\n*** Update File: a\n", ["a"]),
        ("*** Add File: \n*** Rename File: x\n** Add File: y\n", []),
        ("*** Add File: -x*?.py\n+1", ["-x*?.py"]),
        ("", []),
    ],
)
def test_paths_of_a_patch(patch: str, expected: list[str]) -> None:
    assert codex.patch_paths(patch) == tuple(path.encode() for path in expected)


def test_a_patch_that_names_no_file_opens_a_window() -> None:
    for odd in ({}, None, [], {"command": 3}, {"command": "rm -rf"}, {"patch": ""}):
        (event,) = one("PreToolUse", tool_name="apply_patch", tool_use_id="c", tool_input=odd)
        assert event.call_kind is None and event.paths == ()


def test_commands_of_servers_are_not_kept() -> None:
    given = {"tool_name": "mcp__x__run", "tool_use_id": "c", "tool_input": {"command": "secret"}}
    (event,) = one("PreToolUse", **given)
    assert event.call_kind == "shell" and event.command == ""
    (event,) = one("PostToolUse", **given, tool_response={"isError": True})
    assert event.failed


def test_takeback_itself_is_no_call_of_the_agents(
    replay: Replay, capfd: pytest.CaptureFixture[str]
) -> None:
    """So that what is asked for within the agent does not wait for its own turn."""
    replay.run("basic3")
    after = (replay.root / "config.ini").read_text()
    base = {"session_id": payloads("basic3")[0]["session_id"], "cwd": str(replay.root)}
    for at, verb in enumerate(("undo", "redo")):
        base |= {"turn_id": verb}
        call = {
            "tool_name": "Bash",
            "tool_use_id": verb,
            "tool_input": {"command": f"takeback {verb}"},
        }
        replay.send({**base, "hook_event_name": "UserPromptSubmit", "prompt": verb})
        replay.send({**base, "hook_event_name": "PreToolUse", **call})
        project = replay.project()
        plan = project.plan(Request("undo" if verb == "undo" else "redo", selection="all"))
        assert not any("began turn" in question for question in plan.asks)
        project.apply(plan)
        replay.send({**base, "hook_event_name": "PostToolUse", **call})
        replay.send({**base, "hook_event_name": "Stop", "last_assistant_message": "Done."})
        turn = replay.turns()[-1]
        assert summary(turn) == (verb, "complete", 1, 0) and changes(turn) == {}
        assert (replay.root / "old.txt").exists() == (at == 0)
    assert (replay.root / "config.ini").read_text() == after
    # The agent heard of the undo with its next prompt.
    assert capfd.readouterr().out.count("took back changes of yours") == 1


def test_a_subagents_thread_opens_and_closes_no_turn() -> None:
    for name in ("UserPromptSubmit", "Stop", "Interrupt", "SessionEnd", "SessionStart"):
        assert one(name, {}, agent_id="a", prompt="x") == []
    (event,) = one("PreToolUse", {}, agent_id="a", tool_name="Bash", tool_use_id="c")
    assert event.key == ""
    assert one("SubagentStop", None, agent_id="a") == []


EVENTS = [
    "UserPromptSubmit", "PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "Stop",
    "Interrupt", "SessionStart", "SessionEnd", "PreCompact", "Other",
]  # fmt: skip


@given(JUNK, st.none() | st.just(()))
def test_anything_is_taken(payload: Any, running: Any) -> None:
    assert isinstance(codex.translate(payload, running), list)


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {
            "session_id": st.text(min_size=1, max_size=5),
            "cwd": st.text(min_size=1, max_size=5),
            "hook_event_name": st.sampled_from(EVENTS),
        },
        optional={
            "prompt": WEIRD,
            "turn_id": WEIRD,
            "transcript_path": WEIRD,
            "agent_transcript_path": WEIRD,
            "tool_name": st.sampled_from(["apply_patch", "Bash", "view_image", "New"]) | WEIRD,
            "tool_use_id": WEIRD,
            "tool_input": st.dictionaries(st.sampled_from(["command", "input", "path"]), WEIRD)
            | WEIRD,
            "tool_response": WEIRD,
            "last_assistant_message": WEIRD,
            "agent_id": WEIRD,
        },
    ),
    st.none()
    | st.sets(st.text(max_size=2), max_size=2)
    | st.dictionaries(st.text(max_size=2), st.sampled_from(["edit", "shell", "other"])),
)
def test_payloads_with_fields_of_any_type(payload: dict[str, Any], running: Any) -> None:
    for event in codex.translate(payload, running):
        assert event.session == payload["session_id"]
        assert os.path.isabs(event.folder) and b"\0" not in event.folder
        assert all(isinstance(path, bytes) and path and b"\0" not in path for path in event.paths)
        assert isinstance(event.text, str) and isinstance(event.prompt, str)
        assert (event.call_kind == "edit") <= bool(event.paths)


# --- What a rollout may hold ------------------------------------------------------------------

ROLLOUTS = sorted(DATA.glob("*/rollout*"))


@settings(max_examples=60)
@given(st.data())
def test_any_rollout_is_read(data: st.DataObject) -> None:
    raw = data.draw(st.sampled_from(ROLLOUTS)).read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.binary(max_size=40) | JUNK.map(lambda value: json.dumps(value).encode()))
    text = raw[:cut] + junk + raw[cut + data.draw(st.integers(0, 400)) :]
    found = text.split(b"\n")
    ids = re.findall(rb'"(?:call_id|id)":"([\w-]+)"', raw)
    calls = {i.decode(): "shell" for i in ids} | {"": "edit", "\ud800": "edit"}
    ended, going = rollout.ends(found, calls)
    assert set(ended) <= set(calls) and not set(ended) & going
    for call in calls:
        assert rollout.begins_answer(found, call) in (True, False)
    assert rollout.answered(found) in (True, False)
    assert rollout.subagents(found) in (True, False)


def test_lines_of_any_shape_are_passed_over() -> None:
    heads = [
        b'{"type":"event_msg","payload":{"type":"item_completed","item":%s}}',
        b'{"type":"response_item","payload":{"type":"function_call_output","x":%s}}',
        b'{"type":"response_item","payload":{"type":"function_call","call_id":%s}}',
    ]
    odd = [b"3", b"null", b"[]", b'{"id":"c"}', b'{"id":["c"],"type":[]}', b'"c"', b"[" * 9000]
    odd.append(b'{"type":"SubAgentActivity","agent_thread_id":["c"],"kind":{}}')
    found = [head % value for head in heads for value in odd]
    assert rollout.ends(found, {"c": "edit"}) == ({}, set())
    assert not rollout.subagents(found)
    assert rollout.begins_answer(found, "exec-c") in (True, False)


def test_a_rollout_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in ("/none", str(tmp_path), str(tmp_path / "pipe"), "a\0b", "\ud800"):
        assert rollout.last_lines(path) == []


def test_only_the_end_of_a_long_rollout_is_read(tmp_path: Path) -> None:
    file = tmp_path / "r.jsonl"
    line = entry("event_msg", {"type": "task_complete", "text": "x" * 5000})
    file.write_text(line * 400)
    found = rollout.last_lines(str(file))
    assert 90 < len(found) < 110 and rollout.kind_of(found[0]) == "task_complete"
