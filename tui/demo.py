"""``takeback demo``: a throw-away project with a recorded session, to try everything on.

The session is real: an agent of our own edits files through the same events that any agent
reports, and its shell command really runs. Without a terminal the demo also plays a story: it
takes turns back and puts them back with the real commands, and compares every byte.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from takeback.engine.errors import Exit, TakebackError
from takeback.engine.model import Event

if TYPE_CHECKING:
    from takeback.engine.project import Project
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output

SESSION = "demo"
AGENT = "demo-agent"

_CART = """\
from shop.tax import rate


class Cart:
    def __init__(self, country):
        self.country = country
        self.prices = []

    def add(self, price):
        self.prices.append(price)

    def net(self):
        return sum(self.prices)
"""
_TAX = """\
def rate():
    return 0.19
"""
_FILES = {
    "data/rates.csv": "DE,0.19,2007\nFR,0.20,2014\nCH,0.081,2024\n",
    "docs/tax.md": "# Tax\n\nEvery price is net.\n",
    "notes.txt": "Call the accountant.\n",
    "shop/cart.py": _CART,
    "shop/legacy.py": "OLD_RATE = 0.16\n",
    "shop/tax.py": _TAX,
}

_CART_TOTAL = (
    _CART
    + """
    def total(self):
        return self.net() * (1 + rate())
"""
)
_TEST = """\
from shop.cart import Cart


def test_total():
    cart = Cart("DE")
    cart.add(100)
    assert cart.total() == 119
"""
_TAX_BY_COUNTRY = """\
RATES = {"DE": 0.19, "FR": 0.20}


def rate(country):
    return RATES[country]
"""
_TAX_FROM_FILE = """\
def rate(country):
    with open("rates.txt") as file:
        return dict(line.split(",") for line in file)[country]
"""
_COMMAND = (
    "rm shop/legacy.py && cut -d, -f1,2 data/rates.csv > rates.txt"
    " && echo 'The rates are in rates.txt.' >> docs/tax.md"
)

Files = dict[str, bytes]


class DemoFailed(TakebackError):
    """The demo found other bytes than it should have."""


class _Agent:
    """An agent that reports what it does, as any agent or script can."""

    def __init__(self, project: Project, folder: Path) -> None:
        self._project = project
        self._folder = folder
        self._calls = 0

    def _tell(self, event: Event) -> None:
        self._project.record(event)

    @contextmanager
    def turn(self, prompt: str) -> Iterator[None]:
        folder = os.fsencode(self._folder)
        title = "Taxes by country"
        self._tell(Event("begin", SESSION, folder, agent=AGENT, prompt=prompt, title=title))
        yield
        self._tell(Event("end", SESSION, folder))

    @contextmanager
    def _call(self, begin: Callable[[str], Event]) -> Iterator[None]:
        self._calls += 1
        call = f"call-{self._calls}"
        self._tell(begin(call))
        yield
        self._tell(Event("tool-end", SESSION, os.fsencode(self._folder), call=call))

    def edit(self, name: str, text: str) -> None:
        path = self._folder / name
        tool = "Edit" if path.exists() else "Write"

        def begin(call: str) -> Event:
            return Event(
                "tool-begin",
                SESSION,
                os.fsencode(self._folder),
                call=call,
                tool=tool,
                call_kind="edit",
                paths=(os.fsencode(name),),
            )

        with self._call(begin):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def shell(self, command: str) -> None:
        def begin(call: str) -> Event:
            return Event(
                "tool-begin",
                SESSION,
                os.fsencode(self._folder),
                call=call,
                tool="Bash",
                call_kind="shell",
                command=command,
            )

        with self._call(begin):
            subprocess.run(["sh", "-c", command], cwd=self._folder, check=True)


def read(folder: Path) -> Files:
    """Every file of the project with its bytes."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def prepare(folder: Path, data_dir: str | None) -> list[Files]:
    """Make the project and let an agent work three turns in it.

    Returns:
        The files before each turn, and after the last one.
    """
    from takeback.engine.project import Project

    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    project = Project.open(os.fsencode(folder), data_dir)
    if project.root != os.path.realpath(os.fsencode(folder)):
        raise TakebackError(
            f"The folder for temporary files is inside the project {os.fsdecode(project.root)!r}. "
            "No demo was recorded.",
            "Set TMPDIR to a folder outside every project and try again.",
        )
    agent = _Agent(project, folder)
    states = [read(folder)]
    with agent.turn("Add a total with tax to the cart."):
        agent.edit("shop/cart.py", _CART_TOTAL)
        agent.edit("tests/test_cart.py", _TEST)
    states.append(read(folder))
    with agent.turn("Look the tax rate up by country."):
        agent.edit("shop/tax.py", _TAX_BY_COUNTRY)
        agent.edit("shop/cart.py", _CART_TOTAL.replace("rate()", "rate(self.country)"))
    # Here the user edits a file that the agent edited, too.
    cart = folder / "shop/cart.py"
    cart.write_text('"""What a customer buys."""\n\n' + cart.read_text("utf-8"), encoding="utf-8")
    states.append(read(folder))
    with agent.turn("Clean up, and read the rates from a file."):
        agent.edit("shop/tax.py", _TAX_FROM_FILE)
        agent.shell(_COMMAND)
        # The user saves a file of their own while the agent's turn is open.
        with open(folder / "notes.txt", "a", encoding="utf-8") as notes:
            notes.write("Ask about Swiss rates.\n")
    states.append(read(folder))
    return states


def _program() -> list[str]:
    """How this program is called from the caller's shell."""
    from shutil import which

    if which("takeback"):
        return ["takeback"]
    called = sys.argv[0]
    if os.path.basename(called) == "takeback":
        return [called]
    return [sys.executable, "-m", "takeback.tui.cli"]


class _Story:
    """Plays commands on the demo's project and checks what they leave."""

    def __init__(self, folder: Path, data_dir: str, out: Output) -> None:
        self.folder = folder
        self._out = out
        self._where = ["-C", str(folder), *(["--data-dir", data_dir] if data_dir else [])]

    def say(self, text: str) -> None:
        self._out.lines(text.split("\n"))

    def command(self, *words: str) -> str:
        """The command line to type for these words."""
        return shlex.join([*_program(), *self._where, *words])

    def play(self, *words: str) -> None:
        """Run a command in this process, with its own output.

        Raises:
            DemoFailed: it did not end as it should.
        """
        from takeback.tui.cli import main

        self.say(f"\n$ takeback {shlex.join(words)}")
        code = main([*self._where, *words])
        if code != Exit.DONE:
            raise DemoFailed(f"“takeback {shlex.join(words)}” ended with exit code {code}.")

    def check(self, want: Files, said: str) -> None:
        """Compare the project with what it should hold.

        Raises:
            DemoFailed: a byte differs.
        """
        now = read(self.folder)
        wrong = sorted(name for name in now.keys() | want.keys() if now.get(name) != want.get(name))
        if wrong:
            raise DemoFailed(f"These files do not hold what they should: {', '.join(wrong)}.")
        self.say(f"Checked {len(want)} files, byte for byte: {said}")


def _play(story: _Story, states: list[Files]) -> None:
    say = story.say
    after = states[3]
    say("\nThree turns of an agent are recorded, and the user edited files in between:")
    story.play("log")
    say("\nThe third turn was a mistake. What would be taken back?")
    story.play("undo", "--dry-run")
    say("\nOnly the file whose recorded edits say that the agent made them. That is safe to do:")
    story.play("undo")
    first = {**after, "shop/tax.py": states[2]["shop/tax.py"]}
    story.check(first, "shop/tax.py is what it was before turn 3, nothing else was touched.")
    say("\nThe shell command changed files, too. Nobody saw who wrote them, so it takes a yes:")
    story.play("undo", "--turn", "3", "--include-unknown", "--yes")
    second = {**states[2], "notes.txt": after["notes.txt"]}
    story.check(second, "all as before turn 3, and the user's notes.txt is kept.")
    say("\nAn older turn, in a file that the user edited later: the user's line stays.")
    story.play("undo", "--turn", "2")
    head = b'"""What a customer buys."""\n\n'
    third = {
        **second,
        "shop/tax.py": states[1]["shop/tax.py"],
        "shop/cart.py": head + states[1]["shop/cart.py"],
    }
    story.check(third, "turn 2 is gone, the user's line in shop/cart.py is there.")
    say("\nEvery undo can be put back, newest first:")
    story.play("redo")
    story.check(second, "as before the last undo.")
    story.play("redo")
    story.play("redo")
    story.check(after, "all as the agent left it.")


_TRY = (
    ((), "the full-screen app (? shows its keys)"),
    (("log",), "the turns and what they changed"),
    (("diff", "3"), "the third turn as a diff"),
    (("undo",), "take back the newest turn's edits"),
    (("undo", "--turn", "3", "--include-unknown"), "and what its shell command changed"),
    (("undo", "--turn", "2"), "an older turn, keeping the later edits"),
    (("redo",), "put back what an undo took"),
    (("history",), "what was taken back, and what comes next"),
)


def run(args: Arguments, out: Output) -> int:
    """Make the demo project; without a terminal, also play the story on it."""
    import tempfile

    from takeback.engine.store import paths

    data_dir = args.value("--data-dir")
    folder = Path(tempfile.mkdtemp(prefix="takeback-demo-")).resolve()
    states = prepare(folder, data_dir or None)
    story = _Story(folder, data_dir, out)
    say = story.say
    if out.json:
        commands = [story.command(*words) for words, _ in _TRY]
        out.document({"folder": str(folder), "session": SESSION, "commands": commands})
        return Exit.DONE
    say(f"A throw-away project with a recorded session: {folder}")
    if sys.stdout.isatty():
        story.play("log")
    else:
        _play(story, states)
    say("\nTry, on the same project:")
    for words, meaning in _TRY:
        say(f"  # {meaning}\n  {story.command(*words)}")
    store = os.fsdecode(paths.store_dir(paths.data_dir(data_dir or None), os.fsencode(folder)))
    say("\nIt is yours to break. To be rid of it and of what was recorded:")
    say(f"  {shlex.join(['rm', '-r', str(folder), store])}")
    return Exit.DONE
