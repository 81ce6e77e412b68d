"""Going on in a conversation of Codex from an earlier prompt."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

from takeback.engine.agents.codex import conversation
from takeback.engine.agents.payload import as_map, as_text
from takeback.engine.agents.resume import CannotFork, Point, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from takeback.engine.agents.programs import Programs
    from takeback.engine.agents.talk import TalkTurn

_TITLE = "Codex"
_ITSELF = "In Codex itself, Esc pressed twice goes back to a prompt before."


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`. Pure.

    Pressed twice, Esc goes back to a prompt before.
    """
    argv = ("codex", "resume", point.session)
    return Way(_TITLE, argv, point.folder, "press Esc twice and pick")


def fork(point: Point, run: Programs) -> Way:
    """See `takeback.engine.agents.resume`.

    Codex's app server copies a thread up to a turn; it asks no model.
    """
    from takeback.engine.agents.programs import lines

    last = _turn_before(point)
    if not last:
        # Nothing comes before.
        return Way(_TITLE, ("codex",), point.folder)
    with run.started(("codex", "app-server"), point.folder) as process:
        assert process.stdin is not None and process.stdout is not None
        said = lines(process.stdout)
        client = {"name": "takeback", "title": "takeback", "version": "1"}
        _ask(process.stdin, said, 1, "initialize", {"clientInfo": client})
        _send(process.stdin, {"method": "initialized"})
        given = {"threadId": point.session, "lastTurnId": last, "excludeTurns": True}
        thread = as_map(_ask(process.stdin, said, 2, "thread/fork", given).get("thread"))
    session = as_text(thread.get("id"))
    if session in ("", point.session):
        raise CannotFork("Codex made no copy of the conversation.", _ITSELF)
    return Way(_TITLE, ("codex", "resume", session), point.folder)


def _turn_before(point: Point) -> str:
    """The id of the turn before a prompt, "" for the first prompt."""
    turns = _turns(point)
    same = [at for at, turn in enumerate(turns) if point.key and turn.key == point.key]
    said = [at for at, turn in enumerate(turns) if turn.prompt == point.prompt]
    if not same and len(said) != 1:
        raise CannotFork(
            "The prompt was not found in Codex's session, or more than once. Nothing was done.",
            _ITSELF,
        )
    at = (same or said)[0]
    if at and not turns[at - 1].key:
        raise CannotFork("Codex has no name for the turn before. Nothing was done.", _ITSELF)
    return turns[at - 1].key if at else ""


def _turns(point: Point) -> tuple[TalkTurn, ...]:
    """The turns of a conversation, without those that it went back to before."""
    for source in conversation.find(point.folder, point.home):
        if source.session == point.session:
            talk = conversation.read(source)
            return tuple(turn for turn in talk.turns if not turn.rewound) if talk else ()
    raise CannotFork(
        f"Codex's session {point.session!r} was not found. Nothing was done.",
        "codex resume lists those that are left.",
    )


def _send(given: IO[bytes], message: dict[str, Any]) -> None:
    """Say something to Codex.

    Raises:
        CannotFork: it does not listen.
    """
    try:
        given.write(json.dumps(message).encode() + b"\n")
        given.flush()
    except OSError as error:
        raise CannotFork("Codex ended before it made a copy.", _ITSELF) from error


def _ask(
    given: IO[bytes], said: Iterator[bytes], number: int, method: str, params: dict[str, Any]
) -> dict[str, Any]:
    """What Codex answers.

    Raises:
        CannotFork: it does not answer, or refuses.
    """
    _send(given, {"id": number, "method": method, "params": params})
    for line in said:
        try:
            found = as_map(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if found.get("id") != number or "method" in found:
            continue
        if "error" in found:
            reason = as_text(as_map(found["error"]).get("message"))[:200]
            raise CannotFork(f"Codex made no copy: {reason or 'refused'}.", _ITSELF)
        return as_map(found.get("result"))
    raise CannotFork("Codex did not answer. No copy was made.", _ITSELF)
