"""What the undo panel knows: a plan, which of its files are ticked, and the request for that. Pure.

Ticks never change what a plan is for: the turn is pinned by the first plan, only files are chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from takeback.engine.model import Call, Change, Plan, PlanEntry, Request, Turn
from takeback.tui import present
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import first_line, quoted, safe
from takeback.tui.timeline_rows import numbers
from takeback.tui.widgets.row_list import Box, Role, Row, Span

_GROUPS = {"agent-edited": "Agent-edited", "unknown": "Unknown origin", "": "Files"}
_ROLES: dict[str, Role] = {"agent-edited": "agent", "unknown": "unknown", "": "title"}


@dataclass(frozen=True, slots=True)
class File:
    """A file that can be ticked, as the first plan found it."""

    path: bytes
    origin: str
    change: Change | None


@dataclass(frozen=True, slots=True)
class Choice:
    """A plan on the screen.

    Attributes:
        base: the request that the panel was opened with.
        first: its plan: the default, and what cannot be chosen.
        plan: the plan for what is ticked now; None while it is made or nothing is ticked.
        turn: the turn that the first plan found, to which later plans are pinned.
    """

    base: Request
    first: Plan
    plan: Plan | None
    files: tuple[File, ...]
    ticked: frozenset[bytes]
    default: frozenset[bytes]
    calls: tuple[Call, ...]
    turn: str = ""

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
        """The request for what is ticked; None where that is nothing."""
        if self.ticked == self.default and not self.first.stopped:
            return self.base
        if not self.ticked:
            return None
        pinned = self.base
        if not (pinned.turn or pinned.to or pinned.step or pinned.call):
            pinned = replace(pinned, turn=self.turn)
        if self.ticked == frozenset(file.path for file in self.files):
            return replace(pinned, selection="all")
        return replace(pinned, paths=tuple(sorted(self.ticked)))

    def toggled(self, paths: Sequence[bytes]) -> Choice:
        """Untick the files if all of them are ticked, else tick them."""
        chosen = frozenset(paths)
        ticked = self.ticked - chosen if chosen <= self.ticked else self.ticked | chosen
        return replace(self, ticked=ticked, plan=None)

    def of_row(self, key: str) -> list[bytes]:
        """The files that a row stands for: one, or those of a group."""
        kind, _, rest = key.partition(":")
        if kind == "file":
            return [bytes.fromhex(rest)]
        return [file.path for file in self.files if kind == "group" and file.origin == rest]

    def group_of(self, key: str) -> list[bytes]:
        """The files of the group that a row is in."""
        own = self.of_row(key)
        origins = {file.origin for file in self.files if file.path in own}
        return [file.path for file in self.files if file.origin in origins]

    def entries(self) -> dict[bytes, PlanEntry]:
        """What would happen now, by the names under which the turn knew the files."""
        plan = self.plan if self.plan is not None else self.first
        return {entry.known_as: entry for entry in plan.entries}


def opened(request: Request, plan: Plan, turns: Sequence[Turn]) -> Choice:
    """The panel's state for its first plan: agent-edited files ticked, unknown origin not."""
    meant = [turn for turn in turns if turn.id in plan.targets or plan.target == f"turn {turn.n}"]
    changes = {change.path: change for turn in meant for change in turn.changes}
    files: dict[bytes, File] = {}
    for entry in plan.writes:
        change = changes.get(entry.known_as)
        files[entry.known_as] = File(entry.known_as, change.origin if change else "", change)
    default = frozenset(files)
    settled = {entry.known_as: entry for entry in plan.entries}
    for change in changes.values():
        known = settled.get(change.path)
        left = known is None or (known.action == "keep" and change.origin == "unknown")
        if plan.kind == "undo" and left and change.path not in files and not change.undone:
            files[change.path] = File(change.path, change.origin, change)
    order = {origin: at for at, origin in enumerate(_GROUPS)}
    ordered = sorted(files.values(), key=lambda file: (order[file.origin], file.path))
    calls = tuple(call for turn in meant for call in turn.calls)
    turn = meant[0].id if meant else ""
    return Choice(request, plan, plan, tuple(ordered), default, default, calls, turn)


# --- What is shown -------------------------------------------------------------------------------


def rows(choice: Choice, glyphs: Glyphs) -> list[Row]:
    """Everything about the plan as rows: files by class, then what is left alone, and why."""
    out: list[Row] = []
    known = choice.entries()
    for origin, title in _GROUPS.items():
        mine = [file for file in choice.files if file.origin == origin]
        if mine:
            out.append(_group(choice, origin, title, mine, glyphs))
            out += [_file(choice, file, known.get(file.path), glyphs) for file in mine]
    mine_too = {file.path for file in choice.files}
    shown = choice.plan if choice.plan is not None else choice.first
    rest = {e.known_as: e for plan in (choice.first, shown) for e in plan.entries}
    others = [entry for name, entry in rest.items() if name not in mine_too]
    # A wider choice can settle a conflict: what is written never goes unseen.
    for action in ("restore", "delete", "merge"):
        out += _left(others, action, f"Comes with it: {present.VERBS[action][0]}", "title")
    out += _left(others, "conflict", f"{glyphs.warning} Conflicts, left alone", "conflict")
    out += _left(others, "keep", "Kept as they are", "title")
    lines = present.not_captured_lines(shown.not_captured, "")
    out += _block("missed", lines, "warning")
    warned = [
        f"{safe(w.path)}:{w.line} uses {quoted(w.name)}, which this changes in {safe(w.source)}."
        for w in shown.warnings
    ]
    out += _block("warned", ["Other files need this:", *warned] if warned else [], "warning")
    effects = [first_line(effect, 200) for effect in shown.effects]
    said = "Commands ran as well; what they did outside these files stays:"
    return out + _block("effects", [said, *effects] if effects else [], "title")


def _group(choice: Choice, origin: str, title: str, files: Sequence[File], glyphs: Glyphs) -> Row:
    number = sum(file.path in choice.ticked for file in files)
    box: Box = "on" if number == len(files) else "some" if number else "off"
    sign = f"{glyphs.of(origin)} " if origin else ""
    lead = Span(f"{sign}{title}", _ROLES[origin])
    if not choice.can_choose:
        return Row(f"group:{origin}", (lead,), head=True)
    count = Span(f"  {number} of {len(files)} ticked", "muted")
    return Row(f"group:{origin}", (lead, count), box=box, head=True)


def _file(choice: Choice, file: File, entry: PlanEntry | None, glyphs: Glyphs) -> Row:
    ticked = file.path in choice.ticked
    word, role = "leave", "muted"
    said: list[str] = []
    name = safe(file.path)
    if ticked and entry is not None:
        word = present.VERBS[entry.action][0]
        role = "conflict" if entry.action == "conflict" else ""
        if entry.source:
            name = f"{safe(entry.path)} (was {safe(entry.source)})"
        said += [safe(entry.reason)] if entry.reason and entry.action != "keep" else []
        said += [safe(note) for note in entry.notes]
    elif ticked:
        word = glyphs.more
    if file.change is not None:
        said.append(present.evidence_words(file.change, choice.calls))
    change = file.change
    count = numbers(change.plus, change.minus, glyphs) if change else Span("", "added")
    if change is not None and change.binary:
        count = Span("binary", "muted")
    action: Role = "conflict" if role == "conflict" else "muted" if role == "muted" else ""
    box: Box = "" if not choice.can_choose else "on" if ticked else "off"
    return Row(
        f"file:{file.path.hex()}",
        (Span(f"{word:<8}", action), Span(name, "" if ticked else "muted", True)),
        (count, Span("; ".join(said), "muted")),
        box=box,
        indent=2,
    )


def _left(entries: Sequence[PlanEntry], action: str, title: str, role: Role) -> list[Row]:
    mine = [entry for entry in entries if entry.action == action]
    if not mine:
        return []
    out = [Row(f"left:{action}", (Span(title, role),), head=True)]
    for entry in mine:
        said = "; ".join(safe(text) for text in (entry.reason, *entry.notes) if text)
        out.append(
            Row(
                f"left:{action}:{entry.path.hex()}",
                (Span(safe(entry.path), "", True),),
                (Span("", "added"), Span(said, "muted")),
                indent=2,
            )
        )
    return out


def _block(key: str, lines: Sequence[str], role: Role) -> list[Row]:
    return [
        Row(
            f"{key}:{at}",
            (Span(line.strip(), role if not at else "muted"),),
            head=not at,
            indent=2 if at else 0,
        )
        for at, line in enumerate(lines)
    ]


def summary(choice: Choice, enter: str, yes: str) -> list[str]:
    """What would happen and which key does it: the reasons to ask first, then one sentence."""
    plan = choice.plan
    if plan is None:
        if not choice.ticked:
            return ["Nothing is ticked, so nothing would be changed."]
        return ["Planning…"]
    if plan.stopped:
        return [
            "Only files of unknown origin are left here, and those are never ticked by themselves.",
            "Nothing is ticked: space ticks a file, A ticks all.",
        ]
    lines = present.ask_lines(plan)
    if choice.useless:
        return [*lines, "Nothing is done to files in conflict. o: take them back whole."]
    back = "ctrl+x r" if plan.kind == "undo" else "ctrl+x u"
    what = present.amounts(plan, False)
    what = f"{what}. {back} reverses it." if what else "no file is changed."
    if plan.conflicts:
        lines.append("o: take files in conflict back whole, with what came later.")
    if choice.asks:
        return [*lines, f"{yes}: {what}"]
    return [*lines, f"{enter}: {what}"]
