"""takeback's engine: record what agents do to files, and take it back.

The public API; everything else may change. See the README for an example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from takeback.engine.errors import (
        NothingToDo,
        ProjectChanged,
        SessionRunning,
        TakebackError,
        UsageError,
    )
    from takeback.engine.model import Change, Event, Operation, Outcome, Plan, Request, Turn
    from takeback.engine.project import Project

__all__ = [
    "Change",
    "Event",
    "NothingToDo",
    "Operation",
    "Outcome",
    "Plan",
    "Project",
    "ProjectChanged",
    "Request",
    "SessionRunning",
    "TakebackError",
    "Turn",
    "UsageError",
]

_ERRORS = {"NothingToDo", "ProjectChanged", "SessionRunning", "TakebackError", "UsageError"}


def __getattr__(name: str) -> object:
    # Loaded on demand: a hook imports this package and must stay light.
    if name not in __all__:
        raise AttributeError(name)
    import importlib

    module = "errors" if name in _ERRORS else "project" if name == "Project" else "model"
    return getattr(importlib.import_module(f"takeback.engine.{module}"), name)
