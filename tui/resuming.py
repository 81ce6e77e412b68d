"""How to go on in the conversation, in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from takeback.tui.text import first_line, quoted, safe

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way
    from takeback.engine.model import Turn

NO_WAY = (
    "The conversation was left as it is: it holds more than what was taken back, or its agent "
    "has no way back that takeback knows."
)


def then(way: Way) -> str:
    """What to do in the agent, "" for nothing."""
    if way.exact:
        return ""
    prompt = quoted(first_line(way.prompt, 40)) if way.prompt.strip() else "its prompt"
    return f"{way.then} {prompt}{way.last}"


def sentence(way: Way | None, here: bytes = b"") -> str:
    """One sentence with the exact command, "" where there is no way.

    Args:
        here: the folder in which the user is, b"" for the right one.
    """
    if way is None:
        return ""
    todo = then(way)
    if way.running and todo:
        return f"To go on in {way.title} from before it: {todo}."
    said = f"To go on in the conversation from before it: {safe(way.command(here))}"
    said = f"{said}, then {todo}" if todo else said
    return f"{said}, once {way.title} is closed there." if way.running else f"{said}."


def opening(way: Way) -> str:
    """What happens when the agent is started now, and what to do there."""
    todo = then(way)
    if todo:
        return f"Opening the conversation in {way.title}. There, {todo}."
    return f"Opening the conversation in {way.title} as it was before {_prompt(way)}."


def _prompt(way: Way) -> str:
    return quoted(first_line(way.prompt, 40)) if way.prompt.strip() else "that turn"


def lines(way: Way, here: bytes, forks: bool = False) -> list[str]:
    """The command alone on its line, and what it leads to.

    Args:
        forks: the agent could make a copy that ends there.
    """
    todo = then(way)
    said = [f"Then {todo}."] if todo else [f"It opens it as it was before {_prompt(way)}."]
    if todo and forks:
        said.append(f"With --fork, {way.title} makes a copy that ends there.")
    return [safe(way.command(here)), *said]


def at_work(way: Way) -> tuple[str, str]:
    """Why the agent is not started a second time, and what to do instead."""
    todo = then(way)
    left = f"There, {todo}." if todo else "Go on there, or end it first."
    return f"{way.title} is at work in this conversation. Nothing was started.", left


def none_known(turn: Turn) -> tuple[str, str]:
    """Why a conversation cannot be opened, and what to do instead."""
    name = f"Turn {turn.n}" if turn.n else "This turn"
    agent = f"by {safe(turn.agent)}" if turn.agent else "without an agent's name"
    return (
        f"{name} was recorded {agent}: takeback knows no way into its conversation. "
        "Nothing was started.",
        "Its files can be taken back with 'takeback undo'.",
    )
