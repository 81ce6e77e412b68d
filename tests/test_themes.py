"""Shipped themes: only known keys, every role, and text that can be read on every ground."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest

from takeback import themes

COLORS = {
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "boost",
    "success",
    "warning",
    "error",
}
TEXT = {
    "tb-agent",
    "tb-unknown",
    "tb-undone",
    "tb-running",
    "tb-conflict",
    "tb-warning",
    "tb-muted",
}
PAIRS = {
    "tb-added": {"tb-added-ground", "tb-added-word"},
    "tb-removed": {"tb-removed-ground", "tb-removed-word"},
    "tb-cursor-text": {"tb-cursor", "tb-marked"},
}
VARIABLES = TEXT | set(PAIRS) | {ground for grounds in PAIRS.values() for ground in grounds}
GROUNDS = ("background", "surface", "panel")
AA = 4.5


def load(name: str) -> dict[str, Any]:
    return tomllib.loads(themes.read(name))


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_the_one_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_dark_and_light_are_shipped() -> None:
    assert {"takeback-dark", "takeback-light"} <= set(themes.names())


def test_an_unknown_theme_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        themes.read("../pyproject")


@pytest.mark.parametrize("name", themes.names())
def test_a_theme_has_every_key_and_no_other(name: str) -> None:
    theme = load(name)
    assert set(theme) == {"name", "dark", "colors", "variables"}
    assert theme["name"] == name
    assert isinstance(theme["dark"], bool)
    assert set(theme["colors"]) == COLORS
    assert set(theme["variables"]) == VARIABLES
    for table in ("colors", "variables"):
        for key, value in theme[table].items():
            assert re.fullmatch(r"#[0-9a-f]{6}", value), f"{table}.{key}"


@pytest.mark.parametrize("name", themes.names())
def test_text_can_be_read_on_every_ground(name: str) -> None:
    theme = load(name)
    colors, variables = theme["colors"], theme["variables"]
    grounds = {key: colors[key] for key in GROUNDS}
    grounds |= {key: variables[key] for key in ("tb-cursor", "tb-marked")}
    texts = {key: variables[key] for key in TEXT} | {"foreground": colors["foreground"]}
    texts |= {key: colors[key] for key in ("primary", "accent", "success", "warning", "error")}
    pairs = [(t, text, g, ground) for t, text in texts.items() for g, ground in grounds.items()]
    for key, on in PAIRS.items():
        for ground in on:
            pairs.append((key, variables[key], ground, variables[ground]))
            pairs.append(("foreground", colors["foreground"], ground, variables[ground]))
    for key in ("tb-added", "tb-removed"):
        pairs.append((key, variables[key], "background", colors["background"]))
    low = {
        f"{t} on {g}": round(contrast(text, ground), 2)
        for t, text, g, ground in pairs
        if contrast(text, ground) < AA
    }
    assert low == {}


@pytest.mark.parametrize("name", themes.names())
def test_a_theme_is_as_dark_as_it_says(name: str) -> None:
    theme = load(name)
    assert (luminance(theme["colors"]["background"]) < 0.2) is theme["dark"]


@pytest.mark.parametrize("name", themes.names())
def test_textual_accepts_it(name: str) -> None:
    from textual.theme import Theme

    theme = load(name)
    made = Theme(
        name=name, dark=theme["dark"], variables=theme["variables"], **theme["colors"]
    ).to_color_system()
    assert made.generate()["primary"]
