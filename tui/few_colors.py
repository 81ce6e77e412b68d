"""Colours as the eye sees them, and themes for terminals that have 256 of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from rich.color import Color as RichColor
from rich.color import ColorSystem
from textual.color import Color
from textual.theme import Theme

Rgb = tuple[int, int, int]

COLORS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "boost",
    "success", "warning", "error",
)  # fmt: skip
GROUNDS = ("background", "surface", "panel", "boost", "tb-cursor", "tb-marked")
"""What any text may stand on."""
_ON = {
    "tb-added": ("background", "tb-added-ground", "tb-added-word"),
    "tb-removed": ("background", "tb-removed-ground", "tb-removed-word"),
    "tb-cursor-text": ("tb-cursor", "tb-marked"),
}
"""Text that stands on a few grounds only."""
AA = 4.5
"""The contrast that the accessibility guidelines (WCAG 2, level AA) want for text."""


@cache
def luminance(color: Rgb) -> float:
    """How bright a colour is, from 0 to 1, as WCAG 2 defines it."""
    parts = [part / 255 for part in color]
    r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: Rgb, other: Rgb) -> float:
    """How well one colour is told from another, from 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@cache
def _palette() -> tuple[Rgb, ...]:
    """The colours from 16 to 255 of a terminal that has 256: those are the same everywhere.

    Without those that are sent as another one: greys are rounded on the way.
    """
    levels = (0, 95, 135, 175, 215, 255)
    cube = [(r, g, b) for r in levels for g in levels for b in levels]
    every = dict.fromkeys([*cube, *((c, c, c) for c in range(8, 239, 10))])
    return tuple(color for color in every if _sent(color) == color)


def _sent(color: Rgb) -> Rgb:
    """What a terminal of 256 colours is told to show."""
    sent = RichColor.from_rgb(*color).downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
    return sent.red, sent.green, sent.blue


def _near(rgb: Rgb) -> list[Rgb]:
    """The palette, the colour that looks most like this one first."""

    def distance(other: Rgb) -> float:
        # Weighted as the eye is: "redmean".
        mean = (rgb[0] + other[0]) / 2
        r, g, b = (x - y for x, y in zip(rgb, other, strict=True))
        return (2 + mean / 256) * r * r + 4 * g * g + (2 + (255 - mean) / 256) * b * b

    return sorted(_palette(), key=distance)


def for_256(theme: Theme) -> Theme:
    """The theme in the colours of a terminal that has 256, with text that can still be read.

    Left to itself a dark ground becomes a bright blue or green there.
    """
    if theme.ansi:
        return theme
    # What the theme leaves out is made by Textual from the rest.
    whole = theme.to_color_system().generate()
    plain = {name: getattr(theme, name) or whole[name] for name in COLORS}
    values = {**plain, **theme.variables}
    new: dict[str, str] = {}
    # Plain text also stands on the lines of a diff.
    on = {"foreground": tuple(_grounds(values)), **_ON}
    behind = Color.parse(plain["surface"])
    for name in _grounds(values):
        new[name] = _hex(_near((behind + Color.parse(values[name])).rgb)[0])
    if new["tb-cursor"] in (new["surface"], new["background"]):
        # The row with the cursor must stay another than the rest.
        other = {new["surface"], new["background"]}
        new["tb-cursor"] = next(
            found
            for rgb in _near(Color.parse(values["tb-cursor"]).rgb)
            if (found := _hex(rgb)) not in other
        )
    for name, value in values.items():
        if name in new or name.endswith("-style"):
            continue
        grounds = [Color.parse(new[ground]).rgb for ground in on.get(name, GROUNDS)]
        near = _near(Color.parse(value).rgb)
        new[name] = _hex(
            next(
                (rgb for rgb in near if all(contrast(rgb, ground) >= AA for ground in grounds)),
                max(near, key=lambda rgb: min(contrast(rgb, ground) for ground in grounds)),
            )
        )
    changed = {key: new.get(key, value) for key, value in theme.variables.items()}
    return with_colors(replace(theme, variables=changed), {name: new[name] for name in plain})


def with_colors(theme: Theme, colors: Mapping[str, str]) -> Theme:
    """The theme with some of `COLORS` set."""
    made = replace(theme)
    for name, value in colors.items():
        setattr(made, name, value)
    return made


def _grounds(values: Iterable[str]) -> list[str]:
    return [name for name in values if name in GROUNDS or name.endswith(("-ground", "-word"))]


def _hex(rgb: Rgb) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)
