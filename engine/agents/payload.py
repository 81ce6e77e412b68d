"""Values out of the agents' JSON, of whatever type they are: never an error.

On the path of every hook: nothing is imported.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def as_text(value: Any) -> str:
    """A text, "" for anything else."""
    return value if isinstance(value, str) else ""


def as_map(value: Any) -> dict[str, Any]:
    """An object, an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_maps(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; what is none of them counts as an empty one."""
    return [as_map(item) for item in value] if isinstance(value, list) else []


def as_path(text: str) -> bytes:
    """A path as bytes; text that no file system holds gives a path that does not exist."""
    text = text.replace("\0", "\ufffd")
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
