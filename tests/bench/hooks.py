"""What an agent waits for: one process for each event of Claude Code, start to end."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.ours import DEV
from tests.bench.timing import percentile

_CODE = (
    f"import sys; sys.path.insert(0, {str(DEV)!r}); "
    "from takeback.engine.agents import hook; hook.main('claude', sys.argv[1])"
)


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of wall time."""

    median: float
    high: float


def _timed(args: list[str], stdin: bytes = b"") -> float:
    start = time.perf_counter()
    subprocess.run(args, input=stdin, capture_output=True, check=True)
    return (time.perf_counter() - start) * 1000


def _payload(root: Path, event: str, **more: Any) -> bytes:
    fields = {
        "session_id": "bench",
        "transcript_path": str(root.parent / "none.jsonl"),
        "cwd": str(root),
        "prompt_id": "1",
        "hook_event_name": event,
    }
    return json.dumps(fields | more).encode()


def measure(root: Path, data: Path, rounds: int) -> tuple[Latency, dict[str, Latency]]:
    """A bare interpreter and each event, in turns, `rounds` times."""
    file = root / "bench.py"
    file.write_text("a = 1\n", "utf-8")
    python = [sys.executable, "-I", "-S"]
    found: dict[str, list[float]] = {}
    bare: list[float] = []

    def send(label: str, event: str, **more: Any) -> None:
        took = _timed([*python, "-c", _CODE, os.fspath(data)], _payload(root, event, **more))
        found.setdefault(label, []).append(took)

    def call(tool: str, number: int, fields: dict[str, str], work: Callable[[], object]) -> None:
        more = {"tool_name": tool, "tool_input": fields, "tool_use_id": f"{tool}-{number}"}
        send(f"PreToolUse {tool}", "PreToolUse", **more)
        work()
        send(f"PostToolUse {tool}", "PostToolUse", tool_response={}, **more)

    for number in range(rounds):
        bare.append(_timed([*python, "-c", "pass"]))
        send("UserPromptSubmit", "UserPromptSubmit", prompt=f"Round {number}.")
        fields = {
            "file_path": str(file),
            "old_string": f"a = {number + 1}\n",
            "new_string": f"a = {number + 2}\n",
        }
        call("Edit", number, fields, lambda n=number: file.write_text(f"a = {n + 2}\n", "utf-8"))
        call("Bash", number, {"command": "touch made.txt"}, (root / "made.txt").touch)
        send("Stop", "Stop", stop_hook_active=False)
    file.unlink()
    (root / "made.txt").unlink()
    return _latency(bare), {label: _latency(took) for label, took in found.items()}


def _latency(took: list[float]) -> Latency:
    # The first round makes the store and is not what an agent meets.
    took = took[1:] or took
    return Latency(statistics.median(took), percentile(took, 0.9))
