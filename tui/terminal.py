"""What the terminal can show, told from the environment. Pure, and light to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Colors = Literal["none", "16", "256", "full"]

_SYSTEMS: dict[str, Colors] = {"standard": "16", "256": "256", "truecolor": "full"}
LEAST = (40, 10)
"""Columns and lines below which a screen would show nothing of use."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """What a terminal can show.

    Attributes:
        colors: how many of them; "none" where the user wants none.
        light: whether its ground is light; None where it does not say.
        unicode: whether it shows more than ASCII.
    """

    colors: Colors = "full"
    light: bool | None = None
    unicode: bool = True


FULL = Terminal()


def look(environ: Mapping[str, str], encoding: str) -> Terminal:
    """The terminal as its environment describes it.

    Args:
        encoding: that of the stream which is drawn on.
    """
    return Terminal(_colors(environ), _light(environ), _unicode(environ, encoding))


def cannot_draw(environ: Mapping[str, str], on_terminal: bool) -> str:
    """Why there can be no full-screen app; "" where there can be one.

    Args:
        on_terminal: whether input, output and messages all are a terminal.
    """
    if not on_terminal:
        return "The full-screen app opens on a terminal only."
    if environ.get("TERM", "") in ("", "dumb", "unknown"):
        return "This terminal (TERM) cannot show the full-screen app."
    return ""


def too_small(width: int, height: int) -> str:
    """Why nothing can be shown in so few cells; "" where there is room."""
    if width >= LEAST[0] and height >= LEAST[1]:
        return ""
    return f"Needs at least {LEAST[0]}x{LEAST[1]}, this is {width}x{height}."


def _colors(environ: Mapping[str, str]) -> Colors:
    if environ.get("NO_COLOR"):
        return "none"
    forced = _SYSTEMS.get(environ.get("TEXTUAL_COLOR_SYSTEM", ""))
    if forced is not None:
        return forced
    if environ.get("COLORTERM", "").strip().lower() in ("truecolor", "24bit"):
        return "full"
    term = environ.get("TERM", "").strip().lower()
    return "256" if term.rpartition("-")[2] in ("256color", "kitty") else "16"


def _light(environ: Mapping[str, str]) -> bool | None:
    """Some terminals tell their ground's colour, by number, as the last one of this variable."""
    ground = environ.get("COLORFGBG", "").rpartition(";")[2]
    if not ground.isascii() or not ground.isdigit():
        return None
    return int(ground) in (7, *range(9, 16))


def _unicode(environ: Mapping[str, str], encoding: str) -> bool:
    if environ.get("TERM") == "linux":
        # The fonts of the console lack most of our signs.
        return False
    names = (environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next((name for name in names if name), "")
    if locale in ("C", "POSIX"):
        return False
    charset = locale.partition("@")[0].rpartition(".")[2] if "." in locale else encoding
    return charset.lower().replace("-", "") in ("utf8", "utf16", "utf32")
