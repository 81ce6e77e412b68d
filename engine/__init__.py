"""The engine: records what agents do to files, and takes it back. It knows no screen.

``from takeback.engine import Project`` is the public interface; see `takeback.engine.project`. It
is loaded on first use, so that a hook, which needs only a few modules below, does not pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from takeback.engine.project import Project

__all__ = ["Project"]


def __getattr__(name: str) -> Any:
    if name == "Project":
        from takeback.engine.project import Project

        return Project
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
