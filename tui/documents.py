"""The JSON documents of the contract: pure functions from the model to dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from takeback.engine.model import (
    Call,
    Change,
    FileState,
    NotCaptured,
    Operation,
    Outcome,
    Plan,
    PlanEntry,
    Session,
    Step,
    Turn,
)
from takeback.tui import resuming
from takeback.tui.text import decode

if TYPE_CHECKING:
    from takeback.engine.agents.resume import Way

Document = dict[str, Any]


def moment(ns: int) -> str | None:
    """ISO 8601 in UTC with microseconds; None for a time that is not known."""
    import time

    if not ns:
        return None
    seconds, rest = divmod(ns, 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest // 1000:06}Z"


def _blob(state: FileState) -> str | None:
    return state.oid if state.has_content and state.oid else None


def turns_of(sessions: Iterable[Session]) -> tuple[Turn, ...]:
    """Every turn of some sessions, by number."""
    found = [turn for session in sessions for turn in session.turns]
    return tuple(sorted(found, key=lambda turn: turn.n))


def not_captured(entries: Iterable[NotCaptured]) -> list[Document]:
    return [{"path": decode(entry.path), "reason": entry.reason} for entry in entries]


def change(item: Change) -> Document:
    return {
        "path": decode(item.path),
        "status": item.status,
        "origin": item.origin,
        "evidence": item.evidence,
        "calls": list(item.call_ids),
        "before": _blob(item.before),
        "after": _blob(item.after),
        "plus": item.plus,
        "minus": item.minus,
        "mixed": item.evidence == "mixed",
        "binary": item.binary,
        "undone": item.undone,
    }


def call(item: Call) -> Document:
    return {
        "id": item.id,
        "tool": item.tool,
        "kind": item.kind,
        "paths": [decode(path) for path in item.paths],
        "command": item.command,
        "state": item.state,
        "begun": moment(item.begun_ns),
        "ended": moment(item.ended_ns),
    }


def step(item: Step) -> Document:
    return {
        "id": item.id,
        "text": item.text,
        "begun": moment(item.begun_ns),
        "ended": moment(item.ended_ns),
        "before": item.before,
        "after": item.after,
        "complete": item.complete,
        "calls": [call(entry) for entry in item.calls],
        "changes": [change(entry) for entry in item.changes],
    }


def turn(item: Turn) -> Document:
    return {
        "id": item.id,
        "n": item.n,
        "prompt": item.prompt,
        "state": item.state,
        "begun": moment(item.begun_ns),
        "ended": moment(item.ended_ns),
        "before": item.before,
        "after": item.after,
        "complete": item.complete,
        "not_captured": not_captured(item.not_captured),
        "steps": [step(entry) for entry in item.steps],
        "changes": [change(entry) for entry in item.changes],
        "undone": item.undone,
        "expired": item.expired,
        "notes": list(item.notes),
    }


def log(
    root: bytes, git: bool, sessions: Iterable[Session], past: Iterable[Session] = ()
) -> Document:
    """Everything that was recorded; `past` are conversations of which nothing was."""
    return {
        "project": {"root": decode(root), "git": git},
        "sessions": [_logged(item) for item in sessions],
        "past": [_logged(item) for item in past],
    }


def _logged(item: Session) -> Document:
    return {
        "id": item.id,
        "agent": item.agent,
        "title": item.title,
        "state": item.state,
        "turns": [turn(entry) for entry in item.turns],
    }


def files_of(session: Session) -> int:
    """How many different files the turns of a session changed."""
    return len({item.path for entry in session.turns for item in entry.changes})


def session_rows(sessions: Sequence[Session], past: Sequence[Session] = ()) -> Document:
    """The sessions, newest first; they come oldest first."""
    return {
        "sessions": [_session_row(item) for item in reversed(sessions)],
        "past": [_session_row(item) for item in reversed(past)],
    }


def _session_row(item: Session) -> Document:
    return {
        "id": item.id,
        "agent": item.agent,
        "title": item.title,
        "state": item.state,
        "begun": moment(item.begun_ns),
        "ended": moment(item.ended_ns),
        "turns": len(item.turns),
        "files": files_of(item),
    }


def _with_reason(entries: Iterable[PlanEntry], action: str) -> list[Document]:
    return [
        {"path": decode(entry.path), "reason": entry.reason}
        for entry in entries
        if entry.action == action
    ]


def way(item: Way | None, here: bytes) -> Document | None:
    """How a conversation goes on; None where it does not.

    Args:
        here: the folder in which its command would be typed.
    """
    if item is None:
        return None
    return {
        "agent": item.agent,
        "argv": list(item.argv),
        "folder": decode(item.folder),
        "command": item.command(here),
        "then": resuming.then(item),
        "exact": item.exact,
        "running": item.running,
    }


def plan(
    item: Plan,
    outcome: Outcome | None = None,
    dry_run: bool = False,
    goes_on: Document | None = None,
) -> Document:
    """What will happen, or did: the same document, told apart by ``operation``.

    Args:
        goes_on: how the conversation can go on from there, see `way`.
    """

    def paths(action: str) -> list[str]:
        return [decode(entry.path) for entry in item.entries if entry.action == action]

    return {
        "operation": outcome.operation if outcome else None,
        "kind": item.kind,
        "target": item.target,
        "restored": paths("restore"),
        "deleted": paths("delete"),
        "merged": paths("merge"),
        "kept": _with_reason(item.entries, "keep"),
        "conflicts": _with_reason(item.entries, "conflict"),
        "not_captured": not_captured(item.not_captured),
        "warnings": [
            {
                "path": decode(entry.path),
                "line": entry.line,
                "name": entry.name,
                "from": decode(entry.source),
                "text": entry.text,
            }
            for entry in item.warnings
        ],
        "safety": outcome.safety if outcome else None,
        "dry_run": dry_run,
        "asks": list(item.asks),
        "effects": list(item.effects),
        "notes": list(outcome.notes) if outcome else [],
        "resume": goes_on,
    }


def operation(item: Operation) -> Document:
    return {
        "id": item.id,
        "kind": item.kind,
        "session": item.session,
        "target": item.target,
        "at": moment(item.at_ns),
        "files": [decode(move.path) for move in item.moves],
        "before": item.before,
        "after": item.after,
        "state": item.state,
    }


def history(
    operations: Sequence[Operation], next_undo: Plan | None, next_redo: Plan | None
) -> Document:
    """The operations, newest first; they come oldest first."""
    return {
        "operations": [operation(item) for item in reversed(operations)],
        "next_undo": plan(next_undo, dry_run=True) if next_undo else None,
        "next_redo": plan(next_redo, dry_run=True) if next_redo else None,
    }


def shown(item: Turn | Step | Call | Operation, changes: Sequence[Change]) -> Document:
    """The answer of ``show``: the item under its own name."""
    if isinstance(item, Turn):
        return {"turn": turn(item)}
    if isinstance(item, Step):
        return {"step": step(item)}
    if isinstance(item, Call):
        return {"call": call(item), "changes": [change(entry) for entry in changes]}
    return {"operation": operation(item), "changes": [change(entry) for entry in changes]}


def error(message: str, hint: str, code: int) -> Document:
    return {"error": {"message": message, "hint": hint, "code": int(code)}}


def dump(document: Mapping[str, Any]) -> str:
    """One document as ASCII: bytes that were no UTF-8 stay escaped lone surrogates."""
    import json

    return json.dumps(document, ensure_ascii=True, indent=2)
