"""Going on in a conversation of OpenCode from an earlier prompt."""

from __future__ import annotations

import base64
import json
import re
import secrets
import sqlite3
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from takeback.engine.agents.opencode import conversation
from takeback.engine.agents.resume import CannotFork, Point, Way

if TYPE_CHECKING:
    from takeback.engine.agents.programs import Programs
    from takeback.engine.agents.talk import Source

_TITLE = "OpenCode"
_USER = "opencode"
_WAIT_S = 60.0
_LISTENS = re.compile(rb"listening on http://127\.0\.0\.1:([0-9]{1,5})")
_ITSELF = "In OpenCode itself, /fork copies a conversation up to a prompt."


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`. Pure.

    A fork, not its undo: that would put whole files back. It lists the prompts, and begins before
    the one that is chosen.
    """
    return Way(
        _TITLE, ("opencode", "--session", point.session), point.folder, "type /fork, and pick"
    )


def fork(point: Point, run: Programs) -> Way:
    """See `takeback.engine.agents.resume`.

    A server of OpenCode's own, for this one question and behind a password of its own, copies the
    conversation; it asks no model and touches no file. Plugins stay out of it.
    """
    from takeback.engine.agents.programs import lines

    message, is_first = _message(point)
    if is_first:
        # Nothing comes before.
        return Way(_TITLE, ("opencode",), point.folder)
    argv = ("opencode", "serve", "--pure", "--hostname", "127.0.0.1", "--port", "0")
    password = secrets.token_urlsafe(24)
    more = {"OPENCODE_SERVER_USERNAME": _USER, "OPENCODE_SERVER_PASSWORD": password}
    with run.started(argv, point.folder, more) as process:
        assert process.stdout is not None
        found = next(filter(None, map(_LISTENS.search, lines(process.stdout, _WAIT_S))), None)
        if found is None:
            raise CannotFork("OpenCode's server did not start. No copy was made.", _ITSELF)
        path = f"/session/{quote(point.session, safe='')}/fork"
        session = _ask(int(found[1]), path, password, {"messageID": message}).get("id")
    if not isinstance(session, str) or session in ("", point.session):
        raise CannotFork("OpenCode made no copy of the conversation.", _ITSELF)
    return Way(_TITLE, ("opencode", "--session", session), point.folder)


def _message(point: Point) -> tuple[str, bool]:
    """The message of a prompt, and whether it is the conversation's first."""
    source = _source(point)
    try:
        known = conversation.prompts(source)
    except (sqlite3.Error, OSError, ValueError) as error:
        raise CannotFork(f"OpenCode's database cannot be read: {error}.", _ITSELF) from error
    talk = conversation.read(source)
    turns = talk.turns if talk is not None else ()
    if not known and turns:
        raise CannotFork(
            "This conversation was held through OpenCode's newer interface, which makes no copies. "
            "Nothing was done.",
            "Without --fork the conversation itself is opened.",
        )
    same = [turn.key for turn in turns if turn.key == point.key and point.key in known]
    said = [turn.key for turn in turns if turn.prompt == point.prompt and turn.key in known]
    if not same and len(said) != 1:
        raise CannotFork(
            "The prompt was not found in OpenCode's session, or more than once. Nothing was done.",
            _ITSELF,
        )
    message = (same or said)[0]
    return message, message == known[0]


def _source(point: Point) -> Source:
    for source in conversation.find(point.folder, point.home):
        if source.session == point.session:
            return source
    raise CannotFork(
        f"OpenCode's session {point.session!r} was not found. Nothing was done.",
        "opencode session list shows those that are left.",
    )


def _ask(port: int, path: str, password: str, given: dict[str, str]) -> dict[str, Any]:
    """What the server answers.

    Raises:
        CannotFork: it refuses, or does not answer.
    """
    word = base64.b64encode(f"{_USER}:{password}".encode()).decode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(given).encode(),
        {"content-type": "application/json", "authorization": f"Basic {word}"},
        method="POST",
    )
    # A proxy of the user's has nothing to do with it.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=_WAIT_S) as answer:
            found = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        said = error.read(500).decode("utf-8", "replace")
        raise CannotFork(f"OpenCode made no copy ({error.code}): {said}", _ITSELF) from error
    except (OSError, ValueError, HTTPException, RecursionError) as error:
        raise CannotFork(f"OpenCode's server did not answer: {error}.", _ITSELF) from error
    return found if isinstance(found, dict) else {}
