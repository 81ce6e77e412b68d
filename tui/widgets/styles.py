"""The style of a part of a widget, whole."""

from __future__ import annotations

from rich.style import Style
from textual.widget import Widget

_REVERSE = Style(reverse=True)


def style_of(widget: Widget, *parts: str) -> Style:
    """The style of some component classes of a widget, over that of the widget.

    Textual's partial style has no ground and its visual style leaves out `reverse`, which is how
    the row with the cursor is seen where there are no colours.
    """
    found = widget.get_visual_style(*parts).rich_style
    if any(widget.get_component_styles(part).text_style.reverse for part in parts):
        found += _REVERSE
    return found
