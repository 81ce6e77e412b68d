"""What marks stand for, and what they ask the engine for."""

from __future__ import annotations

from typing import Any

import pytest

from takeback.engine.model import Part, Request, Turn
from takeback.tui import marks, timeline_rows
from takeback.tui.glyphs import UNICODE
from takeback.tui.timeline_model import Entry, View
from tests.tui import made
from tests.tui.made import call, change, session, step, turn

GEN = [change("gen1", "c9", evidence="during-call"), change("gen2", "c9", evidence="during-call")]
NEW = turn(
    9,
    step("I do it.", call("c1", "a"), call("c2", "b")),
    step("", call("c9", command="make gen")),
    changes=[change("a", "c1"), change("b", "c2"), *GEN],
    prompt="new\nlines",
)
OLD = turn(8, step("", call("c3", "a"), call("c4", "a")))


def rows(*turns: Turn) -> list[Entry]:
    return timeline_rows.entries(session(*turns), View(UNICODE, made.NOW))


ROWS = rows(NEW, OLD)


def at(key: str) -> Entry:
    return next(entry for entry in ROWS if entry.row.key == key)


def file(name: str, of: Turn = NEW) -> str:
    return f"change:{of.id}:{name.encode().hex()}"


TURN, CALL = "turn:t9", "call:t9:c9"


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        (TURN, [Part("t9")]),
        ("prompt:t9", [Part("t9")]),
        (file("a"), [Part("t9", b"a")]),
        (CALL, [Part("t9", call="c9")]),
        (file("gen1"), [Part("t9", b"gen1")]),
        ("text:t9:t9.1:0", [Part("t9", call="c1"), Part("t9", call="c2")]),
        ("call:t8:c4", [Part("t8", call="c4")]),
    ],
)
def test_each_row_stands_for_something(key: str, parts: list[Part]) -> None:
    assert list(marks.of_row(at(key)).values()) == parts


@pytest.mark.parametrize(
    ("key", "request_"),
    [
        (TURN, Request("undo", turn="t9")),
        ("prompt:t9", Request("undo", turn="t9")),
        (file("a"), Request("undo", parts=(Part("t9", b"a"),))),
        (CALL, Request("undo", parts=(Part("t9", call="c9"),))),
        ("text:t9:t9.1:0", Request("undo", step="t9.1")),
    ],
)
def test_u_asks_for_the_row(key: str, request_: Request) -> None:
    assert marks.undo(at(key), {}) == request_


def test_u_asks_for_what_is_marked_wherever_the_cursor_is() -> None:
    known = marks.toggled(marks.toggled({}, at(file("a"))), at("turn:t8"))
    assert marks.undo(at(CALL), known) == Request("undo", parts=(Part("t9", b"a"), Part("t8")))
    whole = marks.toggled({}, at("turn:t8"))
    assert marks.undo(None, whole) == Request("undo", turn="t8")
    assert marks.undo(None, {}) is None


@pytest.mark.parametrize("key", [TURN, CALL, file("a"), "text:t9:t9.1:0", "call:t8:c4"])
def test_space_twice_marks_nothing(key: str) -> None:
    once = marks.toggled({}, at(key))
    assert once
    assert marks.toggled(once, at(key)) == {}


def test_a_heading_takes_the_place_of_what_was_marked_of_its_turn() -> None:
    known = marks.toggled(marks.toggled({}, at(file("a"))), at(TURN))
    assert list(known) == [TURN]


def test_below_a_marked_heading_the_row_is_left_out_and_unknown_origin_is_not_taken() -> None:
    known = marks.toggled(marks.toggled({}, at(TURN)), at(file("a")))
    assert list(known.values()) == [Part("t9", b"b")]


def test_below_a_marked_command_the_other_files_stay_marked() -> None:
    known = marks.toggled(marks.toggled({}, at(CALL)), at(file("gen1")))
    assert list(known.values()) == [Part("t9", b"gen2")]


def test_what_belongs_to_a_mark_is_shown_as_marked() -> None:
    assert marks.shown({}, ROWS) == frozenset()
    gen = {CALL, file("gen1"), file("gen2")}
    every = {entry.row.key for entry in ROWS if entry.turn is NEW}
    assert marks.shown(marks.toggled({}, at(TURN)), ROWS) == every - gen
    assert marks.shown(marks.toggled({}, at(CALL)), ROWS) == gen
    answer = marks.toggled({}, at("text:t9:t9.1:0"))
    assert marks.shown(answer, ROWS) == {"text:t9:t9.1:0", file("a"), file("b")}


def test_unknown_origin_below_a_marked_heading_is_marked_besides() -> None:
    whole = marks.toggled({}, at(TURN))
    assert marks.left_out(whole, (NEW, OLD)) == 2
    both = marks.toggled(whole, at(file("gen1")))
    assert list(both.values()) == [Part("t9"), Part("t9", b"gen1")]
    assert marks.words(both, (NEW, OLD)) == "turn 9 with 1 file of unknown origin"
    assert marks.left_out(both, (NEW, OLD)) == 1
    assert {c.path for c in marks.changes(both, (NEW, OLD))} == {b"a", b"b", b"gen1"}
    assert marks.toggled(both, at(file("gen1"))) == whole
    assert marks.toggled(both, at(TURN)) == {}
    rest = marks.toggled(both, at(file("a")))
    assert set(rest.values()) == {Part("t9", b"b"), Part("t9", b"gen1")}


def test_below_a_marked_heading_an_answer_or_a_call_is_left_out_with_its_files() -> None:
    whole = marks.toggled({}, at(TURN))
    assert marks.toggled(whole, at("text:t9:t9.1:0")) == {}
    old = marks.toggled(marks.toggled({}, at("turn:t8")), at("call:t8:c4"))
    assert list(old.values()) == [Part("t8", call="c3")]
    assert marks.shown(old, ROWS) == {"call:t8:c3"}


def ranged(first: str, last: str) -> list[Any]:
    keys = [entry.row.key for entry in ROWS]
    start, end = keys.index(first), keys.index(last)
    after = ROWS[end + 1] if end + 1 < len(ROWS) else None
    return list(marks.ranged({}, ROWS[start : end + 1], after).values())


def test_a_range_marks_all_between() -> None:
    assert ranged(file("a"), file("b")) == [Part("t9", b"a"), Part("t9", b"b")]
    assert ranged(TURN, "turn:t8") == [Part("t9"), Part("t8")]
    assert ranged(TURN, file("gen2")) == [Part("t9")]
    assert ranged(CALL, "turn:t8") == [Part("t9", call="c9"), Part("t8")]


def test_a_range_that_ends_within_a_turn_takes_only_that_much_of_it() -> None:
    assert ranged(file("gen2"), "call:t8:c3") == [Part("t9", b"gen2"), Part("t8", call="c3")]
    assert ranged(TURN, file("a")) == [Part("t9", b"a")]


def test_the_net_difference_of_marks() -> None:
    older = turn(1, changes=[change("a", before="1", after="2"), change("c", before="1")])
    newer = turn(2, changes=[change("a", before="2", after="3"), change("b")])
    both = {"turn:t1": Part("t1"), "x": Part("t2", b"a")}
    found = {c.path: c for c in marks.changes(both, (newer, older))}
    assert set(found) == {b"a", b"c"}
    assert (found[b"a"].before, found[b"a"].after) == (made.state("1"), made.state("3"))
    one = {"x": Part("t8", call="c4")}
    (only,) = marks.changes(one, (NEW, OLD))
    assert only.before != OLD.changes[0].before
    assert only.after == OLD.changes[0].after


def test_marks_in_words() -> None:
    known = marks.ranged({}, ROWS[1:2])
    known |= {"a": Part("t8", b"a"), "b": Part("t8", b"b"), "c": Part("t8", call="c3")}
    assert marks.words(known, (NEW, OLD)) == "turn 9 and 2 files and 1 call of turn 8"


def test_marks_of_turns_that_are_gone_are_forgotten() -> None:
    known = {"turn:t9": Part("t9"), "turn:t1": Part("t1")}
    assert marks.standing(known, (NEW, OLD)) == {"turn:t9": Part("t9")}


def test_redo_of_a_row_is_the_newest_undo_of_its_turn_that_stands() -> None:
    done = [
        made.undo("op1", NEW, path="a", seq=1),
        made.undo("op2", NEW, path="b", seq=2),
        made.undo("op3", NEW, state="undone", seq=3),
        made.undo("op4", OLD, seq=4),
    ]
    assert marks.redo(at(TURN), done) == Request("redo", op="op2")
    assert marks.redo(at(file("a")), done) == Request("redo", op="op1")
    assert marks.redo(at(file("gen1")), done) == Request("redo", op="op2")
    assert marks.redo(at("turn:t8"), done) == Request("redo", op="op4")
    assert marks.redo(at(TURN), done[2:]) is None
    assert marks.redo(ROWS[0], done) is None
