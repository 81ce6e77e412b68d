"""Going on in a conversation from within the app: which turn, which way, and the agent's turn at
the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported
from textual.message import Message

from takeback.engine.agents import resume
from takeback.engine.errors import TakebackError
from takeback.engine.model import Turn
from takeback.tui import past, resuming
from takeback.tui.failures import as_error
from takeback.tui.messages import Copied
from takeback.tui.resume_rows import Offer

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way
    from takeback.tui.app import TakebackApp
    from takeback.tui.result_rows import Result

_READING = "The conversations are still being read: try again in a moment."


def open_for(app: TakebackApp, turn: Turn, undone: bool = False) -> bool:
    """Show how to go on from before a turn, or say why not; whether it is shown.

    Args:
        undone: its files were taken back just now.
    """
    from takeback.tui.screens.resume import ResumeScreen

    record = app.record
    if record is None or record.partial:
        app.say(_READING)
        return False
    turn = _known(record.turns, turn)
    mine = [one for one in record.turns if (one.session, one.agent) == (turn.session, turn.agent)]
    running = any(one.state == "running" for one in mine)
    plain = past.plain(turn)
    way = resume.continue_from(plain, running, app.project.root)
    if way is None:
        app.say(" ".join(resuming.none_known(turn)), True)
        return False
    if running:
        app.say(" ".join(resuming.at_work(way)), True)
        return False
    stands = any(one.n >= turn.n and one.changes and not one.undone for one in mine)
    copies = resume.can_fork(turn.agent)
    offer = Offer(plain, way, app.project.root, copies, stands and not undone)
    app.push_screen(ResumeScreen(offer, undone))
    return True


def _known(turns: Sequence[Turn], turn: Turn) -> Turn:
    """A turn with what its agent's own files tell of it."""
    return next((one for one in turns if one.id == turn.id), turn)


def open_last(app: TakebackApp) -> None:
    """Go on from where the last undo led, else from before the newest turn."""
    turns = app.record.turns if app.record is not None else ()
    if not turns:
        app.say("Nothing was recorded here yet.")
        return
    newest = max(turns, key=lambda turn: turn.seq)
    operations = app.record.operations if app.record is not None else ()
    found = resume.undone_to(operations, turns)
    open_for(app, found or newest, undone=found is not None)


def told(app: TakebackApp, result: Result) -> Result:
    """A result whose turns say where their conversations were held."""
    record = app.record
    if record is None:
        return result
    known = {turn.id: turn for turn in record.turns}
    turns = [
        replace(turn, key=known[turn.id].key, folder=known[turn.id].folder,
                earlier=known[turn.id].earlier)
        if turn.id in known else turn
        for turn in result.turns
    ]  # fmt: skip
    return replace(result, turns=turns, root=app.project.root)


def after(app: TakebackApp, result: Result) -> None:
    """Go on from where an operation led."""
    found = resume.turn_after(result.outcome.plan, result.turns)
    if found is None:
        app.say(resuming.NO_WAY)
    else:
        open_for(app, found[0], undone=True)


def copy(app: TakebackApp, target: object, turn: Turn) -> None:
    """Let the agent make a copy in a thread; the screen gets `Copied`."""
    from textual.message_pump import MessagePump

    from takeback.engine.agents.programs import Programs

    root = app.project.root

    def call() -> Message:
        return Copied(resume.fork(turn, Programs(), root))

    assert isinstance(target, MessagePump)
    app.desk.call(
        target, "Copying the conversation", call, lambda error: Copied(None, as_error(error)),
        can_stop=False,
    )  # fmt: skip


def start(app: TakebackApp, way: Way) -> bool:
    """Let the agent have the terminal until it ends; whether it was started."""
    from takeback.tui import foreground

    try:
        with app.suspend():
            foreground.say(resuming.opening(way))
            code = foreground.run(way.argv, way.folder, way.title)
    except SuspendNotSupported:
        app.say(f"This terminal cannot be lent. {resuming.sentence(way, app.project.root)}", True)
        return False
    except TakebackError as error:
        app.say(" ".join(part for part in (error.message, error.hint) if part), True)
        return False
    app.close_panels()
    ended = f"{way.title} ended with exit code {code}." if code else f"Back from {way.title}."
    app.say(ended, bool(code))
    app.load()
    return True
