"""What the undo panel knows: a plan, what is ticked and chosen in it, and the request for that.

Pure. Ticks and choices never change what a plan is for: the target is pinned by the first plan,
only files are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from takeback.engine.model import Call, Change, Plan, PlanEntry, Request, Turn, same
from takeback.engine.undo.plan import DELETED_SINCE

Way = Literal["merge", "keep", "whole"]
"""What is done with a file that changed since: merge (the rule), keep it, or take it back whole."""

GROUPS = ("agent-edited", "unknown", "")
"""The origins in the order in which they are shown; "" where no turn says it."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the target, as the first plan found it.

    Attributes:
        held: left alone as it stands (in conflict, or deleted since) unless it is taken back whole,
            so it has no tick.
    """

    path: bytes
    origin: str
    change: Change | None
    held: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan on the screen.

    Attributes:
        base: the request that the panel was opened with.
        first: its plan: the default, and what cannot be chosen.
        plan: the plan for what is ticked now; None while it is made or nothing is ticked.
        turn: the turn that the first plan found, to which later plans are pinned.
        turns: every turn of the project; they say who edited a file later.
        keep: files that are kept by choice.
        whole: files that are taken back whole by choice.
    """

    base: Request
    first: Plan
    plan: Plan | None
    files: tuple[File, ...]
    ticked: frozenset[bytes]
    default: frozenset[bytes]
    calls: tuple[Call, ...]
    turn: str = ""
    turns: tuple[Turn, ...] = ()
    keep: frozenset[bytes] = frozenset()
    whole: frozenset[bytes] = frozenset()

    @property
    def can_choose(self) -> bool:
        """Whether files can be ticked: in an undo of turns, not in a redo or of a goto."""
        return self.first.kind == "undo" and not self.first.reverses and bool(self.turn)

    @property
    def asks(self) -> bool:
        """Whether the plan wants a yes."""
        return self.plan is not None and bool(self.plan.asks or self.plan.conflicts)

    @property
    def useless(self) -> bool:
        """Whether nothing could be applied."""
        plan = self.plan
        return plan is None or plan.stopped or (bool(plan.conflicts) and not plan.writes)

    def request(self) -> Request | None:
        """The request for what is ticked and chosen; None where that is nothing."""
        pinned = self._pinned()
        held = {file.path for file in self.files if file.held}
        own = self.ticked - held
        if own == self.default and not self.first.stopped:
            return pinned
        if not self.ticked:
            return None
        if own == frozenset(file.path for file in self.files) - held:
            return replace(pinned, selection="all")
        return replace(pinned, paths=tuple(sorted(self.ticked)))

    def _pinned(self) -> Request:
        """The request with its target named: another one may be the next by now."""
        base = replace(
            self.base, keep=tuple(sorted(self.keep)), overwrite=tuple(sorted(self.whole))
        )
        if self.first.kind == "redo":
            return replace(base, op=base.op or self.first.reverses)
        named = base.turn or base.to or base.step or base.call or base.parts
        if self.first.kind != "undo" or self.first.reverses or named:
            return base
        return replace(base, turn=self.turn)

    # --- Ticks -------------------------------------------------------------------------------

    @property
    def can_tick(self) -> list[bytes]:
        """Every file with a tick box."""
        return [file.path for file in self.files if self.has_box(file)]

    def has_box(self, file: File) -> bool:
        return self.can_choose and (not file.held or file.path in self.whole)

    def toggled(self, paths: Sequence[bytes]) -> Choice:
        """Untick the files if all of them are ticked, else tick them."""
        chosen = frozenset(paths)
        off = chosen <= self.ticked
        held = {file.path for file in self.files if file.held}
        return replace(
            self,
            ticked=self.ticked - chosen if off else self.ticked | chosen,
            # Without a tick such a file is left alone again: that is what "whole" changed.
            whole=self.whole - (chosen & held) if off else self.whole,
            plan=None,
        )

    def of_row(self, key: str) -> list[bytes]:
        """The files that a row stands for: one, or those of a group."""
        kind, _, rest = key.partition(":")
        if kind == "file":
            return [bytes.fromhex(rest)]
        return self._boxes({rest}) if kind == "group" else []

    def group_of(self, key: str) -> list[bytes]:
        """The files of the group that a row is in."""
        own = set(self.of_row(key))
        return self._boxes({file.origin for file in self.files if file.path in own})

    def _boxes(self, origins: set[str]) -> list[bytes]:
        """The files of some groups that have a tick box."""
        return [f.path for f in self.files if f.origin in origins and self.has_box(f)]

    # --- Files that changed since ------------------------------------------------------------

    def way(self, path: bytes) -> Way:
        """What was chosen for a file, in case that it changed since."""
        return "keep" if path in self.keep else "whole" if path in self.whole else "merge"

    def ways(self, path: bytes) -> tuple[Way, ...]:
        """What can be chosen for a file; nothing where it did not change since."""
        return self.open_ways().get(path, ())

    def open_ways(self) -> dict[bytes, tuple[Way, ...]]:
        """What can be chosen for each file that changed since."""
        found: dict[bytes, tuple[Way, ...]] = dict.fromkeys(
            (*self.keep, *self.whole), ("merge", "keep", "whole")
        )
        entries = [*self.first.entries, *(self.plan.entries if self.plan is not None else ())]
        for entry in entries:
            if entry.action in ("merge", "conflict"):
                found[entry.known_as] = ("merge", "keep", "whole")
        for entry in entries:
            if entry.reason == DELETED_SINCE:
                found[entry.known_as] = ("merge", "whole")
        return found

    def turned(self, path: bytes) -> Choice:
        """The next choice for a file."""
        ways = self.ways(path)
        if not ways:
            return self
        return self.chosen([path], ways[(ways.index(self.way(path)) + 1) % len(ways)])

    def chosen(self, paths: Iterable[bytes], way: Way) -> Choice:
        """The same choice for some files."""
        mine = frozenset(paths)
        keep, whole, ticked = self.keep - mine, self.whole - mine, self.ticked
        held = {file.path for file in self.files if file.held} & mine
        if way == "keep":
            keep |= mine
        if way == "whole":
            whole |= mine
            ticked |= held
        else:
            ticked -= held
        return replace(self, keep=keep, whole=whole, ticked=ticked, plan=None)

    @property
    def in_conflict(self) -> list[bytes]:
        """The files that are left alone because of a conflict, or would be without a choice."""
        now = [*self.first.conflicts, *(self.plan.conflicts if self.plan is not None else ())]
        return list(dict.fromkeys(entry.known_as for entry in now))

    def entries(self) -> dict[bytes, PlanEntry]:
        """What would happen now, by the names under which the turn knew the files."""
        return _known(self.plan if self.plan is not None else self.first)

    # --- Plans that are made again -----------------------------------------------------------

    def again(self, plan: Plan) -> Choice | None:
        """The same choice with a newer plan; None where that one is for something else."""
        if (plan.kind, plan.target, plan.reverses) != (
            self.first.kind,
            self.first.target,
            self.first.reverses,
        ):
            return None
        # A turn is closed by one yes, never by a plan that is made again later.
        base = replace(self.base, while_running=False)
        known = {file.path for file in self.files}
        found = _files(plan, self._changes())
        files = _ordered([*self.files, *(file for file in found if file.path not in known)])
        held = {file.path for file in self.files if file.held}
        default, ticked = self.default, self.ticked
        if self.ticked - held == self.default:
            # What the newer plan takes on its own, by the same rule: no row may say otherwise.
            more = frozenset(file.path for file in found if not file.held) - held
            default, ticked = default | more, ticked | more
        return replace(self, base=base, plan=plan, files=files, ticked=ticked, default=default)

    def _changes(self) -> dict[bytes, Change]:
        return {file.path: file.change for file in self.files if file.change is not None}


def differs(old: Plan, new: Plan) -> bool:
    """Whether a newer plan would do something else than the one that was looked at."""

    def rest(plan: Plan) -> tuple[object, ...]:
        return (plan.kind, plan.target, plan.reverses, plan.asks, plan.dirs, plan.stopped)

    if rest(old) != rest(new) or len(old.entries) != len(new.entries):
        return True
    return any(
        (a.path, a.action, a.reason) != (b.path, b.action, b.reason)
        or not same(a.want, b.want)
        or not same(a.expect, b.expect)
        for a, b in zip(old.entries, new.entries, strict=True)
    )


def meant(plan: Plan, turns: Iterable[Turn]) -> list[Turn]:
    """The turns that a plan is about."""
    return [turn for turn in turns if turn.id in plan.targets or plan.target == f"turn {turn.n}"]


def opened(request: Request, plan: Plan, turns: Sequence[Turn]) -> Choice:
    """The panel's state for its first plan: agent-edited files ticked, unknown origin not."""
    mine = meant(plan, turns)
    changes = {change.path: change for turn in mine for change in turn.changes}
    found = _files(plan, changes)
    default = frozenset(file.path for file in found if not file.held)
    known = {file.path for file in found}
    settled = _known(plan)
    narrow = bool(request.paths or request.parts or request.step or request.call)
    for change in changes.values():
        entry = settled.get(change.path)
        # What a narrower request is not about cannot be ticked into it.
        left = not narrow if entry is None else entry.action == "keep"
        left = left and (entry is None or change.origin == "unknown")
        if plan.kind == "undo" and left and change.path not in known and not change.undone:
            found.append(File(change.path, change.origin, change))
    return Choice(
        replace(request, while_running=False, keep=(), overwrite=()),
        plan,
        plan,
        _ordered(found),
        default,
        default,
        tuple(call for turn in mine for call in turn.calls),
        mine[0].id if mine else "",
        tuple(turns),
        frozenset(request.keep),
        frozenset(request.overwrite),
    )


def _known(plan: Plan) -> dict[bytes, PlanEntry]:
    return {entry.known_as: entry for entry in plan.entries}


def _files(plan: Plan, changes: dict[bytes, Change]) -> list[File]:
    """The files that a plan writes, and those that a choice could make it write."""
    found: dict[bytes, File] = {}
    for entry in plan.entries:
        held = entry.action == "conflict" or entry.reason == DELETED_SINCE
        if entry.action == "keep" and not held:
            continue
        change = changes.get(entry.known_as)
        origin = change.origin if change is not None else ""
        found[entry.known_as] = File(entry.known_as, origin, change, held)
    return list(found.values())


def _ordered(files: Iterable[File]) -> tuple[File, ...]:
    return tuple(sorted(files, key=lambda file: (GROUPS.index(file.origin), file.path)))


def neighbour(turns: Sequence[Turn], targets: Sequence[Turn], by: int) -> Turn | None:
    """The nearest older (-1) or newer (1) turn in which something stands."""
    numbers = [turn.n for turn in targets]
    if not numbers:
        return None
    edge = min(numbers) if by < 0 else max(numbers)
    found = [
        turn
        for turn in turns
        if (turn.n - edge) * by > 0 and any(not change.undone for change in turn.changes)
    ]
    return min(found, key=lambda turn: abs(turn.n - edge), default=None)
