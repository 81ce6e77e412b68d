"""I: several at once, and crashes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.cases.world import World, time_limit

AT_2020 = 1_577_836_800 * 10**9


def all_at_once(jobs: Iterable[Callable[[], object]]) -> None:
    wanted = list(jobs)
    with ThreadPoolExecutor(len(wanted)) as pool:
        for done in [pool.submit(job) for job in wanted]:
            done.result()


def test_I1_eight_processes_at_once(w: World) -> None:
    w.files({f"own{n}": b"0\n" for n in range(8)})
    w.repository()
    before = w.tree()

    def one_turn(n: int, content: bytes) -> Callable[[], None]:
        def run() -> None:
            with w.turn(f"session-{n}") as agent:
                agent.edit(f"own{n}", content)

        return run

    for content in (b"1\n", b"2\n"):
        all_at_once(one_turn(n, content) for n in range(8))
    turns = w.turns()
    assert sorted(turn["n"] for turn in turns) == list(range(1, 17))
    assert all(turn["complete"] for turn in turns)
    assert all(len(turn["changes"]) == 1 for turn in turns)
    for n in range(8):
        answer = w.undo("--session", f"session-{n}")
        assert answer.paths("restored") == [f"own{n}".encode()]
    assert {w.read(f"own{n}") for n in range(8)} == {b"1\n"}
    for _ in range(8):
        w.undo()
    w.is_now(before)


def test_I1_undos_at_the_same_time_take_each_their_own(w: World) -> None:
    w.files({f"own{n}": b"0\n" for n in range(6)})
    before = w.tree()
    for n in range(6):
        with w.turn(f"session-{n}") as agent:
            agent.edit(f"own{n}", b"1\n")
    all_at_once(partial(w.undo, "--session", f"session-{n}") for n in range(6))
    w.is_now(before)
    assert len(w.tb("history", "--json").doc["operations"]) == 6


def test_I2_a_killed_snapshot_leaves_no_lock_behind(w: World) -> None:
    w.files({f"d{n % 10}/f{n}": b"%d\n" % n for n in range(300)})
    w.repository()
    begin = ("record", "begin", "--session", "s")
    running = 0
    for n in range(12):
        w.write(f"big{n}", os.urandom(300_000))
        running += w.killed(*begin, within=0.2)
    assert running
    before = w.tree()
    with time_limit(10):
        with w.turn() as agent:
            agent.edit("d1/f1", b"agent\n")
        w.undo()
    w.is_now(before)
    left = [path.name for path in w.data.rglob("*") if path.name.endswith(".lock")]
    assert left == []


@pytest.mark.parametrize("way", ["same session", "other session"])
def test_I3_a_crash_before_the_turns_end_then_the_users_work(w: World, way: str) -> None:
    w.files({"f": b"old\n", "g": b"old\n"})
    agent = w.begin()
    agent.tool_begin("edit", ["f"])
    w.write("f", b"agent\n")
    w.write("f", b"the user's\n")
    w.write("g", b"the user's\n")
    w.begin("s" if way == "same session" else "t").end()
    if way == "other session":
        agent.end(interrupted=True)
    turn = w.turns()[0]
    assert turn["state"] == "interrupted"
    assert {call["state"] for step in turn["steps"] for call in step["calls"]} == {"lost"}
    assert w.evidence(0).get(b"f") != "tool-edit"
    with w.nothing_changes():
        w.undo("--turn", "1", code=(3, 4))
        w.undo("--turn", "1", "--path", "f", code=4)
        w.undo("--turn", "1", "--all", code=4)
    w.undo("--turn", "1", "--path", "f", "--yes", code=(0, 4))
    assert w.read("g") == b"the user's\n"


def test_I4_several_projects_at_the_same_time(tmp_path: Path) -> None:
    worlds = [World(tmp_path / f"w{n}") for n in range(4)]
    for world in worlds:
        world.data = worlds[0].data
        world.env["TAKEBACK_DATA_DIR"] = str(worlds[0].data)
        world.write("f", b"old of %s\n" % os.fsencode(world.place.name))
    states = [world.tree() for world in worlds]

    def whole(world: World) -> Callable[[], None]:
        def run() -> None:
            with world.turn(f"session of {world.place.name}") as agent:
                agent.edit("f", b"agent\n")
            world.undo()

        return run

    all_at_once(whole(world) for world in worlds)
    for world, state in zip(worlds, states, strict=True):
        world.is_now(state)
        assert len(world.turns()) == 1


@pytest.mark.parametrize("repository", [False, True])
def test_I5_an_edit_with_the_same_size_and_the_time_put_back_is_seen(
    w: World, repository: bool
) -> None:
    w.write("f", b"aaa", at=AT_2020)
    if repository:
        w.repository()
    before = w.tree()

    def edit() -> None:
        w.write("f", b"bbb", at=AT_2020)

    with w.turn() as agent:
        agent.shell(edit)
    assert w.evidence() == {b"f": "during-call"}
    after = w.tree()
    w.undo_shell()
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_I5_the_same_edit_in_one_second_after_many_quick_turns(w: World) -> None:
    w.write("f", b"000", at=AT_2020)
    states = [w.tree()]
    for n in range(1, 5):
        with w.turn() as agent:
            agent.shell(partial(w.write, "f", b"%03d" % n, at=AT_2020))
        states.append(w.tree())
    for state in reversed(states[:-1]):
        w.undo_all()
        w.is_now(state)


def test_I6_a_command_waits_for_another_one_instead_of_failing(w: World) -> None:
    w.files({f"f{n}": b"old\n" for n in range(200)})
    before = w.tree()
    with w.turn() as agent:
        agent.shell("for f in f*; do echo agent > $f; done")
    process = w.start("undo", "--all", "--yes")
    for _ in range(5):
        w.log()
        time.sleep(0.01)
    assert process.wait(30) == 0
    w.is_now(before)


def test_I1_a_look_in_the_middle_of_anothers_write_blames_nobody(w: World) -> None:
    """Programs empty a file before they write it; another session's snapshot may fall between."""
    w.write("f", b"old\n")
    before = w.tree()
    agent = w.begin("a")
    call = agent.tool_begin("edit", ["f"])
    w.write("f", b"")
    with w.turn("b"):
        pass
    w.write("f", b"new\n")
    agent.tool_end(call)
    agent.end()
    first, second = w.turns()
    assert [change["evidence"] for change in first["changes"]] == ["tool-edit"]
    assert second["changes"] == []
    w.undo()
    w.is_now(before)
