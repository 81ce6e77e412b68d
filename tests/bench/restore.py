"""Putting files back: the staged, journaled transaction beside a peer's batched checkout."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from takeback.engine.model import FileState
from takeback.engine.record.snapshot import list_tree
from takeback.engine.store.objects import object_id
from takeback.engine.undo import apply as transaction
from takeback.engine.undo import fsops
from tests.bench import timing, trees
from tests.bench.ours import Takeback
from tests.bench.peers import OpenCode

TARGETS = {5: 0.10, 1000: 0.40}


def _now(path: Path) -> FileState:
    st = path.stat()
    oid = object_id("blob", path.read_bytes())
    return FileState("file", st.st_mode & 0o7777, oid, st.st_mtime_ns)


class _Writer:
    """Our side: the whole transaction, with every fsync and the journal."""

    def __init__(self, root: Path, engine: Takeback, tree: str) -> None:
        self._root = root
        self._engine = engine
        self._held = list_tree(engine.store, tree)
        self._count = 0

    def targets(self, paths: list[Path]) -> list[transaction.Target]:
        """What a plan would hand to the transaction."""
        found = []
        for path in paths:
            name = os.fsencode(path.relative_to(self._root))
            found.append(transaction.Target(name, _now(path), self._held[name]))
        return found

    def write(self, targets: list[transaction.Target]) -> None:
        """The writer alone: read each blob, write it beside the file, put it in its place."""
        objects = self._engine.store.objects
        with fsops.Tree(os.fsencode(self._root)) as tree:
            for target in targets:
                parent, _, name = target.path.rpartition(b"/")
                folder = tree.folder(parent)
                os.close(fsops.write_new(folder, b".bench-new", objects.read(target.want.oid)))
                os.chmod(b".bench-new", target.want.mode, dir_fd=folder)
                os.rename(b".bench-new", name, src_dir_fd=folder, dst_dir_fd=folder)

    def restore(self, targets: list[transaction.Target]) -> None:
        self._count += 1
        store = self._engine.store
        with store.lock:
            transaction.apply(
                store.dir,
                os.fsencode(self._root),
                f"bench{self._count}",
                targets,
                (),
                store.objects,
                {"id": f"bench{self._count}"},
                False,
                lambda record: None,
            )


def report(root: Path, work: Path, rounds: int, table: Callable[..., None]) -> None:
    """Restore 5 and 1000 files that changed."""
    ours, peer = Takeback(root, work / "restore-data"), OpenCode(root, work / "restore-opencode")
    tree, same = ours.track(), peer.track()
    assert tree == same, "the contestants do not hold the same tree"
    writer = _Writer(root, ours, tree)
    mutator = trees.Mutator(root)
    for count, target in TARGETS.items():
        count = min(count, len(mutator.files))
        costs: dict[str, list[timing.Cost]] = {peer.name: []}
        for _ in range(rounds):
            paths = mutator.change(count)
            names = [str(path.relative_to(root)) for path in paths]
            costs[peer.name].append(timing.once(lambda names=names: peer.revert(same, names)))
            for name, work in (("writer alone", writer.write), ("transaction", writer.restore)):
                wanted = writer.targets(mutator.change(count))
                took = timing.once(lambda wanted=wanted, work=work: work(wanted))
                costs.setdefault(f"{ours.name}, {name}", []).append(took)
                assert peer.track() == same, "a file was not put back"
        medians = {name: timing.median(found) for name, found in costs.items()}
        title = f"restore {count} files (the transaction: fsync and journal included)"
        table(title, medians, peer.name, f"{ours.name}, writer alone", target)
    ours.store.close()
