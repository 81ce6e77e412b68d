"""What came of an operation: the line that says it, and the summary of all that happened. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from takeback.engine.agents import resume
from takeback.engine.agents.resume import Way
from takeback.engine.model import Outcome, PlanEntry, Turn
from takeback.tui import keys, present, resuming
from takeback.tui.glyphs import Glyphs
from takeback.tui.plan_rows import EFFECTS, dir_lines
from takeback.tui.text import counted, first_line, safe
from takeback.tui.widgets.row_list import Role, Row, Span

_UNKNOWN = "unknown origin"
WAY = "way"
LEADS = frozenset({"head:way", WAY, "way:then"})
"""The rows that lead to the conversation."""


@dataclass(frozen=True, slots=True)
class Result:
    """An operation that was carried out from the panel.

    Attributes:
        unticked: files of the target that the user left out.
        git: the project has a git.
        too_late: the user wanted to cancel it when it had begun to write.
        leads: the user wants to go on in the conversation from before this turn.
        root: the project's folder.
    """

    outcome: Outcome
    turns: Sequence[Turn] = ()
    took_s: float = 0.0
    unticked: tuple[bytes, ...] = ()
    git: bool = False
    too_late: bool = False
    leads: Turn | None = None
    root: bytes = b""

    @property
    def kept(self) -> list[PlanEntry]:
        return [entry for entry in self.outcome.plan.entries if entry.action == "keep"]

    @property
    def opens(self) -> bool:
        """Whether the summary opens by itself: something is not as one may think."""
        plan = self.outcome.plan
        merged = any(entry.action == "merge" for entry in plan.entries)
        return bool(self.kept or plan.conflicts or merged or plan.not_captured)


def target(result: Result, turns: Sequence[Turn] = ()) -> str:
    """What an operation was about."""
    plan = result.outcome.plan
    name = plan.target.removeprefix("undo of ") if plan.kind == "redo" else plan.target
    return present.target_words(name, turns)


def took(seconds: float) -> str:
    """A duration: ``41 ms``, ``2.3 s``."""
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def sentence(result: Result) -> str:
    """The whole result in one line: what was done, what was not, and how to regret it."""
    plan = result.outcome.plan
    # Without the prompt: the line must have room for what was left alone.
    if plan.writes:
        said = [
            f"{present.KINDS[plan.kind][1]} {target(result)}: "
            f"{counted(len(plan.writes), 'file')} in {took(result.took_s)}."
        ]
    elif plan.conflicts:
        said = ["Nothing was changed."]
    else:
        said = ["Nothing had to be changed."]
    if result.too_late and plan.writes:
        said.insert(0, "It was too late to cancel.")
    unknown = sum(entry.reason.startswith(_UNKNOWN) for entry in result.kept)
    parts = [
        (sum(entry.action == "merge" for entry in plan.entries), "merged"),
        (len(result.unticked), "not ticked, left as they are"),
        (unknown, "unknown kept"),
        (len(result.kept) - unknown, "kept"),
        (len(plan.conflicts), "in conflict, left alone"),
        (len(plan.not_captured), "not captured"),
    ]
    rest = [f"{number} {words}" for number, words in parts if number]
    said += [f"{', '.join(rest)}."] if rest else []
    said += [safe(note) for note in result.outcome.notes]
    if result.outcome.operation:
        said.append(f"{regret(result)}.")
        found = way(result)
        if found is not None and not found.running:
            said.append(keys.words("{common.resume} goes on in the conversation."))
    return " ".join(said)


def way(result: Result) -> Way | None:
    """How the conversation can go on from there."""
    return resume.after(result.outcome.plan, result.turns, result.root)


def regret(result: Result) -> str:
    """How an operation is reversed."""
    if result.outcome.plan.kind == "undo":
        return keys.words("{common.redo} puts it back")
    return keys.words("{common.undo} takes it back again")


def rows(result: Result, glyphs: Glyphs) -> list[Row]:
    """Everything that an operation did and did not do, what was left alone first."""
    plan = result.outcome.plan
    out: list[Row] = []
    out += _entries("Left alone: in conflict", plan.conflicts, "conflict", glyphs.warning)
    unknown = [entry for entry in result.kept if entry.reason.startswith(_UNKNOWN)]
    others = [entry for entry in result.kept if not entry.reason.startswith(_UNKNOWN)]
    out += _entries("Kept as they are", others, "title")
    out += _entries("Not taken back: unknown origin", unknown, "unknown", glyphs.unknown)
    left = [
        Row(f"unticked:{p.hex()}", (Span(safe(p), "", True),), indent=2) for p in result.unticked
    ]
    out += [_head("Not taken back: not ticked", "title", len(left)), *left] if left else []
    missed = [line.strip() for line in present.not_captured_lines(plan.not_captured, "")]
    out += _lines("missed", missed, "warning")
    for action, title, role in (
        ("merge", "Merged: later edits stay", "warning"),
        ("restore", "Restored", "title"),
        ("delete", "Deleted", "removed"),
    ):
        mine = [entry for entry in plan.entries if entry.action == action]
        out += _entries(title, mine, role)  # type: ignore[arg-type]
    out += _lines("dirs", dir_lines(plan), "title")
    effects = [first_line(effect, 200) for effect in plan.effects]
    out += _lines("effects", [EFFECTS, *effects] if effects else [], "warning")
    notes = [safe(note) for note in result.outcome.notes]
    out += _lines("notes", ["Notes", *notes] if notes else [], "title")
    return out + _lines("regret", _ways_back(result), "title") + _conversation(result)


def _conversation(result: Result) -> list[Row]:
    """The command that leads back into the conversation, and what to do there."""
    found = way(result)
    if found is None:
        return []
    todo = resuming.then(found)
    key = keys.words("  ({result.resume} goes on there)")
    head = (Span(f"The conversation in {found.title}", "title"),)
    if found.running:
        here = resuming.sentence(found, result.root)
        return [Row("head:way", head, head=True), Row("way:then", (Span(here),), indent=2)]
    command = (Span(safe(found.command(result.root)), "code"),)
    rows = [Row("head:way", (*head, Span(key, "muted")), head=True), Row(WAY, command, indent=2)]
    return [*rows, Row("way:then", (Span(f"Then {todo}."),), indent=2)] if todo else rows


def _ways_back(result: Result) -> list[str]:
    outcome = result.outcome
    if not outcome.operation:
        said = "Nothing was written, so there is nothing to reverse."
        return [said, present.SETTLED] if present.settled(outcome.plan) else [said]
    name = safe(outcome.operation)
    undo = outcome.plan.kind == "undo"
    lines = [
        f"Operation {name}",
        f"{regret(result)}.",
        f"On the command line: takeback {f'redo {name}' if undo else 'undo'}",
    ]
    if result.git:
        lines.append("Git HEAD, index and branches were not touched: git diff shows the files.")
    return lines


def _head(title: str, role: Role, number: int, sign: str = "") -> Row:
    text = f"{sign} {title}".strip()
    return Row(
        f"head:{title}",
        (Span(text, role), Span(f"  {counted(number, 'file')}", "muted")),
        head=True,
    )


def _entries(title: str, entries: Sequence[PlanEntry], role: Role, sign: str = "") -> list[Row]:
    if not entries:
        return []
    out = [_head(title, role, len(entries), sign)]
    for entry in entries:
        reason = entry.reason.removeprefix(f"{_UNKNOWN}: ")
        said = "; ".join(safe(text) for text in (reason, *entry.notes) if text)
        name = safe(entry.path)
        if entry.source:
            name += f" (was {safe(entry.source)})"
        out.append(
            Row(
                f"{entry.action}:{entry.path.hex()}",
                (Span(name, "", True),),
                (Span("", "added"), Span(said, "muted")),
                indent=2,
            )
        )
    return out


def _lines(key: str, lines: Sequence[str], role: Role) -> list[Row]:
    return [
        Row(
            f"{key}:{at}",
            (Span(line, role if not at else ""),),
            head=not at,
            indent=2 if at else 0,
        )
        for at, line in enumerate(lines)
    ]
