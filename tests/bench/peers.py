"""What takeback is measured against: OpenCode's sequence of git commands, and plain git.

The sequence is written from a description of what was seen by watching it run: two scans at the
same time, ``check-ignore`` in the user's repository, ``add`` of the paths found, ``write-tree``;
each a git process of its own, on a git directory beside the user's with the user's objects as
alternates.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

_LARGE = 2 << 20
_CONFIG = (
    "core.autocrlf=false",
    "core.longpaths=true",
    "core.symlinks=true",
    "core.fsmonitor=false",
    "feature.manyFiles=true",
    "index.version=4",
    "index.threads=true",
    "core.untrackedCache=true",
)


def environment(extra: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of every git process here: nothing of the user's configuration."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    env |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "LC_ALL": "C"}
    return env | (extra or {})


class Peer:
    """A git directory of its own beside a work tree."""

    def __init__(self, root: Path, store: Path, seed: bool) -> None:
        self.root = root
        self.store = store
        self._env = environment({"GIT_DIR": str(store), "GIT_WORK_TREE": str(root)})
        store.mkdir(parents=True)
        subprocess.run(["git", "init", "--quiet"], check=True, env=self._env, cwd=root)
        if seed:
            alternates = store / "objects/info/alternates"
            alternates.parent.mkdir(parents=True, exist_ok=True)
            alternates.write_text(f"{root / '.git/objects'}\n", "utf-8")
            shutil.copyfile(root / ".git/index", store / "index")

    def git(self, *args: str, stdin: bytes | None = None, ok: tuple[int, ...] = (0,)) -> bytes:
        """One git process on this git directory."""
        done = subprocess.run(
            ["git", *args], cwd=self.root, env=self._env, input=stdin, capture_output=True
        )
        if done.returncode not in ok:
            raise RuntimeError(f"git {' '.join(args)}: {done.stderr.decode(errors='replace')}")
        return done.stdout


class PlainGit(Peer):
    """``git add -A; git write-tree``."""

    name = "git add -A; write-tree"

    def track(self) -> str:
        self.git("add", "--all")
        return self.git("write-tree").decode().strip()


class OpenCode(Peer):
    """The sequence of OpenCode's snapshots."""

    name = "OpenCode's sequence"

    def __init__(self, root: Path, store: Path, seed: bool = True) -> None:
        super().__init__(root, store, seed)
        for setting in _CONFIG:
            self.git("config", *setting.split("=", 1))

    def _scan(self) -> tuple[list[bytes], list[bytes]]:
        commands = (
            ("git", "diff-files", "--name-only", "-z", "--", "."),
            ("git", "ls-files", "--others", "--exclude-standard", "-z", "--", "."),
        )
        both = [
            subprocess.Popen(command, cwd=self.root, env=self._env, stdout=subprocess.PIPE)
            for command in commands
        ]
        outputs = [process.communicate()[0] for process in both]
        changed, untracked = ([path for path in out.split(b"\0") if path] for out in outputs)
        return changed, untracked

    def _add(self) -> None:
        changed, untracked = self._scan()
        found = list(dict.fromkeys(changed + untracked))
        if not found:
            return
        user = environment({"GIT_DIR": str(self.root / ".git"), "GIT_WORK_TREE": str(self.root)})
        done = subprocess.run(
            ["git", "check-ignore", "--no-index", "--stdin", "-z"],
            cwd=self.root,
            env=user,
            input=b"\0".join(found) + b"\0",
            capture_output=True,
        )
        ignored = set(done.stdout.split(b"\0"))
        root = os.fsencode(self.root)
        large = {path for path in untracked if os.lstat(os.path.join(root, path)).st_size > _LARGE}
        if large:
            exclude = self.store / "info/exclude"
            exclude.write_bytes(b"".join(b"/" + path + b"\n" for path in sorted(large)))
        rest = [path for path in found if path not in ignored and path not in large]
        if rest:
            self.git(
                *("add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul"),
                stdin=b"\0".join(b":(top,literal)" + path for path in rest),
            )

    def track(self) -> str:
        """A snapshot."""
        self._add()
        return self.git("write-tree").decode().strip()

    def patch(self, before: str) -> list[bytes]:
        """The paths that changed since a snapshot."""
        self._add()
        return self.git("diff", "--cached", "--name-only", "-z", before, "--", ".").split(b"\0")

    def revert(self, tree: str, paths: Iterable[str]) -> None:
        """Bring paths back to a tree, up to a hundred at a time."""
        every = sorted(paths)
        for start in range(0, len(every), 100):
            batch = every[start : start + 100]
            there = set(self.git("ls-tree", "--name-only", "-z", tree, "--", *batch).split(b"\0"))
            present = [path for path in batch if os.fsencode(path) in there]
            if present:
                self.git("checkout", tree, "--", *present)
            for path in batch:
                if os.fsencode(path) not in there:
                    (self.root / path).unlink(missing_ok=True)
