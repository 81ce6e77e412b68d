"""Engine calls of the app: in a thread, one at a time, each answered with a message.

A call that takes longer than a moment is shown in the line of keys with its time, and `esc` cancels
it; what was begun and cannot be left half done says so instead.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from textual.message import Message
from textual.message_pump import MessagePump

from takeback.engine.errors import SessionRunning, TakebackError
from takeback.engine.model import Change, Plan, Request, Turn
from takeback.engine.work import Cancel, using
from takeback.tui import diffs, highlight, keys, watching
from takeback.tui.documents import turns_of
from takeback.tui.failures import as_error
from takeback.tui.follow import Stamp
from takeback.tui.messages import Applied, Diffed, Planned, Watched
from takeback.tui.watching import Stamps

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.tui.app import TakebackApp

SHOW_AFTER = 0.1
"""Seconds until a call is shown: shorter ones would only flicker."""


class Stopped(TakebackError):
    """The user cancelled a call; its answer does not count."""


@dataclass(slots=True)
class Task:
    """A call that is being made.

    Attributes:
        what: in words, as "Planning".
        since: monotonic seconds.
        can_stop: whether it may be cancelled.
        cancel: the wish to stop, for the engine.
        far: how far it is, in words.
    """

    what: str
    since: float
    can_stop: bool
    cancel: Cancel = field(default_factory=Cancel)
    far: str = ""

    @property
    def stopped(self) -> bool:
        """Whether the user cancelled it."""
        return self.cancel.wanted

    def step(self, what: str, done: int, total: int) -> None:
        """The engine says how far it is."""
        self.far = f"{what} {done}/{total}" if total else f"{what} {done}"


class Desk:
    """Takes the calls of the screens and makes them one after the other."""

    def __init__(self, app: TakebackApp) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._task: Task | None = None
        self._numbers = itertools.count(1)
        self._calls: set[int] = set()
        # For each screen the newest diff that it asked for, and of what.
        self._diffed: WeakKeyDictionary[
            MessagePump, tuple[int, Sequence[Change], Sequence[str]]
        ] = WeakKeyDictionary()
        self._recorded: Stamp = ()

    @property
    def _project(self) -> Project:
        return self._app.project

    @property
    def idle(self) -> bool:
        """Whether no call is being made, and none waits for a thread or its turn."""
        return not self._calls

    def call(
        self,
        target: MessagePump,
        what: str,
        call: Callable[[], Message],
        failed: Callable[[BaseException], Message],
        *,
        stale: Callable[[], bool] = lambda: False,
        can_stop: bool = True,
        counts: bool = False,
    ) -> None:
        """Make a call in a thread and post what it answers.

        Args:
            what: what is done, for the line that shows it.
            stale: whether the answer is no longer wanted; asked when it is this call's turn.
            counts: an answer that came in spite of being cancelled is what happened, and counts.
        """

        number = next(self._numbers)

        def made() -> Message | None:
            if stale():
                return None
            task = self._task = Task(what, time.monotonic(), can_stop)
            try:
                with using(task.cancel if can_stop else None, task.step):
                    answer = call()
                if task.stopped and not counts:
                    return failed(Stopped(f"{what} was cancelled. Nothing was changed."))
                return answer
            except Exception as error:
                if os.environ.get("TAKEBACK_DEBUG") == "1":
                    self._app.log.error(repr(error))
                return failed(error)
            finally:
                self._task = None

        def run() -> None:
            with self._lock:
                try:
                    answer = made()
                finally:
                    self._calls.discard(number)
            if answer is not None:
                target.post_message(answer)

        self._calls.add(number)
        self._app.run_worker(run, thread=True, exit_on_error=False)
        self._app.show_work()

    def words(self) -> str:
        """What is being done, once it takes longer than a moment; else nothing."""
        task = self._task
        took = time.monotonic() - task.since if task is not None else 0.0
        if task is None or took < SHOW_AFTER:
            return ""
        cancels = keys.words("{common.go_back} cancels") if task.can_stop else ""
        stop = "cancelling" if task.stopped else cancels
        far = f"  {task.far}" if task.far else ""
        return f"{task.what}{far}  {took:.1f} s  {stop}".rstrip()

    def stop(self) -> bool:
        """Cancel the call that is shown; whether there was one that can be."""
        task = self._task
        if task is None or not task.can_stop or task.stopped or not self.words():
            return False
        task.cancel.set()
        return True

    # --- The calls that several screens make -------------------------------------------------

    def plan(
        self, target: MessagePump, request: Request, number: int, newest: Callable[[], int]
    ) -> None:
        """Make a plan; the target gets `Planned`."""
        project = self._project

        def call() -> Message:
            try:
                plan = project.plan(request)
            except SessionRunning as error:
                ids = watching.running(project, error.session)
                return Planned(number, None, (), error, running=ids)
            stamps = watching.stamps(project.root, (entry.path for entry in plan.entries))
            return Planned(number, plan, turns_of(project.sessions(counts=True)), stamps=stamps)

        self.call(
            target,
            "Planning",
            call,
            lambda error: Planned(number, None, (), as_error(error)),
            stale=lambda: number != newest(),
        )

    def apply(self, target: MessagePump, plan: Plan, turns: Sequence[Turn]) -> None:
        """Carry a plan out; the target gets `Applied`."""
        project = self._project

        def call() -> Message:
            begun = time.monotonic()
            task = self._task
            outcome = project.apply(plan)
            late = task is not None and task.stopped
            return Applied(outcome, turns, took_s=time.monotonic() - begun, too_late=late)

        self.call(
            target,
            "Working",
            call,
            lambda error: Applied(None, turns, as_error(error)),
            counts=True,
        )

    def watch(
        self,
        target: MessagePump,
        number: int,
        stamps: Stamps,
        waits: tuple[str, frozenset[str]] | None,
    ) -> None:
        """Look whether a plan still fits; the target gets `Watched`.

        Args:
            stamps: what the system said of its files.
            waits: the session that is waited for, and its turns that ran.
        """
        project = self._project

        def call() -> Message:
            if waits is None:
                return Watched(number, watching.changed(project.root, stamps))
            project.begin_command()
            recorded = watching.recorded(project)
            if recorded == self._recorded:
                return Watched(number)
            self._recorded = recorded
            session, ids = waits
            return Watched(number, ended=watching.running(project, session) != ids)

        self.call(target, "Looking", call, lambda error: Watched(number), can_stop=False)

    def diff(self, target: MessagePump, changes: Sequence[Change], details: Sequence[str]) -> None:
        """Make a diff; the target gets `Diffed`.

        Args:
            details: what is shown where there is no difference.
        """
        number = next(self._numbers)
        project, context = self._project, self._app.diff_view.context
        self._diffed[target] = (number, changes, details)
        if not changes:
            target.post_message(Diffed(number, diffs.note(*details)))
            return

        def call() -> Message:
            found = diffs.parse(project.diff(changes, context, binary=False))
            highlight.warm(file.name for file in found.files)
            return Diffed(number, found or diffs.note(*details))

        def failed(error: BaseException) -> Message:
            found = as_error(error)
            return Diffed(number, diffs.note(*details, found.message, found.hint))

        self.call(
            target,
            "Comparing",
            call,
            failed,
            stale=lambda: number != self.newest_diff(target),
        )

    def newest_diff(self, target: MessagePump) -> int:
        """The newest diff that a screen asked for: answers to older ones do not count."""
        made = self._diffed.get(target)
        return made[0] if made is not None else 0

    def forget_diffs(self) -> None:
        """Let no diff count any more: another project is open."""
        self._diffed.clear()

    def diff_again(self, target: MessagePump) -> None:
        """Make the last diff of a screen once more, for another way of looking at it."""
        made = self._diffed.get(target)
        if made is not None:
            self.diff(target, *made[1:])
