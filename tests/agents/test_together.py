"""Two agents and a person at work in one folder at the same time: each session's undo touches what
that session did, and nothing else."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from takeback.engine.errors import NothingToDo, SessionRunning
from tests.agents.players import AGENTS, Player, Stage, lines, put, whole

PAIRS = [(one, AGENTS[(at + 1) % len(AGENTS)]) for at, one in enumerate(AGENTS)]


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    stage = Stage(tmp_path, monkeypatch)
    for name in ("shared", "same", "one", "two", "mine", "built"):
        stage.write(f"{name}.txt", lines(name))
    return stage


def at_work(stage: Stage, one: Player, two: Player) -> None:
    """Both have a turn open all the time, and a person edits in between."""
    one.prompt("The first agent's.")
    two.prompt("The second agent's.")
    # Different places of one file, and the person's in a third.
    one.edit("shared.txt", put(5, "of the first"))
    stage.change("shared.txt", put(55, "of the person"))
    two.edit("shared.txt", put(30, "of the second"))
    # The same place of one file.
    one.edit("same.txt", put(10, "of the first"))
    two.edit("same.txt", put(10, "of the second"))
    # Different files, each new or not, while the other's edit is under way.
    with one.editing("one.txt", put(3, "of the first")):
        two.edit("two.txt", put(3, "of the second"))
        two.edit("two-new.txt", whole("new\n"))
    with two.editing("two.txt", put(40, "of the second, again")):
        one.edit("one-new.txt", whole("new\n"))
    # A command of one, while the other edits and the person does.
    with one.shell():
        two.edit("two.txt", put(20, "of the second, meanwhile"))
        stage.write("built.txt", "built by the first\n")
        stage.change("shared.txt", put(50, "of the person, meanwhile"))
    with two.shell():
        one.edit("one.txt", put(50, "of the first, meanwhile"))
    stage.change("mine.txt", put(1, "of the person"))
    one.stop()
    two.stop()


FIRST = ("shared.txt", "same.txt", "one.txt", "one-new.txt")
SECOND = ("shared.txt", "same.txt", "two.txt", "two-new.txt")


def without(before: dict[str, str], after: dict[str, str], *names: str) -> dict[str, str]:
    """All as it is now, but for some files as they were before."""
    found = {**after, **{name: before[name] for name in names if name in before}}
    return {name: text for name, text in found.items() if name in before or name not in names}


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_undo_of_the_first_session_first(stage: Stage, pair: tuple[str, str]) -> None:
    one, two = stage.player(pair[0]), stage.player(pair[1])
    before = stage.files()
    at_work(stage, one, two)
    after = stage.files()
    assert stage.errors() == []
    assert [turn.state for turn in stage.turns()] == ["complete", "complete"]

    plan = stage.do(session=one.session)
    # What the second wrote over in the same place is in conflict, and left as it is.
    assert {entry.path for entry in plan.conflicts} == {b"same.txt"}
    expected = without(before, after, "one.txt", "one-new.txt")
    expected["shared.txt"] = put(5, "shared line 5")(after["shared.txt"])
    assert stage.files() == expected

    stage.do(session=two.session)
    expected = without(before, expected, "two.txt", "two-new.txt")
    expected["shared.txt"] = put(30, "shared line 30")(expected["shared.txt"])
    expected["same.txt"] = put(10, "of the first")(before["same.txt"])
    assert stage.files() == expected
    # Now nothing stands over it.
    (turn,) = stage.turns(one.session)
    stage.do(turn=turn.id)
    assert stage.files() == {**expected, "same.txt": before["same.txt"]}
    # What the person wrote, and what only a command may have written, is there all the same.
    assert stage.files()["built.txt"] == "built by the first\n"
    assert stage.files()["mine.txt"].startswith("of the person\n")

    for _ in range(3):
        stage.do("redo")
    assert stage.files() == after
    with pytest.raises(NothingToDo):
        stage.do("redo")


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_the_undo_of_the_second_session_first(stage: Stage, pair: tuple[str, str]) -> None:
    one, two = stage.player(pair[0]), stage.player(pair[1])
    before = stage.files()
    at_work(stage, one, two)
    after = stage.files()

    plan = stage.do(session=two.session)
    assert plan.conflicts == ()
    expected = without(before, after, "two.txt", "two-new.txt")
    expected["shared.txt"] = put(30, "shared line 30")(after["shared.txt"])
    expected["same.txt"] = put(10, "of the first")(after["same.txt"])
    assert stage.files() == expected

    # With all that changed while its command ran: that of the person is not told apart from it.
    plan = stage.do(session=one.session, selection="agent+during-call")
    taken = {entry.path.decode() for entry in plan.entries if entry.action != "keep"}
    assert taken == {*FIRST, "built.txt"}
    expected = without(before, expected, "one.txt", "one-new.txt", "same.txt", "built.txt")
    expected["shared.txt"] = put(5, "shared line 5")(expected["shared.txt"])
    expected["shared.txt"] = put(50, "shared line 50")(expected["shared.txt"])
    assert stage.files() == expected

    # Each session's own undo is put back by itself. What the second wrote upon the first's is not
    # put upon other text.
    plan = stage.do("redo", session=two.session)
    assert {entry.path for entry in plan.conflicts} == {b"same.txt"}
    assert {name: stage.files()[name] for name in ("two.txt", "two-new.txt")} == {
        name: after[name] for name in ("two.txt", "two-new.txt")
    }
    stage.do("redo", session=one.session)
    assert stage.files() == {**after, "same.txt": put(10, "of the first")(before["same.txt"])}


@pytest.mark.parametrize("pair", PAIRS[::2], ids="-".join)
def test_what_one_session_takes_whole_is_never_the_others(
    stage: Stage, pair: tuple[str, str]
) -> None:
    one, two = stage.player(pair[0]), stage.player(pair[1])
    at_work(stage, one, two)
    listed = {turn.session: {c.path.decode() for c in turn.changes} for turn in stage.turns()}
    # Only what nobody can tell apart stands in both, and files that both edited.
    assert listed[one.session].isdisjoint({"two.txt", "two-new.txt"})
    assert listed[two.session].isdisjoint({"one.txt", "one-new.txt"})
    after = stage.files()
    stage.do(session=one.session, selection="all", on_conflict="keep")
    kept = stage.files()
    assert [kept[name] for name in SECOND] == [after[name] for name in SECOND]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_person_writes_where_the_agent_did(stage: Stage, agent: str) -> None:
    player = stage.player(agent)
    before = stage.files()
    with player.turn():
        player.edit("same.txt", put(10, "of the agent"))
        player.edit("one.txt", put(10, "of the agent"))
        player.edit("one-new.txt", whole("new\n"))
        stage.change("same.txt", put(10, "of the person"))
        stage.change("one.txt", put(40, "of the person"))
    stage.change("one-new.txt", whole("new\nand the person's\n"))
    after = stage.files()
    plan = stage.do(session=player.session)
    assert {entry.path for entry in plan.conflicts} == {b"same.txt", b"one-new.txt"}
    expected = {**after, "one.txt": put(40, "of the person")(before["one.txt"])}
    assert stage.files() == expected
    stage.do("redo")
    assert stage.files() == after


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_file_that_both_edit_at_the_same_time(stage: Stage, pair: tuple[str, str]) -> None:
    """The one's edit begins before the other's, and ends after it."""
    one, two = stage.player(pair[0]), stage.player(pair[1])
    before = stage.files()
    with one.turn(), two.turn(), one.editing("shared.txt", put(5, "of the first")):
        two.edit("shared.txt", put(30, "of the second"))
    after = stage.files()
    for first, second, kept in (
        (one, two, put(30, "of the second")),
        (two, one, put(5, "of the first")),
    ):
        stage.do(session=first.session)
        assert stage.files() == {**before, "shared.txt": kept(before["shared.txt"])}
        stage.do(session=second.session)
        assert stage.files() == before
        stage.do("redo", session=second.session)
        stage.do("redo", session=first.session)
        assert stage.files() == after


def test_a_session_that_runs_does_not_hold_up_the_other(stage: Stage) -> None:
    one, two = stage.player("codex"), stage.player("pi")
    before = stage.files()
    with one.turn():
        one.edit("one.txt", put(1, "of the first"))
        with two.turn():
            two.edit("two.txt", put(1, "of the second"))
        stage.do(session=two.session)
        assert stage.files()["two.txt"] == before["two.txt"]
        with pytest.raises(SessionRunning):
            stage.do(session=one.session)
        one.edit("one.txt", put(2, "of the first"))
    stage.do(session=one.session)
    assert stage.files() == before
    # What was taken back while it ran is no work of the first.
    assert {change.path for turn in stage.turns(one.session) for change in turn.changes} == {
        b"one.txt"
    }


@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_edits_by_two_agents_and_a_person(stage: Stage, seed: int) -> None:
    """Everyone has lines of their own: each undo gives back exactly that session's."""
    dice = random.Random(seed)
    names = dice.sample(AGENTS, 2)
    agents = [stage.player(names[0]), stage.player(names[1])]
    files = ("shared.txt", "same.txt", "mine.txt")
    written: list[tuple[int, str, int, str]] = []
    for player in agents:
        player.prompt()
    for number in range(24):
        who, name = dice.randrange(3), dice.choice(files)
        # Lines apart from each other, so that no two stand in one hunk.
        line = 6 * dice.randrange(3) + 18 * who + 3
        text = f"{number} of {who}"
        written.append((who, name, line, text))
        if who == 2:
            stage.change(name, put(line, text))
        else:
            agents[who].edit(name, put(line, text))
            if dice.random() < 0.15:
                agents[who].stop()
                agents[who].prompt()
    for player in agents:
        player.stop()

    def left(*people: int) -> dict[str, str]:
        found = {name: lines(name.removesuffix(".txt")) for name in files}
        for who, name, line, text in written:
            if who in people:
                found[name] = put(line, text)(found[name])
        return found

    def now() -> dict[str, str]:
        return {name: stage.files()[name] for name in files}

    assert now() == left(0, 1, 2)
    first = dice.randrange(2)
    done = 0
    for who, rest in ((first, (1 - first, 2)), (1 - first, (2,))):
        for turn in reversed(stage.turns(agents[who].session)):
            try:
                done += bool(stage.do(turn=turn.id).writes)
            except NothingToDo:
                continue
        assert now() == left(*rest)
    for _ in range(done):
        stage.do("redo")
    assert now() == left(0, 1, 2)
