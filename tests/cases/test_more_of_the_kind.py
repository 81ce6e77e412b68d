"""More failures of the same nature: kinds that change, hostile names, order, and words."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from tests.cases.world import World

HOSTILE = [
    b"[red]x",
    b"-rf",
    b"--all",
    b":(top)x",
    b":!x",
    b"*",
    b"?",
    b"[a-z]",
    b"!x",
    b"#x",
    b"~",
    b"\\",
    b"a\\nb",
    b'"q"',
    b"$(touch owned)",
    b"\x1b[31mred",
    b"\xff\xfe",
    b"new\nline",
    b"@{u}",
    b"a\xcc\x81",
    b"\xe2\x80\xae.txt",
    b"HEAD",
    b".takeback-x",
    b"x.lock",
    b"aux",
    b"git~1",
    b".gitmodules",
]


@pytest.mark.parametrize("how", ["edit", "shell"])
@pytest.mark.parametrize("repository", [False, True])
def test_hostile_names_come_back_and_go_forward(w: World, how: str, repository: bool) -> None:
    for name in HOSTILE:
        w.write(name, b"old\n")
    if repository:
        w.git("config", "--global", "core.protectNTFS", "false")
        w.repository()
    before = w.tree()
    with w.turn() as agent:
        if how == "edit":
            agent.edits(dict.fromkeys(HOSTILE, b"the agent's\n"))
        else:
            agent.shell(lambda: [w.write(name, b"the agent's\n") for name in HOSTILE])
    assert {os.fsencode(one["path"]) for one in w.turns()[-1]["changes"]} == set(HOSTILE)
    for words in (["log"], ["show"], ["diff"], ["undo", "--dry-run", "--all"]):
        out = w.tb(*words, code=(0, 4)).out
        assert b"\x1b" not in out and b"\xff" not in out
        assert b"\xe2\x80\xae" not in out
    w.there_and_back(before, undo=("--all", "--yes"))


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_one_hostile_name_is_undone_by_path_and_the_other_file_stays(w: World, name: bytes) -> None:
    w.write(name, b"old\n")
    w.write("other", b"old\n")
    with w.turn() as agent:
        agent.edits({name: b"new\n", b"other": b"new\n"})
    after = w.tree()
    answer = w.undo(b"--path=" + name)
    assert answer.paths("restored") == [name]
    assert (w.read(name), w.read("other")) == (b"old\n", b"new\n")
    w.redo()
    w.is_now(after)
    assert w.undo("--path", name).paths("restored") == [name]


def test_folders_with_hostile_names_and_paths_below_them(w: World) -> None:
    wanted = {b"-x/[y]/:z": b"1\n", b"a\nb/c\nd": b"2\n", b"\xff/\xfe": b"3\n", b" / ": b"4\n"}
    before = w.tree()
    with w.turn() as agent:
        agent.edits(wanted)
    after = w.tree()
    assert w.undo("--path=-x").paths("deleted") == [b"-x/[y]/:z"]
    assert not w.has("-x")
    w.undo()
    w.is_now(before)
    w.redo()
    w.redo()
    w.is_now(after)


@pytest.mark.parametrize(
    "work",
    [
        "rm link; mkdir link; echo n > link/x",
        "rm link; echo file > link",
        "rm -r folder; ln -s aim folder",
        "rm -r folder; echo file > folder",
        "rm aim; ln -s folder aim",
        "rm aim; mkdir -p aim/a/b; echo n > aim/a/b/c",
        "rm -r folder; mkdir -p folder/x; echo n > folder/x/x",
        "rm link; ln -s elsewhere link",
        "mv folder moved; ln -s moved folder",
        "mv aim t; mv folder aim; mv t folder",
    ],
)
@pytest.mark.parametrize("repository", [False, True])
def test_a_kind_that_changes_comes_back(w: World, work: str, repository: bool) -> None:
    w.files({"aim": b"t\n", "folder/x": b"x\n", "folder/y/z": b"z\n"})
    w.path("link").symlink_to("folder")
    if repository:
        w.repository()
    before = w.tree()
    with w.turn() as agent:
        agent.shell(work)
    after = w.tree()
    w.undo_shell()
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_a_folder_that_the_user_filled_stands_where_a_file_returns(w: World) -> None:
    w.files({"f": b"old\n", "g": b"old\n"})
    with w.turn() as agent:
        agent.shell("rm f; mkdir f; echo n > f/made; echo agent > g")
    w.write("f/mine", b"the user's\n")
    answer = w.undo_all(code=4)
    assert b"f" in answer.paths("conflicts")
    assert w.read("f/mine") == b"the user's\n"
    assert w.read("g") == b"old\n"


def test_a_file_of_the_user_stands_where_a_folder_returns(w: World) -> None:
    w.files({"d/x": b"x\n", "g": b"old\n"})
    with w.turn() as agent:
        agent.shell("rm -r d; echo agent > g")
    w.write("d", b"the user's\n")
    answer = w.undo_all(code=4)
    assert answer.paths("conflicts") == [b"d/x"]
    assert w.read("d") == b"the user's\n"
    assert w.read("g") == b"old\n"


def test_a_file_the_user_made_under_the_old_name_is_not_overwritten(w: World) -> None:
    w.write("old", b"content\n")
    with w.turn() as agent:
        agent.shell("mv old new")
    w.write("old", b"the user's\n")
    answer = w.undo_all(code=4)
    assert answer.paths("conflicts") == [b"old"]
    assert w.read("old") == b"the user's\n"


def test_what_the_user_deleted_since_stays_deleted_until_it_is_named(w: World) -> None:
    w.files({"f": b"old\n", "g": b"old\n"})
    with w.turn() as agent:
        agent.edits({"f": b"new\n", "g": b"new\n", "made": b"n\n"})
    w.path("f").unlink()
    w.path("made").unlink()
    answer = w.undo()
    assert answer.doc["kept"] == [{"path": "f", "reason": "deleted since"}]
    assert answer.paths("restored") == [b"g"]
    assert not w.has("f")
    w.undo("--turn", "1", "--path", "f")
    assert w.read("f") == b"old\n"


def test_an_empty_file_and_a_file_without_a_last_line_end(w: World) -> None:
    w.files({"empty": b"", "open": b"no end", "nul": b"a\0b", "grow": b"x" * 100})
    before = w.tree()
    with w.turn() as agent:
        agent.edits({"empty": b"no\n", "open": b"", "nul": b"a\0c", "grow": b"x" * 99})
        agent.edits({"made": b""})
    w.there_and_back(before)


def test_a_file_that_ends_as_it_began_is_no_change(w: World) -> None:
    w.write("f", b"old\n")
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.edit("f", b"old\n")
        agent.edit("passing", b"n\n")
        agent.edit("passing", None)
    with w.nothing_changes():
        w.undo(code=3)


def test_a_file_that_the_agent_edits_and_the_user_between_the_edits(w: World) -> None:
    lines = b"".join(b"line %d\n" % n for n in range(20))
    w.write("f", lines)
    with w.turn() as agent:
        agent.edit("f", lines.replace(b"line 2\n", b"agent 2\n"))
        w.write("f", w.read("f").replace(b"line 10\n", b"user 10\n"))
        agent.edit("f", w.read("f").replace(b"line 17\n", b"agent 17\n"))
    assert w.evidence() == {b"f": "mixed"}
    w.undo()
    assert w.read("f") == lines.replace(b"line 10\n", b"user 10\n")


def test_a_file_that_the_shell_changes_between_two_edits(w: World) -> None:
    w.write("f", b"0\n")
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"1\n")
        agent.shell("echo 2 > f")
        agent.edit("f", b"3\n")
    assert w.evidence() == {b"f": "mixed"}
    with w.nothing_changes():
        w.undo("--all", code=4)
    w.undo_all()
    w.is_now(before)


def test_nothing_but_looking_makes_nothing_known(w: World) -> None:
    w.write("f", b"f\n")
    for words in (["log"], ["sessions"], ["show"], ["diff"], ["history"], ["storage"]):
        with w.nothing_changes():
            w.tb(*words)
    w.undo(code=3)
    w.redo(code=3)
    w.tb("record", "end", "--session", "none")
    assert not list(w.data.glob("projects/*"))


def test_every_event_may_come_twice_and_out_of_order(w: World) -> None:
    w.write("f", b"old\n")
    before = w.tree()
    call = ("--session", "s", "--call", "c1")
    begin = ("record", "tool-begin", *call, "--tool", "Edit", "--kind", "edit", "--path", "f")
    w.tb("record", "tool-end", "--session", "s", "--call", "never-begun")
    w.tb(*begin)
    w.tb(*begin)
    w.write("f", b"agent\n")
    w.tb("record", "tool-end", *call)
    w.tb("record", "tool-end", *call)
    w.tb("record", "end", "--session", "s")
    w.tb("record", "end", "--session", "s")
    after = w.tree()
    turns = [turn for turn in w.turns() if turn["changes"]]
    assert len(turns) == 1
    assert turns[0]["complete"] is False
    w.undo()
    w.is_now(before)
    w.redo()
    w.is_now(after)


def test_a_begin_in_an_open_turn_closes_it_as_interrupted(w: World) -> None:
    w.write("f", b"0\n")
    first = w.begin()
    first.edit("f", b"1\n")
    second = w.begin()
    second.edit("f", b"2\n")
    second.end()
    assert [turn["state"] for turn in w.turns()] == ["interrupted", "complete"]
    w.undo()
    assert w.read("f") == b"1\n"
    w.undo()
    assert w.read("f") == b"0\n"


def test_undo_to_takes_the_later_turns_of_the_session_and_no_others(w: World) -> None:
    w.files(dict.fromkeys(("a", "b", "c", "other"), b"0\n"))
    states = [w.tree()]
    for name, session in (("a", "s"), ("b", "s"), ("other", "t"), ("c", "s")):
        with w.turn(session) as agent:
            agent.edit(name, b"agent\n")
        states.append(w.tree())
    answer = w.undo("--to", "2")
    assert answer.paths("restored") == [b"b", b"c"]
    w.is_now(states[0] | {name: states[3][name] for name in (b"a", b"other")})
    w.redo()
    w.is_now(states[-1])


def test_goto_and_the_way_back(w: World) -> None:
    states = [w.tree()]
    for n in range(4):
        with w.turn() as agent:
            agent.edit(f"f{n}", b"agent\n")
            agent.edit("shared", b"%d\n" % n)
        states.append(w.tree())
    w.write("mine", b"the user's\n")
    mine = {b"mine": w.tree()[b"mine"]}
    with w.nothing_changes():
        dry = w.tb("goto", "2", "--dry-run", "--json", code=(0, 4))
    done = w.tb("goto", "2", "--yes", "--json")
    assert done.lists() == dry.lists()
    w.is_now(states[2] | mine)
    w.tb("goto", "1@before", "--yes")
    w.is_now(states[0] | mine)
    w.tb("goto", "4", "--yes")
    w.is_now(states[4] | mine)
    w.undo("--yes")
    w.is_now(states[0] | mine)


def test_steps_and_calls_are_undone_alone(w: World) -> None:
    w.files(dict.fromkeys("abc", b"0\n"))
    turn = w.begin()
    turn.edit("a", b"1\n")
    turn.step("one")
    second = turn.edit("b", b"1\n")
    turn.edit("c", b"1\n")
    turn.step("two")
    turn.end()
    steps = [step for step in w.turns()[-1]["steps"] if step["calls"]]
    assert [[change["path"] for change in step["changes"]] for step in steps] == [["a"], ["b", "c"]]
    assert w.undo("--call", second).paths("restored") == [b"b"]
    assert w.undo("--step", steps[1]["id"]).paths("restored") == [b"c"]
    assert w.undo("--step", steps[0]["id"]).paths("restored") == [b"a"]
    w.undo(code=3)


def test_paths_absolute_relative_and_many(w: World) -> None:
    names = [f"d/f{n}" for n in range(300)]
    w.files(dict.fromkeys(names, b"0\n"))
    with w.turn() as agent:
        agent.shell(lambda: w.files(dict.fromkeys(names, b"agent\n")))
    chosen = [f"--path={w.path(name)}" for name in names[::2]]
    answer = w.undo(*chosen, "--yes", cwd=w.path("d"), code=0)
    assert len(answer.paths("restored")) == 150
    assert len(w.undo("--path", ".", "--yes", cwd=w.path("d")).paths("restored")) == 150
    w.undo("--path", "/etc/passwd", code=2)


def test_skip_unwritable_and_the_refusal_before_anything_is_written(w: World) -> None:
    w.files({"f": b"old\n", "d/g": b"old\n"})
    with w.turn() as agent:
        agent.edits({"f": b"new\n", "d/g": b"new\n"})
    outside = w.place / "outside"
    shutil.move(w.path("d"), outside)
    w.path("d").symlink_to(outside)
    answer = w.undo("--skip-unwritable", "--yes", code=(0, 4))
    assert w.read("f") == b"old\n"
    assert answer.paths("restored") == [b"f"]
    assert (outside / "g").read_bytes() == b"new\n"


def test_texts_come_from_standard_input_and_hostile_ones_are_escaped(w: World) -> None:
    prompt = "do \x1b[31m[bold]it\u202e\r\n"
    with open(w.place / "prompt", "w", newline="") as file:
        file.write(prompt)
    with open(w.place / "prompt", "rb") as file:
        w.tb("record", "begin", "--session", "\x1b]0;title\x07", "--prompt", "-", stdin=file)
    w.tb("record", "end", "--session", "\x1b]0;title\x07")
    assert w.turns()[-1]["prompt"] == prompt.removesuffix("\n")
    for words in (["log"], ["sessions"], ["show"]):
        out = w.tb(*words).out
        assert b"\x1b" not in out and b"\x07" not in out and b"\r" not in out
        assert "\u202e".encode() not in out


def test_a_data_folder_inside_the_project_is_never_part_of_it(w: World) -> None:
    w.data = w.path("state")
    w.env["TAKEBACK_DATA_DIR"] = str(w.data)
    w.write("f", b"old\n")
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell("echo n > n")
    assert {one["path"] for one in w.turns()[-1]["changes"]} == {"f", "n"}
    w.undo_all()
    assert w.read("f") == b"old\n"
    assert not w.has("n")
    assert w.data.is_dir()


def test_a_journal_left_by_a_kill_is_finished_by_whatever_comes_next(w: World) -> None:
    for n in range(100):
        w.write(f"f{n}", os.urandom(20_000))
    before = w.tree()
    with w.turn() as agent:
        agent.shell("for f in f*; do echo agent > $f; done; echo n > made")
    after = w.tree()
    for words in (["log"], ["history"], ["sessions"], ["recover"], ["doctor"]):
        w.killed("undo", "--all", "--yes", within=0.4)
        w.tb(*words, code=(0, 1))
        if words == ["doctor"]:
            # It only looks; the next command that does more finishes what it named.
            w.tb("log", code=(0, 1))
        now = w.tree()
        assert now in (before, after)
        if now == before:
            w.redo()
            w.is_now(after)


def test_the_json_of_an_error_stands_alone_on_standard_output(w: World) -> None:
    for words in (["undo"], ["redo"], ["undo", "--nonsense"], ["nonsense"], ["show", "99"]):
        answer = w.tb(*words, "--json", code=(2, 3))
        error = json.loads(answer.out)["error"]
        assert set(error) >= {"message", "hint", "code"}
        assert error["code"] == answer.code
