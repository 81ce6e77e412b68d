from __future__ import annotations

from takeback.tui import upkeep_lines


def test_sizes_read_as_words() -> None:
    assert upkeep_lines.size(0) == "0 bytes"
    assert upkeep_lines.size(2048) == "2.0 KiB"
    assert upkeep_lines.size(10 << 30) == "10.0 GiB"
    assert upkeep_lines.size(5 << 40) == "5120.0 GiB"


def test_storage_names_each_project_safely() -> None:
    project = {
        "root": "/p/\udcff\x1b[2J",
        "sessions": 1,
        "snapshots": 2,
        "bytes": 1024,
        "oldest": "2026-12-01T00:00:00Z",
        "note": "the folder is gone",
    }
    head, line = upkeep_lines.storage_lines(
        {"bytes": 1024, "cap_bytes": 1 << 30, "projects": [project]}
    )
    assert head == "1.0 KiB are used of at most 1.0 GiB."
    assert "/p/\\xff\\e[2J" in line
    assert "1 session, 2 snapshots" in line
    assert line.endswith("since 2026-12-01  the folder is gone")


def test_a_failing_check_says_what_to_do() -> None:
    checks = [
        {"name": "git", "ok": True, "message": "2.39", "fix": ""},
        {"name": "store", "ok": False, "message": "damaged", "fix": "Run takeback verify."},
    ]
    assert upkeep_lines.doctor_lines({"checks": checks}) == [
        "ok    git: 2.39",
        "FAIL  store: damaged",
        "      Run takeback verify.",
        "1 check needs attention.",
    ]
    assert upkeep_lines.doctor_lines({"checks": checks[:1]})[-1] == "Everything is in order."


def test_cleaning_up_says_what_it_did_and_what_it_left() -> None:
    document = {
        "dry_run": False,
        "temporary": 1,
        "packed": 60,
        "loose": 0,
        "freed_bytes": 4096,
        "damaged": ["ab"],
        "stopped": "Only 3 MiB are free",
    }
    assert upkeep_lines.prune_lines(document) == [
        "Removed 1 temporary file and packed 60 loose objects; 4.0 KiB are free again.",
        "1 object damaged, left alone:",
        "  ab",
        "Only 3 MiB are free.",
    ]
    dry = upkeep_lines.prune_lines({**document, "dry_run": True, "damaged": [], "stopped": ""})
    assert dry == [
        "This would remove 1 temporary file and pack 60 loose objects. Nothing was changed."
    ]


def test_damaged_records_are_not_called_whole() -> None:
    known = {"objects": 2, "refs": 1, "damage": [], "lines": []}
    whole = upkeep_lines.verify_lines(known)
    assert whole == ["Checked 2 objects and 1 ref: everything that is kept is whole."]
    lost = upkeep_lines.verify_lines({**known, "lines": [{"file": "ledger/a.jsonl", "line": 3}]})
    assert lost[0] == "damaged record: ledger/a.jsonl, line 3"
    assert lost[1].endswith("every kept file is whole; what these lines said is lost.")
