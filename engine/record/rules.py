"""Which names a scan passes over: git's ignore rules, our default excludes, secrets.

The rules of the user's own git count (``.gitignore`` files, ``.git/info/exclude`` and
``core.excludesFile``), also in plain folders; what the user's index holds is never ignored.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence

from takeback.engine.store.git import Git, finish, user_setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.engine.store.store import Store


def user_excludes(git_dir: bytes | None, root: bytes) -> bytes:
    """The text of the user's exclude files outside the tree, weakest first."""
    parts = []
    for path in (_excludes_file(root), os.path.join(git_dir, b"info/exclude") if git_dir else b""):
        if not path:
            continue
        try:
            with open(path, "rb") as file:
                parts.append(file.read())
        except OSError:
            continue
    return b"\n".join(parts)


def _excludes_file(root: bytes) -> bytes:
    """``core.excludesFile`` as the user's git sees it, or git's default for it."""
    named = user_setting(root, "core.excludesFile")
    if named:
        return named
    base = os.environb.get(b"XDG_CONFIG_HOME") or os.path.join(
        os.environb.get(b"HOME", b""), b".config"
    )
    return os.path.join(base, b"git", b"ignore") if base.startswith(b"/") else b""


def digest(*parts: bytes) -> str:
    """A short fingerprint of rule texts."""
    return hashlib.sha1(b"\0".join(parts)).hexdigest()


class IgnoreCheck:
    """Asks ``git check-ignore`` about the rules in a work tree and an exclude text.

    Nothing is asked of the user's repository: another git directory is used, with ``--no-index``.
    Paths begin with ``./`` because this command knows no literal pathspecs. A folder is named
    without a slash: with one, git answers for what a ``.gitignore`` inside it says of all names.

    Args:
        git_dir: a git directory whose ``info/exclude`` holds the exclude text.
    """

    def __init__(self, git_dir: bytes, work_tree: bytes) -> None:
        self._git = Git(git_dir, work_tree, {b"GIT_LITERAL_PATHSPECS": b"0"})

    def ignored(self, names: Sequence[bytes]) -> set[bytes]:
        """Those of the paths that the rules ignore.

        Raises:
            GitError: git failed; nothing may be concluded.
        """
        if not names:
            return set()
        process = self._git.start(
            "-c", "core.excludesFile=/dev/null",
            "check-ignore", "--no-index", "-z", "--stdin",
            stdin=True,
        )  # fmt: skip
        text = b"".join(b"./" + name + b"\0" for name in names)
        out = finish(process, text, ok=(0, 1))
        return {name[2:] for name in out.split(b"\0") if name}


def former_rules(store: Store, excludes: bytes, files: dict[bytes, bytes]) -> IgnoreCheck:
    """A check against rules as they were, laid out in a folder of the store's own.

    Args:
        excludes: the former exclude text.
        files: the former ``.gitignore`` files.
    """
    import shutil

    folder = os.path.join(store.temp, b"rules")
    shutil.rmtree(folder, ignore_errors=True)
    git_dir, tree = os.path.join(folder, b"git"), os.path.join(folder, b"tree")
    for name in (b"info", b"objects", b"refs"):
        os.makedirs(os.path.join(git_dir, name), 0o700)
    laid = {os.path.join(tree, path): data for path, data in files.items()}
    laid[os.path.join(git_dir, b"HEAD")] = b"ref: refs/heads/none\n"
    laid[os.path.join(git_dir, b"info/exclude")] = excludes
    os.makedirs(tree, 0o700)
    for path, data in laid.items():
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    return IgnoreCheck(git_dir, tree)
