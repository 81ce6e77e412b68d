"""After an undo takeback shows how to go on in the conversation: the exact command, no more."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from takeback.engine.agents import conversations, hook, resume
from takeback.engine.agents.claude import conversation
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.talk import Source
from takeback.engine.model import Plan, Request, Turn
from takeback.tui import resuming
from tests.agents.test_claude import Replay, payloads
from tests.agents.test_conversations import put_talk

SESSION = payloads("basic3")[0]["session_id"]


@pytest.fixture
def replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replay:
    replay = Replay(tmp_path, monkeypatch)
    replay.run("basic3")
    return replay


def planned(replay: Replay, request: Request) -> tuple[Plan, list[Turn]]:
    project = replay.project()
    turns = [turn for session in project.sessions() for turn in session.turns]
    return project.plan(request), turns


def test_claude_code() -> None:
    turn = replace(turn_of("claude"), session="it's", prompt="fix\nit")
    assert resuming.sentence(resume.continue_from(turn)) == (
        "To go on in the conversation from before it: claude --resume 'it'\"'\"'s', then type "
        "/rewind, pick “fix”, and choose “Restore conversation”."
    )
    running = resuming.sentence(resume.continue_from(turn, running=True))
    assert "claude --resume" not in running and "/rewind" in running


@pytest.mark.parametrize("agent", hook.AGENTS)
def test_agents_with_a_way(agent: str) -> None:
    way = resume.continue_from(turn_of(agent))
    if way is not None:
        assert agent in way.argv and "s1" in way.argv and way.title
        assert way.exact or "pick" in way.then or "from" in way.then


@pytest.mark.parametrize("session", ["", "-x", "--dangerous", "a\nb", "a\0"])
def test_what_is_no_id_never_becomes_an_argument(session: str) -> None:
    turn = replace(turn_of("claude"), session=session)
    assert resume.continue_from(turn) is None
    with pytest.raises(resume.CannotFork, match="cannot be asked"):
        resume.fork(turn, Programs())


def test_the_folder_is_said_where_it_is_another_one() -> None:
    way = resume.continue_from(replace(turn_of("claude"), folder=b"/p/a b"), root=b"/p")
    assert way is not None and way.folder == b"/p/a b"
    assert way.command(b"/p") == "cd '/p/a b' && claude --resume s1"
    assert way.command(b"/p/a b") == way.command() == "claude --resume s1"
    way = resume.continue_from(turn_of("claude"), root=b"/p")
    assert way is not None and way.command(b"/p") == "claude --resume s1"


@pytest.mark.parametrize("agent", ["", "other", "../claude", "claude.setup"])
def test_no_way_is_known_for_others(agent: str) -> None:
    assert resume.continue_from(turn_of(agent)) is None
    assert resuming.sentence(None) == ""


def turn_of(agent: str) -> Turn:
    return Turn("t1-x", 1, "s1", "p", "complete", 1, 2, None, None, True, (), (), (), agent=agent)


def told(turn: Turn, **given: object) -> resume.Way:
    found = resume.continue_from(turn, root=b"/p")
    assert found is not None
    return replace(found, **given)  # type: ignore[arg-type]


def test_a_way_that_leaves_nothing_to_do_says_so() -> None:
    way = told(turn_of("claude"), argv=("claude", "--at", "5"), then="", last="")
    assert way.exact and resuming.then(way) == ""
    assert resuming.sentence(way) == ("To go on in the conversation from before it: claude --at 5.")
    assert resuming.opening(way) == (
        "Opening the conversation in Claude Code as it was before “p”."
    )
    assert resuming.lines(way, b"/p", forks=True) == [
        "claude --at 5", "It opens it as it was before “p”."
    ]  # fmt: skip
    open_now = replace(way, running=True)
    assert resuming.sentence(open_now).endswith("claude --at 5, once Claude Code is closed there.")
    assert resuming.at_work(open_now)[1] == "Go on there, or end it first."


def test_a_way_by_hand_names_the_copy_where_there_could_be_one() -> None:
    way = told(turn_of("claude"), then="type /back to", last=" and enter")
    assert resuming.lines(way, b"/p")[1:] == ["Then type /back to “p” and enter."]
    assert "--fork, Claude Code makes a copy" in resuming.lines(way, b"/p", forks=True)[2]
    assert resuming.at_work(way)[1] == "There, type /back to “p” and enter."


def test_what_terminals_obey_stays_out_of_the_words() -> None:
    way = told(replace(turn_of("claude"), prompt="\x1b[31mred\nmore"), folder=b"/p/\x1b\xff")
    said = [resuming.sentence(way, b"/p"), resuming.opening(way), *resuming.lines(way, b"/p")]
    assert all(text.isprintable() for text in said) and "\\e[31mred" in said[0]
    assert "\\xff" in said[0]


def test_the_agents_own_files_tell_folder_place_and_key(
    replay: Replay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    put_talk(home, replay.root / "sub", "basic3")
    (session,) = replay.project().sessions()
    assert {turn.earlier for turn in session.turns} == {-1}
    found = conversations.told(session, os.fsencode(replay.root), os.fsencode(home))
    points = [resume.point_of(turn, b"/p", os.fsencode(home)) for turn in found.turns]
    assert [point.index for point in points] == [0, 1, 2]
    assert {point.folder for point in points} == {os.fsencode(replay.root / "sub")}
    assert all(point.key for point in points) and points[0].home == os.fsencode(home)

    def broken(root: bytes, home: bytes) -> list[Source]:
        raise ValueError

    monkeypatch.setattr(conversation, "find", broken)
    assert conversations.told(session, b"/p", b"/h") == session


def test_an_undo_of_the_newest_turn_shows_it(replay: Replay) -> None:
    way = resume.after(*planned(replay, Request("undo", turn="2", selection="all")))
    assert way is not None and way.command() == f"claude --resume {SESSION}"
    assert way.prompt.startswith("[2]") and not way.running


def test_with_later_turns_the_first_of_them_counts(replay: Replay) -> None:
    way = resume.after(*planned(replay, Request("undo", to="1", selection="all")))
    assert way is not None and way.prompt.startswith("[1]")


@pytest.mark.parametrize(
    "request_",
    [
        Request("undo", turn="1"),
        Request("undo", turn="2", paths=(b"gen.txt",)),
        Request("undo", call="toolu_0_1_1_04dd94fa"),
        Request("goto", turn="1", at="before"),
    ],
    ids=["an older turn", "a path", "a call", "goto"],
)
def test_what_leaves_work_of_the_conversation_standing_shows_none(
    replay: Replay, request_: Request
) -> None:
    assert resume.after(*planned(replay, request_)) is None


def test_a_session_that_is_open_needs_no_command(replay: Replay) -> None:
    prompt = next(p for p in payloads("basic3") if p.get("prompt", "").startswith("[3]"))
    replay.send({**prompt, "prompt_id": "new", "prompt": "/takeback:undo"})
    way = resume.after(*planned(replay, Request("undo", turn="2", selection="all")))
    assert way is not None and way.running


def test_walking_back_turn_by_turn_shows_the_way_to_before_each(replay: Replay) -> None:
    project = replay.project()
    project.apply(project.plan(Request("undo", turn="2", selection="all")))
    way = resume.after(*planned(replay, Request("undo", turn="1")))
    assert way is not None and way.prompt.startswith("[1]")
