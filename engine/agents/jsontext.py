"""Changing a JSON text by its text: what is not changed stays byte for byte.

A small parser that keeps where every value stands. Items are put in and taken out so that taking
out undoes putting in exactly: what is put into an empty container follows its bracket at once, in
a container made by us it never does, so the two can be told apart later.

Comments, where a program takes them in its JSON, are blanks to the parser and stay where they are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_COMMENT = re.compile(r"//[^\n]*?(?=\r?\n|\Z)|/\*.*?\*/", re.DOTALL)
_STRING_OR_COMMENT = re.compile(rf'"(?:\\.|[^"\\])*"|{_COMMENT.pattern}', re.DOTALL)
_STRING_OR_COMMA = re.compile(r'"(?:\\.|[^"\\])*"|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_ON_THE_LINE = re.compile(r"(?:[ \t]*(?:/\*(?:(?!\*/)[^\n])*\*/|//[^\n]*?(?=\r?\n|\Z)))+")
_REST_OF_LINE = re.compile(r"[ \t]*(?:\r?\n|\Z)")
_DEEPEST = 200


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object or an element of an array; without a key, `start` is the value's."""

    key: str | None
    start: int
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands; `items` only in objects and arrays."""

    kind: str
    start: int
    end: int
    value: Any = None
    items: tuple[Item, ...] = ()

    def named(self, key: str) -> list[Node]:
        """The values of all members with a key."""
        return [item.value for item in self.items if item.key == key]


def strict(text: str, comments: bool = True, commas: bool = False) -> str:
    """The text with blanks for comments, or for commas behind the last item of a container."""

    def blank(found: re.Match[str]) -> str:
        return found[0] if found[0][0] == '"' else " " * len(found[0])

    if comments:
        text = _STRING_OR_COMMENT.sub(blank, text)
    return _STRING_OR_COMMA.sub(blank, text) if commas else text


def has_comments(text: str) -> bool:
    """Whether a JSON text, or a part of one between values, has comments."""
    return strict(text) != text


def parse(text: str, comments: bool = False) -> Node:
    """The whole text as one value.

    Args:
        comments: they may be there.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    if comments:
        text = strict(text)
    json.loads(text)  # Says exactly what is wrong; from here on the text is known to be JSON.
    node, at = _value(text, _skip(text, 0), 0)
    if _skip(text, at) != len(text):
        raise ValueError("something follows the value")
    return node


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _value(text: str, at: int, depth: int) -> tuple[Node, int]:
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    first = text[at]
    if first in "{[":
        return _container(text, at, depth)
    if first == '"':
        value, end = scanstring(text, at + 1, True)
        return Node("string", at, end, value), end
    found = _SCALAR.match(text, at)
    if found is None:
        raise ValueError(f"there is no value at character {at}")
    return Node("scalar", at, found.end(), json.loads(found.group())), found.end()


def _container(text: str, at: int, depth: int) -> tuple[Node, int]:
    start, is_object = at, text[at] == "{"
    close = "}" if is_object else "]"
    items: list[Item] = []
    at = _skip(text, at + 1)
    while text[at] != close:
        begin, key = at, None
        if is_object:
            key, at = scanstring(text, at + 1, True)
            at = _skip(text, _skip(text, at) + 1)
        node, at = _value(text, at, depth + 1)
        items.append(Item(key, begin, node))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    kind = "object" if is_object else "array"
    return Node(kind, start, at + 1, None, tuple(items)), at + 1


@dataclass(frozen=True, slots=True)
class Style:
    """How a text is laid out: one level of indentation ("" for all on one line), and line ends."""

    indent: str
    newline: str

    def written(self, value: Any, before: str) -> str:
        """A value as text; `before` is what its lines but the first begin with.

        A container never shows its first item right after its bracket: see `began_empty`.
        """
        if not isinstance(value, (dict, list)) or not value:
            return json.dumps(value, ensure_ascii=False)
        inner = before + self.indent
        if isinstance(value, dict):
            items = [f"{json.dumps(k)}: {self.written(v, inner)}" for k, v in value.items()]
        else:
            items = [self.written(item, inner) for item in value]
        opening, closing = "{}" if isinstance(value, dict) else "[]"
        if not self.indent:
            return f"{opening} {', '.join(items)} {closing}"
        start, end = self.newline + inner, self.newline + before
        return f"{opening}{start}{f',{start}'.join(items)}{end}{closing}"


def style_of(text: str, root: Node) -> Style:
    """The layout of a text, as its outermost members show it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not root.items:
        return Style("  ", newline)
    before = text[root.start + 1 : root.items[0].start]
    if "\n" not in before:
        return Style("", newline)
    return Style(_indent(before.rpartition("\n")[2]) or "  ", newline)


def _indent(line: str) -> str:
    """What a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def put(text: str, node: Node, key: str | None, value: Any, style: Style) -> str:
    """Put a member (or, without a key, an element) at the end of a container."""
    name = f"{json.dumps(key)}: " if key is not None else ""
    before = _indent(text[text.rfind("\n", 0, node.start) + 1 : node.start])
    if not node.items:
        new = name + style.written(value, before)
        return text[: node.start + 1] + new + text[node.start + 1 :]
    end = node.items[-1].value.end
    gap = text[node.start + 1 : node.items[0].start]
    if "\n" not in gap:
        return f"{text[:end]}, {name}{Style('', style.newline).written(value, '')}{text[end:]}"
    before = _indent(gap.rpartition("\n")[2])
    # What is said of the last item beside it stays there.
    said = _ON_THE_LINE.match(text, end)
    line = said.end() if said else end
    new = f"{style.newline}{before}{name}{style.written(value, before)}"
    return f"{text[:end]},{text[end:line]}{new}{text[line:]}"


def take(text: str, node: Node, at: int) -> str:
    """Take one item out of a container; comments around it stay. Every place behind it moves."""
    items = node.items
    rest = text[items[at].value.end :]
    if at > 0:
        start = items[at - 1].value.end
        return text[:start] + _kept(_without_comma(text[start : items[at].start]), rest) + rest
    start = items[0].start
    if len(items) > 1:
        gap = _without_comma(text[items[0].value.end : items[1].start])
        return text[:start] + (gap.lstrip() if has_comments(gap) else "") + text[items[1].start :]
    return text[: node.start + 1] + _kept(text[node.start + 1 : start], rest) + rest


def _without_comma(gap: str) -> str:
    """What stands between two items, without the comma."""
    at = strict(gap).index(",")
    return gap[:at] + gap[at + 1 :]


def _kept(gap: str, rest: str) -> str:
    """What stays of what stands before an item that is taken out: the comments."""
    found = list(_COMMENT.finditer(gap))
    if not found:
        return ""
    # What follows a comment up to the line's end must not come onto its line.
    swallows = found[-1][0].startswith("//") and not _REST_OF_LINE.match(rest)
    return gap if swallows else gap[: found[-1].end()]


def began_empty(node: Node) -> bool:
    """Whether a container was there, and empty, before its first item was put in."""
    return bool(node.items) and node.items[0].start == node.start + 1


def says_more(text: str, node: Node, at: int) -> bool:
    """Whether comments stand in a container besides what one of its items holds."""
    item = node.items[at]
    return has_comments(text[node.start + 1 : item.start] + text[item.value.end : node.end - 1])
