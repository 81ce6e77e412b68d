"""Shipped themes: only known keys, every role, and text that can be read on every ground."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from rich.color import Color, ColorSystem
from textual.theme import Theme

from takeback import themes
from takeback.tui import theming
from takeback.tui.terminal import Terminal

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
PAIRS = {
    "tb-added": {"tb-added-ground", "tb-added-word"},
    "tb-removed": {"tb-removed-ground", "tb-removed-word"},
    "tb-cursor-text": {"tb-cursor", "tb-marked"},
}
ON_PAIRS = {ground for grounds in PAIRS.values() for ground in grounds}
GROUNDS = ("background", "surface", "panel", "boost")
AA = 4.5
XTERM = {
    "ansi_black": "#000000",
    "ansi_red": "#cd0000",
    "ansi_green": "#00cd00",
    "ansi_yellow": "#cdcd00",
    "ansi_blue": "#0000ee",
    "ansi_magenta": "#cd00cd",
    "ansi_cyan": "#00cdcd",
    "ansi_white": "#e5e5e5",
    "ansi_bright_black": "#7f7f7f",
    "ansi_bright_red": "#ff0000",
    "ansi_bright_green": "#00ff00",
    "ansi_bright_yellow": "#ffff00",
    "ansi_bright_blue": "#5c5cff",
    "ansi_bright_magenta": "#ff00ff",
    "ansi_bright_cyan": "#00ffff",
    "ansi_bright_white": "#ffffff",
}
ALL = theming.Known()
OWN_COLORS = [name for name, theme in ALL.items() if not theme.ansi]
TERMINALS_COLORS = [name for name, theme in ALL.items() if theme.ansi]


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


def colors_of(theme: Theme) -> dict[str, str]:
    """Every colour of a theme, the roles of this product included."""
    found = {name: getattr(theme, name) for name in COLORS}
    roles = {k: v for k, v in theme.variables.items() if k.startswith("tb-")}
    return found | {k: v for k, v in roles.items() if not k.endswith("-style")}


def pairs_of(values: dict[str, str]) -> list[tuple[str, str]]:
    """Each text with each ground that it stands on."""
    grounds = {*GROUNDS, "tb-cursor", "tb-marked"}
    texts = set(values) - grounds - ON_PAIRS - set(PAIRS)
    pairs = [(text, ground) for text in texts for ground in grounds]
    for text, on in PAIRS.items():
        pairs += [(one, ground) for ground in on for one in (text, "foreground")]
    return [*pairs, ("tb-added", "background"), ("tb-removed", "background")]


def unreadable(values: dict[str, str]) -> dict[str, float]:
    return {
        f"{text} on {ground}": round(found, 2)
        for text, ground in pairs_of(values)
        if (found := contrast(values[text], values[ground])) < AA
    }


def test_contrast_is_the_one_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


def test_the_themes_that_come_with_it() -> None:
    assert set(themes.names()) == {
        "takeback-dark",
        "takeback-light",
        "takeback-ansi",
        "takeback-ansi-light",
        "high-contrast",
        "nord",
        "gruvbox-dark",
        "gruvbox-light",
        "catppuccin-mocha",
        "catppuccin-latte",
    }
    assert set(ALL) == set(themes.names())


def test_an_unknown_theme_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        themes.read("../pyproject")


@pytest.mark.parametrize("name", themes.names())
def test_a_theme_has_every_colour_and_nothing_unknown(name: str) -> None:
    assert theming.read(themes.read(name), name).wrong == ()
    theme = load(name)
    assert theme["name"] == name
    assert isinstance(theme["dark"], bool)
    assert set(theme["colors"]) == COLORS
    assert set(theme["variables"]) >= set(PAIRS) | ON_PAIRS
    kind = r"ansi_\w+" if theme.get("ansi") else r"#[0-9a-f]{6}"
    for key, value in {**theme["colors"], **theme["variables"]}.items():
        if not key.endswith("-style"):
            assert re.fullmatch(kind, value), key


def test_the_defaults_name_the_same_roles() -> None:
    roles = [set(theming.defaults(dark, ansi)) for dark in (True, False) for ansi in (True, False)]
    assert all(one == roles[0] for one in roles)


@pytest.mark.parametrize("name", OWN_COLORS)
def test_text_can_be_read_on_every_ground(name: str) -> None:
    assert unreadable(colors_of(ALL[name])) == {}


@pytest.mark.parametrize("name", OWN_COLORS)
def test_text_can_be_read_in_256_colours(name: str) -> None:
    values = colors_of(theming.adapted(ALL[name], Terminal("256")))
    assert unreadable(values) == {}
    assert values["tb-cursor"] not in (values["surface"], values["background"])
    for value in values.values():
        # What is sent to such a terminal is this colour and no other.
        assert Color.parse(value).downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex == value


@pytest.mark.parametrize("name", TERMINALS_COLORS)
def test_text_can_be_read_in_the_colours_of_xterm(name: str) -> None:
    """With xterm's palette on the ground that the theme is for.

    What a user's own palette makes of it nobody can promise. On the other ground some of these
    colours fall short, green on white for one; the text without a colour never does.
    """
    theme = ALL[name]
    ground = "#000000" if theme.dark else "#ffffff"
    text = "#ffffff" if theme.dark else "#000000"
    for key, value in colors_of(theme).items():
        if key in (*GROUNDS, "tb-cursor", "tb-marked", *ON_PAIRS):
            assert value == "ansi_default", key
        elif value == "ansi_default":
            assert contrast(text, ground) >= AA
        else:
            assert contrast(XTERM[value], ground) >= AA, key


@pytest.mark.parametrize("name", TERMINALS_COLORS)
def test_without_colours_rows_differ_by_style(name: str) -> None:
    roles = ALL[name].variables.items()
    styles = {k: v for k, v in roles if k.startswith("tb-") and k.endswith("-style")}
    assert "none" not in styles.values()
    rows = [styles[f"tb-{row}-style"] for row in ("cursor", "blurred", "marked")]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("name", OWN_COLORS)
def test_a_theme_is_as_dark_as_it_says(name: str) -> None:
    assert (luminance(load(name)["colors"]["background"]) < 0.2) is ALL[name].dark


@pytest.mark.parametrize("name", themes.names())
def test_textual_accepts_it(name: str) -> None:
    made = ALL[name].to_color_system().generate()
    assert made["primary"]
    for ground in GROUNDS:
        # What Textual itself made of a ground would not be what the other tests looked at.
        assert made[ground].lower() == getattr(ALL[name], ground)
