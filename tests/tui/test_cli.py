from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TAKEBACK_")}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(ROOT / ".dev"), kept.get("PYTHONPATH", "")]),
        "TAKEBACK_DATA_DIR": str(tmp_path / "data"),
        "TAKEBACK_CONFIG_DIR": str(tmp_path / "config"),
        "HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made


def cli(
    folder: Path, env: dict[str, str], *words: str | bytes, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "takeback.tui.cli", *words],
        cwd=folder,
        env=env,
        input=stdin,
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_help_version_and_no_verb_need_no_project(folder: Path, env: dict[str, str]) -> None:
    for words in ([], ["--help"], ["--version"], ["undo", "--help"]):
        done = cli(folder, env, *words)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        assert not done.stderr
    assert not (folder.parent / "data").exists()


def test_help_and_record_import_nothing_heavy(env: dict[str, str]) -> None:
    code = (
        "import sys; from takeback.tui import cli; cli.main(['--help']); "
        "from takeback.tui import verbs_record, run, verbs, verbs_undo; "
        "heavy = {'textual', 'rich', 'pygit2', 'argparse'} & set(sys.modules); "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_wrong_usage_is_one_json_document_and_exit_2(folder: Path, env: dict[str, str]) -> None:
    for words in (["bogus", "--json"], ["--json", "undo", "--nope"], ["--json", "fork", "x"]):
        done = cli(folder, env, *words)
        assert done.returncode == 2
        error = json.loads(done.stdout)["error"]
        assert set(error) == {"message", "hint", "code"}
        assert error["code"] == 2
    plain = cli(folder, env, "bogus\x1b[2J")
    assert plain.returncode == 2
    assert plain.stdout == b""
    assert b"\x1b" not in plain.stderr


@pytest.mark.parametrize("verb", [["fork", "x"], ["forks"], ["switch", "x"], ["compare", "x"]])
def test_what_is_not_built_says_so(folder: Path, env: dict[str, str], verb: list[str]) -> None:
    done = cli(folder, env, *verb)
    assert done.returncode == 2
    assert b"not built yet" in done.stderr


def test_a_hook_never_fails_an_agent(folder: Path, env: dict[str, str]) -> None:
    for words in (["hook"], ["hook", "nobody"], ["--data-dir", "/dev/null/x", "hook", "claude"]):
        done = cli(folder, env, *words, stdin=b"not json")
        assert done.returncode == 0
        assert done.stdout == b""


def test_a_reader_that_stops_early_is_no_failure(folder: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        f"{sys.executable} -m takeback.tui.cli --help | head -c 1",
        shell=True,
        cwd=folder,
        env=env,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == b""


# --- Recording and run ---------------------------------------------------------------------------


def test_events_are_recorded_and_a_begin_prints_the_turn(folder: Path, env: dict[str, str]) -> None:
    begun = cli(folder, env, "record", "begin", "--session", "s", "--prompt", "-", stdin=b"hi\n")
    assert begun.returncode == 0, begun.stderr
    assert begun.stdout.strip()
    edit = ("--session", "s", "--call", "c", "--tool", "Edit", "--kind", "edit")
    name = b"\xffx\n"
    assert cli(folder, env, "record", "tool-begin", *edit, "--path", name).returncode == 0
    (folder / os.fsdecode(name)).write_bytes(b"new\n")
    assert cli(folder, env, "record", "tool-end", "--session", "s", "--call", "c").returncode == 0
    assert cli(folder, env, "record", "step", "--session", "s", "--text", "ok").returncode == 0
    assert cli(folder, env, "record", "end", "--session", "s").returncode == 0
    again = cli(folder, env, "record", "begin", "--session", "s", "--json")
    document = json.loads(again.stdout)
    assert document["complete"] is True
    assert document["not_captured"] == []


def test_an_end_without_a_turn_creates_nothing(folder: Path, env: dict[str, str]) -> None:
    done = cli(folder, env, "record", "end", "--session", "s")
    assert done.returncode == 0
    assert not (folder.parent / "data").exists()


def test_run_passes_the_exit_code_output_and_environment(folder: Path, env: dict[str, str]) -> None:
    done = cli(folder, env, "run", "--", "sh", "-c", 'echo "$TAKEBACK_RUN"; echo x > f; exit 7')
    assert done.returncode == 7
    assert done.stdout.strip()
    assert done.stderr == b""
    killed = cli(folder, env, "run", "--", "sh", "-c", "echo x > g; kill -9 $$")
    assert killed.returncode == 128 + 9


def test_run_names_a_command_that_is_not_there(folder: Path, env: dict[str, str]) -> None:
    done = cli(folder, env, "run", "--", "no-such-command-here")
    assert done.returncode == 127
    assert not (folder.parent / "data").exists()


def test_run_refuses_without_a_first_snapshot_unless_unprotected(
    folder: Path, env: dict[str, str]
) -> None:
    blocked = folder.parent / "blocked"
    blocked.write_bytes(b"")
    words = ("--data-dir", str(blocked), "run")
    done = cli(folder, env, *words, "--", "touch", "f")
    assert done.returncode == 1
    assert not (folder / "f").exists()
    done = cli(folder, env, *words, "--unprotected", "--", "touch", "f")
    assert done.returncode == 0
    assert (folder / "f").exists()


def appears(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has written a file."""
    limit = time.monotonic() + 20
    while not (path.exists() and path.read_bytes()):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)


def runs(pid: int) -> bool:
    """Whether a process is still there and no zombie that nobody has waited for."""
    done = subprocess.run(
        ["ps", "-o", "state=", "-p", str(pid)], capture_output=True, check=False, timeout=10
    )
    return done.stdout.strip()[:1] not in (b"", b"Z", b"X")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_the_whole_group_and_ends_the_turn(
    folder: Path, env: dict[str, str], number: signal.Signals
) -> None:
    script = "echo x > f; sleep 50 & echo $! > pid; wait"
    process = subprocess.Popen(
        [sys.executable, "-m", "takeback.tui.cli", "run", "--", "sh", "-c", script],
        cwd=folder,
        env=env,
        start_new_session=True,
    )
    pid = folder / "pid"
    appears(pid, process)
    process.send_signal(number)
    assert process.wait(10) == 128 + number
    assert not runs(int(pid.read_text()))
    assert not list((folder.parent / "data" / "open").glob("*.json"))


def test_a_second_signal_kills_a_group_that_does_not_listen(
    folder: Path, env: dict[str, str]
) -> None:
    script = "trap '' TERM; echo > ready; while :; do sleep 1; done"
    process = subprocess.Popen(
        [sys.executable, "-m", "takeback.tui.cli", "run", "--", "sh", "-c", script],
        cwd=folder,
        env=env,
    )
    appears(folder / "ready", process)
    process.terminate()
    time.sleep(0.3)
    assert process.poll() is None
    process.terminate()
    assert process.wait(10) == 128 + 9


def test_orphans_that_hold_the_output_are_not_waited_for(folder: Path, env: dict[str, str]) -> None:
    with open(folder.parent / "out", "wb") as out:
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "takeback.tui.cli", "run", "--", "sh", "-c", "sleep 20 & :"],
            cwd=folder,
            env=env,
            stdout=out,
            check=False,
            timeout=60,
        )
    assert done.returncode == 0
    assert time.monotonic() - start < 15


def on_terminal(
    folder: Path, env: dict[str, str], words: list[str], *keys: bytes, at: bytes = b"ready"
) -> tuple[int, bytes]:
    """Run a command on a terminal of its own; at each sign of readiness, type."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        argv = [sys.executable, "-m", "takeback.tui.cli", *words]
        os.execve(sys.executable, argv, env)
    seen = b""
    left = list(keys)
    while True:
        try:
            got = os.read(terminal, 4096)
        except OSError:
            break
        if not got:
            break
        seen += got
        if left and seen.count(at) > len(keys) - len(left):
            os.write(terminal, left.pop(0))
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), seen


def shell(script: str) -> list[str]:
    return ["run", "--", "sh", "-c", script]


def test_the_command_owns_the_terminal(folder: Path, env: dict[str, str]) -> None:
    code, seen = on_terminal(
        folder, env, shell("echo ready; read -r line; echo got $line"), b"words\n"
    )
    assert code == 0
    assert b"got words" in seen


def test_an_interrupt_from_the_keyboard_reaches_the_command(
    folder: Path, env: dict[str, str]
) -> None:
    script = 'trap "echo caught; exit 3" INT; echo ready; while :; do sleep 0.1; done'
    code, seen = on_terminal(folder, env, shell(script), b"\x03")
    assert code == 3
    assert b"caught" in seen
    code, _ = on_terminal(folder, env, shell("echo ready; sleep 20"), b"\x03")
    assert code == 128 + signal.SIGINT
    assert not list((folder.parent / "data" / "open").glob("*.json"))


def test_a_stop_from_the_keyboard_is_no_end(folder: Path, env: dict[str, str]) -> None:
    """Nobody could continue this group, so the system lets it go on at once."""
    script = "echo ready; read -r line; echo got $line"
    code, seen = on_terminal(folder, env, shell(script), b"\x1awords\n")
    assert code == 0
    assert b"got words" in seen


def test_a_plan_that_asks_is_asked_about_on_a_terminal(folder: Path, env: dict[str, str]) -> None:
    made = folder / "made"
    assert cli(folder, env, "run", "--", "sh", "-c", "echo x > made").returncode == 0
    words = ["undo", "--include-unknown"]
    for answer, code in ((b"n\n", 4), (b"\n", 4), (b"\x04", 4), (b"\x03", 130)):
        assert on_terminal(folder, env, words, answer, at=b"[y/N]")[0] == code
        assert made.exists()
    code, seen = on_terminal(folder, env, words, b"y\n", at=b"[y/N]")
    assert code == 0
    assert b"Took back turn 1" in seen
    assert not made.exists()


def test_a_turn_of_unknown_origin_alone_is_asked_about(folder: Path, env: dict[str, str]) -> None:
    assert cli(folder, env, "run", "--", "sh", "-c", "echo x > made").returncode == 0
    code, _ = on_terminal(folder, env, ["undo"], b"y\n", b"y\n", at=b"[y/N]")
    assert code == 0
    assert not (folder / "made").exists()
