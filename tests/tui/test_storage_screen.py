"""The storage screen: rows and sentences of made-up stores, and upkeep of a recorded one."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from takeback.engine import work
from takeback.engine.config import Config
from takeback.engine.model import NotCaptured
from takeback.engine.project import Project
from takeback.engine.upkeep import verify as verifying
from takeback.engine.upkeep.prune import PruneReport
from takeback.engine.upkeep.storage import ProjectUse, StorageReport
from takeback.engine.upkeep.verify import Damage, VerifyReport
from takeback.tui import storage_rows
from takeback.tui.glyphs import ASCII, UNICODE
from takeback.tui.screens.listing import ListingScreen
from takeback.tui.storage_rows import Checks
from takeback.tui.text import safe
from takeback.tui.widgets.row_list import Row
from tests.tui.driver import SIZES, Driver, clean_turn, is_old, play
from tests.tui.test_present import no_control, session, turn

MIB = 1 << 20
SHOP = ProjectUse(b"/src/shop", 12, 431, 84 * MIB, "2026-11-02T10:00:00Z", "")
GONE = ProjectUse(b"/tmp/spike", 1, 12, 207 * MIB, None, "the folder is gone")
PROTO = ProjectUse(b"/src/\xff[red]\x1b", 3, 40, 9 * MIB, "2026-11-11T10:00:00Z", "")
REPORT = StorageReport(300 * MIB, 1200 * MIB, (GONE, SHOP, PROTO))
BIG = NotCaptured(b"data.bin", "too-large")


def words(rows: list[Row]) -> list[str]:
    return ["  ".join(s.text.strip() for s in (*row.lead, *row.cells)).strip() for row in rows]


def made(skipped: tuple[NotCaptured, ...] = (), report: StorageReport = REPORT) -> list[str]:
    gitless = {PROTO.root, GONE.root}
    return words(storage_rows.rows(report, SHOP.root, UNICODE, safe, gitless, skipped))


def test_a_row_for_each_project_with_what_is_odd_about_it() -> None:
    said = made()
    no_control(said)
    assert said[0].split() == ["Project", "Size", "Sessions", "Snapshots", "Oldest"]
    assert said[1] == "/tmp/spike  207.0 MiB  1  12  ⚠ the folder is gone"
    assert said[2] == "here  /src/shop  84.0 MiB  12  431    2026-11-02"
    assert said[3] == "/src/\\xff[red]\\e  9.0 MiB  3  40  no git  2026-11-11"
    assert made((BIG,))[2].endswith("⚠ 1 not captured  2026-11-02")
    assert made(report=replace(REPORT, projects=())) == [storage_rows.NOTHING]


@pytest.mark.parametrize(
    ("used", "cap", "drawn", "said"),
    [
        (0, 100, "[----------]", "0 %"),
        (1, 1000, "[#---------]", "under 1 %"),
        (50, 100, "[#####-----]", "50 %"),
        (99, 100, "[#########-]", "99 %"),
        (300, 100, "[##########]", "300 %"),
        (5, 0, "[#---------]", "no limit"),
    ],
)
def test_the_bar_is_never_empty_when_something_is_used(
    used: int, cap: int, drawn: str, said: str
) -> None:
    assert storage_rows.bar(used, cap, 10, ascii_only=True) == drawn
    assert storage_rows.percent(used, cap) == said


def test_above_the_list_stand_use_limits_and_checks() -> None:
    lines = storage_rows.about(REPORT, Config(), "~/.data", Checks(), ascii_only=True)
    assert lines[0] == "Store  ~/.data"
    assert lines[1] == "[######------------------] 300.0 MiB of at most 1.2 GiB, 25 %"
    assert "one file 10.0 MiB; one snapshot 50,000 new files or 1.0 GiB" in lines[2]
    assert "not since the app was opened" in lines[3]
    over = replace(REPORT, size=1300 * MIB)
    assert "Over the limit" in storage_rows.about(over, Config(), "", Checks())[1]
    checked = storage_rows.about(REPORT, Config(), "", Checks("03:11, whole", "03:10, 61 MiB"))
    assert checked[3] == "Checked: 03:11, whole.  Cleaned up: 03:10, 61 MiB."


def test_the_newest_turn_says_what_is_skipped() -> None:
    first = replace(turn(n=1), not_captured=(BIG,))
    second = replace(turn(n=2), not_captured=(NotCaptured(b"pipe", "special"), BIG))
    found = storage_rows.skipped([session(first, second)])
    assert [item.path for item in found] == [b"data.bin", b"pipe"]
    assert words(storage_rows.skipped_rows(found, Config())) == [
        "Over the size limit  1 path",
        "data.bin",
        "The limit is 10.0 MiB: max_file_size_mb in the settings.",
        "No ordinary file  1 path",
        "pipe",
    ]
    assert storage_rows.skipped([]) == ()
    assert "captured whole" in words(storage_rows.skipped_rows((), Config()))[0]


def test_what_upkeep_found_is_said_in_words() -> None:
    would = PruneReport(True, 2, 60, 0, 0, ())
    assert storage_rows.prune_question(would) == (
        "This would remove 2 temporary files and pack 60 loose objects. Nothing was changed. "
        "No turn and no undo is lost by it. y: do it. esc: leave it."
    )
    nothing = storage_rows.prune_question(replace(would, temporary=0, packed=0))
    assert nothing == "There is nothing to clean up in this project."
    short = replace(would, temporary=0, packed=0, stopped="the disk is full")
    assert storage_rows.prune_question(short).endswith("in this project. the disk is full.")
    sound = VerifyReport(612, 3, (), ())
    assert storage_rows.verified(sound) == (
        "612 objects and 3 refs: everything that is kept is whole"
    )
    lost = replace(sound, damage=(Damage("abc", "missing", ("turn 7",)),), lines=(("l", 3),))
    assert storage_rows.verified(lost) == (
        "612 objects and 3 refs: 1 thing missing or damaged, 1 line of the record damaged"
    )
    assert words(storage_rows.damage_rows(lost)) == [
        "missing: abc, needed by turn 7",
        "damaged record: l, line 3",
    ]


def test_details_name_the_way_to_the_list() -> None:
    assert storage_rows.details(GONE, "/tmp/spike") == (
        "/tmp/spike: 1 session in 12 snapshots, 207.0 MiB. The folder is gone."
    )
    assert storage_rows.details(SHOP, "~/shop", 3) == (
        "3 paths not captured: enter lists them. "
        "~/shop: 12 sessions in 431 snapshots since 2026-11-02, 84.0 MiB."
    )


# --- The screen ----------------------------------------------------------------------------------


def store_of(folder: Path) -> Path:
    project = Project.open(str(folder))
    assert project.store is not None
    return Path(os.fsdecode(project.store.dir))


def contents(store: Path) -> dict[str, bytes]:
    """Every file of a store but its caches and locks."""
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in store.rglob("*")
        if path.is_file() and "scan" not in path.parts and "lock" not in path.name
    }


def leftover(folder: Path) -> Path:
    """A temporary file that a killed writer left long ago."""
    path = store_of(folder) / "counters.new-1"
    path.write_bytes(b"half")
    os.utime(path, (1, 1))
    return path


@pytest.mark.parametrize("size", SIZES)
def test_cleaning_up_is_shown_first_and_done_with_a_yes(
    folder: Path, size: tuple[int, int]
) -> None:
    clean_turn(folder)
    left = leftover(folder)

    async def story(app: Driver) -> None:
        await app.press("4")
        await app.until(lambda: any("here" in row for row in app.rows()))
        await app.press("y")
        await app.until(lambda: "nothing to say yes to" in app.text())
        before = contents(store_of(folder))
        await app.press("p")
        await app.until(lambda: "would remove 1 temporary file" in app.text())
        assert contents(store_of(folder)) == before
        await app.press("escape")
        await app.until(lambda: "Nothing was cleaned up" in app.text())
        await app.press("y")
        await app.until(lambda: "nothing to say yes to" in app.text())
        assert left.read_bytes() == b"half"
        await app.press("p")
        await app.until(lambda: "y: do it" in app.text())
        await app.press("y")
        await app.until(lambda: "Removed 1 temporary file" in app.text())
        assert not left.exists()
        del before[left.name]
        assert contents(store_of(folder)) == before
        await app.press("p")
        await app.until(lambda: "There is nothing to clean up" in app.text())
        await app.press("ctrl+x", "u", "enter")
        await app.until(lambda: is_old(folder))

    play(folder, story, size)


def test_a_check_says_what_is_whole_and_what_is_lost(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("4")
        await app.until(lambda: any("here" in row for row in app.rows()))
        await app.press("v")
        await app.until(lambda: "everything that is kept is whole" in app.text())
        objects = [p for p in store_of(folder).rglob("objects/??/*") if p.is_file()]
        blob = next(p for p in objects if p.parent.name + p.name == BLOB)
        blob.unlink()
        await app.press("v")
        await app.until(lambda: isinstance(app.app.screen, ListingScreen))
        await app.until(lambda: any(f"missing: {BLOB}" in row for row in app.rows()))
        assert any("turn 1" in row for row in app.rows())
        await app.press("escape")
        await app.until(lambda: "1 thing missing or damaged" in app.text())

    play(folder, story)


BLOB = "814f4a422927b82f5f8a43f8fab6d3839e3983f2"
"""The object of "one\\ntwo\\n", which the turn changed."""


def test_a_check_says_how_far_it_is_and_can_be_cancelled(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_turn(folder)
    ended = threading.Event()
    real = verifying._Walk._check

    def slowly(self: Any, oid: str, kind: str) -> Any:
        while not ended.wait(0.01):
            work.step("objects", len(self.seen))
        return real(self, oid, kind)

    monkeypatch.setattr(verifying._Walk, "_check", slowly)

    async def story(app: Driver) -> None:
        await app.press("4")
        await app.until(lambda: any("here" in row for row in app.rows()))
        try:
            await app.press("v")
            await app.until(lambda: "Checking  objects 1 " in app.text())
            await app.press("escape")
            await app.until(lambda: "Cancelled. Nothing was changed." in app.text())
        finally:
            ended.set()
        await app.press("v")
        await app.until(lambda: "everything that is kept is whole" in app.text())

    play(folder, story)


def test_what_is_too_large_is_listed(folder: Path) -> None:
    (folder / "huge.bin").write_bytes(b"\0" * (11 << 20))
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("4")
        await app.until(lambda: "1 path not captured" in app.text())
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, ListingScreen))
        await app.until(lambda: "huge.bin" in app.text() and "max_file_size_mb" in app.text())
        await app.press("q")
        await app.until(lambda: app.app.screen is app.app.main)

    play(folder, story)


def test_plain_signs_where_others_are_not_wanted() -> None:
    rows = storage_rows.rows(REPORT, SHOP.root, ASCII, safe, set(), (BIG,))
    assert all(text.isascii() for text in words(rows))
