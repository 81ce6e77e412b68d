"""The sessions of the other projects: each store is read again only when it has grown."""

from __future__ import annotations

from collections.abc import Callable

from takeback.engine import work
from takeback.engine.project import Project
from takeback.engine.store import paths
from takeback.engine.upkeep.storage import roots
from takeback.tui.failures import as_error
from takeback.tui.follow import Stamp, stamp
from takeback.tui.session_rows import Summary, Unread, Where, summaries
from takeback.tui.text import counted, safe

Words = Callable[[bytes], str]
"""How a project's folder is shown."""

_Got = tuple[tuple[Summary, ...], str]
"""The sessions of a project, and what is wrong with them or ""."""


class Elsewhere:
    """Remembers what was read of each project. For one thread at a time."""

    def __init__(self) -> None:
        self._read: dict[bytes, tuple[Stamp, _Got]] = {}

    def look(self, data: bytes, here: bytes, words: Words) -> tuple[list[Summary], list[Unread]]:
        """The sessions of every project but the one that is open, and what cannot be read.

        Args:
            here: the root of the open project.

        Raises:
            Cancelled: that was wanted (see `work.using`).
        """
        found: list[Summary] = []
        unread: list[Unread] = []
        listed = roots(data)
        for at, (root, note) in enumerate(listed):
            work.step("Reading projects", at, len(listed))
            if root == here:
                continue
            sessions, said = ((), note) if note else self._one(data, root, words)
            found += sessions
            if said:
                unread.append(Unread(words(root), safe(said)))
        return found, unread

    def _one(self, data: bytes, root: bytes, words: Words) -> _Got:
        now = stamp(paths.store_dir(data, root))
        known = self._read.get(root)
        if known is not None and known[0] == now and not _runs(known[1]):
            return known[1]
        try:
            got = _sessions(data, root, words)
        except work.Cancelled:
            raise
        except Exception as error:  # Whatever it is, it concerns this one store.
            got = ((), as_error(error).message)
        self._read[root] = (now, got)
        return got


def _runs(got: _Got) -> bool:
    """Whether a turn runs there: that it is dead shows in no file of the store."""
    return any(one.session.state == "running" for one in got[0])


def _sessions(data: bytes, root: bytes, words: Words) -> _Got:
    project = Project.open(root, data)
    try:
        if project.root != root:
            return (), f"it belongs to {words(project.root)} now"
        where = Where(root, words(root), paths.has_git(root), here=False)
        found = summaries(project.sessions(counts=True), project.operations(), where)
        lost = len(project.damaged)
        return found, f"{counted(lost, 'line')} of its record cannot be read" if lost else ""
    finally:
        project.close()
