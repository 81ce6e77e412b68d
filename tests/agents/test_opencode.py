"""What our plugin tells of OpenCode, out of captured runs, against what really happened in them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents.opencode import events as opencode
from takeback.engine.agents.opencode.prompts import typed
from takeback.engine.facts import Event
from takeback.engine.model import Request
from tests.agents import replay as replays
from tests.agents.replay import FIRST, JUNK, SECOND, WEIRD, changes, summary

DATA = Path(__file__).parent / "data/opencode"
NAMES = sorted(path.stem for path in DATA.glob("*.jsonl"))
CALLS: dict[str, dict[str, Any]] = json.loads((DATA / "calls.json").read_text("utf-8"))
"""What each call was given, which the plugin does not pass on."""


def payloads(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


class Replay(replays.Replay):
    """A captured run once more: its payloads to the hook, its writes to a folder of ours."""

    agent = "opencode"
    variables = ("TAKEBACK_AGENT_PID",)

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(place, monkeypatch)
        (place / "elsewhere").mkdir()

    def run(self, name: str) -> None:
        for payload in payloads(name):
            self.step(payload)

    def step(self, payload: dict[str, Any]) -> None:
        given = CALLS.get(payload.get("call", ""), {})
        if payload["hook_event_name"] == "tool.execute.after" and not payload.get("failed"):
            self._work(payload["tool"], given)
        self.send(payload)
        if payload["hook_event_name"] == "tool.execute.before" and "sleep" in str(given):
            (self.root / "slow1.txt").write_text("before\n")

    def _work(self, tool: str, given: dict[str, Any]) -> None:
        path = Path(self.moved(given.get("filePath") or given.get("path", "")))
        if tool == "edit":
            path.write_text(path.read_text().replace(given["oldString"], given["newString"]))
        elif tool == "write":
            self.write(str(path), given["content"])
        elif tool == "bash":
            self.shell(given["command"])


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    return Replay(tmp_path, monkeypatch)


# --- What happened, as it was captured --------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "plain"])
def test_three_turns_in_three_processes(replay: Replay, name: str) -> None:
    """One of the two was captured without the answers."""
    replay.run(name)
    steps = (3, 3, 1) if name == "basic3" else (1, 1, 0)
    found = replay.turns()
    assert [summary(turn) for turn in found] == [
        (prompt, "complete", number, calls)
        for prompt, number, calls in zip(("[1]", "[2]", "[3]"), steps, (2, 2, 0), strict=True)
    ] or name == "plain"
    assert all(turn.complete and turn.state == "complete" for turn in found)
    one, two, three = found
    assert one.prompt == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert changes(one) == FIRST
    assert changes(two) == SECOND
    assert changes(three) == {}
    if name == "basic3":
        assert [step.text for step in one.steps] == [
            "I read the file first.",
            "Now both files.",
            "total() is fixed and NOTES.md is written.",
        ]
    assert [call.tool for call in one.calls] == ["edit", "write"]
    assert replay.errors() == []
    (session,) = replay.project().sessions()
    assert session.agent == "opencode" and session.id == payloads(name)[0]["session_id"]


def test_three_turns_through_the_newer_interface(replay: Replay) -> None:
    replay.run("newer")
    one, two, three = replay.turns()
    assert [summary(turn) for turn in (one, two, three)] == [
        ("[1]", "complete", 3, 2),
        ("[2]", "complete", 3, 2),
        ("[3]", "complete", 1, 0),
    ]
    assert all(turn.complete for turn in (one, two, three))
    assert changes(one) == FIRST
    assert changes(two) == SECOND
    assert changes(three) == {}
    assert [step.text for step in two.steps][:2] == ["A shell command first.", "One more edit."]
    assert replay.errors() == []


def test_a_command_that_is_broken_off_through_the_newer_interface(replay: Replay) -> None:
    replay.run("newer-slow")
    slow, after = replay.turns()
    assert summary(slow) == ("[slow]", "interrupted", 1, 1)
    assert slow.calls[0].state == "failed"
    assert changes(slow)["slow1.txt"] == ("added", "during-call")
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_calls_that_fail_through_the_newer_interface(replay: Replay) -> None:
    replay.run("newer-fail")
    (turn,) = replay.turns()
    assert summary(turn) == ("[fail]", "complete", 3, 3)
    assert [call.state for call in turn.calls] == ["failed", "failed", "done"]
    assert changes(turn) == {
        "README.md": ("modified", "tool-edit"),
        "partial.txt": ("added", "during-call"),
    }


@pytest.mark.parametrize("name", ["basic3", "newer"])
def test_undo_of_a_replayed_run_gives_the_bytes_back(replay: Replay, name: str) -> None:
    replay.run(name)
    replays.takes_all_back(replay)


def test_an_agent_that_was_interrupted_ends_with_the_next_prompt(replay: Replay) -> None:
    replay.run("slow")
    slow, after = replay.turns()
    assert summary(slow) == ("[slow]", "interrupted", 1, 1)
    assert slow.calls[0].state == "lost"
    # Nobody looked when the agent died: the command may have written it, or a person since.
    assert changes(slow) == {"slow1.txt": ("added", "no-record")}
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_an_agent_that_is_gone_ends_its_turn(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    with subprocess.Popen(["sleep", "60"]) as agent:
        monkeypatch.setenv("TAKEBACK_AGENT_PID", str(agent.pid))
        for payload in payloads("slow")[:2]:
            replay.step(payload)
        assert replay.project().begin_command() == []
        agent.kill()
    while os.path.exists(f"/proc/{agent.pid}"):
        time.sleep(0.01)
    assert replay.project().begin_command() == ["Turn 1 was closed: its process is gone."]
    (turn,) = replay.turns()
    assert turn.state == "interrupted" and turn.calls[0].state == "lost"


def test_calls_that_fail(replay: Replay) -> None:
    replay.run("fail")
    turn, after = replay.turns()
    assert summary(turn) == ("[fail]", "complete", 3, 3)
    assert [(call.tool, call.state) for call in turn.calls] == [
        ("edit", "failed"),
        ("bash", "failed"),
        ("edit", "done"),
    ]
    assert changes(turn) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    assert len(turn.steps[0].calls) == 2
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


def test_what_lies_outside_is_named_and_secrets_are_not_kept(replay: Replay) -> None:
    replay.run("outside")
    (turn,) = replay.turns()
    reasons = {os.fsdecode(item.path): item.reason for item in turn.not_captured}
    assert reasons[".env"] in ("secret", "ignored")
    assert reasons[str(replay.root.parent / "elsewhere/made.txt")] == "outside-project"
    for path in replay.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_what_a_subagent_writes_is_its_parents(replay: Replay) -> None:
    replay.run("subagent")
    turn, after = replay.turns()
    assert summary(turn) == ("[delegate]", "complete", 2, 1)
    assert changes(turn) == {"sub.txt": ("added", "tool-edit")}
    assert [call.id for call in turn.steps[0].calls] == ["call_1_0_0_b0abba16"]
    assert summary(after) == ("[after]", "complete", 1, 0)
    (session,) = replay.project().sessions()
    assert session.id == payloads("subagent")[0]["session_id"]


@pytest.mark.parametrize("name", NAMES)
def test_every_event_may_come_twice(replay: Replay, name: str) -> None:
    replay.run(name)
    once = [(turn.state, len(turn.calls)) for turn in replay.turns()]
    other = Replay(replay.root.parent / "again", replay._patch)
    for payload in payloads(name):
        other.send(payload)
        other.send(payload)
    assert [(turn.state, len(turn.calls)) for turn in other.turns()] == once


# --- The plugin's own words -------------------------------------------------------------------

BASE = {"session_id": "s", "cwd": "/p", "key": "k"}


def one(name: str, running: Any = None, **more: Any) -> list[Event]:
    return opencode.translate({**BASE, "hook_event_name": name, **more}, running)


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ('"fix the cart"', "fix the cart"),
        ('"say \\"hi\\" to me"', 'say "hi" to me'),
        ('"fix"', '"fix"'),
        ('fix "the cart"', 'fix "the cart"'),
        ('"one" and "two"', '"one" and "two"'),
        ('"fix the cart', '"fix the cart'),
        ('"', '"'),
        ('""', '""'),
        ('" "', " "),
        ("", ""),
    ],
)
def test_a_prompt_given_to_run_stands_without_its_quotes(kept: str, expected: str) -> None:
    assert typed(kept) == expected


def test_tools_have_their_kinds() -> None:
    for tool in ("edit", "write", "apply_patch"):
        assert opencode.call_kind(tool) == "edit"
    assert opencode.call_kind("bash") == "shell"
    for tool in ("read", "glob", "grep", "task", "todowrite", "webfetch"):
        assert opencode.call_kind(tool) == "other"
    assert opencode.call_kind("files_write") is None and opencode.call_kind("") is None


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("*** Begin Patch\n*** Add File: a b/ü.txt\n+x\n*** End Patch", ["a b/ü.txt"]),
        ("*** Update File: a\n*** Move to: b\n@@\n-x\n+y", ["a", "b"]),
        ("*** Delete File: /abs/x  \r\n*** Add File: y\r\n+1\r\n", ["/abs/x", "y"]),
        ("*** Update File: a\n+*** Add File: no\n *** Add File: no\n*** Update File: a", ["a"]),
        ("*** Add File: \n*** Rename File: x", []),
        ("", []),
    ],
)
def test_paths_of_a_patch(patch: str, expected: list[str]) -> None:
    assert opencode.patch_paths(patch) == tuple(path.encode() for path in expected)


def test_an_edit_of_we_do_not_know_what_opens_a_window() -> None:
    for odd in ({}, None, [], {"filePath": 3}, {"filePath": ""}, {"patchText": "x"}):
        (event,) = one("tool.execute.before", tool="edit", call="c", args=odd)
        assert event.call_kind is None and event.paths == ()
    assert one("tool.execute.before", tool="edit", args={"filePath": "a"}) == []


@pytest.mark.parametrize(
    ("more", "failed"),
    [
        ({}, False),
        ({"exit": 0}, False),
        ({"exit": 3}, True),
        ({"exit": None}, True),
        ({"failed": True}, True),
        ({"failed": 1}, False),
    ],
)
def test_what_failed(more: dict[str, Any], failed: bool) -> None:
    (event,) = one("tool.execute.after", tool="bash", call="c", **more)
    assert event.failed is failed and event.kind == "tool-end"


def test_a_title_is_taken_once_there_is_one() -> None:
    (event,) = one("chat.message", prompt="x", title="Fix total")
    assert event.title == "Fix total" and event.key == "k"
    (event,) = one("chat.message", prompt="x", title="New session - 2026-12-01T00:02:00.114Z")
    assert event.title == ""


def test_calls_without_an_end_have_failed_at_the_turns_end(replay: Replay) -> None:
    name = "hook_event_name"
    base = {**BASE, "cwd": str(replay.root)}
    call = {"call": "c", "tool": "edit", "args": {"filePath": "README.md"}}
    replay.send({**base, name: "chat.message", "prompt": "go"})
    replay.send({**base, name: "tool.execute.before", **call})
    replay.send({**base, name: "session.idle", "text": "No.", "interrupted": True})
    (turn,) = replay.turns()
    assert turn.state == "interrupted" and turn.calls[0].state == "failed"


def test_prompts_that_wait_are_one_turn_and_subagents_that_go_on_keep_it_open(
    replay: Replay,
) -> None:
    name = "hook_event_name"
    base = {**BASE, "cwd": str(replay.root)}
    call = {"call": "c", "tool": "write", "args": {"filePath": "late.txt"}}
    replay.send({**base, name: "chat.message", "prompt": "go"})
    replay.send({**base, name: "chat.message", "prompt": "and on"})
    replay.send({**base, name: "tool.execute.before", **call})
    replay.send({**base, name: "session.idle", "text": "It runs.", "background": True})
    (turn,) = replay.turns()
    assert turn.state == "complete" and turn.background and turn.prompt == "go\nand on"
    replay.send({**base, name: "chat.message", "prompt": "", "continues": True, "key": "l"})
    (replay.root / "late.txt").write_text("late\n")
    replay.send({**base, name: "tool.execute.after", **call})
    replay.send({**base, name: "session.idle", "key": "l"})
    (turn,) = replay.turns()
    assert turn.state == "complete" and turn.calls[0].state == "done"
    assert changes(turn) == {"late.txt": ("added", "tool-edit")}


def test_what_was_taken_back_is_told_with_the_next_prompt(
    replay: Replay, capfd: pytest.CaptureFixture[str]
) -> None:
    replay.run("fail")
    project = replay.project()
    project.apply(project.plan(Request("undo")))
    assert capfd.readouterr().out == ""
    session = payloads("fail")[0]["session_id"]
    base = {"session_id": session, "cwd": "/home/dev/shop", "key": "k"}
    replay.send({**base, "hook_event_name": "chat.message", "prompt": "go on"})
    said = json.loads(capfd.readouterr().out)
    assert list(said) == ["note"] and '"README.md"' in said["note"]
    replay.send({**base, "hook_event_name": "session.idle"})
    assert capfd.readouterr().out == "" and opencode.answer("step", "x") == b""


def test_takeback_itself_is_no_work_of_the_agents() -> None:
    for command, number in (("takeback undo --yes", 0), ("takeback undo; make", 1)):
        given = {"tool": "bash", "call": "c", "args": {"command": command}}
        assert len(one("tool.execute.before", **given)) == number
        assert len(one("tool.execute.after", **given)) == number


def test_steps_and_ends_outside_a_turn_are_nothing() -> None:
    for name in ("step", "session.idle", "session.created"):
        assert one(name, text="x") == []
    assert [event.kind for event in one("dispose")] == ["session-end"]


EVENTS = [
    "chat.message", "tool.execute.before", "tool.execute.after", "step", "session.idle", "dispose",
    "Other",
]  # fmt: skip


@given(JUNK, st.none() | st.just(()))
def test_anything_is_taken(payload: Any, running: Any) -> None:
    assert isinstance(opencode.translate(payload, running), list)


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {
            "session_id": st.text(min_size=1, max_size=5),
            "cwd": st.text(min_size=1, max_size=5),
            "hook_event_name": st.sampled_from(EVENTS),
        },
        optional={
            "key": WEIRD,
            "prompt": WEIRD,
            "title": WEIRD,
            "call": WEIRD,
            "tool": st.sampled_from(["edit", "bash", "read", "apply_patch", "new"]) | WEIRD,
            "args": st.dictionaries(st.sampled_from(["filePath", "command", "patchText"]), WEIRD)
            | WEIRD,
            "exit": WEIRD,
            "failed": WEIRD,
            "text": WEIRD,
            "interrupted": WEIRD,
            "background": WEIRD,
            "continues": WEIRD,
        },
    ),
    st.none() | st.dictionaries(st.text(max_size=2), st.sampled_from(["edit", "shell", "other"])),
)
def test_payloads_with_fields_of_any_type(payload: dict[str, Any], running: Any) -> None:
    for event in opencode.translate(payload, running):
        assert event.session == payload["session_id"]
        assert os.path.isabs(event.folder) and b"\0" not in event.folder
        assert all(isinstance(path, bytes) and path and b"\0" not in path for path in event.paths)
        for text in (event.text, event.prompt, event.key, event.call, event.tool, event.command):
            assert isinstance(text, str)
        for fact in (event.failed, event.interrupted, event.background, event.continues):
            assert isinstance(fact, bool)
        assert (event.call_kind == "edit") <= bool(event.paths)
