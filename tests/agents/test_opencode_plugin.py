"""The plugin itself, under node: what it tells of what OpenCode calls it with.

Opt-in (``-m agents``): needs node; for the captured runs a test bed's folder of samples, too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.opencode import setup
from tests.agents.test_opencode import DATA, NAMES, payloads

pytestmark = pytest.mark.agents


def told(tmp_path: Path, calls: Path) -> list[dict[str, Any]]:
    """What the plugin tells of OpenCode's calls."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node")
    out, plugin = tmp_path / "out", tmp_path / "plugin.mjs"
    words = ["/bin/sh", "-c", f"cat >> {out}; echo >> {out}"]
    text = setup._template().replace("@HOOK@", json.dumps(words)).replace("@CLI@", '["/bin/echo"]')
    plugin.write_text(text)
    driver = Path(__file__).parent / "opencode_replay.mjs"
    subprocess.run([node, str(driver), str(plugin), str(calls)], check=True, timeout=60)
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("name", NAMES)
def test_the_plugin_tells_what_the_samples_hold(tmp_path: Path, name: str) -> None:
    calls = DATA / f"events/{name}.jsonl"
    if not calls.exists():
        samples = Path(os.environ.get("TAKEBACK_BED", "/none")).parent
        calls = samples / f"fixtures/opencode/{name}/hooks.jsonl"
    if not calls.exists():
        pytest.skip("TAKEBACK_BED names no bed with samples")
    assert told(tmp_path, calls) == payloads(name)


class Calls:
    """What OpenCode calls a plugin with, one line each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.add("init", {"directory": "/home/dev/shop"})

    def add(self, event: str, given: object = None, output: object = None) -> None:
        payload = {"input": given, "output": output}
        self.lines.append(json.dumps({"event": event, "payload": payload}))

    def event(self, kind: str, **properties: Any) -> None:
        self.add("event", {"event": {"type": kind, "properties": properties}})

    def status(self, session: str, kind: str) -> None:
        self.event("session.status", sessionID=session, status={"type": kind})

    def prompt(self, session: str, key: str, *parts: dict[str, Any]) -> None:
        message = {"id": key, "sessionID": session}
        self.add("chat.message", {"sessionID": session}, {"message": message, "parts": parts})

    def call(self, session: str, name: str, tool: str, **args: str) -> None:
        given = {"sessionID": session, "callID": name, "tool": tool}
        self.add("tool.execute.before", given, {"args": args})

    def done(self, session: str, name: str, tool: str, **metadata: Any) -> None:
        given = {"sessionID": session, "callID": name, "tool": tool, "args": {}}
        self.add("tool.execute.after", given, {"metadata": metadata})

    def answer(self, session: str, key: str, finish: str, text: str = "") -> None:
        if text:
            part = {
                "type": "text", "id": f"prt{key}", "sessionID": session, "messageID": key,
                "text": text,
            }  # fmt: skip
            self.event("message.part.updated", part=part)
        info = {
            "role": "assistant", "id": key, "sessionID": session, "finish": finish,
            "time": {"completed": 1},
        }  # fmt: skip
        self.event("message.updated", info=info)

    def told(self, tmp_path: Path) -> list[dict[str, Any]]:
        (tmp_path / "calls").write_text("\n".join(self.lines))
        return told(tmp_path, tmp_path / "calls")


def typed_part(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def test_the_plugin_knows_subagents_that_go_on_and_prompts_that_wait(tmp_path: Path) -> None:
    c = Calls()
    c.prompt("s", "k1", typed_part("go"))
    c.status("s", "busy")
    c.event("session.created", info={"id": "sub", "parentID": "s", "title": "x"})
    c.prompt("sub", "k2", typed_part("the subagent's"))
    c.status("sub", "busy")
    c.prompt("s", "k3", typed_part("and on"), {**typed_part("a file"), "synthetic": True})
    c.call("sub", "c1", "write", filePath="late.txt", content="secret")
    c.answer("s", "a1", "stop", "It runs.")
    c.event("session.idle", sessionID="s")
    c.done("sub", "c1", "write")
    c.status("sub", "idle")
    c.event("session.idle", sessionID="sub")
    c.status("s", "idle")
    found = c.told(tmp_path)
    assert [(p["hook_event_name"], p["session_id"], p["key"]) for p in found] == [
        (name, "s", "k1")
        for name in (
            *("chat.message", "chat.message", "tool.execute.before", "session.idle"),
            *("tool.execute.after", "session.idle"),
        )
    ]
    assert found[1]["prompt"] == "and on" and "secret" not in json.dumps(found)
    assert (found[3]["background"], found[3]["text"]) == (True, "It runs.")
    assert (found[5]["background"], found[5]["text"]) == (False, "")


def test_the_plugin_ends_what_fails_and_what_is_broken_off(tmp_path: Path) -> None:
    c = Calls()
    c.prompt("s", "k1", typed_part("go"))
    c.status("s", "busy")
    c.call("s", "c1", "edit", filePath="a")
    c.call("s", "c2", "edit", filePath="b")
    part = {
        "type": "tool", "callID": "c1", "sessionID": "s", "messageID": "a1",
        "state": {"status": "error"},
    }  # fmt: skip
    c.event("message.part.updated", part=part)
    c.answer("s", "a1", "tool-calls")
    c.call("s", "c3", "bash", command="sleep 9")
    c.event("session.error", sessionID="s", error={"name": "MessageAbortedError"})
    c.status("s", "idle")
    c.event("session.idle", sessionID="s")
    c.done("s", "c3", "bash", exit=None)
    found = c.told(tmp_path)
    assert [(p["hook_event_name"], p.get("call"), p.get("failed")) for p in found] == [
        ("chat.message", None, None),
        ("tool.execute.before", "c1", None),
        ("tool.execute.before", "c2", None),
        ("tool.execute.after", "c1", True),
        ("tool.execute.after", "c2", True),
        ("step", None, None),
        ("tool.execute.before", "c3", None),
        ("session.idle", None, None),
        ("tool.execute.after", "c3", None),
    ]
    assert found[7]["interrupted"] is True and found[8]["exit"] is None


def test_what_is_sent_through_the_newer_interface_waits_for_its_turn(tmp_path: Path) -> None:
    c = Calls()

    def sent(kind: str, session: str = "s", **fields: Any) -> None:
        c.event(f"session.next.{kind}", sessionID=session, **fields)

    c.event("session.created", info={"id": "sub", "parentID": "s", "title": "x"})
    sent("prompted", messageID="k1", prompt={"text": "go"})
    sent("step.started", assistantMessageID="a1")
    sent("prompted", messageID="k2", prompt={"text": "and on"})
    sent("tool.input.started", callID="c1", name="write")
    sent("tool.input.ended", callID="c1", text="no json")
    sent("tool.called", callID="c2", tool="edit", input={"path": "a", "newString": "secret"})
    sent("tool.called", callID="c3", tool="read", input={"path": "a"})
    sent("prompted", "sub", messageID="k9", prompt={"text": "the subagent's"})
    sent("tool.called", "sub", callID="c4", tool="bash", input={"command": "ls"})
    sent("tool.success", "sub", callID="c4", structured={"exit": 3})
    sent("step.ended", "sub", assistantMessageID="a9", finish="stop")
    sent("tool.success", callID="c2", structured={})
    sent("step.ended", assistantMessageID="a1", finish="tool-calls")
    sent("step.failed", assistantMessageID="a2", error={"message": "no answer"})
    sent("step.started", assistantMessageID="a3")
    sent("text.ended", assistantMessageID="a3", textID="t", text="Once more.")
    sent("step.ended", assistantMessageID="a3", finish="stop")
    found = c.told(tmp_path)
    assert [(p["hook_event_name"], p.get("call"), p["session_id"], p["key"]) for p in found] == [
        ("session.next.prompted", None, "s", "k1"),
        ("session.next.prompted", None, "s", "k1"),
        ("tool.execute.before", "c1", "s", "k1"),
        ("tool.execute.before", "c2", "s", "k1"),
        ("tool.execute.before", "c4", "s", "k1"),
        ("tool.execute.after", "c4", "s", "k1"),
        ("tool.execute.after", "c2", "s", "k1"),
        ("tool.execute.after", "c1", "s", "k1"),
        ("step", None, "s", "k1"),
        ("session.idle", None, "s", "k1"),
        ("session.next.prompted", None, "s", "a3"),
        ("session.idle", None, "s", "a3"),
    ]
    assert [p["prompt"] for p in found[:2]] == ["go", "and on"]
    assert found[5]["exit"] == 3 and found[7]["failed"] is True
    assert found[9]["interrupted"] is True
    assert found[10]["continues"] is True and found[11]["text"] == "Once more."
    assert "secret" not in json.dumps(found)


def test_the_plugin_begins_no_turn_for_a_call_of_takeback(tmp_path: Path) -> None:
    c = Calls()
    for key, work in (("k1", False), ("k2", True)):
        given = {"command": "takeback-undo", "sessionID": "s", "arguments": "--yes"}
        c.add("command.execute.before", given, {"parts": [typed_part("/takeback-undo")]})
        c.prompt("s", key, typed_part("/takeback-undo"))
        c.status("s", "busy")
        if work:
            c.call("s", "c1", "write", filePath="a")
            c.done("s", "c1", "write")
        c.answer("s", f"a-{key}", "stop", "Done.")
        c.status("s", "idle")
        c.event("session.idle", sessionID="s")
    found = c.told(tmp_path)
    assert [(p["hook_event_name"], p["key"]) for p in found] == [
        (name, "k2")
        for name in ("chat.message", "tool.execute.before", "tool.execute.after", "session.idle")
    ]


def test_the_plugin_survives_events_of_any_shape(tmp_path: Path) -> None:
    c = Calls()
    for odd in (None, {}, {"event": None}, {"event": {"type": "message.updated"}}, [], 3, "x"):
        for name in ("event", "chat.message", "tool.execute.before", "tool.execute.after"):
            c.add(name, odd, odd)
    c.prompt("s", "k", typed_part("go"))
    (payload,) = [p for p in c.told(tmp_path) if p.get("prompt")]
    assert payload["prompt"] == "go"
