"""What is kept of the rows when the record is read again, and where the cursor belongs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from takeback.engine.model import Session, Turn
from takeback.engine.timeline.later import later_edits
from takeback.tui import timeline_shown
from takeback.tui.glyphs import ASCII, UNICODE
from takeback.tui.timeline_model import View
from takeback.tui.timeline_shown import Shown
from tests.tui import made
from tests.tui.made import call, session, step, turn


def shown(*sessions: Session, before: Shown | None = None, wanted: str = "", **view: Any) -> Shown:
    known = View(view.pop("glyphs", UNICODE), made.NOW, later=later_edits(sessions), **view)
    found = timeline_shown.made(sessions, known, wanted, before)
    assert found is not None
    return found


def edit(n: int, *paths: str, **more: Any) -> Turn:
    return turn(n, step("", *(call(f"c{at}", path) for at, path in enumerate(paths))), **more)


def same(first: Shown, second: Shown) -> set[str]:
    """The turns whose rows were not made again."""
    return {name for name in second.known if second.known[name] is first.known.get(name)}


def test_a_new_turn_makes_only_the_rows_that_it_changes() -> None:
    old = shown(session(edit(1, "a"), edit(2, "b"), edit(3, "c")))
    new = shown(session(edit(1, "a"), edit(2, "b"), edit(3, "c"), edit(4, "b")), before=old)
    # The one that was the newest, and the one whose file the new turn edits.
    assert same(old, new) == {"t1"}
    fresh = shown(session(edit(1, "a"), edit(2, "b"), edit(3, "c"), edit(4, "b")))
    assert new.entries == fresh.entries


def test_a_turn_that_goes_on_is_made_again() -> None:
    old = shown(session(edit(1, "a"), edit(2, "b", state="running")))
    new = shown(session(edit(1, "a"), edit(2, "b", "c", state="running")), before=old)
    assert same(old, new) == {"t1"}
    again = shown(session(edit(1, "a"), edit(2, "b", "c")), before=new)
    assert same(new, again) == {"t1"}


@pytest.mark.parametrize(
    "view",
    [{"width": 40}, {"words": "a"}, {"opened": {"turn:t1": False}}, {"every": True},
     {"glyphs": ASCII}],
)  # fmt: skip
def test_another_way_of_looking_makes_all_again(view: dict[str, Any]) -> None:
    old = shown(session(edit(1, "a"), edit(2, "b")))
    new = shown(session(edit(1, "a"), edit(2, "b")), before=old, **view)
    assert same(old, new) == set()


def test_another_session_is_shown_where_it_is_wanted_and_else_the_newest() -> None:
    first = session(edit(1, "a"), edit(3, "a"), id="one")
    second = session(edit(2, "a"), edit(4, "b"), id="two")
    assert shown(first, second).session.id == "two"
    found = shown(first, second, wanted="one")
    assert found.session.id == "one"
    assert not found.has_newest
    assert found.newest.n == 4
    assert shown(first, second, wanted="gone").session.id == "two"
    assert timeline_shown.made((), View(UNICODE, made.NOW)) is None


def test_who_follows_stands_on_the_last_part_while_the_turn_runs() -> None:
    running = shown(session(edit(1, "a"), edit(2, "b", "c", state="running")))
    heading, first, last = running.known["t2"]
    assert running.followed(None) == last.row.key
    assert [running.follows(entry) for entry in (heading, first, last)] == [True, False, True]
    ended = shown(session(edit(1, "a"), edit(2, "b", "c")))
    assert ended.followed(last) == ""
    assert ended.followed(None) == heading.row.key
    assert ended.followed(ended.known["t1"][0]) == heading.row.key


def test_nobody_follows_in_a_session_that_has_not_the_newest_turn() -> None:
    found = shown(session(edit(1, "a"), id="one"), session(edit(2, "a"), id="two"), wanted="one")
    assert not found.follows(found.known["t1"][0])


def test_a_row_that_is_gone_leaves_the_cursor_to_what_hides_it() -> None:
    many = edit(1, *(f"f{n}" for n in range(12)))
    found = shown(session(many, edit(2, "a")))
    assert found.nearest("turn:t1", "t1") == ""
    assert found.nearest("change:t1:gone", "t1") == "more:t1"
    assert found.nearest("change:t2:gone", "t2") == "turn:t2"
    assert found.nearest("change:t9:gone", "t9") == ""


def test_rows_for_another_view() -> None:
    found = shown(session(edit(1, "a"), edit(2, "b")))
    other = found.known["t1"]
    found.again(replace(found.view, opened={"turn:t2": False}), ("t2",))
    assert found.known["t1"] is other
    assert found.entry("more:t2") is not None
    found.again(replace(found.view, width=30))
    assert found.known["t1"] is not other
