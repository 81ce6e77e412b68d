"""A captured run of an agent once more: what the tests of all agents have in common."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from takeback.engine.agents import hook
from takeback.engine.model import Request, Turn
from takeback.engine.project import Project

SHOP = {
    "README.md": "# shop\n\nA tiny shop.\n",
    "src/cart.py": "def total(prices):\n    return sum(prices) - 1\n\n\n"
    "def greet(name):\n    return 'hello ' + name\n",
    "src/price.py": "VAT = 0.2\n\n\ndef gross(net):\n    return net * (1 + VAT)\n",
    "config.ini": "[shop]\nlevel = 1\n",
    "old.txt": "an old file\n",
    ".gitignore": ".env\nbuild/\n",
    ".env": "PORT=8000\n",
    "src/app.py": "def greet(name):\n    return 'hello ' + name\n\n\ndef add(a, b):\n"
    "    return a - b\n",
    "data/config.ini": "level = 1\n",
}
"""The project of the captured runs as it was before them."""

FIRST = {"NOTES.md": ("added", "tool-edit"), "src/cart.py": ("modified", "tool-edit")}
SECOND = {
    "config.ini": ("modified", "during-call"),
    "old.txt": ("deleted", "during-call"),
    "gen.txt": ("added", "during-call"),
    "src/cart.py": ("modified", "tool-edit"),
}
"""What the first two of three turns did; the third only said something."""

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
WEIRD = st.text(st.characters(), max_size=6) | JUNK


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def changes(turn: Turn) -> dict[str, tuple[str, str]]:
    return {os.fsdecode(c.path): (c.status, c.evidence) for c in turn.changes}


def summary(turn: Turn) -> tuple[str, str, int, int]:
    return turn.prompt.split(" ")[0], turn.state, len(turn.steps), len(turn.calls)


class Replay:
    """A captured run once more: its payloads to the hook, its writes to a folder of ours.

    Attributes:
        agent: as takeback calls it.
        variables: of the environment, which must not reach the hook from whoever runs the tests.
    """

    agent = ""
    variables: tuple[str, ...] = ()

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.data = place / "shop", place / "data"
        self._patch = monkeypatch
        for name, text in SHOP.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(place / "config"))
        for name in ("TAKEBACK_RUN", *self.variables):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(os, "isatty", lambda fd: False)

    def moved(self, text: str) -> str:
        """A text of the captured run with the places of this one."""
        text = text.replace("/home/dev/shop", str(self.root))
        return text.replace("/home/dev/", f"{self.root.parent}/")

    def send(self, payload: object) -> None:
        """Give the hook a payload."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        data = self.moved(data.decode("utf-8", "surrogateescape")).encode(
            "utf-8", "surrogateescape"
        )
        self._patch.setattr(hook, "_read", lambda: data)
        assert hook.main(self.agent, str(self.data)) == 0

    def shell(self, command: str) -> None:
        """What a command of the agent's did: one that takes long was stopped halfway."""
        if "sleep" in command:
            (self.root / "slow1.txt").write_text("before\n")
        else:
            words = ["sh", "-c", self.moved(command)]
            subprocess.run(words, cwd=self.root, capture_output=True, check=False)

    def write(self, path: str, text: str) -> None:
        """What a tool of the agent's wrote."""
        file = self.root / self.moved(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def errors(self) -> list[dict[str, Any]]:
        path = self.data / "errors.jsonl"
        return lines(path) if path.exists() else []

    def project(self) -> Project:
        return Project.open(os.fsencode(self.root), str(self.data))

    def turns(self) -> list[Turn]:
        found = [turn for session in self.project().sessions() for turn in session.turns]
        return sorted(found, key=lambda turn: turn.n)


def takes_all_back(replay: Replay) -> None:
    """Two turns taken back give the bytes from before the run."""
    project = replay.project()
    for _ in range(2):
        project.apply(project.plan(Request("undo", selection="all")))
    for name, text in SHOP.items():
        assert (replay.root / name).read_text("utf-8") == text
    assert not (replay.root / "NOTES.md").exists() and not (replay.root / "gen.txt").exists()
