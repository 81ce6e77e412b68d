"""The verbs that read: sessions, log, show, diff, history; and the table of all verbs."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from takeback.engine.errors import Exit, TakebackError, UsageError
from takeback.tui import context, terminal

if TYPE_CHECKING:
    from takeback.engine.model import Call, Change, Operation, Plan, Step, Turn
    from takeback.engine.project import Project
    from takeback.tui.arguments import Arguments
    from takeback.tui.cli import Handler
    from takeback.tui.output import Output

_UNBUILT = frozenset({"fork", "forks", "switch", "compare", "purge"})
_ELSEWHERE = {
    **dict.fromkeys(("undo", "redo", "goto", "restore"), "verbs_undo"),
    **dict.fromkeys(("storage", "prune", "verify", "recover", "doctor"), "verbs_upkeep"),
    **dict.fromkeys(("install", "uninstall"), "verbs_agents"),
    "config": "verbs_setup",
    "resume": "verbs_resume",
}


def handler(verb: str) -> Handler:
    """The function that runs a verb; its module is imported only now."""
    if verb in _UNBUILT:
        return unbuilt
    if verb == "demo":
        from takeback.tui import demo

        return demo.run
    if verb in _ELSEWHERE:
        from importlib import import_module

        module = import_module(f"takeback.tui.{_ELSEWHERE[verb]}")
        found: Handler = getattr(module, verb, unbuilt)
        return found
    return _HERE[verb]


def opened(args: Arguments, out: Output) -> tuple[Project, list[str]]:
    """The project of the caller's folder, put in order, and what had to be said about that."""
    from takeback.engine.project import Project

    project = Project.open(context.folder(args), args.value("--data-dir") or None, notify=out.note)
    return project, project.begin_command()


def open_project(args: Arguments, out: Output) -> Project:
    """The project of the caller's folder, put in order: what a crash left, dead turns closed."""
    project, said = opened(args, out)
    for text in said:
        out.note(f"takeback: {text}")
    return project


def project_paths(project: Project, args: Arguments) -> tuple[bytes, ...]:
    """The values of ``--path``, relative to the project's root.

    Raises:
        UsageError: one of them is empty or outside the project.
    """
    if "" in args.all("--path"):
        raise UsageError("The value of '--path' is empty. Nothing was done.")
    folder = context.folder(args)
    return tuple(project.relative(name, folder) for name in args.all("--path"))


def within(path: bytes, wanted: tuple[bytes, ...]) -> bool:
    """Whether a path is one of those wanted or below one; all are if none is."""
    return not wanted or any(
        not one or path == one or path.startswith(one + b"/") for one in wanted
    )


def start(args: Arguments, out: Output) -> int:
    """Without a verb: the app on a terminal, elsewhere what can be done instead."""
    reason = terminal.cannot_draw(os.environ, not out.json and _on_terminal())
    if not reason:
        from takeback.tui import start as starting

        starting.run(context.folder(args), args.value("--data-dir") or None, out.note)
        return Exit.DONE
    lines = [
        f"{reason} Elsewhere:",
        "  takeback log             what the agents did to this project",
        "  takeback undo --dry-run  what the next undo would take back",
        "  takeback --help          every command",
    ]
    out.answer({"message": lines[0]}, lines)
    return Exit.DONE


def _on_terminal() -> bool:
    """Whether somebody sits at a terminal; the app draws on the stream of messages."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def unbuilt(args: Arguments, out: Output) -> int:
    raise UsageError(
        f"The command {args.verb!r} is not built yet. Nothing was done.",
        "takeback --help lists the commands that there are.",
    )


def sessions(args: Arguments, out: Output) -> int:
    from takeback.tui import documents, past, present

    found = open_project(args, out).conversations()
    lines = present.session_lines(found.sessions) + past.session_lines(found)
    out.answer(documents.session_rows(found.sessions, found.past), lines)
    return Exit.DONE


def log(args: Arguments, out: Output) -> int:
    from takeback.engine.store import paths
    from takeback.tui import documents, past, present

    project = open_project(args, out)
    talks = project.conversations(counts=True)
    found, before = talks.sessions, talks.past
    if "--session" in args.values:
        wanted = args.value("--session")
        found = tuple(session for session in found if session.id == wanted)
        before = tuple(session for session in before if session.id == wanted)
        if not (found or before):
            raise UsageError(
                f"There is no session {wanted!r} in this project.",
                "takeback sessions lists them.",
            )
    document = documents.log(project.root, paths.has_git(project.root), found, before)
    lines = present.log_lines(found) if found or not before else []
    out.answer(document, [*lines, *past.log_lines(before, whole="--session" in args.values)])
    return Exit.DONE


def _found(
    project: Project, args: Arguments
) -> tuple[Turn | Step | Call | Operation, tuple[Change, ...]] | None:
    """The item that was named, or the newest turn, with its changes."""
    if args.places:
        item = project.find(args.places[0])
        return item, project.changes_of(item)
    from takeback.tui.documents import turns_of

    turns = turns_of(project.sessions(counts=True))
    return (turns[-1], project.changes_of(turns[-1])) if turns else None


def show(args: Arguments, out: Output) -> int:
    from takeback.engine.model import Turn
    from takeback.tui import documents, present, resuming, verbs_resume

    project = open_project(args, out)
    found = _found(project, args)
    if found is None:
        out.answer({"turn": None}, [present.NOTHING_RECORDED])
    else:
        lines = present.show_lines(*found)
        if isinstance(found[0], Turn):
            way = verbs_resume.way_before(project, found[0], project.sessions())
            said = resuming.sentence(way, context.current(project.root))
            lines += [f"  {said}"] if said else []
        out.answer(documents.shown(*found), lines)
    return Exit.DONE


def diff(args: Arguments, out: Output) -> int:
    from takeback.tui import documents, present
    from takeback.tui.text import decode

    project = open_project(args, out)
    wanted = project_paths(project, args)
    found = _found(project, args)
    changes = [change for change in found[1] if within(change.path, wanted)] if found else []
    against = args.value("--against")
    if against:
        patch = project.diff_against(against, changes)
    else:
        patch = project.diff(changes) if changes else b""
    if out.json:
        out.document(
            {"changes": [documents.change(one) for one in changes], "patch": decode(patch)}
        )
    elif args.flag("--patch"):
        out.raw(patch)
    else:
        out.lines(present.diff_lines(patch) or ["No difference."])
    return Exit.DONE


def history(args: Arguments, out: Output) -> int:
    from takeback.tui import documents, present

    project = open_project(args, out)
    operations = project.operations()
    following: tuple[Plan | None, Plan | None] = (None, None)
    try:
        following = (project.next_undo(), project.next_redo())
    except TakebackError as error:
        # What was done can be read all the same.
        out.note(f"What undo and redo would do next cannot be told: {error.message}")
    parts = (operations, *following)
    out.answer(documents.history(*parts), present.history_lines(*parts))
    return Exit.DONE


_HERE: dict[str, Handler] = {
    "": start,
    "sessions": sessions,
    "log": log,
    "show": show,
    "diff": diff,
    "history": history,
}
