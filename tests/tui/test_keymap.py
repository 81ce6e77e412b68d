"""The user's keys: read line by line, said where one cannot be used, and shown everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from takeback import themes
from takeback.tui import chords, keymap, keys, theming
from takeback.tui.glyphs import ASCII
from takeback.tui.keys import Key
from takeback.tui.screens.help import HelpScreen, help_rows
from takeback.tui.screens.undo import UndoScreen
from tests.tui.driver import Driver, clean_turn, play


@pytest.fixture(autouse=True)
def default_keys() -> Iterator[None]:
    yield
    keys.use(keys.TABLE)


def row(table: tuple[Key, ...], id: str) -> Key:
    (found,) = (key for key in table if key.id == id)
    return found


def test_every_action_has_a_name_of_its_own_that_says_what_it_is() -> None:
    ids = {key.id for key in keys.TABLE}
    assert {
        "common.undo",
        "common.go_sessions",
        "main.go_sessions",
        "timeline.undo_here",
        "list.move_forward",
        "list.move_back",
        "list.page_half_back",
        "diff.columns_back",
    } <= ids
    for id in ids:
        actions = {key.action for key in keys.TABLE if key.id == id}
        assert len(actions) == 1, id


def test_a_line_gives_an_action_other_keys_and_leaves_the_rest() -> None:
    table, said = keymap.read('[keys]\n"timeline.undo_here" = "M,ctrl+x z"\n', "keys.toml")
    assert said == ()
    assert row(table, "timeline.undo_here").sequences == (("M",), ("ctrl+x", "z"))
    others = [key for key in table if key.id != "timeline.undo_here"]
    assert others == [key for key in keys.TABLE if key.id != "timeline.undo_here"]


def test_an_action_with_two_rows_becomes_one_that_keeps_their_words() -> None:
    table, said = keymap.read('[keys]\n"common.help" = "f1"\n', "keys.toml")
    assert said == ()
    found = row(table, "common.help")
    assert (found.keys, found.short, found.group) == ("f1", "help", "App")


@pytest.mark.parametrize(
    "text",
    [
        '"timeline.undo_here" = "M"',
        '[keys]\ntimeline.undo_here = "M"',
        '[keys.timeline]\nundo_here = "M"',
        '[timeline]\nundo_here = "M"',
    ],
)
def test_the_name_may_be_nested_as_toml_allows(text: str) -> None:
    table, said = keymap.read(text, "keys.toml")
    assert said == ()
    assert row(table, "timeline.undo_here").keys == "M"


def test_two_actions_can_change_places() -> None:
    table, said = keymap.read(
        '[keys]\n"timeline.undo_here" = "d"\n"timeline.diff" = "u"\n', "keys.toml"
    )
    assert said == ()
    assert row(table, "timeline.diff").keys == "u"


def test_every_wrong_line_is_said_and_the_others_count() -> None:
    table, said = keymap.read(
        "[keys]\n"
        '"timeline.undo_hear" = "f7"\n'
        '"common.undo" = 7\n'
        '"common.redo" = "ctlr+x f2"\n'
        '"undo.tick" = "esc"\n'
        '"undo.group" = "ctrl+i"\n'
        '"list.top" = "j"\n'
        '"list.bottom" = "g,"\n'
        '"undo.all" = "f8"\n',
        "keys.toml",
    )
    found = "\n".join(said)
    for words in (
        "no action 'timeline.undo_hear'. Did you mean 'timeline.undo_here'?",
        "'common.undo' is no text: 7.",
        "there is no key 'ctlr+x'. Did you mean 'ctrl'?",
        "there is no key 'esc'. Did you mean 'escape'?",
        "there is no key 'ctrl+i'. A terminal sends it as 'tab'.",
        "'list.top' = 'j' does not count.",
        "'next line'",
        "nothing between two commas",
    ):
        assert words in found
    assert len(said) == 7
    assert all(line.startswith("The file of keys keys.toml") for line in said)
    changed = {key.id for key in table if key not in keys.TABLE}
    assert changed == {"undo.all"}


def test_of_two_lines_that_clash_the_later_one_gives_way() -> None:
    table, said = keymap.read(
        '[keys]\n"timeline.undo_here" = "X"\n"timeline.diff" = "X z"\n"list.top" = "t"\n', "f"
    )
    assert len(said) == 1
    assert "'timeline.diff' = 'X z' does not count." in said[0]
    assert row(table, "timeline.undo_here").keys == "X"
    assert row(table, "timeline.diff").keys == row(keys.TABLE, "timeline.diff").keys
    keys.check_all(table)


def test_no_key_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    table, said = keymap.read('[keys]\n"common.leave" = ""\n', "f")
    assert said == ()
    keys.use(table)
    assert "common.leave" in {key.id for key in keys.table()}
    assert "common.leave" not in {key.id for key in keys.of("common")}
    assert keys.freed() == {"q"}
    assert keys.first("common.leave") == ""


@pytest.mark.parametrize("key", ["M", "ü", "?", "+", "ctrl++", "alt+left", "f12", "slash", "§"])
def test_keys_that_there_are(key: str) -> None:
    assert keymap.unusable(key) is None


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("shift+a", "'A'"),
        ("ctrl+U", "'ctrl+u'"),
        ("pgup", "'pageup'"),
        ("alt+retrun", "'enter'"),
        ("escpae", "'escape'"),
        ("ctrl+[", "'escape'"),
        ("f77", "'f7'"),
    ],
)
def test_keys_that_there_are_not(key: str, hint: str) -> None:
    odd = keymap.unusable(key)
    assert odd is not None
    if key != "alt+retrun":
        assert hint in odd


def test_signs_are_written_as_they_are_pressed() -> None:
    key = Key("common", "+,ctrl+@,;", "a", "b")
    assert key.sequences == (("plus",), ("ctrl+at",), ("semicolon",))
    assert keys.shown("plus semicolon question_mark") == "+ ; ?"


def test_arrows_are_words_where_there_is_only_ascii() -> None:
    assert keys.shown("down") == "↓"
    keys.use(keys.TABLE, ASCII)
    assert keys.shown("down") == "down"


def test_what_a_line_of_text_wants_is_not_taken_from_it() -> None:
    trie = chords.build([Key("common", "ctrl+x u,U,?,space,f1", "a", "b")], typing=True)
    assert set(trie.next) == {"ctrl+x", "f1"}


def test_the_file_is_found_by_its_name_and_by_the_setting(tmp_path: Path) -> None:
    folder = bytes(tmp_path)
    assert keymap.load(folder) == (keys.TABLE, ())
    (tmp_path / "keys.toml").write_text('"common.undo" = "f5"')
    (tmp_path / "other.toml").write_text('"common.undo" = "f6"')
    assert row(keymap.load(folder)[0], "common.undo").keys == "f5"
    assert row(keymap.load(folder, "other.toml")[0], "common.undo").keys == "f6"
    table, said = keymap.load(folder, "none.toml")
    assert table == keys.TABLE
    assert "none.toml" in said[0]


@pytest.mark.parametrize("content", [b"\xff", b"[keys", None])
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "keys.toml"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    table, said = keymap.load(bytes(tmp_path))
    assert table == keys.TABLE
    assert len(said) == 1
    assert str(file) in said[0]


def test_help_shows_the_key_in_use_and_the_name_for_the_file() -> None:
    keys.use(keymap.read('"timeline.undo_here" = "f7"', "f")[0])
    (found,) = (
        r
        for r in help_rows("timeline", ASCII)
        if r.cells and r.cells[0].text == "timeline.undo_here"
    )
    assert found.lead[0].text.strip() == "f7"


def test_a_changed_key_works_in_the_app_and_the_old_one_does_not(
    folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "keys.toml").write_text(
        '[keys]\n"timeline.undo_here" = "X"\n"common.help" = "f1"\n"common.undo" = "ctrl+x z"\n'
        '"common.command_palette" = ""\n"common.quitt" = "x"\n'
    )
    clean_turn(folder)

    async def story(driver: Driver) -> None:
        app = driver.app
        await driver.until(lambda: "quitt" in driver.text() and "X undo" in driver.text())
        assert "X undo this" in driver.text()
        assert "ctrl+x z undo last" in driver.text()
        assert "Did you mean 'common.quit'?" in driver.text()
        for pressed in ("u", "?", "ctrl+p", "ctrl+x u"):
            await driver.press(*pressed.split())
            await driver.pilot.pause()
            assert len(app.screen_stack) == 2, pressed
        await driver.press("f1")
        await driver.until(lambda: isinstance(app.screen, HelpScreen))
        await driver.until(lambda: "f1" in driver.text())
        await driver.press("escape", "X")
        await driver.until(lambda: isinstance(app.screen, UndoScreen))

    play(folder, story, (120, 36))


def test_sentences_name_the_keys_in_use() -> None:
    text = "{common.redo} puts it back, {common.leave} leaves."
    assert keys.words(text) == "ctrl+x r puts it back, q leaves."
    keys.use(keymap.read('"common.redo" = "f9"\n"common.leave" = ""', "f")[0])
    assert keys.words(text) == "f9 puts it back, (no key) leaves."


def test_every_action_that_a_sentence_names_is_there() -> None:
    known = {key.id for key in keys.TABLE}
    scopes = "|".join(keys.TITLES)
    places = re.compile(rf"\{{((?:{scopes})\.\w+)\}}")
    named = {
        (path.name, id)
        for path in Path(keys.__file__).parent.rglob("*.py")
        for id in places.findall(path.read_text("utf-8"))
        if path.name != "keys.py"
    }
    assert len(named) > 5
    assert {(name, id) for name, id in named if id not in known} == set()


def test_the_files_in_the_readme_are_right() -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text("utf-8")
    theme, mine = re.findall(r"```toml\n(.*?)```", readme, re.DOTALL)
    assert theming.read(theme, "mine.toml").wrong == ()
    assert keymap.read(mine, "keys.toml")[1] == ()
    for name in themes.names():
        assert f"`{name}`" in readme
