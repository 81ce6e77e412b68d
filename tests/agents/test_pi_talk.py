"""Conversations of pi, as its own session files tell them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine.agents import conversations
from takeback.engine.agents.pi import conversation
from takeback.engine.agents.pi.conversation import Session
from takeback.engine.agents.talk import Talk, TalkTurn
from tests.agents.replay import JUNK
from tests.agents.test_pi import DATA, NAMES, Replay

FILES = sorted(DATA.glob("*/sessions/**/*.jsonl"))


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)
    monkeypatch.delenv("PI_CODING_AGENT_SESSION_DIR", raising=False)


class Place:
    """A home with pi's own files, and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "shop"
        self.root.mkdir(parents=True, exist_ok=True)
        slug = str(self.root.resolve()).lstrip("/").replace("/", "-")
        self.sessions = self.home / ".pi/agent/sessions" / f"--{slug}--"

    def put(self, name: str) -> None:
        self.sessions.mkdir(parents=True, exist_ok=True)
        for path in (DATA / name).glob("sessions/*/*.jsonl"):
            text = path.read_text("utf-8").replace("/home/dev/shop", str(self.root))
            text = text.replace(
                "/home/dev/.pi/agent/sessions/--home-dev-shop--", str(self.sessions)
            )
            (self.sessions / path.name).write_text(text, "utf-8")

    def talks(self) -> list[Talk]:
        sources = conversation.find(os.fsencode(self.root), os.fsencode(self.home))
        return [talk for talk in map(conversation.read, sources) if talk is not None]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ids(turn: TalkTurn) -> list[str]:
    return [call.id for step in turn.steps for call in step.calls]


def calls(turn: TalkTurn) -> list[tuple[str, str]]:
    return [(call.tool, call.state) for step in turn.steps for call in step.calls]


@pytest.mark.parametrize("name", ["basic3", "plain"])
def test_three_turns(place: Place, name: str) -> None:
    place.put(name)
    (talk,) = place.talks()
    one, two, three = talk.turns
    assert talk.agent == "pi" and talk.folder == os.fsencode(place.root)
    assert talk.title == one.prompt == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert [step.text for step in one.steps] == [
        "I read the file first.",
        "Now both files.",
        "total() is fixed and NOTES.md is written.",
    ]
    assert calls(one) == [("read", "done"), ("edit", "done"), ("write", "done")]
    assert [len(step.calls) for step in two.steps] == [1, 1, 0]
    assert two.steps[0].calls[0].command.startswith("sed -i")
    assert two.steps[1].calls[0].paths == (os.fsencode(place.root / "src/cart.py"),)
    assert [len(turn.steps) for turn in talk.turns] == [3, 3, 1]
    assert 0 < one.begun_ns < one.ended_ns < two.begun_ns < three.begun_ns
    assert not any(turn.rewound or turn.interrupted for turn in talk.turns)


@pytest.mark.parametrize("name", NAMES)
def test_calls_turns_and_prompts_are_named_as_the_extension_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    replay.run(name)
    place = Place(tmp_path)
    place.put(name)
    told = [turn for talk in place.talks() for turn in talk.turns]
    recorded = replay.turns()
    assert [turn.prompt for turn in told] == [turn.prompt for turn in recorded]
    assert [turn.key for turn in told] == [turn.key for turn in recorded]
    for said, turn in zip(told, recorded, strict=True):
        own = [call.id for call in turn.calls]
        assert [name for name in ids(said) if name in own] == own
        assert len(said.steps) == max(len(turn.steps), 1)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_was_recorded_is_taken_for_the_past(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    replay = Replay(tmp_path, monkeypatch)
    replay.run(name)
    place = Place(tmp_path)
    place.put(name)
    sessions = replay.project().sessions()
    found = conversations.gather(sessions, os.fsencode(place.root), os.fsencode(place.home))
    assert found.past == () and found.failed == ()
    assert [session.id for session in found.sessions] == [session.id for session in sessions]


def test_what_died_has_no_end(place: Place) -> None:
    place.put("slow")
    (talk,) = place.talks()
    assert calls(talk.turns[0]) == [("bash", "lost")]


def test_calls_that_fail(place: Place) -> None:
    place.put("fail")
    (talk,) = place.talks()
    assert calls(talk.turns[0]) == [("edit", "failed"), ("bash", "failed"), ("edit", "done")]


def test_an_abort_and_a_fork(place: Place) -> None:
    place.put("abort-fork")
    first, fork = sorted(place.talks(), key=lambda talk: talk.parent)
    assert [(turn.prompt.split(" ")[0], turn.interrupted) for turn in first.turns] == [
        ("TB-ONE:", False),
        ("TB-TWO:", False),
        ("TB-SLOW:", True),
    ]
    assert calls(first.turns[2]) == [("bash", "failed")]
    assert fork.parent == first.session
    assert [turn.prompt for turn in fork.turns] == ["TB-THREE: after fork"]


def test_a_fork_whose_origin_is_gone_is_whole(place: Place) -> None:
    place.put("abort-fork")
    min(place.sessions.iterdir()).unlink()
    (fork,) = place.talks()
    assert [turn.prompt.split(" ")[0] for turn in fork.turns] == ["TB-ONE:", "TB-THREE:"]


# --- Trees of other shapes --------------------------------------------------------------------


def entry(name: str, parent: str | None, role: str = "", **more: Any) -> dict[str, Any]:
    base = {"id": name, "parentId": parent, "timestamp": "2026-12-01T00:00:00.000Z"}
    if not role:
        return {"type": "label", **base, **more}
    return {"type": "message", **base, "message": {"role": role, **more}}


def made(*records: Any) -> tuple[TalkTurn, ...]:
    session = Session()
    for record in records:
        session.take(record)
    return session.turns()


def test_a_branch_that_was_left_says_so() -> None:
    one, left, new = made(
        entry("a", None, "user", content="one"),
        entry("b", "a", "assistant", content=[{"type": "text", "text": "done"}]),
        entry("c", "b", "user", content="left"),
        entry("d", "c", "assistant", content="well"),
        entry("e", "b", "user", content="new"),
    )
    assert [(turn.prompt, turn.rewound) for turn in (one, left, new)] == [
        ("one", False),
        ("left", True),
        ("new", False),
    ]
    assert (one.key, left.key, new.key) == ("first", "b", "b")


def test_what_is_typed_while_pi_works_belongs_to_the_turn() -> None:
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "make"}}
    (turn,) = made(
        entry("a", None, "user", content="one"),
        entry("b", "a", "assistant", content=[call]),
        entry("c", "b", "toolResult", toolCallId="c1", isError=False),
        entry("d", "c", "user", content="and two"),
        entry("e", "d", "assistant", content="done"),
    )
    assert turn.prompt == "one\nand two" and len(turn.steps) == 2


def test_an_answer_that_came_to_nothing_is_no_step() -> None:
    (turn,) = made(
        entry("a", None, "user", content="one"),
        entry("b", "a", "assistant", content=[], stopReason="error"),
        entry("c", "b", "assistant", content="done", stopReason="stop"),
    )
    assert [step.text for step in turn.steps] == ["done"] and not turn.interrupted


def test_a_loop_in_the_tree_ends() -> None:
    turns = made(entry("a", "b", "user", content="one"), entry("b", "a"))
    assert [turn.prompt for turn in turns] == ["one"]


def test_the_conversation_is_called_as_the_user_calls_it(place: Place) -> None:
    place.put("plain")
    (path,) = place.sessions.iterdir()
    with path.open("a") as file:
        file.write('{"type":"session_info","id":"z","parentId":"y","name":"Totals"}\n{"type":"se')
    assert place.talks()[0].title == "Totals"


def test_other_projects_are_left_out(place: Place) -> None:
    place.put("basic3")
    other = place.root.parent / "shop-2"
    other.mkdir()
    home = os.fsencode(place.home)
    shutil.copytree(place.sessions, place.sessions.parent / f"{place.sessions.name[:-2]}-2--")
    assert conversation.find(os.fsencode(other), home) == []
    assert len(conversation.find(os.fsencode(place.root.parent), home)) == 2
    assert conversation.find(os.fsencode(place.root), b"/none") == []


def test_sessions_in_a_folder_of_their_own(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.put("basic3")
    own = place.home / "own"
    place.sessions.rename(own)
    assert place.talks() == []
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(own))
    assert len(place.talks()) == 1


@pytest.mark.parametrize("level", ["user", "project"])
@pytest.mark.parametrize(
    "named", ["own", "~/own", "../own", "{place}/own", ".", 3, "a\0", "\ud800"]
)
def test_sessions_where_pis_settings_say(place: Place, level: str, named: Any) -> None:
    place.put("basic3")
    parent = place.home if level == "user" else place.root
    folder = parent / (".pi/agent" if level == "user" else ".pi")
    folder.mkdir(parents=True, exist_ok=True)
    given = named.format(place=place.home.parent) if isinstance(named, str) else named
    (folder / "settings.json").write_text(json.dumps({"sessionDir": given}))
    own = {"own": place.root / "own", "~/own": place.home / "own", ".": place.root}.get(
        named, place.home.parent / "own"
    )
    own.mkdir(exist_ok=True)
    for path in place.sessions.iterdir():
        path.rename(own / path.name)
    readable = isinstance(named, str) and named not in ("a\0", "\ud800")
    assert len(place.talks()) == (1 if readable else 0)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_session_is_read(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    place = Place(tmp_path_factory.mktemp("any"))
    place.put("plain")
    (path,) = place.sessions.iterdir()
    head, _, _ = path.read_bytes().partition(b"\n")
    raw = data.draw(st.sampled_from(FILES)).read_bytes()
    cut = data.draw(st.integers(0, len(raw)))
    junk = data.draw(st.binary(max_size=40) | JUNK.map(lambda value: json.dumps(value).encode()))
    path.write_bytes(head + b"\n" + raw[:cut] + junk + raw[cut + data.draw(st.integers(0, 400)) :])
    (talk,) = place.talks()
    assert isinstance(talk.turns, tuple)


@settings(max_examples=200)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"id": st.sampled_from("abc") | JUNK, "type": st.just("message") | JUNK},
            optional={
                "parentId": st.sampled_from("abc") | JUNK,
                "timestamp": JUNK,
                "name": JUNK,
                "message": JUNK
                | st.fixed_dictionaries(
                    {"role": st.sampled_from(["user", "assistant", "toolResult"]) | JUNK},
                    optional={
                        "content": JUNK
                        | st.lists(
                            st.fixed_dictionaries(
                                {"type": st.sampled_from(["text", "toolCall"]) | JUNK},
                                optional={
                                    "text": JUNK,
                                    "id": JUNK,
                                    "name": JUNK,
                                    "arguments": JUNK,
                                },
                            ),
                            max_size=2,
                        ),
                        "stopReason": JUNK,
                        "toolCallId": JUNK,
                        "isError": JUNK,
                    },
                ),
            },
        ),
        max_size=6,
    )
)
def test_entries_of_any_shape(records: list[Any]) -> None:
    assert isinstance(made(*records), tuple)


def test_files_of_any_shape_are_looked_at(place: Place) -> None:
    place.sessions.mkdir(parents=True)
    for at, text in enumerate(("", "3\n", "[]\n", '{"type":"session","id":3,"cwd":"/x"}\n', "{")):
        (place.sessions / f"{at}.jsonl").write_text(text)
    (place.sessions / "b.jsonl").write_bytes(b"\xff\xfe\n")
    (place.sessions / "d.jsonl").mkdir()
    os.mkfifo(place.sessions / "e.jsonl")
    assert place.talks() == []
