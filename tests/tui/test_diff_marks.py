"""Colours of code in a diff: what is read, what stays plain, and that it can be read."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from textual.color import Color

from takeback import themes
from takeback.tui import diffs, highlight, theming
from takeback.tui.diff_marks import BLOCK, Marks
from takeback.tui.highlight import AA, ROLES, Family, Token

PYTHON = ["def f(a):", '    """Says', "    so.\"\"\"", "    return 12  # twelve"]  # fmt: skip


def tokens(text: str, found: list[Token]) -> dict[str, Family]:
    return {text[start:end]: family for start, end, family in found}


def read(name: str, lines: list[str]) -> list[list[Token]]:
    lexer = highlight.lexer_for(name)
    assert lexer is not None
    return highlight.lex(lexer, lines)


def test_tokens_of_python() -> None:
    found = [tokens(text, spans) for text, spans in zip(PYTHON, read("a.py", PYTHON), strict=True)]
    assert found[0] == {"def": "keyword", "f": "name"}
    assert found[1] == {'"""Says': "string"}
    assert found[2] and set(found[2].values()) == {"string"}
    assert found[3] == {"return": "keyword", "12": "number", "# twelve": "comment"}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("src/a.py", True), ("A.PY", True), ("Makefile", True), ("a/b.tsx", True), ("q.sql", True),
        ("a.pl", True), ("notes.txt", False), ("x.nobodyknows", False), ("", False),
        ("\\xff[red]\\n", False), ("a/../*?[", False),
    ],
)  # fmt: skip
def test_the_name_tells_the_language(name: str, known: bool) -> None:
    assert (highlight.lexer_for(name) is not None) is known


def test_too_long_lines_are_plain_and_do_no_harm() -> None:
    found = read("a.py", ["x = 1", '"' * (highlight.LONGEST + 1), "return"])
    assert found[1] == []
    assert found[2] == [(0, 6, "keyword")]


class Failing:
    """A lexer that is broken, or never done."""

    def __init__(self, endless: bool) -> None:
        self.endless = endless

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, object, str]]:
        from pygments.token import Keyword

        yield 0, Keyword, text[:2]
        while self.endless:
            yield 0, Keyword, ""
        raise RuntimeError("broken")


@pytest.mark.parametrize("endless", [True, False])
def test_a_lexer_that_fails_or_never_ends_leaves_the_rest_plain(endless: bool) -> None:
    began = time.monotonic()
    assert highlight.lex(Failing(endless), ["ab", "c"], seconds=0.05) == [[(0, 2, "keyword")], []]
    assert time.monotonic() - began < 20


def of(*lines: str, name: str = "x.py") -> Marks:
    sides = [sum(line[0] != sign for line in lines) for sign in "+-"]
    text = "\n".join(lines)
    patch = f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n"
    patch += f"@@ -1,{sides[0]} +1,{sides[1]} @@\n{text}\n"
    return Marks(diffs.parse(patch.encode()))


def test_the_two_sides_are_read_apart() -> None:
    """The string that the old line opens would swallow the rest of the new side."""
    marks = of(" x = 1", '-y = """', "+y = 2", " return 3")
    assert marks.tokens(4)[0][2] == "number"
    assert [token[2] for token in marks.tokens(5)] == ["keyword", "number"]
    assert marks.tokens(3)[0][2] == "string"


def test_blocks_join_without_a_gap() -> None:
    marks = of(*["+return 1"] * (3 * BLOCK))
    for line in range(2, 3 * BLOCK + 2):
        assert [token[2] for token in marks.tokens(line)] == ["keyword", "number"]


def test_words_that_differ_on_both_sides() -> None:
    marks = of(" x", "-a = f(b)", "+a = g(b)", " y")
    assert (list(marks.words(3)), list(marks.words(4))) == ([(4, 5)], [(4, 5)])
    assert marks.words(2) == ()
    assert not of("+x", name="x.txt").lexed(2)
    assert marks.lexed(3)


@pytest.mark.parametrize("name", themes.names())
def test_code_can_be_read_on_every_ground(name: str) -> None:
    theme = theming.Known()[name]
    colors = theme.to_color_system().generate() | theme.variables
    grounds = {"background": colors["background"]}
    for side in ("added", "removed"):
        for part in ("ground", "word"):
            grounds[f"{side}-{part}"] = colors[f"tb-{side}-{part}"]
    low = {}
    for role in {*ROLES.values(), "foreground"}:
        for at, ground in grounds.items():
            color, on = Color.parse(colors[role]), Color.parse(ground)
            if color.ansi is None and on.ansi is None:
                reached = highlight.contrast(highlight.legible(color, on), on)
                if reached < AA:
                    low[f"{role} on {at}"] = round(reached, 2)
    assert low == {}


def test_a_colour_is_changed_only_where_it_cannot_be_read() -> None:
    black, dark, white = Color.parse("#000000"), Color.parse("#222222"), Color.parse("#ffffff")
    assert highlight.legible(white, black) == white
    assert highlight.contrast(dark, black) < AA
    assert highlight.contrast(highlight.legible(dark, black), black) >= AA
    assert highlight.legible(Color.parse("ansi_blue"), black) == Color.parse("ansi_blue")
