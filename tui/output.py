"""Where answers and messages go: one document or lines to stdout, messages to stderr.

A reader that stops reading early (a pager, ``head``) is no failure of the command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from takeback.engine.errors import TakebackError


class Output:
    """The two streams of a command.

    Attributes:
        json: answer with a document instead of lines.
    """

    def __init__(self, json: bool = False) -> None:
        self.json = json
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines for people to stdout; nothing if the answer is a document."""
        if not self.json:
            self._write("".join(f"{line}\n" for line in lines))

    def raw(self, data: bytes) -> None:
        """Write bytes that a program reads, such as a patch, as they are."""
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except OSError as error:
            self._gone(error)

    def document(self, document: Mapping[str, Any]) -> None:
        """Write the one JSON document."""
        from takeback.tui.documents import dump

        self._write(dump(document) + "\n")

    def answer(self, document: Mapping[str, Any], lines: Iterable[str]) -> None:
        """Write the answer in the form that was asked for."""
        if self.json:
            self.document(document)
        else:
            self.lines(lines)

    def note(self, text: str) -> None:
        """Write a message to stderr."""
        say(text)

    def error(self, error: TakebackError) -> None:
        """Say why a command failed and what to do next."""
        if self.json:
            from takeback.tui import documents

            self.document(documents.error(error.message, error.hint, error.code))
        say(f"takeback: {error.message}")
        if error.hint:
            say(f"  {error.hint}")

    def ask(self, question: str) -> bool | None:
        """Ask yes or no on a terminal; None when there is nobody to ask."""
        if self.json or not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        sys.stdout.flush()
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:
            self._gone(error)

    @staticmethod
    def _gone(error: OSError) -> None:
        _silence(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise TakebackError(
                f"The answer could not be written: {error.strerror}.",
                "What the command did is in takeback history.",
            ) from error


def say(text: str) -> None:
    """Write a message to stderr, if anybody still reads it."""
    from takeback.tui.text import safe

    try:
        sys.stderr.write("\n".join(safe(line) for line in text.split("\n")) + "\n")
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Let later writes, the interpreter's own at exit included, go nowhere."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, stream.fileno())
    except (OSError, ValueError):
        pass
    finally:
        os.close(null)
