"""What an agent is told about an undo or redo of its own changes: once, with the next prompt.

A note is kept for each session and operation until it was handed over. Who hands it over takes it
first, by its name, and removes it once the agent has it: a killed hook loses nothing, and two hooks
of one prompt never tell twice.
"""

from __future__ import annotations

import json
import os

from takeback.engine.record import codec, openturn
from takeback.engine.store import paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from takeback.engine.model import Plan
    from takeback.engine.store.store import Store

_NAMED = 20
_LONGEST_NAME = 200
_KEPT = 1000
_TAKEN = b".taken-"

_HEAD = "Note from takeback, the undo of the user of this session:"
_TAIL = (
    "The files on disk are as the user wants them now. Read them again before you edit them, and "
    "do not repeat or revert this unless you are asked to."
)


def folder_of(store_dir: bytes, session: str) -> bytes:
    """Where the notes for a session lie, in its project's store."""
    name = paths.key_of(session.encode("utf-8", "surrogateescape")).encode()
    return os.path.join(store_dir, b"tell", name)


# --- Keeping ----------------------------------------------------------------------------------


def keep(store: Store, plan: Plan, operation: str, agents: Iterable[str]) -> None:
    """Keep a note for each session whose turns an operation touched. Needs the store's lock.

    Args:
        agents: those that ask for their notes.

    Raises:
        OSError: it cannot be written.
    """
    from takeback.engine.store.store import make_private, write_file

    known = set(agents)
    for owner, (back, put) in _touched(plan).items():
        session, agent = _session(store, owner)
        if agent in known:
            folder = folder_of(store.dir, session)
            make_private(folder)
            note = {"back": back[:_KEPT], "put": put[:_KEPT]}
            path = os.path.join(folder, f"{operation}.json".encode())
            write_file(path, json.dumps(note).encode(), temp=store.temp)


def _owner(turn: str) -> str:
    """What the name of a turn says of its session."""
    return turn.rpartition("-")[2]


def _touched(plan: Plan) -> dict[str, tuple[list[str], list[str]]]:
    """The files that were written, taken back and put back, for each owner of turns whose changes
    went or came."""
    written = {entry.known_as: entry.path for entry in plan.writes}
    turns_of: dict[bytes, dict[str, None]] = {}
    back: dict[bytes, bool] = {}
    for goes, marks in ((True, plan.takes), (False, plan.gives)):
        for turn, path in marks:
            if path not in written:
                continue
            back.setdefault(path, goes)
            turns = turns_of.setdefault(path, {})
            if not turn.startswith("step "):
                turns[turn] = None
    groups: dict[str, tuple[list[str], list[str]]] = {}
    for path, turns in turns_of.items():
        # Where only steps of turns were meant, the turns themselves still stand.
        for owner in dict.fromkeys(map(_owner, turns or plan.targets)):
            lists = groups.setdefault(owner, ([], []))
            lists[0 if back[path] else 1].append(codec.text(written[path]))
    return groups


def _session(store: Store, owner: str) -> tuple[str, str]:
    """A session and its agent; empty where it is not known."""
    session = agent = ""
    for name in store.ledger_names():
        if owner and name.startswith(owner):
            for line in store.lines(f"ledger/{name}"):
                if line.get("e") == "session":
                    session = session or str(line.get("id", ""))
                agent = agent or str(line.get("agent", ""))
                if session and agent:
                    return session, agent
    return session, agent


# --- Handing over -----------------------------------------------------------------------------


def hand_over(folder: bytes, say: Callable[[str], bool], allowed: Callable[[], bool]) -> None:
    """Say what lies in a session's folder of notes, and remove it then.

    Args:
        say: gives the text to the agent, if it can; else, and where it fails, the notes stay.
        allowed: whether the user wants agents to be told; else the notes are dropped.
    """
    taken = _take(folder)
    if not taken:
        return
    told = False
    try:
        text = words(_load(path) for path in taken) if allowed() else ""
        told = not text or say(text)
    finally:
        for path in taken:
            if told:
                os.unlink(path)
            else:
                os.rename(path, path.partition(_TAKEN)[0])
    try:
        os.rmdir(folder)
    except OSError:
        # Another note came meanwhile.
        return


def _take(folder: bytes) -> list[bytes]:
    """Make the notes ours, by the order of their operations; those of a dead hook, too."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    mine = b"%s%d-%s" % (_TAKEN, os.getpid(), openturn.process_start(os.getpid()).encode())
    found = []
    for name in sorted(names, key=_number):
        plain, taken, owner = name.partition(_TAKEN)
        if not plain.endswith(b".json") or (taken and not _is_dead(owner)):
            continue
        path = os.path.join(folder, plain + mine)
        try:
            os.rename(os.path.join(folder, name), path)
        except OSError:
            # Another hook was first.
            continue
        found.append(path)
    return found


def _number(name: bytes) -> tuple[int, bytes]:
    digits = name.partition(b".")[0].removeprefix(b"op")
    return (int(digits) if digits.isdigit() else 0, name)


def _is_dead(owner: bytes) -> bool:
    pid, _, start = owner.partition(b"-")
    return not pid.isdigit() or openturn.process_start(int(pid)) != start.decode("ascii", "replace")


def _load(path: bytes) -> Any:
    try:
        with open(path, "rb") as file:
            return json.loads(file.read())
    except (ValueError, RecursionError):
        return None


# --- Words ------------------------------------------------------------------------------------


def words(notes: Iterable[Any]) -> str:
    """What the agent is told of some operations, oldest first; "" where they came to nothing."""
    state: dict[str, bool] = {}
    for note in notes:
        for key, goes in (("back", True), ("put", False)):
            names = note.get(key) if isinstance(note, dict) else None
            for name in names if isinstance(names, list) else ():
                if not isinstance(name, str):
                    continue
                if state.get(name, goes) is not goes:
                    # Taken back and put back: as the agent left it.
                    del state[name]
                else:
                    state[name] = goes
    back = [name for name, goes in state.items() if goes]
    put = [name for name, goes in state.items() if not goes]
    said = []
    if back:
        said.append(f"The user took back changes of yours to {_listed(back)}.")
    if put:
        said.append(f"The user put changes of yours back to {_listed(put)}.")
    return " ".join([_HEAD, *said, _TAIL]) if said else ""


def _listed(names: list[str]) -> str:
    shown = [_shown(name) for name in names[:_NAMED]]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(shown) + more


def _shown(name: str) -> str:
    """A file's name in quotation marks, with nothing in it that could be taken for more than that:
    names come from anywhere."""
    plain = "".join(
        char if char.isprintable() and char not in '"\\' else _escaped(char)
        for char in name[:_LONGEST_NAME]
    )
    return f'"{plain}{"…" if len(name) > _LONGEST_NAME else ""}"'


def _escaped(char: str) -> str:
    code = ord(char)
    if char in '"\\':
        return "\\" + char
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
