"""Conversations of Gemini CLI, as its own chats tell them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine.agents import conversations
from takeback.engine.agents.gemini import conversation
from takeback.engine.agents.gemini.messages import History, time_of
from takeback.engine.agents.talk import Talk, TalkTurn
from tests.agents.replay import JUNK, lines
from tests.agents.test_gemini import DATA, NAMES, Replay

ALL_CHATS = sorted(DATA.glob("*/tmp/*/chats/**/*.jsonl"))


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)


class Place:
    """A home with Gemini CLI's own files, and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "shop"
        self.root.mkdir(parents=True)
        self.gemini = self.home / ".gemini"

    def put(self, name: str) -> None:
        shutil.copytree(DATA / name, self.gemini, dirs_exist_ok=True)
        for path in self.gemini.rglob("*"):
            if path.is_file() and path.name != "hooks.jsonl":
                path.write_text(path.read_text("utf-8").replace("/home/dev/shop", str(self.root)))

    def talks(self) -> list[Talk]:
        sources = conversation.find(os.fsencode(self.root), os.fsencode(self.home))
        return [talk for talk in map(conversation.read, sources) if talk is not None]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


STAMP = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def moved(stamp: str, seconds: float) -> str:
    at = datetime.fromisoformat(stamp.replace("Z", "+00:00")) + timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def ids(turn: TalkTurn) -> list[str]:
    return [call.id for step in turn.steps for call in step.calls]


def calls(turn: TalkTurn) -> list[tuple[str, str]]:
    return [(call.tool, call.state) for step in turn.steps for call in step.calls]


@pytest.mark.parametrize("name", ["basic3", "plain"])
def test_three_turns(place: Place, name: str) -> None:
    place.put(name)
    (talk,) = place.talks()
    one, two, three = talk.turns
    assert talk.agent == "gemini" and talk.folder == os.fsencode(place.root)
    assert talk.title == one.prompt == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert [step.text for step in one.steps] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert calls(one) == [("read_file", "done"), ("replace", "done"), ("write_file", "done")]
    assert [len(step.calls) for step in two.steps] == [1, 1, 0]
    assert two.steps[0].calls[0].command.startswith("sed -i")
    assert two.steps[1].calls[0].paths == (os.fsencode(place.root / "src/cart.py"),)
    assert [len(turn.steps) for turn in talk.turns] == [3, 3, 1]
    assert 0 < one.begun_ns < one.ended_ns < two.begun_ns < three.begun_ns
    assert not any(turn.rewound or turn.interrupted for turn in talk.turns)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "outside"])
def test_calls_and_prompts_are_named_as_the_hooks_name_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    replay.run(name)
    replay.place(name)
    place = Place(tmp_path / "other")
    place.home, place.root = replay.home.parent, replay.root
    talks = [talk for talk in place.talks() if not talk.parent]
    told = [turn for talk in talks for turn in talk.turns]
    recorded = replay.turns()
    assert [turn.prompt for turn in told] == [turn.prompt for turn in recorded]
    for said, turn in zip(told, recorded, strict=True):
        own = [call.id for call in turn.calls if "sub.txt" not in str(call.paths)]
        # What was refused, or broken off with its process, stands on one side alone.
        assert set(ids(said)) <= set(own) or set(own) <= set(ids(said))
    assert sum(len(ids(turn)) for turn in told) >= 1 or name == "slow"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_was_recorded_is_taken_for_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    begun = time.time()
    replay.run(name)
    replay.place(name)
    shift = begun - lines(DATA / name / "hooks.jsonl")[0]["t"]
    for path in replay.home.rglob("*.jsonl"):
        # As if the run had been now.
        path.write_text(STAMP.sub(lambda found: moved(found[0], shift), path.read_text("utf-8")))
    found = conversations.gather(
        replay.project().sessions(), os.fsencode(replay.root), os.fsencode(replay.home.parent)
    )
    assert found.past == () and found.failed == ()
    assert [session.id for session in found.sessions] == [
        session.id for session in replay.project().sessions()
    ]


def test_what_was_refused_is_told_though_no_hook_was_called(place: Place) -> None:
    place.put("outside")
    (talk,) = place.talks()
    assert [state for _, state in calls(talk.turns[0])].count("failed") == 3
    assert calls(talk.turns[0])[-1] == ("run_shell_command", "done")


def test_two_files_of_a_session_are_one_conversation(place: Place) -> None:
    place.put("fail")
    (talk,) = place.talks()
    assert [turn.prompt.split(" ")[0] for turn in talk.turns] == ["[fail]", "[after]"]
    assert calls(talk.turns[0]) == [
        ("replace", "failed"),
        ("run_shell_command", "failed"),
        ("replace", "done"),
    ]


def test_a_return_to_a_checkpoint_loses_no_prompt(place: Place) -> None:
    place.put("interactive")
    first, talk = place.talks()
    assert [turn.prompt.split(" ")[0] for turn in first.turns] == ["TB-ONE:"]
    assert [(turn.prompt.split(" ")[0], turn.rewound) for turn in talk.turns] == [
        ("TB-ONE:", False),
        ("TB-TWO:", True),
        ("/restore", False),
        ("TB-SLOW:", False),
    ]
    assert [len(ids(turn)) for turn in talk.turns] == [3, 2, 1, 1]
    assert talk.turns[-1].interrupted
    assert calls(talk.turns[-1]) == [("run_shell_command", "failed")]


def test_a_subagent_has_a_conversation_of_its_own(place: Place) -> None:
    place.put("subagent")
    parent, child = sorted(place.talks(), key=lambda talk: talk.parent)
    assert child.parent == parent.session and child.folder == parent.folder
    assert child.turns[0].prompt == "[sub] Write sub.txt in the project."
    assert calls(child.turns[0]) == [("write_file", "done")]
    assert calls(parent.turns[0]) == [("invoke_agent", "done")]


# --- Logs of other shapes ---------------------------------------------------------------------


def said(name: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "timestamp": "2026-12-01T00:00:00Z",
        "type": kind,
        "content": content,
        **more,
    }


def prompts(*records: Any) -> list[tuple[str, bool]]:
    history = History()
    for record in records:
        history.take(record)
    return [(turn.prompt, turn.rewound) for turn in history.turns()]


def test_a_rewound_prompt_stays_and_says_so() -> None:
    one, two = said("a", "user", "one"), said("b", "user", [{"text": "two"}])
    answer = said("c", "gemini", "done")
    assert prompts(one, two, answer, {"$rewindTo": "b"}, said("d", "user", "three")) == [
        ("one", False),
        ("two", True),
        ("three", False),
    ]
    assert prompts(one, two, {"$rewindTo": "unknown"}) == [("one", True), ("two", True)]


def test_a_compressed_conversation_keeps_its_prompts() -> None:
    one, two = said("a", "user", "one"), said("c", "user", "two")
    answers = said("b", "gemini", "first"), said("d", "gemini", "second")
    summary = said("e", "user", "<state_snapshot>what was said</state_snapshot>")
    change = {"$set": {"messages": [summary, two, answers[1]]}}
    assert prompts(one, answers[0], two, answers[1], change) == [("one", False), ("two", False)]


def test_a_conversation_whose_first_file_is_gone() -> None:
    parts = [{"text": "ok"}, {"functionCall": {"id": "1", "name": "replace", "args": {}}}]
    change = {"$set": {"messages": [said("a", "user", "one"), said("b", "gemini", parts)]}}
    history = History()
    history.take(change)
    (turn,) = history.turns()
    assert turn.steps[0].text == "ok" and calls(turn) == [("replace", "done")]


def test_what_a_hook_adds_is_no_part_of_the_prompt() -> None:
    note = {"text": "<hook_context>Note.</hook_context>"}
    assert prompts(said("a", "user", [{"text": "one"}, note])) == [("one", False)]
    assert prompts(said("a", "user", [note])) == []


def test_the_conversation_is_called_as_gemini_cli_calls_it(place: Place) -> None:
    place.put("plain")
    (path,) = place.gemini.glob("tmp/shop/chats/*.jsonl")
    with path.open("a") as file:
        file.write('{"$set":{"summary":"Totals mended"}}\n{"$set":{"summary"')
    assert place.talks()[0].title == "Totals mended"


def test_chats_of_older_releases(place: Place) -> None:
    digest = hashlib.sha256(os.fsencode(place.root)).hexdigest()
    folder = place.gemini / "tmp" / digest / "chats"
    folder.mkdir(parents=True)
    messages = [said("a", "user", "one"), said("b", "gemini", "done")]
    old = {"sessionId": "s", "startTime": "2026-01-01T00:00:00Z", "messages": messages}
    (folder / "session-1.json").write_text(json.dumps(old))
    (talk,) = place.talks()
    assert [turn.prompt for turn in talk.turns] == ["one"] and talk.session == "s"
    # Gone on with in the newer form, which holds all of it.
    newer = [{k: v for k, v in old.items() if k != "messages"}, *messages]
    text = "".join(json.dumps(one) + "\n" for one in newer)
    (folder / "session-1.jsonl").write_text(text)
    assert [turn.prompt for turn in place.talks()[0].turns] == ["one"]


def test_other_projects_are_left_out(place: Place) -> None:
    place.put("basic3")
    other = place.root.parent / "shop2"
    other.mkdir()
    home = os.fsencode(place.home)
    assert conversation.find(os.fsencode(other), home) == []
    assert len(conversation.find(os.fsencode(place.root.parent), home)) == 1
    assert conversation.find(os.fsencode(place.root), b"/none") == []


def test_a_stamp_changes_when_a_chat_grows(place: Place) -> None:
    place.put("fail")
    find = lambda: conversation.find(os.fsencode(place.root), os.fsencode(place.home))  # noqa: E731
    (before,) = find()
    newest = sorted(place.gemini.glob("tmp/shop/chats/*.jsonl"))[-1]
    with newest.open("a") as file:
        file.write("{}\n")
    assert find()[0].stamp != before.stamp and find()[0].place == before.place


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_chat_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    place = Place(tmp_path_factory.mktemp("any"))
    place.put("plain")
    (path,) = place.gemini.glob("tmp/shop/chats/*.jsonl")
    raw = data.draw(st.sampled_from(ALL_CHATS)).read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.binary(max_size=40) | JUNK.map(lambda value: json.dumps(value).encode()))
    path.write_bytes(raw[:cut] + junk + raw[cut + data.draw(st.integers(0, 400)) :])
    for talk in place.talks():
        assert all(turn.prompt for turn in talk.turns)


@settings(max_examples=200)
@given(
    st.lists(
        JUNK
        | st.fixed_dictionaries(
            {},
            optional={
                "id": st.sampled_from("abc") | JUNK,
                "type": st.sampled_from(["user", "gemini", "info"]) | JUNK,
                "content": JUNK | st.lists(st.fixed_dictionaries({"text": JUNK}), max_size=2),
                "timestamp": JUNK,
                "toolCalls": JUNK
                | st.lists(
                    st.dictionaries(
                        st.sampled_from(["id", "name", "args", "status", "result", "timestamp"]),
                        JUNK,
                    ),
                    max_size=2,
                ),
                "$set": JUNK
                | st.fixed_dictionaries(
                    {
                        "messages": st.lists(
                            st.fixed_dictionaries({"id": st.sampled_from("abc") | JUNK}), max_size=3
                        )
                    }
                ),
                "$rewindTo": st.sampled_from("abc") | JUNK,
            },
        ),
        max_size=6,
    )
)
def test_records_of_any_shape(records: list[Any]) -> None:
    assert isinstance(prompts(*records), list)


def test_files_of_any_shape_are_looked_at(place: Place) -> None:
    chats = place.gemini / "tmp/shop/chats"
    chats.mkdir(parents=True)
    (place.gemini / "tmp/shop/.project_root").write_text(str(place.root))
    (chats / "a.jsonl").write_text('{"sessionId": 3}\n')
    (chats / "b.jsonl").write_bytes(b"\xff\xfe")
    (chats / "c.json").write_text("[1]")
    (chats / "d.jsonl").mkdir()
    os.mkfifo(chats / "e.jsonl")
    for text in ("3", "[]", '{"projects": 3}', '{"projects": {"/x": {}, "y": "../.."}}', "{"):
        (place.gemini / "projects.json").write_text(text)
        assert place.talks() == []


def test_times() -> None:
    assert time_of("2026-12-01T00:01:20.142Z") == 1796083280142000000
    assert [time_of(value) for value in ("", "x", 3, None, "0001-01-01T00:00:00Z")] == [0] * 5


def test_the_samples_are_whole() -> None:
    assert all(lines(path) for path in ALL_CHATS)
