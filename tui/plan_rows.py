"""The rows and sentences of the undo panel. Pure: from what the panel knows to text."""

from __future__ import annotations

import time
from collections.abc import Sequence

from takeback.engine.model import Change, Operation, Plan, PlanEntry, Turn
from takeback.engine.undo.plan import DELETED_SINCE
from takeback.tui import keys, present
from takeback.tui.choice import GROUPS, Choice, File, meant
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, joined, quoted, safe
from takeback.tui.timeline_parts import numbers
from takeback.tui.widgets.row_list import Box, Role, Row, Span

_TITLES = {"agent-edited": "Agent-edited", "unknown": "Unknown origin", "": "Files"}
_ROLES: dict[str, Role] = {"agent-edited": "agent", "unknown": "unknown", "": "title"}
_SHOWN = 6
"""As many files that changed since have a sentence of their own."""
EFFECTS = "Commands ran as well: their effects outside these files stay."


def title(choice: Choice) -> str:
    """What the panel is about: the target, when it was and how long, what was asked."""
    mine = meant(choice.first, choice.turns)
    if len(mine) != 1:
        return present.plan_title(choice.first, choice.turns)
    (turn,) = mine
    what = present.plan_title(choice.first)
    prompt = first_line(turn.prompt, 200)
    parts = [what, present.when(turn.begun_ns), counted(len(turn.steps), "step")]
    return "  ".join([*parts, *([quoted(prompt)] if prompt else [])])


def evidence(choice: Choice, change: Change) -> str:
    """How it is known who made a change, with tool, call and time: ``Edit #3, 14:02:08``."""
    words = present.evidence_words(change, choice.calls)
    at = max((c.begun_ns for c in choice.calls if c.id in change.call_ids), default=0)
    return f"{words}, {present.clock(at)}" if at else words


def rows(choice: Choice, glyphs: Glyphs) -> list[Row]:
    """Everything about the plan as rows: files by class, then what is left alone, and why."""
    out: list[Row] = []
    known = choice.entries()
    held: dict[str, list[File]] = {"conflict": [], "keep": []}
    first = {entry.known_as: entry for entry in choice.first.entries}
    key = keys.words("{undo.choose}")
    for origin in GROUPS:
        mine: list[File] = []
        for file in choice.files:
            if file.origin != origin:
                continue
            place = _place(choice, file, known.get(file.path), first)
            (held[place] if place else mine).append(file)
        if mine:
            out.append(_group(choice, origin, mine, glyphs))
            out += [_file(choice, file, known.get(file.path), glyphs, key) for file in mine]
    out += _block("since", since_lines(choice, glyphs), "warning", flat=True)
    listed = {file.path for file in choice.files}
    shown = choice.plan if choice.plan is not None else choice.first
    rest = {e.known_as: e for plan in (choice.first, shown) for e in plan.entries}
    others = [entry for name, entry in rest.items() if name not in listed]
    # A wider choice can settle a conflict: what is written never goes unseen.
    for action in ("restore", "delete", "merge"):
        out += _left(others, action, f"Comes with it: {present.VERBS[action][0]}", "title")
    out += _block("dirs", dir_lines(shown), "title")
    conflicts = f"{glyphs.warning} Conflicts, left alone"
    out += _left(
        others, "conflict", conflicts, "conflict", _held(choice, held["conflict"], known, key)
    )
    out += _left(
        others, "keep", "Kept as they are", "title", _held(choice, held["keep"], known, key)
    )
    lines = present.not_captured_lines(shown.not_captured, "")
    out += _block("missed", lines, "warning")
    warned = [
        f"{safe(w.path)}:{w.line} uses {quoted(w.name)}, which this changes in {safe(w.source)}."
        for w in shown.warnings
    ]
    out += _block("warned", ["Other files need this:", *warned] if warned else [], "warning")
    effects = [first_line(effect, 200) for effect in shown.effects]
    return out + _block("effects", [EFFECTS, *effects] if effects else [], "title")


def _place(
    choice: Choice, file: File, entry: PlanEntry | None, first: dict[bytes, PlanEntry]
) -> str:
    """Under what else than its class a file is listed, "" for nothing else."""
    if file.held and file.path not in choice.whole:
        met = entry or first.get(file.path)
        return "keep" if met is not None and met.action == "keep" else "conflict"
    ticked = file.path in choice.ticked
    return "conflict" if ticked and entry is not None and entry.action == "conflict" else ""


def _group(choice: Choice, origin: str, files: Sequence[File], glyphs: Glyphs) -> Row:
    number = sum(file.path in choice.ticked for file in files)
    box: Box = "on" if number == len(files) else "some" if number else "off"
    sign = f"{glyphs.of(origin)} " if origin else ""
    lead = Span(f"{sign}{_TITLES[origin]}", _ROLES[origin])
    if not choice.can_choose:
        return Row(f"group:{origin}", (lead,), head=True)
    count = Span(f"  {number} of {len(files)} ticked", "muted")
    return Row(f"group:{origin}", (lead, count), box=box, head=True)


def _file(choice: Choice, file: File, entry: PlanEntry | None, glyphs: Glyphs, key: str) -> Row:
    ticked = file.path in choice.ticked or not choice.can_choose
    word, role = "leave", "muted"
    said: list[str] = []
    name = safe(file.path)
    if ticked and entry is not None:
        word = present.VERBS[entry.action][0]
        role = {"delete": "removed", "merge": "warning", "keep": "muted"}.get(entry.action, "")
        if entry.source:
            name = f"{safe(entry.path)} (was {safe(entry.source)})"
        said += _chosen(choice, file.path, entry, key)
        said += [safe(note) for note in entry.notes]
    elif ticked and choice.plan is not None:
        word = "as is"
        said.append("stands as before already")
    elif ticked:
        word = glyphs.more
    if file.change is not None:
        said.append(evidence(choice, file.change))
    change = file.change
    count = numbers(change.plus, change.minus, glyphs) if change else Span("", "added")
    if change is not None and change.binary:
        count = Span("binary", "muted")
    action: Role = "removed" if role == "removed" else "warning" if role == "warning" else ""
    box: Box = "" if not choice.has_box(file) else "on" if ticked else "off"
    return Row(
        f"file:{file.path.hex()}",
        (
            Span(f"{word:<8}", "muted" if role == "muted" else action),
            Span(name, "" if ticked else "muted", True),
        ),
        (count, Span("; ".join(said), "muted")),
        box=box,
        indent=2,
    )


def _chosen(choice: Choice, path: bytes, entry: PlanEntry, key: str) -> list[str]:
    """The choice for a file in the words of its row."""
    way = choice.way(path)
    if way == "keep" and entry.action == "keep":
        return [f"kept, your choice ({key}: next)"]
    if way == "whole" and entry.action in ("restore", "delete"):
        return [f"taken back whole, your choice ({key}: next)"]
    if entry.action == "merge":
        return [f"merged with later edits ({key}: other choice)"]
    return [safe(entry.reason)] if entry.reason else []


def _held(
    choice: Choice, files: Sequence[File], known: dict[bytes, PlanEntry], key: str
) -> list[Row]:
    """Files that are left alone, each with why and what can be chosen."""
    out = []
    first = {entry.known_as: entry for entry in choice.first.entries}
    every = choice.open_ways()
    for file in files:
        entry = known.get(file.path) or first.get(file.path)
        if entry is None:
            continue
        way = choice.way(file.path)
        if way == "keep":
            said = [f"kept, your choice ({key}: next)"]
        else:
            both = "keep" in every.get(file.path, ())
            hint = "keep it, or take it back whole" if both else "bring it back"
            said = [safe(entry.reason)] if entry.reason else []
            said.append(f"{key}: {hint}")
        box: Box = ""
        if choice.has_box(file):
            box = "on" if file.path in choice.ticked else "off"
        out.append(
            Row(
                f"file:{file.path.hex()}",
                (Span(safe(entry.path), "", True),),
                (Span("", "added"), Span("; ".join([*said, *map(safe, entry.notes)]), "muted")),
                box=box,
                indent=2,
            )
        )
    return out


def _left(
    entries: Sequence[PlanEntry],
    action: str,
    heading: str,
    role: Role,
    first: Sequence[Row] = (),
) -> list[Row]:
    mine = [entry for entry in entries if entry.action == action]
    if not mine and not first:
        return []
    out = [Row(f"left:{action}", (Span(heading, role),), head=True), *first]
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


def _block(key: str, lines: Sequence[str], role: Role, flat: bool = False) -> list[Row]:
    return [
        Row(
            f"{key}:{at}",
            (Span(line.strip(), role if flat or not at else "muted"),),
            head=not at and not flat,
            indent=2 if at or flat else 0,
        )
        for at, line in enumerate(lines)
    ]


def dir_lines(plan: Plan) -> list[str]:
    """Folders that a plan makes or removes with its files."""
    made = [safe(item.path) + "/" for item in plan.dirs if item.before is None]
    gone = [safe(item.path) + "/" for item in plan.dirs if item.after is None]
    if not made and not gone:
        return []
    words = [f"made again: {joined(_some(made))}"] if made else []
    words += [f"removed, if they are empty then: {joined(_some(gone))}"] if gone else []
    return ["Folders that come with it:", *words]


def _some(names: Sequence[str], limit: int = _SHOWN) -> list[str]:
    shown = list(names[:limit])
    return [*shown, f"{len(names) - limit} more"] if len(names) > limit else shown


# --- What changed since --------------------------------------------------------------------------


def since_lines(choice: Choice, glyphs: Glyphs) -> list[str]:
    """One sentence for each file that changed since and that this would write or keep."""
    known, ways = choice.entries(), choice.open_ways()
    mine = [
        (file, known[file.path])
        for file in choice.files
        if file.path in known
        and (file.path in ways or _returns(file, known[file.path]))
        and known[file.path].action != "conflict"
        and (file.path in choice.ticked or not choice.can_choose)
    ]
    out = [
        f"{glyphs.warning} {safe(entry.path)}: {_since(choice, file, entry)}"
        for file, entry in mine[:_SHOWN]
    ]
    more = len(mine) - _SHOWN
    return [*out, f"{counted(more, 'more file')} changed since."] if more > 0 else out


def _returns(file: File, entry: PlanEntry) -> bool:
    """Whether a file comes back that the turn had left there and somebody deleted since."""
    left = file.change is not None and file.change.after.kind != "absent"
    return left and entry.action == "restore" and entry.expect.kind == "absent"


def _since(choice: Choice, file: File, entry: PlanEntry) -> str:
    """What becomes of a later edit, and whose it is; what is done comes first, to be seen."""
    if entry.expect.kind == "absent" and entry.action == "restore":
        return "brought back, your choice: it was deleted since."
    if entry.reason == DELETED_SINCE and choice.way(file.path) != "keep":
        return keys.words("kept as it is: deleted since; {undo.choose} brings it back.")
    who = editor(choice, file.path, entry)
    if entry.action == "keep":
        return f"kept as it is, your choice: {who}."
    if entry.action == "merge":
        return f"merged, the later edit stays: {who}."
    if choice.way(file.path) == "whole":
        return f"taken back whole, the later edit goes (redo brings it back): {who}."
    return f"{who}."


def editor(choice: Choice, path: bytes, entry: PlanEntry) -> str:
    """Who changed a file after the target, as far as the record says it."""
    mine = meant(choice.first, choice.turns)
    last = max((turn.n for turn in mine), default=0)
    later = [
        turn
        for turn in choice.turns
        if mine
        and turn.n > last
        and any(change.path == path and not change.undone for change in turn.changes)
    ]
    if later:
        return f"edited by turn {later[-1].n} since"
    at = entry.expect.mtime_ns
    when = f" at {moment(at)}" if at > 0 else ""
    return f"edited since{when}, in no turn (probably by you)"


def moment(ns: int) -> str:
    """A time of today, or a date and time."""
    today = time.localtime()[:3] == time.localtime(ns // 1_000_000_000)[:3]
    return present.clock(ns) if today else present.when(ns)


# --- Sentences below the list --------------------------------------------------------------------


def next_turn(choice: Choice, operations: Sequence[Operation]) -> Turn | None:
    """The turn that the next undo would mean once this one is applied."""
    done = {turn.id for turn in meant(choice.first, choice.turns)}
    # What an applied undo left alone no longer holds the walk.
    done.update(
        name for op in operations if op.kind == "undo" and op.state == "done" for name in op.targets
    )
    found = [
        turn
        for turn in choice.turns
        if turn.id not in done
        and not turn.left
        and turn.state != "running"
        and any(not c.undone and c.origin == "agent-edited" for c in turn.changes)
    ]
    return max(found, key=lambda turn: turn.n, default=None)


def summary(
    choice: Choice, enter: str = "enter", yes: str = "y", git: bool = False, after: str = ""
) -> list[str]:
    """What would happen and which key does it: the reasons to ask first, then sentences.

    Args:
        git: the project has a git, which is left alone.
        after: a sentence about what comes next.
    """
    plan = choice.plan
    if plan is None:
        if not choice.ticked and choice.request() is None:
            return ["Nothing is ticked, so nothing would be changed."]
        return ["Planning…"]
    if plan.stopped:
        return [
            "Only files of unknown origin are left here, and those are never ticked by themselves.",
            keys.words("Nothing is ticked: {undo.tick} ticks a file, {undo.all} ticks all."),
        ]
    lines = present.ask_lines(plan)
    if choice.useless:
        whole = "Nothing is done to files in conflict. {undo.overwrite}: take them back whole."
        return [*lines, keys.words(whole)]
    if plan.conflicts:
        one = "{undo.choose}: choose for the file in conflict under the cursor."
        lines.append(keys.words(f"{one} {{undo.overwrite}}: take all back whole."))
    what = present.amounts(plan, False)
    if not what:
        key = yes if choice.asks else enter
        settled = [present.SETTLED] if present.settled(plan) else []
        return [*lines, f"{key}: no file is changed.", *settled]
    redo, undo = "Redo ({common.redo}) brings", "Undo ({common.undo}) takes"
    back = keys.words(f"{redo if plan.kind == 'undo' else undo} all of it back.")
    rest = ["Git HEAD, index and branches are not touched."] if git else []
    rest += [after] if after else []
    said = [f"{yes if choice.asks else enter}: {what}. {back}"]
    return [*lines, *said, *([" ".join(rest)] if rest else [])]


def after_words(turn: Turn | None) -> str:
    """The next undo once this one is applied."""
    if turn is None:
        return "Nothing else is left to take back then."
    return f"Next undo then: {present.turn_title(turn, 40)}."


# --- The preview of a row ------------------------------------------------------------------------


def preview(choice: Choice, key: str) -> tuple[tuple[Change, ...], str]:
    """What would happen to the files of a row, from now to afterwards, and its title."""
    known = choice.entries()
    after = {"undo": "after undo", "redo": "after redo"}.get(choice.first.kind, "afterwards")
    kind, _, rest = key.partition(":")
    if kind == "left" and ":" in rest:
        path = bytes.fromhex(rest.partition(":")[2])
        found = [entry for entry in known.values() if entry.path == path]
        return _written(found), f"{safe(path)}: now → {after}"
    paths = choice.of_row(key) if kind in ("file", "group") else []
    ticked = [p for p in paths if p in known and (p in choice.ticked or not choice.can_choose)]
    written = _written([known[path] for path in ticked])
    if kind != "file":
        return written, f"now → {after}: {counted(len(written), 'file')}"
    (path,) = paths
    entry = known.get(path)
    name = safe(entry.path if entry is not None else path)
    if written:
        return written, f"{name}: now → {after}"
    file = next((one for one in choice.files if one.path == path), None)
    if file is None or file.change is None:
        return (), f"{name}: nothing would be changed here"
    change = file.change
    if entry is not None and path in choice.ticked | {one.path for one in choice.files if one.held}:
        whole = Change(entry.path, entry.expect, change.before, "no-record", (), ())
        return (whole,), f"{name}: left alone; taken back whole it would be"
    back = Change(path, change.after, change.before, "no-record", (), ())
    return (back,), f"{name}: not ticked; the turn's change, reversed"


def _written(entries: Sequence[PlanEntry]) -> tuple[Change, ...]:
    return tuple(
        Change(entry.path, entry.expect, entry.want, "no-record", (), ())
        for entry in entries
        if entry.action in ("restore", "delete", "merge")
    )
