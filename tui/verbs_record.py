"""The recording verbs: what a script or an agent's adapter reports, event by event."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from takeback.engine.errors import Exit, UsageError
from takeback.engine.facts import Event
from takeback.engine.upkeep import recover
from takeback.tui import context

if TYPE_CHECKING:
    from takeback.engine.facts import CallKind, EventKind
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output

_KINDS: dict[str, EventKind] = {
    "begin": "begin",
    "tool-begin": "tool-begin",
    "tool-end": "tool-end",
    "step": "step",
    "end": "end",
}
_CALL_KINDS: dict[str, CallKind] = {"edit": "edit", "shell": "shell", "other": "other"}


def event(args: Arguments) -> Event:
    """The event that a ``record`` command line reports.

    Raises:
        UsageError: an empty id or a process id that is none.
    """
    for name in ("--session", "--call"):
        if name in args.values and not args.value(name):
            raise UsageError(f"The value of '{name}' is empty. Nothing was recorded.")
    text = context.texts(args, "--prompt", "--text", "--command")
    return Event(
        kind=_KINDS[args.verb.split()[1]],
        session=args.value("--session"),
        folder=context.folder(args),
        agent=args.value("--agent"),
        prompt=text["--prompt"],
        title=args.value("--title"),
        pid=_pid(args.value("--pid")),
        call=args.value("--call"),
        tool=args.value("--tool"),
        call_kind=_CALL_KINDS.get(args.value("--kind")),
        paths=tuple(os.fsencode(path) for path in args.all("--path")),
        command=text["--command"],
        failed=args.flag("--failed"),
        text=text["--text"],
        interrupted=args.flag("--interrupted"),
    )


def _pid(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**31):
        raise UsageError(
            f"{text!r} is no process id. Nothing was recorded.", "Give a number, such as $$."
        )
    return int(text)


def record(args: Arguments, out: Output) -> int:
    """Record one event; a begin prints the turn's id."""
    begun = recover.feed(event(args), context.data(args), 30.0, out.note)
    if begun is None:
        if out.json:
            out.document({})
        return Exit.DONE
    if begun.error:
        out.note(f"takeback: The turn's first snapshot failed: {begun.error}")
    if out.json:
        missing = [
            {"path": entry.path.decode("utf-8", "surrogateescape"), "reason": entry.reason}
            for entry in begun.not_captured
        ]
        out.document({"turn": begun.turn, "complete": begun.complete, "not_captured": missing})
    else:
        out.lines([begun.turn])
    return Exit.DONE
