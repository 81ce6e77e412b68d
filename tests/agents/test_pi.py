"""pi's own events, captured from real runs, through what our extension makes of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents import hook
from takeback.engine.agents.pi import events as pi
from takeback.engine.agents.pi import tools
from takeback.engine.facts import Event
from tests.agents import replay as replays
from tests.agents.replay import FIRST, JUNK, SECOND, WEIRD, changes, summary

DATA = Path(__file__).parent / "data/pi"
NAMES = sorted(path.name for path in DATA.iterdir())


class Extension:
    """What our extension tells for pi's events, one after the other."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.turn, self.prompted, self.first = "", False, False

    def told(self, event: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        if event == "agent_start":
            prompted, self.prompted = self.prompted, False
            return None if prompted else (event, {"turn_id": self.turn})
        if event == "message_end" and given["message"]["role"] == "user":
            first, self.first = self.first, False
            prompt = tools.text_of(given["message"]["content"])
            return None if first else ("user_message", {"turn_id": self.turn, "prompt": prompt})
        if event in ("tool_call", "tool_result", "tool_execution_end"):
            return self._call(event, given)
        if event == "turn_end":
            message = given["message"]
            text = tools.text_of(message["content"])
            return event, {"text": text, "stop_reason": message.get("stopReason")}
        if event == "agent_end":
            self.first = False
            said = [one for one in given["messages"] if one.get("role") == "assistant"]
            return event, {"stop_reason": said[-1].get("stopReason") if said else None}
        return (event, {}) if event == "session_shutdown" else None

    def _call(self, event: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        call, asked = given["toolCallId"], given.get("input") or {}
        if event == "tool_call":
            if given["toolName"] in tools.READERS:
                return None
            self.running.add(call)
        elif call not in self.running:
            return None
        else:
            self.running.remove(call)
            event = "tool_result"
        kept = {key: asked[key] for key in ("path", "command") if key in asked}
        more = {"tool_name": given["toolName"], "tool_call_id": call, "tool_input": kept}
        return event, {**more, "is_error": given.get("isError") is True}

    def payloads(self, name: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any] | None]]:
        """Each event of a captured run, with what is told of it."""
        for text in (DATA / name / "hooks.jsonl").read_text("utf-8").splitlines():
            line = json.loads(text)
            event, given, ctx = line["event"], line["payload"], line["ctx"]
            if event == "before_agent_start":
                self.turn = ctx["leafId"]
                self.prompted = self.first = True
                told = event, {"turn_id": self.turn, "prompt": given["prompt"]}
            else:
                told = self.told(event, given)
            payload = None
            if told is not None:
                payload = {
                    "hook_event_name": told[0],
                    "session_id": ctx["sessionId"],
                    "transcript_path": ctx["sessionFile"],
                    "cwd": ctx["cwd"],
                    **told[1],
                }
            yield event, given, payload


class Replay(replays.Replay):
    """A captured run once more: its payloads to the hook, its writes to a folder of ours."""

    agent = "pi"
    variables = (pi.PID,)

    def run(self, name: str, times: int = 1) -> None:
        for event, made, payload in Extension().payloads(name):
            for _ in range(times if payload is not None else 0):
                self.send(payload)
            if event == "tool_call":
                self._work(made["toolName"], made["input"])

    def _work(self, tool: str, given: dict[str, Any]) -> None:
        path = Path(self.moved(str(given.get("path", ""))))
        if tool == "edit":
            for edit in given["edits"]:
                path.write_text(path.read_text().replace(edit["oldText"], edit["newText"]))
        elif tool == "write":
            self.write(given["path"], given["content"])
        elif tool == "bash":
            self.shell(given["command"])


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    return Replay(tmp_path, monkeypatch)


# --- What happened, as it was captured --------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "plain"])
def test_three_turns_in_three_processes(replay: Replay, name: str) -> None:
    replay.run(name)
    one, two, three = replay.turns()
    assert summary(one) == ("[1]", "complete", 3, 2)
    assert summary(two) == ("[2]", "complete", 3, 2)
    assert summary(three) == ("[3]", "complete", 1, 0)
    assert one.complete and two.complete and three.complete
    assert changes(one) == FIRST and changes(two) == SECOND and changes(three) == {}
    assert [step.text for step in one.steps] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert [[call.tool for call in step.calls] for step in one.steps] == [[], ["edit", "write"], []]
    assert {call.state for turn in (one, two) for call in turn.calls} == {"done"}
    assert replay.errors() == []
    (session,) = replay.project().sessions()
    assert session.agent == "pi"


def test_undo_of_a_replayed_run_gives_the_bytes_back(replay: Replay) -> None:
    replay.run("basic3")
    replays.takes_all_back(replay)


def test_a_process_that_died(replay: Replay) -> None:
    replay.run("slow")
    slow, after = replay.turns()
    assert summary(slow) == ("[slow]", "interrupted", 1, 1)
    assert slow.calls[0].state == "lost"
    # Its end was seen only at the next prompt: anybody may have written in between.
    assert changes(slow) == {"slow1.txt": ("added", "no-record")}
    assert summary(after) == ("[after]", "complete", 1, 0)


def test_calls_that_fail(replay: Replay) -> None:
    replay.run("fail")
    turn, after = replay.turns()
    assert summary(turn) == ("[fail]", "complete", 3, 3)
    assert [(call.tool, call.state) for call in turn.calls] == [
        ("edit", "failed"),
        ("bash", "failed"),
        ("edit", "done"),
    ]
    assert [len(step.calls) for step in turn.steps] == [2, 1, 0]
    assert changes(turn)["partial.txt"] == ("added", "during-call")
    assert changes(turn)["README.md"][0] == "modified"
    assert changes(after) == {}


def test_renames_are_two_changes(replay: Replay) -> None:
    replay.run("rename")
    one, two = replay.turns()
    assert changes(one)["src/price.py"] == ("deleted", "during-call")
    assert changes(one)["src/pricing.py"] == ("added", "mixed")
    assert set(changes(two)) == {"config.ini", "shop.ini"}


def test_what_lies_outside_is_named_and_secrets_are_not_kept(replay: Replay) -> None:
    replay.run("outside")
    (turn,) = replay.turns()
    reasons = {os.fsdecode(item.path): item.reason for item in turn.not_captured}
    assert reasons[".env"] in ("secret", "ignored")
    assert reasons[str(replay.root.parent / "elsewhere/made.txt")] == "outside-project"
    for path in replay.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_an_abort_and_a_fork(replay: Replay) -> None:
    replay.run("abort-fork")
    one, two, slow, three = replay.turns()
    assert [summary(turn)[:2] for turn in (one, two, slow, three)] == [
        ("TB-ONE:", "complete"),
        ("TB-TWO:", "complete"),
        ("TB-SLOW:", "interrupted"),
        ("TB-THREE:", "complete"),
    ]
    assert changes(one) == {
        "NOTES.md": ("added", "tool-edit"),
        "src/app.py": ("modified", "tool-edit"),
    }
    assert slow.calls[0].state == "failed"
    sessions = replay.project().sessions()
    assert len(sessions) == 2 and replay.errors() == []
    # What the user's own command would write lies between two turns.
    assert changes(three) == {}


@pytest.mark.parametrize("name", NAMES)
def test_every_event_may_come_twice(replay: Replay, name: str) -> None:
    replay.run(name)
    once = [summary(turn)[1::2] for turn in replay.turns()]
    other = Replay(replay.root.parent / "again", replay._patch)
    other.run(name, times=2)
    assert [summary(turn)[1::2] for turn in other.turns()] == once


# --- Turns that are not plain -----------------------------------------------------------------


def tell(replay: Replay, event: str, **more: Any) -> None:
    base = {"session_id": "s", "cwd": str(replay.root), "turn_id": "k", "hook_event_name": event}
    replay.send(base | more)


def shell(replay: Replay, event: str, command: str, **more: Any) -> None:
    given = {"command": command}
    tell(replay, event, tool_name="bash", tool_call_id="c", tool_input=given, **more)


def test_what_is_typed_while_pi_works_belongs_to_the_turn(replay: Replay) -> None:
    tell(replay, "before_agent_start", prompt="one")
    tell(replay, "user_message", prompt="and two")
    tell(replay, "agent_end", stop_reason="stop")
    (turn,) = replay.turns()
    assert turn.prompt == "one\nand two"


def test_a_new_try_after_an_error_goes_on_with_the_turn(replay: Replay) -> None:
    tell(replay, "before_agent_start", prompt="one")
    shell(replay, "tool_call", "make")
    (replay.root / "a.txt").write_text("a\n")
    shell(replay, "tool_result", "make")
    tell(replay, "turn_end", text="")
    tell(replay, "turn_end", text="", stop_reason="error")
    tell(replay, "agent_end", stop_reason="error")
    tell(replay, "agent_start")
    tell(replay, "turn_end", text="Done.", stop_reason="stop")
    tell(replay, "agent_end", stop_reason="stop")
    (turn,) = replay.turns()
    assert summary(turn) == ("one", "complete", 2, 1) and not turn.background


def test_an_error_that_stays_ends_the_turn_with_the_session(replay: Replay) -> None:
    tell(replay, "before_agent_start", prompt="one")
    tell(replay, "agent_end", stop_reason="error")
    assert replay.turns()[0].background
    tell(replay, "session_shutdown")
    assert replay.turns()[0].state == "complete" and not replay.turns()[0].background


def test_an_agent_that_an_extension_starts_has_a_turn(replay: Replay) -> None:
    tell(replay, "agent_start")
    tell(replay, "agent_end", stop_reason="stop")
    (turn,) = replay.turns()
    assert turn.prompt == "" and turn.state == "complete"


def test_an_answer_after_the_end_opens_no_turn(replay: Replay) -> None:
    tell(replay, "before_agent_start", prompt="one")
    tell(replay, "agent_end", stop_reason="stop")
    tell(replay, "turn_end", text="late")
    assert [turn.prompt for turn in replay.turns()] == ["one"]


def test_takeback_itself_is_no_call_of_the_agents(replay: Replay) -> None:
    tell(replay, "before_agent_start", prompt="undo")
    shell(replay, "tool_call", "takeback undo --all")
    shell(replay, "tool_result", "takeback undo --all")
    assert replay.turns()[0].calls == ()


def test_the_process_is_the_one_that_the_extension_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pi.PID, "4711")
    assert hook._pid(pi.PID, pi.PROGRAM) == 4711


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"path": "src/a.py"}, b"src/a.py"),
        ({"path": "@src/a.py"}, b"src/a.py"),
        ({"path": "~/a.py"}, b"/home/me/a.py"),
        ({"path": "a\u00a0b\u202fc.py"}, b"a b c.py"),
        ({"path": "~other/a"}, b"~other/a"),
        ({"path": "a\0b"}, "a\ufffdb".encode()),
    ],
)
def test_paths_are_read_as_pi_reads_them(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], path: bytes
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert tools.paths_of(given) == (path,)


# --- Payloads of any shape --------------------------------------------------------------------

TOLD = [
    "before_agent_start", "user_message", "agent_start", "tool_call", "tool_result", "turn_end",
    "agent_end", "session_shutdown", "gave_up", "other",
]  # fmt: skip


@given(JUNK, st.none() | st.just(()))
def test_anything_is_taken(payload: Any, running: Any) -> None:
    assert isinstance(pi.translate(payload, running), list)


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {
            "session_id": st.text(min_size=1, max_size=5),
            "cwd": st.text(min_size=1, max_size=5),
            "hook_event_name": st.sampled_from(TOLD),
        },
        optional={
            "prompt": WEIRD,
            "turn_id": WEIRD,
            "transcript_path": WEIRD,
            "tool_name": st.sampled_from(["edit", "write", "bash", "read"]) | WEIRD,
            "tool_call_id": WEIRD,
            "tool_input": st.dictionaries(st.sampled_from(["path", "command"]), WEIRD) | WEIRD,
            "is_error": WEIRD,
            "text": WEIRD,
            "stop_reason": st.sampled_from(["aborted", "error", "stop"]) | WEIRD,
        },
    ),
    st.none() | st.just({}),
)
def test_payloads_with_fields_of_any_type(payload: dict[str, Any], running: Any) -> None:
    for event in pi.translate(payload, running):
        assert isinstance(event, Event) and event.session == payload["session_id"]
        assert os.path.isabs(event.folder) and b"\0" not in event.folder
        assert all(isinstance(path, bytes) and path and b"\0" not in path for path in event.paths)
        assert isinstance(event.text, str) and isinstance(event.prompt, str)
        assert event.call_kind != "edit" or event.paths


def test_a_note_is_told_with_a_prompt_only() -> None:
    told = json.loads(pi.answer("before_agent_start", "Note."))
    assert told == {"note": "Note."}
    assert pi.answer("user_message", "Note.") == pi.answer("agent_start", "Note.") == b""


def test_a_turn_that_pi_gave_up_after_an_error_is_over(replay: Replay) -> None:
    tell(replay, "before_agent_start", prompt="one")
    tell(replay, "agent_end", stop_reason="error")
    assert [(turn.state, turn.background) for turn in replay.turns()] == [("complete", True)]
    tell(replay, "gave_up")
    assert [(turn.state, turn.background) for turn in replay.turns()] == [("complete", False)]
    tell(replay, "gave_up")
    assert len(replay.turns()) == 1, "where nothing is open, nothing is over"
