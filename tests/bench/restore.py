"""Putting files back: the staged, journaled transaction beside a peer's batched checkout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def report(root: Path, work: Path, rounds: int, table: Callable[..., None]) -> None:
    """Restore 5 and 1000 files."""
