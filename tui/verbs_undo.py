"""The verbs that change files: undo, redo, goto, restore. One flow: plan, ask, apply, say."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from takeback.engine.errors import Exit, ProjectChanged, UsageError
from takeback.engine.model import OnConflict, Outcome, Request, Selection
from takeback.tui import context, documents, present, resuming, verbs_resume
from takeback.tui.verbs import open_project, project_paths

if TYPE_CHECKING:
    from takeback.engine.model import Plan, Turn
    from takeback.engine.project import Project
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output


_TRIES = 4


def _on_conflict(args: Arguments) -> OnConflict:
    if args.flag("--overwrite"):
        return "overwrite"
    return "keep" if args.flag("--keep") else "merge"


def _selection(args: Arguments) -> Selection | None:
    if args.flag("--all"):
        return "all"
    return "agent+during-call" if args.flag("--include-unknown") else None


def _place(text: str) -> tuple[str, Literal["before", "after"]]:
    """A turn and the side of it that ``goto`` means."""
    turn, at, side = text.rpartition("@")
    if not at:
        return text, "after"
    if side == "before":
        return turn, "before"
    if side == "after":
        return turn, "after"
    raise UsageError(
        f"{text!r} is no place to go to. Nothing was done.",
        "Write TURN, TURN@before or TURN@after.",
    )


def undo(args: Arguments, out: Output) -> int:
    if args.all("--hunk"):
        raise UsageError(
            "Taking back single hunks is not built yet. Nothing was done.",
            "Take back the whole file with --path.",
        )
    for name in ("--turn", "--to", "--step", "--call", "--session"):
        if name in args.values and not args.value(name):
            raise UsageError(f"The value of '{name}' is empty. Nothing was done.")
    project = open_project(args, out)
    request = Request(
        "undo",
        turn=args.value("--turn"),
        to=args.value("--to"),
        step=args.value("--step"),
        call=args.value("--call"),
        session=args.value("--session"),
        paths=project_paths(project, args),
        selection=_selection(args),
        on_conflict=_on_conflict(args),
        skip_unwritable=args.flag("--skip-unwritable"),
        while_running=args.flag("--yes-while-running"),
    )
    return carry_out(project, request, args, out)


def redo(args: Arguments, out: Output) -> int:
    project = open_project(args, out)
    request = Request(
        "redo",
        op=args.places[0] if args.places else "",
        session=args.value("--session"),
        on_conflict=_on_conflict(args),
        skip_unwritable=args.flag("--skip-unwritable"),
        while_running=args.flag("--yes-while-running"),
    )
    return carry_out(project, request, args, out)


def goto(args: Arguments, out: Output) -> int:
    turn, at = _place(args.places[0])
    project = open_project(args, out)
    request = Request(
        "goto",
        turn=turn,
        at=at,
        on_conflict=_on_conflict(args),
        skip_unwritable=args.flag("--skip-unwritable"),
        while_running=args.flag("--yes-while-running"),
    )
    return carry_out(project, request, args, out)


def restore(args: Arguments, out: Output) -> int:
    project = open_project(args, out)
    request = Request(
        "restore",
        op=args.value("--op"),
        on_conflict=_on_conflict(args),
        skip_unwritable=args.flag("--skip-unwritable"),
        while_running=args.flag("--yes-while-running"),
    )
    return carry_out(project, request, args, out)


def carry_out(project: Project, request: Request, args: Arguments, out: Output) -> int:
    """Plan, show, ask where the plan asks, apply, and say what came of it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    plan = project.plan(request)
    sessions = project.sessions(counts=not out.json)
    turns = documents.turns_of(sessions)
    here = context.current(project.root)
    asks = bool(plan.asks or plan.conflicts)
    if args.flag("--dry-run"):
        way = documents.way(verbs_resume.way_after(project, plan, sessions), here)
        out.answer(documents.plan(plan, dry_run=True, goes_on=way), _shown(plan, turns))
        return Exit.DECIDE if asks else Exit.DONE
    if plan.stopped:
        wider = _widened(plan, request, turns, out)
        if wider is None:
            return Exit.DECIDE
        request, plan = wider, project.plan(wider)
        if not _agreed(plan, turns, args, out):
            return Exit.DECIDE
    elif plan.conflicts and not plan.writes:
        out.answer(documents.plan(plan), [*_shown(plan, turns), "Nothing was changed."])
        return Exit.DECIDE
    elif asks and not args.flag("--yes") and not _agreed(plan, turns, args, out):
        return Exit.DECIDE
    # Before anything is written: reading takes a moment, and may be interrupted.
    found, seen = verbs_resume.way_after(project, plan, sessions), plan
    plan, outcome = _settled(project, request, plan, args)
    lines = present.plan_lines(plan, turns, done=True) + present.outcome_lines(outcome, turns)
    if plan.targets != seen.targets:
        found = None
    leads = args.flag("--resume") and bool(outcome.operation) and not plan.conflicts
    leads = leads and found is not None and not found.running and verbs_resume.at_terminal(out)
    said = "" if leads else resuming.sentence(found, here)
    lines += [said] if said else []
    out.answer(documents.plan(plan, outcome, goes_on=documents.way(found, here)), lines)
    if leads and found is not None:
        project.close()
        verbs_resume.start(found, out)
    if args.flag("--resume") and found is None:
        out.note(f"takeback: {resuming.NO_WAY}")
    return Exit.DECIDE if plan.conflicts else Exit.DONE


def _settled(
    project: Project, request: Request, plan: Plan, args: Arguments
) -> tuple[Plan, Outcome]:
    """Apply a plan; where another command was faster, plan again, if that plan needs no yes."""
    for _ in range(_TRIES):
        try:
            return plan, _applied(project, plan)
        except ProjectChanged:
            again = project.plan(request)
            agreed = args.flag("--yes") and again.target == plan.target
            if again.stopped or ((again.asks or again.conflicts) and not agreed):
                raise
            plan = again
    return plan, _applied(project, plan)


def _applied(project: Project, plan: Plan) -> Outcome:
    """Apply a plan; an interruption that came too late to stop it is no interruption."""
    begun = time.time_ns()
    try:
        return project.apply(plan)
    except KeyboardInterrupt:
        done = project.operations()
        if not done or done[-1].at_ns < begun:
            raise
        note = "The interruption came when everything was done already."
        return Outcome(plan, done[-1].id, done[-1].before, (note,))


def _shown(plan: Plan, turns: Sequence[Turn]) -> list[str]:
    lines = present.plan_lines(plan, turns)
    return [*lines, present.plan_summary(plan), *present.ask_lines(plan)]


def _agreed(plan: Plan, turns: Sequence[Turn], args: Arguments, out: Output) -> bool:
    """Show a plan and ask; without anybody to ask, the plan is the answer."""
    out.lines(_shown(plan, turns))
    agreed = out.ask(present.question(plan))
    if not agreed:
        if out.json:
            out.document(documents.plan(plan))
        hint = "" if agreed is False else " With --yes it is done."
        out.note(f"takeback: Nothing was changed.{hint}")
    return bool(agreed)


def _widened(plan: Plan, request: Request, turns: Sequence[Turn], out: Output) -> Request | None:
    """The request that also takes the files that stopped the walk, if the user wants that."""
    out.answer(documents.plan(plan), [*present.plan_lines(plan, turns), *present.ask_lines(plan)])
    agreed = out.ask("Show what taking them back would do?")
    if not agreed:
        out.note("takeback: Nothing was changed.")
        return None
    target = plan.target.removeprefix("turn ")
    named = request.turn or request.to or request.step or request.call
    return replace(request, turn=request.turn if named else target, selection="all")
