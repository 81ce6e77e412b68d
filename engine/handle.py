"""Recording a turn from a program: calls as blocks, see `Project.turn`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from takeback.engine.model import Event

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.engine.record.recorder import Begun


class TurnHandle:
    """A turn that is being recorded; from `Project.turn`."""

    def __init__(self, project: Project, session: str, begun: Begun) -> None:
        self._project = project
        self._session = session
        self._count = 0
        self.id = begun.turn
        self.n = begun.n
        self.complete = begun.complete
        self.not_captured = begun.not_captured

    @contextmanager
    def edit(self, *names: str | bytes) -> Iterator[None]:
        """An edit call around a block that writes exactly these files."""
        wanted = tuple(os.fsencode(name) for name in names)
        with self._call(tool="edit", call_kind="edit", paths=wanted):
            yield

    @contextmanager
    def shell(self, command: str = "") -> Iterator[None]:
        """A call around a block that may write anything."""
        with self._call(tool="shell", call_kind="shell", command=command):
            yield

    @contextmanager
    def _call(self, **fields: Any) -> Iterator[None]:
        self._count += 1
        name = f"{self.id}-{self._count}"
        folder = self._project.folder
        self._project.record(Event("tool-begin", self._session, folder, call=name, **fields))
        failed = True
        try:
            yield
            failed = False
        finally:
            self._project.record(Event("tool-end", self._session, folder, call=name, failed=failed))

    def step(self, text: str = "") -> None:
        """A model answer within the turn is complete."""
        self._project.record(Event("step", self._session, self._project.folder, text=text))
