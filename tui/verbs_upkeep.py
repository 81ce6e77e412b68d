"""The verbs about the store itself: storage, prune, verify, recover, doctor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from takeback.engine.errors import Exit
from takeback.tui import context, present, upkeep_lines, verbs_setup
from takeback.tui.text import decode, safe
from takeback.tui.verbs import open_project, opened

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output


def storage(args: Arguments, out: Output) -> int:
    from takeback.engine.upkeep.storage import storage as measure

    project = open_project(args, out)
    report = measure(project.data, project.config)
    document = {
        "bytes": report.size,
        "cap_bytes": report.cap,
        "projects": [
            {
                "root": decode(one.root),
                "sessions": one.sessions,
                "snapshots": one.snapshots,
                "bytes": one.size,
                "oldest": one.oldest,
                "note": one.note,
            }
            for one in report.projects
        ],
    }
    out.answer(document, upkeep_lines.storage_lines(document))
    return Exit.DONE


def prune(args: Arguments, out: Output) -> int:
    from takeback.engine.upkeep.prune import prune as clean

    project = open_project(args, out)
    dry = args.flag("--dry-run")
    if project.store is None:
        none = {"dry_run": dry, "temporary": 0, "packed": 0, "loose": 0, "freed_bytes": 0}
        out.answer({**none, "damaged": [], "stopped": ""}, [present.NOTHING_RECORDED])
        return Exit.DONE
    report = clean(project.store, dry)
    document = upkeep_lines.prune_document(report)
    out.answer(document, upkeep_lines.prune_lines(document))
    return Exit.DONE


def verify(args: Arguments, out: Output) -> int:
    """Check every kept object; what is lost is a failure, and each loss is listed."""
    from takeback.engine.upkeep.verify import verify as check

    project = open_project(args, out)
    if project.store is None:
        none: list[str] = []
        out.answer(
            {"objects": 0, "refs": 0, "damage": none, "lines": none}, [present.NOTHING_RECORDED]
        )
        return Exit.DONE
    report = check(project.store)
    document = upkeep_lines.verify_document(report)
    out.lines(upkeep_lines.verify_lines(document))
    report.require_sound()
    if out.json:
        out.document(document)
    return Exit.DONE


def recover(args: Arguments, out: Output) -> int:
    """Finish or roll back what a crash left; what every command does first does it, too."""
    project, said = opened(args, out)
    if project.store is not None:
        said += [text for text in project.recover() if text not in said]
    stuck = project.store is not None and is_pending(project)
    lines = [safe(text) for text in said] or ["No operation was left half way."]
    out.answer({"recovered": said, "stuck": stuck}, lines)
    return Exit.FAILED if stuck else Exit.DONE


def is_pending(project: Project) -> bool:
    """Whether a journal lies there that could be neither finished nor rolled back."""
    from takeback.engine.undo import apply

    return project.store is not None and apply.pending(project.store.dir) is not None


def doctor(args: Arguments, out: Output) -> int:
    """Look at everything that recording and undo depend on; reads only."""
    from takeback.engine.agents import connection
    from takeback.engine.upkeep.doctor import doctor as examine

    home = os.fsencode(os.path.expanduser("~"))
    checks = examine(
        context.folder(args), context.data(args), lambda root: connection.status(root, home)
    )
    checks += verbs_setup.looks(context.data(args))
    document: dict[str, Any] = {
        "checks": [
            {"name": one.name, "ok": one.ok, "message": one.message, "fix": one.fix}
            for one in checks
        ]
    }
    out.answer(document, upkeep_lines.doctor_lines(document))
    return Exit.DONE
