"""Changing one value in the user's settings file, by line: everything else stays as it is."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import Any

from takeback.engine.config import read_bytes, user_file
from takeback.engine.errors import UsageError

Value = str | int | bool | tuple[str, ...]


def parse(text: str) -> Any:
    """A value as typed on the command line: TOML where it is some, else the text itself."""
    try:
        found = tomllib.loads(f"value = {text}\n")
    except tomllib.TOMLDecodeError:
        return text
    return found["value"] if len(found) == 1 else text


def written(value: Value) -> str:
    """A value as TOML, on one line.

    Raises:
        UsageError: a text that TOML cannot hold.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(written(item) for item in value) + "]"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError(
            "A setting can only hold text that is UTF-8. Nothing was changed."
        ) from error
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(line: str, key: str) -> str:
    """The comment at the end of a line that sets a key, with the blanks before it."""
    for at in (match.start() for match in re.finditer(r"\s*#", line)):
        try:
            if key in tomllib.loads(line[:at] + "\n"):
                return line[at:]
        except tomllib.TOMLDecodeError:
            continue
    return ""


def changed(text: str, key: str, value: Value) -> str:
    """The text of a settings file with one value set.

    Raises:
        UsageError: it cannot be set without touching what is the user's; nothing was changed.
    """
    before = tomllib.loads(text)
    lines = text.splitlines(keepends=True)
    tables = [at for at, line in enumerate(lines) if line.lstrip().startswith("[")]
    setting = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    for at in [at for at, line in enumerate(lines) if setting.match(line)]:
        new = [*lines]
        line = lines[at].rstrip("\r\n")
        end = lines[at][len(line) :]
        new[at] = f"{key} = {written(value)}{_comment(line, key)}{end}"
        if _says("".join(new), {**before, key: _plain(value)}):
            return "".join(new)
    new_line = f"{key} = {written(value)}\n"
    for at in [len(lines), *tables]:
        head = lines[:at]
        if head and not head[-1].endswith("\n"):
            head[-1] += "\n"
        result = "".join([*head, new_line, *lines[at:]])
        if _says(result, {**before, key: _plain(value)}):
            return result
    raise UsageError(
        f"The setting {key!r} could not be changed without touching the rest of the settings "
        "file. Nothing was changed.",
        "Edit the file by hand.",
    )


def save(key: str, value: Value) -> bool:
    """Set one value in the user's own file; whether that changed anything.

    Raises:
        UsageError: it cannot be set there.
        OSError: the file cannot be read or written.
    """
    from takeback.engine.store.store import make_private, write_file

    path = os.path.realpath(user_file())
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
    except FileNotFoundError:
        text = ""
    new = changed(text, key, value)
    if new == text:
        return False
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        make_private(folder)
    write_file(path, new.encode(), durable=True)
    return True


def set_in(path: bytes) -> dict[str, Any]:
    """What a settings file sets; nothing where there is none or it cannot be used."""
    try:
        data = read_bytes(path)
        return tomllib.loads(data.decode("utf-8")) if data is not None else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _plain(value: Value) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False
