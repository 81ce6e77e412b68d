"""Reading commits of the user's own git, for comparison only. Nothing is written there."""

from __future__ import annotations

from collections.abc import Sequence

from takeback.engine.errors import UsageError
from takeback.engine.store.git import Git, GitError, finish


def committed(git_dir: bytes, ref: str, paths: Sequence[bytes]) -> dict[bytes, tuple[int, bytes]]:
    """The git mode and the bytes of paths in a commit of the user's.

    Raises:
        UsageError: there is no such commit.
        GitError: git failed.
    """
    git = Git(git_dir)
    try:
        commit = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref + "^{tree}")
    except GitError as error:
        raise UsageError(f"There is no commit {ref!r} in this project's git.") from error
    tree = commit.strip()
    listing = git.run("ls-tree", "-r", "-z", "--full-tree", tree)
    wanted = set(paths)
    found: dict[bytes, tuple[int, bytes]] = {}
    for line in listing.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path in wanted:
            mode, kind, oid = head.split(b" ")
            if kind == b"blob":
                found[path] = (int(mode, 8), oid)
    out: dict[bytes, tuple[int, bytes]] = {}
    for path, (mode_bits, oid) in found.items():
        process = git.start("cat-file", "blob", oid)
        out[path] = (mode_bits, finish(process))
    return out


def head_blobs(git_dir: bytes, paths: Sequence[bytes]) -> dict[bytes, str]:
    """The blob ids of paths in the user's last commit; nothing where git cannot say.

    Only for a remark to the user: nothing is decided by it.
    """
    try:
        out = Git(git_dir).run("ls-tree", "-z", "--full-tree", "HEAD", "--", *paths, timeout_s=5)
    except GitError:
        return {}
    found = {}
    for line in out.split(b"\0"):
        head, _, path = line.partition(b"\t")
        if path:
            found[path] = head.split(b" ")[2].decode()
    return found
