"""The five agents as their hooks tell of them, in the forms that were captured from real runs.

A `Player` is one session of one agent that works in a project: it tells what the agent would tell
and writes what its tools would write. Its payloads reach the hook in this process, or as the agent
itself calls it: through the command that `install` put into the agent's own files.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import hook, install
from takeback.engine.model import Plan, Request, Turn
from takeback.engine.project import Project

AGENTS = ("claude", "codex", "gemini", "opencode", "pi")

PIDS = {"claude": "CLAUDE_PID", "opencode": "TAKEBACK_AGENT_PID", "pi": "TAKEBACK_AGENT_PID"}
"""The variables in which some of them name their process."""

Send = Callable[[str, dict[str, Any]], object]


class Player:
    """One session of an agent in a project."""

    def __init__(self, agent: str, root: Path, send: Send, session: str = "") -> None:
        self.agent, self.root, self._send = agent, root, send
        self.session = session or f"session-of-{agent}"
        self._turn, self._calls = 0, 0

    # --- What it tells -------------------------------------------------------------------------

    def payload(self, event: str, **fields: Any) -> dict[str, Any]:
        """What every payload of the agent holds, and the event's own fields."""
        key = f"turn-{self._turn}"
        base: dict[str, Any] = {
            "session_id": self.session,
            "cwd": str(self.root),
            "hook_event_name": event,
        }
        transcript = {"transcript_path": str(self.root.parent / "none" / f"{self.session}.jsonl")}
        if self.agent == "claude":
            base |= {**transcript, "prompt_id": key}
        elif self.agent == "codex":
            base |= {**transcript, "turn_id": key, "model": "m", "permission_mode": "default"}
        elif self.agent == "gemini":
            stamp = f"2026-12-01T00:{self._turn:02}:00.{self._calls:03}Z"
            base |= {**transcript, "timestamp": stamp}
        elif self.agent == "opencode":
            base |= {"key": key}
        else:
            base |= {**transcript, "turn_id": key}
        return base | fields

    def tell(self, event: str, **fields: Any) -> None:
        self._send(self.agent, self.payload(event, **fields))

    def begins(self, prompt: str) -> dict[str, Any]:
        """The payload of a prompt."""
        self._turn += 1
        event = {
            "claude": "UserPromptSubmit",
            "codex": "UserPromptSubmit",
            "gemini": "BeforeAgent",
            "opencode": "chat.message",
            "pi": "before_agent_start",
        }[self.agent]
        return self.payload(event, prompt=prompt)

    def call(self, tool: str, given: dict[str, Any], *, over: bool, **more: Any) -> dict[str, Any]:
        """The payload of the begin or the end of the newest call."""
        before, after = {
            "claude": ("PreToolUse", "PostToolUse"),
            "codex": ("PreToolUse", "PostToolUse"),
            "gemini": ("BeforeTool", "AfterTool"),
            "opencode": ("tool.execute.before", "tool.execute.after"),
            "pi": ("tool_call", "tool_result"),
        }[self.agent]
        call = f"{self.session}-{self._calls}"
        if self.agent == "opencode":
            fields: dict[str, Any] = {"call": call, "tool": tool, "args": given}
        else:
            fields = {"tool_name": tool, "tool_input": given}
        if self.agent in ("claude", "codex"):
            fields["tool_use_id"] = call
        elif self.agent == "pi":
            fields["tool_call_id"] = call
        return self.payload(after if over else before, **fields, **(more if over else {}))

    def edits(self, name: str, old: str | None, new: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The payloads around an edit of a file, or around a new file where `old` is None."""
        self._calls += 1
        path = str(self.root / name)
        tool, given, more = self._edit(name, path, old, new)
        begin = self.call(tool, given, over=False)
        return begin, self.call(tool, given, over=True, **more)

    def _edit(self, name: str, path: str, old: str | None, new: str) -> tuple[str, Any, Any]:
        made = old is None
        if self.agent == "claude":
            answer = {"filePath": path, "content": new, "originalFile": old}
            return "Write", {"file_path": path, "content": new}, {"tool_response": answer}
        if self.agent == "codex":
            head = f"*** {'Add' if made else 'Update'} File: {name}"
            gone = [f"-{line}" for line in (old or "").splitlines()]
            come = [f"+{line}" for line in new.splitlines()]
            lines = ["*** Begin Patch", head, *([] if made else ["@@"]), *gone, *come]
            patch = "\n".join([*lines, "*** End Patch"])
            return "apply_patch", {"command": patch}, {"tool_response": "Exit code: 0\n"}
        if self.agent == "gemini":
            display = {"filePath": path, "originalContent": old or "", "newContent": new}
            shown = {"llmContent": "done", "returnDisplay": {**display, "isNewFile": made}}
            return "write_file", {"file_path": path, "content": new}, {"tool_response": shown}
        if self.agent == "opencode":
            return ("write" if made else "edit"), {"filePath": path}, {}
        return ("write" if made else "edit"), {"path": path}, {"is_error": False}

    def shells(self, command: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The payloads around a shell command."""
        self._calls += 1
        tool = {"gemini": "run_shell_command", "opencode": "bash", "pi": "bash"}.get(
            self.agent, "Bash"
        )
        more: dict[str, Any] = {
            "claude": {"tool_response": {"stdout": "", "stderr": "", "interrupted": False}},
            "codex": {"tool_response": ""},
            "gemini": {"tool_response": {"llmContent": "Output: (empty)", "returnDisplay": ""}},
            "opencode": {"exit": 0},
            "pi": {"is_error": False},
        }[self.agent]
        given = {"command": command}
        return self.call(tool, given, over=False), self.call(tool, given, over=True, **more)

    def stops(self) -> dict[str, Any]:
        """The payload of the turn's end."""
        if self.agent in ("claude", "codex"):
            return self.payload("Stop", last_assistant_message="Done.", stop_hook_active=False)
        if self.agent == "gemini":
            return self.payload("AfterAgent", prompt="p", prompt_response="Done.")
        if self.agent == "opencode":
            return self.payload("session.idle", text="Done.", interrupted=False, background=False)
        return self.payload("agent_end", stop_reason="stop")

    # --- What it does --------------------------------------------------------------------------

    def prompt(self, text: str = "Do it.") -> None:
        self._send(self.agent, self.begins(text))

    def stop(self) -> None:
        self._send(self.agent, self.stops())

    @contextmanager
    def turn(self) -> Iterator[None]:
        self.prompt()
        yield
        self.stop()

    @contextmanager
    def editing(self, name: str, change: Callable[[str], str]) -> Iterator[None]:
        """One edit call: what stands in the block happens after its begin and before it writes."""
        path = self.root / name
        old = path.read_text() if path.exists() else None
        begin, _ = self.edits(name, old, change(old or ""))
        self._send(self.agent, begin)
        yield
        # A tool reads the file when it writes it, not when it asks.
        now = path.read_text() if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(change(now or ""))
        self._calls -= 1
        _, end = self.edits(name, now, change(now or ""))
        if self.agent == "gemini":
            # It has no other name than what it was asked for.
            end["tool_input"] = begin["tool_input"]
        self._send(self.agent, end)

    def edit(self, name: str, change: Callable[[str], str]) -> None:
        with self.editing(name, change):
            pass

    @contextmanager
    def shell(self, command: str = "make") -> Iterator[None]:
        begin, end = self.shells(command)
        self._send(self.agent, begin)
        yield
        self._send(self.agent, end)


def put(line: int, text: str) -> Callable[[str], str]:
    """A change of one line, counted from 1."""

    def change(old: str) -> str:
        lines = old.splitlines(keepends=True)
        lines[line - 1] = f"{text}\n"
        return "".join(lines)

    return change


def whole(text: str) -> Callable[[str], str]:
    return lambda old: text


def lines(name: str, number: int = 60) -> str:
    return "".join(f"{name} line {at}\n" for at in range(1, number + 1))


class Stage:
    """A project, its data folder and a home; payloads reach the hook in this process."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self._patch = place, monkeypatch
        self.root, self.data, self.home = place / "my shop", place / "data", place / "home"
        for folder in (self.root, self.home):
            folder.mkdir()
        for name in [*PIDS.values(), "TAKEBACK_RUN", "CLAUDE_CONFIG_DIR", "CODEX_HOME"]:
            monkeypatch.delenv(name, raising=False)
        for name in [name for name in os.environ if name.startswith("XDG_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(place / "config"))
        monkeypatch.setenv("HOME", str(self.home))

    def send(self, agent: str, payload: dict[str, Any]) -> None:
        self._patch.setattr(os, "isatty", lambda fd: False)
        self._patch.setattr(hook, "_read", lambda: json.dumps(payload).encode())
        assert hook.main(agent, str(self.data)) == 0

    def player(self, agent: str, session: str = "", send: Send | None = None) -> Player:
        return Player(agent, self.root, send or self.send, session)

    # --- The person ----------------------------------------------------------------------------

    def write(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def change(self, name: str, change: Callable[[str], str]) -> None:
        self.write(name, change((self.root / name).read_text()))

    def files(self) -> dict[str, str]:
        found = self.root.rglob("*")
        return {str(p.relative_to(self.root)): p.read_text() for p in found if p.is_file()}

    def project(self) -> Project:
        return Project.open(os.fsencode(self.root), str(self.data))

    def do(self, kind: Any = "undo", **words: Any) -> Plan:
        project = self.project()
        plan = project.plan(Request(kind, **words))
        project.apply(plan)
        return plan

    # --- What was recorded ---------------------------------------------------------------------

    def turns(self, session: str = "") -> list[Turn]:
        sessions = self.project().sessions()
        found = [turn for one in sessions if session in ("", one.id) for turn in one.turns]
        return sorted(found, key=lambda turn: turn.n)

    def errors(self) -> list[dict[str, Any]]:
        path = self.data / "errors.jsonl"
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


# --- As the agent itself calls it ---------------------------------------------------------------


def installed(agent: str, stage: Stage) -> list[str]:
    """Connect an agent; the words of the hook's command as its own file holds it then."""
    root, home = os.fsencode(stage.root), os.fsencode(stage.home)
    texts = []
    for edit in install.plan_install(agent, "user", root, home, str(stage.data)):
        install.apply_edit(edit)
        texts.append((edit.after or b"").decode())
    if agent in ("opencode", "pi"):
        (line,) = (
            line for text in texts for line in text.split("\n") if line.startswith("const HOOK")
        )
        found: list[str] = json.loads(line.partition(" = ")[2].rstrip(";"))
        return found
    commands = {
        entry["command"]
        for text in texts
        if text.lstrip().startswith("{")
        for groups in json.loads(text).get("hooks", {}).values()
        for group in groups
        for entry in group["hooks"]
    }
    (command,) = commands
    return shlex.split(command)


def call_hook(
    words: Sequence[str], payload: bytes, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """One hook as an agent runs it."""
    return subprocess.run(
        words, input=payload, capture_output=True, env=env, cwd="/", timeout=60, check=False
    )


def held(data: Path) -> Iterator[tuple[str, bytes]]:
    """Everything that stands in a data folder, also within git's objects."""
    for path in data.rglob("*"):
        yield str(path), b""
        if path.is_symlink() or not path.is_file():
            continue
        raw = path.read_bytes()
        yield str(path), raw
        try:
            yield f"{path} (inflated)", zlib.decompress(raw)
        except zlib.error:
            continue
    for git in data.glob("projects/*/git"):
        if any(git.rglob("*.pack")):
            words = ["git", f"--git-dir={git}", "cat-file", "--batch", "--batch-all-objects"]
            done = subprocess.run(words, capture_output=True, check=True)
            yield f"{git} (packed)", done.stdout
