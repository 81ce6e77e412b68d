"""The signs of the app, and plain letters for terminals where those are two cells wide."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One sign for each meaning; a word always stands beside it."""

    agent: str = "●"
    unknown: str = "◐"
    none: str = "·"
    undone: str = "↶"
    warning: str = "⚠"
    done: str = "✓"
    cursor: str = "▌"
    branch: str = "├"
    last: str = "└"
    rule: str = "─"
    more: str = "…"
    bar: str = "│"
    minus: str = "−"
    down: str = "↓"
    up: str = "↑"
    later: str = "↷"
    failed: str = "✗"
    running: str = "●"
    marked: str = "■"
    folded: str = "┊"
    bullet: str = "•"
    back: str = "⟲"
    again: str = "↻"

    def of(self, origin: str) -> str:
        return self.agent if origin == "agent-edited" else self.unknown


UNICODE = Glyphs()
ASCII = Glyphs(
    "*", "?", ".", "<", "!", "+", ">", "|", "`", "-", "~", "|", "-", "down", "up",
    later=">", failed="x", running="*", marked="#", folded=":", bullet="-",
    back="@", again=">",
)  # fmt: skip


def named(name: str, unicode: bool = True) -> Glyphs:
    """The set that the setting ``glyphs`` names.

    Args:
        unicode: whether the terminal shows more than ASCII, for "auto".
    """
    return ASCII if name == "ascii" or (name == "auto" and not unicode) else UNICODE


def _plain() -> dict[int, str]:
    """As much ASCII as it has cells for each sign that is drawn, also by Textual's widgets."""
    signs = {
        '"': "“”„«»", "'": "‘’", "~": "…", "-": "−–—─━═┄┈╌╶╴▔▁▀▄", "|": "│┃║┆┊╎▎▏▍▌▐▕▊▋▉",
        "+": "├┤┬┴┼┌┐└┘╭╮╰╯┏┓┗┛╔╗╚╝✓✔", "*": "●•◆■★", "?": "◐", "o": "○◯", ".": "·∙",
        "x": "×✗✘╳", ">": "→▶▸›❯↷↻", "<": "←◀◂‹↶", "^": "↑▲△", "v": "↓▼▽", "!": "⚠", "#": "█▓▒░",
        "_": "▂", "@": "⟲", " ": "▃▅▆▇\xa0",
    }  # fmt: skip
    wide = {0x1F50E: "> "}
    return {ord(sign): plain for plain, many in signs.items() for sign in many} | wide


PLAIN = _plain()
"""For ``str.translate``; what is not in it, such as a letter of some name, stays."""
