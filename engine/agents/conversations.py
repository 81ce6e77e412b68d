"""What agents' own files tell of a project, joined with what was recorded. Reads only.

A recorded turn and a turn of a conversation are the same where they share a call, the agent's own
id, or, in their order, the prompt. Of conversations that were held before takeback recorded here,
nothing can be taken back: their turns are marked so.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import accumulate
from typing import Protocol, cast

from takeback.engine.agents import hook
from takeback.engine.agents.talk import Source, Talk, TalkCall, TalkTurn
from takeback.engine.model import Call, Session, Step, Turn
from takeback.engine.store import paths
from takeback.engine.work import watched

_BUDGET = 48 << 20
"""So many bytes are read anew in one look, the newest conversations first; about a second."""

_IN_A_DATABASE = 256 << 10
_MOST = 200
"""So many conversations that were not recorded are read, the newest ones; they stay in memory."""

_KEPT = 2000
_APART_NS = 600 * 1_000_000_000


@dataclass(frozen=True, slots=True)
class Conversations:
    """Sessions with what was said in them.

    Attributes:
        sessions: what was recorded, oldest first, with texts that no hook gave.
        past: conversations of this project that were never recorded, oldest first.
        unread: older ones that were not looked at yet.
        failed: agents whose files are so odd that they could not be read.
    """

    sessions: tuple[Session, ...]
    past: tuple[Session, ...] = ()
    unread: int = 0
    failed: tuple[str, ...] = ()


class Reader(Protocol):
    """An agent's module ``conversation``."""

    def find(self, root: bytes, home: bytes) -> list[Source]:
        """The conversations held in a project, without reading all of them."""

    def read(self, source: Source) -> Talk | None:
        """A whole conversation; None where it is gone."""


_lock = threading.Lock()
_talks: dict[tuple[str, str, str], tuple[tuple[int, ...], Talk | None]] = {}
_pasts: dict[tuple[str, str], tuple[Talk, bytes, Session]] = {}


def home_folder() -> bytes:
    """Where agents keep their files."""
    return os.fsencode(os.path.expanduser("~"))


def gather(
    sessions: Sequence[Session],
    root: bytes,
    home: bytes,
    belongs: Callable[[bytes], bool] = lambda folder: True,
) -> Conversations:
    """Join what was recorded with what the agents' own files tell.

    Args:
        sessions: as recorded, oldest first.
        belongs: whether a folder below the root is of this project, not of one within it.
    """
    with _lock:
        talks, unread, failed = _read_all(sessions, root, home)
    by_session = {(talk.agent, talk.session): talk for talk in talks}
    recorded = {session.id for session in sessions}
    joined, past = [], []
    for session in sessions:
        talk = by_session.get((session.agent, session.id))
        if talk is None:
            joined.append(session)
            continue
        pairs = _pairs(session.turns, talk.turns)
        joined.append(_told(session, talk, pairs))
        before = _before(session, talk, pairs)
        if talk.parent in recorded:
            before = _not_copied(before, by_session.get((talk.agent, talk.parent)))
        if before:
            past.append(_past(replace(talk, turns=before), root))
    begun = {session.id: session.begun_ns for session in sessions}
    known: dict[bytes, bool] = {}
    for talk in talks:
        if talk.session in recorded or not talk.turns:
            continue
        if talk.folder not in known:
            known[talk.folder] = belongs(talk.folder)
        if not known[talk.folder]:
            continue
        if talk.parent in recorded and talk.turns[0].begun_ns >= begun[talk.parent]:
            # A subagent's: what it did is recorded with its parent.
            continue
        if talk.parent in recorded:
            # A copy of a recorded conversation that nobody has gone on with.
            own = _not_copied(talk.turns, by_session.get((talk.agent, talk.parent)))
            if not own:
                continue
            talk = replace(talk, turns=own)
        past.append(_past(talk, root))
    past.sort(key=lambda session: session.begun_ns)
    return Conversations(tuple(joined), tuple(past), unread, failed)


def told(session: Session, root: bytes, home: bytes) -> Session:
    """One recorded session with what its agent's own files tell; as it is where they do not."""
    for agent, reader in readers():
        if agent != session.agent:
            continue
        try:
            found = [source for source in reader.find(root, home) if source.session == session.id]
            found.sort(key=lambda source: source.stamp[:1])
            talk = reader.read(found[-1]) if found and _cost(found[-1]) <= _BUDGET else None
            if talk is not None:
                return _told(session, talk, _pairs(session.turns, talk.turns))
        except Exception:
            # As in a look at all of them: files of others may hold anything.
            return session
    return session


# --- Reading ----------------------------------------------------------------------------------


def readers() -> Iterator[tuple[str, Reader]]:
    """Each agent that has conversations, and what reads them."""
    for agent in hook.AGENTS:
        name = f"takeback.engine.agents.{agent}.conversation"
        try:
            yield agent, cast(Reader, import_module(name))
        except ModuleNotFoundError as error:
            if error.name != name:
                raise


def _read_all(
    sessions: Sequence[Session], root: bytes, home: bytes
) -> tuple[list[Talk], int, tuple[str, ...]]:
    """Every conversation of the project that can be read within the bound."""
    recorded = {(session.agent, session.id) for session in sessions}
    found: list[tuple[Reader, Source]] = []
    failed: dict[str, None] = {}
    for agent, reader in readers():
        try:
            found += [(reader, source) for source in reader.find(root, home)]
        except Exception:
            # Files of others may hold anything: the record itself must be shown all the same.
            failed[agent] = None
    # What was recorded first, then the newest: the bound cuts off what is the least missed.
    found.sort(key=lambda item: item[1].stamp[:1], reverse=True)
    found.sort(key=lambda item: (item[1].agent, item[1].session) not in recorded)
    talks: list[Talk] = []
    most = _MOST + sum((source.agent, source.session) in recorded for _, source in found)
    left, unread = _BUDGET, max(0, len(found) - most)
    for reader, source in watched("Reading conversations", found[:most]):
        name = (source.agent, source.session, source.place)
        known = _talks.get(name)
        if known is None or known[0] != source.stamp:
            cost = 0 if known is not None else _cost(source)
            if cost > left and left < _BUDGET:
                unread += 1
                continue
            left -= cost
            try:
                known = (source.stamp, reader.read(source))
            except Exception:
                failed[source.agent] = None
                known = (source.stamp, None)
            _talks[name] = known
            while len(_talks) > _KEPT:
                _talks.pop(next(iter(_talks)))
        if known[1] is not None:
            talks.append(known[1])
    return talks, unread, tuple(failed)


def _cost(source: Source) -> int:
    if not source.place.endswith((".jsonl", ".json")):
        return _IN_A_DATABASE
    try:
        return os.stat(source.place).st_size
    except (OSError, ValueError):
        return 0


# --- Joining ----------------------------------------------------------------------------------


def _pairs(turns: Sequence[Turn], told: Sequence[TalkTurn]) -> dict[str, int]:
    """For each recorded turn that is found in a conversation its place there."""
    calls = {call.id: at for at, turn in enumerate(told) for call in _calls(turn)}
    keys = {turn.key: at for at, turn in enumerate(told) if turn.key}
    found: dict[str, int] = {}
    for turn in turns:
        shared = [calls[call.id] for call in turn.calls if call.id in calls]
        if shared:
            found[turn.id] = shared[0]
        elif turn.key in keys:
            found[turn.id] = keys[turn.key]
    taken = set(found.values())
    end = len(told)
    for turn in reversed(turns):
        if turn.id in found:
            end = found[turn.id]
            continue
        for at in range(end - 1, -1, -1):
            if at not in taken and _same_prompt(turn, told[at]):
                found[turn.id] = end = at
                break
    return found


def _same_prompt(turn: Turn, told: TalkTurn) -> bool:
    if not turn.prompt.strip() or _plain(turn.prompt) != _plain(told.prompt):
        return False
    known = turn.begun_ns and told.begun_ns
    return not known or abs(turn.begun_ns - told.begun_ns) < _APART_NS


def _plain(prompt: str) -> str:
    """A prompt as it was meant: some agents keep the quotes of the command line."""
    prompt = prompt.strip()
    return prompt[1:-1] if len(prompt) > 1 and prompt[0] == prompt[-1] == '"' else prompt


def _calls(turn: TalkTurn) -> Iterator[TalkCall]:
    for step in turn.steps:
        yield from step.calls


def _told(session: Session, talk: Talk, pairs: dict[str, int]) -> Session:
    """A recorded session with what no hook told."""
    earlier = _earlier(talk)
    turns = tuple(
        _told_turn(turn, talk.turns[pairs[turn.id]], talk.folder, earlier[pairs[turn.id]])
        if turn.id in pairs
        else replace(turn, folder=talk.folder)
        for turn in session.turns
    )
    first = session.turns[0].prompt.strip().split("\n")[0] if session.turns else ""
    title = session.title
    if talk.title.strip() and title in ("", first):
        title = talk.title.strip().split("\n")[0]
    return replace(session, title=title, turns=turns)


def _earlier(talk: Talk) -> list[int]:
    """For each prompt how many come before, without those that the conversation went back from."""
    return list(accumulate((not turn.rewound for turn in talk.turns), initial=0))


def _told_turn(turn: Turn, told: TalkTurn, folder: bytes, earlier: int) -> Turn:
    return replace(
        turn,
        prompt=turn.prompt or told.prompt,
        key=turn.key or told.key,
        folder=folder,
        earlier=earlier,
        steps=_told_steps(turn.steps, told),
        notes=(*turn.notes, *_notes(told)),
    )


def _notes(told: TalkTurn) -> tuple[str, ...]:
    return ("the conversation went back to before it",) if told.rewound else ()


def _told_steps(steps: Sequence[Step], told: TalkTurn) -> tuple[Step, ...]:
    """Steps with their texts: those that share a call are the same, and between two such pairs as
    many as there are on the other side."""
    at_call = {call.id: at for at, step in enumerate(told.steps) for call in step.calls}
    texts: dict[int, str] = {}
    begin = (0, 0)
    for at in range(len(steps) + 1):
        calls = steps[at].calls if at < len(steps) else ()
        there = next((at_call[call.id] for call in calls if call.id in at_call), -1)
        if at == len(steps):
            there = len(told.steps)
        if there < begin[1]:
            continue
        if at - begin[0] == there - begin[1]:
            texts.update(
                (begin[0] + more, told.steps[begin[1] + more].text) for more in range(at - begin[0])
            )
        if at < len(steps):
            texts[at] = told.steps[there].text
        begin = (at + 1, there + 1)
    return tuple(
        replace(step, text=step.text or texts.get(at, "")) for at, step in enumerate(steps)
    )


# --- Before takeback --------------------------------------------------------------------------


def _before(session: Session, talk: Talk, pairs: dict[str, int]) -> tuple[TalkTurn, ...]:
    """The turns of a recorded session's conversation from before anything of it was recorded."""
    first = min(pairs.values(), default=-1)
    if first < 0:
        return tuple(turn for turn in talk.turns if 0 < turn.ended_ns < session.begun_ns)
    return talk.turns[:first]


def _not_copied(turns: tuple[TalkTurn, ...], parent: Talk | None) -> tuple[TalkTurn, ...]:
    """The turns of a fork but for those that it began with: they are its parent's."""
    theirs = parent.turns if parent is not None else ()
    keys = {turn.key for turn in theirs if turn.key}
    said = {(turn.prompt, turn.begun_ns) for turn in theirs}
    return tuple(
        turn for turn in turns if turn.key not in keys and (turn.prompt, turn.begun_ns) not in said
    )


def _past(talk: Talk, root: bytes) -> Session:
    """A conversation of which nothing was recorded, as a session; made once."""
    name = (talk.agent, talk.session)
    known = _pasts.get(name)
    if known is None or known[0] is not talk or known[1] != root:
        known = _pasts[name] = (talk, root, _past_session(talk, root))
        while len(_pasts) > _KEPT:
            _pasts.pop(next(iter(_pasts)))
    return known[2]


def _past_session(talk: Talk, root: bytes) -> Session:
    earlier = _earlier(talk)
    turns = tuple(
        _past_turn(talk, at, turn, root, earlier[at]) for at, turn in enumerate(talk.turns)
    )
    title = talk.title or next((turn.prompt for turn in turns if turn.prompt), "")
    return Session(
        talk.session,
        talk.agent,
        title.strip().split("\n")[0],
        turns[-1].state,
        turns[0].begun_ns,
        max(turn.ended_ns for turn in turns),
        turns,
    )


def _past_turn(talk: Talk, at: int, turn: TalkTurn, root: bytes, earlier: int) -> Turn:
    name = f"past:{talk.agent}:{talk.session}:{at + 1}"
    number = 0
    steps = []
    for step_at, step in enumerate(turn.steps):
        calls = []
        for call in step.calls:
            number += 1
            calls.append(_past_call(talk, call, number, root))
        made = Step(
            f"{name}.{step_at + 1}", step.text, step.at_ns, 0, None, None, False, tuple(calls), ()
        )
        steps.append(made)
    return Turn(
        name,
        0,
        talk.session,
        turn.prompt,
        "interrupted" if turn.interrupted else "complete",
        turn.begun_ns,
        turn.ended_ns or turn.begun_ns,
        None,
        None,
        False,
        (),
        tuple(steps),
        (),
        notes=_notes(turn),
        last_event_ns=turn.ended_ns or turn.begun_ns,
        recorded=False,
        key=turn.key,
        agent=talk.agent,
        folder=talk.folder,
        earlier=earlier,
    )


def _past_call(talk: Talk, call: TalkCall, number: int, root: bytes) -> Call:
    found = []
    for path in call.paths:
        # No file has such a name, and the system's calls would refuse it.
        path = path.replace(b"\0", b"?")
        folder = talk.folder.replace(b"\0", b"?") or root
        inside = paths.relative(root, path, folder)
        found.append(inside if inside else os.path.normpath(os.path.join(folder, path)))
    state = "lost" if call.state == "running" else call.state
    return Call(
        call.id,
        call.tool,
        call.kind or "shell",
        tuple(found),
        call.command,
        state,
        call.at_ns,
        0,
        number,
    )
