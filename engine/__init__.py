"""The engine: records what agents do to files, and takes it back. It knows no screen.

``from takeback.engine import Project, Request`` is the public interface; see
`takeback.engine.project`. Its names are loaded on first use, so that a hook, which needs only a
few modules below, does not pay for them.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from takeback.engine.errors import TakebackError
    from takeback.engine.model import Event, Part, Request
    from takeback.engine.project import Project

__all__ = ["Event", "Part", "Project", "Request", "TakebackError"]

_HOMES = {
    "Event": "model",
    "Part": "model",
    "Project": "project",
    "Request": "model",
    "TakebackError": "errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
