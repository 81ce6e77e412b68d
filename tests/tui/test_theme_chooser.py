"""Choosing a theme: seen at once, kept with enter, gone again with esc."""

from __future__ import annotations

from pathlib import Path

import pytest

from takeback.tui import diffs, theme_rows, theming
from takeback.tui.glyphs import ASCII, UNICODE
from takeback.tui.screens.themes import ThemesScreen
from takeback.tui.screens.timeline import TimelineScreen
from takeback.tui.widgets.row_list import RowList
from tests.tui.driver import Driver, clean_turn, play


def test_the_list_names_every_theme_and_whose_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[colors]\nprimary = "red"\n')
    found = theming.load(bytes(tmp_path))
    rows = theme_rows.rows(found, "nord")
    assert [theme_rows.name_of(row) for row in rows][:1] == [theming.AUTO]
    assert {theme_rows.name_of(row) for row in rows} == {theming.AUTO, *found.all}
    texts = {row.key: "".join(span.text for span in row.lead) for row in rows}
    assert texts["theme:auto"] == "auto  nord on this terminal"
    assert texts["theme:mine"] == "mine  yours"
    assert texts["theme:nord"] == "nord"


def test_the_sample_has_every_role_that_rows_can_have() -> None:
    for glyphs in (UNICODE, ASCII):
        rows = theme_rows.sample(glyphs)
        roles = {span.role for row in rows for span in (*row.lead, *row.cells)}
        assert roles == {
            "", "agent", "unknown", "undone", "warning", "conflict", "muted", "added", "title",
            "running",
        }  # fmt: skip
        assert {row.box for row in rows} == {"", "on", "some", "off"}
        assert all(theme_rows.name_of(row) == "" for row in rows)
    kinds = {line.kind for line in diffs.parse(theme_rows.SAMPLE_DIFF)}
    assert kinds == {"file", "hunk", "same", "added", "removed"}


async def opened(driver: Driver) -> RowList:
    await driver.press("ctrl+x", "t")
    await driver.until(lambda: isinstance(driver.app.screen, ThemesScreen))
    await driver.until(lambda: bool(driver.app.screen.query_one("#rows", RowList).rows))
    return driver.app.screen.query_one("#rows", RowList)


async def move_to(driver: Driver, rows: RowList, name: str) -> None:
    at = [theme_rows.name_of(row) for row in rows.rows].index(name)
    await driver.press("g", "g", *["j"] * at)
    await driver.until(lambda: driver.app.theme == name)


@pytest.mark.parametrize("size", [(80, 24), (60, 14)])
def test_a_theme_is_seen_at_once_and_kept_with_enter(
    folder: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    (tmp_path / "config").mkdir()
    config = tmp_path / "config" / "config.toml"
    config.write_text('# mine\nkeys = ""\n')
    clean_turn(folder)

    async def story(driver: Driver) -> None:
        rows = await opened(driver)
        assert theme_rows.name_of(rows.current) == "auto"
        await move_to(driver, rows, "nord")
        background = driver.app.screen.query_one("#rows").styles.background
        assert background.hex.lower() == driver.app.themes.all["nord"].surface
        assert "nord" not in config.read_text()
        await driver.press("enter")
        await driver.until(lambda: isinstance(driver.app.screen, TimelineScreen))
        await driver.until(lambda: "The theme is nord from now on." in driver.text())
        assert config.read_text() == '# mine\nkeys = ""\ntheme = "nord"\n'
        assert driver.app.theme == "nord"
        rows = await opened(driver)
        assert theme_rows.name_of(rows.current) == "nord"

    play(folder, story, size)


@pytest.mark.parametrize("leave", ["escape", "q", "ctrl+x h"])
def test_leaving_brings_the_old_theme_back(folder: Path, tmp_path: Path, leave: str) -> None:
    clean_turn(folder)

    async def story(driver: Driver) -> None:
        before = driver.app.theme
        rows = await opened(driver)
        await move_to(driver, rows, "gruvbox-light")
        await driver.press(*leave.split())
        await driver.until(lambda: not isinstance(driver.app.screen, ThemesScreen))
        await driver.until(lambda: driver.app.theme == before)
        assert not (tmp_path / "config").exists()

    play(folder, story)


def test_what_cannot_be_written_is_said_and_nothing_is_kept(folder: Path, tmp_path: Path) -> None:
    clean_turn(folder)

    async def story(driver: Driver) -> None:
        rows = await opened(driver)
        await move_to(driver, rows, "nord")
        (tmp_path / "config").write_text("in the way")
        await driver.press("enter")
        await driver.until(lambda: "Not a directory" in driver.text())
        assert isinstance(driver.app.screen, ThemesScreen)
        await driver.press("escape")
        await driver.until(lambda: driver.app.theme == "takeback-dark")

    play(folder, story)


def test_a_click_shows_and_a_second_keeps(folder: Path, tmp_path: Path) -> None:
    clean_turn(folder)

    async def story(driver: Driver) -> None:
        await opened(driver)
        await driver.pilot.click("#rows", offset=(4, 3))
        await driver.until(lambda: driver.app.theme == "high-contrast")
        await driver.pilot.click("#rows", offset=(4, 3), times=2)
        await driver.until(lambda: isinstance(driver.app.screen, TimelineScreen))
        assert 'theme = "high-contrast"' in (tmp_path / "config" / "config.toml").read_text()

    play(folder, story)
