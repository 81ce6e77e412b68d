"""Where Codex keeps its settings, hooks and sessions."""

from __future__ import annotations

import os


def config_folder(home: bytes) -> bytes:
    """The user's folder of Codex, under the name that Codex itself uses in its settings."""
    own = os.environ.get("CODEX_HOME")
    return os.path.realpath(os.fsencode(own)) if own else os.path.join(home, b".codex")
