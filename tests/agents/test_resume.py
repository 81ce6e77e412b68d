"""After an undo takeback shows how to go on in the conversation: the exact command, no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from takeback.engine.agents import hook, resume
from takeback.engine.agents.programs import Programs
from takeback.engine.model import Plan, Request, Turn
from takeback.tui import resuming
from tests.agents.test_claude import Replay, payloads

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
