"""Which later turns edit the same file. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from takeback.engine.model import Session


class Later(Mapping[tuple[str, bytes], tuple[int, ...]]):
    """(turn id, path) to the numbers of the later turns that changed the path and still stand.

    Holds every change of every turn, most with an empty answer; use ``.get(key, ())``. Made once
    from all sessions; an answer is cut out when it is asked for, so that a file which every turn
    edits costs no square of their number.
    """

    def __init__(self, sessions: Iterable[Session]) -> None:
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._standing: dict[bytes, list[int]] = {}
        turns = sorted((turn for s in sessions for turn in s.turns), key=lambda turn: turn.n)
        for turn in turns:
            for change in turn.changes:
                self._numbers[turn.id, change.path] = turn.n
                if not change.undone:
                    self._standing.setdefault(change.path, []).append(turn.n)

    def __getitem__(self, key: tuple[str, bytes]) -> tuple[int, ...]:
        standing = self._standing.get(key[1], [])
        return tuple(standing[bisect_right(standing, self._numbers[key]) :])

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def later_edits(sessions: Iterable[Session]) -> Later:
    """For each turn and path, the later turns that changed it and still stand."""
    return Later(sessions)
