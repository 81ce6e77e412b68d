"""A: work that was not the agent's is never taken."""

from __future__ import annotations

import os
import resource

import pytest

from tests.cases.world import World, differences, tree_of

MB = 1 << 20
NINE = b"".join(b"line %d\n" % n for n in range(1, 10))


def test_A1_untracked_output_of_the_user_survives_undo(w: World) -> None:
    with w.turn() as agent:
        agent.edit("a", b"agent\n")
    w.write("out/result", b"hours of work\n")
    made = w.tree()
    answer = w.undo_all()
    assert answer.paths("deleted") == [b"a"]
    made.pop(b"a")
    w.is_now(made)


def test_A2_a_partial_snapshot_never_leads_to_deletions(w: World) -> None:
    w.write("big.bin", os.urandom(3 * MB))
    w.files({"f": b"old\n", "g": b"g\n", "sub/h": b"h\n"})
    before = w.tree()

    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MB, MB))

    begin = ("record", "begin", "--session", "s", "--json")
    w.tb(*begin, code=(0, 1), preexec_fn=small_files_only)
    call = ("--session", "s", "--call", "c")
    w.tb("record", "tool-begin", *call, "--tool", "Edit", "--kind", "edit", "--path", "f")
    w.write("f", b"agent\n")
    w.tb("record", "tool-end", *call)
    w.tb("record", "end", "--session", "s")
    w.undo()
    w.is_now(before)


def test_A3_other_projects_below_the_opened_folder_are_left_alone(w: World) -> None:
    w.files({"p1/old": b"one\n", "p2/f": b"two\n", "p2/g": b"two\n"})
    w.repository("p2")
    with w.turn() as agent:
        agent.edit("p1/a", b"agent\n")
    w.write("p2/f", b"the user's\n")
    kept = tree_of(w.path("p2"), git=True, dir_times=True)
    w.undo()
    assert not w.has("p1/a")
    assert differences(kept, tree_of(w.path("p2"), git=True, dir_times=True)) == []


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_A4_an_uncommitted_ignore_rule_still_protects_its_files(w: World, how: str) -> None:
    w.write("f", b"tracked\n")
    w.repository()
    w.write(".gitignore", b"data/\n")
    w.write("data/x", b"precious\n")
    before = w.tree()
    with w.turn() as agent:
        if how == "edit":
            agent.append("f", b"more\n")
            agent.edit(".gitignore", b"# nothing\n")
        else:
            agent.shell("echo more >> f; echo '# nothing' > .gitignore")
    w.undo_all()
    w.is_now(before)


def test_A5_a_file_the_user_made_during_the_turn_is_not_the_agents(w: World) -> None:
    w.write("a", b"old\n")
    with w.turn() as agent:
        agent.shell("cat notes.txt", fails=True)
        w.write("notes.txt", b"the user's\n")
        agent.edit("a", b"new\n")
    assert w.evidence() == {b"a": "tool-edit", b"notes.txt": "outside-calls"}
    answer = w.undo()
    assert answer.paths("restored") == [b"a"]
    assert w.read("a") == b"old\n"
    assert w.read("notes.txt") == b"the user's\n"


def test_A6_a_store_that_lost_its_objects_never_deletes_edited_files(w: World) -> None:
    w.write("f", b"old\n")
    with w.turn() as agent:
        agent.edit("f", b"new\n")
    for git in w.store_gits():
        for path in (git / "objects").rglob("*"):
            if path.is_file():
                path.unlink()
    with w.nothing_changes():
        answer = w.undo(code=1)
    assert "error" in answer.doc
    assert w.read("f") == b"new\n"


def test_A7_a_file_over_the_size_limit_is_kept_and_named(w: World) -> None:
    w.write("d.bin", b"d" * 30 * MB)
    with w.turn() as agent:
        agent.shell("echo more >> d.bin; echo new > a")
    grown = w.tree()
    answer = w.undo_all()
    assert answer.paths("deleted") == [b"a"]
    assert w.not_captured()[b"d.bin"] == "too-large"
    assert answer.names("d.bin")
    grown.pop(b"a")
    w.is_now(grown)


def test_A8_undo_of_a_rename_brings_the_old_name_back(w: World) -> None:
    w.write("old.py", b"".join(b"x%d = %d\n" % (n, n) for n in range(50)))
    before = w.tree()
    with w.turn() as agent:
        agent.shell("mv old.py new.py")
    after = w.tree()
    answer = w.undo_shell()
    assert answer.paths("restored") == [b"old.py"]
    assert answer.paths("deleted") == [b"new.py"]
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_A9_the_users_later_edit_of_another_line_survives(w: World) -> None:
    w.write("f", NINE)
    with w.turn() as agent:
        agent.edit("f", NINE.replace(b"line 2\n", b"agent\n"))
    w.write("f", w.read("f").replace(b"line 8\n", b"user\n"))
    answer = w.undo()
    assert answer.paths("merged") == [b"f"]
    assert w.read("f") == NINE.replace(b"line 8\n", b"user\n")


def test_A10_looking_planning_and_a_new_prompt_never_write_to_the_project(w: World) -> None:
    w.files({"f": b"old\n", "sub/g": b"g\n"})
    with w.turn() as agent:
        agent.edit("f", b"new\n")
    w.write("f", b"the user's\n")
    with w.nothing_changes():
        for words in (["log"], ["sessions"], ["show"], ["diff"], ["history"], ["log", "--json"]):
            w.tb(*words)
        w.undo("--dry-run", code=4)
        w.undo("--all", "--overwrite", "--dry-run", code=4)
        w.begin().end()


def test_A11_the_users_own_new_file_stays(w: World) -> None:
    w.write("old", b"old\n")
    with w.turn() as agent:
        agent.edit("a", b"agent\n")
    w.write("b", b"the user's\n")
    w.write("old", b"the user's too\n")
    made = w.tree()
    w.undo_all()
    made.pop(b"a")
    w.is_now(made)


def test_A12_undo_of_the_newest_turn_keeps_the_earlier_one_in_the_same_file(w: World) -> None:
    w.write("f", b"")
    for line in (b"1\n", b"2\n"):
        with w.turn() as agent:
            agent.append("f", line)
    w.undo()
    assert w.read("f") == b"1\n"
    w.undo()
    assert w.read("f") == b""


def test_A13_a_file_committed_since_keeps_its_commit(w: World) -> None:
    w.write("f", b"old\n")
    w.repository()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
    w.commit("agent's work")
    head = w.git("rev-parse", "HEAD")
    w.undo()
    assert w.read("f") == b"old\n"
    assert w.git("rev-parse", "HEAD") == head
    assert w.git("show", "HEAD:f") == w.git("show", ":f") == b"new\n"
    assert w.git("--no-optional-locks", "status", "--porcelain") == b" M f\n"


def test_A14_an_agent_made_file_that_the_user_went_on_writing_is_not_deleted(w: World) -> None:
    with w.turn() as agent:
        agent.edit("n", b"agent\n")
    w.append("n", b"the user's line\n")
    with w.nothing_changes():
        for words in ([], ["--yes"]):
            answer = w.undo(*words, code=4)
            assert answer.paths("conflicts") == [b"n"]
            assert answer.doc["operation"] is None
    assert w.read("n") == b"agent\nthe user's line\n"


def test_A15_a_snapshot_that_skipped_a_file_is_marked(w: World) -> None:
    w.write("d.bin", b"d" * 30 * MB)
    w.write("a", b"old\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("a", b"new\n")
    turn = w.turns()[-1]
    assert {"path": "d.bin", "reason": "too-large"} in turn["not_captured"]
    assert turn["complete"] is False
    w.undo()
    w.is_now(before)


def test_A16_nothing_destructive_without_a_yes(w: World) -> None:
    w.write("f", b"old\n")
    with w.turn() as agent:
        agent.edit("n", b"agent\n")
        agent.edit("f", b"agent\n")
    w.write("n", b"user n\n")
    w.write("f", b"user f\n")
    with w.nothing_changes():
        answer = w.undo("--all", "--overwrite", code=4)
    assert answer.doc["operation"] is None
    w.undo("--all", "--overwrite", "--yes")
    assert w.read("f") == b"old\n"
    assert not w.has("n")
    w.redo()
    assert (w.read("n"), w.read("f")) == (b"user n\n", b"user f\n")


def test_A16_a_terminal_is_asked_and_no_means_no(w: World) -> None:
    with w.turn() as agent:
        agent.shell("echo new > n")
    master, slave = os.openpty()
    try:
        with w.nothing_changes():
            process = w.start("undo", "--all", stdin=slave, stdout=slave, stderr=slave)
            os.write(master, b"n\n")
            assert process.wait(30) in (4, 130)
    finally:
        os.close(slave)
        os.close(master)
