"""Text of a given width in terminal cells: some characters take two, some none."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

__all__ = ["cell_len", "fit"]


def fit(text: str, width: int, more: str = "…", keep_end: bool = False) -> str:
    """The text in exactly `width` cells, cut with a sign where it is too long.

    Args:
        keep_end: cut at the front: the end of a path says most.
    """
    if width <= 0:
        return ""
    length = cell_len(text)
    if length <= width:
        return text + " " * (width - length)
    if width == 1:
        return more
    if not keep_end:
        shown = set_cell_size(text, width - 1).rstrip()
        return shown + more + " " * (width - 1 - cell_len(shown))
    end = text
    while end and cell_len(end) > width - 1:
        # Many at once while it is much too long: a cell is never more than one character wide.
        end = end[max(1, (cell_len(end) - (width - 1)) // 2) :]
    return more + set_cell_size(end, width - 1)
