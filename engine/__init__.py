"""The engine: records what agents do to files, and takes it back. It knows no screen.

``from takeback.engine import Project, Request`` is the public interface; see
`takeback.engine.project`. Its names are loaded on first use, so that a hook, which needs only a
few modules below, does not pay for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from takeback.engine.errors import TakebackError
    from takeback.engine.model import Event, Request
    from takeback.engine.project import Project

__all__ = ["Event", "Project", "Request", "TakebackError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from takeback.engine import errors, model, project

    return {
        "Event": model.Event,
        "Project": project.Project,
        "Request": model.Request,
        "TakebackError": errors.TakebackError,
    }[name]
