"""A sample of the fault harness; ``python -m tests.faults.harness --full`` tries everything."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import harness

# Each run is given this long to begin new faults; a slow machine tries fewer, never none.
SECONDS = 7.0


def works() -> bool:
    """Whether strace is here and may trace (containers often forbid it)."""
    strace = shutil.which("strace")
    if strace is None:
        return False
    done = subprocess.run(
        [strace, "-qqq", "-e", "inject=write:signal=KILL:when=1", "echo", "x"], capture_output=True
    )
    return done.returncode == -9


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not works(), reason="needs strace that may inject faults"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that an ordinary user may enter, in memory where that is possible."""
    found = Path(
        subprocess.run(
            ["mktemp", "-d", "-p", "/dev/shm" if Path("/dev/shm").is_dir() else "/tmp"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    found.chmod(0o755)
    yield found
    subprocess.run(["chmod", "-R", "u+rwX", found], check=False)
    shutil.rmtree(found, ignore_errors=True)


@pytest.mark.parametrize("mode, sample", [("kill", 24), ("signals", 24), ("errors", 24)])
def test_a_fault_at_any_call_leaves_all_before_or_all_after(
    folder: Path, mode: str, sample: int
) -> None:
    figures = harness.measure(mode, folder, sample=sample, until_s=SECONDS)
    assert figures.bad == []
    assert figures.runs >= 5


def test_a_kill_of_the_recovery_is_recovered(folder: Path) -> None:
    figures = harness.measure("kill-recovery", folder, sample=2, until_s=SECONDS)
    assert figures.bad == []
    assert figures.recoveries_killed >= 5


@pytest.mark.parametrize(
    "what, mode, sample", [("undo", "kill", 6), ("undo", "errors", 6), ("end", "errors", 6)]
)
def test_a_command_that_meets_a_fault_leaves_what_the_next_command_can_go_on_with(
    folder: Path, what: str, mode: str, sample: int
) -> None:
    figures = harness.measure(mode, folder, harness.command(what), sample=sample, until_s=SECONDS)
    assert figures.bad == []
    assert figures.runs >= 1
