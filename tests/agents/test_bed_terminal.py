"""The terminal apps of Gemini CLI and pi, driven by keys: what is broken off, refused, restored or
gone back from there is recorded and taken back. Opt-in, see test_bed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.gemini import conversation as gemini_talks
from takeback.engine.agents.gemini import resume as gemini_resume
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import Point
from tests.agents import terminal
from tests.agents.real import Bed, evidence
from tests.agents.terminal import Terminal, program

pytestmark = pytest.mark.agents

SLOW = "echo before > slow1.txt; sleep 600; echo after > slow2.txt"


def turn(name: str, *tools: dict[str, Any]) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"text": f"Doing {name}.", "tools": [*tools]}] if tools else []
    return {
        "match": f"[{name}]",
        "prompt": f"[{name}]",
        "title": name,
        "steps": [*steps, {"text": f"Done with {name}."}],
    }


SCENARIO = {
    "name": "terminal",
    "files": {},
    "turns": [
        turn("edit", {"op": "edit", "path": "config.ini", "old": "level = 1", "new": "level = 2"}),
        turn("slow", {"op": "bash", "command": SLOW}),
        turn("new", {"op": "write", "path": "new.txt", "content": "new\n"}),
        turn("chat"),
        {
            "match": "[bad]",
            "prompt": "[bad]",
            "title": "bad",
            "steps": [{"text": "", "status": 400}],
        },
    ],
}


class App:
    """An agent's terminal app in a project, with takeback connected."""

    def __init__(self, place: Path, agent: str) -> None:
        self.bed = Bed(place, "basic3", git=True)
        self.agent, self.home, self.shop = agent, self.bed.home, self.bed.shop
        self.words: list[str] = []
        self.env: dict[str, str] = {}
        self._windows = 0

    def connect(self) -> None:
        words = [sys.executable, "-m", "takeback.tui.cli", "install", self.agent]
        subprocess.run(
            [*words, "--data-dir", str(self.bed.data)],
            cwd=self.shop, env=self.bed.env, check=True, capture_output=True,
        )  # fmt: skip

    @contextmanager
    def model(self) -> Iterator[None]:
        """The scripted model, and the agent's settings for it, made before it is connected."""
        with terminal.model(self.bed.bed, SCENARIO, self.shop, self.home) as url:
            base = {
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                "LANG": "C.UTF-8",
                "TERM": "screen-256color",
            }
            if self.agent == "gemini":
                self._gemini(url, base)
            else:
                self._pi(url, base)
            yield

    def _gemini(self, url: str, base: dict[str, str]) -> None:
        script = program(self.bed.env, "gemini/node_modules/@google/gemini-cli/bundle/gemini.js")
        self.words = ["node", script, "-m", "gemini-2.5-flash"]
        self.env = {
            **base,
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }
        settings = {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "privacy": {"usageStatisticsEnabled": False},
            "general": {"enableAutoUpdate": False, "checkpointing": {"enabled": True}},
            "telemetry": {"enabled": False},
            "ide": {"enabled": False},
        }
        path = self.home / ".gemini/settings.json"
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(settings, indent=2)
        path.write_text(f"// Mine: {{\n{text[:-2]} /* the last */\n}} // over\n")

    def _pi(self, url: str, base: dict[str, str]) -> None:
        script = program(self.bed.env, "pi/node_modules/@mariozechner/pi-coding-agent/dist/cli.js")
        self.words = ["node", script]
        self.env = {**base, "PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1"}
        folder = self.home / ".pi/agent"
        folder.mkdir(parents=True, exist_ok=True)
        own = {"defaultProvider": "scripted", "defaultModel": "scripted"}
        (folder / "settings.json").write_text(json.dumps({**own, "sessionDir": "~/kept"}))
        provider = {
            "baseUrl": f"{url}/v1",
            "api": "openai-completions",
            "apiKey": "dummy",
            "models": [{"id": "scripted"}],
        }
        (folder / "models.json").write_text(json.dumps({"providers": {"scripted": provider}}))

    @contextmanager
    def opened(self, *more: str, folder: Path | None = None) -> Iterator[Terminal]:
        self._windows += 1
        socket = self.shop.parent / f"tmux{self._windows}"
        words = [*self.words, *more]
        with terminal.opened(socket, words, folder or self.shop, self.env) as window:
            yield window

    def turns(self) -> list[tuple[str, str]]:
        return [(turn["prompt"], turn["state"]) for turn in self.bed.turns()]

    def has(self, window: Terminal, *turns: tuple[str, str]) -> None:
        """Wait until these are all turns; hooks may still run when the screen is drawn."""
        window.until(lambda: self.turns() == [*turns], f"the turns are {turns}")


EDIT, NEW, CHAT = ("[edit]", "complete"), ("[new]", "complete"), ("[chat]", "complete")
SLOWLY = ("[slow]", "interrupted")


def test_gemini_cli_in_its_terminal(tmp_path: Path) -> None:
    a = App(tmp_path, "gemini")
    before = a.bed.files()
    with a.model():
        settings = (a.home / ".gemini/settings.json").read_bytes()
        a.connect()
        with a.opened() as window:
            window.sees("Type your message")
            # Esc while a command runs.
            window.type("[slow]")
            window.sees("1. Allow once")
            window.press("Enter")
            window.until((a.shop / "slow1.txt").exists, "the command runs")
            window.press("Escape")
            window.sees("Request cancelled")
            a.has(window, SLOWLY)
            # Esc, and a no, to the question whether a file may be changed.
            window.type("[edit]")
            window.sees("Apply this change")
            window.press("Escape")
            window.sees("Rejected")
            a.has(window, SLOWLY, ("[edit]", "interrupted"))
            window.type("[new]")
            window.sees("Writing to new.txt")
            window.press("Down", "Down", "Down", "Enter")
            a.has(window, SLOWLY, ("[edit]", "interrupted"), ("[new]", "interrupted"))
            assert not (a.shop / "new.txt").exists()
            window.type("[edit]")
            window.sees("Apply this change")
            window.press("Enter")
            window.sees("Done with edit.")
            edited = [SLOWLY, ("[edit]", "interrupted"), ("[new]", "interrupted"), EDIT]
            a.has(window, *edited)
            # Back to before the edit, which is done again at once.
            (a.shop / "mine.txt").write_text("mine\n")
            checkpoints = (a.home / ".gemini/tmp").rglob("checkpoints/*replace.json")
            window.type(f"/restore {max(path.stem for path in checkpoints)}")
            window.sees("Restored project")
            a.has(window, *edited, ("/restore", "complete"))
            window.type("[chat]")
            window.sees("Done with chat.")
            a.has(window, *edited, ("/restore", "complete"), CHAT)
            window.type("/quit")
            window.until(window.is_over, "it ends")
        slow, refused, denied, edit, restored, chat = a.bed.turns()
        assert evidence(slow) == {"slow1.txt": ("added", "during-call")}
        assert evidence(refused) == evidence(denied) == evidence(chat) == {}
        assert evidence(edit) == {"config.ini": ("modified", "tool-edit")}
        assert evidence(restored) == {"config.ini": ("modified", "tool-edit")}
        checks = a.bed.tb("doctor")["checks"]
        assert [
            c for c in checks if not c["ok"] and c["name"] in ("hooks", "gemini", "events")
        ] == []
        a.bed.tb("undo", "--turn", "5")
        assert (a.shop / "config.ini").read_bytes() == before["config.ini"][1]
        a.bed.tb("uninstall", "gemini")
        assert (a.home / ".gemini/settings.json").read_bytes() == settings


def test_going_back_in_a_conversation_of_gemini_cli(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a = App(tmp_path, "gemini")
    with a.model():
        a.connect()
        with a.opened("--approval-mode", "yolo") as window:
            window.sees("Type your message")
            for name in ("edit", "new"):
                window.type(f"[{name}]")
                window.sees(f"Done with {name}.")
            a.has(window, EDIT, NEW)
            window.type("/quit")
            window.until(window.is_over, "it ends")
        session = a.bed.tb("log")["sessions"][0]["id"]
        way = gemini_resume.way(Point(session, os.fsencode(a.shop), "[new]"))
        # Its id is known in the folder of the conversation only.
        (a.shop / "sub").mkdir()
        with a.opened(*way.argv[1:], folder=a.shop / "sub") as window:
            window.until(window.is_over, "it refuses")
        after = a.bed.files()
        with a.opened(*way.argv[1:], "--approval-mode", "yolo") as window:
            window.sees("Done with new.")
            window.type("/rewind")
            window.sees("Stay at current position")
            while "● [new]" not in window.screen():
                window.press("Up")
            window.press("Enter")
            window.sees("1. Rewind conversation")
            window.press("Enter")
            window.until(lambda: "Done with new." not in window.screen(), "it is gone back")
            assert a.bed.files() == after, "the conversation only"
            window.press("C-u")
            window.type("[chat]")
            window.sees("Done with chat.")
            a.has(window, EDIT, NEW, CHAT)
            window.type("/quit")
            window.until(window.is_over, "it ends")

        # A copy, made without asking the model.
        chats = [*(a.home / ".gemini/tmp").rglob("chats/*.jsonl")]
        held = [path.read_bytes() for path in chats]
        for name, text in {**a.env, "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}.items():
            monkeypatch.setenv(name, text)
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/gemini").symlink_to(a.words[1])
        monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
        home = os.fsencode(a.home)
        point = Point(session, os.fsencode(a.shop), "[edit]", home=home)
        assert gemini_resume.fork(point, Programs()).argv == ("gemini",)
        copy = gemini_resume.fork(
            Point(session, os.fsencode(a.shop), "[chat]", home=home), Programs()
        )
        assert copy.exact and copy.argv[:2] == ("gemini", "--resume")
        assert [path.read_bytes() for path in chats] == held
        talks = [gemini_talks.read(one) for one in gemini_talks.find(os.fsencode(a.shop), home)]
        (made,) = [one for one in talks if one is not None and one.session == copy.argv[2]]
        assert made.parent == session and made.turns == ()
        with a.opened(*copy.argv[1:], "--approval-mode", "yolo") as window:
            window.sees("Done with edit.")
            assert "[chat]" not in window.screen()
            window.type("[new]")
            window.sees("Done with new.")
            a.has(window, EDIT, NEW, CHAT, NEW)
        assert [len(one["turns"]) for one in a.bed.tb("log")["sessions"]] == [3, 1]


def test_pi_in_its_terminal(tmp_path: Path) -> None:
    a = App(tmp_path, "pi")
    before = a.bed.files()
    with a.model():
        a.connect()
        with a.opened() as window:
            window.sees("takeback.ts")
            window.type("[edit]")
            window.sees("Done with edit.")
            window.type("[slow]")
            window.until((a.shop / "slow1.txt").exists, "the command runs")
            window.press("Escape")
            window.sees("Operation aborted")
            a.has(window, EDIT, SLOWLY)
            # Back to before it; what was said stays, as a branch.
            window.type("/tree")
            window.sees("Session Tree")
            while "› • user: [slow]" not in window.screen():
                window.press("Up")
            window.press("Enter")
            window.sees("No summary")
            window.press("Enter")
            window.sees("Navigated to selected point")
            window.press("C-c")
            window.type("[new]")
            window.sees("Done with new.")
            a.has(window, EDIT, SLOWLY, NEW)
            # A copy before the last prompt, in which it goes on.
            window.type("/fork")
            window.sees("Fork from Message")
            window.press("Enter")
            window.sees("Forked to new session")
            window.press("C-c")
            window.type("[chat]")
            window.sees("Done with chat.")
            # An error of the model: pi does not try again, and the turn is over after a while.
            window.type("[bad]")
            window.sees("400 scripted error")
            a.has(window, EDIT, SLOWLY, NEW, CHAT, ("[bad]", "complete"))
            window.until(
                lambda: not any(a.bed.data.glob("open/*")), "the turn with the error is over"
            )
            window.type("/quit")
            window.until(window.is_over, "it ends")
        edit, slow, new, chat, bad = a.bed.turns()
        assert evidence(edit) == {"config.ini": ("modified", "tool-edit")}
        assert evidence(slow) == {"slow1.txt": ("added", "during-call")}
        assert evidence(new) == {"new.txt": ("added", "tool-edit")}
        assert evidence(chat) == evidence(bad) == {}
        first, second = a.bed.tb("log")["sessions"]
        assert len(first["turns"]) == 3 and len(second["turns"]) == 2
        assert len([*(a.home / "kept").iterdir()]) == 2 and a.bed.tb("log")["past"] == []
        for _ in range(3):
            a.bed.tb("undo", "--all", "--yes")
        assert a.bed.files() == before

        # By its id, in its folder; in another one pi offers a copy.
        (a.shop / "sub").mkdir()
        with a.opened("--session", first["id"]) as window:
            window.sees("Done with new.")
