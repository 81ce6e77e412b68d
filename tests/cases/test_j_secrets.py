"""J: ignored files and secrets."""

from __future__ import annotations

import stat

import pytest

from tests.cases.world import World

FIRST, BY_EDIT, BY_SHELL = b"hunter2-was-here", b"added-by-edit-99", b"added-by-shell-77"


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("name", [".env", "sub/.env.production", "server.key", "id_rsa"])
def test_J1_secrets_are_not_stored_and_the_answer_says_so(
    w: World, ignored: bool, name: str
) -> None:
    w.files({"a": b"old\n", name: b"TOKEN=" + FIRST + b"\n"})
    if ignored:
        w.write(".gitignore", name.encode() + b"\n")
        w.repository()
    before = w.tree()
    with w.turn() as agent:
        agent.append(name, b"E=" + BY_EDIT + b"\n")
        agent.shell(lambda: w.append(name, b"S=" + BY_SHELL + b"\n"))
        agent.edit("a", b"new\n")
    after = w.tree()
    answer = w.undo()
    assert w.not_captured()[name.encode()] == "secret"
    assert answer.names(name)
    w.is_now(before | {name.encode(): after[name.encode()]})
    for token in (FIRST, BY_EDIT, BY_SHELL):
        assert not w.store_holds(token), token
    assert w.turns()[-1]["complete"] is True
    w.redo()
    w.is_now(after)
    for path in [w.data, *w.data.rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode & 0o077 == 0, (path, oct(mode))
    assert stat.S_IMODE(w.data.stat().st_mode) == 0o700


def test_J1_an_example_of_a_secret_is_an_ordinary_file(w: World) -> None:
    w.write(".env.example", b"TOKEN=\n")
    before = w.tree()
    with w.turn() as agent:
        agent.append(".env.example", b"MORE=\n")
    w.there_and_back(before)


def test_J2_exclusions_hold_for_the_very_first_snapshot(w: World) -> None:
    w.files(
        {
            ".env.production": b"TOKEN=" + FIRST + b"\n",
            "node_modules/m/index.js": b"// " + BY_EDIT + b"\n",
            "kept.txt": b"// " + BY_SHELL + b"\n",
        }
    )
    w.begin().end()
    assert not w.store_holds(FIRST)
    assert not w.store_holds(BY_EDIT)
    assert w.store_holds(BY_SHELL)


def test_J3_an_ignored_file_that_the_edit_tool_wrote_comes_back(w: World) -> None:
    w.files({".gitignore": b"cache/\n", "cache/old": b"old\n", "node_modules/m/x": b"old\n"})
    w.repository()
    before = w.tree()
    with w.turn() as agent:
        agent.edit("cache/old", b"agent\n")
        agent.edit("cache/new", b"agent\n")
        agent.edit("node_modules/m/x", b"agent\n")
    w.there_and_back(before)


def test_J3_an_ignored_file_that_only_the_shell_made_is_left_alone(w: World) -> None:
    w.files({".gitignore": b"cache/\n", "cache/old": b"old\n"})
    w.repository()
    with w.turn() as agent:
        agent.shell("echo new > cache/new; echo more >> cache/old; echo n > n")
    after = w.tree()
    w.undo_all()
    after.pop(b"n")
    w.is_now(after)


def test_J4_a_secret_is_not_told_by_a_diff_or_a_log(w: World) -> None:
    w.write(".env", b"TOKEN=" + FIRST + b"\n")
    w.write("a", b"old\n")
    with w.turn() as agent:
        agent.edits({".env": b"TOKEN=" + BY_EDIT + b"\n", "a": b"new\n"})
    for words in (["log"], ["show"], ["diff"], ["diff", "--patch"], ["log", "--json"]):
        out = w.tb(*words).out
        assert FIRST not in out and BY_EDIT not in out
