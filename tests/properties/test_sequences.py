"""Random histories of an agent, a user and takeback in one folder, over odd names and kinds."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from takeback.engine.errors import NothingToDo
from takeback.engine.model import Event, Outcome, Part, Request
from takeback.engine.project import Project
from takeback.engine.record.snapshot import list_tree
from takeback.engine.store.objects import object_id

NAMES = [
    b"a",
    b"b.txt",
    b"[red]x",
    b":(top)y",
    b" lead",
    b"trail ",
    b"new\nline",
    b"-rf",
    b"\xff\xfe",
    "caf\u00e9".encode(),
    "cafe\u0301".encode(),
    b"dir/in",
    b"dir/deep/er",
    b"d2/*",
]
CONTENTS = [b"", b"one\n", b"one\ntwo\nthree\n", b"one\r\ntwo\r\n", b"\0bin\0", b"x" * 3000]
MODES = [0o644, 0o755, 0o600, 0o444, 0o711]

State = dict[bytes, tuple[Any, ...]]


def capture(root: bytes) -> State:
    """Every file and link below a folder: kind, bytes, mode, time."""
    found: State = {}
    for folder, dirs, names in os.walk(root):
        for name in names + [d for d in dirs if os.path.islink(os.path.join(folder, d))]:
            full = os.path.join(folder, name)
            path = os.path.relpath(full, root)
            info = os.lstat(full)
            if stat.S_ISLNK(info.st_mode):
                found[path] = ("link", os.readlink(full))
            else:
                with open(full, "rb") as file:
                    found[path] = (
                        "file",
                        file.read(),
                        stat.S_IMODE(info.st_mode),
                        info.st_mtime_ns,
                    )
    return found


class Histories(RuleBasedStateMachine):
    """One project; rules are what agents, people and takeback do to it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = tempfile.mkdtemp(prefix="takeback-property-")
        self.root = os.fsencode(os.path.join(self.base, "project"))
        self.data = os.path.join(self.base, "data")
        os.mkdir(self.root)
        self.calls = 0
        self.open = False

    def teardown(self) -> None:
        subprocess.run(["chmod", "-R", "u+rwx", self.base], check=False)
        shutil.rmtree(self.base)

    def project(self) -> Project:
        return Project.open(self.root, self.data)

    def event(self, kind: Any, **fields: Any) -> None:
        project = self.project()
        project.record(Event(kind, "s", self.root, **fields))
        project.close()

    def put(self, name: bytes, data: bytes, mode: int) -> None:
        """Write a file as any program would; a folder in the way makes it do nothing."""
        path = os.path.join(self.root, name)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path) and not os.path.isdir(path):
                os.unlink(path)
            with open(path, "wb") as file:
                file.write(data)
            os.chmod(path, mode)
        except (IsADirectoryError, NotADirectoryError, FileExistsError):
            return

    def drop(self, name: bytes) -> None:
        path = os.path.join(self.root, name)
        if os.path.islink(path) or os.path.isfile(path):
            os.unlink(path)

    @initialize(git=st.booleans())
    def start(self, git: bool) -> None:
        if git:
            subprocess.run(["git", "init", "-q", self.root], check=True)
        self.put(b"a", b"base\n", 0o644)
        self.put(b"dir/in", b"one\ntwo\nthree\n", 0o600)

    @precondition(lambda self: not self.open)
    @rule()
    def turn_begins(self) -> None:
        self.event("begin")
        self.open = True

    @precondition(lambda self: self.open)
    @rule()
    def turn_ends(self) -> None:
        self.event("end")
        self.open = False

    @precondition(lambda self: self.open)
    @rule(name=st.sampled_from(NAMES), data=st.sampled_from(CONTENTS), mode=st.sampled_from(MODES))
    def agent_edits(self, name: bytes, data: bytes, mode: int) -> None:
        self.calls += 1
        call = f"c{self.calls}"
        self.event("tool-begin", call=call, tool="Edit", call_kind="edit", paths=(name,))
        self.put(name, data, mode)
        self.event("tool-end", call=call)

    @precondition(lambda self: self.open)
    @rule(
        writes=st.lists(
            st.tuples(
                st.sampled_from(NAMES),
                st.sampled_from([*CONTENTS, None, "link", "dir"]),
                st.sampled_from(MODES),
            ),
            min_size=1,
            max_size=4,
        )
    )
    def agent_runs_a_command(self, writes: list[tuple[bytes, Any, int]]) -> None:
        self.calls += 1
        call = f"c{self.calls}"
        self.event("tool-begin", call=call, tool="Bash", call_kind="shell", command="x")
        for name, what, mode in writes:
            if what is None:
                self.drop(name)
            elif what == "link":
                self.drop(name)
                path = os.path.join(self.root, name)
                if not os.path.lexists(path) and os.path.isdir(os.path.dirname(path)):
                    os.symlink(b"a", path)
            elif what == "dir":
                self.drop(name)
                self.put(name + b"/inner", b"inner\n", mode)
            else:
                self.put(name, what, mode)
        self.event("tool-end", call=call)

    @rule(name=st.sampled_from(NAMES), line=st.integers(0, 9), whole=st.booleans())
    def user_writes(self, name: bytes, line: int, whole: bool) -> None:
        path = os.path.join(self.root, name)
        old = b""
        if os.path.isfile(path) and not os.path.islink(path) and not whole:
            with open(path, "rb") as file:
                old = file.read()
        data = old + b"user %d\n" % line
        self.put(name, data, 0o644)

    @rule(name=st.sampled_from(NAMES))
    def user_removes(self, name: bytes) -> None:
        self.drop(name)

    def _apply(self, request: Request) -> Outcome | None:
        project = self.project()
        before = capture(self.root)
        try:
            outcome = project.apply(project.plan(request))
            self.nothing_is_lost(before, outcome)
            return outcome
        except NothingToDo:
            assert capture(self.root) == before
            return None
        finally:
            project.close()

    def nothing_is_lost(self, before: State, outcome: Outcome) -> None:
        """What stood in the project stands there still, or the safety tree holds it."""
        after = capture(self.root)
        held = list_tree(self.project().store, outcome.safety) if outcome.safety else {}
        listed = {entry.path for entry in outcome.plan.writes}
        for path, value in before.items():
            if after.get(path) != value:
                assert path in listed, f"{path!r} changed though the plan does not name it"
                assert held[path].oid == object_id("blob", value[1])

    @precondition(lambda self: not self.open)
    @rule(everything=st.booleans(), overwrite=st.booleans())
    def undo(self, everything: bool, overwrite: bool) -> None:
        self._apply(
            Request(
                "undo",
                selection="all" if everything else None,
                on_conflict="overwrite" if overwrite else "merge",
            )
        )

    @precondition(lambda self: not self.open)
    @rule(
        picks=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=4),
        everything=st.booleans(),
        overwrite=st.booleans(),
    )
    def undo_of_a_marked_set(
        self, picks: list[tuple[int, int]], everything: bool, overwrite: bool
    ) -> None:
        """Turns, and single files and calls of turns; a redo returns what it took."""
        project = self.project()
        turns = [turn for session in project.sessions() for turn in session.turns]
        project.close()
        if not turns:
            return
        parts = []
        for at, which in picks:
            turn = turns[at % len(turns)]
            if which % 3 == 1 and turn.changes:
                parts.append(Part(turn.id, turn.changes[which % len(turn.changes)].path))
            elif which % 3 == 2 and turn.calls:
                parts.append(Part(turn.id, call=turn.calls[which % len(turn.calls)].id))
            else:
                parts.append(Part(turn.id))
        before = capture(self.root)
        outcome = self._apply(
            Request(
                "undo",
                parts=tuple(parts),
                selection="all" if everything else None,
                on_conflict="overwrite" if overwrite else "merge",
            )
        )
        if outcome is not None and outcome.operation is not None:
            self._apply(Request("redo", op=outcome.operation, on_conflict="overwrite"))
        assert capture(self.root) == before

    @precondition(lambda self: not self.open)
    @rule()
    def redo(self) -> None:
        self._apply(Request("redo"))

    @precondition(lambda self: not self.open)
    @rule()
    def undo_then_redo_changes_nothing(self) -> None:
        before = capture(self.root)
        outcome = self._apply(Request("undo", selection="all", on_conflict="overwrite"))
        if outcome is None or outcome.operation is None:
            assert capture(self.root) == before
            return
        self._apply(Request("redo", on_conflict="overwrite"))
        assert capture(self.root) == before

    @invariant()
    def nothing_of_ours_is_left_in_the_project(self) -> None:
        assert not [n for n in os.listdir(self.root) if n.startswith(b".takeback-")]


TestHistories = Histories.TestCase
TestHistories.settings = settings(
    max_examples=60,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_undo_of_everything_then_redo_of_everything_is_the_identity(tmp_path: Path) -> None:
    machine = Histories()
    try:
        machine.start(git=True)
        for number in range(4):
            machine.turn_begins()
            machine.agent_edits(NAMES[number], b"edit %d\n" % number, 0o755)
            machine.agent_runs_a_command([(NAMES[-number], "dir", 0o644), (b"a", b"z\n", 0o600)])
            machine.turn_ends()
        machine.user_writes(b"dir/in", 1, False)
        before = capture(machine.root)
        count = 0
        while machine._apply(Request("undo", selection="all")) is not None:
            count += 1
            assert count < 10
        assert capture(machine.root)[b"a"][1] == b"base\n"
        while machine._apply(Request("redo")) is not None:
            count -= 1
        assert count == 0
        assert capture(machine.root) == before
    finally:
        machine.teardown()
