"""The rows of the timeline for every state of a turn, without an app."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest

from takeback.engine.model import Session, Turn
from takeback.engine.timeline.later import later_edits
from takeback.engine.undo.upcoming import Upcoming
from takeback.tui import timeline_rows, timeline_words
from takeback.tui.glyphs import ASCII, UNICODE, Glyphs
from takeback.tui.timeline_model import Entry, View
from takeback.tui.widgets.row_list import listing
from tests.tui import made
from tests.tui.made import call, change, session, step, turn


def found(*turns: Turn, glyphs: Glyphs = UNICODE, **more: Any) -> list[Entry]:
    of = session(*turns)
    view = View(glyphs, made.NOW, later=later_edits([of]), **more)
    return timeline_rows.entries(of, view)


def text(entry: Entry) -> str:
    lead = "".join(span.text for span in entry.row.lead)
    cells = " | ".join(span.text for span in entry.row.cells if span.text)
    return " " * entry.row.indent + lead + (f" | {cells}" if cells else "")


def shown(*turns: Turn, **more: Any) -> list[str]:
    """The rows below the day."""
    return [text(entry) for entry in found(*turns, **more)][1:]


EDIT = step("", call("c1", "src/a.py"))
MANY = [step("", call(f"c{n}", f"f{n}")) for n in range(1, 13)]


def test_a_turn_is_a_heading_with_its_calls_and_what_they_changed() -> None:
    rows = shown(turn(3, step("Done.", call("c1", "src/a.py"), call("c2", command="pytest -q"))))
    assert rows == [
        "Turn 3  14:05  prompt 3 | +1 −1",
        " ├ Done.",
        " ├ edit  M src/a.py | +1 −1 | ● agent",
        " └ shell  pytest -q | · no change",
    ]


def test_files_of_a_command_stand_below_it() -> None:
    gen = change("gen", "c1", before=None, evidence="during-call", minus=0)
    assert shown(turn(1, step("", call("c1", command="make gen")), changes=[gen]))[1:] == [
        " ├ shell  make gen | ◐ unknown",
        " │ └ A gen | +1 | ◐ unknown",
    ]


def test_a_file_of_several_calls_has_each_call_and_one_line_for_all() -> None:
    rows = shown(turn(1, step("", call("c1", "a"), call("c2", "a"))))
    assert rows[1:] == [
        " ├ edit  a | ● agent",
        " ├ edit  a | ● agent",
        " └ 2 calls  M a | +1 −1 | ● agent",
    ]
    first, second, both = found(turn(1, step("", call("c1", "a"), call("c2", "a"))))[2:]
    assert first.changes[0].after == second.changes[0].before
    assert both.changes[0].before == first.changes[0].before


@pytest.mark.parametrize(
    ("state", "words"),
    [("failed", "✗ failed"), ("lost", "✗ lost"), ("running", "● running"), ("done", "· no change")],
)
def test_the_state_of_a_call_is_a_word(state: str, words: str) -> None:
    rows = shown(turn(1, step("", call("c1", command="make", state=state))))
    assert rows[1] == f" └ shell  make | {words}"


def test_a_failed_edit_that_changed_a_file_says_both() -> None:
    rows = shown(turn(1, step("", call("c1", "a", state="failed"))))
    assert rows[1] == " └ edit  M a | +1 −1 | ● agent, failed"


@pytest.mark.parametrize(
    ("before", "after", "letter"),
    [(None, "x", "A"), ("x", None, "D"), ("x", "y", "M")],
)
def test_what_happened_to_a_file_is_a_letter(before: Any, after: Any, letter: str) -> None:
    rows = shown(turn(1, changes=[change("a", before=before, after=after)]))
    assert rows[1] == f" └ {letter} a | +1 −1 | ● agent"


@pytest.mark.parametrize(
    ("evidence", "word"),
    [
        ("during-call", "unknown"),
        ("not-by-call", "you?"),
        ("outside-calls", "you?"),
        ("no-record", "unknown"),
    ],
)
def test_everything_but_an_agents_evidence_is_unknown(evidence: Any, word: str) -> None:
    one = turn(1, changes=[change("a", evidence=evidence)])
    assert shown(one)[1].endswith(f"◐ {word}")
    assert timeline_words.counts(session(one)).unknown == 1


def test_a_binary_file_has_no_numbers() -> None:
    rows = shown(turn(1, changes=[change("a", plus=None, minus=None, binary=True)]))
    assert rows[1] == " └ M a | binary | ● agent"


def test_what_was_taken_back_says_so_and_keeps_its_class() -> None:
    whole = shown(turn(1, EDIT, changes=[change("src/a.py", "c1", undone=True)]))
    assert whole[0].endswith("↶ undone")
    assert whole[1] == " └ edit  M src/a.py | +1 −1 | ● ↶ undone"
    one = change("a", "c1", "c2")
    half = replace(one, segments=(replace(one.segments[0], undone=True), one.segments[1]))
    rows = shown(turn(1, step("", call("c1", "a"), call("c2", "a")), changes=[half]))
    assert rows[0].endswith("↶ partly undone")
    assert [row.rpartition(" | ")[2] for row in rows[1:]] == [
        "↶ undone", "● agent", "● ↶ partly undone",
    ]  # fmt: skip


def test_later_turns_that_edit_the_same_file_are_named() -> None:
    first, second, third = (turn(n, step("", call(f"c{n}", "a"))) for n in (1, 2, 3))
    rows = shown(first, second, third)
    assert [row.rpartition(" | ")[2] for row in rows] == [
        "+1 −1", "● agent", "↷ turn 3", "↷ turn 3", "↷ turn 2+", "↷ turn 2+",
    ]  # fmt: skip
    entry = found(first, second, third)[-1]
    (said,) = timeline_words.details(entry, later_edits([session(first, second, third)]))
    assert said == "a: edited by edit #1, 15:00:00; edited later by turns 2 and 3"


def test_what_was_taken_back_warns_of_no_later_turn_and_counts_as_none() -> None:
    gone = turn(2, changes=[change("a", undone=True)])
    assert not any("↷" in row for row in shown(turn(1, changes=[change("a")]), gone))
    assert not any("↷" in row for row in shown(gone, turn(3, changes=[change("a")])))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"state": "running"}, "● running"),
        ({"state": "interrupted"}, "interrupted"),
        ({"state": "interrupted", "complete": False}, "interrupted, ⚠ not fully captured"),
        ({"expired": True}, "expired"),
        ({"background": True}, "goes on in the background"),
    ],
)
def test_the_state_of_a_turn_is_words(fields: dict[str, Any], words: str) -> None:
    assert shown(replace(turn(1), **fields))[0] == f"Turn 1  14:03  prompt 1 | {words}"


def test_a_turn_without_anything_says_so() -> None:
    assert shown(turn(1))[1:] == ["   no file changed"]
    assert shown(turn(1, state="running"))[1:] == ["   nothing yet"]


def test_a_turn_without_a_prompt_has_its_command() -> None:
    known = turn(1, step("", call("c1", command="make")))
    assert "$ make" in shown(replace(known, prompt=""))[0]
    assert "(no prompt)" in shown(replace(turn(1), prompt="\n "))[0]


def test_what_is_not_captured_is_on_the_turn_also_when_it_is_folded() -> None:
    lost = turn(1, EDIT, missed=[("big.bin", "too-large")], notes=("the end was noticed late",))
    rows = shown(lost, opened={"turn:t1": False})
    assert rows[1:3] == [
        " ⚠ the end was noticed late",
        " ⚠ not captured: big.bin over the size limit",
    ]
    two = turn(1, missed=[("big.bin", "too-large"), (".env", "secret")])
    assert shown(two)[1] == " ⚠ not captured: big.bin over the size limit  … 1 more"
    opened = shown(two, opened={"missed:t1": True})
    assert opened[1:3] == [
        " ⚠ not captured: big.bin over the size limit",
        " ⚠ not captured: .env looks like a secret, kept out on purpose",
    ]


# --- Folds ---------------------------------------------------------------------------------------


def test_an_answer_is_folded_to_two_lines() -> None:
    said = "# Plan\n\nfirst\n\nsecond\n\nthird"
    rows = shown(turn(1, step(said)))
    assert rows[1:] == [" └ Plan", "   first  … 2 more lines"]
    assert shown(turn(1, step(said)), opened={"text:t1:t1.1": True})[1:] == [
        " └ Plan", "   ", "   first", "   ", "   second", "   ", "   third",
    ]  # fmt: skip
    assert shown(turn(1, step("a\nb\nc")))[1:] == [" └ a", "   b", "   c"]


def test_a_folded_line_has_room_for_what_is_hidden() -> None:
    rows = shown(turn(1, step("\n\n".join(["word " * 30] * 9))), width=40)
    assert all(len(row) <= 40 for row in rows)
    assert rows[2].endswith("more lines")


def test_a_prompt_of_many_lines_is_folded_below_its_first() -> None:
    known = turn(1, EDIT, prompt="fix it\n\nand\nkeep the tests")
    assert shown(known)[:2] == [
        "Turn 1  14:03  fix it | +1 −1",
        " │ … 3 more lines of the prompt",
    ]
    rows = shown(known, opened={"prompt:t1": True})
    assert rows[1:5] == [" │ fix it", " │ ", " │ and", " │ keep the tests"]


def test_a_prompt_that_the_heading_cuts_can_be_read() -> None:
    assert not any("prompt" in row for row in shown(turn(1, EDIT, prompt="x" * 60))[1:])
    assert shown(turn(1, EDIT, prompt="x" * 100))[1] == " │ … the whole prompt"
    rows = shown(turn(1, EDIT, prompt="x" * 100), opened={"prompt:t1": True})
    assert "".join(row.removeprefix(" │ ") for row in rows[1:3]) == "x" * 100


def test_a_long_older_turn_shows_its_first_files() -> None:
    rows = shown(turn(2), turn(1, *MANY))
    assert rows[3:] == [
        " ├ edit  M f1 | +1 −1 | ● agent",
        " ├ edit  M f2 | +1 −1 | ● agent",
        " ├ edit  M f3 | +1 −1 | ● agent",
        " ┊ 9 more calls, 9 files  (enter)",
    ]
    edits = [step("", call(f"c{n}", "a")) for n in range(1, 11)]
    rows = shown(turn(2), turn(1, *edits))
    assert rows[3:] == [" ├ 10 calls  M a | +1 −1 | ● agent", " ┊ 10 more calls  (enter)"]


def test_the_newest_turn_is_open_however_long_it_is() -> None:
    assert len(shown(turn(1, *MANY))) == 13
    assert len(shown(turn(1, *MANY[:8]), turn(2))) == 2 + 9


@pytest.mark.parametrize(
    ("view", "number"),
    [
        ({"opened": {"turn:t1": True}}, 13),
        ({"opened": {"turn:t1": False}}, 2),
        ({"every": True}, 13),
        ({"every": False}, 2),
        ({"every": False, "opened": {"turn:t1": True}}, 13),
    ],
)
def test_folds_by_hand_come_before_the_usual(view: dict[str, Any], number: int) -> None:
    assert len(shown(turn(2), turn(1, *MANY), **view)[2:]) == number


GEN = [change(f"gen{n}", "c99", evidence="during-call") for n in (1, 2)]
MAKE = step("", call("c99", command="make gen"))
LONG = turn(
    1,
    step("", call("c1", "f1")),
    MAKE,
    *MANY[1:],
    changes=[*(change(f"f{n}", f"c{n}") for n in range(1, 13)), *GEN],
)


def test_a_file_of_a_command_never_stands_there_without_it() -> None:
    assert shown(turn(2), LONG)[2:] == [
        "Turn 1  14:03  prompt 1 | +14 −14",
        " ├ edit  M f1 | +1 −1 | ● agent",
        " ├ shell  make gen | ◐ unknown",
        " │ ├ M gen1 | +1 −1 | ◐ unknown",
        " │ ├ M gen2 | +1 −1 | ◐ unknown",
        " ┊ 11 more calls, 11 files  (enter)",
    ]
    assert shown(LONG, words="gen2")[1:] == [
        " ├ shell  make gen | ◐ unknown",
        " │ ├ M gen2 | +1 −1 | ◐ unknown",
    ]


@pytest.mark.parametrize(("height", "fits"), [(0, False), (18, False), (19, True)])
def test_no_turn_is_folded_where_the_whole_session_has_room(height: int, fits: bool) -> None:
    of = session(turn(2), LONG)
    view = View(UNICODE, made.NOW, height=height)
    settled = timeline_rows.fitting(of, view)
    assert settled.fits is fits
    folded = any(entry.kind == "more" for entry in timeline_rows.entries(of, settled))
    assert folded is not fits


def test_what_is_folded_says_what_it_hides() -> None:
    rows = shown(turn(1, step("Done.", call("c1", "a"))), every=False)
    assert rows[1:] == [" ┊ 1 more call, 1 answer, 1 file  (enter)"]


# --- Filter --------------------------------------------------------------------------------------

FOUND = (
    turn(3, step("nothing here"), prompt="plan only"),
    turn(2, step("I use *Decimal* now.\n\nIt is exact.", call("c1", "src/money.py")), prompt="b"),
    turn(1, *MANY, step("", call("c99", command="make money")), prompt="earn Money"),
)


@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ("decimal", ["Turn 2  14:04  b | +1 −1", " ├ I use Decimal now."]),
        ("money.py", ["Turn 2  14:04  b | +1 −1", " ├ edit  M src/money.py | +1 −1 | ● agent"]),
        ("plan", ["Turn 3  14:05  plan only"]),
        ("f12", ["Turn 1  14:03  earn Money | +12 −12", " ├ edit  M f12 | +1 −1 | ● agent"]),
        ("exact.", ["Turn 2  14:04  b | +1 −1", " ├ It is exact."]),
        ("nowhere", []),
    ],
)
def test_the_filter_leaves_what_holds_the_words_below_its_turn(words: str, rows: list[str]) -> None:
    assert shown(*FOUND, words=words) == rows


def test_the_filter_counts_what_it_found() -> None:
    rows = found(*FOUND, words="money")
    assert [text(entry) for entry in rows if entry.hit] == [
        " ├ edit  M src/money.py | +1 −1 | ● agent",
        "Turn 1  14:03  earn Money | +12 −12",
        " ├ shell  make money | · no change",
    ]


def test_words_across_two_lines_find_the_answer() -> None:
    known = turn(1, step("some " * 20 + "Needle\nHaystack"))
    rows = shown(known, words="needle\nhaystack", width=40)
    assert len(rows) == 2


# --- Days, names, many ---------------------------------------------------------------------------


def test_days_stand_between_turns() -> None:
    rows = found(turn(3), turn(2), turn(1, ago=made.DAY))
    days = [text(entry) for entry in rows if entry.kind == "day"]
    assert days == ["─ Today, 2026-12-01 ", "─ Yesterday, 2026-11-30 "]
    assert len({entry.row.key for entry in rows}) == len(rows)


HOSTILE = b"\xff[red]\x1b[2J\n\xe2\x80\xae"


@pytest.mark.parametrize("every", [True, False, None])
@pytest.mark.parametrize("words", ["", "red"])
def test_hostile_names_prompts_and_answers_are_written_out(every: Any, words: str) -> None:
    name = os.fsdecode(HOSTILE)
    known = turn(
        1,
        step(name, call("c1", HOSTILE, tool=name), call("c2", command=name, tool=name)),
        prompt=f"{name}\n{name}",
        missed=[(name, "unreadable")],
        notes=(name,),
    )
    rows = found(known, every=every, words=words)
    assert len(rows) > 2
    for entry in rows:
        assert text(entry).isprintable()
        assert "\u202e" not in text(entry)
        assert "".join(timeline_words.details(entry)).isprintable()


def test_every_sign_has_one_that_any_terminal_can_show() -> None:
    known = turn(
        2,
        step("- a\n\nb\n\nc\n\nd", call("c1", "a"), call("c2", command="x", state="failed")),
        missed=[("b", "unreadable")],
        prompt="a\nb",
    )
    older = turn(1, *MANY, step("", call("c77", "a")))
    rows = [text(entry) for entry in found(known, older, glyphs=ASCII)]
    assert all(row.isascii() for row in rows), rows


def test_rows_that_are_known_are_not_made_again() -> None:
    of = session(turn(2), turn(1, *MANY))
    view = View(UNICODE, made.NOW)
    known: dict[str, list[Entry]] = {}
    first = timeline_rows.entries(of, view, known)
    known.pop("t2")
    second = timeline_rows.entries(of, view, known)
    assert first == second
    assert first[-1] is second[-1]
    assert first[1] is not second[1]


def test_headings_widen_no_column() -> None:
    of: Session = session(turn(1, EDIT, state="interrupted", complete=False))
    view = View(UNICODE, made.NOW)
    rows = [entry.row for entry in timeline_rows.entries(of, view)]
    assert listing(rows).columns == (len("+1 −1"), len("● agent"))


def test_a_session_in_a_line() -> None:
    gen = change("gen", evidence="during-call")
    of = session(turn(2, EDIT), turn(1, EDIT, changes=[gen], state="running"), title="Tax")
    counts = timeline_words.counts(of)
    parts = timeline_words.headline(of, counts, UNICODE)
    said = timeline_words.fitted(parts, 99)
    assert said == "Tax  claude  2 turns  2 steps  2 files  ● 1 agent  ◐ 1 unknown  ● running"
    assert timeline_words.fitted(parts, 40) == "Tax  2 turns  2 files  ● running"
    assert timeline_words.fitted(parts, 20) == "Tax  ● running"
    long = [("a title that is much too long", 0), ("9 turns", 1)]
    assert timeline_words.fitted(long, 34) == "a title that is much too…  9 turns"


def test_each_row_says_what_it_is() -> None:
    known = turn(2, step("hm"), step("Done.", call("c1", "a"), call("c2", command="make")))
    rows = {entry.row.key: timeline_words.details(entry) for entry in found(known)}
    assert rows["text:t2:t2.1:0"] == ("Turn 2, step 1 of 2: no file changed.",)
    assert rows["change:t2:61"] == ("a: edited by edit #1, 15:00:00",)
    assert rows["call:t2:c2"] == ("shell #2, 15:00:00: make.", "No file changed.")
    assert rows["turn:t2"] == ("Turn 2, 2026-12-01 14:04: 1 file agent-edited.",)
    (heading,) = (entry for entry in found(known) if entry.kind == "turn")
    assert timeline_words.beside(heading, 40) == rows["turn:t2"]
    (said,) = (entry for entry in found(known) if entry.row.key == "text:t2:t2.2:0")
    assert timeline_words.beside(said, 40)[-1] == "Done."


def test_what_comes_next_is_named() -> None:
    turn_8 = Upcoming("turn 8", 1, ("t8",))
    redo = Upcoming("undo of turn 9", 3, ("t9",), "op1")
    assert timeline_words.next_words(None, None) == ""
    assert timeline_words.next_words(turn_8, redo) == (
        "next undo: turn 8 (1 file)   next redo: turn 9 (3 files)"
    )
    assert "still runs" in timeline_words.next_words(replace(turn_8, running=True), None)
    assert "unknown origin only" in timeline_words.next_words(replace(turn_8, stopped=True), None)
