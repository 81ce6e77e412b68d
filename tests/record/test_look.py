"""The dry look counts what a snapshot then holds, and leaves no trace."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from takeback.engine import work
from takeback.engine.project import Project
from takeback.engine.record import look as looking
from takeback.engine.record.look import Look, look


def looked(project: Project) -> Look:
    return look(project.place, project.config, project.data)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "work" / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, text in {
        ".gitignore": "*.o\ngen/\n",
        "src/a.py": "1\n",
        "src/a.o": "ignored, but git tracks it",
        "src/b.o": "ignored",
        "gen/x": "ignored",
        ".env": "A=secret",
        "dist/out.js": "excluded",
        "run.log": "excluded",
        os.fsdecode(b"\xff[red]\n"): "odd",
    }.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "-C", str(root), "add", "-f", "src/a.o"], check=True)
    with open(root / "big.bin", "wb") as file:
        file.truncate((10 << 20) + 1)
    os.mkfifo(root / "pipe")
    os.symlink("a.py", root / "src" / "link")
    return Project.open(str(root))


def test_a_look_counts_what_the_first_snapshot_holds(opened: Project) -> None:
    found = looked(opened)
    left = {reason: (left.count, sorted(left.names)) for reason, left in found.left_out.items()}
    assert left == {
        "ignored": (2, [b"gen/", b"src/b.o"]),
        "secret": (1, [b".env"]),
        "excluded": (2, [b"dist/", b"run.log"]),
        "too-large": (1, [b"big.bin"]),
        "special": (1, [b"pipe"]),
    }
    assert not os.path.exists(opened.data), "a look makes nothing known"
    with opened.turn("s"):
        pass
    tree = opened.sessions()[0].turns[0].before
    assert tree is not None
    assert opened.store is not None
    names = subprocess.run(
        ["git", "-C", opened.store.git_dir, "ls-tree", "-r", "-z", "--name-only", tree],
        check=True,
        capture_output=True,
    ).stdout.split(b"\0")[:-1]
    held = [name for name in names if not os.path.basename(name).startswith(b".takeback")]
    assert found.files == len(held) == 5
    assert found.size == sum(os.lstat(opened.root + b"/" + name).st_size for name in held)
    assert not found.too_much
    opened.close()


def test_more_than_one_snapshot_can_hold_is_said(opened: Project) -> None:
    Path(os.fsdecode(opened.root), ".takeback.toml").write_text("snapshot_file_count_cap = 2\n")
    opened.config = opened.config.__class__(snapshot_file_count_cap=2)
    assert looked(opened).too_much


def test_a_look_can_be_cancelled(opened: Project) -> None:
    cancel = work.Cancel()

    def progress(what: str, done: int, total: int) -> None:
        cancel.set()

    with pytest.raises(work.Cancelled), work.using(cancel, progress):
        looked(opened)


def test_only_a_few_names_are_kept_for_each_reason(opened: Project) -> None:
    for number in range(9):
        Path(os.fsdecode(opened.root), f"{number}.pem").write_text("x")
    left = looked(opened).left_out["secret"]
    assert left.count == 10
    assert len(left.names) == looking.EXAMPLES
