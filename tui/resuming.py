"""How to go on in the conversation, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from takeback.tui.text import first_line, quoted, safe

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way


def sentence(way: Way | None, here: bytes = b"") -> str:
    """One sentence with the exact command, "" where there is no way.

    Args:
        here: the folder in which the user is, b"" for the right one.
    """
    if way is None:
        return ""
    prompt = quoted(first_line(way.prompt, 40)) if way.prompt.strip() else "its prompt"
    if way.running:
        return f"To go on in {way.title} from before it: {way.then} {prompt}{way.last}."
    command = f"To go on in the conversation from before it: {safe(way.command(here))}"
    return f"{command}." if way.exact else f"{command}, then {way.then} {prompt}{way.last}."
