"""A project to take things back in, for tests of undo and redo on real files."""

from __future__ import annotations

import os
from pathlib import Path

from takeback.engine import Project, Request
from takeback.engine.model import Change, Plan

LINES = "".join(f"line {n}\n" for n in range(1, 21))


def line_5(text: str) -> str:
    return LINES.replace("line 5\n", f"{text}\n")


class Bed:
    """A project with an agent that edits and a user who takes back."""

    def __init__(self, base: Path) -> None:
        self.root = base / "project"
        self.data = base / "data"
        self.config = base / "config/config.toml"
        self.root.mkdir()
        self.config.parent.mkdir()

    def project(self) -> Project:
        return Project.open(str(self.root), str(self.data))

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def read(self, name: str) -> str | None:
        path = self.root / name
        return path.read_text() if path.exists() else None

    def turn(self, **files: str) -> None:
        """A turn in which the agent's edit tool writes files."""
        with self.project().turn("s") as turn:
            for name, text in files.items():
                with turn.edit(name):
                    self.write(name, text)

    def plan(self, kind: str = "undo", **words: object) -> Plan:
        return self.project().plan(Request(kind, **words))  # type: ignore[arg-type]

    def do(self, kind: str = "undo", **words: object) -> Plan:
        """Plan and apply."""
        project = self.project()
        plan = project.plan(Request(kind, **words))  # type: ignore[arg-type]
        project.apply(plan)
        return plan

    def states(self) -> list[tuple[str, str]]:
        return [(op.kind, op.state) for op in self.project().operations()]

    def undone(self) -> dict[str, bool]:
        changes: list[Change] = [
            change
            for session in self.project().sessions()
            for turn in session.turns
            for change in turn.changes
        ]
        return {os.fsdecode(change.path): change.undone for change in changes}

    def store_file(self, name: str) -> Path:
        return next(self.data.glob(f"projects/*/{name}"))
