from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.engine.errors import UsageError
from takeback.tui import settings

OWN = """# mine
theme = "nord"  # the "best" # one
undo_skip = [
  "a",  # kept
]
max_turn_age_days = 30

[other]
theme = "x"
"""


def test_a_value_changes_and_every_comment_stays() -> None:
    text = settings.changed(OWN, "theme", "gruvbox")
    assert text == OWN.replace('"nord"', '"gruvbox"')
    text = settings.changed(OWN, "max_turn_age_days", 3)
    assert text == OWN.replace("30", "3")


def test_a_new_value_stands_before_the_first_table() -> None:
    text = settings.changed(OWN, "snapshots", False)
    assert text == OWN.replace("[other]", "snapshots = false\n[other]")
    assert settings.changed("", "snapshots", True) == "snapshots = true\n"
    assert settings.changed("a = 1", "b", 2) == "a = 1\nb = 2\n"


def test_what_cannot_be_changed_by_line_is_refused() -> None:
    with pytest.raises(UsageError):
        settings.changed(OWN, "undo_skip", ("b",))


def test_text_that_toml_cannot_hold_is_refused() -> None:
    with pytest.raises(UsageError):
        settings.written("\udcff")


@given(st.text(), st.text())
def test_any_text_comes_back(text: str, more: str) -> None:
    for value in (text, (text, more)):
        made = settings.changed(OWN, "keys", value)
        found = tomllib.loads(made)["keys"]
        assert found == (list(value) if isinstance(value, tuple) else value)


def test_a_typed_value_is_toml_or_text() -> None:
    assert settings.parse("true") is True
    assert settings.parse("12") == 12
    assert settings.parse('["a", "b"]') == ["a", "b"]
    assert settings.parse("agent+during-call") == "agent+during-call"
    assert settings.parse("1\nb = 2") == "1\nb = 2"
