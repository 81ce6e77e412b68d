"""The colour themes that come with takeback, as TOML files beside this module.

A theme file has ``name``, ``dark``, a table ``[colors]`` with Textual's names and a table
``[variables]`` with the roles of this product, all beginning with ``tb-``. Users put theirs into
the configuration folder; these are read in the same way.
"""

from __future__ import annotations

import os

_FOLDER = os.path.dirname(__file__)
_END = ".toml"


def names() -> list[str]:
    """The names of the shipped themes, sorted."""
    # Not `importlib.resources`: its import alone takes as long as reading the theme in use.
    return sorted(name.removesuffix(_END) for name in os.listdir(_FOLDER) if name.endswith(_END))


def read(name: str) -> str:
    """The TOML text of a shipped theme.

    Raises:
        KeyError: there is no theme of that name.
    """
    if name not in names():
        raise KeyError(name)
    with open(os.path.join(_FOLDER, name + _END), encoding="utf-8") as file:
        return file.read()
