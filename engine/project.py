"""The one facade: open a project, record, read the timeline, plan, apply.

The command line and the app use only this; so may a script (see the README for an example)::

    from takeback.engine import Project, Request

    project = Project.open(".")
    with project.turn("my-session", prompt="rename the option") as turn:
        with turn.edit("src/options.py"):
            ...  # write the file
    plan = project.plan(Request("undo"))
    project.apply(plan)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from takeback.engine import config as settings
from takeback.engine import work
from takeback.engine.agents import interrupt
from takeback.engine.errors import (
    NothingToDo,
    SessionRunning,
    TakebackError,
    UsageError,
)
from takeback.engine.handle import TurnHandle
from takeback.engine.model import (
    Change,
    Event,
    Operation,
    Outcome,
    Plan,
    Request,
    Session,
    Step,
    Turn,
)
from takeback.engine.record import openturn
from takeback.engine.store import paths
from takeback.engine.store.store import Store
from takeback.engine.timeline import events, numbers, tail, timeline
from takeback.engine.undo import oplog
from takeback.engine.upkeep import recover as recovery

# What plans, applies or records comes in with the method that does it: a first look at the timeline
# waits for none of it.
if TYPE_CHECKING:
    from takeback.engine.agents.conversations import Conversations
    from takeback.engine.model import Call
    from takeback.engine.record.recorder import Begun
    from takeback.engine.record.snapshot import Snapshotter
    from takeback.engine.undo.ground import Ground
    from takeback.engine.undo.upcoming import Upcoming
    from takeback.engine.upkeep.doctor import Check


P = ParamSpec("P")
R = TypeVar("R")


def _cancellable(
    method: Callable[Concatenate[Project, P], R],
) -> Callable[Concatenate[Project, P], R]:
    """Let a method be stopped by the project's `cancel` and tell its `progress`."""

    @wraps(method)
    def run(self: Project, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with work.using(self.cancel, self.progress):
            return method(self, *args, **kwargs)

    return run


class Project:
    """An open project. Make one with `Project.open`.

    Attributes:
        root: the real path of the project's root.
        store: its store, or None while nothing was ever recorded.
        cancel: looked at while a method reads, plans or applies; when it is set, the method ends
            with `Cancelled`, and nothing was changed. An apply that began to exchange files goes on
            to its end.
        progress: called with (what is done, how many, of how many or 0), in the calling thread.
    """

    def __init__(
        self,
        place: paths.Root,
        folder: bytes,
        data: bytes,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self.place = place
        self.root = place.path
        self.folder = folder
        self.data = data
        self.config = settings.load(place.path, data)
        self.store = Store.open(place.path, data)
        self.damaged: list[tuple[str, int]] = []
        self._notify = notify
        self._snapshots: Snapshotter | None = None
        self.cancel: work.Cancel | None = None
        self.progress: work.Progress | None = None
        self._prepare_lock()

    @classmethod
    def open(
        cls,
        folder: str | bytes | None = None,
        data_dir: str | bytes | None = None,
        *,
        notify: Callable[[str], None] | None = None,
    ) -> Project:
        """Open the project that a folder belongs to. Reads only.

        Args:
            folder: any folder of the project; the current one by default.
            data_dir: where stores are kept; the platform's place by default.
            notify: called with a sentence when something makes the caller wait.

        Raises:
            UsageError: it is no folder, or inside a ``.git``.
            TakebackError: the store cannot be used, or a newer takeback wrote it.
        """
        data = paths.data_dir(data_dir)
        here = paths.real_folder(os.fsencode(folder) if folder is not None else b".")
        place = paths.find_root(here, data, settings.load(None, data).allow_root)
        return cls(place, here, data, notify)

    def _look_for_store(self) -> None:
        """A store that was made since: the first turn may be recorded while this is open."""
        if self.store is None:
            self.store = Store.open(self.root, self.data)
            self._prepare_lock()

    def read_settings(self) -> None:
        """Use the settings as the files have them now."""
        self.config = settings.load(self.place.path, self.data)
        self._snapshots = None

    def _prepare_lock(self) -> None:
        if self.store is not None:
            self.store.lock.notify = self._notify

    @property
    def snapshots(self) -> Snapshotter:
        from takeback.engine.record.snapshot import Snapshotter

        if self._snapshots is None:
            self._snapshots = Snapshotter(self._need_store(), self.config, self.place)
        return self._snapshots

    def _need_store(self) -> Store:
        if self.store is None:
            raise NothingToDo(
                f"Nothing was recorded in {os.fsdecode(self.root)!r} yet. Nothing was changed.",
                "Connect an agent with 'takeback install', or use 'takeback run -- COMMAND'.",
            )
        return self.store

    @staticmethod
    def doctor(
        folder: str | bytes | None = None, data_dir: str | bytes | None = None
    ) -> list[Check]:
        """Look at everything that recording and undo depend on. Never raises, changes nothing."""
        from takeback.engine.agents import connection
        from takeback.engine.upkeep import doctor

        here = os.path.abspath(os.fsencode(folder) if folder is not None else b".")
        home = os.fsencode(os.path.expanduser("~"))
        return doctor.doctor(
            here, paths.data_dir(data_dir), lambda root: connection.status(root, home)
        )

    def close(self) -> None:
        """End the reading process of the store, if one runs."""
        if self.store is not None:
            self.store.close()

    # --- Recording ---------------------------------------------------------------------------

    def record(self, event: Event, wait_s: float = 30.0) -> Begun | None:
        """Record one event; see `recorder.feed` for what it raises."""
        begun = recovery.feed(event, self.data, wait_s, self._notify)
        self._look_for_store()
        return begun

    @contextmanager
    def turn(self, session: str, agent: str = "", prompt: str = "") -> Iterator[TurnHandle]:
        """Record a turn around a block; an exception in it ends the turn as interrupted."""
        event = Event("begin", session, self.folder, agent=agent, prompt=prompt, pid=os.getpid())
        begun = self.record(event)
        assert begun is not None
        handle = TurnHandle(self, session, begun)
        try:
            yield handle
        except BaseException:
            self.record(Event("end", session, self.folder, interrupted=True))
            raise
        self.record(Event("end", session, self.folder))

    # --- Reading -----------------------------------------------------------------------------

    def begin_command(self) -> list[str]:
        """What every command does first: finish what a crash left, close turns that are dead.

        Returns:
            Sentences for the user about what was done or must be done.
        """
        said: list[str] = []
        if self.store is None:
            return said
        store = self.store
        if recovery.pending(store):
            said.extend(self.recover())
        dead, stopped = [], []
        for turn in openturn.of_project(self.data, self.root):
            if openturn.is_gone(turn):
                dead.append(turn)
            elif interrupt.was_interrupted(turn):
                stopped.append(turn)
        if dead or stopped:
            from takeback.engine.record.recorder import Recorder

            with store.lock, work.held():
                recorder = Recorder(store, self.config, self.place, self.snapshots)
                recorder.close_gone([turn.turn for turn in stopped])
        said.extend(f"Turn {turn.n} was closed: its process is gone." for turn in dead)
        said.extend(f"Turn {turn.n} was closed: it was interrupted." for turn in stopped)
        return said

    def recover(self) -> list[str]:
        """Finish or roll back an operation that a crash left; sentences about what came of it."""
        store = self._need_store()
        with store.lock, work.held():
            outcome = recovery.recover(store, self.snapshots)
        return [recovery.WORDS[outcome]] if outcome is not None else []

    def log(self) -> events.Log:
        """Everything recorded, raw."""
        return events.read(self.store) if self.store is not None else events.Log()

    @_cancellable
    def sessions(self, counts: bool = False) -> tuple[Session, ...]:
        """Every session with turns, steps, calls and changes, oldest first.

        Args:
            counts: fill in the numbers of lines (one git process).
        """
        self._look_for_store()
        if self.store is None:
            return ()
        log = self.log()
        self.damaged = list(log.damaged)
        running = {turn.turn for turn in openturn.of_project(self.data, self.root)}
        return timeline.build(
            self.store, log, self._all_operations(), running, self._count if counts else None
        )

    @_cancellable
    def conversations(self, counts: bool = False) -> Conversations:
        """The sessions with what was said in them, as the agents' own files tell it, and the
        conversations from before takeback.

        Args:
            counts: as for `sessions`.
        """
        from takeback.engine.agents.conversations import gather, home_folder

        allow = self.config.allow_root

        def belongs(folder: bytes) -> bool:
            try:
                return paths.find_root(folder, self.data, allow).path == self.root
            except UsageError:
                # Gone, or none of a project: nobody else shows it.
                return True

        return gather(self.sessions(counts), self.root, home_folder(), belongs)

    def glimpse(self, turns: int = 3) -> tuple[Session, ...]:
        """The newest session with its last turns only: for a first look, however much there is.

        Args:
            turns: how many of its turns.
        """
        if self.store is None:
            return ()
        log = tail.newest(self.store, turns)
        running = {turn.turn for turn in openturn.of_project(self.data, self.root)}
        return timeline.build(
            self.store, log, self._all_operations(), running, None, turns if log.turns else 0
        )

    def _count(self, changes: Sequence[Change]) -> Sequence[Change]:
        assert self.store is not None
        try:
            found = numbers.count(self.store, [(c.before, c.after) for c in changes])
        except work.Cancelled:
            raise
        except TakebackError:
            # Numbers of lines are a courtesy: a store that lost objects still has a timeline.
            return changes
        return [
            replace(change, plus=plus, minus=minus, binary=binary)
            for change, (plus, minus, binary) in zip(changes, found, strict=True)
        ]

    @_cancellable
    def operations(self) -> tuple[Operation, ...]:
        """Every operation that changed something, oldest first."""
        return tuple(o for o in self._all_operations() if o.moves or o.dirs)

    def _all_operations(self) -> tuple[Operation, ...]:
        return oplog.read(self.store, self.damaged) if self.store is not None else ()

    @_cancellable
    def find(self, name: str) -> Turn | Step | Call | Operation:
        """The turn (by id or number), step, call or operation with this id.

        Raises:
            UsageError: there is none.
        """
        sessions = self.sessions(counts=True)
        for session in reversed(sessions):
            for turn in reversed(session.turns):
                if name in (turn.id, str(turn.n)):
                    return turn
                for step in turn.steps:
                    if step.id == name:
                        return step
                    for call in step.calls:
                        if call.id == name:
                            return call
        for operation in self.operations():
            if operation.id == name:
                return operation
        raise UsageError(
            f"There is no turn, step, call or operation {name!r} in this project.",
            "See 'takeback log' and 'takeback history'.",
        )

    @_cancellable
    def changes_of(self, item: Turn | Step | Call | Operation) -> tuple[Change, ...]:
        """The changes of what `find` found."""
        if isinstance(item, (Turn, Step)):
            return item.changes
        if isinstance(item, Operation):
            found = []
            for move in item.moves:
                found.append(Change(move.path, move.before, move.after, "no-record", (), ()))
            return tuple(self._count(found))
        for session in self.sessions():
            for turn in session.turns:
                if any(call.id == item.id for call in turn.calls):
                    picked = timeline.pick(turn.changes, lambda s: item.id in s.call_ids)
                    return tuple(self._count(picked))
        return ()

    @_cancellable
    def net_changes(self, turn_ids: Sequence[str]) -> tuple[Change, ...]:
        """What some turns did together, with numbers of lines; see `net.net`.

        Raises:
            UsageError: an unknown turn.
        """
        from takeback.engine.timeline import net
        from takeback.engine.undo.target import find_turn

        sessions = self.sessions()
        turns = [find_turn(sessions, name) for name in turn_ids]
        return tuple(self._count(net.net(turns)))

    @_cancellable
    def diff(self, changes: Sequence[Change], context: int = 3, *, binary: bool = True) -> bytes:
        """A git patch of changes, as `git apply` takes it.

        Args:
            context: unchanged lines around each change.
            binary: with the content of binary files; without it the patch is only for reading.

        Raises:
            TakebackError: the store lost what is needed.
        """
        from takeback.engine.record.snapshot import git_entry

        items = [(c.path, git_entry(c.before), git_entry(c.after)) for c in changes]
        return self._patch(items, context=context, binary=binary)

    def _patch(
        self,
        items: Sequence[tuple[bytes, tuple[int, str] | None, tuple[int, str] | None]],
        extra: dict[str, bytes] | None = None,
        context: int = 3,
        binary: bool = True,
    ) -> bytes:
        store = self._need_store()
        old = {path: entry for path, entry, _ in items if entry is not None}
        new = {path: entry for path, _, entry in items if entry is not None}
        with numbers.Scratch(store) as scratch:
            for data in (extra or {}).values():
                scratch.objects.write("blob", data)
            a, b = scratch.tree(old), scratch.tree(new)
            return scratch.git.run(
                "diff-tree", "-r", "-p", *(["--binary"] if binary else []), "--full-index",
                "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", f"-U{context}",
                a, b,
            )  # fmt: skip

    @_cancellable
    def diff_against(self, ref: str, changes: Sequence[Change]) -> bytes:
        """A git patch from a commit of the user's git to what the changes left. Reads only.

        Raises:
            TakebackError: no git repository, or no such commit.
        """
        from takeback.engine.record.snapshot import git_entry
        from takeback.engine.store.objects import object_id
        from takeback.engine.store.usergit import committed

        git_dir = paths.git_dir_of(self.place)
        if git_dir is None:
            raise UsageError("This project has no git repository to compare with.")
        wanted = [change.path for change in changes]
        there = committed(git_dir, ref, wanted)
        extra = {object_id("blob", data): data for _, data in there.values()}
        items = []
        for change in changes:
            known = there.get(change.path)
            before = (known[0], object_id("blob", known[1])) if known is not None else None
            items.append((change.path, before, git_entry(change.after)))
        return self._patch(items, extra)

    # --- Planning and applying ---------------------------------------------------------------

    @_cancellable
    def plan(self, request: Request) -> Plan:
        """What an operation would do. Writes nothing to the project.

        Raises:
            NothingToDo, SessionRunning, UsageError: with the exit codes of the contract.
            TakebackError: the store cannot give what is needed, or a target cannot be written.
        """
        from takeback.engine.record.recorder import Recorder
        from takeback.engine.undo import prepare
        from takeback.engine.undo.operate import as_sentence

        if self.store is None:
            self._unknown(request)
        store = self._need_store()
        with store.lock, as_sentence():
            store.sweep()
            self._refuse_stuck()
            while True:
                fresh = self.snapshots.take(full=True).tree is not None
                try:
                    return prepare.plan(self._ground(fresh), request)
                except SessionRunning as error:
                    if not request.while_running or not error.session:
                        raise
                    recording = Recorder(store, self.config, self.place, self.snapshots)
                    with work.held():
                        recording.close_now(error.session)

    def _unknown(self, request: Request) -> None:
        names = [request.turn or request.to, request.step or request.call, request.op]
        for name in (*names, *(part.turn for part in request.parts)):
            if name:
                raise UsageError(
                    f"There is no {name!r} in this project: nothing was recorded yet. "
                    "Nothing was changed.",
                    "See 'takeback log'.",
                )

    def _ground(self, fresh: bool) -> Ground:
        from takeback.engine.undo.ground import Ground

        return Ground(
            self._need_store(),
            self.config,
            self.snapshots,
            self.sessions(),
            self._all_operations(),
            git_dir=paths.git_dir_of(self.place),
            fresh=fresh,
        )

    def _refuse_stuck(self) -> None:
        store = self._need_store()
        if not recovery.pending(store):
            return
        self.recover()
        if recovery.pending(store):
            raise TakebackError(
                "An earlier operation was killed and can be neither finished nor rolled back. "
                "Nothing was changed.",
                "See 'takeback doctor' for the files, settle them, then run 'takeback recover'.",
            )

    @_cancellable
    def next_targets(self, session: str = "") -> tuple[Upcoming | None, Upcoming | None]:
        """What undo and redo would take next, without a look at any file; see `upcoming`."""
        from takeback.engine.undo.upcoming import upcoming

        sessions, operations = self.sessions(), self._all_operations()
        return upcoming(sessions, operations, self.config.default_select, session)

    @_cancellable
    def next_undo(self) -> Plan | None:
        """The plan that a plain undo would have now; None where there is nothing, or a turn runs.

        Raises:
            TakebackError: it cannot be told.
        """
        return self._next(Request("undo"))

    @_cancellable
    def next_redo(self) -> Plan | None:
        """The plan that a plain redo would have now; see `next_undo`."""
        return self._next(Request("redo"))

    def _next(self, request: Request) -> Plan | None:
        try:
            return self.plan(request)
        except (NothingToDo, SessionRunning):
            return None

    @_cancellable
    def apply(self, plan: Plan) -> Outcome:
        """Carry a plan out: all of it, or nothing.

        Raises:
            ProjectChanged: a target no longer holds what the plan was made from; nothing was
                changed.
            TakebackError: something failed; nothing was changed, or the journal says how to go on.
        """
        from takeback.engine.undo.operate import as_sentence, leave_alone, operate

        if plan.stopped:
            return Outcome(plan, None, None)
        store = self._need_store()
        with store.lock, as_sentence():
            store.sweep()
            self._refuse_stuck()
            if not (plan.writes or plan.dirs):
                leave_alone(store, plan)
                return Outcome(plan, None, None)
            outcome = operate(store, self.config, self.snapshots, plan)
            self._keep_note(store, outcome)
            return outcome

    def _keep_note(self, store: Store, outcome: Outcome) -> None:
        """For the agents whose work it was: they are told with their next prompt."""
        if outcome.operation is None or not self.config.tell_agent:
            return
        from takeback.engine.agents import hook, tell

        try:
            with work.held():
                tell.keep(store, outcome.plan, outcome.operation, hook.hearing())
        except (OSError, TakebackError):
            # The operation is done: that no agent hears of it does not make it undone.
            return

    # --- Paths -------------------------------------------------------------------------------

    def relative(self, path: str, folder: bytes | None = None) -> bytes:
        """A path as a user names it, relative to the root; "" is the root itself.

        Raises:
            UsageError: it is outside the project.
        """
        found = paths.relative(self.root, os.fsencode(path), folder or self.folder)
        if found is None:
            raise UsageError(
                f"{path!r} is not in the project {os.fsdecode(self.root)!r}. Nothing was changed."
            )
        return found
