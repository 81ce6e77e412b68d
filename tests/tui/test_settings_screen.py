"""The settings screen: every setting has a sentence, and enter writes what `config` would write."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from takeback.engine import config
from takeback.engine.config import Config
from takeback.tui import cli, glyphs, settings_rows
from takeback.tui.screens.settings import SettingsScreen
from takeback.tui.screens.themes import ThemesScreen
from takeback.tui.settings_rows import Values
from takeback.tui.widgets.row_list import Row
from tests.tui.driver import SIZES, Driver, clean_turn, play
from tests.tui.test_present import no_control

ENGINE = Path(__file__).resolve().parents[2] / "engine"


def values(now: Config | None = None, user: Config | None = None, **more: Any) -> Values:
    user = user or Config()
    return Values(now or user, user, more.pop("own", frozenset()), "~/config.toml", **more)


def words(rows: list[Row]) -> list[str]:
    return ["  ".join(span.text for span in (*row.lead, *row.cells)).strip() for row in rows]


def line(rows: list[Row], name: str) -> str:
    return next(words([row])[0] for row in rows if row.key == f"setting:{name}")


def test_every_setting_has_a_group_and_a_sentence() -> None:
    assert set(settings_rows.TABLE) == set(config.names())
    for group, sentence in settings_rows.TABLE.values():
        assert group in settings_rows.GROUPS
        assert sentence.endswith(".")
    rows = settings_rows.rows(values(), glyphs.UNICODE)
    assert {row.key for row in rows if not row.still} == {
        f"setting:{name}" for name in config.names()
    }
    for row in rows:
        if not row.still:
            said = settings_rows.details(row, values())
            assert said[0].startswith(settings_rows.TABLE[row.key.partition(":")[2]][1])
            assert said[1].startswith("Default: ")


def test_what_is_said_to_be_unused_is_unused_and_nothing_else() -> None:
    """Whoever makes the engine look at a setting takes its name out of `UNUSED`."""
    files = [path for path in ENGINE.rglob("*.py") if path.name != "config.py"]
    text = "\n".join(path.read_text() for path in files)
    used = {name for name in config.names() if re.search(rf"\.{name}\b", text)}
    unused = set(config.names()) - used - {"default_undo_skip", "theme", "glyphs", "keys"}
    assert unused == settings_rows.UNUSED


def test_where_a_value_comes_from() -> None:
    user = Config(theme="nord", max_file_size_mb=10)
    now = Config(theme="nord", max_file_size_mb=10, undo_skip=("gen",))
    found = values(now, user, own=frozenset({"theme", "max_file_size_mb"}))
    assert settings_rows.source("theme", found) == "your file"
    assert settings_rows.source("max_file_size_mb", found) == "your file"
    assert settings_rows.source("undo_skip", found) == "project's file"
    assert settings_rows.source("roots", found) == "default"
    rows = settings_rows.rows(found, glyphs.UNICODE)
    assert 'your file (default "auto")' in line(rows, "theme")
    assert line(rows, "undo_skip").endswith("project's file (default [])")
    narrow = settings_rows.rows(found, glyphs.UNICODE, wide=False)
    assert re.sub(" +", " ", line(narrow, "undo_skip")) == 'undo_skip ["gen"] project\'s file'
    row = next(row for row in rows if row.key == "setting:undo_skip")
    assert "your own value is []" in "\n".join(settings_rows.details(row, found))


def test_switches_and_choices_go_round() -> None:
    assert settings_rows.following("snapshots", True) is False
    assert settings_rows.following("default_select", "agent") == "agent+during-call"
    assert settings_rows.following("default_select", "all") == "agent"
    kinds = {name: settings_rows.kind(name) for name in config.names()}
    assert kinds["glyphs"] == "choice"
    assert kinds["max_file_size_mb"] == "number"
    assert kinds["roots"] == "list"
    assert kinds["theme"] == "text"
    assert settings_rows.typed("keys", "k.toml") == "k.toml"
    assert settings_rows.typed("roots", ("/a",)) == '["/a"]'


def test_what_waits_for_an_approval_and_what_does_not_count_is_shown() -> None:
    ignored = (
        ".takeback.toml: max_file_size_mb would lower the protection and was ignored.",
        "/c.toml: There is no setting 'them\x1b'.",
    )
    waiting = settings_rows.loosening(ignored, {"max_file_size_mb": 500, "undo_skip": ["a"]})
    assert waiting == (("max_file_size_mb", 500),)
    found = values(Config(ignored=ignored), waiting=waiting)
    said = words(settings_rows.rows(found, glyphs.ASCII))
    no_control(said)
    assert "would lower the protection" in said[0]
    assert said[1] == "max_file_size_mb: 10 would be 500"
    assert any("There is no setting 'them" in text for text in said[-2:])
    only = words(settings_rows.rows(found, glyphs.ASCII, "secret kept"))
    assert len(only) == 2
    assert only[1].startswith("store_secrets")
    assert "No setting matches" in words(settings_rows.rows(found, glyphs.ASCII, "zzz"))[0]


# --- With keys -----------------------------------------------------------------------------------


def user_file(folder: Path) -> Path:
    return folder.parent / "config" / "config.toml"


async def at(app: Driver, name: str) -> None:
    """Open the settings and put the cursor on one."""
    if not isinstance(app.app.screen, SettingsScreen):
        await app.press("5")
        await app.until(lambda: isinstance(app.app.screen, SettingsScreen) and bool(app.rows()))
    from takeback.tui.widgets.row_list import RowList

    rows = app.app.screen.query_one("#rows", RowList)
    rows.go(next(n for n, row in enumerate(rows.rows) if row.key == f"setting:{name}"))
    await app.until(lambda: settings_rows.TABLE[name][1][:30] in app.text())


@pytest.mark.parametrize("size", SIZES)
def test_values_are_written_as_the_command_line_writes_them(
    folder: Path, size: tuple[int, int], capsys: pytest.CaptureFixture[str]
) -> None:
    clean_turn(folder)
    user_file(folder).parent.mkdir()
    user_file(folder).write_text("# mine\n")

    async def story(app: Driver) -> None:
        await at(app, "restore_mtime")
        await app.press("enter")
        await app.until(lambda: "changes what is protected" in app.text())
        assert user_file(folder).read_text() == "# mine\n"
        await app.press("escape")
        await app.until(lambda: "Nothing was changed." in app.text())
        await app.press("y")
        await app.press("enter")
        await app.until(lambda: "changes what is protected" in app.text())
        await app.press("y")
        await app.until(lambda: 'restore_mtime = "now"' in app.text())
        await app.until(lambda: any("now" in row and "your file" in row for row in app.rows()))
        await at(app, "max_file_size_mb")
        await app.press("enter", "backspace", "backspace", *"many", "enter")
        await app.until(lambda: "takes a whole number" in app.text())
        await app.press(*["backspace"] * 4, *"20", "enter")
        await app.until(lambda: "max_file_size_mb = 20 changes what is protected" in app.text())
        await app.press("y")
        await app.until(lambda: "✓ max_file_size_mb = 20" in app.text())
        await at(app, "undo_skip")
        await app.press("enter")
        await app.press("backspace", "backspace")
        app.burst(*"gen", "enter")
        await app.until(lambda: "changes what is protected" in app.text())
        await app.press("y")
        await app.until(lambda: '✓ undo_skip = ["gen"]' in app.text())
        assert app.app.project.config.undo_skip == ("gen",)
        await app.press("x")
        await app.until(lambda: "✓ undo_skip = []" in app.text())

    play(folder, story, size)
    assert user_file(folder).read_text() == (
        '# mine\nrestore_mtime = "now"\nmax_file_size_mb = 20\nundo_skip = []\n'
    )
    assert cli.main(["-C", str(folder), "config", "max_file_size_mb"]) == 0
    assert capsys.readouterr().out == "20\n"


def test_signs_change_at_once_and_esc_leaves_the_line(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await at(app, "glyphs")
        await app.press("enter", "enter")
        await app.until(lambda: 'glyphs = "ascii"' in app.text())
        await app.until(lambda: any(row.startswith("- Screen") for row in app.rows()))
        await app.press("1")
        await app.until(lambda: any("+ complete" in row for row in app.rows()))
        await at(app, "keys")
        await app.press("enter", *"jq")
        assert isinstance(app.app.screen, SettingsScreen)
        await app.press("escape")
        await app.until(lambda: "Nothing was changed." in app.text())
        assert not app.app.project.config.keys
        await app.press("enter", *"none.toml", "enter")
        await app.until(lambda: "There is no file of keys" in app.text())
        await at(app, "theme")
        await app.press("enter")
        await app.until(lambda: isinstance(app.app.screen, ThemesScreen))

    play(folder, story)


def test_a_project_file_is_approved_after_a_yes(folder: Path) -> None:
    clean_turn(folder)
    (folder / ".takeback.toml").write_text("max_file_size_mb = 500\n")

    async def story(app: Driver) -> None:
        await app.press("5")
        await app.until(lambda: "max_file_size_mb: 10 would be 500" in app.text())
        await app.press("enter")
        await app.until(lambda: "Approve this project's settings file" in app.text())
        assert app.app.project.config.max_file_size_mb == 10
        await app.press("y")
        await app.until(lambda: "Approved .takeback.toml, which sets max_file" in app.text())
        await app.until(lambda: any("500" in row and "project's" in row for row in app.rows()))
        assert app.app.project.config.max_file_size_mb == 500

    play(folder, story)


def test_a_settings_file_that_is_no_toml_is_said_and_changes_nothing(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await at(app, "snapshots")
        user_file(folder).parent.mkdir(exist_ok=True)
        user_file(folder).write_text("a = [")
        await app.press("j", "enter", "y")
        await app.until(lambda: "is not valid TOML" in app.text() or "Invalid" in app.text())
        assert user_file(folder).read_text() == "a = ["

    play(folder, story)
