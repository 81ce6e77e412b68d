"""A session as it is shown: its rows, where the cursor belongs, and who follows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from takeback.engine.model import Session, Turn
from takeback.tui import timeline_rows, timeline_words
from takeback.tui.timeline_model import Entry, View
from takeback.tui.timeline_words import Counts
from takeback.tui.widgets.row_list import Listing, listing


@dataclass(slots=True)
class Shown:
    """A session as rows.

    Attributes:
        turns: those of all sessions, by number.
        newest: the newest turn of all sessions.
        known: the rows of each turn, by its id.
    """

    session: Session
    view: View
    counts: Counts
    turns: tuple[Turn, ...]
    newest: Turn
    known: dict[str, list[Entry]]
    entries: list[Entry] = field(default_factory=list)
    rows: Listing = field(default_factory=lambda: listing([]))

    def build(self) -> None:
        """Make the rows that are not known."""
        self.entries = timeline_rows.entries(self.session, self.view, self.known)
        self.rows = listing([entry.row for entry in self.entries])

    def again(self, view: View, turns: Iterable[str] = ()) -> None:
        """Make rows for another view, those of some turns or, without any, all."""
        names = tuple(turns)
        for name in names:
            self.known.pop(name, None)
        if not names:
            self.known.clear()
            view = timeline_rows.fitting(self.session, view)
        self.view = view
        self.build()

    @property
    def last(self) -> Turn:
        """The newest turn of this session."""
        return self.session.turns[-1]

    @property
    def has_newest(self) -> bool:
        """Whether no other session has a newer turn."""
        return self.last.id == self.newest.id

    @property
    def hits(self) -> int:
        """How many rows hold the words that are looked for."""
        return sum(entry.hit for entry in self.entries)

    def entry(self, key: str) -> Entry | None:
        """What the row of this key stands for."""
        place = self.rows.places.get(key)
        return self.entries[place] if place is not None else None

    def nearest(self, key: str, turn: str) -> str:
        """The row in the place of one that is no longer there: what hides it, or its heading."""
        if key in self.rows.places:
            return ""
        keys = (f"more:{turn}", f"turn:{turn}")
        return next((name for name in keys if name in self.rows.places), "")

    def followed(self, current: Entry | None) -> str:
        """The row on which one stands who follows: a running turn's last part, or the heading."""
        block = self.known.get(self.last.id)
        if not block:
            return ""
        if self.last.state == "running":
            return block[-1].row.key
        if current is not None and current.turn is not None and current.turn.id == self.last.id:
            # A turn that ended takes nobody away from its last part.
            return ""
        return block[0].row.key

    def follows(self, entry: Entry) -> bool:
        """Whether who stands there follows: on the newest turn's heading, or on its last part."""
        block = self.known.get(self.last.id)
        ends = {block[0].row.key, block[-1].row.key} if block else set()
        return self.has_newest and entry.row.key in ends


def made(
    sessions: Sequence[Session], view: View, wanted: str = "", before: Shown | None = None
) -> Shown | None:
    """A session as rows; None where nothing was recorded.

    Args:
        wanted: the session, else the one with the newest turn.
        before: what was shown until now; rows of turns that are the same are not made again.
    """
    newest = timeline_rows.newest(sessions)
    if newest is None:
        return None
    session = next((one for one in sessions if one.id == wanted and one.turns), newest)
    turns = sorted((turn for one in sessions for turn in one.turns), key=lambda turn: turn.n)
    view = timeline_rows.fitting(session, view)
    known: dict[str, list[Entry]] = {}
    if before is not None and before.session.id == session.id:
        rows = dict(before.known)
        known = timeline_rows.kept(session, view, before.session, before.view, rows)
    counts = timeline_words.counts(session)
    shown = Shown(session, view, counts, tuple(turns), newest.turns[-1], known)
    shown.build()
    return shown
