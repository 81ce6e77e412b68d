"""Prompts and answers as lines: what Markdown becomes, and what hostile text does not."""

from __future__ import annotations

import pytest

from takeback.tui import conversation
from takeback.tui.conversation import Spans
from takeback.tui.glyphs import ASCII
from takeback.tui.widgets.cells import cell_len


def plain(lines: list[Spans]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def roles(text: str) -> list[tuple[str, str]]:
    return [(s.text, s.role) for line in conversation.answer(text, 60) for s in line]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("# Big\n", [("Big", "title")]),
        ("a **b** c", [("a", ""), (" b", "title"), (" c", "")]),
        ("a *b* c", [("a", ""), (" b", "emphasis"), (" c", "")]),
        ("run `x **y**`", [("run", ""), (" x **y**", "code")]),
        ("``a ` b``", [("a ` b", "code")]),
        ("see [docs](https://x.y)", [("see docs", ""), (" (https://x.y)", "muted")]),
        ("- one", [("• ", "muted"), ("one", "")]),
        ("  2. two", [("  2. ", "muted"), ("two", "")]),
        ("- [x] done", [("[x] ", "muted"), ("done", "")]),
        ("> said", [("│ said", "muted")]),
        ("```\n*a*  b\n```", [("│ ", "muted"), ("*a*  b", "code")]),
        ("| a | b |\n|---|---|\n", [("| a | b |", "code")]),
        ("---", [("─" * 40, "muted")]),
    ],
)
def test_what_agents_write_has_a_role(text: str, spans: list[tuple[str, str]]) -> None:
    assert roles(text) == spans


@pytest.mark.parametrize(
    "text",
    ["some_long_name", "2*3*4", "a * b * c", "**open", "`open", "[a](b", "[red]x[/red]", "a ~ b"],
)
def test_signs_that_mark_nothing_stand_for_themselves(text: str) -> None:
    assert roles(text) == [(text, "")]


def test_a_sign_behind_a_backslash_stands_for_itself() -> None:
    assert roles("\\*a\\* C:\\dir") == [("*a* C:\\dir", "")]


def test_an_item_goes_on_below_its_first_word() -> None:
    lines = plain(conversation.answer("- one two three four", 12))
    assert lines == ["• one two", "  three four"]


def test_free_lines_are_single_and_never_at_an_end() -> None:
    assert plain(conversation.answer("\n\na\n\n\n\nb\n\n", 20)) == ["a", "", "b"]


def test_a_prompt_is_shown_as_it_was_typed() -> None:
    assert plain(conversation.prompt("# a\n  **b**\n\n\nc", 20)) == ["# a", "  **b**", "", "c"]


def test_signs_of_a_terminal_with_few() -> None:
    assert plain(conversation.answer("- a\n> b\n---", 20, ASCII)) == ["- a", "| b", "-" * 20]


@pytest.mark.parametrize(
    "text",
    [
        "\x1b[31mred\x07 \x9b2J",
        "```\x1b]0;t\x07\n\x1b[2J\n```",
        "[a\x1b](\x1b[0m)",
        "\u202egnp.exe \u2066x",
        "- \x00\x85\u2028",
        "| \x1b |",
    ],
)
def test_nothing_of_a_text_reaches_the_terminal(text: str) -> None:
    for lines in (conversation.answer(text, 40), conversation.prompt(text, 40)):
        shown = "".join(plain(lines))
        assert shown.isprintable()
        assert "\u202e" not in shown
        assert "\u2066" not in shown


@pytest.mark.parametrize(
    "text",
    ["中文字符" * 30, "a中b文 " * 30, "🙂👩‍👩‍👧 " * 20, "e\u0301" * 90, "x" * 500, "- " * 90 + "x",
     "`" * 99, "**" * 99, "[a](" * 99, "```\n" + "\t中" * 90, "| " + "中|" * 90,
     " " * 40 + "1234. " + "中" * 9, "> " * 20 + "中 " * 9],
)  # fmt: skip
@pytest.mark.parametrize("width", [12, 13, 40])
def test_no_line_is_wider_than_it_may_be(text: str, width: int) -> None:
    for lines in (conversation.answer(text, width), conversation.prompt(text, width)):
        assert all(sum(cell_len(span.text) for span in line) <= width for line in lines)


def test_no_character_is_lost_where_lines_are_broken() -> None:
    text = "中文 abc 字符字符字符字符 defghijklmnopqrstuvwxyz"
    assert "".join(plain(conversation.answer(text, 12))).replace(" ", "") == text.replace(" ", "")


def test_of_a_huge_text_the_rest_is_counted() -> None:
    lines = plain(conversation.prompt("word " * 20_000, 80))
    assert lines[-1] == "(40000 more characters are not shown here.)"
