"""The sessions of the other projects: each store is read again only when it has grown."""

from __future__ import annotations

from collections.abc import Callable

from takeback.engine.errors import TakebackError
from takeback.engine.project import Project
from takeback.engine.store import paths
from takeback.engine.upkeep.storage import roots
from takeback.tui.failures import as_error
from takeback.tui.follow import Stamp, stamp
from takeback.tui.session_rows import Summary, Unread, Where, summaries
from takeback.tui.text import safe

Words = Callable[[bytes], str]
"""How a project's folder is shown."""


class Elsewhere:
    """Remembers what was read of each project. For one thread at a time."""

    def __init__(self) -> None:
        self._read: dict[bytes, tuple[Stamp, tuple[Summary, ...] | Unread]] = {}

    def look(
        self,
        data: bytes,
        here: bytes,
        words: Words,
        report: Callable[[str], None] = lambda _: None,
    ) -> tuple[list[Summary], list[Unread]]:
        """The sessions of every project but the one that is open, and what cannot be read.

        Args:
            here: the root of the open project.
            report: hears how far it is, and may raise to end it.
        """
        found: list[Summary] = []
        unread: list[Unread] = []
        projects = [one for one in roots(data) if one[0] != here]
        for at, (root, note) in enumerate(projects):
            report(f"{at} of {len(projects)} projects")
            got = self._one(data, root, note, words)
            if isinstance(got, Unread):
                unread.append(got)
            else:
                found += got
        return found, unread

    def _one(
        self, data: bytes, root: bytes, note: str, words: Words
    ) -> tuple[Summary, ...] | Unread:
        if note:
            return Unread(words(root), safe(note))
        now = stamp(paths.store_dir(data, root))
        known = self._read.get(root)
        if known is not None and known[0] == now and not _runs(known[1]):
            return known[1]
        try:
            got: tuple[Summary, ...] | Unread = _sessions(data, root, words)
        except (TakebackError, OSError, ValueError, RecursionError) as error:
            got = Unread(words(root), safe(as_error(error).message))
        self._read[root] = (now, got)
        return got


def _runs(got: tuple[Summary, ...] | Unread) -> bool:
    """Whether a turn runs there: that it is dead shows in no file of the store."""
    return not isinstance(got, Unread) and any(one.session.state == "running" for one in got)


def _sessions(data: bytes, root: bytes, words: Words) -> tuple[Summary, ...] | Unread:
    project = Project.open(root, data)
    try:
        if project.root != root:
            return Unread(words(root), f"it belongs to {words(project.root)} now")
        where = Where(root, words(root), paths.has_git(root), here=False)
        return summaries(project.sessions(counts=True), project.operations(), where)
    finally:
        project.close()
