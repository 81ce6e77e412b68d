"""Keys, and keys pressed one after the other ("ctrl+x u"), as a state that moves with each.

The app feeds it from the one place where all keys pass in order, so a burst of chords in one write
of the terminal loses no key and leaks none. What is drawn of it is a picture and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from takeback.tui.keys import SIGNS, Key

SHOW_AFTER = 0.35
"""Seconds until the panel appears: who knows the keys never sees it."""
GIVE_UP_AFTER = 2.0
"""Seconds until a begun chord is forgotten."""


@dataclass(slots=True)
class Node:
    """What may follow the keys pressed so far, or the action that they start."""

    key: Key | None = None
    next: dict[str, Node] = field(default_factory=dict)


_EDIT = frozenset({"space", "left", "right", "home", "end", "backspace", "delete"})


def _typed(key: str) -> bool:
    """Whether a key writes or edits in a line of text."""
    return len(key) == 1 or key in _EDIT or key in SIGNS


def build(keys: Iterable[Key], typing: bool = False) -> Node:
    """What some keys lead to, single ones and chords.

    Args:
        typing: without those whose first key is wanted by a line of text.
    """
    root = Node()
    for key in keys:
        for sequence in key.sequences:
            if typing and _typed(sequence[0]):
                continue
            node = root
            for name in sequence:
                node = node.next.setdefault(name, Node())
            node.key = key
    return root


@dataclass(frozen=True, slots=True)
class Fed:
    """What a key did: nothing here, waits for the next, cancelled, belongs to none, or starts one.

    Attributes:
        pressed: the chord so far, this key included.
        key: what to run, for "run".
    """

    kind: Literal["pass", "wait", "cancel", "unknown", "run"]
    pressed: tuple[str, ...] = ()
    key: Key | None = None


class Chords:
    """The chord that is being typed.

    Attributes:
        pending: the keys so far; empty when no chord has begun.
    """

    def __init__(self) -> None:
        self.pending: tuple[str, ...] = ()
        self._node = Node()

    def feed(self, key: str, chords: Node) -> Fed:
        """Take one key; `chords` are those that may begin now."""
        node = (self._node if self.pending else chords).next.get(key)
        pressed = (*self.pending, key)
        if node is None:
            if not self.pending:
                return Fed("pass")
            self.reset()
            return Fed("cancel" if key == "escape" else "unknown", pressed)
        if node.key is not None:
            self.reset()
            return Fed("run", pressed, node.key)
        self.pending, self._node = pressed, node
        return Fed("wait", pressed)

    def following(self) -> list[tuple[str, Key]]:
        """What may be pressed now: the next key and what it leads to."""
        return [(name, key) for name, node in self._node.next.items() for key in _first(node)]

    def reset(self) -> None:
        """Forget the chord that has begun."""
        self.pending, self._node = (), Node()


def _first(node: Node) -> list[Key]:
    """The action at a node, or the first below it."""
    while node.key is None and node.next:
        node = next(iter(node.next.values()))
    return [node.key] if node.key is not None else []
