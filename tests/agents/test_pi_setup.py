"""Connecting pi: an extension of ours comes and goes, and nobody else's is touched."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents import install
from takeback.engine.agents.pi import extension, setup
from takeback.engine.errors import UsageError
from tests.agents.test_install import run


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PI_CODING_AGENT_DIR", raising=False)


class Place:
    """A home and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "project"
        self.home.mkdir()
        self.root.mkdir()
        self.user = self.home / ".pi/agent/extensions/takeback.ts"
        self.project = self.root / ".pi/extensions/takeback.ts"

    @property
    def both(self) -> tuple[bytes, bytes]:
        return os.fsencode(self.root), os.fsencode(self.home)

    def install(self, level: Any = "user", **more: Any) -> None:
        for edit in install.plan_install("pi", level, *self.both, **more):
            install.apply_edit(edit)

    def uninstall(self) -> None:
        for edit in install.plan_uninstall("pi", *self.both):
            install.apply_edit(edit)

    def problems(self) -> list[str]:
        return [message for _, ok, message, _ in setup.status(*self.both) if not ok]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("level", ["user", "project"])
def test_the_extension_comes_and_goes(place: Place, level: str) -> None:
    place.install(level)
    path = place.user if level == "user" else place.project
    first = path.read_bytes()
    assert first.startswith(extension.MARK.encode() + b"\n") and place.problems() == []
    place.install(level)
    assert path.read_bytes() == first
    place.uninstall()
    assert not path.exists() and not path.parent.exists()
    assert install.plan_uninstall("pi", *place.both) == ()


def test_extensions_of_others_stay(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    other = place.user.parent / "other.ts"
    other.write_text("mine")
    place.install()
    place.uninstall()
    assert other.read_text() == "mine"


def test_a_file_of_that_name_that_is_not_ours_stays(place: Place) -> None:
    place.user.parent.mkdir(parents=True)
    place.user.write_text("mine")
    with pytest.raises(UsageError, match="Nothing was changed"):
        place.install()
    place.uninstall()
    assert place.user.read_text() == "mine" and place.problems() == []


def test_one_level_at_a_time(place: Place) -> None:
    place.install()
    with pytest.raises(UsageError, match="already connected"):
        place.install("project")
    place.project.parent.mkdir(parents=True)
    shutil.copy(place.user, place.project)
    assert any("recorded twice" in problem for problem in place.problems())
    place.uninstall()
    assert not place.user.exists() and not place.project.exists()


def test_a_former_version_is_told_and_renewed(place: Place) -> None:
    place.install()
    new = place.user.read_bytes()
    place.user.write_bytes(new.replace(b"Waits:", b"Waited:"))
    assert any("another version" in problem for problem in place.problems())
    place.install()
    assert place.user.read_bytes() == new and place.problems() == []


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"const HOOK: string[] = [", b'const HOOK: string[] = ["/none/python", ', "gone"),
        (b"const HOOK: string[] = [", b"const HOOK: string[] = [[", "no command"),
        (b"const HOOK", b"const CROOK", "no command"),
    ],
)
def test_what_cannot_work_any_more_is_told(place: Place, old: bytes, new: bytes, why: str) -> None:
    place.install()
    place.user.write_bytes(place.user.read_bytes().replace(old, new))
    assert any(why in problem for problem in place.problems())


def test_the_folder_that_pi_is_told_is_used(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    for given, path in (("/elsewhere", "/elsewhere"), ("~/own", str(place.home / "own"))):
        monkeypatch.setenv("PI_CODING_AGENT_DIR", given)
        assert setup.agent_folder(os.fsencode(place.home)) == os.fsencode(path)


def test_the_data_folder_stands_in_the_commands(place: Place, tmp_path: Path) -> None:
    place.install(data_dir=str(tmp_path / "my data"))
    text = place.user.read_text("utf-8")
    assert text.count("my data") == 2 and place.problems() == []


def test_the_command_is_the_one_of_this_interpreter(place: Place, tmp_path: Path) -> None:
    place.install()
    words = extension.command_of(place.user.read_bytes())
    assert os.path.isabs(words[0]) and words[1:3] == ["-I", "-S"]
    done = run(shlex.join(words), tmp_path / "data", b"{}")
    assert (done.returncode, done.stdout) == (0, b"")
