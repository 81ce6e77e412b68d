"""The sessions screen: rows and sentences of made-up sessions, and keys on recorded ones."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from takeback.engine import work
from takeback.engine.model import Change, NotCaptured, Operation, PathChange, Session, Turn
from takeback.engine.project import Project
from takeback.tui import glyphs, session_rows
from takeback.tui.elsewhere import Elsewhere
from takeback.tui.screens.sessions import SessionsScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.session_rows import Summary, Unread, Where
from takeback.tui.text import safe
from takeback.tui.widgets.cells import cell_len
from takeback.tui.widgets.row_list import Row
from tests.tui.driver import HOSTILE, SIZES, Driver, is_new, is_old, play
from tests.tui.test_present import change, no_control, session, turn

S = 1_000_000_000
DAY = 86_400 * S
NOW = 1_700_000_000 * S
HERE = Where(b"/src/shop", "~/src/shop", True)
THERE = Where(b"/src/proto", "~/src/proto", False, here=False)
CLEAN: dict[str, Any] = {"not_captured": ()}


def made(
    name: str, *turns: Turn, agent: str = "claude", title: str = "", state: Any = ""
) -> Session:
    known = replace(session(*turns), id=name, agent=agent, title=title)
    return replace(known, state=state) if state else known


def at(ns: int, *changes: Change, n: int = 1, prompt: str = "do it", **more: Any) -> Turn:
    known = turn(*changes, n=n, prompt=prompt)
    more = {"not_captured": (), "begun_ns": ns, "ended_ns": ns, **more}
    return replace(known, **more)


def summed(*found: Session, where: Where = HERE, operations: Any = ()) -> tuple[Summary, ...]:
    return session_rows.summaries(found, operations, where)


def words(rows: list[Row]) -> list[str]:
    return ["  ".join(span.text for span in (*row.lead, *row.cells)) for row in rows]


def operation(kind: Any, name: str, targets: tuple[str, ...], state: Any = "done") -> Operation:
    move = PathChange(b"a", change().before, change().after)
    return Operation("o", kind, name, "1", NOW, (move,), "a", "b", state, targets=targets)


THREE = (
    made("a", at(NOW - 2 * DAY, change(b"a.txt"), n=1), agent="codex", title="Refunds page"),
    made("b", at(NOW - 3 * 60 * S, change(b"b.txt"), change(b"c.txt"), n=2), title="Cart test"),
    made("c", at(NOW - 10 * S, n=3, prompt="Steuern 漢字 umziehen"), agent="Amp", state="running"),
)


def test_sessions_stand_by_day_newest_first_with_how_long_ago() -> None:
    rows = session_rows.rows(summed(*THREE), glyphs.UNICODE, NOW)
    said = words(rows)
    assert [row.still for row in rows] == [True, False, False, True, False]
    assert "Today" in said[0]
    assert "now" in said[1]
    assert "3m ago" in said[2]
    assert "2d ago" in said[4]
    assert "Refunds page" in said[4]
    assert "1 turn  2 files  +6 −2  ✓ complete" in said[2]
    assert "● running" in said[1]
    starts = {cell_len("".join(span.text for span in row.lead[:-1])) for row in rows if row.cells}
    assert len(starts) == 1, "titles stand below each other, whatever the agents are called"


def test_within_a_project_the_clock_does_not_decide_what_came_later() -> None:
    back = (
        made("old", at(NOW, n=1), title="first"),
        made("new", at(NOW - 5 * DAY, n=2), title="second"),
    )
    said = words(session_rows.rows(summed(*back), glyphs.UNICODE, NOW))
    assert "second" in said[1]
    assert "first" in said[3]


def test_other_orders() -> None:
    found = summed(*THREE)
    by_files = words(session_rows.rows(found, glyphs.UNICODE, NOW, sort="files"))
    assert ["Cart" in line for line in by_files[1:2]] == [True]
    assert len([line for line in by_files if "Most files" in line]) == 1
    by_agent = words(session_rows.rows(found, glyphs.UNICODE, NOW, sort="agent"))
    assert [line.strip("─ ") for line in by_agent[::2]] == ["Amp", "claude", "codex"]


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("", "abc"),
        ("refunds", "a"),
        ("CART", "b"),
        ("codex", "a"),
        ("c.txt", "b"),
        ("漢字", "c"),
        ("do it a.txt", "a"),
        ("refunds cart", ""),
    ],
)
def test_every_word_must_be_in_title_prompts_agent_or_file_names(typed: str, names: str) -> None:
    found = session_rows.matching(summed(*THREE), typed)
    assert "".join(one.session.id for one in found) == names


def test_the_number_of_matches_is_said() -> None:
    assert session_rows.headline(7, 7, "", "newest", 0).startswith("7 sessions   newest first")
    one = session_rows.headline(1, 7, " cart ", "agent", 3, 1)
    assert one == "1 of 7 sessions matches “cart”   by agent   all 3 projects   1 not readable"
    assert "esc" in session_rows.empty(7, "cart", False)
    assert session_rows.empty(0, "", False) == "Nothing was recorded in this project yet."


def test_states_have_a_sign_and_a_word() -> None:
    lost = (NotCaptured(b"big", "too-large"), NotCaptured(b".env", "secret"))
    unknown = change(b"x", "during-call")
    cases = {
        "● running": made("s", at(NOW), state="running"),
        "✓ complete": made("s", at(NOW)),
        "interrupted": made("s", at(NOW), state="interrupted"),
        "↶ 1 undone": made("s", at(NOW, change(undone=True), undone=True)),
        "↶ partly undone": made("s", at(NOW, change(undone=True), change(b"y"))),
        "◐ 1 unknown": made("s", at(NOW, unknown)),
        "⚠ 1 not protected": made("s", at(NOW, not_captured=lost)),
        "⚠ 1 not protected ◐1 ↶1": made("s", at(NOW, unknown, undone=True, not_captured=lost)),
        "● running ⚠1": made("s", at(NOW, not_captured=lost), state="running"),
    }
    for expected, known in cases.items():
        assert session_rows.state(summed(known)[0], glyphs.UNICODE, False).text == expected
    both = summed(made("s", at(NOW, unknown, not_captured=lost)))[0]
    assert session_rows.state(both, glyphs.ASCII, True).text == "+ complete  ! 1 not protected ?1"


def test_details_name_the_last_turn_redo_and_what_is_not_captured() -> None:
    lost = (
        *(NotCaptured(b"f%d" % n, "secret") for n in range(3)),
        NotCaptured(b"big", "too-large"),
    )
    known = made("s", at(NOW - 60 * S, change(b"a"), n=4), at(NOW, n=5, not_captured=lost))
    (one,) = summed(known, operations=[operation("undo", "s", ("t4",))])
    lines = session_rows.details(one, glyphs.UNICODE, NOW + 7_200 * S, True)
    text = "\n".join(lines)
    assert "~/src/shop (git)" in text
    assert "turn 5 “do it”" in text
    assert "turn 4 “do it”  1 file" in text
    assert "2 hours ago" in text
    assert "1 undo can be put back (U)" in text
    assert "big (over the size limit), f0" in text, "what should be protected comes first"
    assert "and 1 more" in text
    assert len(lines) <= 9
    short = session_rows.details(one, glyphs.UNICODE, NOW, False)
    assert len(short) == 3
    assert "big" in short[2]


def test_an_undo_counts_for_every_session_it_was_of_until_it_is_put_back() -> None:
    both = (made("a", at(NOW, n=1)), made("b", at(NOW, n=2)))
    of_both = operation("undo", "a", ("t1", "t2"))
    assert [one.redo for one in summed(*both, operations=[of_both])] == [1, 1]
    again = [replace(of_both, state="undone"), operation("goto", "a", ("t1",))]
    assert [one.redo for one in summed(*both, operations=again)] == [0, 0]


def test_hostile_titles_and_names_are_only_shown() -> None:
    known = made("\x1b[2J", at(NOW, change(HOSTILE), prompt="[red]\x1b[2J"), agent="a\nb")
    where = Where(HOSTILE, "~/x", False)
    (one,) = summed(known, where=where)
    lines = words(session_rows.rows([one], glyphs.UNICODE, NOW, projects=True))
    lines += session_rows.details(one, glyphs.UNICODE, NOW, True)
    no_control(lines)
    assert any("[red]" in line for line in lines)


def test_projects_have_a_column_and_those_that_cannot_be_read_are_named() -> None:
    found = [*summed(THREE[1]), *summed(THREE[0], where=THERE)]
    unread = [Unread("~/src/old", "the folder is gone")]
    rows = session_rows.rows(found, glyphs.UNICODE, NOW, projects=True, unread=unread)
    said = words(rows)
    assert "shop " in said[1]
    assert "proto" in said[3]
    assert said[-1] == "⚠ ~/src/old: the folder is gone"
    assert len({row.key for row in rows}) == len(rows)


# --- With keys -----------------------------------------------------------------------------------


def two_sessions(folder: Path) -> None:
    project = Project.open(str(folder))
    with project.turn("s1", "claude", "change a") as recorded, recorded.edit("a.txt"):
        (folder / "a.txt").write_text("one\nTWO\n")
    with project.turn("s2", "codex", "make b") as recorded, recorded.edit("b.txt"):
        (folder / "b.txt").write_text("new\n")
    project.close()


async def opened(app: Driver) -> None:
    await app.press("1")
    await app.until(lambda: isinstance(app.app.screen, SessionsScreen) and bool(app.rows()))


@pytest.mark.parametrize("size", SIZES)
def test_undo_and_redo_of_the_session_under_the_cursor(folder: Path, size: tuple[int, int]) -> None:
    two_sessions(folder)

    async def story(app: Driver) -> None:
        await opened(app)
        assert "make b" in app.rows()[1]
        assert "change a" in app.rows()[2]
        await app.press("j")
        await app.until(lambda: "turn 1 “change a”" in app.text())
        await app.press("u")
        await app.planned()
        await app.press("enter")
        await app.until(lambda: is_old(folder) and isinstance(app.app.screen, SessionsScreen))
        assert (folder / "b.txt").exists()
        await app.until(lambda: "1 undone" in app.rows()[2])
        await app.until(lambda: "can be put back" in app.text())
        await app.press("U")
        await app.planned()
        await app.press("enter")
        await app.until(lambda: is_new(folder) and "undone" not in "".join(app.rows()))

    play(folder, story, size)


def test_filter_sort_and_open(folder: Path) -> None:
    two_sessions(folder)

    async def story(app: Driver) -> None:
        await opened(app)
        app.burst("slash", *"a.txt")
        await app.until(lambda: "1 of 2 sessions matches “a.txt”" in app.text())
        assert not any("make b" in row for row in app.rows())
        app.burst(*"zz")
        await app.until(lambda: "No session matches “a.txtzz”" in app.text())
        await app.press("escape")
        await app.until(lambda: len(app.rows()) == 3)
        assert "No session" not in app.text()
        await app.press("s", "s")
        await app.until(lambda: "by agent" in app.text() and app.rows()[0] == "─ claude")
        await app.press("g", "g", "enter")
        await app.until(lambda: isinstance(app.app.screen, TimelineScreen))
        await app.until(lambda: any("change a" in row for row in app.rows()))
        assert app.app.session_id == "s1"

    play(folder, story)


def test_how_long_ago_stays_true(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    two_sessions(folder)
    monkeypatch.setattr("takeback.tui.screens.sessions._AGE_EVERY", 0.05)

    async def story(app: Driver) -> None:
        await opened(app)
        assert all("now" in row for row in app.rows()[1:])
        later = time.time_ns() + 7_200 * S
        monkeypatch.setattr("takeback.tui.screens.sessions.time.time_ns", lambda: later)
        await app.until(lambda: all("2h" in row for row in app.rows()[1:]))
        await app.until(lambda: "2 hours ago" in app.text())

    play(folder, story)


def test_the_mouse_selects_and_opens(folder: Path) -> None:
    two_sessions(folder)

    async def story(app: Driver) -> None:
        await opened(app)
        await app.pilot.click("#rows", offset=(12, 2))
        await app.until(lambda: "turn 1 “change a”" in app.text())
        assert isinstance(app.app.screen, SessionsScreen)
        await app.pilot.click("#rows", offset=(12, 2), times=2)
        await app.until(lambda: isinstance(app.app.screen, TimelineScreen))
        assert app.app.session_id == "s1"

    play(folder, story)


# --- All projects --------------------------------------------------------------------------------


def other_projects(base: Path) -> None:
    """A project that is well, one whose folder is gone, one with a damaged store."""
    for name in ("proto", "gone", "broken"):
        (base / name).mkdir()
        project = Project.open(str(base / name))
        with project.turn("q", "pi", f"work on {name}") as recorded, recorded.edit("p.py"):
            (base / name / "p.py").write_text("1\n")
        assert project.store is not None
        store = Path(os.fsdecode(project.store.dir))
        project.close()
        if name == "gone":
            shutil.rmtree(base / name)
        if name == "broken":
            (store / "ledger").rename(store / "away")
            (store / "ledger").write_text("no folder")


def test_one_damaged_store_hides_no_other(folder: Path) -> None:
    two_sessions(folder)
    other_projects(folder.parent)
    here = Project.open(str(folder))
    told: list[tuple[int, int]] = []
    look = Elsewhere()
    with work.using(None, lambda _, done, total: told.append((done, total))):
        found, unread = look.look(here.data, here.root, safe)
    assert "proto" in [one.where.name for one in found]
    assert "project" not in [one.where.name for one in found]
    assert any("gone" in item.words and item.reason == "the folder is gone" for item in unread)
    assert any("broken" in item.words and item.reason for item in unread)
    assert told[0] == (0, 4)
    first = found[0]
    with Project.open(first.where.root).turn("q2", "pi", "more") as recorded, recorded.edit("n"):
        Path(os.fsdecode(first.where.root), "n").write_text("1\n")
    again, _ = look.look(here.data, here.root, safe)
    assert len(again) == len(found) + 1
    kept, _ = look.look(here.data, here.root, safe)
    assert all(one is other for one, other in zip(again, kept, strict=True)), "nothing read anew"
    here.close()


@pytest.mark.parametrize("size", SIZES)
def test_enter_on_a_session_of_another_project_goes_there(
    folder: Path, size: tuple[int, int]
) -> None:
    two_sessions(folder)
    other_projects(folder.parent)

    async def story(app: Driver) -> None:
        await opened(app)
        await app.press("p")
        await app.until(lambda: any("proto" in row for row in app.rows()))
        assert any("the folder is gone" in row for row in app.rows())
        app.burst("slash", *"proto", "enter")
        await app.until(lambda: "matches “proto”" in app.text())
        await app.press("u")
        await app.until(lambda: "of another project" in app.text())
        assert is_new(folder)
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, TimelineScreen))
        await app.until(lambda: any("work on proto" in row for row in app.rows()))
        await app.until(lambda: "Now in" in app.text())
        assert app.app.project.root == os.fsencode(folder.parent / "proto")
        await app.press("ctrl+x", "u")
        await app.planned()
        await app.press("enter")
        await app.until(lambda: "Took back turn 1" in app.text())
        assert not (folder.parent / "proto" / "p.py").exists()
        await app.press("1")
        await app.until(lambda: any("proto" in row and "1 undone" in row for row in app.rows()))

    play(folder, story, size)


def test_a_folder_that_vanishes_meanwhile_leaves_the_app_where_it_is(folder: Path) -> None:
    two_sessions(folder)
    other_projects(folder.parent)

    async def story(app: Driver) -> None:
        await opened(app)
        shutil.rmtree(folder.parent / "proto")
        app.app.open_project(os.fsencode(folder.parent / "proto"))
        await app.until(lambda: "folder that can be used: No such file" in app.text())
        assert app.app.project.root == os.fsencode(folder)
        assert isinstance(app.app.screen, SessionsScreen)

    play(folder, story)
