"""X1 to X13: crashes, odd repositories, and undo of a part."""

from __future__ import annotations

import os
import time

import pytest

from tests.cases.world import Tree, Turn, World, differences

NINE = b"".join(b"line %d\n" % n for n in range(1, 10))


def line(n: int, text: bytes, of: bytes = NINE) -> bytes:
    return of.replace(b"line %d\n" % n, text)


def either(agent: Turn, how: str, wanted: dict[str, bytes]) -> None:
    """The same writes through the edit tool, or through the shell."""
    if how == "edit":
        agent.edits({**wanted})
    else:
        agent.shell(lambda: [agent.world.write(name, data) for name, data in wanted.items()])


def wide_turn(w: World) -> Tree:
    """120 files, of which a turn edits 60 and deletes 20; it creates 20 more."""
    w.files({f"d{n % 6}/f{n}": b"%d\n" % n * (n + 1) for n in range(120)})
    wanted: dict[str | bytes, bytes | None] = {}
    wanted |= {f"d{n % 6}/f{n}": b"agent %d\n" % n for n in range(60)}
    wanted |= {f"d{n % 6}/f{n}": None for n in range(60, 80)}
    wanted |= {f"new{n % 3}/n{n}": b"new %d\n" % n for n in range(20)}
    before = w.tree()
    with w.turn() as agent:
        agent.edits(wanted)
    return before


def killed_in_the_act(w: World, verb: str, within: float) -> None:
    """Kills a command while files are being exchanged, which a blind moment seldom meets."""
    process = w.start(verb)
    (store,) = w.data.glob("projects/*")
    while process.poll() is None and not (store / "journal-commit").exists():
        pass
    time.sleep(w.random.uniform(0, within))
    process.kill()
    process.wait(30)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["any", "commit"])
@pytest.mark.parametrize("verb", ["undo", "redo"])
def test_X1_an_undo_killed_at_any_moment_is_all_or_nothing(
    w: World, verb: str, moment: str
) -> None:
    before = wide_turn(w)
    after = w.tree()
    took = w.undo().took
    w.is_now(before)
    if verb == "undo":
        w.redo()
        w.is_now(after)
    old, new = (after, before) if verb == "undo" else (before, after)
    back = {"undo": w.redo, "redo": w.undo}[verb]
    forth = {"undo": w.undo, "redo": w.redo}[verb]
    for _ in range(4):
        if moment == "any":
            w.killed(verb, within=took)
        else:
            killed_in_the_act(w, verb, within=took / 20)
        w.tb("recover")
        now = w.tree()
        lines = differences(old, now)
        if not lines:
            forth()
        elif differences(new, now):
            pytest.fail("a mixture:\n" + "\n".join(lines))
        w.is_now(new)
        back()
        w.is_now(old)


def test_X2_split_index(w: World) -> None:
    w.files({"f": b"old\n", "g": b"g\n", "sub/h": b"h\n"})
    w.repository()
    w.git("config", "core.splitIndex", "true")
    w.git("update-index", "--split-index")
    w.write("g", b"staged\n")
    w.git("add", "g")
    w.append("g", b"not staged\n")
    assert list(w.path(".git").glob("sharedindex.*"))
    before = w.tree()
    with w.turn() as agent:
        agent.append("f", b"agent\n")
        agent.append("g", b"agent\n")
        agent.edit("n", b"agent\n")
    w.there_and_back(before)
    assert w.git("--no-optional-locks", "diff", "--cached", "--name-only") == b"g\n"
    assert w.git("show", ":g") == b"staged\n"


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_X3_assume_unchanged_and_skip_worktree_files(w: World, how: str) -> None:
    w.files({"f": b"committed\n", "g": b"committed\n", "h": b"h\n"})
    w.repository()
    w.git("update-index", "--assume-unchanged", "f")
    w.git("update-index", "--skip-worktree", "g")
    w.files({"f": b"the user's f\n", "g": b"the user's g\n"})
    before = w.tree()
    with w.turn() as agent:
        either(agent, how, {"f": b"agent f\n", "g": b"agent g\n"})
    assert set(w.evidence()) == {b"f", b"g"}
    w.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))
    assert w.git("ls-files", "-v") == b"h f\nS g\nH h\n"


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_X4_an_unfinished_merge_in_the_users_repository(w: World, how: str) -> None:
    w.write("f", NINE)
    w.repository()
    w.git("switch", "-qc", "other")
    w.write("f", line(5, b"theirs\n"))
    w.commit()
    w.git("switch", "-q", "main")
    w.write("f", line(5, b"ours\n"))
    w.commit()
    w.git("merge", "other", ok=False)
    assert b"<<<<<<<" in w.read("f")
    unmerged = w.git("ls-files", "-u")
    assert len(unmerged.splitlines()) == 3
    before = w.tree()
    with w.turn() as agent:
        either(agent, how, {"f": line(5, b"both\n")})
    w.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))
    assert w.git("ls-files", "-u") == unmerged
    assert w.path(".git/MERGE_HEAD").is_file()


def test_X5_read_only_folders_and_files(w: World) -> None:
    w.write("closed/f", b"old\n", mode=0o444)
    w.write("closed/g", b"g\n", mode=0o444)
    w.write("closed/deep/h", b"h\n", mode=0o400)
    w.path("closed/deep").chmod(0o555)
    w.path("closed").chmod(0o555)
    before = w.tree()
    with w.turn() as agent:
        agent.shell(
            "chmod 755 closed closed/deep; chmod 644 closed/f; echo agent > closed/f;"
            " echo new > closed/n; rm -f closed/deep/h; echo x > closed/deep/x;"
            " chmod 444 closed/f closed/n; chmod 555 closed/deep closed"
        )
    after = w.tree()
    answer = w.undo_shell()
    assert answer.paths("restored") == [b"closed/deep/h", b"closed/f"]
    assert answer.paths("deleted") == [b"closed/deep/x", b"closed/n"]
    w.is_now(before)
    w.redo()
    w.is_now(after)


@pytest.mark.parametrize("packed", [False, True])
def test_X6_history_rewritten_deleted_files_still_return(w: World, packed: bool) -> None:
    w.files({f"d{n % 3}/f{n}": os.urandom(50) * (n + 1) for n in range(30)})
    w.repository()
    if packed:
        w.git("gc", "-q")
    before = w.tree()
    with w.turn() as agent:
        agent.shell("rm -r d0 d1 d2")
    after = w.tree()
    w.git("checkout", "-q", "--orphan", "fresh")
    w.git("rm", "-rq", "--cached", ".")
    w.git("commit", "-q", "--allow-empty", "-m", "new root")
    w.git("branch", "-D", "main")
    w.git("reflog", "expire", "--expire=now", "--all")
    w.git("gc", "-q", "--prune=now", "--aggressive")
    assert len(w.git("rev-list", "--all", "--objects").splitlines()) == 2
    answer = w.undo_all()
    assert len(answer.paths("restored")) == 30
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_X7_redo_after_a_restart_with_a_file_the_agent_deleted(w: World) -> None:
    w.files({"d": b"d\n", "f": b"old\n", "sub/user": b"mine\n"})
    with w.turn() as agent:
        agent.edit("d", None)
        agent.edit("f", b"agent\n")
        agent.edit("n", b"agent\n")
    after = w.tree()
    answer = w.undo()
    assert answer.lists() == {
        "restored": [b"d", b"f"],
        "deleted": [b"n"],
        "merged": [],
        "kept": [],
        "conflicts": [],
    }
    w.append("sub/user", b"more\n")
    stamp = w.stamp("sub/user")
    again = w.redo(cwd=w.path("sub"))
    assert again.paths("deleted") == [b"d"]
    assert again.paths("restored") == [b"f", b"n"]
    assert not w.has("d")
    assert w.stamp("sub/user") == stamp
    w.is_now(after | {b"sub/user": w.tree()[b"sub/user"]})


@pytest.mark.parametrize("undone", ["A", "B"])
def test_X8_two_sessions_edit_different_lines_of_one_file(w: World, undone: str) -> None:
    w.write("f", NINE)
    a, b = w.begin("A"), w.begin("B")
    a.edit("f", line(2, b"by A\n"))
    b.edit("f", line(8, b"by B\n", w.read("f")))
    a.end()
    b.end()
    both = w.read("f")
    answer = w.undo("--session", undone)
    if undone == "A":
        assert answer.paths("merged") == [b"f"]
        assert w.read("f") == line(8, b"by B\n")
    else:
        assert w.read("f") == line(2, b"by A\n")
    w.redo("--session", undone)
    assert w.read("f") == both
    w.undo("--session", "A")
    w.undo("--session", "B")
    assert w.read("f") == NINE


def test_X9_undo_of_chosen_files_only_then_of_the_rest(w: World) -> None:
    w.files({"a": b"old a\n", "b": b"old b\n"})
    before = w.tree()
    with w.turn() as agent:
        agent.edit("a", b"new a\n")
        agent.edit("b", b"new b\n")
        agent.edit("c", b"new c\n")
    after = w.tree()
    half = after | {b"a": before[b"a"]}
    first = w.undo("--path", "a")
    assert (first.paths("restored"), first.paths("deleted")) == ([b"a"], [])
    w.is_now(half)
    rest = w.undo()
    assert (rest.paths("restored"), rest.paths("deleted")) == ([b"b"], [b"c"])
    w.is_now(before)
    assert w.turns()[-1]["undone"] is True
    w.redo()
    w.is_now(half)
    w.redo()
    w.is_now(after)
    w.redo(code=3)


def test_X10_an_older_turn_is_undone_later_ones_kept(w: World) -> None:
    w.files({"a": NINE, "b": b"old b\n"})
    with w.turn() as agent:
        agent.edit("a", line(1, b"turn 1\n"))
    with w.turn() as agent:
        agent.edit("b", b"new b\n")
    with w.turn() as agent:
        agent.edit("a", line(9, b"turn 3\n", w.read("a")))
    all_three, b = w.read("a"), w.stamp("b")
    answer = w.undo("--turn", "1")
    assert answer.lists() == {
        "restored": [],
        "deleted": [],
        "merged": [b"a"],
        "kept": [],
        "conflicts": [],
    }
    assert w.read("a") == line(9, b"turn 3\n")
    assert w.stamp("b") == b
    assert [turn["undone"] for turn in w.turns()] == [True, False, False]
    w.redo()
    assert w.read("a") == all_three
    assert w.stamp("b") == b


def test_X11_a_binary_file_both_changed(w: World) -> None:
    w.write("b", bytes(range(256)))
    with w.turn() as agent:
        agent.edit("b", bytes(range(255, -1, -1)))
    w.write("b", b"\0the user's\0" * 9)
    with w.nothing_changes():
        for words in ([], ["--yes"], ["--all"], ["--all", "--yes"]):
            answer = w.undo(*words, code=4)
            assert answer.paths("conflicts") == [b"b"]
            assert answer.doc["operation"] is None
    kept = w.undo("--keep")
    assert kept.paths("kept") == [b"b"]
    assert w.read("b") == b"\0the user's\0" * 9
    w.undo("--overwrite", "--yes")
    assert w.read("b") == bytes(range(256))
    w.redo()
    assert w.read("b") == b"\0the user's\0" * 9


def test_X12_no_commit_yet_and_a_detached_head(w: World) -> None:
    w.files({"f": b"old\n", "g": b"g\n"})
    w.repository(commit=False)
    w.git("add", "g")
    before = w.tree()
    with w.turn() as agent:
        agent.append("f", b"agent\n")
        agent.append("g", b"agent\n")
        agent.edit("n", b"n\n")
    w.there_and_back(before)
    w.undo()
    w.commit()
    w.git("checkout", "-q", "--detach")
    head = w.path(".git/HEAD").read_bytes()
    assert not head.startswith(b"ref:")
    w.append("f", b"the user's\n")
    before = w.tree()
    with w.turn() as agent:
        agent.append("f", b"agent\n")
        agent.append("g", b"agent\n")
        agent.edit("n2", b"n\n")
    w.there_and_back(before)
    assert w.path(".git/HEAD").read_bytes() == head


CONFUSING = """\
[color]
    ui = always
[core]
    quotePath = true
    fileMode = false
    ignoreCase = true
    pager = false
    excludesFile = ~/excludes
    autocrlf = true
    safecrlf = true
[status]
    short = true
    branch = true
    showUntrackedFiles = no
    relativePaths = true
[diff]
    noprefix = true
    mnemonicPrefix = true
    renames = copies
    external = false
[alias]
    status = !false
    st = status
[pager]
    status = true
    diff = true
"""


def test_X13_user_settings_that_confuse_git_output(w: World) -> None:
    w.files({"old name": NINE, "caf\u00e9": b"one\ntwo\n", "kept.mine": b"excluded\n"})
    w.write("run.sh", b"#!/bin/sh\n", mode=0o644)
    w.repository()
    with open(w.home / ".gitconfig", "a") as file:
        file.write(CONFUSING)
    (w.home / "excludes").write_text("*.mine\n")
    w.write("loose.mine", b"the user's, excluded, not tracked\n")
    before = w.tree()
    with w.turn() as agent:
        agent.shell("mv 'old name' 'new name'; chmod 755 run.sh; echo three >> caf\u00e9")
    after = w.tree()
    patch = w.tb("diff", "--patch").out
    assert b"\x1b" not in patch
    assert patch.count(b"diff --git a/") + patch.count(b'diff --git "a/') >= 3
    answer = w.undo_shell()
    names = sorted(map(os.fsencode, ("old name", "caf\u00e9", "run.sh")))
    assert answer.paths("restored") == names
    assert answer.paths("deleted") == [b"new name"]
    w.is_now(before)
    w.redo()
    w.is_now(after)
