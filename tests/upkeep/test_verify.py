"""Everything kept is read again, and what is lost is told with who needs it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from takeback.engine.errors import Exit
from takeback.engine.model import EMPTY_TREE, Request
from takeback.engine.project import Project
from takeback.engine.store.objects import object_id
from takeback.engine.store.store import Store
from takeback.engine.upkeep import loose, prune
from takeback.engine.upkeep.verify import StoreDamaged, verify


def spoil(store: Store, oid: str) -> None:
    path = loose.path_of(store.git_dir, oid)
    os.chmod(path, 0o600)
    with open(path, "r+b") as file:
        file.seek(5)
        file.write(b"\xff\xff\xff")


def test_a_whole_store_is_whole(store: Store) -> None:
    report = verify(store)
    assert (report.damage, report.lines) == ((), ())
    git = ["git", "--git-dir", os.fsdecode(store.git_dir), "rev-list", "--objects", "--all"]
    held = subprocess.run(git, capture_output=True, check=True).stdout.splitlines()
    assert report.objects >= len([line for line in held if EMPTY_TREE.encode() not in line]) > 20
    assert report.refs > 6
    report.require_sound()


def test_a_damaged_blob_names_the_turns_that_need_it(store: Store) -> None:
    oid = object_id("blob", b"version 1\n")
    spoil(store, oid)
    (one,) = verify(store).damage
    assert (one.name, one.state) == (oid, "damaged")
    # It is what turn 2 left and what turn 3 found.
    assert {"turn 2", "turn 3"} <= set(one.affected)
    assert "turn 1" not in one.affected


def test_a_missing_tree_is_told_and_the_rest_is_still_checked(
    project: Project, store: Store
) -> None:
    tree = project.sessions()[0].turns[1].after
    assert tree is not None
    os.unlink(loose.path_of(store.git_dir, tree))
    spoil(store, object_id("blob", b"version 0\n"))
    report = verify(store)
    assert {(one.name, one.state) for one in report.damage} == {
        (tree, "missing"),
        (object_id("blob", b"version 0\n"), "damaged"),
    }
    with pytest.raises(StoreDamaged) as raised:
        report.require_sound()
    assert raised.value.code == Exit.FAILED
    assert "turn 2" in raised.value.message
    assert tree[:12] in raised.value.message


def test_a_damaged_pack_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prune, "_WORTH", 1)
    prune.prune(store)
    folder = Path(os.fsdecode(store.git_dir), "objects/pack")
    (pack,) = folder.glob("*.pack")
    data = pack.read_bytes()
    pack.chmod(0o600)
    pack.write_bytes(data[:12] + b"\0" * (len(data) - 32) + data[-20:])
    report = verify(store)
    assert {one.state for one in report.damage} == {"damaged"}
    assert report.affected == ("the current snapshot", "turn 1", "turn 2", "turn 3")


def test_an_operation_that_lost_its_safety_copy_is_named(
    project: Project, store: Store, folder: Path
) -> None:
    (folder / "a.txt").write_text("version 2\n")
    done = project.apply(project.plan(Request("undo", selection="all")))
    assert done.operation and done.safety
    os.unlink(loose.path_of(store.git_dir, done.safety))
    (one,) = verify(store).damage
    assert f"operation {done.operation}" in one.affected


def test_a_garbage_ref_is_damage(store: Store) -> None:
    path = os.path.join(store.git_dir, b"refs/takeback/current")
    Path(os.fsdecode(path)).write_bytes(b"\xff\xff garbage")
    (one,) = verify(store).damage
    assert one.affected == ("the current snapshot",)


def test_lost_lists_and_damaged_lines_are_told(
    project: Project, store: Store, folder: Path
) -> None:
    with project.turn("many") as turn, turn.shell("generate"):
        for number in range(60):
            (folder / f"{number}.gen").write_text(str(number))
    ledger = Path(os.fsdecode(store.path("ledger")))
    (lists,) = [path for path in ledger.iterdir() if path.name.startswith("lists-")]
    assert verify(store).damage == ()
    lists.write_bytes(b"garbage")
    (one,) = verify(store).damage
    assert (one.name, one.state, one.affected) == (lists.name, "damaged", ("turn 4",))
    lists.unlink()
    assert verify(store).damage[0].state == "missing"
    name = store.ledger_names()[0]
    with open(store.path(f"ledger/{name}"), "ab") as file:
        file.write(b"\xff\0 garbage\n")
    assert any(re.match("ledger/", where) for where, _ in verify(store).lines)


def test_checking_a_large_object_needs_little_memory(store: Store, tmp_path: Path) -> None:
    import tracemalloc

    big = tmp_path / "big"
    big.write_bytes(os.urandom(1 << 20) * 32)
    fd = os.open(big, os.O_RDONLY)
    oid = store.objects.write_file(fd, 32 << 20)
    os.close(fd)
    tracemalloc.start()
    assert loose.check(loose.path_of(store.git_dir, oid), oid) == ("blob", 32 << 20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
