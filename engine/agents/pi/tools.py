"""pi's tools: what they do, and which file they mean."""

from __future__ import annotations

import os

from takeback.engine.agents.payload import as_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from takeback.engine.facts import CallKind

EDITS = frozenset({"edit", "write"})
SHELLS = frozenset({"bash"})
READERS = frozenset({"find", "grep", "ls", "read"})
"""Tools that write nothing."""

BROKEN = frozenset({"aborted", "error"})
"""How an answer stopped that came to nothing."""

_SPACES = (
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_PLAIN = str.maketrans(dict.fromkeys(_SPACES, " "))


def call_kind(tool: str) -> CallKind | None:
    """What kind of call a tool makes; None for tools of extensions."""
    if tool in EDITS:
        return "edit"
    if tool in SHELLS:
        return "shell"
    return "other" if tool in READERS else None


def paths_of(given: Any) -> tuple[bytes, ...]:
    """The file that a call's input names, read as pi's tools do."""
    value = given.get("path") if isinstance(given, dict) else None
    if not isinstance(value, str):
        return ()
    path = value.removeprefix("@").translate(_PLAIN)
    if path == "~" or path.startswith("~/"):
        path = os.path.expanduser("~") + path[1:]
    return (as_path(path),) if path else ()


def text_of(content: Any) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = (
        [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    )
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
