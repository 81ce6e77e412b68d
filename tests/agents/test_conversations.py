"""What was recorded, with what was said: joined, and what was said before anything was recorded."""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents import conversations
from takeback.engine.agents.claude import conversation as claude
from takeback.engine.agents.talk import Source, Talk, TalkCall, TalkStep, TalkTurn
from takeback.engine.facts import Event
from takeback.engine.model import Call, Session, Step, Turn
from takeback.engine.project import Project
from takeback.tui import documents, past, present
from tests.agents.test_claude import Replay, payloads
from tests.agents.test_claude_talk import TALKS, WITH_REWIND


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(conversations, "_talks", {})
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def put_talk(home: Path, root: Path, name: str) -> None:
    folder = home / ".claude/projects/-tmp-shop"
    shutil.copytree(TALKS / name, folder, dirs_exist_ok=True)
    for path in folder.rglob("*.jsonl"):
        path.write_text(path.read_text().replace("/home/dev/shop", str(root)))


# --- With what was recorded -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "fail", "rename", "subagent", "outside", "bg"])
def test_what_was_said_stands_at_the_recorded_steps(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    put_talk(tmp_path / "home", replay.root, name)
    replay.run(name)
    project = replay.project()
    found = project.conversations()
    assert found.past == () and found.failed == () and found.unread == 0
    (session,), (recorded,) = found.sessions, project.sessions()
    (source,) = claude.find(os.fsencode(replay.root), os.fsencode(tmp_path / "home"))
    talk = claude.read(source)
    assert talk is not None
    said = {call.id: step.text for t in talk.turns for step in t.steps for call in step.calls}
    calls = 0
    for turn in session.turns:
        for step in turn.steps:
            for call in step.calls[:1]:
                assert step.text == said[call.id], (step, call)
                calls += 1
    assert calls
    # All else is as it was recorded.
    assert [t.changes for t in session.turns] == [t.changes for t in recorded.turns]
    assert documents.log(b"/p", True, [session])["sessions"][0].keys() == {
        "id", "agent", "title", "state", "turns",
    }  # fmt: skip
    if name == "basic3":
        assert [step.text for step in session.turns[0].steps] == [
            "I read the file first.",
            "Now both files.",
            "total() is fixed and NOTES.md is written.",
        ]


def test_the_agents_title_and_a_prompt_that_no_hook_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    put_talk(tmp_path / "home", replay.root, "basic3")
    (path,) = (tmp_path / "home/.claude/projects/-tmp-shop").glob("*.jsonl")
    with path.open("a") as file:
        file.write(json.dumps({"type": "ai-title", "aiTitle": "Fix the cart"}) + "\n")
    for payload in payloads("basic3"):
        if payload.get("prompt", "").startswith("[1]"):
            continue
        replay.send(payload)
    (session,) = replay.project().conversations().sessions
    assert session.title == "Fix the cart"
    assert session.turns[0].prompt == "[1] Fix total() in src/cart.py and write NOTES.md."


def test_a_title_that_was_given_stays() -> None:
    session = recorded(turn("t1", "a"), title="mine")
    found = conversations._told(session, talk(said("a")), {})
    assert found.title == "mine"


def test_what_was_said_before_the_first_recorded_turn_is_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    put_talk(tmp_path / "home", replay.root, "basic3")
    sent = payloads("basic3")
    second = next(at for at, p in enumerate(sent) if p.get("prompt", "").startswith("[2]"))
    for payload in sent[second:]:
        replay.send(payload)
    found = replay.project().conversations()
    assert [len(session.turns) for session in found.sessions] == [2]
    (before,) = found.past
    assert [t.prompt[:3] for t in before.turns] == ["[1]"] and not before.recorded
    assert [t.earlier for t in (*before.turns, *found.sessions[0].turns)] == [0, 1, 2]
    assert {t.folder for t in found.sessions[0].turns} == {os.fsencode(replay.root)}


# --- Past -------------------------------------------------------------------------------------


def test_conversations_from_before_takeback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    put_talk(tmp_path / "home", replay.root, "basic3")
    put_talk(tmp_path / "home", replay.root, "interactive")
    project = replay.project()
    assert project.sessions() == ()
    found = project.conversations()
    assert found.sessions == () and len(found.past) == 3
    first = next(session for session in found.past if session.id == WITH_REWIND)
    assert [turn.state for turn in first.turns].count("interrupted") == 1
    assert [bool(turn.notes) for turn in first.turns] == [False, True, True, False, False]
    for session in found.past:
        assert not session.recorded and session.turns
        for one in session.turns:
            assert (one.n, one.recorded, one.changes, one.complete) == (0, False, (), False)
    assert [turn.earlier for turn in first.turns] == [0, 1, 1, 1, 2], "without what it left"
    edit = next(call for t in first.turns for call in t.calls if call.tool == "Edit")
    assert edit.paths == (b"src/app.py",)
    assert not os.path.exists(replay.data), "reading makes nothing"
    rows = documents.session_rows((), found.past)
    assert rows["sessions"] == [] and [row["files"] for row in rows["past"]] == [0, 0, 0]
    lines = past.session_lines(found)
    assert lines[1] == past.HEADING and len(lines) == 5
    whole = past.log_lines([first], whole=True)
    assert whole[0] == present.session_head(first) and past.NOTHING in whole[1]
    assert "takeback sessions" in past.log_lines(found.past, whole=False)[1]


def test_a_fork_of_a_recorded_session_that_began_later_is_no_past() -> None:
    session = recorded(turn("t1", "a", begun=100))
    child = talk(said("b", begun=200), session="child", parent="s")
    old = talk(said("b", begun=50), session="old", parent="s")
    found = gathered([session], child, old)
    assert [item.id for item in found.past] == ["old"]


def test_what_a_recorded_fork_began_with_is_its_parents() -> None:
    parent = recorded(turn("t1", "a", key="k", begun=100))
    fork = replace(recorded(turn("t2", "b", begun=300)), id="fork")
    own, copied = said("a", key="k", begun=100), said("a", begun=100)
    new = said("b", begun=300)
    first = talk(own)
    for copy in (copied, own):
        found = gathered([parent, fork], first, talk(copy, new, session="fork", parent="s"))
        assert found.past == ()
    older = said("from before", begun=20)
    found = gathered([parent, fork], first, talk(older, copied, new, session="fork", parent="s"))
    assert [t.prompt for s in found.past for t in s.turns] == ["from before"]


def test_a_call_that_never_ended_is_lost() -> None:
    step = TalkStep("", (TalkCall("c", "X", None, (b"/p/a", b"/q/b"), "", "running"),))
    (session,) = gathered([], talk(TalkTurn("k", "p", (step,)), session="old")).past
    (call,) = session.turns[0].calls
    assert (call.state, call.kind, call.paths) == ("lost", "shell", (b"a", b"/q/b"))


def test_a_project_within_this_one_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    inner, gone = replay.root / "inner", replay.root / "gone"
    (inner / ".git").mkdir(parents=True)
    put_talk(tmp_path / "home", inner, "basic3")
    put_talk(tmp_path / "home", gone, "plain")
    (shown,) = replay.project().conversations().past
    assert shown.id == payloads("plain")[0]["session_id"]
    inside = Project.open(os.fsencode(inner), str(replay.data)).conversations().past
    assert [session.id for session in inside] == [payloads("basic3")[0]["session_id"]]


TEXT = st.text(st.characters(), max_size=6)
PATHS = st.binary(max_size=6) | st.sampled_from([b"a", b"/p/a", b"..", b"", b"/", b"a\0b"])
NS = st.sampled_from([0, 1, 10**18, -1, 62135596800 * 10**9])
STATES = st.sampled_from(["running", "done", "failed", "lost"])
CALLS = st.builds(
    TalkCall, TEXT, TEXT, st.sampled_from([None, "edit"]), st.tuples(PATHS), TEXT, STATES
)
STEPS = st.builds(TalkStep, TEXT, st.lists(CALLS, max_size=2).map(tuple), NS)
TURNS = st.builds(
    TalkTurn,
    TEXT,
    TEXT,
    st.lists(STEPS, max_size=3).map(tuple),
    NS,
    NS,
    st.booleans(),
    st.booleans(),
)
ODD = st.builds(
    Talk, st.sampled_from(["s", "x"]), st.just("claude"), TEXT, PATHS,
    st.lists(TURNS, max_size=4).map(tuple), st.sampled_from(["", "s", "x"]),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(ODD, max_size=3))
def test_odd_conversations_are_shown_somehow(odd: list[Talk]) -> None:
    conversations._talks.clear()
    session = recorded(turn("t1", "a", step("", "c"), step()), turn("t2", ""))
    found = gathered([session], *odd)
    assert [len(one.turns) for one in found.sessions] == [2]
    json.loads(documents.dump(documents.log(b"/p", True, found.sessions, found.past)))
    lines = [*past.session_lines(found), *past.log_lines(found.past, whole=True)]
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for line in lines for char in line)
    "\n".join(lines).encode()


# --- Pairs ------------------------------------------------------------------------------------


def turn(name: str, prompt: str, *steps: Step, key: str = "", begun: int = 100) -> Turn:
    return Turn(
        name, 1, "s", prompt, "complete", begun, begun + 1, None, None, True, (), steps, (), key=key
    )


def step(text: str = "", *calls: str) -> Step:
    made = tuple(Call(c, "Edit", "edit", (), "", "done", 1, 2) for c in calls)
    return Step("x", text, 0, 0, None, None, True, made, ())


def recorded(*turns: Turn, title: str = "") -> Session:
    return Session("s", "claude", title, "complete", turns[0].begun_ns, 0, turns)


def said(prompt: str, *steps: TalkStep, key: str = "", begun: int = 100) -> TalkTurn:
    return TalkTurn(key, prompt, steps, begun, begun)


def told(text: str, *calls: str) -> TalkStep:
    return TalkStep(text, tuple(TalkCall(c, "Edit", "edit") for c in calls))


def talk(*turns: TalkTurn, session: str = "s", parent: str = "") -> Talk:
    return Talk(session, "claude", "", b"/p", turns, parent)


class One:
    """An agent's reader with what it shall find."""

    def __init__(self, *talks: Talk) -> None:
        self.talks = talks
        self.read_again: list[str] = []
        self.stamp = 1

    def find(self, root: bytes, home: bytes) -> list[Source]:
        return [Source(t.agent, t.session, f"{t.session}.db", (self.stamp,)) for t in self.talks]

    def read(self, source: Source) -> Talk | None:
        self.read_again.append(source.session)
        return next(talk for talk in self.talks if talk.session == source.session)


def gathered(sessions: list[Session], *talks: Talk) -> conversations.Conversations:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversations, "readers", lambda: iter([("claude", One(*talks))]))
        patch.setattr(conversations, "_talks", {})
        return conversations.gather(sessions, b"/p", b"/h")


def test_turns_are_found_by_calls_then_keys_then_prompts() -> None:
    turns = [
        turn("t1", "go on", step("", "c1")),
        turn("t2", "go on", key="k"),
        turn("t3", '"go on"'),
        turn("t4", "never said"),
        turn("t5", "go on"),
    ]
    talks = [
        said("before"),
        said("go on", told("", "c1")),
        said("go on"),
        said("x", key="k"),
        said("go on"),
        said("go on"),
    ]
    pairs = conversations._pairs(turns, talks)
    assert pairs == {"t1": 1, "t2": 3, "t3": 4, "t5": 5}


def test_the_same_prompt_at_another_time_is_another() -> None:
    far = 2 * conversations._APART_NS
    assert conversations._pairs([turn("t", "go on")], [said("go on", begun=100 + far)]) == {}


@pytest.mark.parametrize(
    ("steps", "there", "expected"),
    [
        ([step(), step("kept")], [told("a"), told("b")], ["a", "kept"]),
        ([step("", "c")], [told("a"), told("b", "c"), told("d")], ["b"]),
        ([step(), step("", "c"), step()], [told("a"), told("b", "c"), told("d")], ["a", "b", "d"]),
        ([step(), step("", "c")], [told("a"), told("a2"), told("b", "c")], ["", "b"]),
        ([step("", "c"), step("", "d")], [told("b", "d"), told("a", "c")], ["a", ""]),
        ([], [told("a")], []),
        ([step()], [], [""]),
    ],
)
def test_texts_of_steps(steps: list[Step], there: list[TalkStep], expected: list[str]) -> None:
    found = conversations._told_steps(steps, said("p", *there))
    assert [item.text for item in found] == expected


# --- Cost -------------------------------------------------------------------------------------


def test_only_what_changed_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = One(talk(said("a"), session="x"))
    monkeypatch.setattr(conversations, "readers", lambda: iter([("claude", reader)]))
    for _ in range(3):
        conversations.gather([], b"/p", b"/h")
    assert reader.read_again == ["x"]
    reader.stamp = 2
    conversations.gather([], b"/p", b"/h")
    assert reader.read_again == ["x", "x"]


def test_a_look_has_a_bound_and_the_next_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_BUDGET", 10)
    monkeypatch.setattr(conversations, "_cost", lambda source: 8)
    reader = One(*(talk(said("a"), session=name) for name in ("x", "s", "y")))
    monkeypatch.setattr(conversations, "readers", lambda: iter([("claude", reader)]))
    session = recorded(turn("t1", "a"))
    found = conversations.gather([session], b"/p", b"/h")
    assert reader.read_again == ["s"] and found.unread == 2 and found.past == ()
    assert conversations.gather([session], b"/p", b"/h").unread == 1
    assert conversations.gather([session], b"/p", b"/h").unread == 0
    assert len(conversations.gather([session], b"/p", b"/h").past) == 2


def test_of_very_many_conversations_the_newest_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "_MOST", 2)
    reader = One(*(talk(said("a"), session=name) for name in ("x", "s", "y", "z")))
    monkeypatch.setattr(conversations, "readers", lambda: iter([("claude", reader)]))
    found = conversations.gather([recorded(turn("t1", "a"))], b"/p", b"/h")
    assert found.unread == 1 and len(found.past) == 2 and "s" in reader.read_again


def test_an_agent_whose_files_are_odd_hides_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(One):
        def read(self, source: Source) -> Talk | None:
            raise KeyError("odd")

    class Odder(One):
        def find(self, root: bytes, home: bytes) -> list[Source]:
            raise KeyError("odd")

    good = One(talk(said("a"), session="x"))
    odd: Any = Odd(talk(said("b"), session="y"))
    found = [("claude", odd), ("codex", Odder()), ("pi", good)]
    monkeypatch.setattr(conversations, "readers", lambda: iter(found))
    gathered = conversations.gather([recorded(turn("t1", "a"))], b"/p", b"/h")
    assert [session.id for session in gathered.past] == ["x"]
    assert set(gathered.failed) == {"claude", "codex"}
    assert "  The conversations of codex cannot be read." in past.session_lines(gathered)


def test_every_agent_that_is_connected_by_hooks_may_have_conversations() -> None:
    assert {agent for agent, _ in conversations.readers()} >= {"claude", "codex"}


def test_the_agents_key_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replay = Replay(tmp_path, monkeypatch)
    project = replay.project()
    project.record(Event("begin", "s", os.fsencode(replay.root), key="k1"))
    assert [one.key for session in project.sessions() for one in session.turns] == ["k1"]
