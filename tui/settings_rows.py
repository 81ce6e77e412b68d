"""The settings as rows: what each does, its value, and where that comes from. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from takeback.engine import config
from takeback.engine.config import Config
from takeback.tui import keys, settings
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import safe
from takeback.tui.widgets.cells import fit
from takeback.tui.widgets.row_list import Row, Span

Source = Literal["default", "your file", "project's file"]
Kind = Literal["switch", "choice", "number", "text", "list"]

TABLE: dict[str, tuple[str, str]] = {
    "default_select": (
        "Undo",
        "What undo takes without a word: agent-edited files; those that changed while a command "
        "ran as well; or all.",
    ),
    "undo_skip": ("Undo", "Names or patterns of files that undo leaves alone and lists as kept."),
    "restore_mtime": ("Undo", "Files put back get the time they had (exact), or the time of now."),
    "dependency_guard": (
        "Undo",
        "Undo warns where files that stay use a name that it takes away.",
    ),
    "auto_include_deps": ("Undo", "Files that such a warning is about are taken back as well."),
    "snapshots": (
        "Snapshots",
        "Snapshots are taken at the begin and end of turns; without them only edit calls are kept.",
    ),
    "default_undo_skip": (
        "Snapshots",
        "Untracked names that are mostly built or downloaded, as node_modules, are passed over.",
    ),
    "max_file_size_mb": (
        "Snapshots",
        "Untracked files larger than this many MiB are not captured; tracked ones always are.",
    ),
    "snapshot_file_count_cap": (
        "Snapshots",
        "With more new files than this, one snapshot keeps only those that an edit call names.",
    ),
    "snapshot_total_size_cap_mb": (
        "Snapshots",
        "With more new MiB than this, one snapshot keeps only files that an edit call names.",
    ),
    "store_secrets": (
        "Snapshots",
        "Files whose names say that they hold secrets, as .env, are kept in the store as well.",
    ),
    "roots": ("Snapshots", "Folders outside the project that belong to it, as whole paths."),
    "allow_root": (
        "Snapshots",
        "Folders that may be projects although they are, or hold, a home folder.",
    ),
    "max_disk_mb_per_project": ("Disk", "So many MiB the store of one project may take."),
    "max_disk_mb_total": ("Disk", "So many MiB all stores together may take."),
    "max_turn_age_days": ("Disk", "Turns older than this many days may be forgotten."),
    "gc_interval_turns": ("Disk", "After so many turns the store is tidied up."),
    "tell_agent": ("Agents", "The agent is told at its next prompt what was taken back."),
    "theme": ("Screen", "The colours; auto lets the terminal decide. enter opens the chooser."),
    "glyphs": ("Screen", "The signs: Unicode, plain ASCII, or auto for what the terminal shows."),
    "keys": ("Screen", "A file of keys other than keys.toml in the folder of the settings."),
}
"""For each setting the group that it stands in, and one sentence of what it does."""

UNUSED = frozenset(
    {
        "auto_include_deps",
        "dependency_guard",
        "gc_interval_turns",
        "max_disk_mb_per_project",
        "max_turn_age_days",
        "roots",
    }
)
"""Settings that can be set and that nothing in the engine looks at yet: the screen says so."""

_NO_MATCH = "No setting matches. {common.go_back} shows all again."
GROUPS = ("Undo", "Snapshots", "Disk", "Agents", "Screen")
_LABEL = 28
_VALUE = 20


@dataclass(frozen=True, slots=True)
class Values:
    """The settings as they are.

    Attributes:
        now: what holds in the project.
        user: what holds without the project's file.
        own: the names that the user's file sets.
        file: the user's file, as it is shown; ``named``: that an environment variable put it there.
        waiting: what the project's file would loosen, once it is approved: name and value.
        keys: the file of keys, and whether it is there.
        looks: what "auto" means on this terminal: a setting's name and a value.
    """

    now: Config
    user: Config
    own: frozenset[str]
    file: str
    named: bool = False
    waiting: tuple[tuple[str, Any], ...] = ()
    keys: tuple[str, bool] = ("", False)
    looks: Mapping[str, str] | None = None


def kind(name: str) -> Kind:
    """How a setting is changed."""
    default = config.default_of(name)
    if isinstance(default, bool):
        return "switch"
    if config.choices(name):
        return "choice"
    if isinstance(default, int):
        return "number"
    return "list" if isinstance(default, tuple) else "text"


def following(name: str, value: Any) -> Any:
    """The next value of a switch or choice."""
    if isinstance(value, bool):
        return not value
    known = config.choices(name)
    return known[(known.index(value) + 1) % len(known)]


def source(name: str, values: Values) -> Source:
    """Where the value of a setting comes from."""
    if config.get(values.now, name) != config.get(values.user, name):
        return "project's file"
    return "your file" if name in values.own else "default"


def typed(name: str, value: Any) -> str:
    """A value as it stands in the line where it is changed."""
    return value if isinstance(value, str) else settings.written(value)


def rows(values: Values, glyphs: Glyphs, words: str = "", wide: bool = True) -> list[Row]:
    """One row for each setting, by group; first what waits for an approval, last what is wrong.

    Args:
        words: only settings that hold all of them in name, group or sentence.
        wide: whether there is room for the sentences and the defaults.
    """
    out: list[Row] = []
    if values.waiting and not words:
        text = f"{glyphs.warning} This project's .takeback.toml would lower the protection"
        out.append(
            Row(
                "approve",
                (Span(text, "warning"),),
                (Span(""), Span(keys.words("{settings.change} approves it"), "warning")),
                head=True,
            )
        )
        for name, wanted in values.waiting:
            now = safe(settings.written(config.get(values.now, name)))
            then = safe(settings.written(wanted))
            line = f"{name}: {now} would be {then}"
            out.append(Row(f"waiting:{name}", (Span(line, "warning"),), still=True, indent=2))
    wanted_words = words.casefold().split()
    for group in GROUPS:
        mine = [
            name
            for name in config.names()
            if TABLE[name][0] == group
            and all(word in f"{name} {' '.join(TABLE[name])}".casefold() for word in wanted_words)
        ]
        if mine:
            out.append(_heading(group, glyphs))
        out += [_row(name, values, wide) for name in mine]
    if not out:
        return [Row("empty", (Span(keys.words(_NO_MATCH), "muted"),), still=True)]
    if values.now.ignored and not words:
        out.append(_heading("What does not count in the files", glyphs))
        out += [
            Row(f"ignored:{at}", (Span(f"{glyphs.warning} {safe(text)}", "warning"),), indent=1)
            for at, text in enumerate(values.now.ignored)
        ]
    return out


def _heading(text: str, glyphs: Glyphs) -> Row:
    return Row(f"group:{text}", (Span(f"{glyphs.rule} {text} ", "muted"),), still=True)


def _row(name: str, values: Values, wide: bool) -> Row:
    value = config.get(values.now, name)
    shown = safe(settings.written(value))
    changed = value != config.default_of(name)
    came: str = source(name, values)
    lead = [Span(fit(name, _LABEL)), Span(shown, "title" if changed else "")]
    if wide:
        lead[1:] = [
            Span(fit(shown, _VALUE) + "  ", "title" if changed else ""),
            Span(TABLE[name][1], "muted"),
        ]
        if changed:
            came += f" (default {safe(settings.written(config.default_of(name)))})"
    return Row(f"setting:{name}", tuple(lead), (Span(""), Span(came, "muted")), indent=1)


def about(values: Values) -> str:
    """Where the user's settings are."""
    where = " (TAKEBACK_CONFIG_DIR)" if values.named else ""
    return f"Your own settings are in {values.file}{where}."


def details(row: Row | None, values: Values) -> list[str]:
    """What is said of the row under the cursor: what it does, its default, where it comes from."""
    if row is None:
        return []
    what, _, name = row.key.partition(":")
    if what == "approve":
        return [
            "The file came with the project: what lowers the protection counts once you approve "
            "its bytes as they are now.",
            keys.words("{settings.change} shows what it asks, {settings.agree} approves it."),
        ]
    if what == "ignored":
        return ["".join(span.text for span in row.lead)]
    if what != "setting":
        return []
    default = safe(settings.written(config.default_of(name)))
    unused = " Nothing uses this setting yet." if name in UNUSED else ""
    lines = [TABLE[name][1] + unused, f"Default: {default}. {_hint(name)}"]
    came = source(name, values)
    if came == "project's file":
        own = safe(settings.written(config.get(values.user, name)))
        lines.append(f"This project's .takeback.toml sets it; your own value is {own}.")
    elif came == "your file":
        lines.append("It is set in your own file.")
    looks = (values.looks or {}).get(name, "")
    if looks and config.get(values.now, name) == "auto":
        lines.append(f"On this terminal auto means {safe(looks)}.")
    if name == "keys":
        path, there = values.keys
        lines.append(f"The file of keys is {path}{'' if there else ' (there is none)'}.")
    return lines


def _hint(name: str) -> str:
    """How it is changed."""
    key = keys.first("settings.change")
    match kind(name):
        case "switch":
            return f"{key} switches it."
        case "choice":
            return f"{key} takes the next of {', '.join(config.choices(name))}."
        case "list":
            return f'{key} changes it: ["one", "two"].'
        case "number":
            return f"{key} changes it: a whole number."
        case _:
            return f"{key} changes it."


def loosening(ignored: Sequence[str], wanted: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What a project's file would lower: the names that were refused, with what the file sets."""
    return tuple(
        (name, config.check(name, value))
        for name, value in wanted.items()
        if any(text.startswith(f".takeback.toml: {name} would lower") for text in ignored)
    )
