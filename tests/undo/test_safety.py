"""What makes an operation safe: proven bytes before anything is replaced, and a new plan where the
project changed meanwhile."""

from __future__ import annotations

import io
import json
import os
import signal
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.engine import Project
from takeback.engine.errors import Exit, NothingToDo, ProjectChanged, TakebackError
from takeback.engine.model import Outcome, Plan
from takeback.engine.record.snapshot import list_tree
from takeback.engine.store.objects import Objects, StoreError, object_id
from takeback.engine.undo import operate
from takeback.engine.upkeep.prune import prune
from takeback.tui import cli
from tests.bed import LINES, Bed, line


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bed:
    return Bed(tmp_path, monkeypatch)


@pytest.fixture
def edited(bed: Bed) -> Bed:
    """The agent's only turn rewrote a file."""
    bed.write("f", "one\n")
    with bed.turn():
        bed.edit("f", "two, precious\n")
    return bed


def blob(bed: Bed, text: str) -> Path:
    """The loose object that keeps these bytes."""
    oid = object_id("blob", text.encode())
    return bed.store_file(f"git/objects/{oid[:2]}/{oid[2:]}")


def damage(path: Path, how: str) -> None:
    os.chmod(path, 0o600)
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "emptied":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(data[:-4])
    elif how == "another":
        path.write_bytes(zlib.compress(b"blob 3\0xyz"))
    else:
        path.write_bytes(data[:-8] + bytes(8))


HOW = ["gone", "emptied", "cut", "another", "garbage"]


# --- The bytes that are replaced -----------------------------------------------------------------


@pytest.mark.parametrize("how", HOW)
def test_what_the_store_lost_of_a_file_is_kept_anew_before_the_file_is_replaced(
    edited: Bed, how: str
) -> None:
    damage(blob(edited, "two, precious\n"), how)
    edited.do()
    assert edited.read("f") == "one\n"
    edited.do("redo")
    assert edited.read("f") == "two, precious\n"


def test_what_a_pack_lost_of_a_file_is_kept_anew_before_the_file_is_replaced(
    edited: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.engine.upkeep.prune._WORTH", 1)
    monkeypatch.setattr("takeback.engine.upkeep.prune._YOUNG_S", 0)
    assert prune(edited.store()).packed
    pack = edited.store_file("git/objects/pack/*.pack")
    data = pack.read_bytes()
    os.chmod(pack, 0o600)
    oid = object_id("blob", b"two, precious\n")
    store = edited.store()
    (index,) = store.objects._pack_indexes()
    at = index._find(bytes.fromhex(oid))
    base = 8 + 1024 + index._count * 24 + at * 4
    start = int.from_bytes(index._view[base : base + 4], "big")
    pack.write_bytes(data[: start + 3] + bytes(6) + data[start + 9 :])
    with pytest.raises(StoreError):
        edited.store().objects.read(oid)
    edited.do()
    assert edited.read("f") == "one\n"
    edited.do("redo")
    assert edited.read("f") == "two, precious\n"


def test_nothing_is_replaced_whose_bytes_the_store_cannot_give_back(
    edited: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that takes what is written to it and gives back something else."""
    lost = object_id("blob", b"two, precious\n")
    real = Objects.read

    def read(self: Objects, oid: str) -> bytes:
        if oid == lost:
            raise StoreError("The disk is broken.")
        return real(self, oid)

    monkeypatch.setattr(Objects, "read", read)
    with pytest.raises(StoreError):
        edited.do()
    monkeypatch.undo()
    assert edited.read("f") == "two, precious\n"
    assert edited.store() is not None
    assert edited.project().operations() == ()


@pytest.mark.parametrize("how", HOW)
def test_a_plan_whose_wanted_bytes_are_lost_changes_nothing(edited: Bed, how: str) -> None:
    damage(blob(edited, "one\n"), how)
    with pytest.raises(TakebackError) as caught:
        edited.do()
    assert "Nothing was changed." in caught.value.message
    assert edited.read("f") == "two, precious\n"
    assert edited.project().operations() == ()


def test_a_file_that_changes_while_its_bytes_are_proven_stops_the_operation(
    edited: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = edited.project()
    plan = edited.plan()
    real = operate._prove

    def late(*args: Any) -> None:
        damage(blob(edited, "two, precious\n"), "gone")
        edited.write("f", "the user's\n")
        real(*args)

    monkeypatch.setattr(operate, "_prove", late)
    with pytest.raises(ProjectChanged):
        project.apply(plan)
    assert edited.read("f") == "the user's\n"
    assert edited.project().operations() == ()


def test_a_file_that_is_larger_than_the_limit_is_kept_before_it_is_replaced(bed: Bed) -> None:
    """The limit is for scans; an undo that was asked for by name replaces nothing unkept."""
    bed.config.write_text("max_file_size_mb = 1\n")
    bed.write("f", "one\n")
    with bed.turn():
        bed.edit("f", "two\n")
    large = "x" * (1 << 20) + "y"
    bed.write("f", large)
    bed.do(paths=(b"f",), on_conflict="overwrite")
    assert bed.read("f") == "one\n"
    (operation,) = bed.project().operations()
    held = list_tree(bed.store(), operation.before)
    assert bed.bytes_of(held[b"f"].oid) == large
    bed.do("redo")
    assert bed.read("f") == large


def test_a_large_file_that_the_store_lost_is_kept_anew_before_it_is_replaced(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.config.write_text("max_file_size_mb = 1\n")
    bed.write("f", "one\n")
    with bed.turn():
        bed.edit("f", "two\n")
    large = "x" * (1 << 20) + "y"
    bed.write("f", large)
    real = operate._prove

    def late(*args: Any) -> None:
        damage(blob(bed, large), "gone")
        real(*args)

    monkeypatch.setattr(operate, "_prove", late)
    bed.do(paths=(b"f",), on_conflict="overwrite")
    assert bed.read("f") == "one\n"
    assert blob(bed, large).exists()


def test_the_refs_of_an_operation_hold_both_sides(edited: Bed) -> None:
    edited.do()
    (operation,) = edited.project().operations()
    for side, text in (("safety", "two, precious\n"), ("after", "one\n")):
        name = f"git/refs/takeback/op/{operation.id}/{side}"
        tree = edited.store_file(name).read_text().strip()
        assert edited.bytes_of(list_tree(edited.store(), tree)[b"f"].oid) == text


# --- Undos that only keep ------------------------------------------------------------------------


Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def run(
    bed: Bed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Run]:
    """A command in the project: its exit code and its document."""
    monkeypatch.chdir(bed.root)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def command(*words: str) -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        code = cli.main(["--json", "--data-dir", str(bed.data), *words])
        return code, json.loads(capsys.readouterr().out)

    yield command
    for number, handler in signals.items():
        signal.signal(number, handler)


@pytest.fixture
def gone(bed: Bed) -> Bed:
    """The user removed the only file that the agent's second turn edited."""
    bed.write("f", "one\n")
    bed.write("g", "one\n")
    with bed.turn():
        bed.edit("f", "two\n")
    with bed.turn():
        bed.edit("g", "two\n")
    (bed.root / "g").unlink()
    return bed


def test_an_undo_that_only_keeps_is_done_and_lets_the_walk_go_on(gone: Bed, run: Run) -> None:
    code, answer = run("undo")
    assert (code, answer["target"]) == (Exit.DONE, "turn 2")
    assert [one["path"] for one in answer["kept"]] == ["g"]
    assert not (answer["restored"] or answer["deleted"] or answer["conflicts"])
    assert (gone.read("f"), gone.read("g")) == ("two\n", None)
    code, answer = run("undo")
    assert (code, answer["target"]) == (Exit.DONE, "turn 1")
    assert (gone.read("f"), gone.read("g")) == ("one\n", None)


def test_an_undo_that_only_keeps_is_no_operation_to_see_or_to_put_back(gone: Bed, run: Run) -> None:
    run("undo")
    assert gone.project().operations() == ()
    assert run("history")[1]["operations"] == []
    assert run("redo")[0] == Exit.NOTHING
    run("undo")
    assert run("redo")[0] == Exit.DONE
    assert (gone.read("f"), gone.read("g")) == ("two\n", None)


def test_redo_passes_over_an_undo_that_only_kept(bed: Bed, run: Run) -> None:
    bed.write("f", "one\n")
    bed.write("g", "one\n")
    for name in "fg":
        with bed.turn():
            bed.edit(name, "two\n")
    (bed.root / "f").unlink()
    assert [run("undo")[0] for _ in range(2)] == [Exit.DONE] * 2
    assert (bed.read("f"), bed.read("g")) == (None, "one\n")
    assert run("redo")[0] == Exit.DONE
    assert (bed.read("f"), bed.read("g")) == (None, "two\n")


def test_a_dry_run_of_an_undo_that_only_keeps_does_not_move_the_walk(gone: Bed, run: Run) -> None:
    for _ in range(2):
        code, answer = run("undo", "--dry-run")
        assert (code, answer["target"]) == (Exit.DONE, "turn 2")


def test_what_an_undo_kept_is_reached_again_by_name(gone: Bed, run: Run) -> None:
    run("undo")
    code, answer = run("undo", "--path", "g", "--yes")
    assert (code, answer["target"]) == (Exit.DONE, "turn 2")
    assert gone.read("g") == "one\n"


def test_nothing_is_left_once_all_turns_were_met(gone: Bed, run: Run) -> None:
    assert [run("undo")[0] for _ in range(3)] == [Exit.DONE, Exit.DONE, Exit.NOTHING]
    with pytest.raises(NothingToDo):
        gone.plan()


# --- Another command was faster ------------------------------------------------------------------


class Faster:
    """Somebody writes between a plan and its operation, so many times."""

    def __init__(self, bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
        self.plans: list[Plan] = []
        self.writes: list[dict[str, str]] = []
        real = Project.apply

        def apply(project: Project, plan: Plan) -> Outcome:
            self.plans.append(plan)
            for name, text in self.writes.pop(0).items() if self.writes else ():
                bed.write(name, text)
            return real(project, plan)

        monkeypatch.setattr(Project, "apply", apply)


@pytest.fixture
def faster(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> Faster:
    bed.write("f", LINES)
    with bed.turn():
        bed.edit("f", line(5, "agent"))
    return Faster(bed, monkeypatch)


def test_the_command_plans_again_where_the_project_changed(
    bed: Bed, faster: Faster, run: Run
) -> None:
    faster.writes = [
        {"f": line(5, "agent", line(15, "user"))},
        {"f": line(5, "agent", line(15, "user", line(19, "again")))},
    ]
    code, answer = run("undo")
    assert (code, answer["merged"] != []) == (Exit.DONE, True)
    assert len(faster.plans) == 3
    assert bed.read("f") == line(15, "user", line(19, "again"))


def test_a_second_plan_that_needs_a_decision_is_not_carried_out(
    bed: Bed, faster: Faster, run: Run
) -> None:
    faster.writes = [{"f": line(5, "user")}]
    code, answer = run("undo")
    assert code not in (Exit.DONE, Exit.DECIDE)
    assert "changed since" in answer["error"]["message"]
    assert (bed.read("f"), len(faster.plans)) == (line(5, "user"), 1)
    assert bed.project().operations() == ()


def test_a_yes_holds_for_a_second_plan_of_the_same_target(
    bed: Bed, faster: Faster, run: Run
) -> None:
    bed.write("g", "one\n")
    with bed.turn(), bed.shell():
        bed.write("made", "made\n")
    faster.plans.clear()
    faster.writes = [{"made": "changed\n"}]
    code, answer = run("undo", "--include-unknown", "--yes")
    assert answer["target"] == "turn 2"
    assert code == Exit.DECIDE  # The user's bytes are in conflict now, and stay.
    assert bed.read("made") == "changed\n"


def test_a_command_that_is_always_too_late_gives_up(bed: Bed, faster: Faster, run: Run) -> None:
    texts = [line(5, "agent", line(15, f"user {n}")) for n in range(20)]
    faster.writes = [{"f": text} for text in texts]
    code, answer = run("undo")
    assert code not in (Exit.DONE, Exit.DECIDE, Exit.NOTHING)
    assert "Nothing was changed" in answer["error"]["message"]
    assert bed.read("f") == texts[len(faster.plans) - 1]
    assert len(faster.plans) < 10
