"""C: it never says yes and does nothing."""

from __future__ import annotations

import shutil
import sys

import pytest

from tests.cases.world import World


def test_C1_an_edit_through_the_shell_is_undoable(w: World) -> None:
    w.write("f", b"1\n")
    before = w.tree()
    with w.turn() as agent:
        agent.shell(f'{sys.executable} -c \'open("f", "w").write("2")\'')
    assert w.read("f") == b"2"
    assert w.evidence() == {b"f": "during-call"}
    w.undo_shell()
    w.is_now(before)


def test_C2_deleted_files_return_tracked_or_not(w: World) -> None:
    w.write("go.mod", b"module m\n")
    w.repository()
    w.write("u", b"untracked\n")
    before = w.tree()
    with w.turn() as agent:
        agent.shell("rm go.mod u")
    answer = w.undo_shell()
    assert answer.paths("restored") == [b"go.mod", b"u"]
    w.is_now(before)


def test_C3_all_files_of_a_wide_edit_return(w: World) -> None:
    w.files({f"f{n}": b"old %d\n" % n for n in range(40)})
    before = w.tree()
    with w.turn() as agent:
        agent.shell("for f in f*; do echo new > $f; done")
    after = w.tree()
    assert len(w.undo_shell().paths("restored")) == 40
    w.is_now(before)
    assert len(w.redo().paths("restored")) == 40
    w.is_now(after)


def test_C4_a_data_folder_that_cannot_be_written_is_said_loudly(w: World) -> None:
    w.data.write_bytes(b"a plain file\n")
    w.write("f", b"old\n")
    begun = w.tb("record", "begin", "--session", "s", code=1)
    assert begun.err.strip()
    call = ("--session", "s", "--call", "c")
    begin = ("record", "tool-begin", *call, "--tool", "Edit", "--kind", "edit", "--path", "f")
    w.tb(*begin, code=1)
    w.write("f", b"agent\n")
    w.tb("record", "tool-end", *call, code=1)
    # No turn was begun, so there is none to end: that is no error.
    w.tb("record", "end", "--session", "s", code=0)
    w.undo(code=1)
    assert w.read("f") == b"agent\n"
    assert w.data.read_bytes() == b"a plain file\n"


def test_C5_works_in_a_plain_folder_without_git(w: World) -> None:
    w.write("a", b"old\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("a", b"new\n")
        agent.edit("n", b"n\n")
    w.there_and_back(before)


@pytest.mark.parametrize("repository", [False, True])
def test_C6_no_git_on_the_path_is_said_and_loses_nothing(w: World, repository: bool) -> None:
    w.write("f", b"old\n")
    if repository:
        w.repository()
    bin_folder = w.place / "bin"
    bin_folder.mkdir()
    (bin_folder / "python3").symlink_to(sys.executable)
    path = w.env["PATH"]
    w.env["PATH"] = str(bin_folder)
    begun = w.tb("record", "begin", "--session", "s", code=(0, 1))
    call = ("--session", "s", "--call", "c")
    begin = ("record", "tool-begin", *call, "--tool", "Edit", "--kind", "edit", "--path", "f")
    w.tb(*begin, code=begun.code)
    w.write("f", b"new\n")
    w.tb("record", "tool-end", *call, code=begun.code)
    w.tb("record", "end", "--session", "s", code=(0, begun.code))
    w.env["PATH"] = path
    if begun.code:
        assert b"git" in begun.err.lower()
        w.undo(code=(1, 3))
        assert w.read("f") == b"new\n"
    else:
        w.undo()
        assert w.read("f") == b"old\n"


@pytest.mark.parametrize("garbage", ["folder", "file", "head", "empty"])
def test_C7_one_broken_repository_does_not_switch_off_the_rest(w: World, garbage: str) -> None:
    w.files({"good": b"old\n", "bad/x": b"x\n"})
    git = w.path("bad/.git")
    if garbage == "folder":
        w.write("bad/.git/HEAD", b"\0garbage\n")
        w.write("bad/.git/index", b"garbage")
    elif garbage == "file":
        git.write_bytes(b"gitdir: /nowhere/at/all\n")
    elif garbage == "head":
        w.git("init", "-q", "bad")
        w.write("bad/.git/HEAD", b"\xff\xfe")
    else:
        git.mkdir()
    w.guard(git)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("good", b"new\n")
        agent.shell("echo changed > bad/x")
    turn = w.turns()[-1]
    captured = {one["path"] for one in turn["changes"]}
    named = {one["path"] for one in turn["not_captured"]}
    assert "bad/x" in captured or named & {"bad/", "bad", "bad/x"}
    w.undo()
    assert w.read("good") == b"old\n"
    if "bad/x" in captured:
        w.undo_all()
        w.is_now(before)


def test_C8_a_crlf_file_comes_back_byte_for_byte(w: World) -> None:
    w.write("f", b"one\r\ntwo\r\n")
    before = w.tree()
    with w.turn() as agent:
        agent.append("f", b"three\r\n")
    w.there_and_back(before)


@pytest.mark.parametrize("repository", [False, True])
def test_C9_a_plain_git_gc_in_the_store_does_not_break_undo(w: World, repository: bool) -> None:
    w.files({"f": b"old\n", "d": b"d\n", "sub/k": b"k\n"})
    if repository:
        w.repository()
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell("rm d")
    after = w.tree()
    stores = w.store_gits()
    assert stores
    for git in stores:
        w.git("--git-dir", str(git), "gc", "-q", "--prune=now")
    w.undo_all()
    w.is_now(before)
    for git in stores:
        w.git("--git-dir", str(git), "gc", "-q", "--prune=now", "--aggressive")
    w.redo()
    w.is_now(after)


def test_C9_the_store_is_a_valid_git_repository(w: World) -> None:
    w.files({"f": b"old\n", "sub/g": b"g\n"})
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell("mkdir -p x/y; echo z > x/y/z; rm sub/g")
    w.undo_all()
    for git in w.store_gits():
        w.git("--git-dir", str(git), "fsck", "--strict", "--full")
        assert w.git("--git-dir", str(git), "for-each-ref", "refs/takeback/")


def test_C10_a_store_that_is_gone_altogether_is_no_reason_to_delete(w: World) -> None:
    with w.turn() as agent:
        agent.edit("n", b"agent\n")
    shutil.rmtree(w.data)
    with w.nothing_changes():
        w.undo(code=3)
