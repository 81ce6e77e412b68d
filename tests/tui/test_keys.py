"""Keys as data, chords as a state, rows as cells."""

from __future__ import annotations

import pytest

from takeback.tui import chords, keys
from takeback.tui.chords import Chords
from takeback.tui.keys import Key, KeyClash
from takeback.tui.widgets.cells import cell_len, fit


@pytest.mark.parametrize("other", ["u", "ctrl+x u", "ctrl+x", "ctrl+x u v", "z,u"])
def test_a_key_with_two_meanings_is_refused(other: str) -> None:
    first = [Key("common", "u", "a", "one"), Key("common", "ctrl+x u", "b", "two")]
    with pytest.raises(KeyClash):
        keys.check([*first, Key("common", other, "c", "three")], "test")


def test_every_screen_has_its_keys_and_no_clash() -> None:
    for name, panes in keys.SCREENS.items():
        for scopes in panes:
            keys.check(keys.of(*scopes), name)
    assert {key.scope for key in keys.TABLE} == set(keys.TITLES)


def test_chords() -> None:
    trie = chords.build(keys.of("common", "list"))
    state = Chords()
    assert state.feed("z", trie).kind == "pass"
    assert state.feed("j", trie).kind == "run"
    assert state.feed("ctrl+x", trie).kind == "wait"
    done = state.feed("u", trie)
    assert done.kind == "run"
    assert done.key is not None
    assert done.key.action == "app.undo"
    assert state.feed("g", trie).kind == "wait"
    assert state.feed("x", trie).kind == "unknown"
    assert state.feed("ctrl+x", trie).kind == "wait"
    assert state.feed("escape", trie).kind == "cancel"
    assert state.pending == ()


@pytest.mark.parametrize("text", ["", "abc", "中文字", "a中b文c字d", "e\u0301e\u0301e\u0301"])
@pytest.mark.parametrize("width", range(8))
@pytest.mark.parametrize("keep_end", [False, True])
def test_text_takes_exactly_its_cells(text: str, width: int, keep_end: bool) -> None:
    assert cell_len(fit(text, width, keep_end=keep_end)) == width
