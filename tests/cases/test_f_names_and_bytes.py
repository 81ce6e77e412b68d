"""F: names and bytes come back exactly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases.world import World, time_limit

WIDE = ["漢字.txt", "caf\u00e9", "cafe\u0301 2", "🦊", "plain", "ünïcode/файл"]
BLANKS = [" leading", "trailing ", "new\nline", "tab\there", "mid dle", " ", "\n", "dir \n/x "]


@pytest.mark.parametrize("how", ["edit", "shell"])
@pytest.mark.parametrize("names", [WIDE, BLANKS], ids=["F1-wide", "F2-blanks"])
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("repository", [False, True])
def test_F1_F2_odd_names_come_back_and_go_forward(
    w: World, how: str, names: list[str], locale: str, repository: bool
) -> None:
    w.files(dict.fromkeys(names, b"old\n"))
    if repository:
        w.repository()
    w.env["LC_ALL"] = locale
    before = w.tree()
    with w.turn() as agent:
        if how == "edit":
            agent.edits({name.encode(): b"the agent's\n" for name in names})
        else:
            agent.shell(lambda: w.files(dict.fromkeys(names, b"the agent's\n")))
    after = w.tree()
    expected = sorted(name.encode() for name in names)
    if how == "edit":
        assert w.undo().paths("restored") == expected
    else:
        assert w.undo_shell().paths("restored") == expected
    w.is_now(before)
    assert w.redo().paths("restored") == expected
    w.is_now(after)


@pytest.mark.parametrize("value", ["true", "input"])
@pytest.mark.parametrize("how", ["edit", "shell"])
def test_F3_line_endings_under_core_autocrlf(w: World, value: str, how: str) -> None:
    w.git("config", "--global", "core.autocrlf", value)
    w.files({"mixed": b"one\r\ntwo\nthree\r\n", "crlf": b"one\r\ntwo\r\n", "lf": b"one\ntwo\n"})
    w.repository()
    before = w.tree()
    new = {"mixed": b"1\n2\r\n3\n", "crlf": b"one\r\ntwo\r\nthree\r\n", "lf": b"1\r\n"}
    with w.turn() as agent:
        if how == "edit":
            agent.edits({name.encode(): data for name, data in new.items()})
        else:
            agent.shell(lambda: w.files(new))
    w.there_and_back(before, undo=("--all", "--yes"))


@pytest.mark.parametrize("how", ["edit", "shell"])
def test_F4_attributes_that_convert_bytes(w: World, how: str) -> None:
    mark = w.place / "mark"
    for side in ("clean", "smudge"):
        script = w.place / side
        script.write_text(f"#!/bin/sh\necho {side} >> '{mark}'\ntr a-z A-Z\n")
        script.chmod(0o755)
        w.git("config", "--global", f"filter.shout.{side}", str(script))
    w.git("config", "--global", "filter.shout.required", "true")
    w.write(
        ".gitattributes",
        b"*.crlf text eol=crlf\n*.id ident\n*.u16 working-tree-encoding=UTF-16\n*.f filter=shout\n",
    )
    old = {
        "a.crlf": b"one\ntwo\r\n",
        "b.id": b"$Id$ $Id: 123 $\n",
        "c.u16": "héllo\n".encode("utf-16"),
        "d.f": b"quiet\n",
        "broken.u16": b"\xff\xfe\n\0\0x" if how == "shell" else "x\n".encode("utf-16"),
    }
    w.files(old)
    w.git("init", "-q")
    w.git("add", ".gitattributes", "a.crlf", "b.id", "c.u16", "d.f")
    w.git("commit", "-q", "-m", "first")
    w.guard(w.path(".git"))
    assert mark.exists()
    mark.unlink()
    before = w.tree()
    new = {
        "a.crlf": b"1\n2\n",
        "b.id": b"$Id: other $\n",
        "c.u16": b"odd",
        "d.f": b"still quiet\n",
        "broken.u16": b"\0",
    }
    with w.turn() as agent:
        if how == "edit":
            agent.edits({name.encode(): data for name, data in new.items()})
        else:
            agent.shell(lambda: w.files(new))
    assert w.turns()[-1]["complete"] is True
    w.there_and_back(before, undo=("--all", "--yes"))
    assert not mark.exists()


def test_F5_one_path_that_cannot_be_read_or_added_does_not_stop_the_rest(w: World) -> None:
    w.write("ok", b"old\n")
    w.git("init", "-q", "unborn")
    w.guard(w.path("unborn/.git"))
    w.path("dangling").symlink_to("nowhere")
    os.mkfifo(w.path("pipe"))
    before = w.tree()
    with w.turn() as agent:
        agent.edit("ok", b"agent\n")
    w.there_and_back(before)


def test_F5_a_dangling_link_that_the_agent_replaces_comes_back(w: World) -> None:
    w.path("link").symlink_to("nowhere")
    w.path("loop").symlink_to("loop")
    before = w.tree()
    with w.turn() as agent:
        agent.shell("rm link loop; echo file > link; ln -s elsewhere loop")
    w.there_and_back(before, undo=("--all", "--yes"))


def test_F6_long_paths_also_in_maintenance(w: World) -> None:
    folder = "/".join(str(n) * 200 for n in range(10))
    os.makedirs(w.path(folder))
    w.write(f"{folder}/f", b"old\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edit(f"{folder}/f", b"agent\n")
    after = w.tree()
    w.tb("prune")
    w.tb("verify")
    for git in w.store_gits():
        w.git("--git-dir", str(git), "gc", "-q", "--prune=now")
    w.undo()
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_F6_a_name_as_long_as_the_file_system_takes(w: World) -> None:
    names = ["x" * 255, "漢" * 85]
    w.files(dict.fromkeys(names, b"old\n"))
    before = w.tree()
    with w.turn() as agent:
        agent.shell(lambda: [Path(w.path(name)).write_bytes(b"agent\n") for name in names])
    w.there_and_back(before, undo=("--all", "--yes"))


@pytest.mark.slow
def test_F7_thirty_thousand_created_files(w: World) -> None:
    w.write("mine", b"mine\n")
    before = w.tree()

    def make() -> None:
        for folder in range(30):
            place = w.path(f"made{folder}")
            place.mkdir()
            for n in range(1000):
                (place / f"f{n}").write_bytes(b"%d %d\n" % (folder, n))

    with w.turn() as agent:
        agent.shell(make)
    with time_limit(60):
        answer = w.undo_all()
    assert len(answer.paths("deleted")) == 30_000
    w.is_now(before)
