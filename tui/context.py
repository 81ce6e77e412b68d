"""What every verb needs from its arguments: the caller's folder, texts, the data folder."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from takeback.engine.errors import UsageError
from takeback.engine.store import paths

if TYPE_CHECKING:
    from takeback.tui.arguments import Arguments


def folder(args: Arguments) -> bytes:
    """The caller's folder, absolute: ``-C``, else the current one.

    Raises:
        UsageError: the current folder no longer exists.
    """
    given = os.fsencode(args.value("-C"))
    if b"\0" in given:
        raise UsageError("The value of '-C' holds a NUL. Nothing was done.")
    try:
        here = os.getcwdb()
    except OSError as error:
        if not os.path.isabs(given):
            raise UsageError(
                f"The current folder cannot be used: {error.strerror}. Nothing was done.",
                "Go to an existing folder, or name one with -C.",
            ) from error
        here = b"/"
    return os.path.normpath(os.path.join(here, given)) if given else here


def current(root: bytes) -> bytes:
    """The folder in which a command would be typed; the project's where there is none."""
    try:
        return os.getcwdb()
    except OSError:
        return root


def data(args: Arguments) -> bytes:
    """The data folder of the options or the environment."""
    return paths.data_dir(args.value("--data-dir") or None)


def texts(args: Arguments, *names: str) -> dict[str, str]:
    """The values of options that read standard input when they are ``-``.

    Raises:
        UsageError: more than one of them wants standard input.
    """
    values = {name: args.value(name) for name in names}
    wanting = [name for name in names if values[name] == "-"]
    if len(wanting) > 1:
        raise UsageError(
            f"{wanting[0]} and {wanting[1]} cannot both read standard input. Nothing was done.",
            "Give one of them as an argument.",
        )
    for name in wanting:
        raw = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
        values[name] = raw.removesuffix("\n")
    return values
