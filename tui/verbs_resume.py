"""The verb ``resume``: going on in a conversation from before a turn, in its own agent."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from takeback.engine.agents import conversations
from takeback.engine.agents import resume as resumes
from takeback.engine.errors import Exit, NothingToDo, SessionRunning, TakebackError, UsageError
from takeback.engine.model import Turn
from takeback.tui import context, documents, present, resuming
from takeback.tui.verbs import open_project

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way
    from takeback.engine.model import Plan, Session
    from takeback.engine.project import Project
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output


def resume(args: Arguments, out: Output) -> int:
    project = open_project(args, out)
    sessions = project.sessions()
    turn = _turn(project, args, sessions)
    way = way_before(project, turn, sessions)
    if way is None:
        raise NothingToDo(*resuming.none_known(turn))
    only = args.flag("--print") or not at_terminal(out)
    if way.running and not args.flag("--print"):
        raise SessionRunning(*resuming.at_work(way), turn.session)
    if args.flag("--fork"):
        way = _fork(project, turn, sessions, way, out)
    if only:
        here = context.current(project.root)
        forks = resumes.can_fork(turn.agent)
        out.answer(documents.way(way, here) or {}, resuming.lines(way, here, forks))
        return Exit.DONE
    project.close()
    start(way, out)


def at_terminal(out: Output) -> bool:
    """Whether an agent can be started here for somebody to speak with."""
    return not out.json and sys.stdin.isatty() and sys.stdout.isatty()


# --- Which turn -------------------------------------------------------------------------------


def _turn(project: Project, args: Arguments, sessions: Sequence[Session]) -> Turn:
    """The turn that was named; else the one that the last undo led to; else the newest."""
    if not args.places:
        turns = documents.turns_of(sessions)
        if not turns:
            raise NothingToDo(present.NOTHING_RECORDED)
        newest = max(turns, key=lambda turn: turn.seq)
        return resumes.undone_to(project.operations(), turns) or newest
    name = args.places[0]
    try:
        found = project.find(name)
    except UsageError:
        for session in project.conversations().past:
            for turn in session.turns:
                if turn.id == name:
                    return turn
        raise
    if not isinstance(found, Turn):
        raise UsageError(
            f"{name!r} is no turn. Nothing was started.", "'takeback log' lists the turns."
        )
    return found


# --- Which way --------------------------------------------------------------------------------


def _told(project: Project, turn: Turn, sessions: Sequence[Session]) -> Turn:
    """A turn with what its agent's own files tell of it."""
    session = next((s for s in sessions if any(t.id == turn.id for t in s.turns)), None)
    if session is None:
        return turn
    told = conversations.told(session, project.root, conversations.home_folder())
    return next(t for t in told.turns if t.id == turn.id)


def way_before(project: Project, turn: Turn, sessions: Sequence[Session]) -> Way | None:
    """How to go on from before a turn."""
    mine = [s for s in sessions if s.id == turn.session and s.agent == turn.agent]
    running = any(t.state == "running" for s in mine for t in s.turns)
    return resumes.continue_from(_told(project, turn, sessions), running, project.root)


def way_after(project: Project, plan: Plan, sessions: Sequence[Session]) -> Way | None:
    """How to go on from where an undo led."""
    found = resumes.turn_after(plan, documents.turns_of(sessions))
    if found is None:
        return None
    turn, running = found
    return resumes.continue_from(_told(project, turn, sessions), running, project.root)


def _fork(project: Project, turn: Turn, sessions: Sequence[Session], way: Way, out: Output) -> Way:
    from takeback.engine.agents.programs import Programs

    if not resumes.can_fork(turn.agent):
        raise resumes.CannotFork(
            f"{way.title} makes no copy of a conversation for others. Nothing was done.",
            "Without --fork the conversation itself is opened.",
        )
    if at_terminal(out):
        out.note(f"{way.title} is asked for a copy of the conversation…")
    return resumes.fork(_told(project, turn, sessions), Programs(), project.root)


# --- Starting ---------------------------------------------------------------------------------


def start(way: Way, out: Output) -> NoReturn:
    """Let the agent take the place of this command.

    Raises:
        TakebackError: it cannot be started.
    """
    from takeback.engine.agents.programs import cannot_start, environment

    try:
        if shutil.which(way.argv[0]) is None:
            raise FileNotFoundError
        if way.folder:
            os.chdir(way.folder)
        out.note(resuming.opening(way))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            # The interpreter ignores these, and what it starts would, too.
            signal.signal(number, signal.SIG_DFL)
        os.execvpe(way.argv[0], way.argv, environment(way.folder))
    except (OSError, ValueError) as error:
        raise TakebackError(*cannot_start(way.argv, way.folder, error)) from error
