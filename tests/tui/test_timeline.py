"""The timeline in the app: marks, folds, the filter, following, and what is taken back from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback.engine.project import Project
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.screens.undo import UndoScreen
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.row_list import RowList
from tests.tui.driver import SIZES, Driver, Story, clean_turn
from tests.tui.driver import play as opened
from tests.tui.recorded import LINES, Recorded

WIDE, NARROW = (120, 36), (80, 24)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    base = tmp_path_factory.mktemp("recorded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAKEBACK_DATA_DIR", str(base / "data"))
        patch.setenv("TAKEBACK_CONFIG_DIR", str(base / "config"))
        yield Recorded(base)


def play(folder: Path, story: Story, size: tuple[int, int] = NARROW) -> None:
    """Open the app and run a story once all is read, not only a first look."""

    async def read(app: Driver) -> None:
        await app.until(lambda: app.app.record is not None and app.app.desk.idle)
        await story(app)

    opened(folder, read, size)


def row(app: Driver) -> str:
    """The row under the cursor."""
    current = app.app.screen.query_one("#rows", RowList).current
    assert current is not None
    return "".join(span.text for span in current.lead)


def marked(app: Driver) -> list[str]:
    rows = app.app.screen.query_one("#rows", RowList)
    shown = [one for one in rows.rows if one.key in rows.marked]
    return ["".join(span.text for span in one.lead) for one in shown]


async def at(app: Driver, words: str) -> None:
    """Go down to the next row that holds the words, as fast as a key repeats."""
    rows = app.app.screen.query_one("#rows", RowList)
    assert rows.current is not None
    start = next(at for at, one in enumerate(rows.rows) if one.key == rows.current.key)
    steps = 0
    for one in rows.rows[start + 1 :]:
        steps += not one.still
        if words in "".join(span.text for span in one.lead):
            app.burst(*["j"] * steps)
            await app.until(lambda: words in row(app))
            return
    pytest.fail(f"No row below with {words!r}")


async def done(app: Driver, *keys: str) -> None:
    """Carry the plan out that is shown."""
    await app.planned()
    await app.press(*keys)
    await app.until(lambda: "Took back" in app.text() or "Put back" in app.text())
    await app.until(lambda: not isinstance(app.app.screen, UndoScreen))
    # A summary of what was done may lie over it.
    if not isinstance(app.app.screen, TimelineScreen):
        await app.press("escape")
    await app.until(lambda: isinstance(app.app.screen, TimelineScreen))
    await app.until(lambda: app.app.desk.idle)


def click_at(app: Driver, words: str, column: int | None = None) -> tuple[int, int]:
    """Where on the screen a text stands."""
    for y, line in enumerate(app.text().split("\n")):
        if words in line:
            return (line.index(words) if column is None else column, y)
    pytest.fail(f"Not on the screen: {words!r}\n{app.text()}")


def test_parts_of_a_session_are_taken_back_by_keys_alone(recorded: Recorded) -> None:
    """A reviewer of forty steps: one file, one call, a marked set, and one of them put back."""
    folder = recorded.fresh()
    before = recorded.files()
    wanted = dict(before)

    async def story(app: Driver) -> None:
        # One file of the newest turn.
        await at(app, "old_tax.py")
        await app.press("u")
        await app.planned()
        assert "1 file of turn 9" in app.text()
        await done(app, "enter")
        wanted["checkout/old_tax.py"] = "".join(LINES).encode()
        assert recorded.files() == wanted
        # The third edit of fourteen in one file, the others kept.
        await app.press("J", "J", "z")
        assert "Turn 7" in row(app)
        for _ in range(3):
            await app.press("j")
        await app.press("u")
        await app.planned()
        assert "turn 7 edit #3" in app.text()
        await done(app, "enter")
        text = wanted["checkout/tax.py"]
        wanted["checkout/tax.py"] = text.replace(b"decimal 3\n", b"line 12\n")
        assert recorded.files() == wanted
        # A set: two files out of fifteen, a whole turn, and a file of the newest turn.
        await at(app, "wire the new client")
        await app.press("z")
        await at(app, "part7.py")
        await app.press("space", "j", "space")
        await app.press("g", "g")
        await at(app, "add tests for EU")
        await app.press("space", "g", "g")
        await at(app, "test_tax.py")
        await app.press("space", "u")
        await app.planned()
        await done(app, "enter")
        for name in ("api/part7.py", "api/part8.py", "tests/test_eu.py", "tests/test_tax.py"):
            del wanted[name]
        assert recorded.files() == wanted
        # The set comes back as it went: at any turn of it.
        await app.press("escape", "g", "g")
        await at(app, "add tests for EU")
        await app.press("U")
        await done(app, "enter")
        for name in ("api/part7.py", "api/part8.py", "tests/test_eu.py", "tests/test_tax.py"):
            wanted[name] = before[name]
        assert recorded.files() == wanted
        await app.press("U")
        await app.until(lambda: "nothing can be put back" in app.text())

    play(folder, story)


def test_parts_of_a_session_are_taken_back_by_the_mouse_alone(recorded: Recorded) -> None:
    folder = recorded.fresh()
    wanted = recorded.files()

    async def click(app: Driver, words: str, column: int | None = None) -> None:
        await app.pilot.click(offset=click_at(app, words, column))

    async def story(app: Driver) -> None:
        # The place of the sign before a row marks it.
        await click(app, "edit  D", 1)
        await app.until(lambda: len(marked(app)) == 1)
        await click(app, "12 more calls")
        await app.until(lambda: "part9.py" in app.text())
        await click(app, "part9.py", 1)
        await app.until(lambda: "Marked: 1 file of turn 9 and 1 file of turn 5" in app.text())
        await click(app, "undo this")
        await app.planned()
        assert recorded.files() == wanted
        await click(app, "enter apply")
        await app.until(lambda: "Took back" in app.text())
        del wanted["api/part9.py"]
        wanted["checkout/old_tax.py"] = "".join(LINES).encode()
        assert recorded.files() == wanted

    play(folder, story, (120, 50))


@pytest.mark.parametrize("size", SIZES)
def test_marks_are_signs_and_words_and_esc_clears_them(
    recorded: Recorded, size: tuple[int, int]
) -> None:
    async def story(app: Driver) -> None:
        await at(app, "old_tax.py")
        await app.press("space", "j", "j")
        await app.press("v")
        await app.until(lambda: "Marked: 1 file and 1 call of turn 9" in app.text())
        assert marked(app)[0].endswith("D checkout/old_tax.py")
        assert sum(line.startswith(" ■") for line in app.text().split("\n")) == 2
        await app.press("K", "space")
        await app.until(lambda: "Marked: turn 9." in app.text())
        assert len(marked(app)) == 6
        await app.press("escape")
        await app.until(lambda: marked(app) == [])
        await app.press("v")
        await app.until(lambda: "A range begins here" in app.text())
        await app.press("J", "v")
        await app.until(lambda: "Marked: turn 9 and turn 8." in app.text())

    play(recorded.fresh(), story, size)


def test_the_pane_shows_the_net_difference_of_what_is_marked(recorded: Recorded) -> None:
    def files(app: Driver) -> list[str]:
        lines = app.app.screen.query_one("#diff", DiffPane).lines
        return [line.text for line in lines if line.kind == "file"]

    async def story(app: Driver) -> None:
        await app.press("J", "J")
        await app.until(lambda: files(app) == ["checkout/tax.py"])
        await app.press("space")
        for _ in range(3):
            await app.press("J")
        assert "Turn 4" in row(app)
        await app.press("space")
        await app.until(lambda: files(app) == ["api/client.py", "checkout/tax.py"])
        await app.press("g", "g")
        assert files(app) == ["api/client.py", "checkout/tax.py"]
        await app.press("escape")
        await app.until(lambda: len(files(app)) == 4)

    play(recorded.fresh(), story, WIDE)


@pytest.mark.parametrize("size", SIZES)
def test_long_texts_and_turns_fold_under_the_cursor(
    recorded: Recorded, size: tuple[int, int]
) -> None:
    async def story(app: Driver) -> None:
        await at(app, "3 more lines of the prompt")
        await app.press("enter")
        assert row(app).endswith("now delete the old tax module")
        await app.press("j", "j")
        assert row(app).endswith("since turn 5.")
        await app.press("z")
        assert "3 more lines of the prompt" in row(app)
        await at(app, "Done")
        await app.press("z")
        assert row(app).startswith("Turn 9")
        assert not any("Done" in line for line in app.rows())
        await app.press("z")
        assert any("Done" in line for line in app.rows())
        await at(app, "12 more calls, 12 files")
        await app.press("enter")
        assert "part4.py" in row(app) or "part1.py" in row(app)
        await app.press("Z")
        await app.until(lambda: "Everything is unfolded" in app.text())
        assert sum("checkout/tax.py" in line for line in app.rows()) == 16
        await app.press("Z")
        assert sum("more call" in line for line in app.rows()) == 7
        assert row(app).startswith("Turn 5")
        await app.press("Z")
        await app.until(lambda: "Folded as usual" in app.text())

    play(recorded.fresh(), story, size)


def test_very_many_rows_are_made_in_a_thread(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.tui.screens.timeline.MANY", 0)

    async def story(app: Driver) -> None:
        await at(app, "12 more calls")
        await app.press("Z")
        await app.until(lambda: any("part15.py" in line for line in app.rows()))
        await app.until(lambda: "Turn 5" in row(app))
        await app.press("j", "Z")
        await app.until(lambda: not any("part15.py" in line for line in app.rows()))
        await app.until(lambda: "15 more calls" in row(app))

    play(recorded.fresh(), story)


def test_the_filter_leaves_what_holds_the_words_and_counts_it(recorded: Recorded) -> None:
    async def story(app: Driver) -> None:
        await app.press("J", "J")
        assert "Turn 7" in row(app)
        every = len(app.rows())
        await app.press("slash", *"part1")
        await app.until(lambda: "7 lines found" in app.text())
        assert [line for line in app.rows() if line.startswith("Turn")] == [
            line for line in app.rows() if "wire the new client" in line
        ]
        await app.press("enter", "j", "j", "space")
        assert len(marked(app)) == 1
        await app.press("escape")
        await app.until(lambda: len(app.rows()) == every)
        # What was found is folded again: the line that hides it holds the cursor and the sign.
        await app.until(lambda: "12 more calls" in row(app))
        assert marked(app) == [row(app)]

    play(recorded.fresh(), story)


def test_who_reads_is_never_moved_and_who_follows_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.tui.reading.FOLLOW_EVERY", 0.2)
    clean_turn(folder)

    async def story(app: Driver) -> None:
        project = Project.open(str(folder))
        with project.turn("s", "claude", "second") as turn:
            await app.until(lambda: "nothing yet" in app.text())
            with turn.edit("b.txt"):
                (folder / "b.txt").write_text("newer\n")
            # Who followed stands on what was done last.
            await app.until(lambda: "M b.txt" in row(app))
            assert "follows the agent" in app.text()
            await app.press("J")
            assert "Turn 1" in row(app)
            await app.until(lambda: "F follows again" in app.text())
            await app.press("j")
            line = click_at(app, "A b.txt")[1]
            with turn.edit("c.txt"):
                (folder / "c.txt").write_text("more\n")
            await app.until(lambda: any("c.txt" in text for text in app.rows()))
            assert "a.txt" in row(app)
        with project.turn("s", "claude", "third"):
            await app.until(lambda: any("third" in text for text in app.rows()))
            assert "a.txt" in row(app)
            assert line > 0
            await app.press("F")
            assert "nothing yet" in row(app) or "Turn 3" in row(app)
            await app.until(lambda: "follows the agent" in app.text())
        project.close()

    play(folder, story)


def test_a_new_turn_above_leaves_the_lines_where_they_are(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.tui.reading.FOLLOW_EVERY", 0.2)
    folder = recorded.fresh()

    async def story(app: Driver) -> None:
        await app.press("G", *["k"] * 5)
        assert "part 2 of the client" in row(app)
        line = click_at(app, "part 2 of the client")[1]
        shown = [text[:78].rstrip() for text in app.text().split("\n")[4 : line + 1]]
        project = Project.open(str(folder))
        with project.turn("s", "claude", "one more") as turn, turn.edit("more.txt"):
            (folder / "more.txt").write_text("more\n")
        project.close()
        await app.until(lambda: any("more.txt" in text for text in app.rows()))
        await app.pilot.pause()
        assert [text[:78].rstrip() for text in app.text().split("\n")[4 : line + 1]] == shown

    play(folder, story)


def test_a_long_turn_that_is_read_stays_open_when_the_next_begins(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.tui.reading.FOLLOW_EVERY", 0.2)
    project = Project.open(str(folder))
    with project.turn("s", "claude", "many") as turn:
        for number in range(1, 13):
            with turn.edit(f"f{number}"):
                (folder / f"f{number}").write_text("new\n")

    async def story(app: Driver) -> None:
        await at(app, "f11")
        with project.turn("s", "claude", "next"):
            await app.until(lambda: any("next" in text for text in app.rows()))
            assert "f11" in row(app)
            assert any("f12" in text for text in app.rows())
        project.close()

    play(folder, story)


def test_the_next_undo_is_named_below(recorded: Recorded) -> None:
    async def story(app: Driver) -> None:
        await app.until(lambda: "next undo: turn 9 (3 files)" in app.text())
        await app.press("u")
        await app.planned()
        await app.press("escape")
        await app.until(lambda: "next undo: turn 9 (3 files)" in app.text())

    play(recorded.fresh(), story)


def test_panes_change_their_share_and_the_lines_are_broken_again(recorded: Recorded) -> None:
    async def story(app: Driver) -> None:
        rows = app.app.screen.query_one("#rows", RowList)
        width = rows.size.width
        await app.press("greater_than_sign")
        await app.until(lambda: rows.size.width > width)
        await app.press("less_than_sign", "less_than_sign")
        await app.until(lambda: rows.size.width < width)
        await app.press("tab", "j")
        assert app.app.screen.query_one("#diff", DiffPane).has_focus
        await app.press("escape")
        assert rows.has_focus

    play(recorded.fresh(), story, WIDE)


def test_hostile_texts_of_any_script_fit_the_screen(folder: Path) -> None:
    project = Project.open(str(folder))
    name = "ü" * 40 + "/" + "文" * 30 + ".py"
    with project.turn("s", "claude", "[red]修理[/] 🙂 שלום עולם \x1b[31m " * 400) as turn:
        turn.step("# [bold]x[/]\n\n- שלום\n- 中文\n\n```\n\x1b[2J\n```\n" + "word " * 3000)
        with turn.edit(name):
            (folder / name).parent.mkdir()
            (folder / name).write_text("x\n")
    project.close()

    async def story(app: Driver) -> None:
        await app.press("Z")
        for _ in range(3):
            await app.press("ctrl+d")
            assert "\x1b" not in app.text()
        await app.press("G")
        assert row(app).endswith(f"{'文' * 30}.py")
        assert "文文.py" in app.text()
        await app.press("d")
        await app.until(lambda: "+ x" in app.text())

    play(folder, story)


def test_a_session_of_another_agent_takes_nobody_away(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.tui.reading.FOLLOW_EVERY", 0.2)
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("j")
        assert "a.txt" in row(app)
        other = Project.open(str(folder))
        with other.turn("other", "codex", "elsewhere") as turn, turn.edit("c.txt"):
            (folder / "c.txt").write_text("c\n")
            await app.until(lambda: "is newer: F goes there" in app.text())
            assert "a.txt" in row(app)
            await app.press("F")
            await app.until(lambda: "elsewhere" in app.text() and "c.txt" in row(app))
            assert "change a" not in app.text()
        other.close()

    play(folder, story)
