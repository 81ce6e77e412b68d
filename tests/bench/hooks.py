"""What agents wait for: one process for each event of theirs, start to end."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from takeback.engine.agents.command import hook_command
from tests.agents.players import AGENTS, Player
from tests.bench.timing import percentile


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds of wall time."""

    median: float
    high: float


def _timed(args: list[str], stdin: bytes = b"") -> float:
    start = time.perf_counter()
    subprocess.run(args, input=stdin, capture_output=True, check=True)
    return (time.perf_counter() - start) * 1000


def measure(root: Path, data: Path, rounds: int) -> tuple[Latency, dict[str, dict[str, Latency]]]:
    """A bare interpreter and, for each agent, each event, in turns, `rounds` times."""
    found: dict[str, dict[str, list[float]]] = {agent: {} for agent in AGENTS}
    bare: list[float] = []
    file, made = root / "bench.py", root / "made.txt"
    file.write_text("a = 1\n", "utf-8")
    hooks = {agent: shlex.split(hook_command(agent, os.fspath(data))) for agent in AGENTS}
    players = {agent: Player(agent, root, lambda who, payload: None) for agent in AGENTS}

    def send(agent: str, label: str, payload: dict[str, Any]) -> None:
        took = _timed(hooks[agent], json.dumps(payload).encode())
        found[agent].setdefault(label, []).append(took)

    for number in range(rounds):
        bare.append(_timed([sys.executable, "-I", "-S", "-c", "pass"]))
        for agent, player in players.items():
            send(agent, "prompt", player.begins(f"Round {number}."))
            old, new = file.read_text("utf-8"), f"a = '{agent} {number}'\n"
            begin, end = player.edits(file.name, old, new)
            send(agent, "edit begins", begin)
            file.write_text(new, "utf-8")
            send(agent, "edit ends", end)
            begin, end = player.shells("touch made.txt")
            send(agent, "command begins", begin)
            made.touch()
            send(agent, "command ends", end)
            send(agent, "turn ends", player.stops())
    file.unlink()
    made.unlink()
    shown = {
        agent: {label: _latency(took) for label, took in costs.items()}
        for agent, costs in found.items()
    }
    return _latency(bare), shown


def _latency(took: list[float]) -> Latency:
    # The first round makes the store and is not what an agent meets.
    took = took[1:] or took
    return Latency(statistics.median(took), percentile(took, 0.9))
