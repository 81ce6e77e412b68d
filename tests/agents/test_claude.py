"""Claude Code's own payloads, captured from real runs, against what really happened in them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents import hook
from takeback.engine.agents.claude import events as claude
from takeback.engine.facts import Event
from takeback.engine.frozen import changed
from takeback.engine.model import Request
from takeback.engine.project import Project
from takeback.engine.upkeep import recover
from tests.agents import replay as replays
from tests.agents.replay import FIRST, JUNK, SECOND, WEIRD, changes, summary

DATA = Path(__file__).parent / "data/claude"
NAMES = sorted(path.stem for path in DATA.glob("*.jsonl"))


def payloads(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


class Replay(replays.Replay):
    """A captured run once more: its payloads to the hook, its writes to a folder of ours."""

    agent = "claude"
    variables = ("CLAUDE_PID",)

    def run(self, name: str) -> None:
        for payload in payloads(name):
            if payload["hook_event_name"] in ("PostToolUse", "PostToolUseFailure"):
                self._work(payload["tool_name"], payload["tool_input"])
            if payload["hook_event_name"] == "SessionEnd" and name == "slow":
                (self.root / "slow1.txt").write_text("before\n")
            self.send(payload)

    def _work(self, tool: str, given: dict[str, Any]) -> None:
        path = self.root / self.moved(str(given.get("file_path", "")))
        if tool == "Edit":
            path.write_text(path.read_text().replace(given["old_string"], given["new_string"]))
        elif tool == "Write":
            self.write(given["file_path"], given["content"])
        elif tool == "Bash" and "sleep" not in given["command"]:
            self.shell(given["command"])


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    return Replay(tmp_path, monkeypatch)


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
    assert changes(one) == FIRST
    assert changes(two) == SECOND
    assert changes(three) == {}
    assert [step.text for step in one.steps] == [
        "",
        "",
        "total() is fixed and NOTES.md is written.",
    ]
    assert [call.tool for call in one.calls] == ["Read", "Edit", "Write"]
    assert replay.errors() == []
    (session,) = replay.project().sessions()
    assert (session.agent == "claude" and session.id == "3ee243c7-8c48-4c5d-b0f6-24231f8a9334") or (
        name == "plain"
    )


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


def test_calls_that_fail(replay: Replay) -> None:
    replay.run("fail")
    turn, after = replay.turns()
    assert summary(turn) == ("[fail]", "complete", 3, 3)
    assert {(call.tool, call.state) for call in turn.calls} == {
        ("Bash", "failed"),
        ("Edit", "failed"),
        ("Edit", "done"),
    }
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


def test_a_subagent_and_the_word_that_it_is_done(replay: Replay) -> None:
    replay.run("subagent")
    turn, after = replay.turns()
    assert turn.prompt == "[delegate] Let a subagent write sub.txt."
    assert turn.state == "complete"
    assert changes(turn) == {"sub.txt": ("added", "tool-edit")}
    assert "sub.txt is written." in [step.text for step in turn.steps]
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_prompts_queued_within_a_turn_are_one_turn(replay: Replay) -> None:
    replay.run("queued")
    (turn,) = replay.turns()
    assert [line.split(":")[0] for line in turn.prompt.split("\n")] == [
        "TB-ONE",
        "TB-TWO",
        "TB-FOUR",
        "TB-FAIL",
    ]
    assert turn.state == "complete"
    assert changes(turn)["src/app.py"] == ("modified", "tool-edit")
    assert changes(turn)["gen.txt"] == ("added", "during-call")


def test_a_terminal_session(replay: Replay) -> None:
    replay.run("interactive")
    found = [(turn.prompt.split(":")[0], turn.state) for turn in replay.turns()]
    assert found == [
        ("TB-ONE", "complete"),
        ("TB-TWO", "complete"),
        ("TB-SLOW", "interrupted"),
        ("TB-THREE", "complete"),
        ("TB-BG", "complete"),
        ("TB-THREE", "complete"),
    ]
    assert replay.errors() == []


def test_what_a_command_in_the_background_writes_is_its_own(replay: Replay) -> None:
    for payload in payloads("interactive"):
        if payload["hook_event_name"] == "UserPromptSubmit" and "<task-" in payload["prompt"]:
            (running,) = (t for t in replay.turns() if t.prompt.startswith("TB-BG"))
            assert running.background and running.state == "complete"
            (replay.root / "late.txt").write_text("late\n")
        replay.send(payload)
    (turn,) = (turn for turn in replay.turns() if turn.prompt.startswith("TB-BG"))
    assert changes(turn) == {"late.txt": ("added", "during-call")}
    assert [call.state for call in turn.calls] == ["done"]


def test_the_word_of_work_that_ended_begins_a_turn_where_none_is_open(replay: Replay) -> None:
    for payload in payloads("subagent"):
        if "<task-" in payload.get("prompt", ""):
            replay.send(payload)
    (turn,) = replay.turns()
    assert turn.prompt == 'Agent "write a file" finished'


@pytest.mark.parametrize("name", ["signals-SIGTERM", "signals-SIGKILL"])
def test_an_agent_that_is_killed(replay: Replay, name: str) -> None:
    replay.run(name)
    turn = replay.turns()[0]
    assert turn.calls[0].state in ("lost", "running")
    assert turn.state == ("interrupted" if name.endswith("TERM") else "running")


@pytest.mark.parametrize("name", NAMES)
def test_every_event_may_come_twice(replay: Replay, name: str) -> None:
    replay.run(name)
    once = [summary(turn)[1:] for turn in replay.turns() if turn.state != "running"]
    other = Replay(replay.root.parent / "again", replay._patch)
    for payload in payloads(name):
        if payload["hook_event_name"] in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
            other.send(payload)
        other.send(payload)
    twice = [summary(turn)[1:] for turn in other.turns() if turn.state != "running"]
    assert [(state, calls) for state, _, calls in twice] == [(s, calls) for s, _, calls in once]


# --- What a payload may hold ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_event_holds_what_an_edit_writes(name: str) -> None:
    for payload in payloads(name):
        texts = [
            text
            for key in ("old_string", "new_string", "content")
            for text in [str(payload.get("tool_input", {}).get(key, ""))]
            if len(text) > 8
        ]
        for event in claude.translate(payload, ()):
            # What the tool read and replaced is compared with the file, and kept as its version.
            kept = repr(changed(event, found=None, swaps=()))
            assert not any(text in kept for text in texts)
            assert event.agent == "claude" and event.session == payload["session_id"]


def one(name: str, running: Any = None, **more: Any) -> list[Event]:
    base = {"session_id": "s", "cwd": "/p", "prompt_id": "k", "hook_event_name": name}
    return claude.translate({**base, **more}, running)


def test_tools_have_their_kinds() -> None:
    for tool in ("Edit", "Write", "NotebookEdit"):
        assert claude.call_kind(tool) == "edit"
    for tool in ("Bash", "mcp__files__write"):
        assert claude.call_kind(tool) == "shell"
    for tool in ("Read", "Glob", "Grep", "WebFetch", "TodoWrite", "Agent", "Task"):
        assert claude.call_kind(tool) == "other"
    assert claude.call_kind("Brandnew") is None and claude.call_kind("") is None


def test_an_edit_without_a_path_opens_a_window() -> None:
    for odd in ({}, None, [], {"file_path": 3}, {"file_path": ""}):
        (event,) = one("PreToolUse", tool_name="Edit", tool_use_id="c", tool_input=odd)
        assert event.call_kind is None and event.paths == ()
    (event,) = one(
        "PreToolUse", tool_name="NotebookEdit", tool_use_id="c", tool_input={"notebook_path": "a"}
    )
    assert event.call_kind == "edit" and event.paths == (b"a",)


def test_commands_of_servers_are_not_kept() -> None:
    (event,) = one(
        "PreToolUse", tool_name="mcp__x__run", tool_use_id="c", tool_input={"command": "secret"}
    )
    assert event.call_kind == "shell" and event.command == ""


def test_a_batch_ends_what_still_runs_and_names_what_was_refused() -> None:
    calls = [
        {
            "tool_name": "Edit",
            "tool_use_id": "a",
            "tool_input": {"file_path": "x"},
            "tool_response": "The file x has been updated successfully.",
        },
        {
            "tool_name": "Edit",
            "tool_use_id": "b",
            "tool_input": {"file_path": "y"},
            "tool_response": "<tool_use_error>no",
        },
        {"tool_name": "Read", "tool_use_id": "c", "tool_response": "text <tool_use_error>"},
        {"tool_name": "Bash", "tool_use_id": "d", "tool_input": {"command": "sleep 9 &"}},
    ]
    found = one("PostToolBatch", {"a", "d"}, tool_calls=calls)
    assert [(e.kind, e.call, e.failed, e.call_kind) for e in found] == [
        ("tool-end", "a", False, "edit"),
        ("tool-begin", "b", False, "other"),
        ("tool-end", "b", True, "other"),
        ("step", "", False, None),
    ]
    assert [e.kind for e in one("PostToolBatch", (), tool_calls=[], agent_id="x")] == []
    reading = [{"tool_name": "Read", "tool_use_id": "c"}]
    assert one("PostToolBatch", None, tool_calls=reading) == []


@pytest.mark.parametrize(
    "said",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
        "Permission to use Edit has been denied.",
        "<tool_use_error>String to replace not found in file.",
        None,
    ],
)
def test_an_edit_of_which_nothing_says_that_it_was_made_has_failed(said: str | None) -> None:
    call = {"tool_name": "Edit", "tool_use_id": "a", "tool_input": {"file_path": "x"}}
    call["tool_response"] = said
    ended = one("PostToolBatch", {"a"}, tool_calls=[call])[0]
    assert (ended.kind, ended.call, ended.failed) == ("tool-end", "a", True)


def test_a_stop_with_work_in_the_background() -> None:
    (event,) = one("Stop", background_tasks=[{"status": "completed"}, {"status": "running"}])
    assert event.background
    (event,) = one("Stop", background_tasks=[{"status": "completed"}])
    assert not event.background
    (event,) = one("Stop", background_tasks=[{}], last_assistant_message="done")
    assert event.background and event.text == "done"
    for odd in (None, 3, "x", {}):
        (event,) = one("Stop", background_tasks=odd)
        assert not event.background


EVENTS = [
    "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop",
    "SubagentStop", "SessionStart", "SessionEnd", "Other",
]  # fmt: skip


@given(JUNK, st.none() | st.just(()))
def test_anything_is_taken(payload: Any, running: Any) -> None:
    assert isinstance(claude.translate(payload, running), list)


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
            "prompt_id": WEIRD,
            "tool_name": st.sampled_from(["Edit", "Bash", "Read", "mcp__a", "New"]) | WEIRD,
            "tool_use_id": WEIRD,
            "tool_input": st.dictionaries(
                st.sampled_from(["file_path", "notebook_path", "command", "content"]), WEIRD
            )
            | WEIRD,
            "tool_response": WEIRD,
            "tool_calls": st.lists(WEIRD, max_size=3) | WEIRD,
            "background_tasks": WEIRD,
            "last_assistant_message": WEIRD,
            "agent_id": WEIRD,
        },
    ),
    st.none() | st.sets(st.text(max_size=2), max_size=2),
)
def test_payloads_with_fields_of_any_type(payload: dict[str, Any], running: Any) -> None:
    for event in claude.translate(payload, running):
        assert event.session == payload["session_id"]
        assert os.path.isabs(event.folder) and b"\0" not in event.folder
        assert all(isinstance(path, bytes) and path and b"\0" not in path for path in event.paths)
        assert isinstance(event.text, str) and isinstance(event.prompt, str)
        assert (event.call_kind == "edit") <= bool(event.paths)


# --- The hook ---------------------------------------------------------------------------------


def test_an_unknown_agent_is_noted(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(payloads("basic3")[0]).encode()
    monkeypatch.setattr(hook, "_read", lambda: text)
    assert hook.main("nobody", str(replay.data)) == 0
    assert "nobody" in replay.errors()[0]["message"]


def test_a_place_where_nothing_may_be_recorded_is_said_once_a_turn(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(replay.root))
    replay.run("plain")
    assert [error["event"] for error in replay.errors()] == ["UserPromptSubmit"] * 3
    assert "home" in replay.errors()[0]["message"]
    assert not (replay.data / "projects").exists()


def test_a_failure_marks_the_turn(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    from takeback.engine.record import recorder

    real = recorder.feed

    def broken(event: Event, *rest: Any) -> Any:
        if event.kind == "tool-end":
            raise OSError(28, "No space left on device")
        return real(event, *rest)

    monkeypatch.setattr(recorder, "feed", broken)
    replay.run("basic3")
    one, two, three = replay.turns()
    assert not one.complete and not two.complete and three.complete
    assert any("not recorded" in note for note in one.notes)
    assert "No space left" in replay.errors()[0]["message"]


def test_no_data_folder_at_all_is_no_matter(replay: Replay) -> None:
    replay.data.write_text("a file in the way")
    replay.run("basic3")
    assert replay.data.read_text() == "a file in the way"


def test_a_broken_settings_file_does_not_stop_recording(replay: Replay) -> None:
    folder = replay.root.parent / "config"
    folder.mkdir()
    (folder / "config.toml").write_text("broken")
    replay.run("basic3")
    (folder / "config.toml").unlink()
    assert len(replay.turns()) == 3 and replay.errors() == []


def test_the_agents_process_is_known(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    for payload in payloads("slow")[:3]:
        replay.send(payload)
    assert replay.turns()[0].pid_known
    monkeypatch.setattr(hook, "_named_ancestor", lambda name: 7)
    for text in ("x", "-1", "9" * 30, "١"):
        monkeypatch.setenv("CLAUDE_PID", text)
        assert hook._pid("CLAUDE_PID", b"claude") == 7


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="there is no /proc")
def test_an_agent_that_does_not_name_its_process_is_found_above(tmp_path: Path) -> None:
    agent = tmp_path / "claude"
    agent.write_text("read line\nsleep 60\n")
    child = subprocess.Popen(["sh", str(agent)], stdin=subprocess.PIPE, start_new_session=True)
    try:
        started = time.monotonic() + 20
        while hook._named_ancestor(b"claude", child.pid) != child.pid:
            # The system shows the new program's words a moment after it was started.
            assert time.monotonic() < started
            time.sleep(0.01)
        assert hook._named_ancestor(b"nobody", child.pid) == 0
        assert child.stdin is not None
        child.stdin.write(b"go\n")
        child.stdin.flush()
        folder = Path(f"/proc/{child.pid}/task/{child.pid}/children")
        deadline = time.monotonic() + 20
        while not (below := folder.read_text().split()) and time.monotonic() < deadline:
            time.sleep(0.02)
        # The child may not have become `sleep` yet; above either stands the agent.
        assert hook._named_ancestor(b"claude", int(below[0])) in (child.pid, int(below[0]))
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert child.stdin is not None
        child.stdin.close()


@pytest.fixture(autouse=True)
def quiet(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """No hook writes to standard output."""
    yield
    assert capfd.readouterr().out == ""


def test_what_a_person_writes_while_the_agent_asks_for_permission_is_not_the_agents(
    tmp_path: Path,
) -> None:
    """The tool tells what it read; what stood there when the call began differs from that."""
    root, data = tmp_path / "p", os.fsencode(tmp_path / "d")
    root.mkdir()
    file = root / "f"
    lines = [f"line {n}\n" for n in range(9)]
    file.write_text("".join(lines))
    base = {"session_id": "s", "cwd": str(root), "prompt_id": "1"}
    edit = {"tool_name": "Edit", "tool_use_id": "e", "tool_input": {"file_path": str(file)}}

    def send(event: str, **fields: object) -> None:
        for one in claude.translate({**base, "hook_event_name": event, **fields}):
            recover.feed(one, data)

    send("UserPromptSubmit", prompt="x")
    send("PreToolUse", **edit)
    lines[7] = "the user's\n"
    file.write_text("".join(lines))
    read = file.read_text()
    lines[1] = "the agent's\n"
    file.write_text("".join(lines))
    send("PostToolUse", **edit, tool_response={"originalFile": read})
    send("Stop")
    project = Project.open(root, data)
    (change,) = project.sessions()[0].turns[0].changes
    assert change.evidence == "mixed"
    project.apply(project.plan(Request("undo")))
    lines[1] = "line 1\n"
    assert file.read_text() == "".join(lines)


def test_what_a_tool_read_of_a_secret_file_is_kept_nowhere(tmp_path: Path) -> None:
    root, data = tmp_path / "p", os.fsencode(tmp_path / "d")
    root.mkdir()
    (root / ".env").write_text("TOKEN=one\n")
    base = {"session_id": "s", "cwd": str(root), "prompt_id": "1"}
    edit = {
        "tool_name": "Edit",
        "tool_use_id": "e",
        "tool_input": {"file_path": str(root / ".env")},
    }
    answer = {"originalFile": "TOKEN=SECRETWORD\n"}
    events = [
        {"hook_event_name": "UserPromptSubmit", "prompt": "x"},
        {"hook_event_name": "PreToolUse", **edit},
        {"hook_event_name": "PostToolUse", **edit, "tool_response": answer},
        {"hook_event_name": "Stop"},
    ]
    for fields in events:
        for one in claude.translate({**base, **fields}):
            recover.feed(one, data)
    for folder, _, names in os.walk(data):
        for name in names:
            raw = Path(os.fsdecode(os.path.join(folder, name))).read_bytes()
            for held in (raw, _inflated(raw)):
                assert b"SECRETWORD" not in held and b"TOKEN=one" not in held


def _inflated(raw: bytes) -> bytes:
    try:
        return zlib.decompress(raw)
    except zlib.error:
        return b""
