"""Which targets cannot be written, found before anything is written."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from takeback.engine import work
from takeback.engine.undo.fsops import Tree
from takeback.engine.undo.journal import Target


def preflight(root: bytes, targets: Sequence[Target]) -> dict[bytes, str]:
    """The targets that cannot be written, each with the reason. Writes nothing."""
    going = {t.path for t in targets if t.want.kind == "absent"}
    blocked: dict[bytes, str] = {}
    if not targets:
        return blocked
    with Tree(root) as tree:
        top = os.stat(root)
        whole = _folder_reason(tree, b"", top.st_dev)
        known: dict[bytes, str] = {b"": whole}
        for target in targets:
            work.check()
            reason = whole or _reason(tree, target, going, known, top.st_dev)
            if reason:
                blocked[target.path] = reason
    return blocked


def _reason(
    tree: Tree, target: Target, going: set[bytes], known: dict[bytes, str], device: int
) -> str:
    reason = refused(target.path)
    if reason:
        return reason
    parts = target.path.split(b"/")[:-1]
    at = b""
    for part in parts:
        above, at = at, at + b"/" + part if at else part
        if at in known:
            if known[at]:
                return known[at]
            continue
        st = tree.lstat(at)
        if st is None or at in going:
            return known[above]
        if stat.S_ISLNK(st.st_mode):
            known[at] = "a parent folder is a link"
        elif not stat.S_ISDIR(st.st_mode):
            known[at] = "a file stands where its folder was"
        else:
            known[at] = _folder_reason(tree, at, device)
        if known[at]:
            return known[at]
    st = tree.lstat(target.path)
    if st is not None and st.st_dev != device:
        return "it is on another file system"
    return ""


def refused(path: bytes) -> str:
    """Why nothing may ever be written at a path, or ""."""
    parts = path.split(b"/")
    if b"\0" in path or any(part in (b"", b".", b"..") for part in parts):
        return "it is no path inside the project"
    if any(part.lower() == b".git" for part in parts):
        return "it is inside a .git folder"
    return ""


def _folder_reason(tree: Tree, path: bytes, device: int) -> str:
    fd = tree.folder(path)
    st = os.fstat(fd)
    if st.st_dev != device:
        return "it is on another file system"
    if os.fstatvfs(fd).f_flag & os.ST_RDONLY:
        return "the file system is read-only"
    if not writable(fd) and st.st_uid != os.geteuid():
        return "its folder may not be written"
    return ""


def writable(fd: int) -> bool:
    return os.access(b".", os.W_OK | os.X_OK, dir_fd=fd, effective_ids=True)
