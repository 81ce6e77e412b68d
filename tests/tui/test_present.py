from __future__ import annotations

import json
from dataclasses import replace

import pytest

from takeback.engine.model import (
    ABSENT,
    Call,
    Change,
    Evidence,
    FileState,
    NotCaptured,
    Operation,
    Outcome,
    PathChange,
    Plan,
    PlanEntry,
    Session,
    Step,
    Turn,
    Warning_,
)
from takeback.tui import documents, present

HOSTILE = b"\xff[red]x\n"
CJK = "漢字を直す".encode()
OLD = FileState("file", 0o644, "a" * 40, 1)
NEW = FileState("file", 0o644, "b" * 40, 2)

EDIT = Call("c1", "Edit", "edit", (HOSTILE,), "", "done", 10, 20, 1)
BASH = Call("c2", "bash", "shell", (), "sed -i s/a/b/ gen.txt\n\x1b[2J", "failed", 30, 40, 2)


def change(
    path: bytes = HOSTILE,
    evidence: Evidence = "tool-edit",
    calls: tuple[str, ...] = ("c1",),
    before: FileState = OLD,
    after: FileState = NEW,
    undone: bool = False,
) -> Change:
    return Change(path, before, after, evidence, calls, (), undone, 3, 1)


def turn(*changes: Change, n: int = 9, prompt: str = "fix\x1b]0;x\x07 it") -> Turn:
    step = Step("s1", "Done.", 10, 40, "t1", "t2", True, (EDIT, BASH), ())
    return Turn(
        f"t{n}",
        n,
        "s",
        prompt,
        "complete",
        1_700_000_000_123_456_789,
        1_700_000_001_000_000_000,
        "t1",
        "t2",
        True,
        (NotCaptured(b"big\xfe.bin", "too-large"), NotCaptured(b".env", "secret")),
        (step,),
        changes,
    )


def session(*turns: Turn) -> Session:
    return Session("s", "claude", "T\x1b[0m", "complete", 1_700_000_000_000_000_000, 0, turns)


def plan(*entries: PlanEntry, asks: tuple[str, ...] = ()) -> Plan:
    return Plan("undo", "9", "s", entries, asks=asks, targets=("t9",))


def no_control(lines: list[str]) -> None:
    assert all(char.isprintable() for line in lines for char in line), lines


# --- Documents -----------------------------------------------------------------------------------


def test_log_holds_every_guaranteed_key() -> None:
    text = documents.dump(documents.log(b"/p/\xff", True, [session(turn(change()))]))
    assert text.isascii()
    log = json.loads(text)
    assert log["project"] == {"root": "/p/\udcff", "git": True}
    (found,) = log["sessions"]
    assert {"id", "agent", "title", "state", "turns"} <= set(found)
    (one,) = found["turns"]
    assert {
        "id",
        "n",
        "prompt",
        "state",
        "begun",
        "ended",
        "before",
        "after",
        "complete",
        "not_captured",
        "steps",
        "changes",
        "undone",
        "expired",
    } <= set(one)
    assert one["begun"] == "2023-11-14T22:13:20.123456Z"
    assert one["prompt"] == "fix\x1b]0;x\x07 it"
    assert one["not_captured"][0] == {"path": "big\udcfe.bin", "reason": "too-large"}
    (step,) = one["steps"]
    assert {"id", "text", "begun", "ended", "before", "after", "complete", "changes"} <= set(step)
    assert step["calls"][1] == {
        "id": "c2",
        "tool": "bash",
        "kind": "shell",
        "paths": [],
        "command": BASH.command,
        "state": "failed",
        "begun": "1970-01-01T00:00:00.000000Z",
        "ended": "1970-01-01T00:00:00.000000Z",
    }
    assert one["changes"] == [
        {
            "path": "\udcff[red]x\n",
            "status": "modified",
            "origin": "agent-edited",
            "evidence": "tool-edit",
            "calls": ["c1"],
            "before": "a" * 40,
            "after": "b" * 40,
            "plus": 3,
            "minus": 1,
            "mixed": False,
            "binary": False,
            "undone": False,
        }
    ]


def test_absent_content_and_unknown_times_are_null() -> None:
    made = documents.change(change(before=ABSENT, evidence="mixed"))
    assert made["before"] is None
    assert made["status"] == "added"
    assert made["mixed"] is True
    running = documents.turn(replace(turn(), ended_ns=0, after=None))
    assert running["ended"] is None
    assert running["after"] is None


def test_every_path_of_a_plan_stands_in_one_list() -> None:
    entries = (
        PlanEntry(b"r", "restore", NEW, OLD),
        PlanEntry(b"d", "delete", NEW, ABSENT),
        PlanEntry(b"m", "merge", NEW, OLD),
        PlanEntry(b"k", "keep", NEW, NEW, "deleted since"),
        PlanEntry(b"c", "conflict", NEW, NEW, "overlaps"),
    )
    shown = replace(plan(*entries), warnings=(Warning_(b"t", 14, "n", b"m", "x"),))
    outcome = Outcome(shown, "op1", "f" * 40, ("owner kept",))
    assert documents.plan(shown, outcome) == {
        "operation": "op1",
        "kind": "undo",
        "target": "9",
        "restored": ["r"],
        "deleted": ["d"],
        "merged": ["m"],
        "kept": [{"path": "k", "reason": "deleted since"}],
        "conflicts": [{"path": "c", "reason": "overlaps"}],
        "not_captured": [],
        "warnings": [{"path": "t", "line": 14, "name": "n", "from": "m", "text": "x"}],
        "safety": "f" * 40,
        "dry_run": False,
        "asks": [],
        "effects": [],
        "notes": ["owner kept"],
        "resume": None,
    }
    dry = documents.plan(shown, dry_run=True)
    assert dry["operation"] is None
    assert dry["dry_run"] is True


def test_sessions_and_history_are_newest_first() -> None:
    rows = documents.session_rows([session(turn(change())), replace(session(), id="later")])
    assert [row["id"] for row in rows["sessions"]] == ["later", "s"]
    assert rows["sessions"][1]["turns"] == 1
    assert rows["sessions"][1]["files"] == 1
    move = PathChange(HOSTILE, NEW, OLD)
    first = Operation("o1", "undo", "s", "9", 5, (move,), "b", "a", "undone")
    history = documents.history([first, replace(first, id="o2")], None, plan())
    assert [one["id"] for one in history["operations"]] == ["o2", "o1"]
    assert history["operations"][0]["files"] == ["\udcff[red]x\n"]
    assert history["next_undo"] is None
    assert history["next_redo"]["kind"] == "undo"


def test_an_error_has_its_message_hint_and_code() -> None:
    text = documents.dump(documents.error("No \udcff.", "Do.", 3))
    assert json.loads(text) == {"error": {"message": "No \udcff.", "hint": "Do.", "code": 3}}
    assert text.isascii()


# --- Sentences -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "calls", "words"),
    [
        ("tool-edit", ("c1",), "edited by Edit #1"),
        ("traced-call", ("c2",), "written by bash #2 (process trace)"),
        ("mixed", ("c1",), "agent, and someone else (Edit #1)"),
        ("during-call", ("c2",), "changed while bash #2 ran"),
        ("during-call", ("c1", "c2"), "changed while Edit #1 and bash #2 ran"),
        ("not-by-call", (), "not by the agent's processes"),
        ("outside-calls", (), "no shell call was running: you, an editor or a formatter"),
        ("no-record", (), "origin not recorded"),
    ],
)
def test_each_evidence_has_its_words(
    evidence: Evidence, calls: tuple[str, ...], words: str
) -> None:
    assert present.evidence_words(change(evidence=evidence, calls=calls), (EDIT, BASH)) == words


def test_a_command_that_names_the_file_is_said() -> None:
    words = present.evidence_words(change(b"src/gen.txt", "during-call", ("c2",)), (EDIT, BASH))
    assert words == "changed while bash #2 ran, the command names it"


def test_the_log_shows_hostile_text_without_obeying_it() -> None:
    made = change(CJK, before=ABSENT, undone=True)
    lines = present.log_lines([session(turn(change(), made))])
    no_control(lines)
    text = "\n".join(lines)
    assert "M \\xff[red]x\\n" in text
    assert "A 漢字を直す" in text
    assert "[undone]" in text
    assert "[partly undone]" not in text or "Turn 9" in text
    assert "“fix\\e]0;x\\x07 it”" in text
    assert "big\\xfe.bin" in text
    assert "over the size limit" in text
    assert "+3 -1" in text


def test_an_empty_log_says_so() -> None:
    assert present.log_lines([]) == [present.NOTHING_RECORDED]
    assert present.session_lines([]) == [present.NOTHING_RECORDED]


def test_a_plan_is_grouped_by_origin_and_names_what_stays() -> None:
    whole = turn(
        change(b"a.py"),
        change(b"gen.txt", "during-call", ("c2",)),
        change(b"new.py", before=ABSENT),
        change(b"left.txt", "outside-calls", ()),
    )
    shown = plan(
        PlanEntry(b"a.py", "restore", NEW, OLD, "", ("committed since",)),
        PlanEntry(b"new.py", "delete", NEW, ABSENT),
        PlanEntry(b"gen.txt", "conflict", NEW, NEW, "overlaps with later changes"),
        asks=("1 file is in conflict.",),
    )
    lines = present.plan_lines(shown, [whole])
    text = "\n".join(lines)
    no_control(lines)
    assert lines[0] == "Undo of turn 9 “fix\\e]0;x\\x07 it”"
    order = [
        text.index(part)
        for part in ("Agent-edited:", "Conflicts, left alone:", "Not selected:", "left.txt")
    ]
    assert order == sorted(order)
    assert "restore  a.py" in text
    assert "edited by Edit #1; committed since" in text
    assert "overlaps with later changes" in text
    summary = present.plan_summary(shown)
    assert summary.startswith("This restores 1 file and deletes 1 file.")


def test_an_outcome_says_what_was_done_and_how_to_get_it_back() -> None:
    shown = plan(
        PlanEntry(b"a", "restore", NEW, OLD),
        PlanEntry(b"b", "merge", NEW, OLD),
        PlanEntry(b"c", "conflict", NEW, NEW, "x"),
        PlanEntry(b"d", "keep", NEW, NEW, "x"),
    )
    first, back = present.outcome_lines(Outcome(shown, "op1", "t"), [turn(prompt="p")])
    assert first == (
        "Took back turn 9 “p”: 1 file restored and 1 file merged. "
        "1 file kept as it is; 1 conflict left alone."
    )
    assert back == "“takeback redo” puts it back (operation op1)."
    nothing = present.outcome_lines(Outcome(plan(), None, None))
    assert nothing == ["Nothing had to be changed."]


def test_history_names_the_next_undo_and_redo() -> None:
    operation = Operation("o1", "undo", "s", "9", 5, (), "b", "a", "done")
    lines = present.history_lines([operation], plan(PlanEntry(b"a", "restore", NEW, OLD)), None)
    assert "undo turn 9" in lines[0]
    assert lines[1:] == ["Next undo: turn 9 (1 file)", "Next redo: nothing to put back"]


def test_a_whole_turn_is_shown_with_its_prompt_and_calls() -> None:
    lines = present.show_lines(turn(change(), prompt="one\ntwo\x1b"), ())
    no_control(lines)
    assert "  | two\\e" in lines
    assert any("bash #2 (c2)" in line and "[failed]" in line for line in lines)


def test_hunks_of_each_file_are_numbered() -> None:
    patch = (
        b"diff --git a/x b/x\n@@ -1 +1 @@\n-\ta\n+\x1b\n@@ -9 +9 @@\ndiff --git a/y b/y\n@@ -1 @@\n"
    )
    assert present.diff_lines(patch) == [
        "diff --git a/x b/x",
        "@@ -1 +1 @@  [hunk 1]",
        "-    a",
        "+\\e",
        "@@ -9 +9 @@  [hunk 2]",
        "diff --git a/y b/y",
        "@@ -1 @@  [hunk 1]",
    ]
    assert present.diff_lines(b"") == []
