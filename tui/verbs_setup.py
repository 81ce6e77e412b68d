"""The verb that shows and changes settings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from takeback.engine import config as engine_config
from takeback.engine.errors import Exit, UsageError
from takeback.tui import settings
from takeback.tui.text import counted, safe
from takeback.tui.verbs import open_project

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.engine.upkeep.doctor import Check
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output


def config(args: Arguments, out: Output) -> int:
    """Show all settings, show one, or change one in the user's own file."""
    project = open_project(args, out)
    if args.places[:1] == ("approve",):
        if len(args.places) > 1:
            raise UsageError(
                f"'config approve' does not take {args.places[1]!r}. Nothing was done."
            )
        return _approve(project, args, out)
    if not args.places:
        return _show_all(project, out)
    key = args.places[0]
    if key not in engine_config.names():
        raise _unknown(key)
    current = engine_config.get(project.config, key)
    if len(args.places) == 1:
        out.answer({"key": key, "value": _plain(current)}, [safe(settings.written(current))])
        return Exit.DONE
    return _change(project, key, args, out)


def _unknown(key: str) -> UsageError:
    from difflib import get_close_matches

    near = get_close_matches(key, engine_config.names(), 1)
    return UsageError(
        f"There is no setting {key!r}. Nothing was done.",
        f"Did you mean {near[0]!r}?" if near else "takeback config lists them.",
    )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _show_all(project: Project, out: Output) -> int:
    values = {key: engine_config.get(project.config, key) for key in engine_config.names()}
    file = os.fsdecode(engine_config.user_file())
    lines = [f"{key} = {safe(settings.written(value))}" for key, value in values.items()]
    lines.append(f"Your own settings are in {safe(file)}.")
    lines += [f"! {safe(text)}" for text in project.config.ignored]
    document = {
        "settings": {key: _plain(value) for key, value in values.items()},
        "file": file,
        "ignored": list(project.config.ignored),
    }
    out.answer(document, lines)
    return Exit.DONE


def checked(key: str, text: str) -> Any:
    """A typed value in the form that the setting has.

    Raises:
        UsageError: it does not fit the setting.
    """
    value = _fitting(key, text)
    if key == "theme":
        _known_theme(value)
    return value


def _fitting(key: str, text: str) -> Any:
    value = settings.parse(text)
    try:
        return engine_config.check(key, value)
    except UsageError as error:
        if not isinstance(value, str):
            try:
                return engine_config.check(key, text)
            except UsageError:
                pass
        message = error.message.replace("It was ignored.", "Nothing was changed.")
        raise UsageError(message, error.hint) from error


def _known_theme(name: str) -> None:
    """Refuse a theme that there is not.

    Raises:
        UsageError: with the name that may have been meant.
    """
    from takeback.tui import theming

    found = theming.load(os.path.join(engine_config.config_dir(), b"themes"))
    if name != theming.AUTO and name not in found.all:
        raise UsageError(
            f"{theming.missing(name, found.all)} Nothing was changed.",
            f"There are {', '.join(safe(known) for known in sorted(found.all))} and auto.",
        )


def _change(project: Project, key: str, args: Arguments, out: Output) -> int:
    value = checked(key, args.places[1])
    current = engine_config.get(engine_config.load(None, project.data), key)
    document = {"key": key, "value": _plain(value), "before": _plain(current)}
    shown = f"{key} = {safe(settings.written(value))}"
    if engine_config.risks(key, value, current) and not args.flag("--yes"):
        out.note(f"takeback: {loosened_words(key, value, current)}")
        if not out.ask("Change it?"):
            out.note("takeback: Nothing was changed. Say --yes to change it.")
            if out.json:
                out.document({**document, "changed": False})
            return Exit.DECIDE
    written = settings.save(key, value)
    out.answer({**document, "changed": written}, [shown])
    return Exit.DONE


def loosened_words(key: str, value: Any, current: Any) -> str:
    """What has to be agreed to before a value that protects less is written."""
    shown = f"{key} = {safe(settings.written(value))}"
    return f"{shown} changes what is protected (now {safe(settings.written(current))})."


def approved_words(names: Sequence[str]) -> str:
    """What is said once a project's file is approved."""
    return f"Approved .takeback.toml, which sets {safe(', '.join(names)) or 'nothing'}."


def _approve(project: Project, args: Arguments, out: Output) -> int:
    waiting = [text for text in project.config.ignored if text.startswith(".takeback.toml")]
    if not args.flag("--yes"):
        for text in waiting:
            out.note(f"takeback: {text}")
        if not out.ask("Approve this project's settings file as it is now?"):
            out.note("takeback: Nothing was approved. Say --yes to approve it.")
            if out.json:
                out.document({"approved": []})
            return Exit.DECIDE
    approved = engine_config.approve(project.root, project.data)
    out.answer({"approved": approved}, [approved_words(approved)])
    return Exit.DONE


def looks(data: bytes) -> tuple[Check, Check]:
    """What ``doctor`` says about the user's themes and keys."""
    from takeback.engine.upkeep.doctor import Check
    from takeback.tui import keymap, theming
    from takeback.tui.keys import TABLE as defaults
    from takeback.tui.terminal import FULL

    try:
        settled = engine_config.load(None, data)
    except UsageError:
        # Another check says what is wrong with the settings.
        settled = engine_config.Config()
    folder = engine_config.config_dir()
    found = theming.load(os.path.join(folder, b"themes"))
    wrong = [*found.wrong, theming.chosen(settled.theme, found.all, FULL)[1]]
    wrong = [text for text in wrong if text]
    sum_of = f"{len(found.all)} themes, {len(found.own)} of them yours."
    themes = Check(
        "themes",
        not wrong,
        " ".join([*wrong, *found.notes] or [sum_of]),
        "Mend the file; what is wrong in it does not count until then." if wrong else "",
    )
    table, odd = keymap.load(folder, settled.keys)
    changed = len(set(table) - set(defaults))
    words = f"{counted(changed, 'action')} on keys of your own." if changed else "The default keys."
    keys = Check(
        "keys",
        not odd,
        " ".join(odd) or words,
        "Mend the file; these lines do not count until then." if odd else "",
    )
    return themes, keys
