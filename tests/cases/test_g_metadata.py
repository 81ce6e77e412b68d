"""G: times, modes, links and special files."""

from __future__ import annotations

import os
import shutil
import socket

import pytest

from tests.cases.world import World, differences, time_limit, tree_of

IN_2001 = 1_000_000_000 * 10**9 + 123_456_789


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_G1_only_changed_files_are_written_and_times_come_back(w: World, how: str) -> None:
    for n in (1, 2, 3):
        w.write(f"f{n}", b"old %d\n" % n, at=IN_2001)
    before = w.tree()
    with w.turn() as agent:
        if how == "edit":
            agent.edit("f1", b"agent\n")
        else:
            agent.shell("echo agent > f1")
    after, stamps = w.tree(), [w.stamp("f2"), w.stamp("f3")]
    w.undo_all()
    w.is_now(before)
    w.redo()
    w.is_now(after)
    assert [w.stamp("f2"), w.stamp("f3")] == stamps


def test_G1_undo_does_not_take_a_time_only_change_for_an_edit(w: World) -> None:
    w.write("f", b"f\n", at=IN_2001)
    with w.turn() as agent:
        agent.shell("touch f")
        agent.edit("g", b"g\n")
    stamp = w.stamp("f")
    assert [one["path"] for one in w.turns()[-1]["changes"]] == ["g"]
    w.undo_all()
    assert w.stamp("f") == stamp


def test_G2_mode_bits_of_deleted_files(w: World) -> None:
    for mode in (0o750, 0o600, 0o444, 0o711, 0o4755, 0o2644, 0o666, 0o000):
        w.write(f"f{mode:04o}", b"%o\n" % mode, mode=mode, at=IN_2001)
    unreadable = os.geteuid() != 0
    if unreadable:
        w.path("f0000").unlink()
    before = w.tree()
    with w.turn() as agent:
        agent.shell("rm -f f*")
    after = w.tree()
    w.undo_shell()
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_G2_bits_hold_whatever_the_umask(w: World) -> None:
    w.write("f", b"f\n", mode=0o666)
    w.write("d/g", b"g\n", mode=0o664)
    w.path("d").chmod(0o777)
    before = w.tree()
    with w.turn() as agent:
        agent.shell("rm -r f d")
    w.undo_all(preexec_fn=lambda: os.umask(0o077))
    w.is_now(before)


def test_G3_a_replaced_file_keeps_its_execute_bit(w: World) -> None:
    w.write("s", b"#!/bin/sh\n", mode=0o755)
    before = w.tree()
    with w.turn() as agent:
        agent.shell("echo other > t; chmod 600 t; mv t s")
    after = w.tree()
    assert after[b"s"].mode == 0o600
    w.undo_shell()
    w.is_now(before)
    w.redo()
    w.is_now(after)


@pytest.mark.parametrize("bits", ["755", "600", "640"])
def test_G3_a_mode_only_change_is_undone_as_well(w: World, bits: str) -> None:
    w.write("s", b"#!/bin/sh\n", mode=0o644)
    before = w.tree()
    with w.turn() as agent:
        agent.shell(f"chmod {bits} s")
    w.there_and_back(before, undo=("--all", "--yes"))


def test_G4_undo_never_reaches_through_a_symbolic_link(w: World) -> None:
    w.write("b/y", b"old\n")
    outside = w.place / "outside"
    for name in ("a", "b"):
        (outside / name).mkdir(parents=True)
    (outside / "a/x").write_bytes(b"agent x\n")
    (outside / "b/y").write_bytes(b"agent y\n")
    with w.turn() as agent:
        agent.edit("a/x", b"agent x\n")
        agent.edit("b/y", b"agent y\n")
    for name in ("a", "b"):
        shutil.rmtree(w.path(name))
        w.path(name).symlink_to(outside / name)
    kept = tree_of(outside, dir_times=True)
    with w.nothing_changes():
        for words in ([], ["--yes"], ["--all", "--yes"], ["--all", "--overwrite", "--yes"]):
            w.undo(*words, code=(0, 1, 3, 4))
    assert differences(kept, tree_of(outside, dir_times=True)) == []


def test_G4_a_link_inside_the_project_is_not_followed_either(w: World) -> None:
    w.write("real/y", b"old\n")
    w.write("b/y", b"old\n")
    with w.turn() as agent:
        agent.edit("b/y", b"agent\n")
    w.write("real/y", b"agent\n")
    shutil.rmtree(w.path("b"))
    w.path("b").symlink_to("real")
    with w.nothing_changes():
        w.undo("--yes", code=(0, 1, 3, 4))


def test_G5_pipes_and_sockets_do_not_block_the_undo(w: World) -> None:
    os.mkfifo(w.path("pipe"))
    w.write("mine", b"mine\n")

    def make() -> None:
        w.write("d/f", b"agent\n")
        os.mkfifo(w.path("d/pipe"))

    with w.turn() as agent:
        agent.shell(make)
    after = w.tree()
    with time_limit(20):
        w.undo_all()
    left = dict(after)
    left.pop(b"d/f")
    w.is_now(left)
    w.redo()
    w.is_now(after)


def test_G5_a_socket_stands_in_the_project(w: World) -> None:
    w.write("f", b"old\n")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(w.root)
    try:
        server.bind("sock")
    finally:
        os.chdir(here)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell("echo n > n")
    w.there_and_back(before, undo=("--all", "--yes"))
    server.close()


def test_G6_links_come_back_as_links(w: World) -> None:
    w.files({"target": b"t\n", "folder/x": b"x\n"})
    w.path("to-file").symlink_to("target")
    w.path("to-folder").symlink_to("folder")
    w.path("away").symlink_to("/etc/passwd")
    before = w.tree()
    with w.turn() as agent:
        agent.shell(
            "rm to-file to-folder away; cp target to-file; mkdir to-folder; touch to-folder/n"
        )
        agent.shell("ln -s target made")
    w.there_and_back(before, undo=("--all", "--yes"))
