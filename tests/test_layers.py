"""Which module may know which: the contract that keeps every path through the product one way."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Bottom up. A module may import its own layer and those above it in this list, nothing further
# down: `takeback.engine.store` never imports `takeback.engine.record`.
LAYERS = (
    ("takeback.engine.frozen", "takeback.engine.errors", "takeback.engine.work"),
    ("takeback.engine.facts",),
    ("takeback.engine.model",),
    ("takeback.engine.store",),
    ("takeback.engine.config",),
    ("takeback.engine.record",),
    ("takeback.engine.timeline",),
    ("takeback.engine.undo",),
    ("takeback.engine.upkeep",),
    ("takeback.engine.agents",),
    ("takeback.engine.project", "takeback.engine.handle", "takeback.engine"),
    ("takeback.themes",),
    ("takeback.tui",),
)

# These come in only when a file has to be merged or shown; their import is dear.
HEAVY = ("pygit2",)
SCREEN = ("textual", "rich")
ONLY_GIT = "takeback.engine.store.git"

# A hook starts Python for every tool call of an agent.
HOOK_PATH = ("takeback.engine.agents.hook", "takeback.engine.record.recorder")
NOT_ON_THE_HOOK_PATH = (
    "argparse",
    "logging",
    "platformdirs",
    "pygit2",
    "rich",
    "tempfile",
    "textual",
    "tomli_w",
)


@dataclass(frozen=True, slots=True)
class Import:
    """One import: which module imports what, and whether at the top or inside a function."""

    by: str
    name: str
    line: int
    lazy: bool


def sources() -> Iterator[tuple[str, Path]]:
    """Every module of the product with its file."""
    for part in ("engine", "themes", "tui"):
        for path in sorted((ROOT / part).rglob("*.py")):
            names = list(path.relative_to(ROOT).with_suffix("").parts)
            if names[-1] == "__init__":
                names.pop()
            yield ".".join(["takeback", *names]), path


def imports_of(module: str, path: Path) -> list[Import]:
    """The imports of a module; those under ``if TYPE_CHECKING`` cost nothing and count as lazy."""
    found: list[Import] = []

    def walk(node: ast.AST, lazy: bool) -> None:
        if isinstance(node, ast.Import):
            found.extend(Import(module, alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}:{node.lineno}: imports are absolute"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                inner = name if name in ALL else str(node.module)
                found.append(Import(module, inner, node.lineno, lazy))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for child in node.body:
                walk(child, True)
            for child in node.orelse:
                walk(child, lazy)
        else:
            inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                walk(child, inside)

    walk(ast.parse(path.read_bytes(), str(path)), False)
    return found


ALL = dict(sources())
IMPORTS = [found for module, path in ALL.items() for found in imports_of(module, path)]


def below(name: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of these packages or stands inside one."""
    return any(name == package or name.startswith(package + ".") for package in packages)


def layer(module: str) -> int:
    """The position of a module's layer: the one with the longest name that holds it."""
    best, found = -1, ""
    for position, names in enumerate(LAYERS):
        for name in names:
            exact = name == "takeback.engine"
            fits = module == name if exact else below(module, (name,))
            if fits and len(name) > len(found):
                best, found = position, name
    return best


def test_every_module_stands_in_a_layer() -> None:
    assert [module for module in ALL if layer(module) < 0] == []


def test_nothing_imports_upwards() -> None:
    wrong = [
        f"{found.by}:{found.line} imports {found.name}"
        for found in IMPORTS
        if below(found.name, ("takeback",))
        and layer(found.name) > layer(found.by)
        # `engine/__init__` offers the facade's names; importing a module below `engine` runs it,
        # so it must do so lazily, and nobody inside the engine takes them from there.
        and not (found.by == "takeback.engine" and found.name == "takeback.engine.project")
    ]
    assert wrong == []


def test_there_are_no_circles_of_modules() -> None:
    graph: dict[str, set[str]] = {module: set() for module in ALL}
    for found in IMPORTS:
        if found.name in ALL and not found.lazy and found.name != found.by:
            graph[found.by].add(found.name)
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for other in sorted(graph[module]):
                visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


def test_the_engine_knows_no_screen() -> None:
    wrong = [
        f"{found.by}:{found.line} imports {found.name}"
        for found in IMPORTS
        if below(found.by, ("takeback.engine",)) and below(found.name, (*SCREEN, "takeback.tui"))
    ]
    assert wrong == []


def test_pygit2_is_imported_only_where_it_is_used() -> None:
    wrong = [
        f"{found.by}:{found.line}"
        for found in IMPORTS
        if below(found.name, HEAVY) and not found.lazy
    ]
    assert wrong == []


def test_every_git_process_starts_in_one_place() -> None:
    """A string ``git`` at the head of an argument list stands in `engine/store/git.py` alone."""
    wrong = []
    for module, path in ALL.items():
        if module == ONLY_GIT:
            continue
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.List | ast.Tuple) and node.elts:
                head = node.elts[0]
                if (
                    isinstance(head, ast.Constant)
                    and head.value in ("git", b"git")
                    and isinstance(node, ast.List)
                ):
                    wrong.append(f"{module}:{node.lineno}")
    assert wrong == []
    users = {
        found.by
        for found in IMPORTS
        if found.name == "subprocess" and below(found.by, ("takeback.engine",)) and not found.lazy
    }
    assert users <= {ONLY_GIT, "takeback.engine.agents.programs"}


def test_no_print_outside_the_command_line() -> None:
    wrong = [
        f"{module}:{node.lineno}"
        for module, path in ALL.items()
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "print"
        and not module.startswith(("takeback.tui.cli", "takeback.tui.demo", "takeback.tui.run"))
    ]
    assert wrong == []


@pytest.mark.parametrize("module", HOOK_PATH)
def test_the_hook_path_stays_light(module: str) -> None:
    """What an agent waits for at each tool call loads the light standard library only."""
    code = (
        "import json, sys; before = set(sys.modules); "
        f"import {module}; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / ".dev")},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in json.loads(done.stdout)}
    assert loaded.isdisjoint(NOT_ON_THE_HOOK_PATH), sorted(loaded & set(NOT_ON_THE_HOOK_PATH))
