"""What takeback found on this machine, before anything is recorded: rows and sentences. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from takeback.engine.record.look import Look
from takeback.tui import keys, present
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, joined, safe
from takeback.tui.upkeep_lines import size
from takeback.tui.widgets.row_list import Role, Row, Span

_LABEL = 14
_ORDER = ("too-large", "unreadable", "fuse", "failed", "secret", "ignored", "excluded", "special")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that takeback can be connected to.

    Attributes:
        there: whether its program is found on this machine.
        connected: whether something of ours stands in its settings.
        said: how it is connected, in sentences; ``wrong`` where it does not work.
    """

    name: str
    title: str
    program: str
    there: bool
    connected: bool
    said: tuple[str, ...]
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Counted:
    """How far the dry look at the project is.

    Attributes:
        look: what came of it.
        far: files seen so far.
        failed: why there is no look.
    """

    look: Look | None = None
    far: int = 0
    failed: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that the screen shows.

    Attributes:
        others: programs of agents that are there and cannot be connected yet.
        refused: why the folder is no project, or "".
        store: where the record will be.
        made: whether it is there already.
        sessions: how many sessions are recorded.
        limit_mb: files beyond it are not captured.
    """

    agents: tuple[Agent, ...]
    others: tuple[str, ...]
    folder: str
    git: bool
    refused: str
    store: str
    made: bool
    sessions: int
    limit_mb: int


def next_words(found: Found) -> str:
    """What to do now, in one sentence."""
    if found.refused:
        return f"No snapshot is taken here: {safe(found.refused)}. Go to a project's folder."
    ready = [one for one in found.agents if one.connected and not one.wrong]
    if found.sessions:
        back = keys.words("{common.go_back} goes back.")
        return f"{counted(found.sessions, 'session')} recorded here. {back}"
    if ready:
        named = " or ".join(one.program for one in ready)
        return f"Start {named} here and give it a prompt; its turns appear by themselves."
    if any(one.there for one in found.agents):
        how = keys.words("Connect an agent with {first_run.open}:")
        return f"{how} what it changes in files is then recorded here."
    if found.others:
        return f"Record with: takeback run -- {found.others[0]}"
    return "Start any agent with: takeback run -- COMMAND"


def rows(found: Found, counted_: Counted, glyphs: Glyphs) -> list[Row]:
    """The whole screen, top to bottom."""
    out = [Row("next", (Span(next_words(found), "title"),), still=True), _gap(0)]
    out.append(_heading("agents", "Agents on this machine", glyphs))
    out += [row for one in found.agents for row in _agent(one, glyphs)]
    out += [
        Row(
            f"other:{name}",
            (Span(f"{name:<{_LABEL}}"), Span("found; not connected yet by this version")),
            (Span("", "muted"), Span(f"takeback run -- {name}", "muted")),
            head=True,
            indent=1,
        )
        for name in found.others
    ]
    out += [_gap(1), _heading("project", "This project", glyphs)]
    out += [_line("folder", "Folder", f"{found.folder} ({'git' if found.git else 'no git'})")]
    if found.refused:
        text = f"{glyphs.warning} nothing: {safe(found.refused)}"
        out.append(_line("refused", "Protected", text, "warning"))
    else:
        out += _protected(found, counted_, glyphs)
        lead = (Span(f"{'Store':<{_LABEL}}", "muted"), Span(found.store, "", True))
        out.append(Row("project:store", lead, still=True, indent=1))
        if not found.made:
            out.append(_line("made", "", "made with the first turn that is recorded", "muted"))
    out += [_gap(2), _heading("demo", "Try it first", glyphs)]
    said = "a throw-away project with a recorded session (takeback demo)"
    out.append(Row("demo", (Span(f"{'Demo':<{_LABEL}}", "title"), Span(said)), head=True, indent=1))
    return out


def _gap(number: int) -> Row:
    return Row(f"gap:{number}", (Span(""),), still=True)


def _heading(key: str, text: str, glyphs: Glyphs) -> Row:
    return Row(f"heading:{key}", (Span(f"{glyphs.rule} {text} ", "muted"),), still=True)


def _line(key: str, label: str, text: str, role: Role = "") -> Row:
    lead = (Span(f"{label:<{_LABEL}}", "muted"), Span(text, role))
    return Row(f"project:{key}", lead, still=True, indent=1)


def _agent(one: Agent, glyphs: Glyphs) -> list[Row]:
    """An agent with how it stands with it; what is wrong on lines of its own."""
    if one.wrong:
        state = Span(f"{glyphs.warning} does not work", "warning")
    elif one.connected:
        state = Span(f"{glyphs.done} connected", "agent")
    else:
        state = Span(f"{glyphs.none} not connected", "muted")
    there = "found" if one.there else f"{one.program} was not found on this machine"
    about = one.said[0] if one.said and (one.connected or one.wrong) else there
    lead = (Span(f"{one.title:<{_LABEL}}", "title"), Span(about, "warning" if one.wrong else ""))
    out = [Row(f"agent:{one.name}", lead, (Span("", "muted"), state), head=True, indent=1)]
    out += [
        Row(f"said:{one.name}:{at}", (Span(text, "muted"),), still=True, indent=_LABEL + 1)
        for at, text in enumerate(one.said[1:])
    ]
    return out


def _protected(found: Found, counted_: Counted, glyphs: Glyphs) -> list[Row]:
    """How much a snapshot would hold, and what not and why."""
    look = counted_.look
    if look is None:
        if counted_.failed:
            text = f"{glyphs.warning} not known: {counted_.failed}"
            return [_again(text, "warning")]
        return [_line("count", "Protected", f"counting{glyphs.more} {counted_.far} files")]
    out = [_again(f"{counted(look.files, 'file')}, {size(look.size)}")]
    if look.too_much:
        text = f"{glyphs.warning} {present.REASONS['fuse']}: only files that an edit call names"
        out.append(_line("fuse", "", f"{text} are kept", "warning"))
    label = "Left out"
    for reason in sorted(look.left_out, key=lambda one: _ORDER.index(one)):
        left = look.left_out[reason]
        names = [safe(name) for name in left.names]
        more = left.count - len(names)
        text = ", ".join(names) + (f" and {more} more" if more else "")
        words = present.reason_words(reason)
        if reason == "too-large":
            words += f" of {found.limit_mb} MiB"
        role: Role = "warning" if reason in ("too-large", "unreadable") else "muted"
        out.append(_line(f"left:{reason}", label, f"{left.count} {words}: {text}", role))
        label = ""
    return out


def _again(text: str, role: Role = "") -> Row:
    """The row of what is counted: enter counts again."""
    lead = (Span(f"{'Protected':<{_LABEL}}", "muted"), Span(text, role))
    return Row("count", lead, head=True, indent=1)


# --- A plan that is shown first ------------------------------------------------------------------


def plan_rows(title: str, lines: Sequence[str]) -> list[Row]:
    """What connecting or disconnecting changes, line by line as the command line shows it."""
    out = [Row("plan", (Span(title, "title"),), head=True)]
    for at, line in enumerate(lines):
        role: Role = ""
        if line.startswith(("---", "+++", "@@")):
            role = "muted"
        elif line.startswith("+"):
            role = "added"
        elif line.startswith("-"):
            role = "removed"
        out.append(Row(f"plan:{at}", (Span(line, role),), indent=1))
    return out


def plan_title(agent: str, kind: str, files: Sequence[str]) -> str:
    """What the plan is, in one line."""
    verb = "Connecting" if kind == "connect" else "Disconnecting"
    return f"{verb} {agent} changes {joined([safe(name) for name in files])}:"
