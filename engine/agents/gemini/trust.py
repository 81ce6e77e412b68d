"""Whether Gemini CLI trusts a folder: where it does not, it runs no hook of any settings."""

from __future__ import annotations

import json
import os
from typing import Any

from takeback.engine.agents import jsontext
from takeback.engine.agents.files import read_file
from takeback.engine.agents.payload import as_map, as_path
from takeback.engine.errors import UsageError


def settings_of(path: bytes) -> dict[str, Any]:
    """A file of Gemini CLI's settings, with comments or without; empty where it is none."""
    try:
        text = (read_file(path) or b"{}").decode("utf-8-sig")
        return as_map(json.loads(jsontext.strict(text)))
    except (UsageError, ValueError, RecursionError):
        return {}


def is_distrusted(folder: bytes, own: bytes) -> bool:
    """Whether the user said that a folder, or one above it, is not to be trusted.

    Args:
        own: Gemini CLI's own folder of the user.
    """
    security = as_map(settings_of(os.path.join(own, b"settings.json")).get("security"))
    if as_map(security.get("folderTrust")).get("enabled") is False:
        return False
    named = os.environ.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH")
    path = os.fsencode(named) if named else os.path.join(own, b"trustedFolders.json")
    return _rule(settings_of(path), os.path.realpath(folder)) == "DO_NOT_TRUST"


def _rule(rules: dict[str, Any], folder: bytes) -> str:
    """What is said of a folder: the rule with the longest path counts."""
    found, longest = "", -1
    for text, trust in rules.items():
        if not isinstance(trust, str) or not text.startswith("/"):
            continue
        path = as_path(text)
        above = os.path.realpath(os.path.dirname(path) if trust == "TRUST_PARENT" else path)
        inside = folder == above or folder.startswith(os.path.join(above, b""))
        if inside and len(text) > longest:
            found, longest = trust, len(text)
    return found
