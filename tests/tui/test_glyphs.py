"""Signs: one for each meaning, and ASCII where a terminal shows no more."""

from __future__ import annotations

import ast
from dataclasses import astuple
from pathlib import Path

import pytest

import takeback.tui.glyphs
from takeback.engine.model import Request
from takeback.engine.project import Project
from takeback.tui import glyphs
from takeback.tui.glyphs import ASCII, PLAIN, UNICODE
from takeback.tui.keys import MAIN
from takeback.tui.widgets.cells import cell_len
from tests.tui.driver import Driver, mixed_turn, play

TUI = Path(takeback.tui.glyphs.__file__).resolve().parent


def literals(path: Path) -> set[str]:
    """The characters beyond ASCII in the texts of a module, its docstrings aside."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    )
    return {char for text in texts for char in text if not char.isascii()}


def test_ascii_is_ascii_and_a_sign_has_one_meaning() -> None:
    assert "".join(astuple(ASCII)).isascii()
    rows = ("agent", "unknown", "none", "undone", "warning", "done")
    for signs in (ASCII, UNICODE):
        assert len({getattr(signs, name) for name in rows}) == len(rows)


def test_each_sign_keeps_its_width() -> None:
    for sign, plain in PLAIN.items():
        assert plain.isascii()
        assert len(plain) == cell_len(chr(sign))


def test_no_module_shows_a_sign_that_has_no_plain_one() -> None:
    found = {path.name: literals(path) for path in TUI.rglob("*.py")}
    signs = set().union(*found.values())
    assert "…" in signs
    odd = {name: extra for name, chars in found.items() if (extra := chars - set(map(chr, PLAIN)))}
    assert odd == {}


@pytest.mark.parametrize(
    ("name", "unicode", "wanted"),
    [
        ("auto", True, UNICODE),
        ("auto", False, ASCII),
        ("unicode", False, UNICODE),
        ("ascii", True, ASCII),
    ],
)
def test_the_terminal_decides_only_where_the_user_did_not(
    name: str, unicode: bool, wanted: glyphs.Glyphs
) -> None:
    assert glyphs.named(name, unicode) is wanted


def test_every_screen_in_ascii(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('glyphs = "ascii"\n')
    mixed_turn(folder)
    project = Project.open(str(folder))
    prompt = "a long prompt, cut where it has no room " * 5
    with project.turn("s", "claude", prompt) as turn, turn.edit("long.txt"):
        (folder / "long.txt").write_text("x" * 300 + "\n" * 100)
    project.apply(project.plan(Request("undo")))
    project.close()
    seen = {}

    async def look(driver: Driver, name: str) -> None:
        await driver.until(lambda: "Reading" not in driver.text())
        seen[name] = driver.text()

    async def story(driver: Driver) -> None:
        await look(driver, "timeline")
        await driver.press("d")
        await look(driver, "diff")
        await driver.press("escape")
        for name in MAIN:
            driver.app.action_go(name)
            await driver.until(lambda name=name: getattr(driver.app.screen, "keys_of", "") == name)
            await look(driver, name)
        for keys in ("?", "ctrl+p", "ctrl+x u", "/"):
            driver.app.action_go("timeline")
            await driver.timeline()
            await driver.press(*keys.split())
            await driver.pilot.pause(0.1)
            await look(driver, keys)
            await driver.press("escape")
            await driver.pilot.pause()
        await driver.press("ctrl+x")
        await driver.until(lambda: "cancels" in driver.text())
        await look(driver, "chord")

    play(folder, story, (120, 36))
    assert len(seen) == len(MAIN) + 6
    odd = {
        name: {char for char in text if not char.isascii()}
        for name, text in seen.items()
        if not text.isascii()
    }
    assert odd == {}
