"""The doctor says what is wrong, what to do, and never fails itself."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.engine.model import Event
from takeback.engine.project import Project
from takeback.engine.record import openturn
from takeback.engine.store.store import Store
from takeback.engine.upkeep.doctor import Check, doctor


def of(checks: list[Check], name: str) -> list[Check]:
    return [one for one in checks if one.name == name]


def look(project: Project) -> list[Check]:
    return doctor(project.root, project.data)


def test_a_sound_project_is_in_order(project: Project) -> None:
    checks = look(project)
    assert [one for one in checks if not one.ok] == []
    names = {one.name for one in checks}
    assert names >= {
        "git",
        "data folder",
        "free space",
        "project",
        "settings",
        "disk use",
        "store",
        "records",
        "unfinished operation",
        "open turns",
        "capture",
        "hooks",
    }
    for one in checks:
        assert one.message.endswith(".")


def test_it_changes_nothing(project: Project) -> None:
    def stamps() -> dict[str, tuple[int, int]]:
        found = {}
        for base in (project.root, project.data):
            for path in Path(os.fsdecode(base)).rglob("*"):
                st = path.lstat()
                found[str(path)] = (st.st_mtime_ns, st.st_size)
        return found

    before = stamps()
    look(project)
    assert stamps() == before


def test_before_anything_was_recorded(folder: Path, data: Path) -> None:
    checks = doctor(os.fsencode(folder), os.fsencode(data))
    assert [one for one in checks if not one.ok] == []
    assert not data.exists()


def test_no_git(project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    (one,) = of(look(project), "git")
    assert not one.ok and "Install git 2.30" in one.fix


def test_an_old_git(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeback.engine.store.git.version", lambda: (2, 9))
    (one,) = of(look(project), "git")
    assert not one.ok and "git 2.9 is older than 2.30" in one.message


def test_a_data_folder_that_others_may_read(project: Project, data: Path) -> None:
    data.chmod(0o755)
    (one,) = of(look(project), "data folder")
    assert not one.ok and one.fix.startswith("chmod 700 ")


def test_a_data_folder_that_is_a_file(folder: Path, data: Path) -> None:
    data.write_text("")
    checks = doctor(os.fsencode(folder), os.fsencode(data))
    assert not of(checks, "data folder")[0].ok
    assert not of(checks, "store")[0].ok


def test_damaged_lines_are_counted_with_file_and_line(project: Project, store: Store) -> None:
    name = f"ledger/{store.ledger_names()[0]}"
    path = Path(os.fsdecode(store.path(name)))
    count = len(path.read_bytes().splitlines())
    with path.open("ab") as file:
        file.write(b'{"e":"begin"\n\xff\0\xfe\n')
    (one,) = of(look(project), "records")
    assert not one.ok
    assert f"2 lines of {name} cannot be read, at {count + 1}, {count + 2}" in one.message


def test_a_newer_store(project: Project, store: Store) -> None:
    info = {"root": os.fsdecode(project.root), "format": 2}
    Path(os.fsdecode(store.path("project.json"))).write_text(json.dumps(info))
    (one,) = of(look(project), "store")
    assert not one.ok and "format 2" in one.message


def test_an_open_turn_without_a_process_is_named_with_its_end(project: Project) -> None:
    project.record(Event("begin", "it's open", project.root))
    (one,) = of(look(project), "open turns")
    assert one.ok and "record end --session 'it'\"'\"'s open' --interrupted" in one.fix
    turn = openturn.load(project.data, "it's open")
    assert turn is not None
    turn.last_ns = time.time_ns() - 3 * 3600 * 10**9
    openturn.save(project.data, turn)
    (one,) = of(look(project), "open turns")
    assert not one.ok and "3 hours ago" in one.message


def test_a_damaged_open_turn(project: Project, data: Path) -> None:
    (data / "open").mkdir(exist_ok=True)
    (data / "open" / "x.json").write_bytes(b"\xff")
    assert any(not one.ok and "x.json" in one.message for one in of(look(project), "open turns"))


def test_what_is_left_out_is_named(project: Project, folder: Path) -> None:
    (folder / "big.bin").write_bytes(b"x" * (11 << 20))
    with project.turn("s"):
        pass
    (one,) = of(look(project), "capture")
    assert "big.bin" in one.message and "too-large" in one.message
    assert "max_file_size_mb" in one.fix


def test_hook_errors_of_the_last_days(project: Project, data: Path) -> None:
    now = time.time_ns()
    records = [
        {"t": now - 30 * 86_400 * 10**9, "agent": "claude", "message": "long ago"},
        {"t": now, "agent": "claude", "event": "PreToolUse", "message": "no space"},
        {"t": now, "agent": "claude", "event": "PreToolUse", "message": "no space"},
    ]
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in records)
    (data / "errors.jsonl").write_bytes(lines + b"\xff garbage\n[1]\n{}\n")
    found = of(look(project), "hooks")
    assert [one.ok for one in found] == [False, False]
    assert "2 times" in found[0].message
    assert "claude PreToolUse: no space" in found[0].message
    assert "long ago" not in str(found)


def test_a_refused_project(
    tmp_path: Path, data: Path, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    checks = doctor(os.fsencode(tmp_path / "home"), os.fsencode(data))
    (one,) = of(checks, "project")
    assert not one.ok and "home folder" in one.message
    (folder / ".git").mkdir()
    (one,) = of(doctor(os.fsencode(folder / ".git"), os.fsencode(data)), "project")
    assert not one.ok
    (one,) = of(doctor(os.fsencode(folder / "gone"), os.fsencode(data)), "project")
    assert not one.ok


def test_ignored_and_unusable_settings(project: Project, tmp_path: Path) -> None:
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir()
    config.write_text("snapshotz = false\n")
    (one,) = of(look(project), "settings")
    assert not one.ok and "snapshotz" in one.message
    config.write_text("not toml")
    checks = look(project)
    assert any(not one.ok and "not valid TOML" in one.message for one in checks)
    # The rest is still looked at.
    assert of(checks, "records")[0].ok


@pytest.mark.parametrize("phase", ["intent", "commit", "stuck"])
def test_a_journal_that_lies_there(project: Project, store: Store, phase: str) -> None:
    from takeback.engine.undo import apply

    for name in (f"journal-{phase}", f"journal.{phase}"):
        Path(os.fsdecode(store.path(name))).write_bytes(b"garbage")
    assert apply.pending(store.dir) is not None
    assert not of(look(project), "unfinished operation")[0].ok


def test_agents_are_asked_of_the_layer_above(project: Project) -> None:
    def agents(root: bytes) -> Iterator[tuple[str, bool, str, str]]:
        assert root == project.root
        yield "claude", True, "Claude Code is connected.", ""
        raise RuntimeError("broken")

    checks = doctor(project.root, project.data, agents)
    (one,) = of(checks, "claude")
    assert one.ok
    assert not of(checks, "agents")[0].ok


def test_a_store_whose_files_are_folders(project: Project, store: Store) -> None:
    for name in ("snapshots.jsonl", "operations.jsonl", "errors.jsonl"):
        path = Path(os.fsdecode(store.path(name)))
        path.unlink(missing_ok=True)
        path.mkdir()
    checks = look(project)
    assert not of(checks, "records")[0].ok
    assert of(checks, "git")[0].ok


def test_events_that_did_not_arrive_are_said(project: Project) -> None:
    def tell(kind: str, **fields: object) -> None:
        project.record(Event(kind, "lost", project.root, **fields))  # type: ignore[arg-type]

    def turn(*events: str) -> list[Check]:
        tell("begin")
        for event in events:
            tell(event, call="c", tool="edit", call_kind="edit", paths=(b"a.txt",))
        tell("end")
        return of(look(project), "events")

    (check,) = turn("tool-begin", "tool-end")
    assert check.ok
    # An end that was broken off says why calls have none.
    tell("begin")
    tell("tool-begin", call="c", tool="edit", call_kind="edit", paths=(b"a.txt",))
    tell("end", interrupted=True)
    assert of(look(project), "events") == [check]
    (check,) = turn("tool-begin")
    number = project.sessions()[-1].turns[-1].n
    assert not check.ok and f"in turn {number}:" in check.message
    (check,) = turn("tool-end")
    assert not check.ok and f"in turn {number}, {number + 1}:" in check.message
    # A turn that begins with a call: its prompt did not arrive.
    tell("tool-begin", call="d", tool="edit", call_kind="edit", paths=(b"a.txt",))
    tell("tool-end", call="d", tool="edit", call_kind="edit", paths=(b"a.txt",))
    tell("end")
    (check,) = of(look(project), "events")
    assert f"{number + 1}, {number + 2}:" in check.message
