"""takeback itself, as the benchmarks drive it: warm in this process, or one process a hook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from takeback.engine.config import load
from takeback.engine.record.snapshot import Snapshotter
from takeback.engine.store import paths
from takeback.engine.store.store import Store

# The checkout's folders are links below this one; a child must find them without an installation.
DEV = Path(__file__).resolve().parents[2] / ".dev"


class Takeback:
    """A project's snapshotter, kept warm."""

    name = "takeback"

    def __init__(self, root: Path, data: Path) -> None:
        where = paths.find_root(os.fsencode(root), os.fsencode(data))
        store = Store.open(where.path, os.fsencode(data), create=True)
        assert store is not None
        self.store = store
        self._snapshots = Snapshotter(store, load(where.path, os.fsencode(data)), where)

    def track(self, full: bool = False) -> str:
        """A snapshot; `full` as at a turn's boundary."""
        with self.store.lock:
            snapshot = self._snapshots.take(full)
        if snapshot.tree is None:
            raise RuntimeError(snapshot.error)
        return snapshot.tree

    def renew(self) -> None:
        """What the recorder does when a turn has ended."""
        with self.store.lock:
            self._snapshots.renew()


def child(
    code: str, *args: str, flags: Sequence[str] = ("-I", "-S"), stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """A Python of its own that sees this checkout."""
    prelude = f"import sys; sys.path.insert(0, {str(DEV)!r}); "
    return subprocess.run(
        [sys.executable, *flags, "-c", prelude + code, *args],
        input=stdin,
        capture_output=True,
        check=True,
    )


_PEAK = """
from pathlib import Path
from tests.bench.ours import Takeback
engine = Takeback(Path(sys.argv[1]), Path(sys.argv[2]))
engine.track(); engine.track()
status = open("/proc/self/status").read()
print(status.split("VmHWM:")[1].split()[0])
"""


def peak_mb(root: Path, data: Path) -> float:
    """The peak memory of a process that takes two snapshots, the first one included if new."""
    here = f"sys.path.insert(0, {str(DEV.parent)!r})\n"
    return int(child(here + _PEAK, str(root), str(data), flags=()).stdout) / 1024
