"""Where things are: the project root of a folder, the data folder, ids made from paths.

Decided without asking git, so that a broken repository is still a project (CONTRACT.md, Project).
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterable

from takeback.engine.errors import UsageError
from takeback.engine.frozen import Frozen

STAGING_PREFIX = b".takeback-"
"""Names of staging folders begin with this; they are never captured nor listed."""

PROJECT_FILE = b".takeback.toml"


class Root(Frozen):
    """A project's root.

    Attributes:
        path: the real path, without symbolic links.
        git: the `.git` entry of the root, or None for a plain folder.
        refused: why no snapshot may be taken here, or "".
    """

    path: bytes
    git: bytes | None
    refused: str


def data_dir(explicit: str | bytes | None = None) -> bytes:
    """The folder that holds every store: the option, ``TAKEBACK_DATA_DIR``, or the platform's."""
    given = explicit or os.environ.get("TAKEBACK_DATA_DIR")
    if given:
        return os.path.abspath(os.fsencode(given))
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    elif os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        base = os.environ.get("XDG_DATA_HOME", "")
        if not os.path.isabs(base):
            # A relative one does not count: it would put the stores into wherever we stand.
            base = os.path.join(home, ".local", "share")
    return os.path.abspath(os.fsencode(os.path.join(base, "takeback")))


def key_of(name: bytes) -> str:
    """A file-name-safe id for a path or a session id."""
    return hashlib.sha256(name).hexdigest()[:24]


def store_dir(data: bytes, root: bytes) -> bytes:
    return os.path.join(data, b"projects", key_of(root).encode())


def real_folder(folder: bytes) -> bytes:
    """The real path of a folder that must exist.

    Raises:
        UsageError: it does not exist, is no folder, or cannot be entered.
    """
    try:
        real = os.path.realpath(folder, strict=True)
        if not stat.S_ISDIR(os.stat(real).st_mode):
            raise NotADirectoryError(20, "Not a directory")
    except (OSError, ValueError) as error:
        # No path holds a NUL, but what others wrote may.
        shown, why = os.fsdecode(folder), getattr(error, "strerror", None) or error
        raise UsageError(
            f"{shown!r} is not a folder that can be used: {why}. Nothing was done.",
            "Name an existing folder with -C.",
        ) from error
    return real


def ancestors(path: bytes) -> list[bytes]:
    """The folder itself, then each parent up to the root of the file system."""
    out = [path]
    while (parent := os.path.dirname(path)) != path:
        out.append(parent)
        path = parent
    return out


def _homes() -> list[bytes]:
    out = []
    for home in (os.environ.get("HOME"), os.path.expanduser("~")):
        if home:
            out.append(os.path.realpath(os.fsencode(home)))
    return out


def refusal(path: bytes, allow_root: Iterable[bytes] = ()) -> str:
    """Why a folder is no project: a home folder, the root of a drive, or a parent of one."""
    if path in {os.path.realpath(entry) for entry in allow_root}:
        return ""
    shown = os.fsdecode(path)
    if os.path.dirname(path) == path:
        return f"{shown!r} is the root of the file system"
    for home in _homes():
        if path == home:
            return f"{shown!r} is your home folder"
        if home.startswith(path + b"/"):
            return f"{shown!r} holds your home folder"
    if os.path.dirname(path) in (b"/home", b"/Users"):
        return f"{shown!r} is a home folder"
    if path in (b"/home", b"/Users"):
        return f"{shown!r} holds home folders"
    return ""


def has_git(path: bytes) -> bool:
    """Whether a folder holds an entry named ``.git``, whatever it is."""
    try:
        os.lstat(os.path.join(path, b".git"))
    except OSError:
        return False
    return True


def find_root(folder: bytes, data: bytes, allow_root: Iterable[bytes] = ()) -> Root:
    """The project root that a folder belongs to. Reads only.

    Raises:
        UsageError: not a folder, or inside a ``.git``.
    """
    allow = tuple(allow_root)
    real = real_folder(folder)
    if b".git" in real.split(b"/"):
        raise UsageError(
            f"{os.fsdecode(real)!r} is inside a .git folder. Nothing was done.",
            "Go to the project's own folders.",
        )
    chain = ancestors(real)
    for path in chain:
        if has_git(path) and not refusal(path, allow):
            return Root(path, os.path.join(path, b".git"), "")
    for path in chain:
        if refusal(path, allow):
            continue
        known = os.path.exists(os.path.join(store_dir(data, path), b"counters"))
        if known or os.path.lexists(os.path.join(path, PROJECT_FILE)):
            return Root(path, None, "")
    return Root(real, os.path.join(real, b".git") if has_git(real) else None, refusal(real, allow))


def git_dir_of(root: Root) -> bytes | None:
    """The real git directory behind a root's ``.git`` (a folder, a link, or a ``gitdir:`` file)."""
    if root.git is None:
        return None
    try:
        if stat.S_ISDIR(os.stat(root.git).st_mode):
            return os.path.realpath(root.git)
        with open(root.git, "rb") as file:
            text = file.read(8192)
    except OSError:
        return None
    if not text.startswith(b"gitdir:"):
        return None
    target = text[7:].strip()
    return os.path.realpath(os.path.join(root.path, target))


def relative(root: bytes, path: bytes, folder: bytes) -> bytes | None:
    """A path as named by a caller in `folder`, relative to the root; None if it is outside.

    The parents are resolved, the last component is not: a link is named, not what it points to.
    """
    full = os.path.normpath(os.path.join(folder, path))
    if full.startswith(b"//"):
        full = full[1:]
    parent, name = os.path.split(full)
    if full != root:
        full = os.path.join(os.path.realpath(parent), name)
    if full == root:
        return b""
    prefix = root.rstrip(b"/") + b"/"
    return full[len(prefix) :] if full.startswith(prefix) else None


def inside_git(path: bytes) -> bool:
    """Whether a relative path has a component ``.git`` (in any case, as some systems fold it)."""
    return any(part.lower() == b".git" for part in path.split(b"/"))
