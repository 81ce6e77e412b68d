"""Sessions made by hand, with times that never differ: for tests of rows and sentences.

    session(turn(9, step("I do it.", call("c1", "src/a.py"))), turn(8, ...))

Each path of a call becomes a change of the turn by that call, unless changes are given.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from takeback.engine.model import (
    ABSENT,
    Call,
    Change,
    Evidence,
    FileState,
    NotCaptured,
    Operation,
    PathChange,
    Segment,
    Session,
    Step,
    Turn,
)

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
DAY = 86_400 * SECOND
NOW = int(time.mktime((2026, 12, 1, 15, 0, 0, 0, 0, -1))) * SECOND
"""Three in the afternoon, wherever the tests run."""


def state(text: str | None) -> FileState:
    """A file that holds this text; None is no file."""
    if text is None:
        return ABSENT
    return FileState("file", 0o644, hashlib.sha1(text.encode()).hexdigest(), 1)


def change(
    path: str | bytes,
    *calls: str,
    before: str | None = "old\n",
    after: str | None = "new\n",
    evidence: Evidence = "tool-edit",
    plus: int | None = 1,
    minus: int | None = 1,
    undone: bool = False,
    **more: Any,
) -> Change:
    """What a turn did to a file, with one step for each of the calls."""
    raw = os.fsencode(path)
    texts = [before, *(f"{after}{number}" for number in range(1, len(calls))), after]
    states = [state(text) for text in texts]
    names = calls or ("",)
    segments = tuple(
        Segment(
            raw,
            states[at],
            states[at + 1] if at + 1 < len(names) else states[-1],
            evidence,
            f"{path!r}{at}{names}{texts}",
            (name,) if name else (),
            undone=undone,
            seq=at,
        )
        for at, name in enumerate(names)
    )
    return Change(
        raw, states[0], states[-1], evidence, calls, segments, undone, plus, minus, **more
    )


def call(
    name: str, *paths: str | bytes, tool: str = "", command: str = "", state: Any = "done"
) -> Call:
    """An edit of files, or with a command a call of the shell."""
    kind = "shell" if command else "edit"
    raw = tuple(map(os.fsencode, paths))
    number = int("".join(filter(str.isdigit, name)) or 0)
    return Call(name, tool or kind, kind, raw, command, state, NOW, NOW, number)


def step(text: str = "", *calls: Call, name: str = "") -> Step:
    return Step(name, text, NOW, NOW, None, None, True, calls, ())


def turn(
    n: int,
    *steps: Step,
    prompt: str = "",
    changes: Sequence[Change] | None = None,
    ago: int = 0,
    missed: Iterable[tuple[str, str]] = (),
    **more: Any,
) -> Turn:
    """A turn that began `ago` nanoseconds before `NOW`, its number of minutes later.

    Args:
        changes: by default one for each file that its edit calls name.
        missed: paths that were not captured, with the reason.
    """
    named = tuple(replace(s, id=s.id or f"t{n}.{at + 1}") for at, s in enumerate(steps))
    if changes is None:
        found: dict[bytes, list[str]] = {}
        for one in (c for s in named for c in s.calls if c.state != "running"):
            for path in one.paths:
                found.setdefault(path, []).append(one.id)
        changes = [change(path, *calls) for path, calls in found.items()]
    lost = tuple(NotCaptured(os.fsencode(path), reason) for path, reason in missed)
    begun = NOW - ago - 58 * MINUTE + n * MINUTE
    known = Turn(
        f"t{n}",
        n,
        "s",
        prompt or f"prompt {n}",
        "complete",
        begun,
        begun,
        None,
        None,
        True,
        lost,
        named,
        tuple(changes),
        undone=bool(changes) and all(one.undone for one in changes),
        seq=n,
    )
    return replace(known, **more)


def session(*turns: Turn, **more: Any) -> Session:
    """A session of these turns, given newest first as they are shown."""
    ordered = tuple(sorted(turns, key=lambda one: one.n))
    state: Any = "running" if any(one.state == "running" for one in turns) else "complete"
    known = Session("s", "claude", "", state, NOW, NOW, ordered)
    return replace(known, **more)


def undo(name: str, *turns: Turn, path: str = "", state: Any = "done", seq: int = 1) -> Operation:
    """An undo of these turns that wrote one file."""
    move = PathChange(os.fsencode(path or "a"), ABSENT, ABSENT)
    names = tuple(one.id for one in turns)
    return Operation(name, "undo", "s", "", NOW, (move,), "", "", state, targets=names, seq=seq)
