"""A session of nine turns and forty steps, really recorded: for what a reviewer does with it."""

from __future__ import annotations

import shutil
from pathlib import Path

from takeback.engine.project import Project

LINES = [f"line {number}\n" for number in range(1, 61)]
PLAN = """I will move **checkout** to the new tax API.

1. wire `api/client.py`
2. use `Decimal` everywhere
3. delete the old module

```python
def rate_for(country: str) -> Decimal:
    return client.rate(country)
```
Nothing outside of the project is touched.
"""
LONG_PROMPT = (
    "now delete the old tax module\n\nIt is not used any more since turn 5.\nKeep the tests."
)


def changed(number: int, text: str, of: str) -> str:
    """The lines with one of them replaced."""
    lines = of.splitlines(keepends=True)
    lines[number - 1] = f"{text}\n"
    return "".join(lines)


class Agent:
    """Edits files of a project in turns, each through the events that any agent reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = Project.open(str(folder))

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def record(self) -> None:
        """The nine turns; the newest changes four files, one of them by a command."""
        for name in ("checkout/tax.py", "checkout/old_tax.py", "README.md"):
            self.write(name, "".join(LINES))
        with self.project.turn("s", "claude", "move checkout to the new tax API") as turn:
            turn.step(PLAN)
        for n in range(2, 5):
            with self.project.turn("s", "claude", f"part {n} of the client") as turn:
                with turn.edit("api/client.py"):
                    self.write("api/client.py", self.read("api/client.py") + f"part {n}\n")
                turn.step(f"Part {n} is there.")
        with self.project.turn("s", "claude", "wire the new client") as turn:
            for number in range(1, 16):
                with turn.edit(f"api/part{number}.py"):
                    self.write(f"api/part{number}.py", f"part {number}\n")
                turn.step()
        with self.project.turn("s", "claude", "plan only") as turn:
            turn.step("There is nothing to do here.")
        with self.project.turn("s", "claude", "use Decimal everywhere") as turn:
            for number in range(1, 15):
                with turn.edit("checkout/tax.py"):
                    text = changed(4 * number, f"decimal {number}", self.read("checkout/tax.py"))
                    self.write("checkout/tax.py", text)
                turn.step()
        with self.project.turn("s", "claude", "add tests for EU rates") as turn:
            with turn.edit("tests/test_eu.py"):
                self.write("tests/test_eu.py", "def test_eu(): ...\n")
            with turn.shell("pytest -q"):
                pass
            turn.step("All pass.")
        with self.project.turn("s", "claude", LONG_PROMPT) as turn:
            turn.step("I delete it now.")
            with turn.edit("checkout/tax.py"):
                self.write("checkout/tax.py", changed(60, "no table", self.read("checkout/tax.py")))
            with turn.edit("checkout/old_tax.py"):
                (self.folder / "checkout/old_tax.py").unlink()
            turn.step()
            with turn.shell("make gen"):
                self.write("gen/table.json", "{}\n")
            turn.step()
            with turn.edit("tests/test_tax.py"):
                self.write("tests/test_tax.py", "def test_tax(): ...\n")
            turn.step("Done: **3 files**, and `make gen` made another.")
        self.project.close()


class Recorded:
    """The folder of that session and its store, put back as they were for each test.

    The environment must lead to `data` below the base.
    """

    def __init__(self, base: Path) -> None:
        self.folder = base / "project"
        self.data = base / "data"
        self._kept = base / "kept"
        self.folder.mkdir()
        Agent(self.folder).record()
        for name in ("project", "data"):
            shutil.copytree(base / name, self._kept / name, symlinks=True)

    def fresh(self) -> Path:
        """The project as it was recorded; its path never differs, for stores know it."""
        for there in (self.folder, self.data):
            shutil.rmtree(there)
            shutil.copytree(self._kept / there.name, there, symlinks=True)
        return self.folder

    def files(self) -> dict[str, bytes]:
        """Every file of the project with its bytes."""
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}
