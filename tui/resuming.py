"""How to go on in the conversation, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from takeback.tui.text import first_line, quoted, safe

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way


def sentence(way: Way | None) -> str:
    """One sentence with the exact command, "" where there is no way."""
    if way is None:
        return ""
    prompt = quoted(first_line(way.prompt, 40)) if way.prompt.strip() else "its prompt"
    if way.running:
        return f"To go on in {way.title} from before it: {way.then} {prompt}{way.last}."
    return (
        f"To go on in the conversation from before it: {safe(way.command)}, then {way.then} "
        f"{prompt}{way.last}."
    )
