"""E: where the project lives (nested repositories have cases of their own)."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cases.world import World


def test_E3_a_session_in_a_subfolder_covers_the_whole_project(w: World) -> None:
    w.files({"a/b/k": b"k\n", "g": b"g\n"})
    w.repository()
    before = w.tree()
    here = w.path("a/b")
    with w.turn(cwd=here) as agent:
        agent.edit("../../f", b"agent\n")
        agent.shell("rm ../../g")
    after = w.tree()
    answer = w.undo_all(cwd=here)
    assert answer.paths("deleted") == [b"f"]
    assert answer.paths("restored") == [b"g"]
    w.is_now(before)
    w.redo(cwd=here)
    w.is_now(after)


def test_E3_a_path_of_the_caller_is_relative_to_its_folder(w: World) -> None:
    w.files({"a/b/f": b"old\n", "f": b"old\n"})
    w.repository()
    with w.turn(cwd=w.path("a/b")) as agent:
        agent.edit("f", b"new\n")
        agent.edit("../../f", b"new\n")
    w.undo("--path", "f", cwd=w.path("a/b"))
    assert (w.read("a/b/f"), w.read("f")) == (b"old\n", b"new\n")
    w.undo("--path", w.path("f").as_posix(), cwd=w.path("a"))
    assert w.read("f") == b"old\n"


def test_E3_a_session_that_changes_its_folder_stays_in_its_project(w: World) -> None:
    w.files({"a/b/k": b"k\n", "f": b"old\n"})
    w.repository()
    elsewhere = w.place / "elsewhere"
    elsewhere.mkdir()
    before = w.tree()
    turn = w.begin()
    turn.cwd = elsewhere
    turn.edit(os.fsencode(w.path("f")), b"new\n")
    turn.cwd = w.path("a/b")
    turn.edit("k", b"new\n")
    turn.cwd = elsewhere
    turn.end()
    assert len(w.turns()) == 1
    w.there_and_back(before)
    assert list(elsewhere.iterdir()) == []


def test_E4_a_sha256_repository(w: World) -> None:
    w.files({"f": b"old\n", "sub/g": b"g\n"})
    w.repository("", "--object-format=sha256")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.edit("n", b"n\n")
    w.there_and_back(before)
    with w.turn() as agent:
        agent.shell("echo again > f; rm -r sub")
    w.undo_shell()


def test_E5_turns_of_a_subfolder_session_are_offered_at_the_root(w: World) -> None:
    w.files({"a/k": b"k\n", "f": b"f\n"})
    w.repository()
    before = w.tree()
    with w.turn(cwd=w.path("a")) as agent:
        agent.edit("k", b"agent\n")
    assert w.log()["project"]["root"] == str(w.root)
    w.there_and_back(before)


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_E6_the_branch_was_switched_in_between(w: World, how: str) -> None:
    w.files({"b": b"main\n", "f": b"same\n"})
    w.repository()
    w.git("switch", "-q", "-c", "other")
    w.write("b", b"other\n")
    w.commit("other")
    w.git("switch", "-q", "main")
    with w.turn() as agent:
        if how == "edit":
            agent.edit("a", b"agent\n")
            agent.edit("f", b"agent\n")
        else:
            agent.shell("echo agent > a; echo agent > f")
    w.git("switch", "-q", "other")
    stamp = w.stamp("b")
    w.undo_all()
    assert not w.has("a")
    assert (w.read("f"), w.read("b")) == (b"same\n", b"other\n")
    assert w.stamp("b") == stamp
    assert w.git("rev-parse", "--abbrev-ref", "HEAD") == b"other\n"


def test_E7_a_project_opened_through_a_symbolic_link_is_the_same(w: World) -> None:
    w.write("f", b"old\n")
    link = w.place / "link"
    link.symlink_to(w.root, target_is_directory=True)
    with w.turn(cwd=link) as agent:
        agent.edit(os.fsencode(link / "f"), b"new\n")
    w.undo()
    assert w.read("f") == b"old\n"
    w.redo(cwd=link)
    assert w.read("f") == b"new\n"
    w.undo("--path", str(link / "f"), cwd=w.place, code=(2, 3))
    w.undo("-C", str(link), "--path", str(link / "f"), cwd=w.place)
    assert w.read("f") == b"old\n"


def test_E8_a_linked_work_tree_is_a_project_of_its_own(w: World) -> None:
    w.write("f", b"old\n")
    w.repository()
    tree = w.place / "linked"
    w.git("worktree", "add", "-q", str(tree))
    w.guard(tree / ".git")
    with w.turn(cwd=tree) as agent:
        agent.edit("f", b"new\n")
    w.undo(code=3)
    w.undo(cwd=tree)
    assert (tree / "f").read_bytes() == b"old\n"


def test_E9_inside_a_git_folder_is_refused(w: World) -> None:
    w.write("f", b"f\n")
    w.repository()
    for place in (w.path(".git"), w.path(".git/refs")):
        for words in (["log"], ["undo"], ["record", "begin", "--session", "s"]):
            w.tb(*words, cwd=place, code=2)


def test_E10_the_home_folder_is_refused_and_does_not_swallow_projects_below(w: World) -> None:
    subprocess.run(["git", "init", "-q"], cwd=w.home, env=w.env, check=True)
    below = w.home / "work" / "p"
    below.mkdir(parents=True)
    (below / "f").write_bytes(b"old\n")
    w.guard(w.home / ".git")
    for place in (w.home, w.home.parent, "/"):
        refused = w.tb("record", "begin", "--session", "s", cwd=place, code=2)
        assert refused.err.strip()
    with w.turn("t", cwd=below) as agent:
        agent.edit("f", b"new\n")
    assert w.tb("log", "--json", cwd=below).doc["project"]["root"] == str(below)
    w.undo(cwd=below)
    assert (below / "f").read_bytes() == b"old\n"
