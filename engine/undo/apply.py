"""The transaction: all files of an operation change, or none, and no foreign byte is lost.

Everything new is staged beside the project's files first; each target is then checked against what
the plan was made from; after the point of no return the staged files are exchanged with the targets
one by one, and what comes out is checked again. A program that writes at the same moment therefore
keeps its bytes: they are put back, and the operation is rolled back (ORIGIN.md, The transaction).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from takeback.engine.errors import ProjectChanged, TakebackError
from takeback.engine.model import DirChange
from takeback.engine.undo import journal
from takeback.engine.undo.fsops import Tree
from takeback.engine.undo.job import Job
from takeback.engine.undo.journal import Journal, Target, pending
from takeback.engine.undo.preflight import preflight, refused
from takeback.engine.undo.staging import MARKER, Applied, Blobs, Foreign
from takeback.engine.work import held

__all__ = [
    "MARKER",
    "Applied",
    "Blobs",
    "Recovered",
    "Target",
    "apply",
    "pending",
    "preflight",
    "recover",
]

_HELD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Log = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Recovered:
    """How an operation that was killed ended: dropped, forward, back or stuck."""

    outcome: str
    record: dict[str, Any] | None = None
    late: tuple[tuple[bytes, str], ...] = ()


def apply(
    store_dir: bytes,
    root: bytes,
    op_id: str,
    targets: Sequence[Target],
    dirs: Sequence[DirChange],
    blobs: Blobs,
    record: dict[str, Any],
    restore_mtime: bool,
    log: Log,
) -> Applied:
    """Carry an operation out. The caller holds the lock and has stored the safety snapshot.

    Args:
        targets: paths with what stands there and what shall.
        dirs: folders with their mode now and the mode wanted, None for absent.
        record: the operation's line; given to `log` when everything stands as wanted.

    Raises:
        ProjectChanged: a target is not as expected; nothing was changed.
        TakebackError: something failed; nothing was changed, or the journal was kept.
        Cancelled: that was wanted before the first file was exchanged.
    """
    for path in (*(t.path for t in targets), *(d.path for d in dirs)):
        reason = refused(path)
        if reason:
            raise TakebackError(
                f"{os.fsdecode(path)!r} cannot be written: {reason}. Nothing was changed."
            )
    work = Journal(store_dir, op_id, tuple(targets), tuple(dirs), record, restore_mtime)
    try:
        tree = Tree(root)
    except OSError as error:
        raise _said(error) from error
    with tree:
        job = Job(tree, work, blobs)
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            try:
                work.dirs = job.all_dirs()
                work.chmods = job.closed_folders()
                work.begin()
                job.open_folders()
                job.stage()
                job.check()
                # Raises what came just before; what comes later waits for the end.
                signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
            except BaseException as error:
                with held():
                    _abandon(job)
                raise _said(error) from error
            with held():
                _commit(job, log)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        return job.applied


def _abandon(job: Job) -> None:
    """Clean up before the commit. What fails here is left to the next start: see `recover`."""
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    except BaseException:
        pass
    try:
        job.drop()
    except OSError:
        pass


def _commit(job: Job, log: Log) -> None:
    work = job.work
    try:
        work.enter("commit")
        job.forward()
        work.enter("applied")
    except Exception as error:
        _roll_back(job, error)
    try:
        log(work.record)
    except (OSError, TakebackError) as error:
        # The line may be in the log all the same: from here on there is no way back.
        raise TakebackError(
            f"All files were written, but the operation could not be logged: {_words(error)}. "
            "The journal is kept.",
            "Make room, then run 'takeback recover': it finishes the operation.",
        ) from error
    try:
        job.finish()
    except OSError:
        pass  # The operation stands; the next start tidies up.


def _roll_back(job: Job, error: Exception) -> NoReturn:
    work = job.work
    try:
        # Once it goes back, no recovery may go forward: the user is told that nothing changed.
        work.enter("back")
    except OSError:
        pass
    if work.phase != "applied" and job.back():
        try:
            work.enter("undone")
            job.finish()
        except OSError:
            pass  # Everything is back; the next start tidies up.
        raise _said(error) from error
    if work.phase != "applied":
        try:
            work.enter("stuck")
        except OSError:
            pass
    raise TakebackError(
        f"The operation failed ({_words(error)}) and could not be rolled back whole. "
        "Every byte is in the store, the journal is kept.",
        "See 'takeback doctor', then run 'takeback recover'.",
    ) from error


def _words(error: BaseException) -> str:
    if isinstance(error, Foreign):
        return f"{os.fsdecode(error.path)!r} changed meanwhile"
    if isinstance(error, OSError):
        name = error.filename
        shown = f": {os.fsdecode(name)!r}" if isinstance(name, (bytes, str)) else ""
        return f"{error.strerror or error}{shown}"
    return str(error)


def _said(error: BaseException) -> BaseException:
    if isinstance(error, Foreign):
        return ProjectChanged(
            f"{os.fsdecode(error.path)!r} changed meanwhile. Nothing was changed.",
            "Run the command again to see the new plan.",
        )
    if isinstance(error, OSError):
        return TakebackError(
            f"The operation failed: {_words(error)}. Nothing was changed.",
            "Check the free space and the permissions, then try again.",
        )
    return error


def recover(store_dir: bytes, root: bytes, blobs: Blobs, log: Log) -> Recovered | None:
    """Finish, roll back or drop an operation that was killed. May be killed itself, and repeated.

    Returns:
        None if there is none.

    Raises:
        TakebackError: the journal cannot be read, or the project cannot be reached.
    """
    work = journal.load(store_dir)
    if work is None:
        return None
    try:
        tree = Tree(root)
    except OSError as error:
        raise TakebackError(
            f"An operation was killed in {os.fsdecode(root)!r}, which cannot be reached: "
            f"{error.strerror}. Nothing was changed."
        ) from error
    with tree, held():
        job = Job(tree, work, blobs)
        try:
            return _recovered(job, log)
        except OSError as error:
            if work.phase in ("commit", "back"):
                try:
                    work.enter("stuck")
                except OSError:
                    pass
            raise TakebackError(
                f"An operation that was killed could not be recovered: {_words(error)}. "
                "Every byte is in the store, the journal is kept.",
                "Check the free space and the permissions, then run 'takeback recover'.",
            ) from error


def _recovered(job: Job, log: Log) -> Recovered:
    work = job.work
    if work.phase == "intent":
        job.drop()
        return Recovered("dropped")
    if work.phase not in ("applied", "undone"):
        job.open_folders()
        job.make_stage()
    if work.phase in ("commit", "stuck"):
        try:
            job.forward()
            work.enter("applied")
        except (Foreign, OSError, TakebackError):
            work.enter("back")
    if work.phase == "back":
        if not job.back():
            work.enter("stuck")
            return Recovered("stuck", late=tuple(job.applied.late))
        work.enter("undone")
    if work.phase == "undone":
        job.finish()
        return Recovered("back", late=tuple(job.applied.late))
    log(work.record)
    job.finish()
    return Recovered("forward", work.record, tuple(job.applied.late))
