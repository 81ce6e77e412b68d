"""One world for each case."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.cases.world")

from tests.cases.world import World  # noqa: E402


@pytest.fixture
def w(tmp_path: Path) -> World:
    """An empty project with a home, a data folder and a configuration of its own."""
    return World(tmp_path)


@pytest.fixture
def base(w: World) -> World:
    """A small repository with everything committed, and an ignored file."""
    w.files(
        {
            "a.txt": b"line one\nline two\nline three\n",
            "c.txt": b"see\n",
            "old.txt": b"old\n",
            "src/s.txt": b"source\n",
            ".gitignore": b".env\n",
        }
    )
    w.write(".env", b"TOKEN=base\n")
    w.repository()
    return w
