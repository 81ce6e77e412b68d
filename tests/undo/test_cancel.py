"""Cancelled wherever that is looked for: nothing is half done, and the next one works."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from takeback.engine import Event, Project, Request, work
from takeback.engine.errors import Exit
from takeback.engine.model import Plan
from takeback.engine.store import git
from takeback.engine.work import Cancel, Cancelled
from tests.undo.bed import LINES, Bed, line_5


class Counting(Cancel):
    """Is set by the check with a number, counted from 1."""

    __slots__ = ("at", "count")

    def __init__(self, at: int = 0) -> None:
        super().__init__()
        self.at = at
        self.count = 0

    def check(self) -> None:
        self.count += 1
        if self.count == self.at:
            self.set()
        super().check()


def files(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in root.rglob("*")
        if path.is_file()
    }


def left_over(bed: Bed) -> list[str]:
    """What an operation that ended must not leave."""
    found = [str(path) for path in bed.root.rglob(".takeback-*")]
    for name in ("tmp/*", "journal*", "git/objects/pack/tmp_*"):
        found += [str(path) for path in bed.data.glob(f"projects/*/{name}")]
    return found


@pytest.fixture
def edited(bed: Bed) -> Bed:
    """A turn with a merge, a restore, a new file, a delete and a folder; the user edits on."""
    (bed.root / ".gitignore").write_text("ignored\n")
    bed.write("merge", LINES)
    bed.write("back", "old\n")
    bed.write("sub/gone", "gone\n")
    project = bed.project()
    with project.turn("s") as turn, turn.edit("merge", "back", "new", "sub/gone"):
        bed.write("merge", line_5("agent"))
        bed.write("back", "new\n")
        bed.write("new", "new\n")
        (bed.root / "sub/gone").unlink()
    project.close()
    bed.write("merge", line_5("agent").replace("line 15\n", "user\n"))
    bed.write("user", "mine\n")
    return bed


def cancelled_at(project: Project, number: int, call: str, *words: object) -> bool:
    """Make a call that is cancelled by a check; whether it was before it ended."""
    project.cancel = Counting(number)
    try:
        getattr(project, call)(*words)
    except Cancelled:
        return True
    finally:
        project.cancel = None
        assert project.store is not None and not project.store.lock.held
    return False


def test_a_plan_cancelled_at_any_point_changes_nothing_and_the_next_one_works(
    edited: Bed,
) -> None:
    expected = edited.plan().entries
    before = files(edited.root)
    number = 0
    while True:
        number += 1
        edited.write("user", f"mine {number}\n")  # So that each scan finds something.
        before = files(edited.root)
        project = edited.project()
        stopped = cancelled_at(project, number, "plan", Request("undo"))
        assert files(edited.root) == before
        assert left_over(edited) == []
        assert project.plan(Request("undo")).entries == expected
        project.close()
        if not stopped:
            break
    assert number > 15


def test_an_apply_cancelled_at_any_point_changes_nothing_and_the_next_one_works(
    edited: Bed,
) -> None:
    before = files(edited.root)
    number = 0
    while True:
        number += 1
        project = edited.project()
        plan = project.plan(Request("undo"))
        if not cancelled_at(project, number, "apply", plan):
            break
        assert files(edited.root) == before
        assert left_over(edited) == []
        assert project.operations() == ()
        project.close()
    assert number > 15
    after = files(edited.root)
    assert after["back"][0] == b"old\n" and "new" not in after and "sub/gone" in after
    assert after["merge"][0] == LINES.replace("line 15\n", "user\n").encode()
    assert [operation.kind for operation in edited.project().operations()] == ["undo"]


def test_a_cancelled_apply_can_be_done_again_with_the_same_plan(edited: Bed) -> None:
    project = edited.project()
    plan = project.plan(Request("undo"))
    assert cancelled_at(project, 5, "apply", plan)
    project.apply(plan)
    assert edited.read("back") == "old\n"


@pytest.mark.parametrize("phase", ["commit", "log"])
def test_nothing_is_cancelled_once_the_first_file_may_be_exchanged(
    edited: Bed, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    from takeback.engine.undo import apply as transaction
    from takeback.engine.undo import oplog

    project = edited.project()
    plan = project.plan(Request("undo"))
    cancel = project.cancel = Cancel()
    where = (transaction.Job, "forward") if phase == "commit" else (oplog, "append")
    real = getattr(*where)

    def late(*words: object) -> object:
        cancel.set()
        return real(*words)

    monkeypatch.setattr(*where, late)
    assert project.apply(plan).operation is not None
    assert cancel.wanted
    assert edited.read("back") == "old\n"
    project.cancel = None
    assert edited.plan("redo").writes


def test_a_turn_that_is_dead_is_closed_whole_before_the_next_chance_to_cancel(
    edited: Bed,
) -> None:
    agent = subprocess.Popen(["sleep", "600"])
    project = edited.project()
    project.record(Event("begin", "dead", project.root, pid=agent.pid))
    agent.kill()
    agent.wait()
    edited.write("made", "x\n")
    cancel = Cancel()
    cancel.set()
    with work.using(cancel, None):
        assert project.begin_command() == ["Turn 2 was closed: its process is gone."]
    turn = edited.project().sessions()[-1].turns[-1]
    assert (turn.state, [change.path for change in turn.changes]) == ("interrupted", [b"made"])


@pytest.mark.parametrize("call", ["sessions", "diff", "net_changes", "next_undo"])
def test_every_long_call_can_be_cancelled(edited: Bed, call: str) -> None:
    project = edited.project()
    changes = project.sessions()[0].turns[0].changes
    words = {"sessions": (True,), "diff": (changes,), "net_changes": (["1"],)}.get(call, ())
    assert cancelled_at(project, 1, call, *words)
    assert not cancelled_at(project, 0, call, *words)


def test_a_first_scan_with_many_files_is_cancelled_too(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    bed.turn(f="1\n")
    for number in range(300):
        bed.write(f"many/{number}", f"{number}\n")
    number = 0
    while True:
        number += 1
        project = bed.project()
        stopped = cancelled_at(project, number, "plan", Request("undo"))
        project.close()
        assert left_over(bed) == []
        if not stopped:
            break
    assert number > 10
    assert bed.do().target == "turn 1"
    assert len(files(bed.root)) == 300


def test_a_git_process_is_ended_when_it_is_cancelled(tmp_path: Path) -> None:
    """A process that would take for ever: the wait goes in slices and ends it."""
    process = subprocess.Popen(
        ["sleep", "600"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    cancel = Cancel()
    timer = threading.Timer(0.1, cancel.set)
    timer.start()
    with pytest.raises(Cancelled), work.using(cancel, None):
        git.finish(process, b"text")
    timer.join()
    assert process.returncode == -9


def test_the_output_of_a_process_that_is_waited_for_in_slices_is_whole() -> None:
    code = "for i in 1 2 3 4 5; do head -c 100000 /dev/zero; sleep 0.06; done; cat"
    process = subprocess.Popen(
        ["sh", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with work.using(Counting(), None):
        assert git.finish(process, b"x" * 300_000) == b"\0" * 500_000 + b"x" * 300_000


def test_a_long_first_answer_gets_the_rest_of_its_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Git may need long for its first answer; what it asks about is then still being written."""
    monkeypatch.setattr(git, "_answered", False)
    monkeypatch.setattr(git, "_FIRST_S", 0.1)
    monkeypatch.setattr(git, "answers", lambda: True)
    process = subprocess.Popen(
        ["sh", "-c", "sleep 0.3; cat"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert git.finish(process, b"x" * 300_000, timeout_s=20) == b"x" * 300_000


def test_the_answer_to_a_cancelled_question_is_not_taken_for_the_next(edited: Bed) -> None:
    """Some packed objects are read from one process that answers in order."""
    project = edited.project()
    assert project.store is not None
    objects = project.store.objects
    changes = project.sessions()[0].turns[0].changes
    first, second = changes[0].before.oid, changes[-1].before.oid
    assert first != second
    objects._read_by_git(first)
    asked = objects._batch
    assert asked is not None and asked.stdin is not None
    asked.stdin.write(first.encode() + b"\n")
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as silent, os.fdopen(writer, "wb"):
        cancel = Cancel()
        cancel.set()
        with pytest.raises(Cancelled), work.using(cancel, None):
            objects._answers(silent)
    assert asked.poll() is not None
    assert objects._read_by_git(second) == objects.read(second)
    project.close()


def test_a_wait_for_another_process_is_cancelled(edited: Bed) -> None:
    holder, waiter = edited.project(), edited.project()
    assert holder.store is not None
    with holder.store.lock:
        assert cancelled_at(waiter, 3, "plan", Request("undo"))
    assert waiter.plan(Request("undo")).target == "turn 1"


def test_progress_is_told_in_words_and_numbers(edited: Bed) -> None:
    said: list[tuple[str, int, int]] = []
    project = edited.project()
    project.progress = lambda what, done, total: said.append((what, done, total))
    plan: Plan = project.plan(Request("undo"))
    project.apply(plan)
    words = {what for what, _, _ in said}
    assert words >= {"Looking at files", "Planning", "Preparing files", "Writing files"}
    writes = [(done, total) for what, done, total in said if what == "Writing files"]
    assert writes == [(done, len(plan.writes)) for done in range(len(plan.writes) + 1)]
    assert all(done <= total or not total for _, done, total in said)


def test_another_thread_is_not_cancelled(edited: Bed) -> None:
    cancel = Cancel()
    cancel.set()
    met: list[str] = []

    def other() -> None:
        work.check()
        met.append("went on")

    with work.using(cancel, None):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with pytest.raises(Cancelled) as caught:
            work.check()
    work.check()
    assert met == ["went on"]
    assert (caught.value.message, caught.value.code) == (
        "Cancelled. Nothing was changed.",
        Exit.INTERRUPTED,
    )
