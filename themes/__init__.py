"""The colour themes that come with takeback, as TOML files beside this module.

A theme file has ``name``, ``dark``, a table ``[colors]`` with Textual's names and a table
``[variables]`` with the roles of this product, all beginning with ``tb-``. Users put theirs into
the configuration folder; these are read in the same way.
"""

from __future__ import annotations

from importlib import resources


def names() -> list[str]:
    """The names of the shipped themes, sorted."""
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in resources.files(__name__).iterdir()
        if entry.name.endswith(".toml")
    )


def read(name: str) -> str:
    """The TOML text of a shipped theme.

    Raises:
        KeyError: there is no theme of that name.
    """
    if name not in names():
        raise KeyError(name)
    return resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8")
