"""Every screen and every state that matters, as a picture that a person has looked at."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from takeback.engine.store import paths
from takeback.tui.app import TakebackApp
from takeback.tui.terminal import Terminal
from tests.tui import still
from tests.tui.driver import Driver, settled
from tests.tui.still import StillProject

NARROW, WIDE = (80, 24), (120, 36)
SIZES = [pytest.param(NARROW, id="80x24"), pytest.param(WIDE, id="120x36")]

# What is pressed to get to each screen; an "=" waits until a text is there.
SCREENS: dict[str, tuple[str, ...]] = {
    "timeline": (),
    "sessions": ("1", "=Write the README"),
    "history": ("3",),
    "settings": ("5", "=default_select"),
    "help": ("question_mark",),
    "diff": ("j", "d", "=def rate"),
    "undo": ("ctrl+x", "u", "=restores"),
    "which-key": ("ctrl+x", "=esc cancels"),
    "palette": ("ctrl+p", "=Redo"),
    "themes": ("ctrl+x", "t", "=high-contrast"),
    "filter": ("slash", *"swiss"),
    "marks": ("space", "J", "space"),
    "resume": ("c", "=The command"),
}
MAIN = ("timeline", "sessions", "undo")
THEMES = ("takeback-light", "takeback-ansi", "high-contrast")

# World and what is pressed in it.
STATES: dict[str, tuple[str, tuple[str, ...]]] = {
    "empty": ("empty", ()),
    "running": ("running", ()),
    "undo-while-running": ("running", ("ctrl+x", "u", "=esc")),
    "interrupted": ("interrupted", ()),
    "conflict": ("conflict", ("ctrl+x", "u", "=Conflict")),
    "not-captured": ("not_captured", ()),
    "undo-not-captured": ("not_captured", ("ctrl+x", "u", "=restores")),
    "undone": ("undone", ()),
    "undone-history": ("undone", ("3", "=redo")),
    "redo": ("undone", ("ctrl+x", "r", "=Redo")),
    "huge-diff": ("huge", ("j", "d", "=value_0")),
    "scripts": ("scripts", ()),
    "long-paths": ("long_paths", ()),
}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Path]]:
    """The home folders of recorded projects, each recorded once."""
    known: dict[str, Path] = {}
    with pytest.MonkeyPatch.context() as patch:

        def home(name: str) -> Path:
            if name not in known:
                known[name] = tmp_path_factory.mktemp(name)
                # The name of a store tells where its project lies, which is elsewhere every time.
                patch.setattr(paths, "store_dir", lambda data, root: data + b"/projects/here")
                patch.setenv("TAKEBACK_CONFIG_DIR", str(known[name] / "config"))
                still.WORLDS[name](known[name])
            return known[name]

        yield home


@pytest.fixture
def app(
    worlds: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., TakebackApp]:
    """Opens the app on a world, at a time that stands still."""

    def made(world: str, theme: str = "", glyphs: str = "", **terminal: object) -> TakebackApp:
        home = worlds(world)
        for name in ("HOME", "TAKEBACK_DATA_DIR", "TAKEBACK_CONFIG_DIR", "TZ"):
            value = {
                "HOME": home,
                "TAKEBACK_DATA_DIR": home / "data",
                "TAKEBACK_CONFIG_DIR": home / "config",
                "TZ": "UTC",
            }[name]
            monkeypatch.setenv(name, str(value))
        time.tzset()
        still.freeze(monkeypatch)
        # A cursor that blinks is in one picture and not in the next.
        monkeypatch.setattr(Input, "_toggle_cursor", lambda self: None)
        # Agents that happen to be installed here must not show.
        monkeypatch.setenv("PATH", "/usr/bin:/bin")
        lines = [
            f'{key} = "{value}"' for key, value in (("theme", theme), ("glyphs", glyphs)) if value
        ]
        (home / "config").mkdir(exist_ok=True)
        (home / "config/config.toml").write_text("\n".join([*lines, ""]))
        project = StillProject.open(str(home / "shop"))
        return TakebackApp(project, terminal=Terminal(**terminal))  # type: ignore[arg-type]

    return made


Compare = Callable[..., bool]


def same(compare: Compare, app: TakebackApp, keys: tuple[str, ...], size: tuple[int, int]) -> bool:
    """Press keys, wait for texts and until nothing is going on any more; compare the picture."""
    failed: list[BaseException] = []

    async def run(pilot: Pilot[None]) -> None:
        driver = Driver(app, pilot)
        try:
            await settled(driver)
            for key in keys:
                if key.startswith("="):
                    await driver.until(partial(_shows, driver, key[1:]))
                else:
                    await driver.press(key)
            await settled(driver)
        except BaseException as error:
            # Raised here it would leave the app running for ever.
            failed.append(error)

    found = compare(app, terminal_size=size, run_before=run)
    if failed:
        raise failed[0]
    return found


def _shows(driver: Driver, wanted: str) -> bool:
    return wanted in driver.text()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("screen", SCREENS)
def test_every_screen_in_dark(
    screen: str, size: tuple[int, int], app: Callable[..., TakebackApp], snap_compare: Compare
) -> None:
    assert same(snap_compare, app("shop"), SCREENS[screen], size)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("screen", MAIN)
def test_the_main_screens_in_other_themes(
    screen: str, theme: str, app: Callable[..., TakebackApp], snap_compare: Compare
) -> None:
    assert same(snap_compare, app("shop", theme=theme), SCREENS[screen], WIDE)


@pytest.mark.parametrize("state", STATES)
def test_every_state_that_matters(
    state: str, app: Callable[..., TakebackApp], snap_compare: Compare
) -> None:
    world, keys = STATES[state]
    assert same(snap_compare, app(world), keys, NARROW)


@pytest.mark.parametrize("screen", ("timeline", "undo"))
@pytest.mark.parametrize("kind", ("ascii", "no-color"))
def test_few_signs_and_no_colours(
    screen: str,
    kind: str,
    app: Callable[..., TakebackApp],
    snap_compare: Compare,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if kind == "no-color":
        monkeypatch.setenv("NO_COLOR", "1")
    made = app("shop", glyphs="ascii") if kind == "ascii" else app("shop", colors="none")
    assert same(snap_compare, made, SCREENS[screen], NARROW)


def test_pictures_are_of_the_release_of_textual_that_the_tests_pin() -> None:
    """Another release draws other SVGs: `pyproject.toml` pins one for the tests."""
    from importlib.metadata import version

    pins = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    assert f'"textual=={version("textual")}"' in pins
    assert os.path.isdir(Path(__file__).parent / "__snapshots__/test_pictures")
