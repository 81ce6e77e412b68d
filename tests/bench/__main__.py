"""``python -m tests.bench --tree a|b|c``: ratios within one run, and targets met or missed."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.bench import hooks, restore, timing, trees
from tests.bench.ours import Takeback, peak_mb
from tests.bench.peers import OpenCode, PlainGit

# Ratio of our CPU to that of OpenCode's sequence in the same run.
TARGETS = {"nothing changed": 0.60, "5 changed, 1 new, 1 deleted": 0.55, "1000 changed": 0.50}
STEP_TARGET = 0.55
FIRST_TARGET = 0.25
HOOK_TARGET_MS = 30
MEMORY_TARGET_MB = 60


def verdict(value: float, target: float) -> str:
    return f"target {target:g}: {'met' if value <= target else 'MISSED'}"


def table(title: str, costs: dict[str, timing.Cost], peer: str, ours: str, target: float) -> None:
    """Print one comparison."""
    print(f"\n{title}")
    for name, cost in costs.items():
        by = costs[peer]
        print(
            f"  {name:34} cpu {cost.cpu * 1000:9.1f} ms {cost.cpu / by.cpu:5.2f}x"
            f"   wall {cost.wall * 1000:9.1f} ms {cost.wall / by.wall:5.2f}x"
        )
    if target:
        print(f"  ratio of CPU, {verdict(costs[ours].cpu / costs[peer].cpu, target)}")
    sys.stdout.flush()


def snapshots(root: Path, work: Path, rounds: int) -> None:
    """Snapshots of a warm project, and one step of an agent."""
    ours, peer = Takeback(root, work / "data"), OpenCode(root, work / "opencode")
    plain = PlainGit(root, work / "plain", seed=True)
    found = {engine.track() for engine in (ours, peer, plain)}
    if len(found) > 1:
        print(f"  note: the contestants do not hold the same tree: {', '.join(sorted(found))}")
    mutator = trees.Mutator(root)
    count = min(1000, len(mutator.files))
    changes: dict[str, Callable[[], object] | None] = {
        "nothing changed": None,
        "5 changed, 1 new, 1 deleted": mutator.step,
        "1000 changed": lambda: mutator.change(count),
    }
    for title, change in changes.items():
        costs = timing.paired(
            {engine.name: engine.track for engine in (ours, peer, plain)},
            rounds if title != "1000 changed" else max(3, rounds // 2),
            change,
            ours.renew,
        )
        note = f" ({count})" if "1000" in title and count != 1000 else ""
        table(title + note, costs, peer.name, ours.name, TARGETS[title])

    # A step of an agent: a look before, the agent's five edits, a look after.
    def peer_step() -> None:
        tree = peer.track()
        mutator.step()
        peer.patch(tree)

    def our_step() -> None:
        ours.track()
        mutator.step()
        ours.track()

    steps = {ours.name: our_step, peer.name: peer_step}
    costs = timing.paired(steps, rounds, None, ours.renew)
    table("one step of an agent", costs, peer.name, ours.name, STEP_TARGET)
    boundary = {"a snapshot within a turn": ours.track, "at its end": lambda: ours.track(True)}
    costs = timing.paired(boundary, rounds)
    table("for comparison: ours", costs, "a snapshot within a turn", "at its end", 0)
    ours.store.close()


def first(root: Path, work: Path) -> None:
    """The first snapshot of a folder without git history."""
    hidden = root.parent / f"{root.name}.git"
    (root / ".git").rename(hidden)
    try:
        plain = PlainGit(root, work / "first-plain", seed=False)
        ours = Takeback(root, work / "first-data")
        costs = {ours.name: timing.once(ours.track), plain.name: timing.once(plain.track)}
        ours.store.close()
        peak = peak_mb(root, work / "first-memory")
    finally:
        hidden.rename(root / ".git")
    table("first snapshot without git history", costs, plain.name, ours.name, FIRST_TARGET)
    print(f"  wall {costs[ours.name].wall / costs[plain.name].wall:.2f}x")
    print(f"  peak memory {peak:.0f} MB, {verdict(peak, MEMORY_TARGET_MB)} (tree c)")


def latency(work: Path, base: Path, rounds: int) -> None:
    """What each hook adds to a bare start of the interpreter; on tree a."""
    root = trees.make("a", base)
    bare, agents = hooks.measure(root, work / "hook-data", rounds)
    print("\nhooks, beside a bare `python -I -S` (wall, tree a)")
    print(f"  {'bare interpreter':34} median {bare.median:6.1f} ms   90% {bare.high:6.1f} ms")
    for agent, events in agents.items():
        for name, cost in events.items():
            added = cost.median - bare.median
            # The others look at the whole project, which costs what that costs.
            records = name.startswith("edit")
            aim = verdict(added, HOOK_TARGET_MS) if records else "with a snapshot"
            print(
                f"  {f'{agent}, {name}':34} median {cost.median:6.1f} ms   90% {cost.high:6.1f} ms"
                f"   added {added:6.1f} ms, {aim}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--tree", choices=sorted(trees.SHAPES), default="a")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--trees", type=Path, help="where trees are kept between runs")
    parser.add_argument("--work", type=Path, help="where stores are made during a run")
    parser.add_argument(
        "--only", choices=("snapshots", "first", "restore", "hooks"), action="append"
    )
    args = parser.parse_args()
    wanted = args.only or ["snapshots", "first", "restore", "hooks"]
    base = args.trees or Path(tempfile.gettempdir()) / "takeback-bench"
    with trees.alone(base):
        measure(args.tree, base, args.work, wanted, args.rounds)


def measure(name: str, base: Path, where: Path | None, wanted: list[str], rounds: int) -> None:
    """Run the parts that are wanted on one tree, and leave the tree as it was."""
    root = trees.make(name, base)
    print(f"tree {name}: {trees.SHAPES[name].files} files in {root}")
    # Away from the trees: some file systems make files slowly beside very many others.
    work = Path(tempfile.mkdtemp(prefix="takeback-bench-run-", dir=where))
    try:
        if "snapshots" in wanted:
            snapshots(root, work, rounds)
            trees.reset(root)
        if "first" in wanted:
            first(root, work)
        if "restore" in wanted:
            restore.report(root, work, rounds, table)
            trees.reset(root)
        if "hooks" in wanted:
            latency(work, base, 4 * rounds)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
