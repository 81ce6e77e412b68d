"""Which names a scan passes over: git's ignore rules, our default excludes, secrets.

The rules of the user's own git count (``.gitignore`` files, ``.git/info/exclude`` and
``core.excludesFile``), also in plain folders; what the user's index holds is never ignored.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence

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
    """A running ``git check-ignore`` against the rules in a work tree and an exclude text.

    Nothing is asked of the user's repository: the store's own git directory is used, with
    ``--no-index``. Paths begin with ``./`` because this command knows no literal pathspecs.
    """

    def __init__(self, store: Store, work_tree: bytes) -> None:
        self._git = Git(store.git_dir, work_tree, {b"GIT_LITERAL_PATHSPECS": b"0"})

    def ignored(self, names: Sequence[bytes]) -> set[bytes]:
        """Those of the paths (a folder ends in a slash) that the rules ignore.

        Raises:
            GitError: git failed; nothing may be concluded.
        """
        if not names:
            return set()
        process = self._git.start(
            "-c",
            "core.excludesFile=/dev/null",
            "check-ignore",
            "--no-index",
            "-z",
            "--stdin",
            stdin=True,
        )
        text = b"".join(b"./" + name + b"\0" for name in names)
        out = finish(process, text, ok=(0, 1))
        return {name[2:] for name in out.split(b"\0") if name}


def old_rules(store: Store, files: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Lay out former ``.gitignore`` files (path, bytes) in a folder of the store's own."""
    import shutil

    folder = os.path.join(store.temp, b"rules")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, 0o700)
    for path, data in files:
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), 0o700, exist_ok=True)
        with open(target, "wb") as file:
            file.write(data)
    return folder
