"""Connecting Codex: hooks go in and out of its hooks.json, and approval is only ever read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from takeback.engine.agents import install
from takeback.engine.agents.codex import approval, setup, skills
from takeback.engine.agents.own import is_own
from takeback.engine.errors import UsageError
from tests.agents.replay import JUNK
from tests.agents.test_install import FILES, run


class Place:
    """A home and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "project"
        self.home.mkdir()
        self.root.mkdir()
        self.folder = self.home / ".codex"
        self.user = self.folder / "hooks.json"
        self.project = self.root / ".codex/hooks.json"
        self.config = self.folder / "config.toml"

    @property
    def both(self) -> tuple[bytes, bytes]:
        return os.fsencode(self.root), os.fsencode(self.home)

    def install(self, level: Any = "user") -> None:
        for edit in install.plan_install("codex", level, *self.both):
            install.apply_edit(edit)

    def uninstall(self) -> None:
        for edit in install.plan_uninstall("codex", *self.both):
            install.apply_edit(edit)

    def problems(self) -> list[str]:
        return [message for _, ok, message, _ in setup.status(*self.both) if not ok]

    def approve(self, path: Path, **more: str) -> None:
        """As Codex itself does when the user approves: an entry for each hook."""
        text = ""
        for event, groups in json.loads(path.read_text("utf-8"))["hooks"].items():
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).strip("_")
            for group_at, group in enumerate(groups):
                for hook_at in range(len(group["hooks"])):
                    name = json.dumps(f"{path}:{snake}:{group_at}:{hook_at}")
                    kept = more.get("hash") or approval.hash_of(snake, group)
                    text += f"[hooks.state.{name}]\ntrusted_hash = {json.dumps(kept)}\n"
                    text += more.get("extra", "")
        self.config.write_text(more.get("before", "") + text, "utf-8")


@pytest.fixture
def p(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return Place(tmp_path)


@pytest.mark.parametrize("data", [None, *FILES], ids=range(len(FILES) + 1))
def test_in_and_out_gives_the_same_bytes(p: Place, data: bytes | None) -> None:
    if data is not None:
        p.folder.mkdir()
        p.user.write_bytes(data)
    p.install()
    hooks = json.loads(p.user.read_bytes().decode("utf-8-sig"))["hooks"]
    for event in setup.HOOKS.events:
        commands = [hook["command"] for group in hooks[event] for hook in group.get("hooks", [])]
        assert sum(install.is_ours(command, "codex") for command in commands) == 1
    assert not any(edit.changes for edit in install.plan_install("codex", "user", *p.both))
    p.uninstall()
    assert (p.user.read_bytes() if p.user.exists() else None) == data
    assert not p.config.exists()


def test_the_user_is_told_to_approve() -> None:
    assert "/hooks" in setup.NEXT and "approve" in setup.NEXT


def test_a_project_of_its_own(p: Place) -> None:
    p.install("project")
    assert p.project.exists() and not p.user.exists()
    with pytest.raises(UsageError, match="twice"):
        p.install("user")
    p.uninstall()
    assert not p.project.exists()


def test_codexs_folder_may_be_elsewhere(p: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(p.home / "elsewhere"))
    p.install()
    assert (p.home / "elsewhere/hooks.json").exists() and not p.user.exists()


def test_hooks_of_other_agents_are_not_ours(p: Place) -> None:
    p.folder.mkdir()
    other = {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "takeback hook claude"}]}]}
    }
    p.user.write_text(json.dumps(other))
    assert install.plan_uninstall("codex", *p.both) == ()


# --- Undo, redo and status within Codex ---------------------------------------------------------


def skill(p: Place, name: str) -> Path:
    return p.folder / f"skills/takeback-{name}/SKILL.md"


def test_skills_come_and_go_with_the_hooks(p: Place) -> None:
    p.install()
    for name, verb in (("undo", "undo"), ("redo", "redo"), ("status", "history")):
        text = skill(p, name).read_text("utf-8")
        assert text.startswith(f"---\n{skills.MARK}\nname: takeback-{name}\n")
        (command,) = (line for line in text.splitlines() if line.endswith(f" {verb}"))
        assert is_own(command), "the hooks know it as takeback's own"
        policy = skill(p, name).parent / "agents/openai.yaml"
        assert "allow_implicit_invocation: false" in policy.read_text()
        assert policy.read_text().startswith(skills.MARK)
    p.uninstall()
    assert os.listdir(p.folder) == []


def test_a_skill_of_the_users_own_stays(p: Place) -> None:
    mine, other = skill(p, "undo"), p.folder / "skills/other/SKILL.md"
    for path in (mine, other):
        path.parent.mkdir(parents=True)
        path.write_text("mine")
    p.install()
    assert mine.read_text() == "mine" and skill(p, "redo").exists()
    p.uninstall()
    assert mine.read_text() == other.read_text() == "mine"
    assert not skill(p, "redo").parent.exists()


def test_files_beside_a_skill_stay(p: Place) -> None:
    p.install()
    note = skill(p, "undo").parent / "note.txt"
    note.write_text("mine")
    p.uninstall()
    assert os.listdir(note.parent) == ["note.txt"]


def test_a_skill_of_a_former_version_is_renewed(p: Place) -> None:
    p.install()
    path = skill(p, "undo")
    new = path.read_bytes()
    path.write_bytes(b"---\n" + skills.MARK.encode() + b"\nname: old\n")
    p.install()
    assert path.read_bytes() == new


def test_a_project_has_skills_of_its_own(p: Place) -> None:
    p.install("project")
    assert (p.root / ".codex/skills/takeback-redo/SKILL.md").exists() and not p.folder.exists()
    p.uninstall()
    assert os.listdir(p.root / ".codex") == []


# --- Approval ---------------------------------------------------------------------------------


def test_not_connected_is_no_problem(p: Place) -> None:
    assert p.problems() == []
    assert any("not connected" in message for _, _, message, _ in setup.status(*p.both))


def test_without_approval_nothing_is_recorded_and_that_is_said(p: Place) -> None:
    p.install()
    (problem,) = p.problems()
    assert "approval" in problem and "nothing is recorded" in problem
    assert all("/hooks" in fix for _, ok, _, fix in setup.status(*p.both) if not ok)


def test_approved_hooks_are_no_problem(p: Place) -> None:
    p.install()
    p.approve(p.user)
    assert p.problems() == []


def test_hooks_below_others_have_their_own_place(p: Place) -> None:
    p.folder.mkdir()
    mine = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine", "timeout": 1}]}]}}
    p.user.write_text(json.dumps(mine))
    p.install()
    p.approve(p.user)
    assert p.problems() == []
    text = p.config.read_text().replace(":stop:1:0", ":stop:7:0")
    p.config.write_text(text)
    assert "approval" in p.problems()[0]


def test_an_approval_goes_by_the_name_that_codex_uses(
    p: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    p.install()
    p.approve(p.user)
    (p.home / "link").symlink_to(p.home)
    root, _ = p.both
    problems = [ok for _, ok, _, _ in setup.status(root, os.fsencode(p.home / "link")) if not ok]
    assert problems, "through a link of the home folder they are others to Codex"
    monkeypatch.setenv("CODEX_HOME", str(p.home / "link/.codex"))
    assert p.problems() == [], "a folder of its own is taken by its real name"


def test_a_command_that_changed_since_is_named(p: Place) -> None:
    p.install()
    p.approve(p.user, hash="sha256:0")
    assert "as they were before" in p.problems()[0]
    value = json.loads(p.user.read_text())
    for groups in value["hooks"].values():
        groups[0]["hooks"][0]["statusMessage"] = "of the user"
    p.user.write_text(json.dumps(value))
    # The hash of a hook with more in it is not known: nothing is claimed.
    assert p.problems() == []


def test_hooks_that_are_switched_off_are_named(p: Place) -> None:
    p.install()
    p.approve(p.user, extra="enabled = false\n")
    assert "switched off" in p.problems()[0]
    p.approve(p.user, before="[features]\nhooks = false\n")
    assert "no hooks at all" in p.problems()[0]


def test_a_project_that_is_not_trusted_is_named(p: Place) -> None:
    p.folder.mkdir()
    p.install("project")
    assert "does not trust" in p.problems()[0]
    trust = f"[projects.{json.dumps(str(p.root))}]\ntrust_level = 'trusted'\n"
    p.config.write_text(trust)
    assert "approval" in p.problems()[0]
    p.approve(p.project, before=trust)
    assert p.problems() == []


def test_the_hash_is_codexs_own() -> None:
    """Two hooks and the hashes that Codex reported for them."""
    hook = {"type": "command", "command": "'/opt/my ü/python' hook codex", "timeout": 60}
    assert approval.hash_of("user_prompt_submit", {"hooks": [hook]}) == (
        "sha256:70e267bbe1a8a0d86b413a290352fbae1477660662f37d915d5377341e337a25"
    )
    hook = {"type": "command", "command": "takeback hook codex", "timeout": 30}
    assert approval.hash_of("pre_tool_use", {"matcher": "Bash|apply_patch", "hooks": [hook]}) == (
        "sha256:3002efb8162f556ebdd7c941c85298a81eb7cf098834f8e8b1959d15d10d43ef"
    )


def test_the_time_that_codex_allows_at_most_is_what_is_approved(p: Place) -> None:
    """Longer ones are cut down by Codex, with a warning at each start: none of ours is."""
    p.install()
    hooks = json.loads(p.user.read_bytes())["hooks"]
    times = {event: groups[0]["hooks"][0]["timeout"] for event, groups in hooks.items()}
    assert times.pop("Interrupt") == times.pop("SessionEnd") == 3
    assert set(times.values()) == {60}
    hook = {"type": "command", "command": "takeback hook codex", "timeout": 60}
    assert approval.hash_of("session_end", {"hooks": [hook]}) == (
        "sha256:879186b471bfae54da94eda258fd81ea3dea33c76b345f19ad989eaa6cf86fe8"
    )


def test_settings_that_cannot_be_read_are_said(p: Place) -> None:
    p.install()
    for data in (b"broken", b"\xff", b"a = " + b"[" * 5000):
        p.config.write_bytes(data)
        assert "cannot be seen" in p.problems()[0]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JUNK, JUNK)
def test_status_never_raises(p: Place, hooks: Any, config: Any) -> None:
    p.folder.mkdir(exist_ok=True)
    p.user.write_text(json.dumps({"hooks": {"Stop": [hooks, {"hooks": [config]}]}}))
    p.config.write_text(f"hooks = {json.dumps(str(config))}\nprojects = 3\nfeatures = []\n")
    assert setup.status(*p.both)
    p.user.unlink()
    p.install()
    assert p.problems()


def test_the_command_records_and_says_nothing(p: Place, tmp_path: Path) -> None:
    command = install.hook_command("codex")
    payload = {
        "session_id": "s", "cwd": str(p.root), "turn_id": "k", "prompt": "hello",
        "hook_event_name": "UserPromptSubmit",
    }  # fmt: skip
    done = run(command, tmp_path / "data", json.dumps(payload).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "data/errors.jsonl").exists()
    assert len(os.listdir(tmp_path / "data/open")) == 1
