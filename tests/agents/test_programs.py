"""Programs of agents are started, spoken with and ended; what goes wrong is said."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import CannotFork


def test_it_answers_in_its_folder(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), sys.stdin.read())"
    said = Programs().run([sys.executable, "-c", code], os.fsencode(tmp_path), b"hello")
    assert said.decode().split() == [os.path.realpath(tmp_path), "hello"]


def test_one_that_fails_says_why(tmp_path: Path) -> None:
    code = "import sys; sys.exit('no such session')"
    with pytest.raises(CannotFork, match="exit code 1: no such session"):
        Programs().run([sys.executable, "-c", code], os.fsencode(tmp_path))


def test_one_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotFork, match="'no-such-agent' was not found") as raised:
        Programs().run(["no-such-agent", "--fork", "it's"], os.fsencode(tmp_path))
    assert "PATH" in raised.value.hint
    with pytest.raises(CannotFork, match="does not exist any more"):
        Programs().run([sys.executable], os.fsencode(tmp_path / "gone"))


def test_one_that_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "line")
    child = "line = open('line', 'w'); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with Programs().started([sys.executable, "-c", code], os.fsencode(tmp_path)) as process:
        number = os.open(tmp_path / "line", os.O_RDONLY)
    assert process.returncode is not None
    with os.fdopen(number, "rb") as line:
        assert line.read() == b"", "the line ends, because nobody holds it any more"


def test_one_that_is_silent_is_not_waited_for_without_end(tmp_path: Path) -> None:
    code = "import time; time.sleep(600)"
    with pytest.raises(CannotFork, match="did not answer"):
        Programs().run([sys.executable, "-c", code], os.fsencode(tmp_path), wait_s=0.2)
