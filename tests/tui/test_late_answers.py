"""Answers that come late, or for something else than what is open now: none of them counts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.errors import TakebackError
from takeback.engine.project import Project
from takeback.tui import reading, watching
from takeback.tui.follow import stamp
from takeback.tui.messages import Ended, Opened
from takeback.tui.screens.first_run import FirstRunScreen, Plan, Shown
from takeback.tui.screens.help import HelpScreen
from takeback.tui.screens.settings import SettingsScreen
from takeback.tui.screens.undo import UndoScreen
from takeback.tui.widgets.row_list import RowList
from tests.tui.driver import Driver, clean_turn, is_new, is_old, play


class Gate:
    """Holds up calls of a method while it is shut."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.open = threading.Event()
        self.open.set()
        self.waiting = threading.Event()
        real = getattr(Project, name)

        def held(project: Project, *args: Any, **words: Any) -> Any:
            found = real(project, *args, **words)
            if not self.open.is_set():
                self.waiting.set()
                self.open.wait(30)
            return found

        monkeypatch.setattr(Project, name, held)

    def shut(self) -> None:
        self.waiting.clear()
        self.open.clear()


def second_turn(folder: Path) -> None:
    project = Project.open(str(folder))
    with project.turn("s", "claude", "second") as turn, turn.edit("c.txt"):
        (folder / "c.txt").write_text("later\n")
    project.close()


def turns(app: Driver) -> int:
    return len(app.app.record.turns) if app.app.record is not None else 0


async def with_one_turn(app: Driver) -> None:
    await app.timeline()
    await app.until(lambda: app.app.desk.idle and turns(app) == 1)


def test_rows_made_anew_while_the_record_is_read_hide_nothing_of_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FOLLOW_EVERY", 600)
    gate = Gate(monkeypatch, "sessions")
    clean_turn(folder)

    async def story(app: Driver) -> None:
        await with_one_turn(app)
        second_turn(folder)
        gate.shut()
        app.app.load()
        await app.until(gate.waiting.is_set)
        # Each letter makes the rows again, of a record that is older than the one being read.
        await app.press("slash", *"sec")
        gate.open.set()
        await app.until(lambda: app.app.desk.idle and turns(app) > 1)
        await app.pilot.pause()
        assert turns(app) == 2

    play(folder, story, begin=with_one_turn)


def test_a_reading_that_has_not_begun_is_made_up_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FOLLOW_EVERY", 600)
    clean_turn(folder)
    held = threading.Event()

    def wait() -> Ended:
        held.wait(30)
        return Ended()

    async def story(app: Driver) -> None:
        second_turn(folder)
        app.app.desk.call(app.app, "Waiting", wait, lambda _: Ended())
        app.app.load()
        app.app.prepare()
        held.set()
        await app.until(lambda: app.app.desk.idle and turns(app) == 2)

    play(folder, story, begin=with_one_turn)


def test_the_record_is_looked_at_in_threads_only(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "FOLLOW_EVERY", 0.05)
    seen: list[bool] = []

    def looked(store: bytes) -> object:
        seen.append(threading.current_thread() is threading.main_thread())
        return stamp(store)

    monkeypatch.setattr(watching.follow, "stamp", looked)
    clean_turn(folder)

    async def story(app: Driver) -> None:
        second_turn(folder)
        await app.until(lambda: turns(app) == 2)

    play(folder, story)
    assert True not in seen
    assert seen


def other_project(folder: Path) -> Project:
    """Another project with the same files and the same first turn."""
    other = folder.parent / "other"
    other.mkdir()
    (other / "a.txt").write_text("one\ntwo\n")
    clean_turn(other)
    return Project.open(str(other))


def test_a_plan_is_closed_when_another_project_opens(folder: Path) -> None:
    clean_turn(folder)
    other = other_project(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        app.app.post_message(Opened(other, "", ()))
        await app.until(lambda: app.app.project is other)
        assert not any(isinstance(screen, UndoScreen) for screen in app.app.screen_stack)
        await app.timeline()
        await app.until(lambda: "Now in" in app.text())
        await app.press("ctrl+x", "u", "enter")
        await app.until(lambda: is_old(folder.parent / "other"))
        assert is_new(folder)

    play(folder, story)


def test_no_other_project_opens_while_a_plan_is_carried_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_turn(folder)
    other = other_project(folder)
    gate = Gate(monkeypatch, "apply")

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        gate.shut()
        await app.press("enter")
        await app.until(gate.waiting.is_set)
        app.app.post_message(Opened(other, "", ()))
        await app.until(lambda: "was not opened" in " ".join(app.text().split()))
        gate.open.set()
        await app.until(lambda: "Took back turn 1" in app.text())
        assert app.app.project.root != other.root
        assert is_old(folder)
        assert is_new(folder.parent / "other")

    play(folder, story)


def test_enter_after_another_turn_was_asked_for_waits_until_that_was_seen(folder: Path) -> None:
    clean_turn(folder)
    second_turn(folder)

    async def story(app: Driver) -> None:
        await app.press("ctrl+x", "u")
        await app.planned()
        app.burst("less_than_sign", "enter")
        await app.until(lambda: "look at this plan" in app.text())
        assert is_new(folder)
        await app.press("enter")
        await app.until(lambda: is_old(folder))
        assert (folder / "c.txt").exists()

    play(folder, story)


def test_a_yes_answers_only_the_question_that_is_seen(folder: Path) -> None:
    clean_turn(folder)
    file = folder.parent / "config" / "config.toml"

    async def story(app: Driver) -> None:
        async def asked() -> None:
            rows = app.app.screen.query_one("#rows", RowList)
            rows.stand_on("setting:restore_mtime")
            await app.press("enter")
            await app.until(lambda: "changes what is protected" in app.text())

        await app.press("5")
        await app.until(lambda: isinstance(app.app.screen, SettingsScreen) and bool(app.rows()))
        await asked()
        await app.press("x")
        await app.until(lambda: 'restore_mtime = "exact"' in app.text())
        await app.press("y")
        await asked()
        await app.press("1")
        await app.until(lambda: not isinstance(app.app.screen, SettingsScreen))
        await app.press("5", "y")
        await app.until(lambda: "Nothing was changed." in app.text() and app.app.desk.idle)

    play(folder, story)
    assert file.read_text() == 'restore_mtime = "exact"\n'


def test_a_plan_for_an_agent_that_comes_after_a_newer_wish_is_not_shown(folder: Path) -> None:
    async def first(app: Driver) -> None:
        await app.until(lambda: isinstance(app.app.screen, FirstRunScreen) and bool(app.rows()))

    async def story(app: Driver) -> None:
        screen = app.app.screen
        assert isinstance(screen, FirstRunScreen)
        screen._tb_asked = 2
        for number in (1, 2):
            screen.post_message(Shown(Plan(f"plan {number}", (), (), ""), number=number))
            await app.pilot.pause()
            assert ("plan 1" in app.text(), "plan 2" in app.text()) == (False, number == 2)

    play(folder, story, begin=first)


def test_what_was_found_here_does_not_take_the_place_of_an_open_panel(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean_turn(folder)
    (ledger,) = folder.parent.glob("data/projects/*/ledger/*.jsonl")
    ledger.unlink()
    gate = Gate(monkeypatch, "sessions")
    gate.shut()

    async def helped(app: Driver) -> None:
        await app.until(gate.waiting.is_set)
        await app.press("question_mark")
        await app.until(lambda: isinstance(app.app.screen, HelpScreen))

    async def story(app: Driver) -> None:
        gate.open.set()
        await app.until(lambda: app.app.record is not None and app.app.desk.idle)
        await app.pilot.pause()
        assert isinstance(app.app.screen, HelpScreen)
        await app.press("escape")
        await app.until(lambda: app.app.screen is app.app.main)

    play(folder, story, begin=helped)


def with_damage(folder: Path, _: pytest.MonkeyPatch) -> None:
    (ledger,) = folder.parent.glob("data/projects/*/ledger/*.jsonl")
    ledger.write_bytes(ledger.read_bytes() + b"no json\n")


def without_targets(_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(project: Project) -> None:
        raise TakebackError("It is not \x1b]0;so\x07.", "Look again.")

    monkeypatch.setattr(Project, "next_targets", refused)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (with_damage, "1 line of the record cannot be read"),
        (without_targets, r"not known: It is not \e]0;so\x07. Look again."),
    ],
)
def test_what_cannot_be_read_is_said_and_not_shown_as_nothing(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    wrong: Callable[[Path, pytest.MonkeyPatch], None],
    said: str,
) -> None:
    clean_turn(folder)
    wrong(folder, monkeypatch)

    async def story(app: Driver) -> None:
        await app.until(lambda: said in " ".join(app.text().split()))

    play(folder, story)


def test_a_sentence_never_sends_anything_to_the_terminal(folder: Path) -> None:
    clean_turn(folder)

    async def story(app: Driver) -> None:
        app.app.say("a \x1b]0;title\x07 [red]b")
        await app.until(lambda: r"a \e]0;title\x07 [red]b" in app.text())

    play(folder, story)
