"""The demo plays its story, checks its own bytes, and leaves a project that can be used."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from takeback.tui import cli, demo

ROOT = Path(__file__).resolve().parent.parent


def takeback(*words: str, tmp: Path) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        "PYTHONPATH": str(ROOT / ".dev"),
        "TMPDIR": str(tmp),
        "TAKEBACK_DATA_DIR": str(tmp / "data"),
        "TAKEBACK_CONFIG_DIR": str(tmp / "config"),
    }
    return subprocess.run(
        [sys.executable, "-m", "takeback.tui.cli", *words],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_story_ends_well_without_a_terminal(tmp_path: Path) -> None:
    done = takeback("demo", tmp=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.count("byte for byte") == 5
    assert "Try, on the same project:" in done.stdout


def test_its_commands_work_afterwards(tmp_path: Path) -> None:
    made = takeback("demo", "--json", tmp=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    answer = json.loads(made.stdout)
    assert Path(answer["folder"]).is_dir()
    ends = []
    for line in answer["commands"]:
        words = shlex.split(line)
        ends.append(takeback(*words[words.index("-C") :], tmp=tmp_path).returncode)
    # Only the one that takes files of unknown origin asks.
    assert sorted(ends) == [0] * (len(ends) - 1) + [4]


def test_a_wrong_byte_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"1")
    from takeback.tui.output import Output

    story = demo._Story(tmp_path, "", Output())
    story.check({"a": b"1"}, "as it was.")
    for want in ({"a": b"2"}, {}, {"a": b"1", "b": b""}):
        with pytest.raises(demo.DemoFailed):
            story.check(want, "not reached.")


def test_it_needs_a_folder_outside_every_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cli.main(["demo", "--data-dir", str(tmp_path / "data")]) == 1
    assert "TMPDIR" in capsys.readouterr().err
