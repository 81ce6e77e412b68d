"""The log arranged for questions: what is found fast is what a plain search finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from takeback.engine.model import ABSENT
from takeback.engine.timeline.events import FOREVER, Log, RawCall, RawSession, RawTurn
from takeback.engine.timeline.origin import Index

PATH = b"a"
SPANS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 30)), max_size=20)


def made(spans: list[tuple[int, int]]) -> Index:
    """An index of edit calls with these begins and lengths; a length of 0 never ended."""
    turn = RawTurn("t", 1, "s", 0, 0, "", {}, False)
    for number, (begin, length) in enumerate(spans):
        call = RawCall(
            f"c{number}", "s", "t", number, "Edit", "edit", [PATH], "", begin, 0, False, False
        )
        call.pre[PATH] = ABSENT
        call.done_seq = begin + length if length else 0
        turn.calls.append(call)
    return Index(Log([RawSession("s", turns=[turn])]))


@given(SPANS, st.integers(0, 70), st.integers(0, 70))
def test_edit_calls_within_a_time_are_those_of_a_plain_search(
    spans: list[tuple[int, int]], begin: int, end: int
) -> None:
    index = made(spans)
    plain = [
        call for call in index.edits[PATH] if call.seq < end and (call.done_seq or FOREVER) > begin
    ]
    assert index.edits_within(PATH, begin, end) == plain


def test_a_path_that_nobody_edited_has_none() -> None:
    assert made([(1, 2)]).edits_within(b"b", 0, 100) == []
