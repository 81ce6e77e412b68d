"""B: what is undone is the right thing, never a stale or a wrong state."""

from __future__ import annotations

from tests.cases.world import World, differences, tree_of


def test_B1_one_path_that_cannot_be_added_does_not_freeze_the_snapshots(w: World) -> None:
    w.write("f", b"v1\n")
    with w.turn() as agent:
        agent.shell("git init -q nested")
        w.guard(w.path("nested/.git"))
        agent.edit("f", b"v2\n")
    w.undo()
    assert w.read("f") == b"v1\n"
    w.redo()
    assert w.read("f") == b"v2\n"
    assert w.path("nested/.git/HEAD").is_file()


def test_B1_the_shell_writes_beside_the_unborn_repository(w: World) -> None:
    w.write("f", b"v1\n")
    with w.turn() as agent:
        agent.shell("git init -q nested; echo v2 > f")
        w.guard(w.path("nested/.git"))
    w.undo_shell()
    assert w.read("f") == b"v1\n"
    w.redo()
    assert w.read("f") == b"v2\n"


def test_B2_changes_made_while_the_tool_was_not_running_survive(w: World) -> None:
    w.write("f", b"one line\n")
    w.begin().end()
    w.write("f", b"pulled\n" * 99)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("a", b"agent\n")
    w.undo()
    w.is_now(before)


def test_B3_every_turn_has_a_tree_of_its_own(w: World) -> None:
    names = [f"f{n}" for n in range(8)]
    w.files(dict.fromkeys(names, b"old\n"))
    for name in names:
        with w.turn() as agent:
            agent.edit(name, b"new\n")
    turns = w.turns()
    assert all(turn["before"] != turn["after"] for turn in turns)
    assert len({turn["after"] for turn in turns}) == 8
    assert [turn["before"] for turn in turns[1:]] == [turn["after"] for turn in turns[:-1]]
    stamps = {name: w.stamp(name) for name in names[:-1]}
    w.undo()
    assert w.read("f7") == b"old\n"
    assert {name: w.stamp(name) for name in names[:-1]} == stamps


def test_B4_what_the_user_deleted_before_the_turn_stays_deleted(w: World) -> None:
    w.files({"f": b"f\n", "g": b"g\n"})
    w.repository()
    w.path("f").unlink()
    w.write("g", b"edited\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("a", b"agent\n")
    w.undo_all()
    w.is_now(before)


def test_B5_undo_while_the_turn_runs_does_not_go_back_to_the_last_commit(w: World) -> None:
    w.write("f", b"1\n")
    w.repository()
    w.write("f", b"2\n")
    before = w.tree()
    agent = w.begin()
    agent.edit("f", b"3\n")
    with w.nothing_changes():
        w.undo(code=5)
        w.undo("--all", "--yes", code=5)
    agent.end(interrupted=True)
    assert w.turns()[-1]["state"] == "interrupted"
    w.undo()
    w.is_now(before)


def test_B6_a_created_file_is_removed_and_redo_respects_new_files(w: World) -> None:
    with w.turn() as agent:
        agent.edit("n", b"agent\n")
    after = w.tree()
    w.undo()
    assert not w.has("n")
    w.write("z", b"the user's\n")
    stamp = w.stamp("z")
    w.redo()
    assert w.stamp("z") == stamp
    w.is_now(after | {b"z": w.tree()[b"z"]})


def test_B6_redo_never_writes_over_a_file_the_user_made_under_that_name(w: World) -> None:
    with w.turn() as agent:
        agent.edit("n", b"agent\n")
    w.undo()
    w.write("n", b"the user's\n")
    with w.nothing_changes():
        w.redo(code=4)
        assert w.redo("--yes", code=4).paths("conflicts") == [b"n"]


def test_B7_an_unknown_turn_is_an_error(w: World) -> None:
    with w.turn() as agent:
        agent.edit("f", b"agent\n")
    with w.nothing_changes():
        for words in (
            ["--turn", "999"],
            ["--turn", "made-up"],
            ["--turn", "0"],
            ["--turn", "-1"],
            ["--to", "999"],
            ["--step", "made-up"],
            ["--call", "made-up"],
            ["--session", "made-up"],
        ):
            w.undo(*words, code=2)
            w.undo(*words, "--all", "--yes", code=2)


def test_B8_a_file_that_was_absent_before_the_turn_goes_again(w: World) -> None:
    w.write("d", b"first\n", mode=0o640, at=10**18)
    before = w.tree()
    with w.turn() as agent:
        agent.shell("rm d")
    with w.turn() as agent:
        agent.edit("d", b"second\n")
    w.undo("--turn", "2")
    assert not w.has("d")
    w.undo_all("--turn", "1")
    w.is_now(before)


def test_B9_folders_that_only_contained_the_agents_files_go_too(w: World) -> None:
    w.write("keep", b"k\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("x/y/z", b"agent\n")
    w.there_and_back(before)


def test_B9_a_folder_that_holds_the_users_file_stays(w: World) -> None:
    with w.turn() as agent:
        agent.edit("x/y/z", b"agent\n")
    w.write("x/mine", b"the user's\n")
    w.undo()
    assert list(w.tree()) == [b"x", b"x/mine"]


def test_B9_an_empty_folder_of_the_user_stays_when_its_new_file_goes(w: World) -> None:
    w.path("empty").mkdir()
    before = w.tree()
    with w.turn() as agent:
        agent.edit("empty/z", b"agent\n")
    w.there_and_back(before)


def test_B10_undo_goes_one_turn_back_not_two(w: World) -> None:
    w.write("f", b"0\n")
    for content in (b"1\n", b"2\n"):
        with w.turn() as agent:
            agent.edit("f", content)
    w.undo()
    assert w.read("f") == b"1\n"
    assert [(turn["n"], turn["undone"]) for turn in w.turns()] == [(1, False), (2, True)]


def test_B10_reading_the_log_again_and_again_gives_the_same(w: World) -> None:
    kept = tree_of(w.root)
    with w.turn() as agent:
        agent.edit("f", b"1\n")
    w.undo()
    assert w.log() == w.log()
    assert differences(kept, tree_of(w.root)) == []
