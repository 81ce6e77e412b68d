"""What may follow the keys of a chord: a picture of `takeback.tui.chords` and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from takeback.tui import keys
from takeback.tui.keys import Key


class WhichKey(Static):
    """The panel over the lower lines of a screen."""

    DEFAULT_CSS = """
    WhichKey {
        dock: bottom; layer: overlay; height: auto; max-height: 50%;
        background: $panel; border-top: tall $primary; padding: 0 1;
        link-style: none; link-color: $foreground; link-background: $panel;
    }
    """

    def __init__(self, pressed: Sequence[str], following: Sequence[tuple[str, Key]]) -> None:
        groups: dict[str, list[tuple[str, Key]]] = {}
        for name, key in following:
            groups.setdefault(key.group, []).append((name, key))
        lines = [
            Content.assemble(
                (f"{keys.shown(' '.join(pressed))} …", "bold $primary"), ("   esc cancels", "dim")
            )
        ]
        for group, members in groups.items():
            parts: list[Content | tuple[str, str]] = [(f"{group:<6}", "$tb-muted")]
            for name, key in members:
                click = Style.from_meta({"@click": key.action})
                text = Content.assemble(
                    (keys.shown(name), "bold $primary"), Content(f" {key.text}")
                )
                parts += [text.stylize(click), Content("   ")]
            lines.append(Content.assemble(*parts))
        super().__init__(Content("\n").join(lines), markup=False)
