"""Paired timing: the contestants take turns, so that a slow moment of the machine hits all."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of wall time and of CPU, children included."""

    wall: float
    cpu: float


def _cpu() -> float:
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total


def once(work: Callable[[], object]) -> Cost:
    """The cost of one call."""
    gc.collect()
    cpu, wall = _cpu(), time.perf_counter()
    work()
    return Cost(time.perf_counter() - wall, _cpu() - cpu)


def paired(
    contestants: Mapping[str, Callable[[], object]],
    rounds: int,
    before: Callable[[], object] | None = None,
    after: Callable[[], object] | None = None,
) -> dict[str, Cost]:
    """The median cost of each contestant; every round they go in the other order.

    Args:
        before: what happens before each round, for example a change that all of them must see.
        after: what happens after each round and is not counted.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        if before is not None:
            before()
        names = list(contestants)
        for name in names if turn % 2 else reversed(names):
            cost = once(contestants[name])
            if turn:  # The first round warms caches.
                costs[name].append(cost)
        if after is not None:
            after()
    return {name: median(found) for name, found in costs.items()}


def median(costs: list[Cost]) -> Cost:
    """The median of each of the two."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
    )


def percentile(values: list[float], part: float) -> float:
    """The value that `part` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]
