"""The rows of the theme chooser, and a sample of everything a theme colours. Pure."""

from __future__ import annotations

from textual.theme import Theme

from takeback.tui import theming
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import safe
from takeback.tui.theming import Themes
from takeback.tui.widgets.row_list import Row, Span

SAMPLE_DIFF = b"""\
diff --git a/shop/tax.py b/shop/tax.py
index 1..2 100644
--- a/shop/tax.py
+++ b/shop/tax.py
@@ -1,2 +1,3 @@ def rate(country):
 def rate(country):
-    return RATES[country]
+    # The rates are in a file now.
+    return rates()[country]
"""


def rows(themes: Themes, fitting: str) -> list[Row]:
    """One row for each theme.

    Args:
        fitting: what `theming.AUTO` means on this terminal.
    """
    made = [
        Row(
            key_of(theming.AUTO),
            (Span(theming.AUTO, "title"), Span(f"  {fitting} on this terminal", "muted")),
        )
    ]
    for name, theme in sorted(themes.all.items(), key=_order):
        lead = (Span(safe(name)), Span("  yours" if name in themes.own else "", "muted"))
        made.append(Row(key_of(name), lead, (Span(_kind(theme), "muted"),)))
    return made


def key_of(name: str) -> str:
    """The key of a theme's row."""
    return f"theme:{name}"


def name_of(row: Row | None) -> str:
    """The theme of a row; "" where it is none of `rows`."""
    kind, _, name = row.key.partition(":") if row is not None else ("", "", "")
    return name if kind == "theme" else ""


def _order(pair: tuple[str, Theme]) -> tuple[bool, bool, str]:
    name, theme = pair
    return theme.ansi, not theme.dark, name


def _kind(theme: Theme) -> str:
    if theme.ansi:
        return "16 colours"
    return "dark" if theme.dark else "light"


def sample(glyphs: Glyphs) -> list[Row]:
    """A row for each role."""
    added = f"+12 {glyphs.minus}3"
    return [
        Row(
            "turn",
            (Span("Turn 7", "title"), Span("  14:02  ", "muted"), Span("A prompt", "title")),
            (Span(added, "added"), Span("running", "running")),
            head=True,
        ),
        Row(
            "agent",
            (Span(f"{glyphs.branch} ", "muted"), Span("M shop/tax.py")),
            (Span("+4", "added"), Span(f"{glyphs.agent} agent", "agent")),
            box="on",
            indent=2,
        ),
        Row(
            "unknown",
            (Span(f"{glyphs.branch} ", "muted"), Span("A rates.txt")),
            (Span("+8", "added"), Span(f"{glyphs.unknown} unknown", "unknown")),
            box="off",
            indent=2,
        ),
        Row(
            "undone",
            (Span(f"{glyphs.branch} ", "muted"), Span("D legacy.py")),
            (Span(f"{glyphs.minus}3", "added"), Span(f"{glyphs.undone} undone", "undone")),
            box="some",
            indent=2,
        ),
        Row(
            "conflict",
            (Span(f"{glyphs.last} ", "muted"), Span("M README.md")),
            (Span(""), Span(f"{glyphs.warning} conflict", "conflict")),
            box="off",
            indent=2,
        ),
        Row("warning", (Span("A warning: this is not protected.", "warning"),)),
        Row("muted", (Span("What is beside the point.", "muted"),)),
    ]
