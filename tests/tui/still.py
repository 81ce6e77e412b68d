"""Recorded projects whose times stand still, so that a picture of them is always the same."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from takeback.engine.model import Call, Event, Operation, Session, Step, Turn
from takeback.engine.project import Project, TurnHandle

if TYPE_CHECKING:
    pass

SECOND = 1_000_000_000
NOW = 1_796_133_600 * SECOND
"""2026-12-01 14:00 UTC."""
_APART = 4 * 3600 * SECOND


class StillProject(Project):
    """A project that says of everything that it happened at a time of its place in the order."""

    def sessions(self, counts: bool = False) -> tuple[Session, ...]:
        return tuple(map(_session, super().sessions(counts)))

    def glimpse(self, turns: int = 3) -> tuple[Session, ...]:
        return tuple(map(_session, super().glimpse(turns)))

    def operations(self) -> tuple[Operation, ...]:
        found = super().operations()
        return tuple(
            replace(one, at_ns=NOW - (len(found) - at) * 60 * SECOND)
            for at, one in enumerate(found)
        )


def begun(turn: Turn) -> int:
    """Turns begin four hours apart, the tenth at 13:00 today."""
    return NOW - 3600 * SECOND - (10 - turn.n) * _APART


def _session(session: Session) -> Session:
    turns = tuple(map(_turn, session.turns))
    if not turns:
        return session
    return replace(session, turns=turns, begun_ns=turns[0].begun_ns, ended_ns=turns[-1].ended_ns)


def _turn(turn: Turn) -> Turn:
    at = begun(turn)
    number = len(turn.calls)
    return replace(
        turn,
        steps=tuple(_step(step, at) for step in turn.steps),
        begun_ns=at,
        ended_ns=0 if turn.state == "running" else at + (number + 1) * 9 * SECOND,
        last_event_ns=at + number * 9 * SECOND,
    )


def _step(step: Step, at: int) -> Step:
    calls = tuple(_call(call, at) for call in step.calls)
    first = calls[0].begun_ns if calls else at
    return replace(step, calls=calls, begun_ns=first, ended_ns=first + 5 * SECOND)


def _call(call: Call, at: int) -> Call:
    first = at + call.number * 9 * SECOND
    ended = 0 if call.state == "running" else first + 3 * SECOND
    return replace(call, begun_ns=first, ended_ns=ended)


# --- What is recorded ----------------------------------------------------------------------------

Write = Callable[[str, str], None]


class Book:
    """A project that is being written and recorded, at ``~/shop``."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "shop"
        self.folder.mkdir()
        self.project = Project.open(str(self.folder), str(home / "data"))

    def write(self, name: str, text: str) -> None:
        """Write a file without saying so: as a person does, or a command."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def edit(self, turn: TurnHandle, name: str, text: str) -> None:
        """An edit call that writes a file."""
        with turn.edit(name):
            self.write(name, text)

    def shell(self, turn: TurnHandle, command: str, **files: str) -> None:
        """A shell call that writes some files."""
        with turn.shell(command):
            for name, text in files.items():
                self.write(name.replace("__", "/"), text)

    def done(self) -> Path:
        self.project.close()
        return self.folder


def lines(word: str, count: int) -> str:
    return "".join(f"{word}_{number} = {number}\n" for number in range(count))


def shop(home: Path) -> Path:
    """Three sessions over two days: edits, commands, a person's own edit, answers in markdown."""
    book = Book(home)
    book.write("shop/tax.py", lines("rate", 12))
    book.write("shop/cart.py", lines("cart", 20))
    book.write("gen/table.json", '{"DE": 19}\n')
    book.write("README.md", "# Shop\n")
    project = book.project
    with project.turn("s-plan", "codex", "Write the README") as turn:
        book.edit(turn, "README.md", "# Shop\n\nSells things.\n")
        turn.step("The README says what the shop does.")
    with project.turn("s-cart", "claude", "Fix the flaky cart test") as turn:
        book.edit(turn, "shop/cart.py", lines("cart", 20).replace("cart_3 = 3", "cart_3 = 4"))
        book.shell(turn, "pytest -q")
        turn.step("It failed only when the clock was slow.")
    with project.turn("s-tax", "claude", "Move checkout to the new tax API") as turn:
        book.edit(turn, "shop/tax.py", lines("rate", 12) + "def rate(country): ...\n")
        book.edit(turn, "shop/client.py", lines("client", 30))
        turn.step(
            "## Done so far\n\nThe client is **new**; `rate` asks it:\n\n- one call a country\n"
            "- no table in memory\n\n```python\nclient.rate('DE')\n```\n"
        )
        book.edit(turn, "tests/test_tax.py", lines("test", 8))
        turn.step("Three files changed.")
    with project.turn("s-tax", "claude", "Now delete the old table and build it anew") as turn:
        book.edit(turn, "shop/tax.py", lines("rate", 4) + "def rate(country):\n    return 19\n")
        book.shell(turn, "make gen", gen__table_json='{"DE": 19, "FR": 20}\n')
        (book.folder / "gen/table.json").unlink()
        turn.step("The table is gone.")
    with project.turn("s-tax", "claude", "Add the Swiss rate") as turn:
        book.edit(turn, "shop/tax.py", lines("rate", 4) + "def rate(country):\n    return 8.1\n")
        book.edit(turn, "shop/swiss.py", lines("swiss", 6))
        turn.step("`8.1` stands in `shop/tax.py`.")
    return book.done()


def empty(home: Path) -> Path:
    """Nothing was recorded; the folder is no repository."""
    book = Book(home)
    book.write("notes.txt", "Call the accountant.\n")
    return book.done()


def interrupted(home: Path) -> Path:
    """The last turn was broken off in the middle of a command."""
    book = Book(home)
    book.write("a.txt", "one\n")
    project = book.project
    try:
        with project.turn("s", "claude", "Rebuild everything") as turn:
            book.edit(turn, "a.txt", "two\n")
            with turn.shell("make all"):
                book.write("half.o", "half\n")
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    return book.done()


def running(home: Path) -> Path:
    """A turn is going on: one call is done, one runs."""
    book = Book(home)
    book.write("a.txt", "one\n")
    project, folder = book.project, os.fsencode(book.folder)
    project.record(
        Event("begin", "s", folder, agent="claude", prompt="Keep going", pid=os.getpid())
    )
    project.record(
        Event("tool-begin", "s", folder, call="1", tool="Edit", call_kind="edit", paths=(b"a.txt",))
    )
    book.write("a.txt", "two\n")
    project.record(Event("tool-end", "s", folder, call="1", call_kind="edit", paths=(b"a.txt",)))
    project.record(
        Event(
            "tool-begin", "s", folder, call="2", tool="Bash", call_kind="shell", command="make all"
        )
    )
    return book.done()


def conflict(home: Path) -> Path:
    """A file that a person changed in the same place after the turn, and one in another."""
    book = Book(home)
    book.write("same.txt", "one\ntwo\nthree\n")
    book.write("other.txt", lines("line", 20))
    with book.project.turn("s", "claude", "Change both files") as turn:
        book.edit(turn, "same.txt", "one\nTWO\nthree\n")
        book.edit(turn, "other.txt", lines("line", 20).replace("line_1 ", "LINE_1 "))
        book.edit(turn, "made.txt", "made\n")
    book.write("same.txt", "one\nmine\nthree\n")
    text = lines("line", 20).replace("line_1 ", "LINE_1 ").replace("line_18 ", "MINE_18 ")
    book.write("other.txt", text)
    for name in ("same.txt", "other.txt"):
        os.utime(book.folder / name, ns=(NOW, NOW - 600 * SECOND))
    return book.done()


def not_captured(home: Path) -> Path:
    """A file over the limit, and a secret, both touched by the turn."""
    book = Book(home)
    book.write("a.txt", "one\n")
    with book.project.turn("s", "claude", "Fetch the data") as turn:
        book.edit(turn, "a.txt", "two\n")
        with turn.edit(".env"):
            book.write(".env", "KEY=1\n")
        with turn.shell("curl -O big.bin"), open(book.folder / "big.bin", "wb") as file:
            file.truncate(11 << 20)
    return book.done()


def undone(home: Path) -> Path:
    """Two turns, the newer one taken back, an older one too and put back again."""
    folder = shop(home)
    project = Project.open(str(folder), str(home / "data"))
    from takeback.engine.model import Request

    project.apply(project.plan(Request("undo")))
    project.apply(project.plan(Request("undo", turn="3")))
    project.apply(project.plan(Request("redo")))
    project.close()
    return folder


def huge(home: Path) -> Path:
    """One file with 20,000 changed lines."""
    book = Book(home)
    book.write("big.py", lines("value", 10_000))
    with book.project.turn("s", "claude", "Rewrite it") as turn:
        book.edit(turn, "big.py", lines("result", 10_000))
    return book.done()


def scripts(home: Path) -> Path:
    """Prompts and names in scripts that are wide, that join, and that run from right to left."""
    book = Book(home)
    names = ("文档/说明.md", "docs/שלום.txt", "e\u0301te\u0301.txt", "[red]x[/].py", "🎉.txt")
    with book.project.turn(
        "s", "claude", "把税率移到新的文件里，然后删除旧的表格 🎉👩‍👩‍👧"
    ) as turn:
        for name in names:
            book.edit(turn, name, f"{name}\n新的一行\nשורה חדשה\n")
        turn.step("完成了：**全部**文件都更新了。")
    with book.project.turn("s", "claude", "העבר את שיעורי המס לקובץ חדש ומחק את הטבלה") as turn:
        book.edit(turn, "docs/שלום.txt", "שלום עולם\n")
    return book.done()


def long_paths(home: Path) -> Path:
    """Paths and a prompt that no terminal has room for."""
    book = Book(home)
    deep = "/".join(f"a-folder-with-a-long-name-{number}" for number in range(6))
    with book.project.turn("s", "claude", "Move it all " + "very " * 60 + "deep") as turn:
        book.edit(turn, f"{deep}/the-file-that-matters.py", lines("x", 3))
        book.edit(turn, f"{deep}/{'n' * 120}.txt", lines("y", 3))
        book.shell(turn, "find . -name '*.pyc' -print0 | xargs -0 rm -f && " + "echo done; " * 30)
    return book.done()


WORLDS: dict[str, Callable[[Path], Path]] = {
    made.__name__: made
    for made in (
        shop, empty, interrupted, running, conflict, not_captured, undone, huge, scripts,
        long_paths,
    )
}  # fmt: skip


def freeze(monkeypatch: object) -> None:
    """Let the app believe that it is two in the afternoon, in Greenwich."""
    setter = monkeypatch.setattr  # type: ignore[attr-defined]
    setter(time, "time_ns", lambda: NOW)
    setter(time, "time", lambda: NOW / SECOND)
