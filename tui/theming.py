"""Colour themes: TOML files, shipped or the user's, read into Textual's themes.

A file that is partly wrong is still used: what is wrong in it does not count, and all of it is
said at once. What a theme leaves out comes from the shipped theme that is as dark as it is.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from takeback import themes
from takeback.engine.config import read_bytes
from takeback.tui.few_colors import COLORS, for_256, luminance, with_colors
from takeback.tui.terminal import Terminal
from takeback.tui.text import safe

DARK, LIGHT = "takeback-dark", "takeback-light"
ANSI, ANSI_LIGHT = "takeback-ansi", "takeback-ansi-light"
AUTO = "auto"
"""The setting that lets the terminal decide."""

STYLES = ("bold", "dim", "italic", "none", "reverse", "strike", "underline")
_TOP = ("name", "dark", "ansi", "colors", "variables")


@dataclass(frozen=True, slots=True)
class Read:
    """What a theme file holds.

    Attributes:
        theme: None where the file cannot be used at all.
        wrong: a sentence about each thing in it that does not count.
    """

    theme: Theme | None
    wrong: tuple[str, ...] = ()


class Known(Mapping[str, Theme]):
    """Themes by name; a shipped one is read when it is asked for."""

    def __init__(self, own: Mapping[str, Theme] | None = None) -> None:
        self._read = dict(own or {})
        self._names = tuple(sorted({*themes.names(), *self._read}))

    def __getitem__(self, name: str) -> Theme:
        if name not in self._read:
            theme = read(themes.read(name), f"{name}.toml", name).theme
            if theme is None:
                raise KeyError(name)
            self._read[name] = theme
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@dataclass(frozen=True, slots=True)
class Themes:
    """Every theme there is.

    Attributes:
        all: shipped ones and the user's, by name.
        own: the names of the user's.
        wrong: what is wrong in the user's files.
        notes: what is worth knowing and not wrong.
    """

    all: Known
    own: frozenset[str] = frozenset()
    wrong: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


# --- Reading -------------------------------------------------------------------------------------


def read(text: str, where: str, name: str = "") -> Read:
    """The theme of a TOML text.

    Args:
        where: the file, for sentences.
        name: the theme's name where the text has none.
    """
    file = f"The theme file {safe(where)}"
    try:
        found = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return Read(None, (f"{file} is no TOML and is not used: {safe(str(error))}.",))
    wrong = [f"{file}: {words}" for words in _unknown(found, _TOP, "")]
    for key, kind, words in (
        ("name", str, "a text"),
        ("dark", bool, "true or false"),
        ("ansi", bool, "true or false"),
        ("colors", dict, "a table"),
        ("variables", dict, "a table"),
    ):
        if key in found and (not isinstance(found[key], kind) or found[key] == ""):
            wrong.append(f"{file}: {key!r} is not {words}.")
            del found[key]
    colors, bad = _checked(found.get("colors", {}), COLORS, "colors.")
    roles, bad_roles = _checked(found.get("variables", {}), tuple(defaults()), "variables.")
    wrong += [f"{file}: {words}" for words in (*bad, *bad_roles)]
    if "primary" not in colors:
        wrong.append(f"{file} has no usable 'colors.primary' and is not used.")
        return Read(None, tuple(wrong))
    ansi = found.get("ansi", False)
    ground = colors.get("background", "")
    dark = found.get("dark", not ground or luminance(Color.parse(ground).rgb) < 0.2)
    theme = Theme(
        name=found.get("name", name),
        dark=dark,
        ansi=ansi,
        primary=colors["primary"],
        variables={**defaults(dark, ansi), **roles},
    )
    theme = with_colors(theme, colors)
    return Read(_plain(theme) if ansi else _with_boost(theme), tuple(wrong))


def _unknown(table: dict[str, Any], known: Iterable[str], before: str) -> list[str]:
    """A sentence about each key that there is not."""
    names = tuple(known)
    said = []
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, 1)
            hint = f" Did you mean '{before}{near[0]}'?" if near else ""
            said.append(f"the key '{before}{safe(key)}' is unknown.{hint}")
    return said


def _checked(
    table: dict[str, Any], known: Sequence[str], before: str
) -> tuple[dict[str, str], list[str]]:
    """The values of a table that count, and what is wrong with the others."""
    good: dict[str, str] = {}
    wrong = _unknown(table, known, before)
    for key, value in table.items():
        if key not in known:
            continue
        kind = "style" if key.endswith("-style") else "colour"
        bad = _bad_style(value) if kind == "style" else _bad_color(value)
        if bad is None:
            good[key] = value
        else:
            wrong.append(f"'{before}{key}' is no {kind}: {safe(repr(value))}.{bad}")
    return good, wrong


def _bad_color(value: object) -> str | None:
    """A hint about a value that is no colour; None where it is one."""
    if not isinstance(value, str):
        return ' A colour is a text such as "#7aa2f7".'
    try:
        Color.parse(value)
    except ColorParseError as error:
        near = error.suggested_color
        return f" Did you mean {near!r}?" if near else ""
    return None


def _bad_style(value: object) -> str | None:
    """A hint about a value that is no style of text; None where it is one."""
    words = value.split() if isinstance(value, str) else []
    if words and set(words) <= set(STYLES):
        return None
    odd = next((word for word in words if word not in STYLES), "")
    near = difflib.get_close_matches(odd, STYLES, 1)
    return f" Did you mean {near[0]!r}?" if near else f" Styles are {', '.join(STYLES)}."


def _plain(theme: Theme) -> Theme:
    """A theme of the terminal's own colours, with what Textual wants in one.

    It would make the grounds of such a theme see-through, and lines drawn in them vanish.
    """
    wanted = BUILTIN_THEMES["ansi-dark" if theme.dark else "ansi-light"].variables
    grounds = {
        name: value
        for name in ("surface", "panel", "boost")
        if (value := getattr(theme, name)) is not None
    }
    return replace(theme, variables={**wanted, **grounds, **theme.variables})


def _with_boost(theme: Theme) -> Theme:
    """A theme whose "boost" is shown: Textual looks at it only where there is no "panel"."""
    boost = theme.boost or theme.panel
    if boost is None:
        return theme
    return replace(theme, variables={"boost": boost, **theme.variables})


@cache
def _shipped(name: str) -> dict[str, Any]:
    return tomllib.loads(themes.read(name))


def defaults(dark: bool = True, ansi: bool = False) -> dict[str, str]:
    """A value for each role, for themes that leave one out."""
    names = (ANSI_LIGHT, ANSI) if ansi else (LIGHT, DARK)
    return dict(_shipped(names[dark])["variables"])


def load(folder: bytes) -> Themes:
    """Every shipped theme and those in a folder of the user's, and what was wrong with them."""
    found: dict[str, Theme] = {}
    shipped = frozenset(themes.names())
    own: dict[str, str] = {}
    wrong: list[str] = []
    notes: list[str] = []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(b".toml"))
    except OSError:
        names = []
    for name in names:
        path = os.path.join(folder, name)
        shown = safe(path)
        try:
            data = read_bytes(path)
            text = data.decode("utf-8") if data is not None else ""
        except UnicodeDecodeError:
            wrong.append(f"The theme file {shown} is not UTF-8 and is not used.")
            continue
        except OSError as error:
            wrong.append(f"The theme file {shown} cannot be read: {error.strerror}.")
            continue
        got = read(text, os.fsdecode(path), os.fsdecode(name).removesuffix(".toml"))
        wrong += got.wrong
        if got.theme is None:
            continue
        title = got.theme.name
        if title == AUTO:
            wrong.append(f"The theme file {shown} is not used: {AUTO!r} means the fitting theme.")
            continue
        if title in own:
            wrong.append(
                f"The theme {safe(title)!r} of {shown} is not used: {own[title]} has that name."
            )
            continue
        if title in shipped:
            notes.append(
                f"The theme {safe(title)!r} of {shown} takes the place of the shipped one."
            )
        own[title] = shown
        found[title] = got.theme
    return Themes(Known(found), frozenset(own), tuple(wrong), tuple(notes))


def missing(name: str, known: Iterable[str]) -> str:
    """The sentence about a theme that there is not."""
    near = difflib.get_close_matches(name, [*known, AUTO], 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"There is no theme {safe(name)!r}.{hint}"


# --- Choosing ------------------------------------------------------------------------------------


def chosen(wanted: str, known: Iterable[str], terminal: Terminal) -> tuple[str, str]:
    """The theme that a setting means on a terminal, and what has to be said about it.

    Args:
        wanted: the setting: a name, or `AUTO`.
    """
    plain = ANSI_LIGHT if terminal.light else ANSI
    few = terminal.colors in ("none", "16")
    fitting = plain if few else LIGHT if terminal.light else DARK
    if wanted == AUTO:
        return fitting, ""
    if wanted not in known:
        return fitting, f"{missing(wanted, known)} {fitting} is shown."
    # Only this one tells rows apart by more than their colours.
    return (plain if terminal.colors == "none" else wanted), ""


def adapted(theme: Theme, terminal: Terminal) -> Theme:
    """The theme in the colours that a terminal has."""
    return for_256(theme) if terminal.colors == "256" else theme
