"""Colour themes: TOML files, shipped or the user's, read into Textual's themes."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable
from functools import cache
from typing import Any

from textual.color import Color, ColorParseError
from textual.theme import Theme

from takeback import themes
from takeback.engine.errors import UsageError

DEFAULT = "takeback-dark"
_COLORS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "boost",
    "success", "warning", "error",
)  # fmt: skip
_TOP = ("name", "dark", "colors", "variables")


class ThemeError(UsageError):
    """A theme file cannot be used."""


def parse(text: str, where: str) -> Theme:
    """The theme of a TOML text.

    Raises:
        ThemeError: with the file and the key that is wrong.
    """
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ThemeError(f"The theme {where!r} is no TOML: {error}.") from error
    _known(found, _TOP, where, "")
    name, dark = found.get("name"), found.get("dark", True)
    if not isinstance(name, str) or not name:
        raise ThemeError(f"The theme {where!r} has no 'name'.")
    if not isinstance(dark, bool):
        raise ThemeError(f"In the theme {where!r} 'dark' is not true or false.")
    colors = _table(found, "colors", _COLORS, where)
    if "primary" not in colors:
        raise ThemeError(f"The theme {where!r} has no 'colors.primary'.")
    roles = tuple(defaults()) if where != DEFAULT else ()
    variables = _table(found, "variables", roles, where)
    return Theme(name=name, dark=dark, variables={**variables}, **colors)


def _table(found: dict[str, Any], name: str, known: Iterable[str], where: str) -> dict[str, Any]:
    table = found.get(name, {})
    if not isinstance(table, dict):
        raise ThemeError(f"In the theme {where!r} {name!r} is no table.")
    _known(table, known, where, f"{name}.")
    for key, value in table.items():
        try:
            Color.parse(value)
        except (ColorParseError, TypeError, AttributeError) as error:
            raise ThemeError(
                f"In the theme {where!r} '{name}.{key}' is no colour: {value!r}."
            ) from error
    return table


def _known(table: dict[str, Any], known: Iterable[str], where: str, before: str) -> None:
    names = tuple(known)
    for key in table:
        if names and key not in names:
            near = difflib.get_close_matches(key, names, 1)
            raise ThemeError(
                f"In the theme {where!r} the key '{before}{key}' is unknown.",
                f"Did you mean '{before}{near[0]}'?" if near else "",
            )


@cache
def defaults() -> dict[str, str]:
    """A colour for each role, for themes that leave one out."""
    theme = tomllib.loads(themes.read(DEFAULT))
    return {key: str(value) for key, value in theme["variables"].items()}


def load(folder: str) -> tuple[list[Theme], list[str]]:
    """Every shipped theme and those in a folder of the user's, and what was wrong with them."""
    found = {name: parse(themes.read(name), name) for name in themes.names()}
    said: list[str] = []
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".toml"))
    except OSError:
        names = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                theme = parse(file.read(), path)
        except (OSError, UnicodeDecodeError) as error:
            said.append(f"The theme {path!r} cannot be read: {error}.")
        except ThemeError as error:
            said.append(f"{error.message} {error.hint}".rstrip())
        else:
            found[theme.name] = theme
    return list(found.values()), said
