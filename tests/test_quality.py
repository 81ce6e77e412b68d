"""The checkout passes its own tools: lint, format and strict types."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def tool(*args: str) -> None:
    """Run a tool of this environment in the checkout; its complaint is the failure."""
    done = subprocess.run(
        [sys.executable, "-m", *args], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    if done.returncode:
        pytest.fail(f"{' '.join(args)}\n{done.stdout}{done.stderr}", pytrace=False)


def test_ruff_has_nothing_to_say() -> None:
    tool("ruff", "check", "--quiet", ".")


def test_the_code_is_formatted() -> None:
    tool("ruff", "format", "--check", "--quiet", ".")


def test_mypy_strict_has_nothing_to_say() -> None:
    tool("mypy")
