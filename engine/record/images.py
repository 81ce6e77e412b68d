"""What stands at single paths: the versions that edit calls are recorded with."""

from __future__ import annotations

import os
import stat

from takeback.engine.config import secret_reason
from takeback.engine.facts import ABSENT, FileState
from takeback.engine.record.files import read_blob
from takeback.engine.store import paths
from takeback.engine.store.objects import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from takeback.engine.config import Config
    from takeback.engine.store.store import Store


def capture(store: Store, config: Config, path: bytes, limited: bool = True) -> FileState:
    """Read what stands at a project path and keep its bytes.

    Args:
        path: relative to the root; its parents hold no links (see `paths.relative`).
        limited: whether the size limit counts; a safety copy knows none.

    Returns:
        The state; ``unknown`` with a reason when it may not or cannot be kept.
    """
    if paths.inside_git(path):
        return FileState("unknown", reason="inside-git")
    if secret_reason(path) and not config.store_secrets:
        return FileState("unknown", reason="secret")
    full = os.path.join(store.root, path)
    if has_link_parent(store.root, path):
        return ABSENT
    try:
        st = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except OSError:
        return FileState("unknown", reason="unreadable")
    if stat.S_ISDIR(st.st_mode):
        # No file stands here; what the folder holds has paths of its own.
        return ABSENT
    if not stat.S_ISREG(st.st_mode) and not stat.S_ISLNK(st.st_mode):
        return FileState("special")
    if limited and st.st_size > config.max_file_size_mb * (1 << 20):
        from takeback.engine.record import scanstate

        state = scanstate.load(store)
        if state is None or state.find(path) is None:
            return FileState("unknown", reason="too-large")
    try:
        oid, st, _ = read_blob(store.objects, full, st)
    except FileNotFoundError:
        return ABSENT
    except (PermissionError, StoreError):
        return FileState("unknown", reason="unreadable")
    if stat.S_ISLNK(st.st_mode):
        return FileState("link", 0, oid, st.st_mtime_ns)
    return FileState("file", stat.S_IMODE(st.st_mode), oid, st.st_mtime_ns)


def has_link_parent(root: bytes, path: bytes) -> bool:
    """Whether a parent folder of a project path is a link: then the path is not the project's."""
    at = root
    for part in path.split(b"/")[:-1]:
        at = os.path.join(at, part)
        try:
            mode = os.lstat(at).st_mode
        except OSError:
            return False
        if stat.S_ISLNK(mode):
            return True
    return False


def missing_parents(root: bytes, path: bytes) -> list[bytes]:
    """The folders above a path that do not exist, topmost first."""
    missing: list[bytes] = []
    while path := path.rpartition(b"/")[0]:
        if os.path.lexists(os.path.join(root, path)):
            break
        missing.insert(0, path)
    return missing
