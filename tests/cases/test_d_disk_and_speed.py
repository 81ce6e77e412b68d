"""D: bounded disk use and time (the part that needs no measuring)."""

from __future__ import annotations

import os

import pytest

from tests.cases.world import World

MB = 1 << 20
ALLOWED = 20.0
"""No command may take longer, in seconds."""


@pytest.mark.slow
def test_D4_a_huge_tree_in_bounded_time_and_named_edits_still_undoable(w: World) -> None:
    for folder in range(55):
        place = w.path(f"d{folder}")
        place.mkdir()
        for n in range(1000):
            (place / f"f{n}").write_bytes(b"%d %d\n" % (folder, n))
    before = w.tree()
    timed = [w.tb("record", "begin", "--session", "s", "--json")]
    calls = {"d7/f7": b"agent\n", "d7/made": b"agent\n"}
    for number, (path, data) in enumerate(calls.items()):
        call = ("--session", "s", "--call", f"c{number}")
        words = ("--tool", "Edit", "--kind", "edit", "--path", path)
        timed.append(w.tb("record", "tool-begin", *call, *words))
        w.write(path, data)
        timed.append(w.tb("record", "tool-end", *call))
    timed.append(w.tb("record", "end", "--session", "s"))
    after = w.tree()
    turn = w.turns()[-1]
    if "fuse" in {one["reason"] for one in turn["not_captured"]}:
        assert turn["complete"] is False
    else:
        assert turn["complete"] is True
    timed.append(w.undo())
    assert timed[-1].paths("restored") == [b"d7/f7"]
    assert timed[-1].paths("deleted") == [b"d7/made"]
    w.is_now(before)
    timed.append(w.redo())
    w.is_now(after)
    assert [one for one in timed if one.took > ALLOWED] == []


def test_D5_sessions_share_what_they_store(w: World) -> None:
    for n in range(8):
        w.write(f"data{n}", os.urandom(MB))
    for n in range(8):
        with w.turn(f"session-{n}") as agent:
            agent.edit("f", b"%d\n" % n)
    assert w.store_size() < 12 * MB


def test_D7_turns_on_5000_files_are_complete_and_undone_one_by_one(w: World) -> None:
    for n in range(5000):
        w.write(f"d{n % 50}/f{n}", b"%d\n" % n)
    states = [w.tree()]
    for n in range(5):
        with w.turn() as agent:
            agent.edit(f"d{n}/f{n}", b"agent\n")
        states.append(w.tree())
    assert all(turn["complete"] and len(turn["changes"]) == 1 for turn in w.turns())
    for state in reversed(states[:-1]):
        w.undo()
        w.is_now(state)
