"""O: what was seen with OpenCode, on a small repository with everything committed."""

from __future__ import annotations

import os

import pytest

from tests.cases.world import World, time_limit

MB = 1 << 20
LINES = b"line one\nline two\nline three\n"


def nothing_but(**wanted: list[bytes]) -> dict[str, list[bytes]]:
    """What an answer lists: these, and nothing else."""
    empty: dict[str, list[bytes]] = {
        bucket: [] for bucket in ("restored", "deleted", "merged", "kept", "conflicts")
    }
    return empty | wanted


def test_O1_the_user_edits_another_file_after_the_turn(base: World) -> None:
    before = base.tree()
    with base.turn() as agent:
        agent.append("a.txt", b"agent\n")
    agents = base.tree()[b"a.txt"]
    base.append("c.txt", b"the user's\n")
    base.write("user_new.txt", b"the user's\n")
    users = base.tree()
    stamps = {name: base.stamp(name) for name in ("c.txt", "user_new.txt", ".env")}
    assert base.undo().lists() == nothing_but(restored=[b"a.txt"])
    base.is_now(users | {b"a.txt": before[b"a.txt"]})
    assert base.redo().lists() == nothing_but(restored=[b"a.txt"])
    base.is_now(users | {b"a.txt": agents})
    assert {name: base.stamp(name) for name in stamps} == stamps


def test_O2_the_user_works_during_the_turn_between_tool_calls(base: World) -> None:
    before = base.tree()
    with base.turn() as agent:
        agent.shell("echo agent >> a.txt")
        base.append("c.txt", b"the user's\n")
        base.write("user_during.txt", b"the user's\n")
        agent.edit("n.txt", b"agent\n")
    assert base.evidence() == {
        b"a.txt": "during-call",
        b"c.txt": "outside-calls",
        b"n.txt": "tool-edit",
        b"user_during.txt": "outside-calls",
    }
    after = base.tree()
    users = {name: base.stamp(name) for name in ("c.txt", "user_during.txt")}
    answer = base.undo()
    assert answer.paths("restored") == []
    assert answer.paths("deleted") == [b"n.txt"]
    after.pop(b"n.txt")
    base.is_now(after)
    with base.nothing_changes():
        base.undo("--include-unknown", code=4)
    assert base.undo("--include-unknown", "--yes").paths("restored") == [b"a.txt"]
    base.is_now(after | {b"a.txt": before[b"a.txt"]})
    assert {name: base.stamp(name) for name in users} == users


def test_O3_untracked_files_of_3_MB(base: World) -> None:
    base.write("big.bin", os.urandom(3 * MB))
    before = base.tree()
    with base.turn() as agent:
        agent.shell("echo more >> big.bin; head -c 3145728 big.bin > big2.bin; echo s > small.txt")
    after = base.tree()
    assert base.not_captured() == {}
    answer = base.undo_shell()
    assert answer.lists() == nothing_but(restored=[b"big.bin"], deleted=[b"big2.bin", b"small.txt"])
    base.is_now(before)
    base.redo()
    base.is_now(after)


@pytest.mark.parametrize("size", [3, 12])
def test_O4_a_large_tracked_file(base: World, size: int) -> None:
    base.write("bigt.bin", os.urandom(size * MB))
    base.commit()
    before = base.tree()
    with base.turn() as agent:
        agent.shell("echo more >> bigt.bin")
    after = base.tree()
    assert base.not_captured() == {}
    assert base.undo_shell().lists() == nothing_but(restored=[b"bigt.bin"])
    base.is_now(before)
    base.redo()
    base.is_now(after)


@pytest.mark.parametrize("committed", [False, True])
def test_O5_LF_on_disk_under_eol_crlf(base: World, committed: bool) -> None:
    base.write(".gitattributes", b"*.bat text eol=crlf\n")
    base.write("lf.bat", b"@echo off\necho one\n")
    if committed:
        base.commit()
    assert base.read("lf.bat") == b"@echo off\necho one\n"
    before = base.tree()
    with base.turn() as agent:
        agent.append("lf.bat", b"echo agent\n")
    base.there_and_back(before)
    base.undo()
    with base.turn() as agent:
        agent.shell("echo echo agent >> lf.bat")
    after = base.tree()
    base.undo_shell()
    base.is_now(before)
    base.redo()
    base.is_now(after)


def test_O6_empty_folders_made_and_removed(base: World) -> None:
    base.path("empty").mkdir(mode=0o750)
    base.path("keep/sub").mkdir(parents=True)
    before = base.tree()
    with base.turn() as agent:
        agent.shell("rmdir empty keep/sub keep; mkdir -p made/deep/er; echo q > made/q.txt")
    after = base.tree()
    assert base.undo_shell().lists() == nothing_but(deleted=[b"made/q.txt"])
    base.is_now(before)
    base.redo()
    base.is_now(after)


def test_O7_the_agent_commits(base: World) -> None:
    before = base.tree()
    with base.turn() as agent:
        agent.shell("echo agent >> a.txt; git commit -qam agent")
    after = base.tree()
    head = base.git("rev-parse", "HEAD")
    assert base.git("show", "HEAD:a.txt") == LINES + b"agent\n"
    assert base.undo_shell().lists() == nothing_but(restored=[b"a.txt"])
    base.is_now(before)
    assert base.git("rev-parse", "HEAD") == head
    assert base.git("show", ":a.txt") == LINES + b"agent\n"
    base.redo()
    base.is_now(after)
    assert base.git("rev-parse", "HEAD") == head
    assert base.git("--no-optional-locks", "status", "--porcelain") == b""


@pytest.mark.parametrize("back", [False, True])
def test_O8_a_file_becomes_a_folder(base: World, back: bool) -> None:
    if back:
        base.write("folder/inside", b"i\n", mode=0o600)
        base.path("folder").chmod(0o700)
    before = base.tree()
    with base.turn() as agent:
        if back:
            agent.shell("rm -r folder; echo file > folder")
        else:
            agent.shell("rm c.txt; mkdir c.txt; echo inside > c.txt/inside")
    after = base.tree()
    made, lost = (b"folder", b"folder/inside") if back else (b"c.txt/inside", b"c.txt")
    assert base.undo_shell().lists() == nothing_but(restored=[lost], deleted=[made])
    base.is_now(before)
    base.redo()
    base.is_now(after)


def test_O9_a_file_outside_the_project(base: World) -> None:
    outside, edited = base.place / "outside-file.txt", base.place / "outside-edited.txt"
    edited.write_bytes(b"old\n")
    before = base.tree()
    with base.turn() as agent:
        agent.shell("echo out > ../outside-file.txt; echo in > inside.txt")
        agent.edit("../outside-edited.txt", b"agent\n")
    base.guard(outside, edited)
    assert "outside-project" in base.not_captured().values()
    assert base.undo_all().paths("deleted") == [b"inside.txt"]
    base.is_now(before)
    base.redo()
    assert outside.read_bytes() == b"out\n"
    assert edited.read_bytes() == b"agent\n"


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_O10_a_session_in_a_subfolder_edits_its_parent(base: World, how: str) -> None:
    src = str(base.path("src"))
    before = base.tree()
    with base.turn(cwd=src) as agent:
        if how == "edit":
            agent.append("../a.txt", b"agent\n")
            agent.append("s.txt", b"agent\n")
        else:
            agent.shell("echo agent >> ../a.txt; echo agent >> s.txt")
    after = base.tree()
    answer = base.undo(cwd=src) if how == "edit" else base.undo_shell(cwd=src)
    assert answer.lists() == nothing_but(restored=[b"a.txt", b"src/s.txt"])
    base.is_now(before)
    base.redo(cwd=src)
    base.is_now(after)
    base.undo("--path", "../a.txt", *([] if how == "edit" else ["--yes"]), cwd=src)
    base.is_now(after | {b"a.txt": before[b"a.txt"]})
    assert len(base.turns()) == 1


def test_O11_the_turn_is_aborted(base: World) -> None:
    before = base.tree()
    agent = base.begin()
    call = agent.tool_begin("shell", command="make all")
    base.append("a.txt", b"agent\n")
    base.write("partial.txt", b"part\n")
    agent.end(interrupted=True)
    after = base.tree()
    turn = base.turns()[-1]
    assert turn["state"] == "interrupted"
    (step,) = turn["steps"]
    assert [(one["id"], one["state"]) for one in step["calls"]] == [(call, "lost")]
    assert all(one["origin"] == "unknown" for one in turn["changes"])
    assert base.undo_shell().lists() == nothing_but(restored=[b"a.txt"], deleted=[b"partial.txt"])
    base.is_now(before)
    base.redo()
    base.is_now(after)


def test_O12_moved_and_edited(base: World) -> None:
    base.write("big.txt", b"".join(b"line %d\n" % n for n in range(100)))
    base.commit()
    before = base.tree()
    with base.turn() as agent:
        agent.shell("mv big.txt moved.txt; echo agent >> moved.txt")
    after = base.tree()
    assert base.undo_shell().lists() == nothing_but(restored=[b"big.txt"], deleted=[b"moved.txt"])
    base.is_now(before)
    base.redo()
    base.is_now(after)


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_O13_a_blank_in_the_name(base: World, how: str) -> None:
    base.write("sp ace.txt", b"old\n")
    before = base.tree()
    with base.turn() as agent:
        if how == "edit":
            agent.append("sp ace.txt", b"agent\n")
        else:
            agent.shell("echo agent >> 'sp ace.txt'")
    assert list(base.evidence()) == [b"sp ace.txt"]
    base.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))


def test_O14_the_user_edits_the_same_and_another_file_after_the_turn(base: World) -> None:
    with base.turn() as agent:
        agent.edit("a.txt", LINES.replace(b"line two", b"agent's two"))
    base.append("a.txt", b"U1\n")
    base.append("c.txt", b"the user's\n")
    both, c = base.read("a.txt"), base.stamp("c.txt")
    assert base.undo().lists() == nothing_but(merged=[b"a.txt"])
    assert base.read("a.txt") == LINES + b"U1\n"
    base.redo()
    assert base.read("a.txt") == both
    assert base.stamp("c.txt") == c


def test_O15_a_pipe_in_the_project(base: World) -> None:
    os.mkfifo(base.path("pipe"))
    before = base.tree()
    with base.turn() as agent:
        agent.append("a.txt", b"agent\n")
    turn = base.turns()[-1]
    assert base.not_captured() == {b"pipe": "special"}
    assert turn["complete"] is True
    with time_limit(30):
        base.there_and_back(before)


@pytest.mark.parametrize("work", ["rm pipe; echo x > pipe", "rm c.txt; mkfifo c.txt"])
def test_O15_a_pipe_that_comes_or_goes_is_never_touched(base: World, work: str) -> None:
    os.mkfifo(base.path("pipe"))
    path = b"c.txt" if "mkfifo" in work else b"pipe"
    a = base.tree()[b"a.txt"]
    with base.turn() as agent:
        agent.shell(f"{work}; echo agent >> a.txt")
    after = base.tree()
    answer = base.undo("--all", "--yes", code=4)
    assert answer.lists() == nothing_but(restored=[b"a.txt"], conflicts=[path])
    base.is_now(after | {b"a.txt": a})
    base.redo()
    base.is_now(after)


@pytest.mark.slow
def test_O16_3000_files_replaced_by_3000_others(base: World) -> None:
    base.files({f"many/{n}": b"%d\n" % n for n in range(1, 3001)})
    base.commit()
    before = base.tree()
    with base.turn() as agent:
        agent.shell("rm -r many; mkdir many2; for n in $(seq 3000); do echo new > many2/$n; done")
    after = base.tree()
    with time_limit(30):
        answer = base.undo_all()
    assert len(answer.paths("restored")) == len(answer.paths("deleted")) == 3000
    base.is_now(before)
    with time_limit(30):
        base.redo()
    base.is_now(after)


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_O17_one_non_ASCII_name(base: World, how: str) -> None:
    base.write("caf\u00e9.txt", b"old\n")
    before = base.tree()
    with base.turn() as agent:
        if how == "edit":
            agent.append("caf\u00e9.txt", b"agent\n")
        else:
            agent.shell("echo agent >> caf\u00e9.txt")
    assert list(base.evidence()) == ["caf\u00e9.txt".encode()]
    base.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_O18_a_tracked_non_ASCII_name(base: World, how: str) -> None:
    base.write("caf\u00e9.txt", b"old\n")
    base.commit()
    before = base.tree()
    with base.turn() as agent:
        if how == "edit":
            agent.append("caf\u00e9.txt", b"agent\n")
            agent.edit("n.txt", b"agent\n")
        else:
            agent.shell("echo agent >> caf\u00e9.txt; echo agent > n.txt")
    assert list(base.evidence()) == ["caf\u00e9.txt".encode(), b"n.txt"]
    base.there_and_back(before, undo=() if how == "edit" else ("--all", "--yes"))


def test_O19_one_name_that_is_not_UTF_8_elsewhere(base: World) -> None:
    base.write(b"odd\xff.txt", b"odd\n")
    before = base.tree()
    odd = base.stamp(b"odd\xff.txt")
    with base.turn() as agent:
        agent.edit("a.txt", LINES.replace(b"line two", b"agent's two"))
        agent.edit("n.txt", b"agent\n")
    assert base.undo().lists() == nothing_but(restored=[b"a.txt"], deleted=[b"n.txt"])
    base.is_now(before)
    base.write("a.txt", b"the user's own\n")
    users = base.stamp("a.txt")
    with base.nothing_changes():
        assert base.redo(code=4).doc["operation"] is None
    answer = base.redo("--yes", code=4)
    assert answer.lists() == nothing_but(restored=[b"n.txt"], conflicts=[b"a.txt"])
    assert base.stamp("a.txt") == users
    assert base.read("n.txt") == b"agent\n"
    assert base.stamp(b"odd\xff.txt") == odd


def test_O19_the_redo_keeps_what_the_user_appended(base: World) -> None:
    base.write(b"odd\xff.txt", b"odd\n")
    with base.turn() as agent:
        agent.edit("a.txt", LINES.replace(b"line two", b"agent's two"))
        agent.edit(b"\xff\xfe", b"agent\n")
    base.undo()
    base.append("a.txt", b"U1\n")
    with base.nothing_changes():
        base.redo(code=4)
    answer = base.redo("--yes")
    assert answer.lists() == nothing_but(restored=[b"\xff\xfe"], merged=[b"a.txt"])
    assert base.read("a.txt") == LINES.replace(b"line two", b"agent's two") + b"U1\n"
