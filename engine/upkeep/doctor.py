"""What is connected, protected, skipped or failing: one check each, and never an error.

Reads only: nothing is recovered, closed or cleaned up here, so that it shows what is there.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import TYPE_CHECKING, Any

from takeback.engine import config as settings
from takeback.engine.errors import TakebackError
from takeback.engine.record import codec, openturn
from takeback.engine.store import git, paths
from takeback.engine.store.store import FORMAT, Store, timestamp
from takeback.engine.timeline import events
from takeback.engine.undo import oplog
from takeback.engine.upkeep import storage as disk

if TYPE_CHECKING:
    from takeback.engine.config import Config
    from takeback.engine.model import FileState, NotCaptured

_LITTLE_SPACE = 512 << 20
_OLD_ERROR_NS = 7 * 86_400 * 10**9
_LONG_OPEN_NS = 600 * 10**9
_ERRORS = 20
_TAIL = 256 << 10
_SHOWN = 5
_GRAVE = frozenset({"fuse", "failed", "unreadable"})


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: what it is, whether it is well, one sentence, and what to do if not."""

    name: str
    ok: bool
    message: str
    fix: str = ""


Agents = Callable[[bytes], Iterable[tuple[str, bool, str, str]]]
"""Given a project's root (or a folder that is none): name, ok, message and fix for each agent."""


def doctor(folder: bytes, data: bytes, agents: Agents | None = None) -> list[Check]:
    """Look at everything that recording and undo depend on.

    Args:
        folder: any folder of the project.
        data: the data folder.
        agents: asks which agents are connected; the layer that knows them stands above this one.
    """
    found: list[Check] = []

    def look(name: str, check: Callable[[], Iterable[Check]]) -> None:
        try:
            found.extend(check())
        except TakebackError as error:
            found.append(Check(name, False, error.message, error.hint))
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            found.append(Check(name, False, f"This could not be checked ({said}).", "Report it."))

    config = settings.Config()
    place: paths.Root | None = None
    store: Store | None = None

    def project() -> Iterator[Check]:
        nonlocal config, place
        try:
            config = settings.load(None, data)
        finally:
            place = paths.find_root(folder, data, config.allow_root)
        yield from _project(place)
        config = settings.load(place.path, data)

    def opened() -> Iterator[Check]:
        nonlocal store
        assert place is not None
        store = Store.open(place.path, data)
        yield _store(store)

    look("git", _git)
    look("data folder", lambda: _data(data))
    look("free space", lambda: _space(data))
    look("project", project)
    look("settings", lambda: _settings(config))
    look("disk use", lambda: _use(data, config))
    if place is not None:
        look("store", opened)
    if store is not None:
        known = store
        look("records", lambda: _records(known))
        look("unfinished operation", lambda: _journal(known))
        look("open turns", lambda: _open_turns(known))
        look("capture", lambda: _capture(known, config))
        look("events", lambda: _events(known))
        known.close()
    look("open turns", lambda: _damaged_open(data))
    look("hooks", lambda: _hook_errors(data, store))
    if agents is not None:
        root = place.path if place is not None else folder
        look("agents", lambda: (Check(*entry) for entry in agents(root)))
    return found


def _git() -> Iterator[Check]:
    found = git.version()
    shown, least = (".".join(map(str, part)) for part in (found, git.MINIMUM))
    if found < git.MINIMUM:
        message = f"git {shown} is older than {least}, which is needed."
        yield Check("git", False, message, f"Install git {least} or newer.")
    else:
        yield Check("git", True, f"git {shown} was found.")


def _nearest(path: bytes) -> bytes:
    """The path itself or the first of its parents that exists."""
    return next((one for one in paths.ancestors(path) if os.path.lexists(one)), b"/")


def _data(data: bytes) -> Iterator[Check]:
    name, shown = "data folder", os.fsdecode(data)
    choose = "Choose another with --data-dir or TAKEBACK_DATA_DIR."
    there = _nearest(data)
    if not os.path.isdir(there):
        message = f"{os.fsdecode(there)!r} is no folder, so nothing can be recorded."
        yield Check(name, False, message, choose)
        return
    read_only = bool(os.statvfs(there).f_flag & os.ST_RDONLY)
    if read_only or not os.access(there, os.W_OK | os.X_OK):
        message = f"{os.fsdecode(there)!r} cannot be written, so nothing can be recorded."
        yield Check(name, False, message, f"Make it writable for you. {choose}")
    elif there != data:
        yield Check(name, True, f"{shown!r} does not exist yet; the first recording makes it.")
    elif (mode := stat.S_IMODE(os.stat(data).st_mode)) & 0o077:
        message = f"{shown!r} is open to other users (mode {mode:04o})."
        yield Check(name, False, message, f"chmod 700 {shlex.quote(shown)}")
    else:
        yield Check(name, True, f"{shown!r} is there, writable, and private.")


def _space(data: bytes) -> Iterator[Check]:
    st = os.statvfs(_nearest(data))
    free = st.f_bavail * st.f_frsize
    message = f"{free >> 20} MiB are free where the data folder is."
    fix = "Free some space: a snapshot that does not fit is not taken. 'takeback prune' helps."
    yield Check("free space", free >= _LITTLE_SPACE, message, fix)


def _project(place: paths.Root) -> Iterator[Check]:
    shown = os.fsdecode(place.path)
    if place.refused:
        message = f"Nothing is recorded here: {place.refused}."
        fix = "Work in a folder below it, or name it in the setting allow_root."
        yield Check("project", False, message, fix)
    else:
        kind = "a git repository" if place.git is not None else "a plain folder"
        yield Check("project", True, f"{shown!r} is {kind} that can be recorded.")


def _settings(config: Config) -> Iterator[Check]:
    for text in config.ignored:
        yield Check("settings", False, text, "See 'takeback config'.")
    if not config.ignored:
        yield Check("settings", True, "Every setting that is set holds.")


def _use(data: bytes, config: Config) -> Iterator[Check]:
    report = disk.storage(data, config)
    used, cap = report.size >> 20, report.cap >> 20
    message = f"All stores together use {used} MiB of at most {cap} MiB."
    fix = "Run 'takeback prune', or raise max_disk_mb_total."
    yield Check("disk use", report.size <= report.cap, message, fix)


def _store(store: Store | None) -> Check:
    if store is None:
        return Check("store", True, "Nothing was recorded in this project yet.")
    return Check("store", True, f"{os.fsdecode(store.dir)!r} has format {FORMAT}.")


def _records(store: Store) -> Iterator[Check]:
    damaged = list(events.read(store).damaged)
    oplog.read(store, damaged)
    if not damaged:
        yield Check("records", True, "Every line of the records can be read.")
        return
    files: dict[str, list[int]] = {}
    for name, line in damaged:
        files.setdefault(name, []).append(line)
    for name, lines in sorted(files.items()):
        where = ", ".join(str(line) for line in lines[:_SHOWN] if line)
        more = f", at {where}" + (" and more" if len(lines) > _SHOWN else "") if where else ""
        count = f"{len(lines)} line{'s' * (len(lines) > 1)}"
        yield Check(
            "records",
            False,
            f"{count} of {name} cannot be read{more}; the rest is used.",
            "Nothing must be done: what these lines said is lost, and their turns are marked "
            f"incomplete. The file is {os.fsdecode(store.path(name))!r}.",
        )


def _journal(store: Store) -> Iterator[Check]:
    from takeback.engine.undo import journal

    name = "unfinished operation"
    phase = journal.pending(store.dir)
    if phase is None:
        yield Check(name, True, "No operation was left half way.")
        return
    if phase != "stuck":
        message = f"An operation was killed or is under way (phase {phase!r})."
        yield Check(name, False, message, "Run 'takeback recover'.")
        return
    lost = []
    found = journal.load(store.dir)
    for target in found.targets if found is not None else ():
        now = _stands(os.path.join(store.root, target.path))
        if now not in (_what(target.expect), _what(target.want)):
            lost.append(os.fsdecode(target.path))
    shown = ", ".join(repr(path) for path in lost[:20]) or "none of them stands in the way any more"
    more = f" and {len(lost) - 20} more" if len(lost) > 20 else ""
    yield Check(
        name,
        False,
        f"An operation can be neither finished nor rolled back; changed since: {shown}{more}.",
        "Move these files away (what they held before the operation is in the store), then run "
        "'takeback recover'.",
    )


def _what(state: FileState) -> tuple[str, str]:
    return state.kind, state.oid


def _stands(path: bytes) -> tuple[str, str]:
    """Kind and blob id of what stands at a path now."""
    try:
        st = os.lstat(path)
        if stat.S_ISLNK(st.st_mode):
            target = os.readlink(path)
            return "link", sha1(b"blob %d\0" % len(target) + target).hexdigest()
        if not stat.S_ISREG(st.st_mode):
            return "other", ""
        digest = sha1(b"blob %d\0" % st.st_size)
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        return "file", digest.hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return "absent", ""
    except OSError:
        return "unknown", ""


def _open_turns(store: Store) -> Iterator[Check]:
    any_open = False
    for turn in openturn.of_project(store.data, store.root):
        any_open = True
        what = f"Turn {turn.n} of session {turn.session!r}"
        age = max(0, time.time_ns() - turn.last_ns)
        if turn.pid and openturn.is_gone(turn):
            message = f"{what} is open though its process is gone; the next command closes it."
            yield Check("open turns", True, message)
        elif turn.pid:
            yield Check("open turns", True, f"{what} is running (process {turn.pid}).")
        else:
            session = shlex.quote(turn.session)
            yield Check(
                "open turns",
                age < _LONG_OPEN_NS,
                f"{what} is open without a known process; its last event was {_age(age)} ago.",
                f"If it is over: takeback record end --session {session} --interrupted",
            )
    if not any_open:
        yield Check("open turns", True, "No turn is open in this project.")


def _age(ns: int) -> str:
    seconds = ns // 10**9
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            count = seconds // size
            return f"{count} {unit}{'s' * (count > 1)}"
    return f"{seconds} second{'s' * (seconds != 1)}"


def _damaged_open(data: bytes) -> Iterator[Check]:
    folder = os.path.join(data, b"open")
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if not name.endswith(b".json"):
            continue
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                openturn.parse(file.read())
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            message = f"{os.fsdecode(path)!r} is damaged, so its turn counts as interrupted."
            yield Check("open turns", False, message, "Delete that file.")


def _capture(store: Store, config: Config) -> Iterator[Check]:
    if not config.snapshots:
        message = "Snapshots are switched off: new changes cannot be taken back."
        yield Check("capture", False, message, "takeback config snapshots true")
        return
    turns = events.read(store).turns
    if not turns:
        yield Check("capture", True, "No turn was recorded yet.")
        return
    newest = turns[-1]
    record = newest.end or newest.begin
    missing = codec.unpack_missing(codec.get_list(store, record.get("nc", [])))
    why = str(record.get("why") or "")
    if not missing:
        yield Check("capture", True, f"The snapshot of turn {newest.n} left nothing out.")
    for reason in sorted({item.reason for item in missing}):
        items = [item for item in missing if item.reason == reason]
        yield _left_out(newest.n, reason, items, why)


def _left_out(turn: int, reason: str, items: Sequence[NotCaptured], why: str) -> Check:
    if reason in ("fuse", "failed"):
        message = why or "the whole project was left out."
        return Check(
            "capture",
            False,
            f"The snapshot of turn {turn} failed: {message}",
            "Only files that edit calls name are kept meanwhile; see 'takeback config' for limits.",
        )
    shown = ", ".join(repr(os.fsdecode(item.path)) for item in items[:_SHOWN])
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    fixes = {
        "too-large": "Raise max_file_size_mb to have it captured.",
        "unreadable": "Make it readable for you to have it captured.",
        "nested": "It is a repository of its own; record inside it.",
    }
    return Check(
        "capture",
        reason not in _GRAVE,
        f"Not captured since turn {turn} ({reason}): {shown}{more}.",
        fixes.get(reason, ""),
    )


def _events(store: Store) -> Iterator[Check]:
    """Turns that ended well though hooks of them did not come through: they were killed, say."""
    oldest = time.time_ns() - _OLD_ERROR_NS
    found = []
    for session in events.read(store).sessions:
        for turn in session.turns:
            if turn.begun_ns < oldest or turn.end is None or turn.end.get("interrupted"):
                continue
            # What goes on in the background has no end of its own; what was refused is ended.
            lost = [
                c for c in turn.calls if c.missing_begin or (c.kind == "edit" and not c.done_seq)
            ]
            # Before the first turn of a session takeback may not have been connected.
            if lost or (turn.missing_begin and turn is not session.turns[0]):
                found.append(turn.n)
    if found:
        shown = ", ".join(map(str, sorted(found)[-_SHOWN:]))
        yield Check(
            "events",
            False,
            f"Begins or ends did not arrive in turn {shown}: a hook was killed, or not called.",
            "What changed there is of unknown origin; 'takeback undo --all' takes it, too.",
        )
    else:
        yield Check("events", True, "No event of a turn of the last 7 days is missing.")


def _hook_errors(data: bytes, store: Store | None) -> Iterator[Check]:
    files = [os.path.join(data, b"errors.jsonl")]
    if store is not None:
        files.append(store.path("errors.jsonl"))
    counts: dict[str, list[Any]] = {}
    for path in files:
        for record in _last_records(path):
            at, text = _time_of(record), _text_of(record)
            if at and at < time.time_ns() - _OLD_ERROR_NS:
                continue
            entry = counts.setdefault(text, [0, 0, path])
            entry[0] += 1
            entry[1] = max(entry[1], at)
    for text, (count, at, path) in counts.items():
        times = "" if count == 1 else f" {count} times"
        when = f", last at {timestamp(at)}" if at else ""
        fix = f"Once it is settled, delete {os.fsdecode(path)!r}."
        yield Check("hooks", False, f"A hook failed{times}{when}: {text}", fix)
    if not counts:
        yield Check("hooks", True, "No hook failed in the last 7 days.")


def _last_records(path: bytes) -> list[dict[str, Any]]:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().split(b"\n")[-_ERRORS - 1 :]
    except (FileNotFoundError, NotADirectoryError):
        return []
    found = []
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            found.append(record)
    return found


def _time_of(record: dict[str, Any]) -> int:
    value = record.get("t", record.get("at"))
    return value if isinstance(value, int) and 0 < value < 1 << 63 else 0


def _text_of(record: dict[str, Any]) -> str:
    words = [str(record[key]) for key in ("agent", "event") if record.get(key)]
    said = next((record[k] for k in ("message", "error", "text") if record.get(k)), None)
    text = str(said) if said else json.dumps(record)
    return f"{' '.join(words)}: {text[:500]}" if words else text[:500]
