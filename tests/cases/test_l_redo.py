"""L: redo and confirmation."""

from __future__ import annotations

import pytest

from tests.cases.world import World


def test_L1_an_undo_can_be_taken_back(w: World) -> None:
    w.write("f", b"0\n", mode=0o640, at=10**18 + 7)
    w.write("d", b"d\n", mode=0o600, at=10**18 + 9)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"1\n")
        agent.shell("rm d; echo n > n; chmod 750 n; touch -d 2002-02-02 n")
    after = w.tree()
    for _ in range(3):
        w.undo_all()
        w.is_now(before)
        w.redo()
        w.is_now(after)


def test_L1_several_undos_are_put_back_in_turn(w: World) -> None:
    states = [w.tree()]
    for n in range(3):
        with w.turn() as agent:
            agent.edit(f"f{n}", b"agent\n")
        states.append(w.tree())
    for state in reversed(states[:-1]):
        w.undo()
        w.is_now(state)
    w.undo(code=3)
    for state in states[1:]:
        w.redo()
        w.is_now(state)
    w.redo(code=3)


def test_L1_a_new_turn_never_discards_a_redo(w: World) -> None:
    w.write("f", b"old\n")
    with w.turn() as agent:
        agent.edit("f", b"agent\n")
    w.undo()
    with w.turn() as agent:
        agent.edit("other", b"agent\n")
    with w.nothing_changes():
        w.redo(code=4)
    w.redo("--yes")
    assert w.read("f") == b"agent\n"
    assert w.read("other") == b"agent\n"


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_L2_the_list_before_the_deed(w: World, how: str) -> None:
    w.files({"f": b"old\n", "d": b"d\n", "kept": b"k\n"})
    before = w.tree()
    with w.turn() as agent:
        if how == "edit":
            agent.edits({"f": b"new\n", "n": b"n\n", "d": None})
        else:
            agent.shell("echo new > f; echo n > n; rm d")
    select = [] if how == "edit" else ["--all"]
    with w.nothing_changes():
        dry = w.undo(*select, "--dry-run", code=0 if how == "edit" else 4)
    assert dry.doc["dry_run"] is True
    assert dry.doc["operation"] is None
    assert dry.paths("restored") == [b"d", b"f"]
    assert dry.paths("deleted") == [b"n"]
    done = w.undo(*select, "--yes")
    assert done.lists() == dry.lists()
    w.is_now(before)
    with w.nothing_changes():
        dry = w.redo("--dry-run")
    assert w.redo().lists() == dry.lists()


def test_L2_a_dry_run_lists_conflicts_merges_and_kept_files_as_the_run_does(w: World) -> None:
    lines = b"".join(b"line %d\n" % n for n in range(20))
    w.files({"merge": lines, "conflict": b"old\n", "gone": b"old\n", "plain": b"old\n"})
    with w.turn() as agent:
        agent.edits(dict.fromkeys(("conflict", "gone", "plain", "made"), b"agent\n"))
        agent.edit("merge", lines.replace(b"line 3\n", b"agent\n"))
    w.write("merge", w.read("merge").replace(b"line 17\n", b"user\n"))
    w.write("conflict", b"user\n")
    w.path("gone").unlink()
    with w.nothing_changes():
        dry = w.undo("--dry-run", code=4)
    assert dry.lists() == {
        "restored": [b"plain"],
        "deleted": [b"made"],
        "merged": [b"merge"],
        "kept": [b"gone"],
        "conflicts": [b"conflict"],
    }
    with w.nothing_changes():
        assert w.undo(code=4).lists() == dry.lists()
    assert w.undo("--yes", code=4).lists() == dry.lists()
    assert w.read("merge") == lines.replace(b"line 17\n", b"user\n")
    assert w.read("conflict") == b"user\n"
    assert not w.has("gone") and not w.has("made")
