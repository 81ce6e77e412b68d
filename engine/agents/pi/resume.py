"""Going on in a conversation of pi from an earlier prompt."""

from __future__ import annotations

import json
import os
from typing import IO, TYPE_CHECKING, Any

from takeback.engine.agents.pi import conversation, tools
from takeback.engine.agents.resume import CannotFork, Point, Way

if TYPE_CHECKING:
    from takeback.engine.agents.programs import Programs

_TITLE = "pi"
_ITSELF = "In pi itself, /fork copies a conversation up to a prompt."


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`. Pure.

    A session of pi is a tree: what is left stays in it as a branch. By its id it is opened in the
    folder in which it was held only; elsewhere pi offers a copy.
    """
    argv = ("pi", "--session", point.session)
    return Way(_TITLE, argv, point.folder, "type /tree, pick", ", and choose “No summary”")


def fork(point: Point, run: Programs) -> Way:
    """See `takeback.engine.agents.resume`.

    pi copies, asked in its RPC mode; no model is. Its extensions stay out of it: ours would tell
    that the session, which may be open elsewhere, is over.
    """
    path = _file(point)
    entry, is_first = _entry(path, point)
    if is_first:
        # Nothing comes before: pi begins anew, and keeps no file of that.
        return Way(_TITLE, ("pi",), point.folder)
    argv = ("pi", "--mode", "rpc", "--no-extensions", "--session", path)
    with run.started(argv, point.folder) as process:
        assert process.stdin is not None and process.stdout is not None
        _ask(process.stdin, process.stdout, {"type": "fork", "entryId": entry})
        state = _ask(process.stdin, process.stdout, {"type": "get_state"})
    session, copy = state.get("sessionId"), state.get("sessionFile")
    if not isinstance(session, str) or session in ("", point.session) or not _is_file(copy):
        raise CannotFork("pi made no copy of the conversation.", _ITSELF)
    return Way(_TITLE, ("pi", "--session", session), point.folder)


def _file(point: Point) -> str:
    found = [
        source.place
        for source in conversation.find(point.folder, point.home)
        if source.session == point.session
    ]
    if not found:
        raise CannotFork(
            f"pi's session {point.session!r} was not found. Nothing was done.",
            "pi --resume lists the sessions that are left.",
        )
    return found[-1]


def _entry(path: str, point: Point) -> tuple[str, bool]:
    """The entry of a prompt, and whether no prompt comes before it."""
    parents: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for record in conversation.records(path):
        name, parent = record.get("id"), record.get("parentId")
        if not isinstance(name, str) or record.get("type") == "session":
            continue
        parents.setdefault(name, parent if isinstance(parent, str) else "")
        message = record.get("message")
        if isinstance(message, dict) and message.get("role") == "user":
            prompts.setdefault(name, tools.text_of(message.get("content")))
    # A turn is named by the entry before its prompt; a prompt that was tried again shares it.
    same = [name for name in prompts if point.key and (parents[name] or "first") == point.key]
    said = [name for name in same or prompts if prompts[name] == point.prompt]
    if not same and len(said) != 1:
        raise CannotFork(
            "The prompt was not found in pi's session, or more than once. Nothing was done.",
            _ITSELF,
        )
    entry = (said or same)[-1]
    at, seen = parents[entry], {entry}
    while at in parents and at not in prompts and at not in seen:
        seen.add(at)
        at = parents[at]
    return entry, not at


def _ask(given: IO[bytes], said: IO[bytes], command: dict[str, Any]) -> dict[str, Any]:
    """What pi answers to a command.

    Raises:
        CannotFork: it does not answer, or refuses.
    """
    name = str(command["type"])
    from takeback.engine.agents.programs import lines

    last = b""
    try:
        given.write(json.dumps({"id": name, **command}).encode() + b"\n")
        given.flush()
        for last in lines(said):
            try:
                found = json.loads(last)
            except (ValueError, RecursionError):
                continue
            if not isinstance(found, dict) or found.get("id") != name:
                continue
            data = found.get("data")
            data = data if isinstance(data, dict) else {}
            if found.get("success") is True and data.get("cancelled") is not True:
                return data
            raise CannotFork(
                f"pi made no copy: {str(found.get('error') or 'refused')[:200]}", _ITSELF
            )
    except OSError:
        # It has ended: as good as silent.
        pass
    words = last.decode("utf-8", "replace").strip()[:200]
    raise CannotFork(f"pi did not answer{': ' if words else ''}{words}.", _ITSELF)


def _is_file(path: Any) -> bool:
    return isinstance(path, str) and os.path.isfile(path)
