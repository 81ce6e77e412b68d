"""The words of the product as frozen data: no I/O, no decisions beyond trivial ones.

Paths are ``bytes`` relative to the project's root with ``/`` between components. Times are
nanoseconds since the epoch. Object ids are 40 hex characters of SHA-1, as git writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from takeback.engine.facts import (
    ABSENT,
    EMPTY_TREE,
    HARMLESS_REASONS,
    NO_TIME,
    DirChange,
    Event,
    FileState,
    NotCaptured,
    PathChange,
    same,
)

if TYPE_CHECKING:
    from takeback.engine.facts import CallKind

__all__ = [
    "ABSENT", "AGENT_EVIDENCE", "EMPTY_TREE", "HARMLESS_REASONS", "NO_TIME", "PRECEDENCE", "Action",
    "Call", "Change", "DirChange", "Event", "Evidence", "FileState", "NotCaptured", "OnConflict",
    "Operation", "OperationKind", "Outcome", "Part", "PathChange", "Plan", "PlanEntry", "Request",
    "Segment", "Selection", "Session", "Step", "Turn", "Warning_", "same",
]  # fmt: skip

Evidence = Literal[
    "tool-edit", "traced-call", "mixed", "during-call", "not-by-call", "outside-calls", "no-record"
]
AGENT_EVIDENCE: Final = frozenset({"tool-edit", "traced-call", "mixed"})
"""Evidence that classes a change as agent-edited; everything else is of unknown origin."""

PRECEDENCE: Final[tuple[Evidence, ...]] = (
    "tool-edit",
    "traced-call",
    "mixed",
    "during-call",
    "not-by-call",
    "outside-calls",
    "no-record",
)

# --- The timeline --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Segment:
    """One version step of one path with its source; the unit in which a change is taken back.

    Attributes:
        key: equal for the same step of the same path wherever it is listed (two turns may share
            one), so that it is taken once.
        call_ids: the calls that made it, or could have.
        step: id of the step it falls in, or "".
        seq: the ledger's number of its end: what came first, over all turns and sessions.
    """

    path: bytes
    before: FileState
    after: FileState
    evidence: Evidence
    key: str
    call_ids: tuple[str, ...] = ()
    step: str = ""
    since_ns: int = 0
    until_ns: int = 0
    undone: bool = False
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What a turn (or step, or call, or a set of turns) did to one path.

    Attributes:
        note: what is worth saying about the difference itself, in words, or "".
    """

    path: bytes
    before: FileState
    after: FileState
    evidence: Evidence
    call_ids: tuple[str, ...]
    segments: tuple[Segment, ...]
    undone: bool = False
    plus: int | None = None
    minus: int | None = None
    binary: bool = False
    made_dirs: tuple[bytes, ...] = ()
    note: str = ""

    @property
    def origin(self) -> Literal["agent-edited", "unknown"]:
        return "agent-edited" if self.evidence in AGENT_EVIDENCE else "unknown"

    @property
    def status(self) -> Literal["added", "modified", "deleted", "type-changed"]:
        if self.before.kind == "absent":
            return "added"
        if self.after.kind == "absent":
            return "deleted"
        return "modified" if self.before.kind == self.after.kind else "type-changed"


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call. ``number`` counts the calls of its turn from 1, for words like "Edit #3".

    ``missing_begin``: only its end was reported.
    """

    id: str
    tool: str
    kind: CallKind
    paths: tuple[bytes, ...]
    command: str
    state: Literal["running", "done", "failed", "lost"]
    begun_ns: int
    ended_ns: int
    number: int = 0
    missing_begin: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One model answer within a turn."""

    id: str
    text: str
    begun_ns: int
    ended_ns: int
    before: str | None
    after: str | None
    complete: bool
    calls: tuple[Call, ...]
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt and its answer. ``n`` counts the project's turns over all sessions from 1.

    Attributes:
        seq: the ledger's number of its begin: what came first is never told by a clock.
        recorded: False for one that only the agent's own files tell of, from before takeback: it
            has no number and no changes, and nothing of it can be taken back.
        key: the agent's own id of the turn, "" where there is none.
        agent: who worked in it.
        left: an undo met it and left alone all that it met: undo goes on to older turns.
        folder: where the agent was started, as its own files tell; b"" where they do not.
        earlier: how many prompts of the conversation, as it stands, come before, as the agent's
            own files tell; -1 where they do not.
    """

    id: str
    n: int
    session: str
    prompt: str
    state: Literal["running", "complete", "interrupted"]
    begun_ns: int
    ended_ns: int
    before: str | None
    after: str | None
    complete: bool
    not_captured: tuple[NotCaptured, ...]
    steps: tuple[Step, ...]
    changes: tuple[Change, ...]
    dirs: tuple[DirChange, ...] = ()
    undone: bool = False
    expired: bool = False
    notes: tuple[str, ...] = ()
    background: bool = False
    pid_known: bool = False
    last_event_ns: int = 0
    seq: int = 0
    recorded: bool = True
    key: str = ""
    agent: str = ""
    left: bool = False
    folder: bytes = b""
    earlier: int = -1

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(call for step in self.steps for call in step.calls)


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation with one agent, oldest turn first."""

    id: str
    agent: str
    title: str
    state: Literal["running", "complete", "interrupted"]
    begun_ns: int
    ended_ns: int
    turns: tuple[Turn, ...]

    @property
    def recorded(self) -> bool:
        """Whether takeback recorded it, see `Turn`."""
        return all(turn.recorded for turn in self.turns)


# --- Undo ----------------------------------------------------------------------------------------

OperationKind = Literal["undo", "redo", "goto", "restore", "switch"]
Selection = Literal["agent", "agent+during-call", "all"]
OnConflict = Literal["merge", "keep", "overwrite"]


@dataclass(frozen=True, slots=True)
class Part:
    """Something that was marked: a whole turn, one path of it, one call of it, or both of these.

    Attributes:
        turn: its id or number.
        path: a file, or a folder for all below it; empty for all.
        call: the id of a call of this turn; empty for all.
    """

    turn: str
    path: bytes = b""
    call: str = ""


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for, as the command line or the app understood it.

    Attributes:
        keep: files to leave alone where they changed since, whatever `on_conflict` says.
        overwrite: files to take back whole where they changed since. A file in both is kept; one
            that the operation has nothing to do with is no error.
        parts: for an undo, a marked set of any turns: exactly these, at once. A path or call
            counts as named; of whole turns the selection is taken. Turns between them are kept.
    """

    kind: OperationKind
    turn: str = ""
    to: str = ""
    step: str = ""
    call: str = ""
    session: str = ""
    op: str = ""
    at: Literal["before", "after"] = "after"
    paths: tuple[bytes, ...] = ()
    selection: Selection | None = None
    on_conflict: OnConflict = "merge"
    skip_unwritable: bool = False
    while_running: bool = False
    keep: tuple[bytes, ...] = ()
    overwrite: tuple[bytes, ...] = ()
    parts: tuple[Part, ...] = ()

    def choice(self, *names: bytes) -> OnConflict:
        """What happens to a file that changed since; it may be known under two names."""
        if not set(names).isdisjoint(self.keep):
            return "keep"
        return "overwrite" if not set(names).isdisjoint(self.overwrite) else self.on_conflict


Action = Literal["restore", "delete", "merge", "keep", "conflict"]


@dataclass(frozen=True, slots=True)
class PlanEntry:
    """What will happen to one path.

    Attributes:
        expect: what stands there now; the transaction refuses to go on if it no longer does.
        want: what will stand there (for ``keep`` and ``conflict``: the same as ``expect``).
        reason: for ``keep`` and ``conflict``, in words.
        notes: things worth saying on its line ("committed since", "mtime kept").
        source: the name under which the turn knew a file that was renamed since, else empty.
    """

    path: bytes
    action: Action
    expect: FileState
    want: FileState
    reason: str = ""
    notes: tuple[str, ...] = ()
    source: bytes = b""

    @property
    def known_as(self) -> bytes:
        """The name under which what stands is counted."""
        return self.source or self.path


@dataclass(frozen=True, slots=True)
class Warning_:
    """A dependency warning (a later feature fills these)."""

    path: bytes
    line: int
    name: str
    source: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """An operation before it happens: pure data, shown to the user as it stands.

    Attributes:
        target: the turn, step, call or operation meant, in the words of the command line.
        asks: one sentence for each reason why the user must say yes; empty for a clean plan.
        takes: (turn id, path) pairs that no longer stand once this is applied.
        gives: (turn id, path) pairs that stand again.
        targets: turn ids this plan was made for.
        outputs_newer: a shell call ran after an edit that is taken back: what it built may be newer
            than the files put back.
        stopped: nothing of the target is in the selection; the walk ends here without a change.
        chosen: the paths that the user named, empty where none were: nothing else was looked at.
        met: the (turn id, path) pairs that a marked set was about; None where no set was marked.
    """

    kind: OperationKind
    target: str
    session: str
    entries: tuple[PlanEntry, ...]
    dirs: tuple[DirChange, ...] = ()
    not_captured: tuple[NotCaptured, ...] = ()
    warnings: tuple[Warning_, ...] = ()
    asks: tuple[str, ...] = ()
    takes: tuple[tuple[str, bytes], ...] = ()
    gives: tuple[tuple[str, bytes], ...] = ()
    targets: tuple[str, ...] = ()
    reverses: str = ""
    effects: tuple[str, ...] = ()
    stopped: bool = False
    outputs_newer: bool = False
    chosen: tuple[bytes, ...] = ()
    met: tuple[tuple[str, bytes], ...] | None = None

    @property
    def writes(self) -> tuple[PlanEntry, ...]:
        return tuple(e for e in self.entries if e.action in ("restore", "delete", "merge"))

    @property
    def conflicts(self) -> tuple[PlanEntry, ...]:
        return tuple(e for e in self.entries if e.action == "conflict")


@dataclass(frozen=True, slots=True)
class Operation:
    """An undo, redo, goto or restore that was applied (or failed).

    Attributes:
        moves: per path what stood there before and after.
        before: tree id of the safety snapshot; ``after``: the tree the operation left.
        followed: (path, source) of files that it found under another name, see `PlanEntry`.
        back: the paths among its moves that a later operation reversed.
        chosen: the paths that the user named, see `Plan`; ``met`` as well.
    """

    id: str
    kind: OperationKind
    session: str
    target: str
    at_ns: int
    moves: tuple[PathChange, ...]
    before: str
    after: str
    state: Literal["done", "undone", "failed"]
    dirs: tuple[DirChange, ...] = ()
    takes: tuple[tuple[str, bytes], ...] = ()
    gives: tuple[tuple[str, bytes], ...] = ()
    targets: tuple[str, ...] = ()
    reverses: str = ""
    seq: int = 0
    followed: tuple[tuple[bytes, bytes], ...] = ()
    back: tuple[bytes, ...] = ()
    chosen: tuple[bytes, ...] = ()
    met: tuple[tuple[str, bytes], ...] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request: the plan, and the operation if it was applied."""

    plan: Plan
    operation: str | None
    safety: str | None
    notes: tuple[str, ...] = field(default=())
