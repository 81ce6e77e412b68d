"""Going on in a conversation of Gemini CLI from an earlier prompt."""

from __future__ import annotations

import json
import os
import tempfile
from typing import TYPE_CHECKING, Any

from takeback.engine.agents.gemini import conversation, messages
from takeback.engine.agents.resume import CannotFork, Point, Way
from takeback.engine.agents.talk import Source

if TYPE_CHECKING:
    from takeback.engine.agents.programs import Programs

_TITLE = "Gemini CLI"
_LARGEST = 64 << 20
_ITSELF = "In Gemini CLI itself, /rewind goes back in the conversation."


def way(point: Point) -> Way:
    """See `takeback.engine.agents.resume`. Pure.

    `/rewind` goes back in the conversation; its restoring of files is not wanted here. An id is
    known in the folder only in which the conversation was begun.
    """
    argv = ("gemini", "--resume", point.session)
    return Way(
        _TITLE, argv, point.folder, "type /rewind, pick", ", and choose “Rewind conversation”"
    )


def fork(point: Point, run: Programs) -> Way:
    """See `takeback.engine.agents.resume`.

    Gemini CLI imports conversations from a file in the form of its own, in which a line says that
    it was gone back. It gets such a file of ours, and lists its extensions: it asks no model then.
    """
    source = _source(point)
    path, prompt, is_first = _prompt(source, point)
    if is_first:
        # Nothing comes before.
        return Way(_TITLE, ("gemini",), point.folder)
    with tempfile.TemporaryDirectory(prefix="takeback-") as folder:
        # By its name the copy is known later as one of this conversation.
        given = os.path.join(folder, f"{point.session}.jsonl")
        with open(given, "xb") as file:
            file.write(_held(path).rstrip(b"\n") + b"\n")
            file.write(json.dumps({"$rewindTo": prompt}).encode() + b"\n")
        run.run(("gemini", "--session-file", given, "--list-extensions"), point.folder)
        session = conversation.imported(source, given)
    if not session:
        raise CannotFork("Gemini CLI made no copy of the conversation.", _ITSELF)
    return Way(_TITLE, ("gemini", "--resume", session), point.folder)


def _source(point: Point) -> Source:
    for source in conversation.find(point.folder, point.home):
        if source.session == point.session and os.sep not in point.session:
            return source
    raise CannotFork(
        f"Gemini CLI's conversation {point.session!r} was not found. Nothing was done.",
        "gemini --list-sessions lists those that are left.",
    )


def _prompt(source: Source, point: Point) -> tuple[str, str, bool]:
    """The file and the message of a prompt, and whether no other prompt comes before it."""
    for path in conversation.chats(source)[:1]:
        if not path.endswith(".jsonl") or os.path.getsize(path) > _LARGEST:
            break
        live = _standing(path)
        prompts = [name for name in live if messages.is_typed(live[name])]
        said = [n for n, name in enumerate(prompts) if _is(live[name], point.prompt)]
        talk = conversation.read(source)
        turns = talk.turns if talk is not None else ()
        if point.index >= 0 and len(prompts) == sum(not turn.rewound for turn in turns):
            # The same words may stand elsewhere, too, or have been gone back from.
            said = [n for n in said if n == point.index]
        elif any(turn.rewound and turn.prompt.strip() == point.prompt.strip() for turn in turns):
            break
        if len(said) == 1:
            return path, prompts[said[0]], said[0] == 0
    raise CannotFork(
        "The prompt was not found in what Gemini CLI keeps of the conversation, or more than once. "
        "Nothing was done.",
        _ITSELF,
    )


def _is(record: dict[str, Any], prompt: str) -> bool:
    return messages.text_of(record).strip() == prompt.strip()


def _standing(path: str) -> dict[str, dict[str, Any]]:
    """The messages of a chat that Gemini CLI itself would go on from."""
    live: dict[str, dict[str, Any]] = {}
    for record in conversation.records(path):
        record = record if isinstance(record, dict) else {}
        rewind, name, change = record.get("$rewindTo"), record.get("id"), record.get("$set")
        if isinstance(rewind, str):
            names = list(live)
            for gone in names[names.index(rewind) :] if rewind in live else names:
                del live[gone]
            continue
        given: Any = [record] if isinstance(name, str) else record.get("messages")
        if isinstance(change, dict) and not isinstance(name, str):
            given = change.get("messages")
            if isinstance(given, list):
                live.clear()
        for one in given if isinstance(given, list) else ():
            if isinstance(one, dict) and isinstance(one.get("id"), str):
                live[one["id"]] = one
    return live


def _held(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise CannotFork(f"{path!r} cannot be read: {error.strerror}.", _ITSELF) from error
