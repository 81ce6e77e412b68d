"""Every key of the app as data: bindings, footer, help and the panel of chords come from here.

A key has one meaning on a screen. What would give it two is refused when this module is imported.
Users may change keys (`takeback.tui.keymap`): what is read here is the table in use.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from takeback.tui.glyphs import UNICODE, Glyphs

_OWN_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}


def _name_of(sign: str) -> str:
    """A sign as Textual calls its key."""
    name = unicodedata.name(sign, sign).lower().replace("-", "_").replace(" ", "_")
    return _OWN_NAMES.get(name, name)


def _named(key: str) -> str:
    """A key as Textual calls it; "?" and "ctrl+@" are written with the signs themselves."""
    before, last = key[:-1], key[-1]
    if (before and not before.endswith("+")) or last.isalnum():
        return key
    return before + _name_of(last)


SIGNS = {_name_of(sign): sign for sign in string.punctuation}
_SHOWN = {"escape": "esc", "pagedown": "pgdn", "pageup": "pgup"}


_PLACE = re.compile(r"\{(\w+\.\w+)\}")


class KeyClash(ValueError):
    """A key would have two meanings on one screen.

    Attributes:
        pair: the two rows.
    """

    def __init__(self, message: str, pair: tuple[Key, Key]) -> None:
        super().__init__(message)
        self.pair = pair


@dataclass(frozen=True, slots=True)
class Key:
    """One action and the keys that start it.

    Attributes:
        scope: where it holds, see `SCREENS`.
        keys: alternatives between commas; the keys of a chord between blanks ("ctrl+x u"); "" is
            no key at all.
        action: what is run, as Textual writes it.
        text: what it does, for the help.
        short: a word or two for the footer, "" to leave it out there.
        group: the heading in the panel of chords.
    """

    scope: str
    keys: str
    action: str
    text: str
    short: str = ""
    group: str = ""

    @property
    def id(self) -> str:
        """What the user's file calls it: "timeline.undo_here", "list.move_back"."""
        name, _, given = self.action.removeprefix("app.").removeprefix("screen.").partition("(")
        numbers = re.findall(r"-?\d+", given)
        parts = [name, *re.findall(r"'(\w+)'", given)]
        parts += ["half"] if len(numbers) > 1 else []
        parts += ["back" if number.startswith("-") else "forward" for number in numbers[:1]]
        return f"{self.scope}.{'_'.join(parts)}"

    @property
    def sequences(self) -> tuple[tuple[str, ...], ...]:
        """The alternatives, each as the keys that are pressed one after the other."""
        return tuple(
            tuple(map(_named, part.split())) for part in self.keys.split(",") if part.strip()
        )

    @property
    def shown(self) -> str:
        """All alternatives as a person reads them."""
        return "  ".join(shown(part) for part in self.keys.split(","))


@dataclass(slots=True)
class _InUse:
    """What holds now: read by all that shows or takes keys."""

    table: Sequence[Key]
    glyphs: Glyphs
    freed: frozenset[str]


def shown(keys: str) -> str:
    """The keys of one sequence as a person reads them."""
    arrows = {"down": _now.glyphs.down, "up": _now.glyphs.up}
    names = (SIGNS.get(key, key) for key in keys.split())
    return " ".join(_SHOWN.get(name) or arrows.get(name) or name for name in names)


TABLE = (
    Key("common", "ctrl+x u", "app.undo", "undo the last turn", "undo last", "Undo"),
    Key("common", "ctrl+x r", "app.redo", "redo what was undone last", "redo last", "Undo"),
    Key("common", "ctrl+x o", "app.result", "what the last operation did", "", "Undo"),
    Key("common", "ctrl+x c", "app.resume", "go on in the conversation, from where undo led", "",
        "Undo"),
    Key("common", "ctrl+x l", "app.go('sessions')", "sessions", "", "Go"),
    Key("common", "ctrl+x g", "app.go('timeline')", "timeline", "", "Go"),
    Key("common", "ctrl+x h", "app.go('history')", "history", "", "Go"),
    Key("common", "ctrl+x s", "app.go('storage')", "storage", "", "Go"),
    Key("common", "ctrl+x e", "app.go('settings')", "settings", "", "Go"),
    Key("common", "ctrl+x a", "app.go('first_run')", "agents, and what is protected", "", "Go"),
    Key("common", "ctrl+x t", "app.themes", "themes", "", "App"),
    Key("common", "ctrl+x k", "app.help", "keys", "", "App"),
    Key("common", "ctrl+x y", "app.picture", "copy the screen as SVG", "", "App"),
    Key("common", "ctrl+x q", "app.quit", "quit", "", "App"),
    Key("common", "?", "app.help", "this help", "help"),
    Key("common", "ctrl+p", "app.command_palette", "command palette"),
    Key("common", "tab", "app.focus_next", "next pane"),
    Key("common", "shift+tab", "app.focus_previous", "previous pane"),
    Key("common", "escape", "app.go_back", "back, or clear; never out of the app", "back"),
    Key("common", "q", "app.leave", "back, else quit", "quit"),
    Key("common", "ctrl+c", "app.interrupt", "copy what is selected, else twice: quit"),
    Key("main", "1", "app.go('sessions')", "sessions"),
    Key("main", "2", "app.go('timeline')", "timeline"),
    Key("main", "3", "app.go('history')", "history"),
    Key("main", "4", "app.go('storage')", "storage"),
    Key("main", "5", "app.go('settings')", "settings"),
    Key("list", "j,down", "move(1)", "next line"),
    Key("list", "k,up", "move(-1)", "previous line"),
    Key("list", "J", "head(1)", "next turn or group"),
    Key("list", "K", "head(-1)", "previous turn or group"),
    Key("list", "g g,home", "top", "first line", "", "Move"),
    Key("list", "G,end", "bottom", "last line"),
    Key("list", "ctrl+d", "page(1,2)", "half a page down"),
    Key("list", "ctrl+u", "page(-1,2)", "half a page up"),
    Key("list", "pagedown", "page(1)", "a page down"),
    Key("list", "pageup", "page(-1)", "a page up"),
    Key("filter", "/", "screen.filter", "filter the list", "filter"),
    Key("diff", "j,down", "lines(1)", "next line"),
    Key("diff", "k,up", "lines(-1)", "previous line"),
    Key("diff", "h,left", "columns(-8)", "to the left"),
    Key("diff", "l,right", "columns(8)", "to the right"),
    Key("diff", "]", "hunk(1)", "next hunk", "hunk"),
    Key("diff", "[", "hunk(-1)", "previous hunk"),
    Key("diff", "}", "file(1)", "next file", "file"),
    Key("diff", "{", "file(-1)", "previous file"),
    Key("diff", "s", "side", "old and new side by side, or not", "side by side"),
    Key("diff", "w", "wrap", "wrap long lines, or not", "wrap"),
    Key("diff", "+,=", "context(1)", "more lines around each change", "more"),
    Key("diff", "-", "context(-1)", "fewer lines around each change"),
    Key("diff", "/", "search", "search in the diff", "search"),
    Key("diff", "n", "match(1)", "next match"),
    Key("diff", "N", "match(-1)", "previous match"),
    Key("copy", "y", "copy", "copy what is selected, or the hunk as a patch", "copy"),
    Key("diff", "g g,home", "top", "first line", "", "Move"),
    Key("diff", "G,end", "bottom", "last line"),
    Key("diff", "ctrl+d", "page(1,2)", "half a page down"),
    Key("diff", "ctrl+u", "page(-1,2)", "half a page up"),
    Key("diff", "pagedown", "page(1)", "a page down"),
    Key("diff", "pageup", "page(-1)", "a page up"),
    Key("sessions", "enter", "screen.open", "open the session", "open"),
    Key("sessions", "u", "screen.undo_here", "undo the last turn of this session", "undo this"),
    Key("sessions", "U", "screen.redo_here", "redo what was undone of this session", "redo this"),
    Key("sessions", "p", "screen.projects", "sessions of all projects, or of this one", "projects"),
    Key("sessions", "s", "screen.sort", "sort: newest, most files, agent", "sort"),
    Key("timeline", "u", "screen.undo_here", "undo this line, or what is marked", "undo this"),
    Key("timeline", "U", "screen.redo_here", "redo what was undone of this line", "redo this"),
    Key("timeline", "d", "screen.diff", "the diff of this line", "diff"),
    Key("turns", "space", "screen.mark", "mark a turn, call or file", "mark"),
    Key("turns", "v", "screen.range", "mark from the last mark to here", "range"),
    Key("turns", "c", "screen.resume_here", "go on in the conversation from before this turn",
        "go on"),
    Key("turns", "enter", "screen.open", "unfold, else the diff"),
    Key("turns", "z", "screen.fold", "fold or unfold", "fold"),
    Key("turns", "Z", "screen.fold_all", "all unfolded, all folded, as usual"),
    Key("turns", "F", "screen.follow", "follow the agent, or stop it"),
    Key("turns", "<", "screen.split(-1)", "less room for the list"),
    Key("turns", ">", "screen.split(1)", "more room for the list"),
    Key("themes", "enter", "screen.keep", "keep this theme", "keep"),
    Key("history", "enter,d", "screen.diff", "what this operation did", "diff"),
    Key("history", "R", "screen.restore", "restore what stood before this operation", "restore"),
    Key("history", "y", "screen.copy_id", "copy the operation's id", "copy id"),
    Key("settings", "enter", "screen.change", "change the setting", "change"),
    Key("settings", "x", "screen.default", "back to its default", "default"),
    Key("settings", "y", "screen.agree", "yes, where the change asks", "yes"),
    Key("first_run", "enter", "screen.open", "connect, count again, or try the demo", "open"),
    Key("first_run", "c", "screen.connect", "connect the agent, for all projects", "connect"),
    Key("first_run", "C", "screen.connect('project')", "connect the agent, for this project"),
    Key("first_run", "x", "screen.disconnect", "disconnect the agent", "disconnect"),
    Key("first_run", "y", "screen.agree", "change the files as they are shown", "yes"),
    Key("first_run", "d", "screen.demo", "try everything on a throw-away project", "demo"),
    Key("storage", "enter", "screen.open", "what is not captured in this project", "not captured"),
    Key("storage", "p", "screen.prune", "clean up: what it would do, first", "clean up"),
    Key("storage", "y", "screen.agree", "clean up, after it was shown", "yes"),
    Key("storage", "v", "screen.verify", "check everything that is kept", "check"),
    Key("undo", "enter", "screen.apply", "do it, if the plan asks nothing", "apply"),
    Key("undo", "y", "screen.agree", "do it, where the plan asks", "yes"),
    Key("undo", "space", "screen.tick", "tick a file or a group", "tick"),
    Key("undo", "a", "screen.group", "tick all of the group", "group"),
    Key("undo", "A", "screen.all", "tick all, unknown origin too", "all"),
    Key("undo", "c", "screen.choose", "a file that changed since: merge, keep, take back whole",
        "choice"),
    Key("undo", "o", "screen.overwrite", "files in conflict: take all of them back whole, or not"),
    Key("undo", "b", "screen.both", "files only, or the conversation afterwards as well"),
    Key("undo", "<", "screen.other(-1)", "the turn before, if something of it stands", "older"),
    Key("undo", ">", "screen.other(1)", "the turn after, if something of it stands", "newer"),
    Key("undo", "d", "screen.diff", "what this would change", "diff"),
    Key("result", "enter", "screen.close", "close", "close"),
    Key("result", "c", "screen.resume", "go on in the conversation from there", "go on"),
    Key("result", "y", "screen.copy", "copy the operation's id", "copy id"),
    Key("resume", "enter", "screen.go", "do what the line says", "do it"),
    Key("resume", "y", "screen.copy", "copy the command", "copy command"),
)  # fmt: skip

MAIN = {
    "sessions": ("1", "Sessions", "Sess"),
    "timeline": ("2", "Timeline", "Time"),
    "history": ("3", "History", "Hist"),
    "storage": ("4", "Storage", "Store"),
    "settings": ("5", "Settings", "Set"),
}
"""The main screens: key, name, and a name for narrow terminals."""

TITLES = {
    "common": "Everywhere",
    "main": "Screens",
    "sessions": "Sessions",
    "timeline": "Timeline",
    "turns": "Turns and their parts",
    "themes": "Themes",
    "history": "History",
    "settings": "Settings",
    "first_run": "Agents",
    "storage": "Storage",
    "undo": "Undo and redo",
    "result": "What was done",
    "resume": "Conversation",
    "list": "Lists",
    "filter": "Filter",
    "diff": "Diffs",
    "copy": "Diffs, where y does not mean yes",
}

SCREENS = {
    "sessions": (("common", "main", "sessions", "list", "filter"),),
    "timeline": (
        ("common", "main", "timeline", "turns", "list", "filter"),
        ("common", "main", "timeline", "diff", "copy"),
    ),
    "history": (
        ("common", "main", "history", "list", "filter"),
        ("common", "main", "history", "diff"),
    ),
    "storage": (("common", "main", "storage", "list"),),
    "settings": (("common", "main", "settings", "list", "filter"),),
    "first_run": (("common", "main", "first_run", "list"),),
    "undo": (("common", "undo", "list"), ("common", "undo", "diff")),
    "result": (("common", "main", "result", "list"),),
    "resume": (("common", "main", "resume", "list"),),
    "listing": (("common", "main", "list"),),
    "help": (("common", "list"),),
    "themes": (("common", "themes", "list"),),
    "diff": (("common", "diff", "copy"),),
}
"""The scopes that hold together: one tuple for each pane of a screen that can have the focus."""


_now = _InUse(TABLE, UNICODE, frozenset())


def use(table: Sequence[Key], glyphs: Glyphs = UNICODE) -> None:
    """Let another table hold from now on, and show keys with these signs."""
    kept = {sequence for key in table for sequence in key.sequences}
    before = {sequence for key in TABLE for sequence in key.sequences}
    _now.table = table
    _now.glyphs = glyphs
    _now.freed = frozenset(one[0] for one in before - kept if len(one) == 1)


def table() -> Sequence[Key]:
    """The rows in use, also those without a key."""
    return _now.table


def freed() -> frozenset[str]:
    """Keys that would mean something by default and no longer do."""
    return _now.freed


def of(*scopes: str) -> Iterator[Key]:
    """The keys of some scopes, in the order of the table."""
    return (key for key in _now.table if key.scope in scopes and key.keys)


def of_screen(name: str) -> list[Key]:
    """Every key of a screen, the same action once."""
    wanted = {scope for scopes in SCREENS[name] for scope in scopes}
    return list(of(*wanted))


def first(id: str) -> str:
    """The first key of an action as a person reads it; "" where it has none."""
    found = next((key for key in _now.table if key.id == id and key.keys), None)
    return shown(found.keys.split(",")[0]) if found is not None else ""


def words(text: str) -> str:
    """A sentence with the keys in use: "{common.redo} puts it back"."""
    return _PLACE.sub(lambda found: first(found[1]) or "(no key)", text)


def check(keys: Iterable[Key], where: str) -> None:
    """Refuse keys with two meanings, or that stand at the beginning of another's chord.

    Raises:
        KeyClash: naming both.
    """
    whole: dict[tuple[str, ...], Key] = {}
    begun: dict[tuple[str, ...], tuple[tuple[str, ...], Key]] = {}
    for key in keys:
        for sequence in key.sequences:
            other = begun.get(sequence)
            for length in range(1, len(sequence) + 1):
                start = sequence[:length]
                other = other or ((start, whole[start]) if start in whole else None)
            if other is not None:
                raise KeyClash(
                    f"On {where!r} {' '.join(sequence)!r} means {key.text!r} and "
                    f"{' '.join(other[0])!r} means {other[1].text!r}.",
                    (other[1], key),
                )
        for sequence in key.sequences:
            whole[sequence] = key
            for length in range(1, len(sequence) + 1):
                begun.setdefault(sequence[:length], (sequence, key))


def check_all(table: Iterable[Key]) -> None:
    """Refuse a table that would give a key two meanings on any screen.

    Raises:
        KeyClash: naming both.
    """
    rows = list(table)
    for name, panes in SCREENS.items():
        for scopes in panes:
            check((key for key in rows if key.scope in scopes), name)


check_all(TABLE)
