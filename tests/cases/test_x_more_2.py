"""X14 to X25: a busy user, `run`, odd files, and the words of the contract."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from typing import Any

import pytest

from tests.cases.world import Answer, World, time_limit


def test_X14_a_rename_that_changes_only_the_case(w: World) -> None:
    w.write("Readme.md", b"old\n")
    w.repository()
    before = w.tree()
    with w.turn() as agent:
        agent.shell("mv Readme.md README.md; echo agent >> README.md")
    after = w.tree()
    answer = w.undo_shell()
    if b"Readme.md" in w.tree():
        assert answer.paths("restored") == [b"Readme.md"]
    w.is_now(before)
    w.redo()
    w.is_now(after)


class BusyUser:
    """Rewrites one file in place and another by rename, until told to stop."""

    def __init__(self, w: World) -> None:
        self.w, self.count, self.stopped = w, 0, threading.Event()
        self.thread = threading.Thread(target=self.work)

    @property
    def mine(self) -> bytes:
        return b"the user's %d\n" % self.count

    def work(self) -> None:
        aside = self.w.place / "aside"
        while not self.stopped.is_set():
            self.count += 1
            self.w.write("f0", self.mine)
            aside.write_bytes(self.mine)
            aside.rename(self.w.path("other"))
            self.other = self.w.stamp("other")
            time.sleep(0.001)

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join()


@pytest.mark.parametrize("delay", [0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9])
def test_X15_the_user_edits_while_the_undo_runs(w: World, delay: float) -> None:
    w.files({f"f{n}": b"old %d\n" % n for n in range(200)})
    w.write("other", b"other\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edits({f"f{n}": b"agent %d\n" % n for n in range(200)})
    after = w.tree()
    took = w.undo().took
    w.redo()
    w.is_now(after)
    user = BusyUser(w)
    process = w.start("undo", "--yes", "--json", stdout=subprocess.PIPE)
    time.sleep(delay * took)
    user.thread.start()
    out, _ = process.communicate(timeout=60)
    user.stop()
    code, document = process.returncode, json.loads(out)
    assert code in (0, 1, 4), out
    done = bool(document.get("operation"))
    assert done == (code != 1), out
    busy = (b"f0", b"other")
    assert {k: v for k, v in w.tree().items() if k not in busy} == {
        k: v for k, v in (before if done else after).items() if k not in busy
    }
    assert (w.read("other"), w.stamp("other")) == (user.mine, user.other)
    if w.read("f0") != user.mine:
        assert done
        w.redo("--yes", code=(0, 4))
        assert w.read("f0") == user.mine
        assert (w.read("other"), w.stamp("other")) == (user.mine, user.other)


def test_X16_run_exit_code_and_interruption_pass_through(w: World) -> None:
    w.files({"f": b"old f\n", "g": b"old g\n"})
    before = w.tree()
    w.tb("run", "--", "sh", "-c", "echo new > f; exit 7", code=7)
    w.tb("run", "--", "sh", "-c", "echo new > g; kill -9 $$", code=128 + 9)
    first, second = w.turns()
    assert [one["path"] for one in first["changes"]] == ["f"]
    assert [one["path"] for one in second["changes"]] == ["g"]
    assert first["state"] == "complete"
    assert second["state"] != "running"
    assert first["complete"] is second["complete"] is True
    assert w.undo_shell().paths("restored") == [b"g"]
    assert w.undo_shell().paths("restored") == [b"f"]
    w.is_now(before)
    assert [turn["undone"] for turn in w.turns()] == [True, True]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_X17_a_signal_to_the_supervisor_still_ends_the_turn(w: World, number: int) -> None:
    w.write("f", b"old\n")
    before = w.tree()
    script = "echo new > f; sleep 300; echo never > f"
    process = w.start("run", "--", "sh", "-c", script, start_new_session=True)
    with time_limit(30):
        while w.read("f") != b"new\n":
            time.sleep(0.02)
    process.send_signal(number)
    with time_limit(10):
        assert process.wait(30) == 128 + number
    assert w.turns()[-1]["state"] == "interrupted"
    assert w.read("f") == b"new\n"
    w.undo_shell()
    w.is_now(before)


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_X18_a_required_filter_whose_program_is_missing(w: World, how: str) -> None:
    w.files(
        {"m.bin": bytes(range(256)) * 9, "a": b"old\n", ".gitattributes": b"*.bin filter=lfs\n"}
    )
    w.repository()
    for key in ("clean", "smudge", "process"):
        w.git("config", f"filter.lfs.{key}", f"no-such-program {key}")
    w.git("config", "filter.lfs.required", "true")
    before = w.tree()
    with w.turn() as agent:
        if how == "edit":
            agent.append("m.bin", b"\0agent")
            agent.edit("a", b"new\n")
            agent.edit("n.bin", b"\0new")
        else:
            agent.shell("printf agent >> m.bin; echo new > a; echo new > n.bin")
    assert set(w.evidence()) == {b"a", b"m.bin", b"n.bin"}
    w.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))


def test_X19_hard_links_and_a_file_that_another_process_holds_open(w: World) -> None:
    w.write("x", b"old\n", mode=0o640)
    os.link(w.path("x"), w.path("y"))
    w.write("held", b"held\n")
    before = w.tree()
    with w.turn() as agent:
        agent.shell("echo agent >> x; echo agent >> held")
    after = w.tree()
    assert w.read("y") == b"old\nagent\n"
    with open(w.path("x"), "rb"), open(w.path("held"), "rb"):
        answer = w.undo_shell()
        assert answer.paths("restored") == [b"held", b"x", b"y"]
        w.is_now(before)
        w.redo()
    w.is_now(after)


@pytest.mark.parametrize("repository", [False, True])
def test_X20_a_project_folder_that_came_back_empty(w: World, repository: bool) -> None:
    w.files({"f": b"old\n", "sub/g": b"g\n"})
    if repository:
        w.repository()
    old = w.tree()[b"f"]
    with w.turn() as agent:
        agent.edit("f", b"agent\n")
        agent.edit("n", b"agent\n")
    for path in w.root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    w.write("mine", b"the user's new file\n")
    with w.nothing_changes():
        answer = w.undo()
        assert answer.paths("kept") == [b"f"]
        assert "deleted since" in answer.doc["kept"][0]["reason"]
        assert answer.paths("deleted") == answer.paths("conflicts") == []
    mine = w.tree()
    w.undo("--path", "f")
    w.is_now(mine | {b"f": old})
    w.redo()
    w.is_now(mine)


TURN = (
    "id n prompt state begun ended before after complete not_captured steps changes undone expired"
)
STEP = "id text begun ended before after complete calls changes"
CALL = "id tool kind paths command state begun ended"
CHANGE = "path status origin evidence calls before after plus minus mixed binary undone"
OPERATION = (
    "operation kind target restored deleted merged kept conflicts not_captured warnings safety"
    " dry_run"
)
HISTORY = "id kind session target at files before after state"
SESSION = "id agent title state begun ended turns files"


def has(document: Any, keys: str) -> None:
    assert isinstance(document, dict), document
    assert set(keys.split()) <= set(document), sorted(document)


def silent(answer: Answer) -> Any:
    """The document of an answer that holds nothing but it."""
    assert answer.out.count(b"\n") == 1 or answer.out.strip() == answer.out.rstrip(b"\n"), answer
    return answer.doc


def moment(text: str) -> None:
    assert text.endswith(("Z", "+00:00")), text
    assert text[:2] == "20" and text[10] == "T", text


def test_X21_the_log_is_one_json_document_with_the_promised_keys(w: World) -> None:
    w.write("f", b"old\n")
    agent = w.begin("s", "a prompt")
    edit = agent.edit("f", b"one\ntwo\n")
    agent.step("an answer")
    shell = agent.shell("echo x > out.txt")
    agent.end()
    undone = silent(w.undo())
    has(undone, OPERATION)
    assert undone["dry_run"] is False and undone["operation"] and undone["safety"]

    log = silent(w.tb("log", "--json"))
    has(log, "project sessions")
    has(log["project"], "root git")
    assert log["project"]["root"] == str(w.root)
    (session,) = log["sessions"]
    has(session, "id agent title state turns")
    assert (session["id"], session["agent"], session["state"]) == ("s", "test", "complete")
    (turn,) = session["turns"]
    has(turn, TURN)
    moment(turn["begun"])
    moment(turn["ended"])
    assert (turn["n"], turn["prompt"], turn["state"]) == (1, "a prompt", "complete")
    assert (turn["complete"], turn["undone"], turn["expired"]) == (True, False, False)
    first, second = turn["steps"]
    for step in (first, second):
        has(step, STEP)
    assert first["text"] == "an answer"
    (edited,), (ran,) = first["calls"], second["calls"]
    has(edited, CALL)
    has(ran, CALL)
    assert (edited["id"], edited["tool"], edited["kind"]) == (edit, "Edit", "edit")
    assert (edited["paths"], edited["state"]) == (["f"], "done")
    assert (ran["id"], ran["kind"], ran["command"]) == (shell, "shell", "echo x > out.txt")
    changes = {one["path"]: one for one in turn["changes"]}
    assert set(changes) == {"f", "out.txt"}
    f, out = changes["f"], changes["out.txt"]
    has(f, CHANGE)
    has(out, CHANGE)
    assert (f["status"], f["origin"], f["evidence"]) == ("modified", "agent-edited", "tool-edit")
    assert (f["calls"], f["plus"], f["minus"], f["undone"]) == ([edit], 2, 1, True)
    assert (f["mixed"], f["binary"]) == (False, False)
    assert (out["status"], out["origin"], out["evidence"]) == ("added", "unknown", "during-call")
    assert (out["calls"], out["before"], out["undone"]) == ([shell], None, False)
    for oid in (turn["before"], turn["after"], f["before"], f["after"], out["after"]):
        assert w.git("--git-dir", str(w.store_gits()[0]), "cat-file", "-t", oid).strip()

    history = silent(w.tb("history", "--json"))
    has(history, "operations next_undo next_redo")
    (operation,) = history["operations"]
    has(operation, HISTORY)
    moment(operation["at"])
    assert operation["id"] == undone["operation"]
    assert (operation["kind"], operation["state"]) == ("undo", "done")
    assert (operation["session"], operation["files"]) == ("s", ["f"])
    assert history["next_redo"] is not None

    (listed,) = silent(w.tb("sessions", "--json"))["sessions"]
    has(listed, SESSION)
    assert (listed["turns"], listed["files"]) == (1, 2)

    storage = silent(w.tb("storage", "--json"))
    has(storage, "bytes cap_bytes projects")
    has(storage["projects"][0], "root sessions snapshots bytes oldest note")
    assert storage["projects"][0]["root"] == str(w.root)
    assert storage["bytes"] > 0

    checks = silent(w.tb("doctor", "--json", code=(0, 1)))["checks"]
    assert checks
    for check in checks:
        has(check, "name ok message fix")


def test_X22_exit_codes_of_the_contract(w: World) -> None:
    def fails(code: int, *words: str) -> None:
        with w.nothing_changes():
            answer = w.tb(*words, code=code)
            error = answer.doc["error"]
            assert set(error) >= {"message", "hint", "code"}, answer
            assert error["code"] == code and error["message"], answer
            plain = w.tb(*(word for word in words if word != "--json"), code=code)
            assert plain.err.strip() and not plain.out, plain

    w.write("f", b"old\n")
    fails(3, "undo", "--json")
    fails(3, "redo", "--json")
    fails(3, "--json", "undo")
    fails(2, "undo", "--no-such-option", "--json")
    fails(2, "no-such-verb", "--json")
    fails(2, "--json", "no-such-verb")
    fails(2, "record", "no-such-event", "--json")
    fails(2, "record", "begin", "--json")
    fails(2, "goto", "1", "--json")
    fails(2, "restore", "--op", "none", "--json")
    fails(2, "redo", "none", "--json")
    fails(2, "-C", str(w.place / "nowhere"), "undo", "--json")
    w.tb("record", "end", "--session", "unknown")
    with w.turn() as agent:
        agent.edit("f", b"new\n")
    fails(3, "redo", "--json")
    w.undo("--dry-run")
    w.undo()
    fails(3, "undo", "--json")
    fails(3, "undo", "--dry-run", "--json")
    w.redo("--dry-run")
    w.redo()
    fails(3, "redo", "--json")
    running = w.begin()
    running.edit("f", b"newer\n")
    fails(5, "undo", "--json")
    fails(5, "undo", "--dry-run", "--json")
    running.end()
    w.write("f", b"the user's\n")
    with w.nothing_changes():
        for words in ([], ["--dry-run"], ["--dry-run", "--yes"]):
            assert w.undo(*words, code=4).paths("conflicts") == [b"f"]
    w.undo("--keep")


def test_X23_a_very_wide_turn_is_undone_partly_without_touching_the_rest(w: World) -> None:
    names = [f"d{n % 20}/f{n}" for n in range(2000)]
    w.files({name: name.encode() for name in names})
    before = w.tree()
    with w.turn() as agent:
        agent.shell(lambda: [w.write(name, b"agent\n") for name in names[:1000]])
    after = w.tree()
    chosen = names[:1000:2]
    wanted = after | {name.encode(): before[name.encode()] for name in chosen}
    stamps = {name: w.stamp(name) for name in names if name not in set(chosen)}
    options = [f"--path={name}" for name in chosen]
    with w.nothing_changes():
        assert w.undo(*options, code=4).doc["operation"] is None
    with time_limit(10):
        answer = w.undo(*options, "--yes")
    assert answer.paths("restored") == sorted(name.encode() for name in chosen)
    assert answer.paths("deleted") == answer.paths("merged") == answer.paths("conflicts") == []
    w.is_now(wanted)
    assert {name: w.stamp(name) for name in stamps} == stamps
    w.redo()
    w.is_now(after)


@pytest.mark.parametrize("broken", ["head", "index", "both", "config", "objects"])
def test_X24_the_users_repository_is_broken(w: World, broken: str) -> None:
    w.files({"f": b"old\n", "sub/g": b"g\n", ".gitignore": b"*.out\n", "b.out": b"built\n"})
    w.repository()
    git = w.path(".git")
    if broken in ("head", "both"):
        (git / "HEAD").write_bytes(b"\0garbage\xff\n")
    if broken in ("index", "both"):
        index = (git / "index").read_bytes()
        (git / "index").write_bytes(index[: len(index) // 2])
    if broken == "config":
        (git / "config").write_bytes(b"[core\nrepositoryformatversion = 99\n")
    if broken == "objects":
        shutil.rmtree(git / "objects")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.edit("n", b"n\n")
    w.there_and_back(before)
    w.undo()
    with w.turn() as agent:
        agent.shell("echo new > f; echo n > n; rm sub/g")
    after = w.tree()
    w.undo_shell()
    w.is_now(before)
    w.redo()
    w.is_now(after)


BEFORE_1970 = -86_400 * 10**9 * 200 + 123_456_789
FAR = 4_102_444_800 * 10**9 + 999_999_999
ODD = 1_700_000_000 * 10**9 + 1


def dated(w: World, name: str, at: int) -> None:
    os.utime(w.write(name, name.encode()), ns=(at, at))


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_X25_times_before_1970_far_in_the_future_and_nanoseconds(w: World, how: str) -> None:
    times = {"past": BEFORE_1970, "just": -1, "epoch": 0, "far": FAR, "odd": ODD}
    for name, at in times.items():
        for kind in ("rewritten", "removed", "left"):
            dated(w, f"{name}.{kind}", at)
        assert w.path(f"{name}.left").stat().st_mtime_ns == at
    before = w.tree()

    with w.turn() as agent:
        if how == "edit":
            agent.edits({f"{name}.rewritten": b"agent's" for name in times})
            agent.edits({f"{name}.removed": None for name in times})
        else:
            agent.shell("for f in *.rewritten; do echo new > $f; done; rm *.removed")
            agent.shell(lambda: [dated(w, f"{name}.new", at) for name, at in times.items()])
    w.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))
