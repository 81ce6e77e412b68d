"""What some turns did together, path by path. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from takeback.engine.model import Change, Turn, same
from takeback.engine.timeline.origin import evidence_of

BETWEEN = "also changed in between by what is not marked"


def net(turns: Iterable[Turn]) -> tuple[Change, ...]:
    """One change for each path that some turns leave otherwise than they found it, by path.

    Each goes from what stood before the first step of these turns to what the last one left. Where
    their steps do not join because somebody else wrote in between, `Change.note` says so: the
    difference then holds those edits too.
    """
    found: dict[bytes, list[Change]] = {}
    for turn in turns:
        for change in turn.changes:
            found.setdefault(change.path, []).append(change)
    out = []
    for path in sorted(found):
        joined = _joined(path, found[path])
        if not same(joined.before, joined.after):
            out.append(joined)
    return tuple(out)


def _joined(path: bytes, changes: list[Change]) -> Change:
    # By key: two turns may share a step.
    steps = {segment.key: segment for change in changes for segment in change.segments}
    segments = tuple(sorted(steps.values(), key=lambda segment: segment.seq))
    broken = any(not same(earlier.after, later.before) for earlier, later in pairwise(segments))
    return Change(
        path,
        segments[0].before,
        segments[-1].after,
        evidence_of(segments, any(change.evidence == "mixed" for change in changes)),
        tuple(dict.fromkeys(call for segment in segments for call in segment.call_ids)),
        segments,
        all(change.undone for change in changes),
        made_dirs=tuple(sorted({folder for change in changes for folder in change.made_dirs})),
        note=BETWEEN if broken else "",
    )
