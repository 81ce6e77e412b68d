"""The settings: what each does, where its value comes from, and changing it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, cast

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from takeback.engine import config as engine_config
from takeback.engine.config import PROJECT_FILE
from takeback.engine.errors import TakebackError
from takeback.tui import keymap, keys, settings, settings_rows, theming, verbs_setup
from takeback.tui.failures import sentence
from takeback.tui.messages import Record, Said
from takeback.tui.screens.base import STATUS
from takeback.tui.screens.main import MainScreen, folder_words
from takeback.tui.settings_rows import Values
from takeback.tui.text import safe
from takeback.tui.widgets.filter_line import FilterLine
from takeback.tui.widgets.lines import KeyLine, TextLine
from takeback.tui.widgets.row_list import RowList

_AGREE = "{settings.agree}: yes, {common.go_back}: leave it as it is."


@dataclass(frozen=True, slots=True)
class Asked:
    """A change that waits for a yes; `key` is "" for the approval of the project's file."""

    key: str
    value: Any
    words: str


@dataclass
class Saved(Message):
    """A setting was written, or the project's file approved."""

    text: str


class SettingsScreen(MainScreen):
    """One row for each setting; enter changes it."""

    keys_of = "settings"
    CSS_PATH: ClassVar[list[str | PurePath]] = ["main.tcss", "settings.tcss"]

    def __init__(self) -> None:
        super().__init__()
        self._tb_values: Values | None = None
        self._tb_asked: Asked | None = None
        self._tb_edited = ""

    def compose(self) -> ComposeResult:
        yield self.head()
        yield TextLine(id="about")
        yield FilterLine(id="filter")
        yield RowList(self.takeback.glyphs, id="rows")
        yield Static(id="setting", markup=False)
        yield Input(id="value", compact=True)
        yield TextLine("Reading…", id=STATUS)
        yield KeyLine(self.keys_of, id="keys")

    # --- Rows --------------------------------------------------------------------------------

    def prepare(self, record: Record) -> Values | TakebackError:
        try:
            return self._values()
        except TakebackError as error:
            return error

    def _values(self) -> Values:
        """The settings as the files have them now.

        Raises:
            ConfigError: the user's file cannot be used.
        """
        app = self.takeback
        project = app.project
        now = engine_config.load(project.root, project.data)
        user = engine_config.load(None, project.data)
        own = engine_config.user_file()
        wanted = settings.set_in(os.path.join(project.root, PROJECT_FILE))
        keys_file = keymap.path_of(engine_config.config_dir(), now.keys)
        fitting, _ = theming.chosen(theming.AUTO, app.themes.all, app.terminal)
        return Values(
            now,
            user,
            frozenset(settings.set_in(own)),
            folder_words(own),
            bool(os.environ.get("TAKEBACK_CONFIG_DIR")),
            settings_rows.loosening(now.ignored, wanted),
            (folder_words(keys_file), os.path.exists(keys_file)),
            {"theme": fitting, "glyphs": "unicode" if app.terminal.unicode else "ascii"},
        )

    def show(self, prepared: object) -> None:
        if isinstance(prepared, TakebackError):
            self.query_one("#rows", RowList).fill([])
            self.say(sentence(prepared), True)
            return
        self._tb_values = values = cast("Values", prepared)
        self.query_one("#about", TextLine).say(settings_rows.about(values))
        wide = self.has_class("-wide")
        rows = settings_rows.rows(values, self.takeback.glyphs, self.filter_words, wide)
        self.query_one("#rows", RowList).fill(rows)
        self._explain()

    def on_resize(self) -> None:
        if self.stands and self._tb_values is not None:
            self.show(self._tb_values)

    def on_row_list_moved(self, message: RowList.Moved) -> None:
        message.stop()
        if self.stands:
            if self._tb_asked is not None:
                self._drop()
            self._explain()

    def _explain(self) -> None:
        """Say what the setting under the cursor does."""
        row = self.query_one("#rows", RowList).current
        lines = settings_rows.details(row, self._tb_values) if self._tb_values is not None else []
        self.query_one("#setting", Static).update(Content("\n".join(lines)))

    # --- Changing ----------------------------------------------------------------------------

    @property
    def _at_cursor(self) -> tuple[str, str]:
        """What the cursor is on: its kind and the name of the setting."""
        row = self.query_one("#rows", RowList).current
        what, _, name = row.key.partition(":") if row is not None else ("", "", "")
        return what, name

    def on_row_list_picked(self, message: RowList.Picked) -> None:
        message.stop()
        if message.twice:
            self.action_change()

    def action_change(self) -> None:
        """Change the setting of this row, or begin to."""
        what, name = self._at_cursor
        values = self._tb_values
        if values is None:
            return
        if what == "approve":
            self._ask(Asked("", None, "Approve this project's settings file as it is now?"))
        elif what != "setting":
            return
        elif name == "theme":
            self.takeback.action_themes()
        elif settings_rows.kind(name) in ("switch", "choice"):
            self._want(name, settings_rows.following(name, engine_config.get(values.user, name)))
        else:
            self._edit(name, engine_config.get(values.user, name))

    def action_default(self) -> None:
        """Set the setting of this row back to its default."""
        what, name = self._at_cursor
        if what == "setting" and self._tb_values is not None:
            self._want(name, engine_config.default_of(name))

    def _edit(self, name: str, value: Any) -> None:
        self._tb_edited = name
        line = self.query_one("#value", Input)
        line.value = settings_rows.typed(name, value)
        line.display = True
        self.set_focus(line)
        self.say(keys.words(f"{name}: enter changes it, {{common.go_back}} leaves it as it is."))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        if message.input.id != "value" or not self._tb_edited:
            return
        message.stop()
        name = self._tb_edited
        try:
            value = verbs_setup.checked(name, message.value)
        except TakebackError as error:
            self.say(sentence(error), True)
            return
        self._leave_line()
        self._want(name, value)

    def _leave_line(self) -> None:
        self._tb_edited = ""
        line = self.query_one("#value", Input)
        line.display = False
        self.query_one("#rows", RowList).focus()

    def _want(self, name: str, value: Any) -> None:
        """Write a value, or ask first where it protects less."""
        values = self._tb_values
        if values is None:
            return
        current = engine_config.get(values.user, name)
        if engine_config.risks(name, value, current):
            words = verbs_setup.loosened_words(name, value, current)
            self._ask(Asked(name, value, words))
        else:
            self._write(Asked(name, value, ""))

    def _ask(self, asked: Asked) -> None:
        self._tb_asked = asked
        self.show_keys()
        self.say(f"{asked.words} {keys.words(_AGREE)}", True)

    @property
    def asking(self) -> bool:
        return self._tb_asked is not None

    def action_agree(self) -> None:
        if self._tb_asked is not None:
            self._write(self._tb_asked)

    def on_screen_suspend(self) -> None:
        # A yes answers what is seen; another project may be open when one comes back.
        if self._tb_asked is not None:
            self._drop()

    def _drop(self) -> None:
        """Leave what was asked as it is."""
        self._tb_asked = None
        self.show_keys()
        self.say("Nothing was changed.")

    def _write(self, asked: Asked) -> None:
        # What was asked before is not what a later yes answers.
        self._tb_asked = None
        self.show_keys()
        project = self.takeback.project

        def call() -> Message:
            if asked.key:
                settings.save(asked.key, asked.value)
                text = f"{asked.key} = {safe(settings.written(asked.value))}"
            else:
                text = verbs_setup.approved_words(engine_config.approve(project.root, project.data))
            project.read_settings()
            if asked.key and engine_config.get(project.config, asked.key) != asked.value:
                text += " It is written; this project's .takeback.toml has another value."
            return Saved(text)

        def failed(error: BaseException) -> Message:
            return Said(sentence(error), True)

        self.takeback.desk.call(self, "Saving", call, failed, can_stop=False)

    def on_saved(self, message: Saved) -> None:
        message.stop()
        app = self.takeback
        app.use_settings()
        # The record is as it was: what is said here stays.
        self._tb_record = app.record
        self.say(f"{app.glyphs.done} {message.text}")
        app.prepare()

    def on_said(self, message: Said) -> None:
        message.stop()
        self.say(message.text, message.warning)

    def back(self) -> bool:
        if self._tb_edited:
            self._leave_line()
            self.say("Nothing was changed.")
            return True
        if self._tb_asked is not None:
            self._drop()
            return True
        return super().back()
