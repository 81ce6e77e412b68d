"""The user's ``keys.toml``: other keys for the actions of `takeback.tui.keys`.

A line is ``"timeline.undo_here" = "U"`` in the table ``[keys]``: alternatives between commas, the
keys of a chord between blanks, and "" for no key. A line that cannot be used does not count and
is said; all others do.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from takeback.engine.config import read_bytes
from takeback.tui import keys
from takeback.tui.keys import Key, KeyClash
from takeback.tui.text import safe

FILE = b"keys.toml"

_NAMED = (
    "escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup",
    "pagedown", "up", "down", "left", "right", *(f"f{number}" for number in range(1, 25)),
)  # fmt: skip
_MODIFIERS = ("ctrl", "alt", "shift", "super", "meta", "hyper")
_MEANT = {
    "esc": "escape", "return": "enter", "cr": "enter", "del": "delete", "ins": "insert",
    "pgup": "pageup", "pgdn": "pagedown", "page_up": "pageup", "page_down": "pagedown",
    "bs": "backspace", "spc": "space",
}  # fmt: skip
_SAME = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "escape", "ctrl+h": "backspace"}
"""Keys that a terminal sends as another one."""


def path_of(folder: bytes, named: str = "") -> bytes:
    """The user's file of keys, see `load`."""
    return os.path.join(folder, os.fsencode(os.path.expanduser(named)) or FILE)


def load(folder: bytes, named: str = "") -> tuple[tuple[Key, ...], tuple[str, ...]]:
    """The table with the user's keys, and what does not count in the file.

    Args:
        folder: that of the settings.
        named: another file, from the setting ``keys``; relative to that folder.
    """
    path = path_of(folder, named)
    shown = safe(path)
    try:
        data = read_bytes(path)
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        return keys.TABLE, (f"The file of keys {shown} cannot be read: {safe(words)}.",)
    if data is None:
        said = (f"There is no file of keys {shown}, which the setting 'keys' names.",)
        return keys.TABLE, said if named else ()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return keys.TABLE, (f"The file of keys {shown} is not UTF-8 and is not used.",)
    return read(text, shown)


def read(text: str, where: str) -> tuple[tuple[Key, ...], tuple[str, ...]]:
    """The table with the keys of a TOML text, and what does not count in it.

    Args:
        where: the file, safe to show.
    """
    file = f"The file of keys {where}"
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return keys.TABLE, (f"{file} is no TOML and is not used: {safe(str(error))}.",)
    known = {key.id: None for key in keys.TABLE}
    wanted: dict[str, str] = {}
    said: list[str] = []
    for id, value in _flat(found):
        wrong = _wrong(id, value, known)
        if wrong:
            said.append(f"{file}: {wrong}")
        else:
            wanted[id] = value
    while True:
        table = _with(wanted)
        try:
            keys.check_all(table)
        except KeyClash as clash:
            # The later one of two lines of the file gives way, and never a default.
            first, second = (list(wanted).index(k.id) if k.id in wanted else -1 for k in clash.pair)
            loser = clash.pair[0] if first > second else clash.pair[1]
            said.append(
                f"{file}: '{loser.id}' = '{safe(wanted.pop(loser.id))}' does not count. {clash}"
            )
        else:
            return table, tuple(said)


def _flat(table: dict[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """The lines of a file, however they are nested."""
    for name, value in table.items():
        id = f"{before}{name}"
        if isinstance(value, dict):
            yield from _flat(value, "" if id == "keys" else f"{id}.")
        else:
            yield id, value


def _with(wanted: dict[str, str]) -> tuple[Key, ...]:
    """The table with some actions on other keys; each of these is one row then."""
    table: list[Key] = []
    done = set()
    for row in keys.TABLE:
        if row.id not in wanted:
            table.append(row)
        elif row.id not in done:
            done.add(row.id)
            same = [key for key in keys.TABLE if key.id == row.id]
            short = next((key for key in same if key.short), row)
            group = next((key.group for key in same if key.group), "")
            table.append(replace(short, keys=wanted[row.id], group=group))
    return tuple(table)


def _wrong(id: str, value: object, known: Iterable[str]) -> str:
    """Why a line does not count; "" where it does."""
    known = tuple(known)
    if id not in known:
        near = difflib.get_close_matches(id, known, 1)
        hint = f" Did you mean '{near[0]}'?" if near else " The help (?) names them."
        return f"there is no action '{safe(id)}'.{hint}"
    if not isinstance(value, str):
        return f"'{id}' is no text: {safe(repr(value))}. Keys are written as \"ctrl+x u\"."
    for part in value.split(",") if value.strip() else ():
        pressed = part.split()
        if not pressed:
            return f"'{id}' = '{safe(value)}' has nothing between two commas. The key is 'comma'."
        for key in pressed:
            odd = unusable(key)
            if odd is not None:
                return f"'{id}' = '{safe(value)}': there is no key '{safe(key)}'.{odd}"
    return ""


def unusable(key: str) -> str | None:
    """A hint about what is no key; None for what is one."""
    if key in _SAME:
        return f" A terminal sends it as '{_SAME[key]}'."
    modifiers, base = _parts(key)
    for modifier in modifiers:
        if modifier not in _MODIFIERS:
            return _near(modifier, _MODIFIERS)
    if len(base) == 1:
        if not base.isprintable():
            return ""
        if "shift" in modifiers and base.isalpha():
            rest = [name for name in modifiers if name != "shift"]
            return f" Did you mean '{'+'.join([*rest, base.upper()])}'?"
        if "ctrl" in modifiers and base != base.lower():
            return f" Did you mean '{'+'.join([*modifiers, base.lower()])}'?"
        return None
    if base in _NAMED or base in keys.SIGNS:
        return None
    if base in _MEANT:
        return f" Did you mean '{'+'.join([*modifiers, _MEANT[base]])}'?"
    return _near(base, (*_NAMED, *keys.SIGNS))


def _parts(key: str) -> tuple[list[str], str]:
    """The modifiers of a key, and the key without them; "+" is a key, too."""
    before, plus, last = key.rpartition("+")
    if plus and not last:
        before, last = before.removesuffix("+"), "+"
    return before.split("+") if before else [], last


def _near(word: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(word.lower(), known, 1)
    return f" Did you mean '{near[0]}'?" if near else ""
