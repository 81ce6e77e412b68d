"""The pane of a diff with keys and the mouse, on changes that were really recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual import events
from textual.app import App, ComposeResult

from takeback.engine.project import Project
from takeback.tui import diffs, keys, theming
from takeback.tui.diff_layout import View
from takeback.tui.screens.diff import DiffScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.widgets.cells import cell_len
from takeback.tui.widgets.diff_pane import DiffPane
from takeback.tui.widgets.search_line import SearchLine
from tests.tui.driver import SIZES, Driver, play

LINES = [f"value_{n} = {n}" for n in range(1, 61)]
LONG = 'long = "' + "x" * 150 + '"  # the end'


@pytest.fixture
def changed(folder: Path) -> Path:
    """A turn that changes two places of one file, and another file."""
    (folder / "code.py").write_text("\n".join(LINES) + "\n")
    project = Project.open(str(folder))
    with project.turn("s", "claude", "change") as turn:
        with turn.edit("a.txt"):
            (folder / "a.txt").write_text("one\nTWO\n")
        with turn.edit("code.py"):
            new = [LONG, *LINES[1:29], "value_30 = needle", *LINES[30:], "def f(): needle"]
            (folder / "code.py").write_text("\n".join(new) + "\n")
    project.close()
    return folder


def pane(app: Driver) -> DiffPane:
    return app.app.screen.query_one("#diff", DiffPane)


def headline(app: Driver) -> str:
    return "".join(segment.text for segment in pane(app).render_line(0))


def test_a_patch_for_reading_has_the_context_that_is_wanted_and_no_binary_data(
    changed: Path,
) -> None:
    project = Project.open(str(changed))
    with project.turn("s", "claude", "draw") as turn, turn.edit("pic"):
        (changed / "pic").write_bytes(bytes(range(256)))
    code, drawn = ([c for c in turn.changes if c.path in (b"code.py", b"pic")]
                   for turn in project.sessions()[0].turns)  # fmt: skip
    assert b"\n value_20 = 20\n" not in project.diff(code)
    assert b"\n value_20 = 20\n" in project.diff(code, 20)
    assert b"GIT binary patch" in project.diff(drawn)
    assert b"GIT binary patch" not in project.diff(drawn, binary=False)
    assert diffs.parse(project.diff(drawn, binary=False)).files[0].said == (
        "new file, binary, not shown"
    )
    project.close()


async def opened(app: Driver) -> None:
    """Open the diff over the whole screen, from the turn's line."""
    await app.until(lambda: bool(app.app.screen.query(DiffPane)))
    await app.press("d")
    if app.app.size.width >= 100:
        await app.until(lambda: pane(app).has_focus and len(pane(app).lines) > 5)
        await app.press("d")
    await app.until(lambda: isinstance(app.app.screen, DiffScreen) and len(pane(app).lines) > 5)


@pytest.mark.parametrize("size", SIZES)
def test_keys_move_between_hunks_and_files(changed: Path, size: tuple[int, int]) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        assert "a.txt" in headline(app)
        assert "file 1/2  hunk 1/1  +1 -1" in headline(app)
        await app.press("}")
        assert "code.py" in headline(app)
        assert "file 2/2  hunk 1/3" in headline(app)
        await app.press("]", "]")
        assert "hunk 2/3" in headline(app)
        await app.press("]")
        assert "hunk 3/3" in headline(app)
        await app.press("]")
        await app.until(lambda: "This is the last hunk." in app.text())
        await app.press("[", "[")
        assert "hunk 1/3" in headline(app)
        await app.press("{", "{")
        assert "a.txt" in headline(app)
        await app.press("G")
        assert "needle" in app.text()
        await app.press("g", "g", "ctrl+d", "ctrl+u", "j", "k", "pagedown", "pageup")
        assert pane(app).scroll_offset.y == 0
        await app.press("escape")
        await app.timeline()

    play(changed, story, size)


@pytest.mark.parametrize("size", SIZES)
def test_keys_change_the_way_of_looking(changed: Path, size: tuple[int, int]) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        found = pane(app)
        await app.press("s")
        if size[0] < 90:
            await app.until(lambda: "needs 90 columns" in app.text())
            assert not found.two_columns
        else:
            await app.until(lambda: found.two_columns)
            assert any(" - two" in line and "| " in line for line in app.text().split("\n"))
            await app.press("s")
            assert not found.two_columns
        assert "the end" not in app.text()
        await app.press("w")
        await app.until(lambda: "the end" in app.text())
        await app.press("w")
        await app.press(*["l"] * 14)
        await app.until(lambda: "the end" in app.text())
        before = len(found.lines)
        await app.press("+")
        await app.until(lambda: len(found.lines) > before)
        assert "6 lines around each change" in app.text()
        await app.press("-", "-", "-")
        await app.until(lambda: len(found.lines) < before)
        await app.until(lambda: "0 lines around" in app.text())
        assert "the end" in app.text()
        await app.press("-")
        await app.until(lambda: "No less" in app.text())

    play(changed, story, size)


@pytest.mark.parametrize("size", SIZES)
def test_searching_goes_round_and_copying_takes_the_hunk(
    changed: Path, size: tuple[int, int]
) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        app.burst("slash", *"needle", "enter")
        await app.until(lambda: "match 1/2" in app.text())
        assert pane(app).has_focus
        await app.press("n")
        assert "match 2/2" in headline(app)
        await app.press("n")
        assert "match 1/2" in headline(app)
        await app.until(lambda: "at the other end" in app.text())
        await app.press("N")
        assert "match 2/2" in headline(app)
        assert "hunk 3/3" in headline(app)
        await app.press("y")
        assert app.app.clipboard.startswith("diff --git a/code.py b/code.py\n")
        assert "\n+def f(): needle\n" in app.app.clipboard
        assert "value_30" not in app.app.clipboard
        await app.until(lambda: "Copied hunk 4 of 4" in app.text())
        await app.press("/", "q", "z", "enter")
        await app.until(lambda: "“qz” is nowhere" in app.text())
        await app.press("/", "escape")
        assert isinstance(app.app.screen, DiffScreen)
        assert not app.app.screen.query_one(SearchLine).display

    play(changed, story, size)


def test_more_context_keeps_the_place_and_holds_elsewhere(changed: Path) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        await app.press("}", "]", "]")
        await app.press("j")
        top = app.text().split("\n")[2]
        before = len(pane(app).lines)
        await app.press("+")
        await app.until(lambda: len(pane(app).lines) > before)
        assert app.text().split("\n")[2] == top
        more = len(pane(app).lines)
        await app.press("w", "escape")
        await app.timeline()
        await app.until(lambda: len(pane(app).lines) == more)
        await app.press("d")
        await app.until(lambda: pane(app).has_focus)
        await app.press("-")
        await app.until(lambda: len(pane(app).lines) < more)

    play(changed, story, (120, 24))


@pytest.mark.parametrize("size", SIZES)
def test_the_mouse_selects_scrolls_and_stands_on_a_line(
    changed: Path, size: tuple[int, int]
) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        before = len(pane(app).lines)
        await app.press("+", "+", "+", "+")
        await app.until(lambda: len(pane(app).lines) > before + 20)
        lines = app.text().split("\n")
        first = next(y for y, line in enumerate(lines) if line.endswith("- two"))
        column = lines[first].index("two")
        await app.pilot.mouse_down(offset=(column + 1, first))
        await app.pilot.hover(offset=(column + 2, first + 1))
        await app.pilot.mouse_up(offset=(column + 2, first + 1))
        await app.press("y")
        await app.until(lambda: "Copied 2 selected lines" in app.text())
        assert app.app.clipboard in ("wo\nTW", "wo\nTWO")
        at = next(y for y, line in enumerate(lines) if line.strip().startswith("code.py"))
        await app.pilot.click(offset=(20, at + 1))
        assert "code.py" in headline(app)
        assert pane(app).scroll_offset.y == 0
        place = (5, 5)
        app.app.post_message(
            events.MouseScrollDown(None, *place, 0, 1, 0, False, False, False, *place)
        )
        await app.until(lambda: pane(app).scroll_offset.y > 0)
        lines = app.text().split("\n")
        await app.pilot.click(offset=(lines[-1].index("wrap"), size[1] - 1))
        await app.until(lambda: "Long lines are wrapped" in app.text())

    play(changed, story, size)


def test_only_one_of_two_columns_is_selected(changed: Path) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        await app.press("s")
        await app.until(lambda: pane(app).two_columns)
        lines = app.text().split("\n")
        row = next(y for y, line in enumerate(lines) if " - two" in line)
        column = lines[row].index("TWO")
        await app.pilot.mouse_down(offset=(column, row - 1))
        await app.pilot.hover(offset=(column + 9, row))
        await app.pilot.mouse_up(offset=(column + 9, row))
        await app.press("y")
        assert app.app.clipboard == "one\nTWO"

    play(changed, story, (120, 36))


def test_side_by_side_in_a_narrow_pane_says_where_there_is_room(changed: Path) -> None:
    async def story(app: Driver) -> None:
        await app.until(lambda: isinstance(app.app.screen, TimelineScreen))
        await app.press("d")
        await app.until(lambda: pane(app).has_focus)
        await app.press("s")
        assert "w wrap" in app.text().split("\n")[-1]
        await app.until(lambda: "d shows the diff over the whole screen" in app.text())

    play(changed, story, (120, 36))


def test_y_never_copies_where_it_means_yes() -> None:
    for name, panes in keys.SCREENS.items():
        for scopes in panes:
            taken = {key.action for key in keys.of(*scopes) if "y" in key.keys.split(",")}
            assert len(taken) <= 1, name
    assert "copy" not in {scope for scopes in keys.SCREENS["undo"] for scope in scopes}


def test_what_is_selected_in_a_plan_is_copied_without_a_yes(changed: Path) -> None:
    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        await app.until(lambda: "+ two" in app.text())
        lines = app.text().split("\n")
        row = next(y for y, line in enumerate(lines) if "+ two" in line)
        column = lines[row].index("+ two") + 2
        await app.pilot.mouse_down(offset=(column, row))
        await app.pilot.hover(offset=(column + 2, row))
        await app.pilot.mouse_up(offset=(column + 2, row))
        await app.press("ctrl+c")
        assert app.app.clipboard == "two"
        await app.press("ctrl+c")
        await app.until(lambda: "once more" in app.text())
        assert (changed / "a.txt").read_text() == "one\nTWO\n"

    play(changed, story, (120, 36))


def test_a_wrapped_line_is_selected_as_one(changed: Path) -> None:
    async def story(app: Driver) -> None:
        await opened(app)
        await app.press("w")
        await app.until(lambda: "the end" in app.text())
        lines = app.text().split("\n")
        row = next(y for y, line in enumerate(lines) if "the end" in line)
        column = lines[row].index('"  # the end')
        await app.pilot.mouse_down(offset=(column - 2, row - 1))
        await app.pilot.hover(offset=(column + 12, row))
        await app.pilot.mouse_up(offset=(column + 12, row))
        await app.press("y")
        assert app.app.clipboard == LONG[-len(app.app.clipboard) :]
        assert app.app.clipboard.endswith('xxx"  # the end')

    play(changed, story)


class Bare(App[None]):
    """Nothing but a pane."""

    diff_view = View()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return theming.defaults()

    def compose(self) -> ComposeResult:
        yield DiffPane(id="diff")


NASTY = [
    "中文字" * 20, "a" + "中" * 50, "e\u0301" * 60, "🙂" * 30, "❤️" * 20, "🇩🇪" * 20, "👍🏽" * 20,
    "שלום עולם " * 10, "\u202eabc\u202c", "\x1b[2J\x00\x7f", "\ttab\there", "x" * 12_000,
    "中" * 11_000, "", " ", "ﷺ" * 9, "\u200b\ufeff", "각" * 12,
]  # fmt: skip


@pytest.mark.parametrize("size", [(50, 24), (120, 24)])
def test_every_row_is_as_wide_as_the_pane_whatever_is_in_it(size: tuple[int, int]) -> None:
    async def main() -> None:
        app = Bare()
        async with app.run_test(size=size) as pilot:
            (shown,) = app.query(DiffPane).results(DiffPane)
            old, new = ("".join(f"{sign}{text}\n" for text in NASTY) for sign in "-+")
            count = len(NASTY)
            head = (
                f"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1,{count} +1,{count} @@\n"
            )
            shown.show(diffs.parse((head + old + new.replace("b", "c")).encode()))
            for side, wrap in ((False, False), (False, True), (True, False), (True, True)):
                shown.look(View(side, wrap))
                await pilot.pause()
                width = shown.scrollable_content_region.width
                for left in (0, 1, 7) if not wrap else (0,):
                    shown.scroll_to(x=left, animate=False, immediate=True)
                    for y in range(min(400, shown.virtual_size.height)):
                        strip = shown.render_line(y)
                        text = "".join(segment.text for segment in strip)
                        assert strip.cell_length == cell_len(text) == width, repr(text)
                        assert text.isprintable(), repr(text)

    asyncio.run(main())
