"""The table of keys as Textual's bindings."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from takeback.tui import keys


def bindings(*scopes: str) -> list[BindingType]:
    """The single keys of some scopes; chords are fed to `takeback.tui.chords` by the app."""
    return [
        Binding(sequence[0], key.action, key.text, show=False)
        for key in keys.of(*scopes)
        for sequence in key.sequences
        if len(sequence) == 1
    ]
