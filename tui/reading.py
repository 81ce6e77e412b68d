"""The record of the open project: read in a thread, made into rows, and followed as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from takeback.tui import past, watching
from takeback.tui.failures import sentence
from takeback.tui.follow import Stamp
from takeback.tui.messages import Loaded, Noticed, Record, Said
from takeback.tui.text import counted

if TYPE_CHECKING:
    from takeback.tui.app import TakebackApp

FOLLOW_EVERY = 2.0
"""Seconds between two looks for something new in the record."""


class Reading:
    """Reads the record of one project for the main screen that is open.

    Attributes:
        damaged: how many lines of it could not be read.
    """

    def __init__(self, app: TakebackApp, welcomes: bool) -> None:
        """Begin with nothing read.

        Args:
            welcomes: whether what takeback found is shown where nothing was recorded.
        """
        self._app = app
        self._project = app.project
        self._welcomes = welcomes
        self._number = 0
        self._unread = True
        self._read: Record | None = None
        self._stamp: Stamp = ()
        self._looking = False
        self._read_out = False
        self.damaged = 0

    def load(self) -> None:
        """Read the record again; the app gets `Loaded`."""
        self._unread = True
        self.prepare()

    def prepare(self) -> None:
        """Make the rows of the open main screen again, of what was read last.

        A newer call takes the place of older ones, and with it what those were to read.
        """
        app, project = self._app, self._project
        screen = app.main
        if screen is None:
            return
        self._number += 1
        number = self._number
        first = app.record is None and app.first is None and screen.keys_of == "timeline"

        def made(record: Record) -> Message:
            return Loaded(record, project.root, screen.keys_of, screen.prepare(record))

        def call() -> Message:
            if self._read is not None and not self._unread:
                return made(self._read)
            if first:
                glimpse = Record(project.glimpse(), partial=True)
                if glimpse.sessions:
                    app.post_message(made(glimpse))
            return made(self._all())

        app.desk.call(
            app,
            "Reading",
            call,
            lambda error: Said(sentence(error), True),
            stale=lambda: number != self._number or app.reading is not self,
        )

    def _all(self) -> Record:
        """Read everything. What is recorded meanwhile is for the next time."""
        project = self._project
        self._unread, self._stamp = False, watching.recorded(project)
        try:
            found = project.conversations(counts=True)
            before = tuple(map(past.named, found.past))
            self._read = Record(
                found.sessions, project.operations(), past=before, unread=found.unread
            )
        except BaseException:
            self._unread = True
            raise
        self.damaged = len(project.damaged)
        return self._read

    def loaded(self, message: Loaded) -> bool:
        """Show what was read; whether the open screen shows the whole record now."""
        app, screen = self._app, self._app.main
        if message.root != self._project.root:
            return False
        before = app.record
        if before is None or not message.record.partial:
            app.record = message.record
        if before is not None and before is not message.record and not before.partial:
            self._read_out = message.record.unread >= before.unread
        if screen is None:
            return False
        if screen.keys_of != message.screen:
            self.prepare()
            return False
        screen.loaded(message.record, message.prepared)
        if message.record.partial:
            return False
        if message.record.unread and not self._read_out:
            # A look reads so much of old conversations and no more: the next one goes on.
            self.load()
        if self._welcomes and app.screen is screen:
            self._welcomes = False
            if not message.record.sessions and screen.keys_of == "timeline":
                app.switch_screen("first_run")
                return False
        return True

    def damage(self) -> str:
        """What is missing of what is shown, said once."""
        lost, self.damaged = self.damaged, 0
        lines = counted(lost, "line")
        return f"{lines} of the record cannot be read: takeback verify names them." if lost else ""

    # --- Following a running agent -----------------------------------------------------------

    def follow(self) -> None:
        """Look in a thread whether something was recorded; the app gets `Noticed`."""
        app, project = self._app, self._project
        if self._looking or not app.desk.idle:
            return
        self._looking = True

        def look() -> None:
            app.post_message(Noticed(project.root, watching.recorded(project)))

        app.run_worker(look, thread=True, exit_on_error=False)

    def noticed(self, message: Noticed) -> None:
        """Read the record again when it is not what was read."""
        if message.root != self._project.root:
            return
        self._looking = False
        if message.stamp != self._stamp and self._app.desk.idle:
            self.load()
