"""K: the user's own git stays as it is (every other case checks that, too)."""

from __future__ import annotations

from tests.cases.world import World


def test_K1_carefully_staged_work_stays_staged(w: World) -> None:
    w.write("f", b"1\n")
    w.repository()
    w.write("f", b"2\n")
    w.write("added", b"staged\n")
    w.git("add", "f", "added")
    w.write("f", b"2b\n")

    def staged() -> bytes:
        return w.git("--no-optional-locks", "diff", "--cached")

    was, before = staged(), w.tree()
    assert b"+staged" in was and b"+2\n" in was
    with w.turn() as agent:
        agent.edit("f", b"3\n")
        agent.edit("a", b"agent\n")
    assert staged() == was
    after = w.tree()
    w.undo()
    assert w.read("f") == b"2b\n"
    w.is_now(before)
    assert staged() == was
    w.redo()
    w.is_now(after)
    assert staged() == was


def test_K2_no_ref_appears_in_the_users_repository(w: World) -> None:
    w.write("f", b"1\n")
    w.repository()
    w.git("tag", "-a", "v1", "-m", "one")
    w.write("f", b"stashed\n")
    w.git("stash", "-q")

    def state() -> list[bytes]:
        return [
            w.git(*words)
            for words in (
                ("for-each-ref",),
                ("stash", "list"),
                ("reflog", "--all"),
                ("worktree", "list"),
                ("config", "--local", "--list"),
                ("count-objects", "-v"),
            )
        ]

    was = state()
    for n in range(3):
        with w.turn() as agent:
            agent.edit("f", b"agent %d\n" % n)
    w.undo()
    w.redo()
    assert state() == was


def test_K3_looking_at_a_stale_index_does_not_refresh_it(w: World) -> None:
    w.files({f"f{n}": b"%d\n" % n for n in range(20)})
    w.repository()
    for n in range(20):
        w.write(f"f{n}", b"%d\n" % n, at=(1_600_000_000 + n) * 10**9)
    with w.turn() as agent:
        agent.edit("f1", b"agent\n")
    for words in (["log"], ["diff"], ["diff", "--against", "HEAD"], ["doctor"], ["storage"]):
        w.tb(*words)
    w.undo()


def test_K4_a_lock_of_the_users_git_is_no_obstacle(w: World) -> None:
    w.write("f", b"old\n")
    w.repository()
    w.write(".git/index.lock", b"")
    w.write(".git/HEAD.lock", b"")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
    w.there_and_back(before)


def test_K5_an_edit_of_the_users_git_folder_is_never_undone(w: World) -> None:
    w.write("f", b"old\n")
    w.repository()
    with w.turn() as agent:
        agent.append(".git/config", b"[alias]\n\tx = status\n")
        agent.edit("f", b"new\n")
    config = w.read(".git/config")
    assert w.not_captured()[b".git/config"] == "inside-git"
    w.undo()
    assert w.read(".git/config") == config
    assert w.read("f") == b"old\n"
