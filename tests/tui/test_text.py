from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.tui import text


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"\xff[red]x\n", "\\xff[red]x\\n"),
        ("\x1b[31mred\x1b]0;title\x07", "\\e[31mred\\e]0;title\\x07"),
        ("漢字 かな", "漢字 かな"),
        ("tab\there\r", "tab\\there\\r"),
        ("\x9b2J\x7f", "\\x9b2J\\x7f"),
        ("a\u202eb\u2028", "a\\u202eb\\u2028"),
        ("\ud800", "\\ud800"),
    ],
)
def test_untrusted_text_is_shown_and_not_obeyed(raw: str | bytes, shown: str) -> None:
    assert text.safe(raw) == shown


@given(st.binary())
def test_no_bytes_reach_the_terminal_as_control_characters(raw: bytes) -> None:
    shown = text.safe(raw)
    assert all(char.isprintable() or ord(char) > 0x9F for char in shown)
    shown.encode("utf-8")


@given(st.binary())
def test_any_bytes_come_back_from_their_text(raw: bytes) -> None:
    assert text.decode(raw).encode("utf-8", "surrogateescape") == raw


def test_the_first_line_with_something_on_it_is_cut() -> None:
    assert text.first_line("\n  \n hello\nworld") == "hello"
    assert text.first_line("x" * 100, 10) == "x" * 9 + "…"
    assert text.first_line("") == ""


def test_numbers_and_lists_read_as_words() -> None:
    assert text.counted(1, "file") == "1 file"
    assert text.counted(0, "path is", "paths are") == "0 paths are"
    assert text.joined(["a", "b", "c"]) == "a, b and c"
    assert text.joined([]) == ""
