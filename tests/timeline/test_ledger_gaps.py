"""A ledger with lost, torn and spoiled lines: what they told is unknown, all else stands."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bed import Bed

Ledger = list[dict[str, Any]]


def rewrite(bed: Bed, change: Callable[[Ledger], Ledger | None]) -> None:
    """Change the lines of the only ledger, as a kill or a damaged disk would."""
    path = bed.store_file("ledger/*.jsonl")
    records = [json.loads(text) for text in path.read_text().splitlines()]
    kept = change(records)
    records = records if kept is None else kept
    path.write_text("".join(json.dumps(r, separators=(",", ":")) + "\n" for r in records))


def drop(bed: Bed, kind: str, call: str = "", at: int = 0) -> None:
    """Lose one line of the ledger."""

    def without(records: Ledger) -> Ledger:
        found = [r for r in records if r["e"] == kind and r.get("call", "") == call]
        return [r for r in records if r is not found[at]]

    rewrite(bed, without)


def recorded(bed: Bed) -> None:
    """One turn: an edit call, then a shell call."""
    bed.write("f", "one\n")
    bed.begin()
    bed.tool_begin("e1", "f")
    bed.write("f", "two\n")
    bed.tool_end("e1")
    bed.tool_begin("make")
    bed.write("made", "made\n")
    bed.tool_end("make")
    bed.end()


LOST: dict[str, tuple[str, str, dict[str, str]]] = {
    "the end of the edit": ("done", "e1", {"f": "no-record", "made": "during-call"}),
    "the end of the shell call": ("done", "make", {"f": "tool-edit", "made": "during-call"}),
    "the end of the turn": ("end", "", {"f": "tool-edit", "made": "during-call"}),
}


@pytest.mark.parametrize("lost", list(LOST))
def test_a_line_of_an_end_that_is_lost(bed: Bed, lost: str) -> None:
    recorded(bed)
    kind, call, evidence = LOST[lost]
    drop(bed, kind, call)
    assert bed.evidence() == evidence
    bed.do(selection="agent+during-call")
    assert bed.read("made") is None


@pytest.mark.parametrize(("call", "path"), [("e1", "f"), ("make", "made")])
def test_the_line_of_a_calls_begin_that_is_lost_is_a_damaged_record(
    bed: Bed, call: str, path: str
) -> None:
    recorded(bed)
    drop(bed, "call", call)
    assert bed.evidence()[path] not in ("tool-edit", "during-call")
    turn = bed.turns()[0]
    assert not turn.complete
    assert len(bed.project().log().damaged) == 1


def test_the_line_of_a_turns_begin_that_is_lost_costs_that_turn_only(bed: Bed) -> None:
    recorded(bed)
    with bed.turn(), bed.shell():
        bed.write("later", "x\n")
    drop(bed, "begin")
    (turn,) = bed.turns()
    assert {os.fsdecode(c.path) for c in turn.changes} == {"later"}
    project = bed.project()
    project.sessions()
    assert project.damaged
    bed.do(selection="agent+during-call")
    assert (bed.read("later"), bed.read("f"), bed.read("made")) == (None, "two\n", "made\n")


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_last_line_is_closed_by_the_next(bed: Bed, cut: int) -> None:
    recorded(bed)
    path = bed.store_file("ledger/*.jsonl")
    data = path.read_bytes()
    path.write_bytes(data[:-cut])
    with bed.turn():
        bed.edit("f", "three\n")
    assert bed.evidence(0) == {"f": "tool-edit", "made": "during-call"}
    assert bed.evidence(1) == {"f": "tool-edit"}
    assert len(bed.project().log().damaged) == (0 if cut == 1 else 1)


VALUES: list[Any] = [None, -1, 1 << 62, "1", 1.5, [], {}, True]


def spoiled(bed: Bed, call: str, key: str, value: Any) -> None:
    """Give one value of the line of a call's begin."""

    def spoil(records: Ledger) -> None:
        (found,) = [r for r in records if r["e"] == "call" and r["call"] == call]
        found[key] = value

    rewrite(bed, spoil)


@pytest.mark.parametrize("key", ["seq", "t", "snap", "tree"])
def test_a_value_of_another_type_makes_a_damaged_line(bed: Bed, key: str) -> None:
    recorded(bed)
    for value in VALUES:
        spoiled(bed, "make", key, value)
        evidence = bed.evidence()
        assert evidence["f"] == "tool-edit"
        if value is None and key in ("snap", "tree"):  # As a look that failed is written.
            assert bed.project().log().damaged == []
            assert evidence["made"] == ("no-record" if key == "tree" else "during-call")
        else:
            assert bed.project().log().damaged, value
            assert evidence["made"] != "during-call", value
            assert not bed.turns()[0].complete


def test_an_edit_whose_versions_are_no_list_proves_nothing(bed: Bed) -> None:
    recorded(bed)
    for value in [value for value in VALUES if value not in ([], {})]:
        spoiled(bed, "e1", "pre", value)
        assert bed.evidence()["f"] != "tool-edit", value
        assert bed.project().log().damaged, value


def test_a_path_that_is_no_text_is_a_damaged_record(bed: Bed) -> None:
    recorded(bed)

    def spoil(records: Ledger) -> None:
        for record in records:
            if record.get("call") == "e1" and record["e"] == "call":
                record["paths"] = [7]

    rewrite(bed, spoil)
    assert bed.evidence()["f"] != "tool-edit"
    assert not bed.turns()[0].complete


def test_lost_snapshot_records_are_no_records_of_nothing(bed: Bed) -> None:
    recorded(bed)
    path: Path = bed.store_file("snapshots.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:1]))
    assert bed.evidence() == {"f": "tool-edit"}
    path.write_bytes(b"".join([lines[0], b"{torn\n", *lines[2:]]))
    project = bed.project()
    project.sessions()
    assert ("snapshots.jsonl", 2) in project.damaged
