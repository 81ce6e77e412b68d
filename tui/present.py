"""Sentences and lines for people: pure functions from the model to text without markup.

The command line and the full-screen app say the same, because both ask here.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

from takeback.engine.model import (
    Call,
    Change,
    NotCaptured,
    Operation,
    Outcome,
    Plan,
    PlanEntry,
    Session,
    Step,
    Turn,
)
from takeback.tui.documents import files_of
from takeback.tui.text import counted, decode, first_line, joined, quoted, safe

REASONS = {
    "too-large": "over the size limit",
    "unreadable": "could not be read",
    "special": "no ordinary file",
    "nested": "a repository of its own",
    "ignored": "ignored by git's rules",
    "excluded": "excluded by a setting",
    "secret": "looks like a secret, kept out on purpose",
    "outside-project": "outside the project",
    "inside-git": "inside .git",
    "fuse": "too many or too large changes for one snapshot",
    "failed": "the snapshot failed",
}
"""Why a path is not captured, in words."""

LETTERS = {"added": "A", "modified": "M", "deleted": "D", "type-changed": "T"}
STATES = {"running": "running", "complete": "", "interrupted": "interrupted"}
VERBS = {
    "restore": ("restore", "restored"),
    "delete": ("delete", "deleted"),
    "merge": ("merge", "merged"),
    "keep": ("keep", "kept"),
    "conflict": ("leave", "left"),
}
KINDS = {
    "undo": ("Undo of", "Took back"),
    "redo": ("Redo of", "Put back"),
    "goto": ("Go to", "Went to"),
    "restore": ("Restore before", "Restored to before"),
    "switch": ("Switch to", "Switched to"),
}
CLASSES = {"agent-edited": "Agent-edited", "unknown": "Unknown origin"}
_KEPT, _CONFLICTS, _UNSELECTED = "Kept as they are", "Conflicts, left alone", "Not selected"
_UNKNOWN_REASON = "unknown origin"
_GROUPS = (*CLASSES.values(), "Files", _KEPT, _CONFLICTS, _UNSELECTED)


def when(ns: int) -> str:
    """A local date and time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(ns // 1_000_000_000)) if ns else "?"


def clock(ns: int) -> str:
    return time.strftime("%H:%M:%S", time.localtime(ns // 1_000_000_000)) if ns else "?"


def ago(ns: int) -> str:
    """How long a duration is, roughly."""
    seconds = max(0, ns // 1_000_000_000)
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return counted(seconds // size, unit)
    return counted(seconds, "second")


# --- Where a change comes from -------------------------------------------------------------------


def call_name(call: Call) -> str:
    """A call in a sentence: ``Edit #3``."""
    tool = safe(call.tool) or "call"
    return f"{tool} #{call.number}" if call.number else tool


def _named(change: Change, calls: Sequence[Call]) -> str:
    by_id = {call.id: call for call in calls}
    names = [call_name(by_id[one]) if one in by_id else safe(one) for one in change.call_ids]
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more calls"]
    return joined(names)


def _command_names(change: Change, calls: Sequence[Call]) -> bool:
    name = decode(change.path.rsplit(b"/", 1)[-1])
    return any(call.id in change.call_ids and name in call.command for call in calls)


def evidence_words(change: Change, calls: Sequence[Call]) -> str:
    """How it is known who made a change, in words."""
    named = _named(change, calls)
    match change.evidence:
        case "tool-edit":
            return f"edited by {named or 'the agent'}"
        case "traced-call":
            return f"written by {named or 'the agent'} (process trace)"
        case "mixed":
            return "agent, and someone else" + (f" ({named})" if named else "")
        case "during-call":
            words = f"changed while {named or 'a call'} ran"
            return words + (", the command names it" if _command_names(change, calls) else "")
        case "not-by-call":
            return "not by the agent's processes"
        case "outside-calls":
            return "no shell call was running: you, an editor or a formatter"
        case "no-record":
            return "origin not recorded"


def lines_of(change: Change) -> str:
    """Added and removed lines: ``+3 -1``."""
    if change.binary:
        return "binary"
    parts = [f"+{change.plus}"] if change.plus else []
    parts += [f"-{change.minus}"] if change.minus else []
    return " ".join(parts)


def columns(rows: Sequence[tuple[str, ...]], indent: str = "  ") -> list[str]:
    """Rows as columns; the last one is not padded, and one long name does not stretch all."""
    if not rows:
        return []
    widths = [min(40, max(len(row[i]) for row in rows)) for i in range(len(rows[0]) - 1)]
    out = []
    for row in rows:
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)]
        out.append((indent + "  ".join([*cells, row[-1]])).rstrip())
    return out


def change_lines(changes: Sequence[Change], calls: Sequence[Call], indent: str = "  ") -> list[str]:
    """One line for each change: letter, name, lines, where it comes from, whether it stands."""
    rows = []
    for change in changes:
        words = evidence_words(change, calls) + (" [undone]" if change.undone else "")
        rows.append((f"{LETTERS[change.status]} {safe(change.path)}", lines_of(change), words))
    return columns(rows, indent)


def by_class(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """The changes by class, agent-edited first; classes without any are left out."""
    out: dict[str, list[Change]] = {"agent-edited": [], "unknown": []}
    for change in changes:
        out[change.origin].append(change)
    return {origin: found for origin, found in out.items() if found}


def reason_words(reason: str) -> str:
    return REASONS.get(reason, safe(reason))


def not_captured_lines(entries: Sequence[NotCaptured], indent: str = "  ") -> list[str]:
    """A heading and one line for each path that no snapshot holds; empty if all is held."""
    if not entries:
        return []
    rows = [
        ("everything" if entry.path == b"./" else safe(entry.path), reason_words(entry.reason))
        for entry in entries
    ]
    return [f"{indent}Not captured:", *columns(rows, indent + "  ")]


# --- Sessions, turns, operations -----------------------------------------------------------------


def turn_title(turn: Turn, limit: int = 72) -> str:
    """A turn's number and first line: ``turn 9 “use Decimal everywhere”``."""
    text = first_line(turn.prompt, limit)
    if not text:
        text = next((first_line(call.command, limit) for call in turn.calls if call.command), "")
    name = f"turn {turn.n}" if turn.recorded else "turn"
    return name + (f" “{text}”" if text else "")


def turn_marks(turn: Turn) -> str:
    """What is special about a turn, in brackets."""
    marks = [STATES[turn.state]] if STATES[turn.state] else []
    if not turn.recorded:
        return " ".join(f"[{mark}]" for mark in marks)
    if turn.undone:
        marks.append("undone")
    elif any(change.undone for change in turn.changes):
        marks.append("partly undone")
    elif turn.left:
        marks.append("left alone")
    if turn.expired:
        marks.append("expired: its contents are gone")
    if not turn.complete:
        marks.append("not fully captured")
    return " ".join(f"[{mark}]" for mark in marks)


def turn_lines(turn: Turn, indent: str = "") -> list[str]:
    """A turn with its changes and what was not captured."""
    title = turn_title(turn)
    head = f"{indent}{title[0].upper()}{title[1:]}  {when(turn.begun_ns)}"
    marks = turn_marks(turn)
    lines = [f"{head}  {marks}" if marks else head]
    lines += change_lines(turn.changes, turn.calls, indent + "  ")
    if not turn.changes:
        lines.append(f"{indent}  (no file changed)")
    lines += [f"{indent}  {safe(note)}" for note in turn.notes]
    return lines + not_captured_lines(turn.not_captured, indent + "  ")


def session_head(session: Session) -> str:
    parts = [f"Session {safe(session.id)}", safe(session.agent), first_line(session.title)]
    parts += [when(session.begun_ns), STATES[session.state]]
    return "  ".join(part for part in parts if part)


def log_lines(sessions: Sequence[Session]) -> list[str]:
    """Everything that was recorded, oldest first."""
    lines: list[str] = []
    for session in sessions:
        lines += ["", session_head(session)] if lines else [session_head(session)]
        for turn in session.turns:
            lines += turn_lines(turn, "  ")
    return lines or [NOTHING_RECORDED]


NOTHING_RECORDED = "Nothing was recorded in this project yet."


def session_lines(sessions: Sequence[Session]) -> list[str]:
    """One line for each session, newest first; they come oldest first."""
    rows = []
    for item in reversed(sessions):
        title = first_line(item.title) or next(
            (first_line(turn.prompt) for turn in item.turns if turn.prompt), ""
        )
        counts = f"{counted(len(item.turns), 'turn')}, {counted(files_of(item), 'file')}"
        state = f" [{STATES[item.state]}]" if STATES[item.state] else ""
        rows.append((when(item.begun_ns), safe(item.agent), counts, safe(item.id), title + state))
    return columns(rows, "") or [NOTHING_RECORDED]


def step_lines(step: Step) -> list[str]:
    text = first_line(step.text)
    lines = [f"Step {safe(step.id)}" + (f" “{text}”" if text else "")]
    lines += [call_line(call, "  ") for call in step.calls]
    lines += change_lines(step.changes, step.calls)
    return lines


def call_line(call: Call, indent: str = "") -> str:
    what = first_line(call.command) or joined([safe(path) for path in call.paths[:3]])
    state = "" if call.state == "done" else f" [{call.state}]"
    return f"{indent}{call_name(call)} ({safe(call.id)})  {clock(call.begun_ns)}  {what}{state}"


def show_lines(item: Turn | Step | Call | Operation, changes: Sequence[Change]) -> list[str]:
    """The answer of ``show``."""
    if isinstance(item, Turn):
        lines = turn_lines(item)
        lines.insert(1, f"  id {safe(item.id)}, session {safe(item.session)}")
        prompt = [safe(line) for line in item.prompt.split("\n")]
        if len(prompt) > 1:
            lines[2:2] = [f"  | {line}" for line in prompt]
        calls = [call_line(call, "    ") for call in item.calls]
        return [*lines, "  Calls:", *calls] if calls else lines
    if isinstance(item, Step):
        return step_lines(item)
    if isinstance(item, Call):
        return [call_line(item), *change_lines(changes, (item,))]
    lines = [operation_line(item)]
    return lines + [f"  {_move_word(move.after.kind)} {safe(move.path)}" for move in item.moves]


def _move_word(kind: str) -> str:
    return "deleted" if kind == "absent" else "wrote"


def operation_line(item: Operation) -> str:
    state = "" if item.state == "done" else f" [{item.state}]"
    files = counted(len(item.moves), "file")
    what = f"{item.kind} {target_words(item.target)}, {files}{state}"
    return f"{when(item.at_ns)}  {safe(item.id)}  {what}"


def history_lines(
    operations: Sequence[Operation], next_undo: Plan | None, next_redo: Plan | None
) -> list[str]:
    """Operations, newest first, and what comes next; they come oldest first."""
    lines = [operation_line(item) for item in reversed(operations)]
    lines = lines or ["No operation was applied yet."]
    lines.append("Next undo: " + (next_words(next_undo) if next_undo else "nothing to take back"))
    lines.append("Next redo: " + (next_words(next_redo) if next_redo else "nothing to put back"))
    return lines


def next_words(plan: Plan) -> str:
    """The target of a plan and how much it would write."""
    if plan.stopped:
        return f"{target_words(plan.target)} (asks: only files of unknown origin)"
    asks = ", asks" if plan.asks else ""
    return f"{target_words(plan.target)} ({counted(len(plan.writes), 'file')}{asks})"


# --- Plans ---------------------------------------------------------------------------------------


def _is(turn: Turn, target: str) -> bool:
    return target in (turn.id, str(turn.n), f"turn {turn.n}")


def target_words(target: str, turns: Sequence[Turn] = ()) -> str:
    """What a plan is for; a turn is named with its number and first line."""
    for turn in turns:
        if _is(turn, target):
            return turn_title(turn, 60)
    return safe(f"turn {target}" if target.isdigit() else target)


def plan_title(plan: Plan, turns: Sequence[Turn] = ()) -> str:
    """The headline of a plan: what would be taken back."""
    return f"{KINDS[plan.kind][0]} {_meant(plan, turns)}"


def _meant(plan: Plan, turns: Sequence[Turn]) -> str:
    """The target in a sentence that says the kind itself: no "redo of undo of"."""
    target = plan.target.removeprefix("undo of ") if plan.kind == "redo" else plan.target
    return target_words(target, turns)


def amounts(plan: Plan, done: bool) -> str:
    """How many files a plan writes, in words: ``restores 2 files, deletes 1 file``."""
    parts = []
    for action in ("restore", "delete", "merge"):
        number = sum(entry.action == action for entry in plan.entries)
        if number:
            present, past = VERBS[action]
            files = counted(number, "file")
            parts.append(f"{files} {past}" if done else f"{present}s {files}")
    return joined(parts)


def _entry_row(
    entry: PlanEntry, change: Change | None, calls: Sequence[Call], done: bool
) -> tuple[str, ...]:
    word = VERBS[entry.action][1 if done else 0]
    said = [evidence_words(change, calls)] if change else []
    said += [safe(note) for note in entry.notes]
    if entry.reason:
        said.insert(0, safe(entry.reason))
    return (word, safe(entry.path), lines_of(change) if change else "", "; ".join(said))


def plan_lines(plan: Plan, turns: Sequence[Turn] = (), done: bool = False) -> list[str]:
    """Everything about a plan, the same before and after it is applied.

    Args:
        turns: the turns it was made for; they say where each change comes from.
        done: it was applied.
    """
    turns = [turn for turn in turns if turn.id in plan.targets or _is(turn, plan.target)]
    calls = [call for turn in turns for call in turn.calls]
    changes = {change.path: change for turn in turns for change in turn.changes}
    groups: dict[str, list[tuple[str, ...]]] = {}
    for entry in plan.entries:
        change = changes.get(entry.path)
        if entry.action == "conflict":
            group = _CONFLICTS
        elif entry.action == "keep":
            unselected = change is not None and entry.reason.startswith(_UNKNOWN_REASON)
            group = _UNSELECTED if unselected else _KEPT
            entry = replace(entry, reason="") if unselected else entry
        else:
            group = CLASSES[change.origin] if change else "Files"
        groups.setdefault(group, []).append(_entry_row(entry, change, calls, done))
    planned = {entry.path for entry in plan.entries}
    for change in changes.values():
        if plan.kind == "undo" and change.path not in planned and not change.undone:
            row = ("leave", safe(change.path), lines_of(change), evidence_words(change, calls))
            groups.setdefault(_UNSELECTED, []).append(row)
    lines = [plan_title(plan, turns)]
    for group in _GROUPS:
        if group in groups:
            lines += [f"  {group}:", *columns(groups[group], "    ")]
    lines += not_captured_lines(plan.not_captured)
    for warning in plan.warnings:
        where = f"{safe(warning.path)}:{warning.line}"
        lines.append(
            f"  {where} uses {quoted(warning.name)}, which this changes in {safe(warning.source)}."
        )
    if plan.effects:
        lines.append("  Commands ran as well; what they did outside these files stays:")
        lines += [f"    {first_line(effect)}" for effect in plan.effects]
    return lines


def plan_summary(plan: Plan) -> str:
    """One sentence about what a plan will do."""
    if not plan.writes:
        return "This changes no file."
    return f"This {amounts(plan, False)}. Nothing in .git is touched; {_back(plan)} reverses it."


def _back(plan: Plan) -> str:
    """The command that reverses an operation of this kind."""
    return "takeback redo" if plan.kind == "undo" else "takeback undo"


def outcome_lines(outcome: Outcome, turns: Sequence[Turn] = ()) -> list[str]:
    """What came of a plan, for the last lines of a command or a toast."""
    plan = outcome.plan
    if not plan.writes:
        said = "Nothing had to be changed." if not plan.conflicts else "Nothing was changed."
    else:
        title = _meant(plan, turns)
        said = f"{KINDS[plan.kind][1]} {title}: {amounts(plan, True)}."
    kept = sum(entry.action == "keep" for entry in plan.entries)
    left = [
        (kept, "file kept as it is", "files kept as they are"),
        (len(plan.conflicts), "conflict left alone", "conflicts left alone"),
        (len(plan.not_captured), "path not captured", "paths not captured"),
    ]
    rest = [counted(number, one, many) for number, one, many in left if number]
    lines = [said + (f" {'; '.join(rest)}." if rest else "")]
    if settled(plan):
        lines.append(SETTLED)
    lines += [safe(note) for note in outcome.notes]
    if plan.writes and outcome.operation:
        again = "puts it back" if plan.kind == "undo" else "takes it back again"
        lines.append(f"“{_back(plan)}” {again} (operation {safe(outcome.operation)}).")
    return lines


SETTLED = "It is settled with that: undo goes on to older turns, and reaches it by its number."


def settled(plan: Plan) -> bool:
    """Whether a plan that writes nothing is an answer all the same: all of its turns are kept."""
    kept = any(entry.action == "keep" for entry in plan.entries)
    return (
        plan.kind == "undo"
        and kept
        and not (plan.writes or plan.dirs or plan.conflicts or plan.reverses or plan.stopped)
    )


def question(plan: Plan) -> str:
    """What is asked before a plan that needs a decision is applied."""
    if not plan.writes:
        return "Go on?"
    return f"{counted(len(plan.writes), 'file')} would be written. Go on?"


def ask_lines(plan: Plan) -> list[str]:
    """Why a plan needs a decision, one line for each reason."""
    return [f"! {safe(ask)}" for ask in plan.asks]


# --- Diffs ---------------------------------------------------------------------------------------


def diff_lines(patch: bytes) -> list[str]:
    """A git patch for reading: control characters shown, hunks of each file numbered from 1."""
    lines: list[str] = []
    number = 0
    for raw in patch.split(b"\n")[:-1] if patch.endswith(b"\n") else patch.split(b"\n"):
        if raw.startswith(b"diff --git "):
            number = 0
        line = raw.replace(b"\t", b"    ") if raw[:1] in (b"+", b"-", b" ") else raw
        shown = safe(line)
        if raw.startswith(b"@@ "):
            number += 1
            shown += f"  [hunk {number}]"
        lines.append(shown)
    return lines if patch else []
