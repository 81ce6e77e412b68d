"""What is installed is what stands in the tree, and nothing outside ``takeback``."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("engine", "themes", "tui")
DATA = {".js", ".tcss", ".toml", ".typed"}


def tree() -> set[str]:
    """Every file of the product, by the name it has once installed."""
    return {
        f"takeback/{path.relative_to(ROOT).as_posix()}"
        for part in PARTS
        for path in (ROOT / part).rglob("*")
        if path.is_file() and (path.suffix == ".py" or path.suffix in DATA)
    }


def run(*args: str, cwd: Path) -> str:
    """Run a program without this checkout on its module path."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    env |= {"PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(args, cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the checkout: building leaves nothing in the tree itself."""
    base = tmp_path_factory.mktemp("wheel")
    copy = base / "source"
    copy.mkdir()
    for name in ("pyproject.toml", "README.md"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    for name in tree():
        target = copy / name.removeprefix("takeback/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name.removeprefix("takeback/")).read_bytes())
    run(
        sys.executable,
        "-c",
        "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))",
        str(base),
        cwd=copy,
    )
    (built,) = base.glob("*.whl")
    return built


def test_the_package_list_names_every_package() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    listed = config["tool"]["setuptools"]["packages"]
    found = {
        "takeback." + ".".join(path.parent.relative_to(ROOT).parts)
        for part in PARTS
        for path in (ROOT / part).rglob("__init__.py")
    }
    assert listed == sorted(found)


def test_the_wheel_holds_every_file_of_the_tree_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == tree()


def test_an_installed_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = str(tmp_path / "venv/bin/python")
    (library,) = (tmp_path / "venv/lib").glob("python3*/site-packages")
    run(
        *(sys.executable, "-m", "pip", "--python", python, "install", "--quiet"),
        *("--no-deps", "--no-index", str(wheel)),
        cwd=tmp_path,
    )
    assert (library / "takeback/engine/model.py").is_file()
    assert not (library / "engine").exists()
    modules = "takeback.engine.model, takeback.engine.record.recorder, takeback.themes"
    out = run(
        *(python, "-c"),
        f"import {modules}; print(takeback.engine.model.__file__); "
        "print(len(takeback.themes.names()))",
        cwd=tmp_path,
    )
    where, themes = out.split()
    assert where.startswith(str(library))
    assert int(themes) == len(list((ROOT / "themes").glob("*.toml")))
    assert "takeback" in run(str(tmp_path / "venv/bin/takeback"), "--version", cwd=tmp_path)
