"""Folders that go, come back or change their mode with the files of a plan."""

from __future__ import annotations

from takeback.engine.model import (
    DirChange,
    Plan,
)
from takeback.engine.undo.ground import Ground
from takeback.engine.undo.target import Target


def dirs_of(ground: Ground, found: Target, plan: Plan, wide: bool) -> tuple[DirChange, ...]:
    """Folders that go with the files, that come back for them, and empty ones."""
    written = {entry.path: entry for entry in plan.writes}
    dirs: dict[bytes, DirChange] = {}
    for part in found.parts:
        entry = written.get(part.change.path)
        if entry is not None and entry.action == "delete":
            for folder in part.change.made_dirs:
                ground.remove_dir(dirs, folder)
    modes: dict[bytes, DirChange] = {}
    for turn in found.turns:
        for item in turn.dirs:
            newer = modes.get(item.path, item)
            modes[item.path] = DirChange(item.path, item.before, newer.after)
    if wide:
        # Of a turn that is not taken back whole, its files alone say which folders go.
        whole = {d.path for turn in found.turns if turn.id not in found.partial for d in turn.dirs}
        for item in (modes[path] for path in modes if path in whole):
            if item.before is None:
                ground.remove_dir(dirs, item.path)
            elif item.after is None:
                ground.make_dir(dirs, item.path, item.before)
            elif ground.dir_mode(item.path) == item.after:
                dirs[item.path] = DirChange(item.path, item.after, item.before)
    for entry in plan.writes:
        if entry.action != "delete":
            at = entry.path
            while at := at.rpartition(b"/")[0]:
                known = modes.get(at)
                mode = known.before if known is not None and known.before else 0o755
                if at in dirs and dirs[at].after is None:
                    del dirs[at]
                ground.make_dir(dirs, at, mode)
    return ground.possible(plan, dirs)
