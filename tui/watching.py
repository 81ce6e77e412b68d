"""Cheap looks at whether something changed: at files of a plan, and at what was recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from takeback.engine.store.paths import store_dir
from takeback.tui import follow
from takeback.tui.follow import Stamp

if TYPE_CHECKING:
    from takeback.engine.project import Project

FileStamp = tuple[int, int, int, int]
Stamps = Mapping[bytes, FileStamp | None]

MOST = 5000
"""Files that are looked at; what changes beyond them is found when the plan is applied."""


def stamps(root: bytes, paths: Iterable[bytes]) -> Stamps:
    """What the system says of each path, None where nothing is."""
    found: dict[bytes, FileStamp | None] = {}
    for path in paths:
        if len(found) == MOST:
            break
        try:
            st = os.lstat(os.path.join(root, path))
        except OSError:
            found[path] = None
        else:
            found[path] = (st.st_mode, st.st_size, st.st_mtime_ns, st.st_ino)
    return found


def changed(root: bytes, before: Stamps) -> tuple[bytes, ...]:
    """The paths of which the system says something else by now."""
    now = stamps(root, before)
    return tuple(path for path, stamp in before.items() if now[path] != stamp)


def recorded(project: Project) -> Stamp:
    """Changes when something is recorded in a project."""
    return follow.stamp(store_dir(project.data, project.root))


def running(project: Project, session: str) -> frozenset[str]:
    """The turns that run, of one session or of all where none is named."""
    return frozenset(
        turn.id
        for one in project.sessions()
        for turn in one.turns
        if turn.state == "running" and session in ("", one.id)
    )
