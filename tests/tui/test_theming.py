"""Theme files of users: what is wrong in them is said, all of it, and the rest counts."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.color import Color
from textual.strip import Strip

from takeback import themes
from takeback.engine.project import Project
from takeback.tui import cli, theming, verbs_setup
from takeback.tui.app import TakebackApp
from takeback.tui.terminal import Colors, Terminal


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("name = ", "TOML"),
        ("a = " + "[" * 5000, "TOML"),
        ("dark = true", "colors.primary"),
        ("[colors]\nprimary = 3", "colors.primary"),
    ],
)
def test_a_file_that_is_no_theme_is_not_used(text: str, word: str) -> None:
    read = theming.read(text, "mine.toml")
    assert read.theme is None
    assert "mine.toml" in read.wrong[-1]
    assert word in read.wrong[-1]
    assert read.wrong[-1].endswith("not used.") or "not used" in read.wrong[-1]


def test_everything_wrong_in_a_file_is_said_at_once_and_the_rest_counts() -> None:
    read = theming.read(
        'name = 7\ndrak = true\ndark = "yes"\n[colors]\nprimary = "#336699"\nprimery = "#fff"\n'
        'error = "blurple"\nwarning = 4\naccent = "gren"\n[variables]\ntb-agnt = "#fff"\n'
        'tb-muted = "#777"\ntb-cursor-style = "revers"\ntb-marked-style = "bold underline"\n',
        "mine.toml",
        "mine",
    )
    said = "\n".join(read.wrong)
    for words in (
        "'name' is not a text",
        "'drak' is unknown. Did you mean 'dark'?",
        "'dark' is not true or false",
        "'colors.primery' is unknown. Did you mean 'colors.primary'?",
        "'colors.error' is no colour: 'blurple'.",
        "'colors.warning' is no colour: 4.",
        "'colors.accent' is no colour: 'gren'. Did you mean 'green'?",
        "'variables.tb-agnt' is unknown. Did you mean 'variables.tb-agent'?",
        "'variables.tb-cursor-style' is no style: 'revers'. Did you mean 'reverse'?",
    ):
        assert words in said
    assert len(read.wrong) == 9
    assert all("mine.toml" in line for line in read.wrong)
    theme = read.theme
    assert theme is not None
    assert (theme.name, theme.primary, theme.error) == ("mine", "#336699", None)
    assert theme.variables["tb-muted"] == "#777"
    assert theme.variables["tb-marked-style"] == "bold underline"
    assert theme.variables["tb-cursor-style"] == "none"


@pytest.mark.parametrize(
    ("head", "default"),
    [
        ("dark = false", "takeback-light"),
        ("dark = true", "takeback-dark"),
        ("", "takeback-dark"),
        ("ansi = true", "takeback-ansi"),
        ("ansi = true\ndark = false", "takeback-ansi-light"),
    ],
)
def test_what_a_theme_leaves_out_fits_its_ground(head: str, default: str) -> None:
    read = theming.read(f'{head}\n[colors]\nprimary = "blue"\n', "x", "x")
    wanted = theming.Known()[default].variables
    assert read.wrong == ()
    assert read.theme is not None
    assert (
        read.theme.variables.items()
        >= {key: value for key, value in wanted.items() if key.startswith("tb-")}.items()
    )


def test_a_theme_that_does_not_say_is_as_dark_as_its_ground() -> None:
    made = theming.read('[colors]\nprimary = "blue"\nbackground = "#fafafa"\n', "x", "x").theme
    assert made is not None
    assert not made.dark


def test_the_users_theme_wins_over_a_shipped_one_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "nord"\n[colors]\nprimary = "#123456"\n')
    (tmp_path / "b.toml").write_text('name = "nord"\n[colors]\nprimary = "#654321"\n')
    (tmp_path / "c.toml").write_bytes(b"\xff")
    (tmp_path / "d.toml").mkdir()
    (tmp_path / "e.toml").write_text('name = "auto"\n[colors]\nprimary = "#654321"\n')
    (tmp_path / "no-theme.txt").write_text("x")
    found = theming.load(bytes(tmp_path))
    assert found.all["nord"].primary == "#123456"
    assert found.own == {"nord"}
    assert "a.toml takes the place of the shipped one" in found.notes[0]
    assert [name in line for name, line in zip("bcde", found.wrong, strict=True)] == [True] * 4
    assert "a.toml has that name" in found.wrong[0]
    assert "UTF-8" in found.wrong[1]
    assert "cannot be read" in found.wrong[2]
    assert "auto" not in found.all


def test_without_a_folder_there_are_the_shipped_ones(tmp_path: Path) -> None:
    found = theming.load(bytes(tmp_path / "none"))
    assert set(found.all) == set(themes.names())
    assert (found.wrong, found.notes) == ((), ())


@pytest.mark.parametrize(
    ("wanted", "terminal", "name"),
    [
        ("auto", Terminal(), "takeback-dark"),
        ("auto", Terminal(light=True), "takeback-light"),
        ("auto", Terminal("256", light=False), "takeback-dark"),
        ("auto", Terminal("16"), "takeback-ansi"),
        ("auto", Terminal("16", light=True), "takeback-ansi-light"),
        ("nord", Terminal("16"), "nord"),
        ("nord", Terminal("none"), "takeback-ansi"),
    ],
)
def test_the_terminal_decides_only_where_nobody_else_did(
    wanted: str, terminal: Terminal, name: str
) -> None:
    assert theming.chosen(wanted, themes.names(), terminal) == (name, "")


def test_a_theme_that_is_not_there_is_said_with_what_was_meant() -> None:
    name, said = theming.chosen("nrod", themes.names(), Terminal())
    assert name == "takeback-dark"
    assert said == "There is no theme 'nrod'. Did you mean 'nord'? takeback-dark is shown."


def test_the_app_says_what_is_wrong_with_a_theme_and_shows_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "config" / "themes").mkdir(parents=True)
    (tmp_path / "config" / "config.toml").write_text('theme = "[b]mine"\n')
    broken = tmp_path / "config" / "themes" / "mine.toml"
    broken.write_text('name = "[b]mine"\n[colors]\nprimari = "red"\n')
    project = Project.open(str(tmp_path))
    app = TakebackApp(project)
    said = []

    async def main() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            for _ in range(500):
                await pilot.pause(0.02)
                text = str(app.screen.query_one("#status").visual)
                if "mine" in text:
                    said.append(text)
                    break

    asyncio.run(main())
    project.close()
    assert app.theme == "takeback-dark"
    assert said
    assert "There is no theme '[b]mine'." in said[0]
    assert "Did you mean 'colors.primary'?" in said[0]


def test_every_theme_can_be_shown_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    project = Project.open(str(tmp_path))
    app = TakebackApp(project)
    shown = []

    async def main() -> None:
        async with app.run_test() as pilot:
            for name in app.themes.all:
                app.show_theme(name)
                await pilot.pause()
                shown.append((name, app.native_ansi_color))

    asyncio.run(main())
    project.close()
    assert dict(shown) == {name: name.startswith("takeback-ansi") for name in themes.names()}


def style_at(line: Strip, cell: int) -> str:
    (segment,) = line.crop(cell, cell + 1)
    return str(segment.style)


@pytest.mark.parametrize("colors", ["none", "16"])
def test_the_row_with_the_cursor_is_seen_without_colours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, colors: Colors
) -> None:
    monkeypatch.setenv("TAKEBACK_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    if colors == "none":
        monkeypatch.setenv("NO_COLOR", "1")
    project = Project.open(str(tmp_path))
    app = TakebackApp(project, terminal=Terminal(colors))
    lines = []

    async def main() -> None:
        async with app.run_test() as pilot:
            await pilot.press("?")
            await pilot.pause()
            lines.extend(app.screen._compositor.render_strips())

    asyncio.run(main())
    project.close()
    reversed_lines = [
        "".join(segment.text for segment in line)
        for line in lines
        if "reverse" in style_at(line, 9)
    ]
    assert [line[0] for line in reversed_lines] == ["▌"]
    if colors == "none":
        applied = [
            segment
            for line in lines
            for segment in line.apply_filter(app._filters[-1], Color(0, 0, 0))
        ]
        for segment in applied:
            assert segment.style is not None
            for color in (segment.style.color, segment.style.bgcolor):
                assert color is None or color.is_default


def test_doctor_names_wrong_themes_and_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path))
    data = bytes(tmp_path / "data")
    themes_check, keys_check = verbs_setup.looks(data)
    assert (themes_check.ok, keys_check.ok) == (True, True)
    assert keys_check.message == "The default keys."
    (tmp_path / "themes").mkdir()
    (tmp_path / "themes" / "mine.toml").write_text('[colors]\nprimary = "bleu"\n')
    (tmp_path / "keys.toml").write_text('"common.undoo" = "f6"\n"common.undo" = "f5"\n')
    (tmp_path / "config.toml").write_text('theme = "mine"\n')
    themes_check, keys_check = verbs_setup.looks(data)
    assert (themes_check.ok, keys_check.ok) == (False, False)
    for words in ("mine.toml", "'bleu'", "'blue'", "There is no theme 'mine'."):
        assert words in themes_check.message
    assert "Did you mean 'common.undo'?" in keys_check.message
    (tmp_path / "keys.toml").write_text('"common.undo" = "f5"\n')
    assert verbs_setup.looks(data)[1].message == "1 action on keys of your own."


def test_the_command_line_refuses_a_theme_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    where = ["-C", str(tmp_path), "--data-dir", str(tmp_path / "data")]
    assert cli.main([*where, "config", "theme", "gruvbox-drak"]) == 2
    assert "Did you mean 'gruvbox-dark'? Nothing was changed." in capfd.readouterr().err
    assert not (tmp_path / "config").exists()
    for name in ("auto", "gruvbox-dark"):
        assert cli.main([*where, "config", "theme", name]) == 0
    assert 'theme = "gruvbox-dark"' in (tmp_path / "config" / "config.toml").read_text()
