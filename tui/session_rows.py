"""The rows of the sessions screen, and what is said of the session under the cursor. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from takeback.engine.model import HARMLESS_REASONS, NotCaptured, Operation, Session, Turn
from takeback.tui import keys, past, present
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, first_line, quoted, safe
from takeback.tui.timeline_parts import numbers
from takeback.tui.timeline_rows import day
from takeback.tui.widgets.cells import cell_len, fit
from takeback.tui.widgets.row_list import Role, Row, Span

Sort = Literal["newest", "files", "agent"]
SORTS: tuple[Sort, ...] = ("newest", "files", "agent")
SORT_WORDS = {"newest": "newest first", "files": "most files first", "agent": "by agent"}
_LONGEST_NAME = 16
_MOST_PATHS = 3
_LABEL = 14


@dataclass(frozen=True, slots=True)
class Where:
    """The project that a session belongs to.

    Attributes:
        words: its folder as it is shown.
        git: whether git knows it.
        here: whether it is the project that is open.
    """

    root: bytes
    words: str
    git: bool
    here: bool = True

    @property
    def name(self) -> str:
        """The last part of the folder, for a column."""
        return safe(self.root.rpartition(b"/")[2]) or self.words


@dataclass(frozen=True, slots=True)
class Summary:
    """A session in numbers.

    Attributes:
        at_ns: when something was last heard of it.
        order: the number of its last turn: what came later, within a project.
        unprotected: paths that no snapshot holds although they should.
        undone: turns that are taken back; ``partly`` where single files of others are.
        redo: undos of it that can be put back.
        text: all that the filter looks at.
    """

    session: Session
    where: Where
    title: str
    at_ns: int
    order: int
    files: int
    agent_edited: int
    unknown: int
    plus: int
    minus: int
    undone: int
    partly: bool
    redo: int
    missing: tuple[NotCaptured, ...]
    text: str

    @property
    def key(self) -> str:
        return f"session:{self.where.root.hex()}:{self.session.id}"

    @property
    def recorded(self) -> bool:
        return self.session.recorded

    @property
    def unprotected(self) -> tuple[NotCaptured, ...]:
        return tuple(item for item in self.missing if item.reason not in HARMLESS_REASONS)


@dataclass(frozen=True, slots=True)
class Unread:
    """A project whose sessions cannot be shown, or not all of them, and why."""

    words: str
    reason: str


def title_of(session: Session) -> str:
    """The title of a session, or its first prompt."""
    prompts = (first_line(turn.prompt) for turn in session.turns if turn.prompt)
    return first_line(session.title) or next(prompts, "") or f"Session {safe(session.id)}"


# --- Numbers -------------------------------------------------------------------------------------


def summaries(
    sessions: Sequence[Session], operations: Sequence[Operation], where: Where
) -> tuple[Summary, ...]:
    """Every session of a project in numbers; as many undos as can be put back with each."""
    of_turn = {turn.id: session.id for session in sessions for turn in session.turns}
    redo: dict[str, int] = {}
    for operation in operations:
        if operation.kind == "undo" and operation.state == "done" and operation.moves:
            found = {of_turn[turn] for turn in operation.targets if turn in of_turn}
            for name in found | {operation.session}:
                redo[name] = redo.get(name, 0) + 1
    return tuple(_summary(one, where, redo.get(one.id, 0)) for one in sessions)


def _summary(session: Session, where: Where, redo: int) -> Summary:
    changes = [change for turn in session.turns for change in turn.changes]
    files = {change.path for change in changes}
    unknown = {change.path for change in changes if change.origin == "unknown"}
    agent = {change.path for change in changes if change.origin == "agent-edited"}
    missing: dict[bytes, NotCaptured] = {}
    for turn in session.turns:
        for item in turn.not_captured:
            missing[item.path] = item
    last = session.turns[-1] if session.turns else None
    undone = sum(turn.undone for turn in session.turns)
    return Summary(
        session,
        where,
        title_of(session),
        max(last.ended_ns, last.last_event_ns, last.begun_ns) if last else session.begun_ns,
        max((turn.n for turn in session.turns), default=0),
        len(files),
        len(agent),
        len(unknown),
        _sum(change.plus for change in changes),
        _sum(change.minus for change in changes),
        undone,
        any(change.undone for change in changes) and not undone,
        redo,
        tuple(missing.values()),
        _text(session, files),
    )


def _sum(values: Iterable[int | None]) -> int:
    return sum(value or 0 for value in values)


def _text(session: Session, files: set[bytes]) -> str:
    parts = [safe(session.title), safe(session.agent), safe(session.id)]
    parts += [safe(turn.prompt) for turn in session.turns]
    parts += [safe(path) for path in files]
    return "\n".join(parts).casefold()


def matching(found: Sequence[Summary], words: str) -> list[Summary]:
    """The sessions that hold every word somewhere in title, prompts, agent or file names."""
    wanted = words.casefold().split()
    return [one for one in found if all(word in one.text for word in wanted)]


# --- Rows ----------------------------------------------------------------------------------------


def rows(
    found: Sequence[Summary],
    glyphs: Glyphs,
    now_ns: int,
    *,
    sort: Sort = "newest",
    wide: bool = True,
    projects: bool = False,
    unread: Sequence[Unread] = (),
) -> list[Row]:
    """One row for each session, grouped by day or agent.

    Args:
        wide: whether there is room for lines added and removed, and for all marks in words.
        projects: whether they are of several projects, which a column then names.
        unread: projects that cannot be read, named at the end.
    """
    ordered = sorted(found, key=lambda one: (one.at_ns, one.order), reverse=True)
    if not projects:
        # Within one project the clock does not count: what came later has the higher number.
        ordered.sort(key=lambda one: one.order, reverse=True)
    if sort == "files":
        ordered.sort(key=lambda one: -one.files)
    elif sort == "agent":
        ordered.sort(key=lambda one: one.session.agent.casefold())
    ordered.sort(key=lambda one: not one.recorded)
    agents = _width([safe(one.session.agent) for one in found])
    names = min(_width([one.where.name for one in found]), _LONGEST_NAME if wide else 10)
    agos = max((cell_len(_ago(one, now_ns, wide)) for one in found), default=0)
    out: list[Row] = []
    group = ""
    for one in ordered:
        name = _group(one, sort, now_ns)
        if name != group:
            out.append(_heading(f"{len(out)}:{name}", name, glyphs))
            group = name
        at = time.localtime(one.at_ns // 1_000_000_000)
        shape = (
            "%H:%M"
            if sort == "newest" and one.recorded
            else "%Y-%m-%d %H:%M"
            if wide
            else "%d %b %H:%M"
        )
        ago = _ago(one, now_ns, wide)
        when = time.strftime(shape, at) + "  " + " " * (agos - cell_len(ago)) + ago + "  "
        lead = [Span(when, "muted"), Span(fit(safe(one.session.agent), agents) + "  ", "agent")]
        files = counted(one.files, "file") if one.recorded else ""
        cells = [Span(counted(len(one.session.turns), "turn")), Span(files)]
        if wide:
            cells.append(numbers(one.plus, one.minus, glyphs))
        if projects:
            lead.append(Span(fit(one.where.name, names) + "  "))
            cells = cells if wide else cells[1:]
        lead.append(Span(one.title, "title"))
        out.append(Row(one.key, tuple(lead), (*cells, state(one, glyphs, wide)), head=True))
    if unread:
        out.append(_heading("unread", "Projects that cannot be shown, or not in full", glyphs))
        out += [
            Row(
                f"unread:{at}",
                (Span(f"{glyphs.warning} {item.words}: {item.reason}", "warning"),),
                still=True,
                indent=1,
            )
            for at, item in enumerate(unread)
        ]
    return out


def _heading(key: str, name: str, glyphs: Glyphs) -> Row:
    return Row(f"group:{key}", (Span(f"{glyphs.rule} {name} ", "muted"),), still=True)


def _group(one: Summary, sort: Sort, now_ns: int) -> str:
    if not one.recorded:
        return past.GROUP
    if sort == "newest":
        return day(one.at_ns, now_ns)
    if sort == "agent":
        return safe(one.session.agent) or "Unknown agent"
    return "Most files first"


def _width(names: Sequence[str]) -> int:
    return min(_LONGEST_NAME, max((cell_len(name) for name in names), default=0))


def _ago(one: Summary, now_ns: int, wide: bool) -> str:
    """How long ago, in a few cells."""
    if not one.at_ns:
        return "?"
    seconds = max(0, now_ns - one.at_ns) // 1_000_000_000
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}" + (" ago" if wide else "")
    return "now"


def _marks(one: Summary, glyphs: Glyphs) -> list[tuple[str, int, str, Role]]:
    """What is special about a session, the most important first: sign, number, word, role."""
    marks: list[tuple[str, int, str, Role]] = []
    if one.unprotected:
        marks.append((glyphs.warning, len(one.unprotected), "not protected", "warning"))
    if one.unknown:
        marks.append((glyphs.unknown, one.unknown, "unknown", "unknown"))
    if one.undone:
        marks.append((glyphs.undone, one.undone, "undone", "undone"))
    elif one.partly:
        marks.append((glyphs.undone, 0, "partly undone", "undone"))
    return marks


def state(one: Summary, glyphs: Glyphs, wide: bool) -> Span:
    """How it stands with a session: signs with words, as many words as there is room for."""
    words: list[str] = []
    role: Role = "muted"
    if not one.recorded:
        return Span(past.BEFORE, role)
    marks = _marks(one, glyphs)
    match one.session.state:
        case "running":
            words, role = [f"{glyphs.agent} running"], "running"
        case "interrupted":
            words, role = ["interrupted"], "warning"
        case _:
            if wide or not marks:
                words = [f"{glyphs.done} complete"]
    room = 2 if wide else 1
    for sign, number, word, mark_role in marks:
        shown = f"{number} {word}" if number else word
        words.append(f"{sign} {shown}" if len(words) < room else f"{sign}{number or ''}")
        if role == "muted":
            role = mark_role
    return Span("  ".join(words[:room]) + "".join(f" {word}" for word in words[room:]), role)


# --- Sentences -----------------------------------------------------------------------------------


def headline(
    shown: int,
    every: int,
    words: str,
    sort: Sort,
    projects: int,
    unread: int = 0,
    before: int = 0,
    older: int = 0,
) -> str:
    """What the list shows: how many of how many, in which order, of which projects.

    Args:
        projects: how many projects they are of, 0 for the open one alone.
        before: how many of all are from before takeback.
        older: how many more of these there are that were not read.
    """
    if words.strip():
        first = f"{shown} of {counted(every, 'session')} {'matches' if shown == 1 else 'match'}"
        first += f" {quoted(words.strip())}"
    else:
        first = counted(every, "session")
    first += f", {before} from {past.BEFORE}" if before else ""
    first += f" ({older} older not read)" if older else ""
    whose = f"all {counted(projects, 'project')}" if projects else "this project"
    parts = [first, SORT_WORDS[sort], whose]
    return "   ".join(parts + ([f"{unread} not readable"] if unread else []))


def empty(every: int, words: str, projects: bool) -> str:
    """Why the list is empty."""
    if every:
        back = keys.words("{common.go_back} shows all again.")
        return f"No session matches {quoted(words.strip())}. {back}"
    if projects:
        return "No project has a recorded session yet."
    return present.NOTHING_RECORDED


def details(one: Summary, glyphs: Glyphs, now_ns: int, tall: bool) -> list[str]:
    """Lines about a session, for below the list.

    Args:
        tall: whether there is room for nine of them instead of three.
    """
    last, files, redo = _last(one, glyphs, now_ns), _files(one, glyphs), _redo(one)
    missing = _missing(one.missing)
    project = f"{one.where.words} ({'git' if one.where.git else 'no git'})"
    if not tall:
        third = f"Not captured: {missing}" if missing else project
        return [last, f"{files}   Redo: {redo}" if one.recorded else files, third]
    session = one.session
    calls = sum(len(turn.calls) for turn in session.turns)
    began = f"{safe(session.agent) or 'unknown agent'}, began {present.when(session.begun_ns)}, "
    began += f"{counted(len(session.turns), 'turn')}, {counted(calls, 'call')}"
    title = f"{glyphs.rule} {one.title} "
    lines = [
        ("Project", project),
        ("Session", began),
        ("Last", last),
        *(("", _turn(turn)) for turn in session.turns[-2:-4:-1]),
        ("Files", files),
    ]
    if one.recorded:
        lines += [("Redo", redo), ("Not captured", missing or "nothing was left out")]
    return [title, *(f"{label:<{_LABEL}}{text}" for label, text in lines)]


def _last(one: Summary, glyphs: Glyphs, now_ns: int) -> str:
    """The last turn with its counts."""
    if not one.session.turns:
        return "no turn"
    turn = one.session.turns[-1]
    ago = f"{present.ago(now_ns - one.at_ns)} ago" if one.at_ns else ""
    parts = [counted(len(turn.calls), "call"), *filter(None, [_amount(turn)])]
    lines = numbers(
        _sum(change.plus for change in turn.changes),
        _sum(change.minus for change in turn.changes),
        glyphs,
    ).text
    marks = present.turn_marks(turn)
    return "  ".join(
        part for part in (present.turn_title(turn, 36), ", ".join(parts), lines, ago, marks) if part
    )


def _turn(turn: Turn) -> str:
    marks = present.turn_marks(turn)
    return "  ".join(part for part in (present.turn_title(turn, 48), _amount(turn), marks) if part)


def _amount(turn: Turn) -> str:
    if not turn.recorded:
        return ""
    return counted(len(turn.changes), "file") if turn.changes else "no file changed"


def _files(one: Summary, glyphs: Glyphs) -> str:
    if not one.recorded:
        return past.NOTHING
    if not one.files:
        return f"{glyphs.none} no file changed"
    parts = [f"{glyphs.agent} {one.agent_edited} agent-edited"] if one.agent_edited else []
    parts += [f"{glyphs.unknown} {one.unknown} of unknown origin"] if one.unknown else []
    parts += [f"{glyphs.undone} {counted(one.undone, 'turn')} undone"] if one.undone else []
    parts += [f"{glyphs.undone} partly undone"] if one.partly else []
    return "  ".join(parts)


def _redo(one: Summary) -> str:
    if one.redo:
        return f"{counted(one.redo, 'undo')} can be put back (U)"
    return "nothing to put back"


def _missing(entries: Sequence[NotCaptured]) -> str:
    """What no snapshot holds, those that should have been first."""
    ordered = sorted(entries, key=lambda item: item.reason in HARMLESS_REASONS)
    parts = [
        f"{'everything' if item.path == b'./' else safe(item.path)} "
        f"({present.reason_words(item.reason)})"
        for item in ordered[:_MOST_PATHS]
    ]
    if len(ordered) > _MOST_PATHS:
        parts.append(f"and {len(ordered) - _MOST_PATHS} more")
    return ", ".join(parts)
