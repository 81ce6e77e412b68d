"""Checking everything that is kept: each object is read and hashed, each list, and who needs it.

No lock is taken: objects never change, and what a line names was on the disk before the line. What
is held in memory is the set of ids that were seen, never the objects themselves.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from typing import TYPE_CHECKING

from takeback.engine import work
from takeback.engine.errors import TakebackError
from takeback.engine.model import EMPTY_TREE
from takeback.engine.store.objects import StoreError, parse_tree
from takeback.engine.timeline import events
from takeback.engine.undo import oplog
from takeback.engine.upkeep import loose

if TYPE_CHECKING:
    from takeback.engine.model import FileState, Operation
    from takeback.engine.store.store import Store

_OID = re.compile(r"[0-9a-f]{40}")
_LIST = re.compile(rb'"(lists-[0-9a-f]{40})"')
_GITLINK = 0o160000
_TREE = 0o40000
_NAMED = 8
_TOLD = 64
"""Objects between two words about how far it is."""


class StoreDamaged(TakebackError):
    """Something that was kept is missing or not what it was."""


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is lost.

    Attributes:
        name: an object's id, the name of a list, or of a ref.
        state: ``missing`` or ``damaged``.
        affected: what needs it: "turn 7", "operation op12", "the current snapshot".
    """

    name: str
    state: str
    affected: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was checked and what is lost.

    Attributes:
        lines: damaged lines of the records, by file and line (0 where it is not known).
    """

    objects: int
    refs: int
    damage: tuple[Damage, ...]
    lines: tuple[tuple[str, int], ...]

    @property
    def affected(self) -> tuple[str, ...]:
        found = {label for one in self.damage for label in one.affected}
        return tuple(sorted(found, key=_order))

    def require_sound(self) -> None:
        """Raise what is wrong as the answer of a command.

        Raises:
            StoreDamaged: an object or a list is missing or damaged.
        """
        if not self.damage:
            return
        shown = [f"{one.name[:18]} ({one.state})" for one in self.damage[:_NAMED]]
        if len(self.damage) > _NAMED:
            shown.append(f"{len(self.damage) - _NAMED} more")
        who = _listed(self.affected) or "nothing that is listed"
        raise StoreDamaged(
            f"{len(self.damage)} of {self.objects + self.refs} kept things are missing or "
            f"damaged: {', '.join(shown)}. Affected: {who}. Nothing was changed.",
            "What is whole can still be taken back; a file in the project that still holds the "
            "lost bytes brings them back when the next turn begins.",
        )


def _order(label: str) -> tuple[str, int, str]:
    word, _, number = label.rpartition(" ")
    return (word, int(number), "") if number.isdigit() else (label, 0, "")


def _listed(labels: tuple[str, ...]) -> str:
    shown = list(labels[:30])
    if len(labels) > 30:
        shown.append(f"{len(labels) - 30} more")
    return ", ".join(shown)


@dataclass(slots=True)
class _Walk:
    """The state of one verification."""

    store: Store
    bad: dict[str, str] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)

    def visit(self, oid: str, kind: str) -> None:
        """Check an object and all that it reaches, each once."""
        waiting = [(oid, kind)]
        while waiting:
            at, expected = waiting.pop()
            raw = bytes.fromhex(at)
            if raw in self.seen or at == EMPTY_TREE:
                continue
            self.seen.add(raw)
            if len(self.seen) % _TOLD == 0:
                work.step("objects", len(self.seen))
            waiting.extend(self._check(at, expected))

    def _check(self, oid: str, kind: str) -> list[tuple[str, str]]:
        path = loose.path_of(self.store.git_dir, oid)
        try:
            found = loose.check(path, oid)
        except FileNotFoundError:
            found = ("?", 0)
        if found is None:
            self.bad[oid] = "damaged"
            return []
        if found[0] != "?":
            kind = found[0]
        if found[0] == "blob":
            return []
        try:
            data = self.store.objects.read(oid)
        except StoreError:
            self.bad[oid] = "damaged" if self.store.objects.has(oid) else "missing"
            return []
        try:
            return list(below(kind, data))
        except (ValueError, IndexError):
            self.bad[oid] = "damaged"
            return []


def below(kind: str, data: bytes) -> Iterator[tuple[str, str]]:
    """What a tree or commit names directly, with its kind.

    Raises:
        ValueError: it is neither well-formed.
    """
    if kind == "tree":
        for mode, oid in parse_tree(data).values():
            if mode != _GITLINK:
                yield oid, "tree" if mode == _TREE else "blob"
    elif kind == "commit":
        for line in data.split(b"\n\n", 1)[0].split(b"\n"):
            word, _, named = line.partition(b" ")
            if word in (b"tree", b"parent"):
                yield named.decode("ascii"), "tree" if word == b"tree" else "commit"


def verify(store: Store) -> VerifyReport:
    """Read everything that the refs, the ledger, the snapshots and the operations name.

    Raises:
        StoreError: the store's files cannot be read at all.
        GitError: git is needed for an object and is not there.
    """
    walk = _Walk(store)
    log = events.read(store)
    lines = list(log.damaged)
    operations = oplog.read(store, lines)
    lists = _lists(store, log)
    damage = [Damage(name, state, who) for name, state, who in lists]
    refs = 0
    for name, oid in _refs(store):
        refs += 1
        if not _OID.fullmatch(oid):
            damage.append(Damage(f"refs/takeback/{name}", "damaged", (_ref_label(name),)))
            continue
        walk.visit(oid, "tree")
    for _, oid, kind in _named(log, operations):
        walk.visit(oid, kind)
    if walk.bad:
        damage.extend(_who(store, walk.bad, log, operations))
    return VerifyReport(len(walk.seen), refs, tuple(damage), tuple(lines))


def _refs(store: Store) -> Iterator[tuple[str, str]]:
    base = os.path.join(store.git_dir, b"refs/takeback")
    for folder, folders, names in os.walk(base):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    oid = file.read(64).strip().decode("ascii", "replace")
            except FileNotFoundError:
                continue
            except OSError:
                oid = ""
            yield os.fsdecode(os.path.relpath(path, base)), oid
    try:
        with open(os.path.join(store.git_dir, b"packed-refs"), "rb") as file:
            for line in file:
                oid, _, ref = line.decode("utf-8", "replace").strip().partition(" ")
                if ref.startswith("refs/takeback/"):
                    yield ref[14:], oid
    except OSError:
        return


def _ref_label(name: str) -> str:
    parts = name.split("/")
    if parts[0] == "op" and len(parts) > 1:
        return f"operation {parts[1]}"
    if len(parts) == 3 and parts[1].isdigit():
        return f"turn {parts[1]}"
    return "the current snapshot" if name == "current" else f"refs/takeback/{name}"


def _states(pairs: Iterable[FileState]) -> Iterator[str]:
    for state in pairs:
        if state.has_content and _OID.fullmatch(state.oid):
            yield state.oid


def _named(log: events.Log, operations: Iterable[Operation]) -> Iterator[tuple[str, str, str]]:
    """Who names which object, and of which kind: (label, id, kind)."""
    for turn in log.turns:
        label = f"turn {turn.n}"
        trees = [turn.begin.get("tree"), turn.end.get("tree") if turn.end else None]
        for call in turn.calls:
            trees += [call.tree_before, call.tree_after]
            for oid in _states([*call.pre.values(), *call.post.values()]):
                yield label, oid, "blob"
        for tree in trees:
            if isinstance(tree, str) and _OID.fullmatch(tree):
                yield label, tree, "tree"
    for record in log.records:
        label = _span(log, record.seq)
        if _OID.fullmatch(record.tree):
            yield label, record.tree, "tree"
        for change in record.changes:
            for oid in _states((change.before, change.after)):
                yield label, oid, "blob"
    for operation in operations:
        label = f"operation {operation.id}"
        for tree in (operation.before, operation.after):
            if _OID.fullmatch(tree):
                yield label, tree, "tree"
        for move in operation.moves:
            for oid in _states((move.before, move.after)):
                yield label, oid, "blob"


def _span(log: events.Log, seq: int) -> str:
    """The turn that a snapshot record falls in, or what was before or between."""
    inside = [t.n for t in log.turns if t.seq < seq <= t.end_seq]
    if inside:
        return f"turn {inside[-1]}"
    return "a snapshot between turns"


def _who(
    store: Store, bad: dict[str, str], log: events.Log, operations: Iterable[Operation]
) -> list[Damage]:
    """What needs each damaged object: every root is followed once more, trees alone."""
    needs: dict[str, set[str]] = {oid: set() for oid in bad}
    memo: dict[str, frozenset[str]] = {}
    for name, oid in _refs(store):
        for one in _reach(store, oid, bad, memo):
            needs[one].add(_ref_label(name))
    for label, oid, kind in _named(log, operations):
        if kind == "blob":
            if oid in needs:
                needs[oid].add(label)
        else:
            for one in _reach(store, oid, bad, memo):
                needs[one].add(label)
    return [Damage(oid, bad[oid], tuple(sorted(needs[oid], key=_order))) for oid in sorted(bad)]


def _reach(
    store: Store, oid: str, bad: dict[str, str], memo: dict[str, frozenset[str]]
) -> frozenset[str]:
    """The damaged objects that a tree or commit reaches."""
    if oid in memo:
        return memo[oid]
    if oid in bad or not _OID.fullmatch(oid):
        return frozenset([oid]) if oid in bad else frozenset()
    found: set[str] = set()
    try:
        data = store.objects.read(oid)
        kind = "commit" if data.startswith(b"tree ") and b"\nauthor " in data else "tree"
        inner = list(below(kind, data))
    except (TakebackError, ValueError):
        inner = []
    for other, what in inner:
        if other in bad:
            found.add(other)
        elif what != "blob":
            found |= _reach(store, other, bad, memo)
    memo[oid] = frozenset(found)
    return memo[oid]


def _lists(store: Store, log: events.Log) -> list[tuple[str, str, tuple[str, ...]]]:
    """The lists that stand in files of their own and are lost, with who needs them."""
    lost: dict[str, str] = {}
    sound: set[str] = set()
    needs: dict[str, set[str]] = {}
    names = ["snapshots.jsonl", oplog.NAME, *(f"ledger/{n}" for n in store.ledger_names())]
    numbers = {turn.id: turn.n for turn in log.turns}
    for name in names:
        try:
            with open(store.path(name), "rb") as file:
                for line in file:
                    for match in _LIST.finditer(line):
                        item = match[1].decode()
                        if item not in sound and item not in lost:
                            state = _list_state(store, item)
                            if state:
                                lost[item] = state
                            else:
                                sound.add(item)
                        if item in lost:
                            needs.setdefault(item, set()).add(_line_label(line, log, numbers))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreError(
                f"The store's file {name} cannot be read: {error.strerror}. Nothing was checked."
            ) from error
    return [(name, lost[name], tuple(sorted(needs[name], key=_order))) for name in sorted(lost)]


def _list_state(store: Store, name: str) -> str:
    try:
        with open(store.path(f"ledger/{name}"), "rb") as file:
            body = zlib.decompress(file.read())
    except FileNotFoundError:
        return "missing"
    except (OSError, zlib.error):
        return "damaged"
    return "" if sha1(body).hexdigest() == name[6:] else "damaged"


def _line_label(line: bytes, log: events.Log, numbers: dict[str, int]) -> str:
    try:
        record = json.loads(line)
        turn = record.get("turn")
        if turn is not None:
            return f"turn {numbers[turn]}" if turn in numbers else f"turn {turn}"
        if "moves" in record:
            return f"operation {record['id']}"
        return _span(log, int(record["seq"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return "a damaged line"
