"""A project whose agents report events, all in this process: for odd circumstances."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from takeback.engine import Project, Request
from takeback.engine.errors import NothingToDo
from takeback.engine.model import Change, Event, Plan, Turn
from takeback.engine.record.snapshot import list_tree
from takeback.engine.store.store import Store

LINES = "".join(f"line {n}\n" for n in range(1, 21))


def line(number: int, text: str, of: str = LINES) -> str:
    """Twenty lines, one of them replaced."""
    return of.replace(f"line {number}\n", f"{text}\n")


class Bed:
    """A project, its data folder, a home of its own, and what agents and a user do there."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.base = base
        self.root = base / "project"
        self.data = base / "data"
        self.home = base / "home"
        self.config = base / "config/config.toml"
        for folder in (self.root, self.home, self.config.parent):
            folder.mkdir()
        for name in [name for name in os.environ if name.startswith(("TAKEBACK_", "XDG_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(self.config.parent))
        self._calls = 0

    # --- The user --------------------------------------------------------------------------------

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, name: str) -> str | None:
        path = self.root / name
        return path.read_text() if path.exists() else None

    def plan(self, kind: str = "undo", **words: Any) -> Plan:
        return self.project().plan(Request(kind, **words))  # type: ignore[arg-type]

    def do(self, kind: str = "undo", **words: Any) -> Plan:
        """Plan and apply."""
        project = self.project()
        plan = project.plan(Request(kind, **words))  # type: ignore[arg-type]
        project.apply(plan)
        return plan

    # --- Agents ----------------------------------------------------------------------------------

    def project(self, root: Path | None = None) -> Project:
        return Project.open(str(root or self.root), str(self.data))

    def event(self, kind: str, session: str = "s", root: Path | None = None, **words: Any) -> None:
        folder = os.fsencode(root or self.root)
        self.project(root).record(Event(kind, session, folder, **words))  # type: ignore[arg-type]

    def begin(self, session: str = "s", **words: Any) -> None:
        self.event("begin", session, **words)

    def end(self, session: str = "s", **words: Any) -> None:
        self.event("end", session, **words)

    def tool_begin(self, call: str, *names: str, session: str = "s", **words: Any) -> None:
        """An edit call that names files begins, or without names a shell call."""
        kind = "edit" if names else "shell"
        paths = tuple(map(os.fsencode, names))
        words = {"tool": kind, "call_kind": kind, "paths": paths, **words}
        self.event("tool-begin", session, call=call, **words)

    def tool_end(self, call: str, *names: str, session: str = "s", **words: Any) -> None:
        kind = "edit" if names else None
        paths = tuple(map(os.fsencode, names))
        self.event("tool-end", session, call=call, **{"call_kind": kind, "paths": paths, **words})

    def edit(self, name: str, text: str, session: str = "s") -> None:
        """One edit call from its begin to its end."""
        self._calls += 1
        self.tool_begin(f"edit-{self._calls}", name, session=session)
        self.write(name, text)
        self.tool_end(f"edit-{self._calls}", session=session)

    @contextmanager
    def shell(self, session: str = "s") -> Iterator[None]:
        """One shell call around a block."""
        self._calls += 1
        name = f"shell-{self._calls}"
        self.tool_begin(name, session=session)
        yield
        self.tool_end(name, session=session)

    @contextmanager
    def turn(self, session: str = "s") -> Iterator[None]:
        self.begin(session)
        yield
        self.end(session)

    # --- What was recorded -----------------------------------------------------------------------

    def turns(self) -> list[Turn]:
        found = [turn for session in self.project().sessions() for turn in session.turns]
        return sorted(found, key=lambda turn: turn.n)

    def changes(self, at: int = -1) -> dict[str, Change]:
        """The changes of a turn, by default the newest."""
        return {os.fsdecode(change.path): change for change in self.turns()[at].changes}

    def evidence(self, at: int = -1) -> dict[str, str]:
        return {name: change.evidence for name, change in self.changes(at).items()}

    def missing(self, at: int = -1) -> dict[str, str]:
        """What a turn could not capture, and why."""
        return {os.fsdecode(item.path): item.reason for item in self.turns()[at].not_captured}

    def bytes_of(self, oid: str) -> str:
        return self.store().objects.read(oid).decode()

    def store(self) -> Store:
        store = self.project().store
        assert store is not None
        return store

    def store_file(self, pattern: str) -> Path:
        """The one file of the store that matches."""
        (found,) = self.data.glob(f"projects/*/{pattern}")
        return found


def shown(changes: dict[str, Change]) -> dict[str, tuple[str, str]]:
    """For each changed path what stood there before and after, by kind."""
    return {name: (change.before.kind, change.after.kind) for name, change in changes.items()}


def captured(bed: Bed) -> set[str]:
    """What the newest snapshot holds."""
    store = bed.store()
    trees = [str(record["tree"]) for record in store.lines("snapshots.jsonl")]
    return set(map(os.fsdecode, list_tree(store, trees[-1])))


def nothing_of_the_users_goes(bed: Bed, *names: str) -> None:
    """An undo that takes everything leaves these files as they are."""
    before = {name: bed.read(name) for name in names}
    try:
        bed.do(turn=str(bed.turns()[-1].n), selection="all", on_conflict="overwrite")
    except NothingToDo:
        pass
    assert {name: bed.read(name) for name in names} == before
    assert None not in before.values()
