"""The command line from recording to redo, on real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.errors import TakebackError
from takeback.engine.project import Project
from takeback.tui import cli as command

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = b"\xff[red]\x1b\n"

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


@pytest.fixture
def cli(tmp_path: Path, folder: Path) -> Run:
    env = {k: v for k, v in os.environ.items() if not k.startswith("TAKEBACK_")}
    env |= {
        "PYTHONPATH": os.pathsep.join([str(ROOT / ".dev"), env.get("PYTHONPATH", "")]),
        "TAKEBACK_DATA_DIR": str(tmp_path / "data"),
        "TAKEBACK_CONFIG_DIR": str(tmp_path / "config"),
        "HOME": str(tmp_path / "home"),
    }

    def run(*words: str | bytes, code: int = 0) -> subprocess.CompletedProcess[bytes]:
        done = subprocess.run(
            [sys.executable, "-m", "takeback.tui.cli", *words],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done

    return run


def edit(cli: Run, folder: Path, session: str, name: bytes, data: bytes) -> None:
    """One turn with one edit call that writes a file."""
    cli("record", "begin", "--session", session, "--prompt", "do \x1b[31mit")
    known = ("--session", session, "--call", "c1")
    cli("record", "tool-begin", *known, "--tool", "Edit", "--kind", "edit", "--path", name)
    Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_bytes(data)
    cli("record", "tool-end", *known)
    cli("record", "end", "--session", session)


def document(done: subprocess.CompletedProcess[bytes]) -> Any:
    assert done.stdout.isascii()
    return json.loads(done.stdout)


def test_undo_and_redo_of_a_hostile_name(cli: Run, folder: Path) -> None:
    edit(cli, folder, "s", HOSTILE, b"new\n")
    shown = cli("log").stdout
    assert b"\\xff[red]\\e\\n" in shown
    assert b"\x1b" not in shown
    name = os.fsdecode(HOSTILE)
    dry = document(cli("undo", "--dry-run", "--json"))
    assert dry["deleted"] == [name]
    assert dry["dry_run"] is True
    done = document(cli("--json", "undo"))
    assert done["deleted"] == [name]
    assert done["operation"]
    assert list(folder.iterdir()) == []
    assert document(cli("undo", "--json", code=3))["error"]["code"] == 3
    assert document(cli("redo", "--json"))["restored"] == [name]
    assert (folder / name).read_bytes() == b"new\n"
    history = document(cli("history", "--json"))
    assert [one["kind"] for one in history["operations"]] == ["redo", "undo"]
    assert history["next_undo"]["deleted"] == [name]
    assert history["next_redo"] is None


def test_unknown_origin_is_asked_about_and_taken_with_yes(cli: Run, folder: Path) -> None:
    (folder / "f").write_bytes(b"old\n")
    cli("run", "--", "sh", "-c", "echo newer > f")
    stopped = document(cli("undo", "--json", code=4))
    assert [one["path"] for one in stopped["kept"]] == ["f"]
    assert (folder / "f").read_bytes() == b"newer\n"
    asked = document(cli("undo", "--include-unknown", "--json", code=4))
    assert asked["restored"] == ["f"]
    assert asked["operation"] is None
    cli("undo", "--include-unknown", "--yes")
    assert (folder / "f").read_bytes() == b"old\n"


def test_a_conflict_is_left_alone_and_the_exit_code_says_so(cli: Run, folder: Path) -> None:
    (folder / "f").write_bytes(b"one\n")
    edit(cli, folder, "s", b"f", b"two\n")
    (folder / "f").write_bytes(b"three\n")
    plan = document(cli("undo", "--json", "--yes", code=4))
    assert [one["path"] for one in plan["conflicts"]] == ["f"]
    assert plan["operation"] is None
    assert (folder / "f").read_bytes() == b"three\n"
    kept = document(cli("undo", "--keep", "--json"))
    assert [one["path"] for one in kept["kept"]] == ["f"]


def test_a_running_turn_is_exit_5(cli: Run, folder: Path) -> None:
    cli("record", "begin", "--session", "s")
    call = ("--session", "s", "--call", "c", "--tool", "Edit", "--kind", "edit", "--path", "f")
    cli("record", "tool-begin", *call)
    (folder / "f").write_bytes(b"x\n")
    cli("record", "tool-end", "--session", "s", "--call", "c")
    assert document(cli("undo", "--json", code=5))["error"]["code"] == 5
    cli("undo", "--yes-while-running")
    assert not (folder / "f").exists()


def test_a_patch_is_what_git_takes(cli: Run, folder: Path) -> None:
    (folder / "f").write_bytes(b"one\n")
    edit(cli, folder, "s", b"f", b"two\x1b\n")
    patch = cli("diff", "1", "--patch").stdout
    subprocess.run(["git", "apply", "-R"], cwd=folder, input=patch, check=True, timeout=20)
    assert (folder / "f").read_bytes() == b"one\n"
    assert b"[hunk 1]" in cli("diff").stdout


def test_paths_are_relative_to_the_folder_of_the_caller(cli: Run, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / ".takeback.toml").write_bytes(b"")
    edit(cli, folder, "s", b"sub/f", b"x\n")
    cli("-C", "sub", "undo", "--path", "f")
    assert not (folder / "sub" / "f").exists()
    cli("redo")
    cli("undo", f"--path={folder}/sub")
    assert not (folder / "sub" / "f").exists()
    cli("undo", "--path", "../outside", code=2)


def test_unknown_ids_are_wrong_usage(cli: Run, folder: Path) -> None:
    edit(cli, folder, "s", b"f", b"x\n")
    for words in (
        ["undo", "--turn", "99"],
        ["undo", "--step", "none"],
        ["undo", "--session", "none"],
        ["redo", "none"],
        ["goto", "none"],
        ["restore", "--op", "none"],
        ["show", "none"],
        ["diff", "none"],
    ):
        assert document(cli(*words, "--json", code=2))["error"]["message"]


def test_a_project_without_records_answers(cli: Run, folder: Path) -> None:
    assert document(cli("log", "--json"))["sessions"] == []
    assert document(cli("sessions", "--json")) == {"sessions": [], "past": []}
    assert document(cli("history", "--json"))["operations"] == []
    cli("show")
    cli("diff")
    cli("undo", code=3)
    cli("redo", code=3)
    assert not (folder.parent / "data").exists()


def test_settings_are_shown_and_changed_in_the_users_own_file(cli: Run, folder: Path) -> None:
    own = folder.parent / "config" / "config.toml"
    assert document(cli("config", "--json"))["settings"]["snapshots"] is True
    cli("config", "theme", "nord")
    assert own.read_text() == 'theme = "nord"\n'
    assert cli("config", "theme").stdout == b'"nord"\n'
    cli("config", "undo_skip", "notes/*", "--yes")
    assert document(cli("config", "undo_skip", "--json"))["value"] == ["notes/*"]
    before = own.read_bytes()
    cli("config", "snapshots", "false", code=4)
    cli("config", "thme", code=2)
    cli("config", "max_turn_age_days", "soon", code=2)
    assert own.read_bytes() == before
    cli("config", "snapshots", "false", "--yes")
    assert document(cli("config", "snapshots", "--json"))["value"] is False


def test_what_a_project_loosens_waits_for_approval(cli: Run, folder: Path) -> None:
    (folder / ".takeback.toml").write_text("store_secrets = true\n")
    assert document(cli("config", "--json"))["ignored"]
    cli("config", "approve", code=4)
    assert document(cli("config", "store_secrets", "--json"))["value"] is False
    cli("config", "approve", "--yes")
    assert document(cli("config", "store_secrets", "--json"))["value"] is True


def test_the_store_can_be_looked_at_checked_and_cleaned(cli: Run, folder: Path) -> None:
    for verb in ("storage", "prune", "verify", "recover", "doctor"):
        document(cli(verb, "--json"))
        cli(verb)
    edit(cli, folder, "s", b"f", b"x\n")
    (project,) = document(cli("storage", "--json"))["projects"]
    assert project["root"] == str(folder)
    assert {"sessions", "snapshots", "bytes", "oldest", "note"} <= set(project)
    assert document(cli("prune", "--dry-run", "--json"))["dry_run"] is True
    assert document(cli("verify", "--json"))["damage"] == []
    for check in document(cli("doctor", "--json"))["checks"]:
        assert {"name", "ok", "message", "fix"} == set(check)
    assert b"No operation was left half way." in cli("recover").stdout
    for damaged in (folder.parent / "data").glob("projects/*/git/objects/??/*"):
        damaged.chmod(0o600)
        damaged.write_bytes(b"")
    error = document(cli("verify", "--json", code=1))["error"]
    assert error["code"] == 1


def test_history_is_told_also_where_the_next_undo_cannot_be(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: Project) -> None:
        raise TakebackError("git failed.")

    monkeypatch.setattr(Project, "next_redo", broken)
    data = str(folder.parent / "data")
    assert command.main(["history", "--json", "-C", str(folder), "--data-dir", data]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {"operations": [], "next_undo": None, "next_redo": None}
    assert "cannot be told: git failed." in said.err


def test_a_turn_whose_files_are_all_kept_is_settled_and_says_so(cli: Run, folder: Path) -> None:
    for number in (1, 2):
        path = f"f{number}"
        cli("record", "begin", "--session", "s", "--prompt", f"p{number}")
        call = ("--session", "s", "--call", path)
        cli("record", "tool-begin", *call, "--tool", "Edit", "--kind", "edit", "--path", path)
        (folder / path).write_text("agent\n")
        cli("record", "tool-end", *call)
        cli("record", "end", "--session", "s")
    (folder / "f2").write_text("agent\nmine\n")
    kept = cli("undo", "--keep").stdout
    assert b"undo goes on to older turns" in kept
    assert b"[left alone]" in cli("log").stdout
    assert cli("undo").stdout.startswith(b"Took back turn 1") or not (folder / "f1").exists()
    nothing = cli("undo", code=3)
    assert b"turn 2 still stands" in nothing.stdout + nothing.stderr
    cli("undo", "--turn", "2", "--overwrite", "--yes")
    assert not (folder / "f2").exists()
    assert b"[left alone]" not in cli("log").stdout
