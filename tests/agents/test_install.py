"""Connecting Claude Code: our entries go in and out, and not a byte of the rest changes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents import connection, hookfile, hookstatus, install, jsontext
from takeback.engine.agents.claude.setup import HOOKS
from takeback.engine.errors import TakebackError, UsageError


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


class Place:
    """A home and a project."""

    def __init__(self, place: Path) -> None:
        self.home, self.root = place / "home", place / "project"
        self.home.mkdir()
        self.root.mkdir()
        self.user = self.home / ".claude/settings.json"
        self.project = self.root / ".claude/settings.json"

    @property
    def both(self) -> tuple[bytes, bytes]:
        return os.fsencode(self.root), os.fsencode(self.home)

    def plan(self, level: Any = "user", **more: Any) -> install.FileEdit:
        """The edit of the settings; the others are the commands' files."""
        return install.plan_install("claude", level, *self.both, **more)[0]

    def install(self, level: Any = "user", **more: Any) -> install.FileEdit:
        edits = install.plan_install("claude", level, *self.both, **more)
        for edit in edits:
            install.apply_edit(edit)
        return edits[0]

    def uninstall(self) -> tuple[install.FileEdit, ...]:
        edits = install.plan_uninstall("claude", *self.both)
        for edit in edits:
            install.apply_edit(edit)
        return edits

    def status(self) -> list[tuple[bool, str]]:
        return [(ok, message) for _, ok, message, _ in connection.status(*self.both)]

    def write(self, data: bytes) -> None:
        self.user.parent.mkdir(exist_ok=True)
        self.user.write_bytes(data)


@pytest.fixture
def p(tmp_path: Path) -> Place:
    return Place(tmp_path)


OWN = b"""{
  "model": "opus",
  "hooks": {
    "PreToolUse": [
      {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine \\u00fc" , "timeout": 5}]}
    ],

    "Stop" : [ ]
  },
  "permissions": {"allow": ["Bash(git:*)"], "x": 1.50e3}
}
"""

FILES = [
    b"{}",
    b"{}\n",
    b"{ }",
    b"{\n}\n",
    b'{"hooks": {}}',
    b'{"hooks":{ }}',
    b'{"hooks": {"Stop": []}}\n',
    b'{"a": 1}',
    b'{"a":1,"b":[1,2]}',
    b'{"a": 1, "hooks": {"Stop": [{"hooks": []}]}}',
    b'{\n\t"a": {\n\t\t"b": []\n\t}\n}',
    b'{\r\n  "a": 1\r\n}\r\n',
    b'{\n    "a": "\xc3\xbc \\u00fc \\/ \\ud83d\\ude00"\n}',
    b'\xef\xbb\xbf{\n "a": 1\n}\n',
    b'{"a": 1\n}',
    b'{\n  "hooks": {\n  }\n}\n',
    b'{\n  "hooks": {\n    "PreToolUse": [\n    ],\n    "x": 3\n  }\n}\n',
    b'\n\n  {\n      "a": 1,\n\n      "b": 2 }  \n\n',
    OWN,
]


def ours_of(data: bytes) -> dict[str, Any]:
    """The events with our hooks, and the whole value without them."""
    value = json.loads(data.decode("utf-8-sig"))
    return {
        event: [h["command"] for g in groups for h in g.get("hooks", []) if "takeback" in str(h)]
        for event, groups in value.get("hooks", {}).items()
        if isinstance(groups, list)
    }


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_in_and_out_gives_the_same_bytes(p: Place, data: bytes) -> None:
    p.write(data)
    edit = p.install()
    assert edit.before == data and edit.after == p.user.read_bytes()
    found = ours_of(p.user.read_bytes())
    assert all(len(found[event]) == 1 for event in HOOKS.events)
    assert not p.plan().changes
    assert p.status()[0][0], p.status()
    p.uninstall()
    assert p.user.read_bytes() == data
    assert p.uninstall() == ()


@pytest.mark.parametrize("data", FILES, ids=range(len(FILES)))
def test_what_is_not_ours_keeps_its_bytes_and_its_order(p: Place, data: bytes) -> None:
    """Every piece of the former text is still there, in the same order."""
    p.write(data)
    p.install()
    rest = p.user.read_bytes()
    at = 0
    for byte in data:
        at = rest.index(bytes([byte]), at) + 1


def test_without_a_file_one_is_made_and_goes_again(p: Place) -> None:
    p.install()
    assert p.user.stat().st_mode & 0o777 == 0o600
    value = json.loads(p.user.read_bytes())
    assert set(value) == {"hooks"} and set(value["hooks"]) == set(HOOKS.events)
    for event in ("PreToolUse", "PostToolUse", "PostToolUseFailure"):
        assert value["hooks"][event][0]["matcher"] == "Edit|Write|NotebookEdit|Bash|mcp__.*"
    assert "matcher" not in value["hooks"]["Stop"][0]
    p.uninstall()
    assert not p.user.exists()
    assert p.status()[0] == (True, "Claude Code is not connected.")


def test_what_the_user_adds_between_stays(p: Place) -> None:
    p.write(OWN)
    p.install()
    value = json.loads(p.user.read_bytes())
    value["hooks"]["Stop"].insert(0, {"hooks": [{"type": "command", "command": "bell"}]})
    value["hooks"]["Stop"][1]["hooks"].append({"type": "command", "command": "takeback-like"})
    value["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "say"}]})
    p.user.write_text(json.dumps(value))
    p.uninstall()
    rest = json.loads(p.user.read_bytes())
    assert rest["hooks"]["Stop"] == [
        {"hooks": [{"type": "command", "command": "bell"}]},
        {"hooks": [{"type": "command", "command": "takeback-like"}]},
    ]
    assert rest["hooks"]["PreToolUse"][0]["hooks"][0]["command"] == "mine ü"
    assert rest["hooks"]["PreToolUse"][1]["hooks"][0]["command"] == "say"
    assert rest["model"] == "opus"
    assert "hook.main" not in json.dumps(rest)


def test_a_stale_interpreter_is_replaced_in_place(
    p: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/gone/my python/bin/python3")
    p.write(OWN)
    old = p.install().after
    assert old is not None
    (ok, message), *_ = p.status()
    assert not ok and "/gone/my python/bin/python3" in message
    monkeypatch.undo()
    new = p.install().after
    assert new is not None and b"/gone" not in new
    assert new == old.replace(
        b"'/gone/my python/bin/python3'", shlex.quote(sys.executable).encode()
    )
    p.uninstall()
    assert p.user.read_bytes() == OWN


def test_hooks_twice_or_of_former_versions_go(p: Place) -> None:
    p.install()
    value = json.loads(p.user.read_bytes())
    value["hooks"]["Stop"] *= 2
    value["hooks"]["Notification"] = [
        {"hooks": [{"type": "command", "command": "/old/bin/takeback hook claude"}]}
    ]
    p.user.write_text(json.dumps(value, indent=2))
    p.install()
    again = json.loads(p.user.read_bytes())
    assert set(again["hooks"]) == set(HOOKS.events)
    assert len(again["hooks"]["Stop"]) == 1


def test_one_level_only(p: Place) -> None:
    p.install("project")
    assert p.project.exists() and not p.user.exists()
    with pytest.raises(UsageError, match="twice"):
        p.plan("user")
    assert not p.plan("project").changes
    p.uninstall()
    p.install("user")
    with pytest.raises(UsageError, match="twice"):
        p.plan("project")
    p.project.write_bytes(p.user.read_bytes())
    assert any("two levels" in message and not ok for ok, message in p.status())
    assert [edit.path[-13:] for edit in p.uninstall()].count(b"settings.json") == 2
    assert not p.user.exists() and not p.project.exists()


def test_what_fails_half_way_changes_nothing(p: Place) -> None:
    """The settings can be written, the commands cannot."""
    p.write(b'{"a": 1}\n')
    (p.home / ".claude/commands").touch()
    edits = install.plan_install("claude", "user", *p.both)
    with pytest.raises(TakebackError, match=r"Not a directory\. Nothing was changed"):
        install.apply_all(edits)
    assert p.user.read_bytes() == b'{"a": 1}\n'
    assert sorted(os.listdir(p.home / ".claude")) == ["commands", "settings.json"]


def test_files_that_were_made_before_a_failure_go_again_with_their_folders(p: Place) -> None:
    made, taken = p.home / "new/deep/file", p.home / "file"
    (p.home / "there").mkdir()
    taken.touch()
    edits = [
        install.FileEdit(os.fsencode(made), None, b"x"),
        install.FileEdit(os.fsencode(p.home / "there/file"), None, b"x"),
        install.FileEdit(os.fsencode(taken / "below"), None, b"x"),
    ]
    with pytest.raises(TakebackError):
        install.apply_all(edits)
    assert not (p.home / "new").exists() and os.listdir(p.home / "there") == []


def test_a_file_behind_a_link_stays_a_file(p: Place) -> None:
    p.user.parent.mkdir()
    target = p.home / "dotfiles.json"
    target.write_bytes(b"")
    p.user.symlink_to(target)
    p.install()
    p.uninstall()
    assert p.user.is_symlink() and target.read_bytes().strip() in (b"", b"{}")


def test_the_home_is_no_project(p: Place) -> None:
    home = os.fsencode(p.home)
    with pytest.raises(UsageError, match="all your projects"):
        install.plan_install("claude", "project", home, home)
    for edit in install.plan_install("claude", "user", home, home):
        install.apply_edit(edit)
    assert len(install.plan_uninstall("claude", home, home)) == 4


def test_a_folder_of_claudes_own(p: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(p.home / "elsewhere"))
    p.install()
    assert (p.home / "elsewhere/settings.json").exists() and not p.user.exists()


@pytest.mark.parametrize("agent", ["acp"])
def test_other_agents_come_later(p: Place, agent: str) -> None:
    with pytest.raises(UsageError, match="later version"):
        install.plan_install(agent, "user", *p.both)
    with pytest.raises(UsageError, match="later version"):
        install.plan_uninstall(agent, *p.both)


def test_an_agent_nobody_knows(p: Place) -> None:
    with pytest.raises(UsageError, match="no agent 'x'"):
        install.plan_install("x", "user", *p.both)


REFUSED = [
    b"[]",
    b"3",
    b"{",
    b'{"a": 1} x',
    b'{"a": 1,}',
    b"// c\n{}",
    b"\xff{}",
    b'{"hooks": []}',
    b'{"hooks": {}, "hooks": {}}',
    b'{"hooks": {"Stop": {}}}',
    b'{"hooks": {"Stop": [], "Stop": []}}',
    b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
]


@pytest.mark.parametrize("data", REFUSED, ids=range(len(REFUSED)))
def test_a_file_that_cannot_be_changed_safely_is_left_alone(p: Place, data: bytes) -> None:
    p.write(data)
    with pytest.raises(UsageError) as raised:
        p.install()
    assert "Nothing was changed." in raised.value.message
    assert str(p.user) in raised.value.message
    assert p.user.read_bytes() == data


def test_a_link_is_followed_and_the_mode_kept(p: Place) -> None:
    real = p.home / "dotfiles.json"
    real.write_bytes(OWN)
    real.chmod(0o640)
    p.user.parent.mkdir()
    p.user.symlink_to("../dotfiles.json")
    p.install()
    assert p.user.is_symlink() and real.read_bytes() != OWN
    assert real.stat().st_mode & 0o777 == 0o640
    p.uninstall()
    assert p.user.is_symlink() and real.read_bytes() == OWN
    assert sorted(os.listdir(p.home)) == [".claude", "dotfiles.json"]
    real.unlink()
    p.install()
    assert p.user.is_symlink() and real.exists()
    p.uninstall()
    assert p.user.is_symlink() and real.read_bytes() == b"{}\n"


def test_a_change_in_between_is_seen(p: Place) -> None:
    p.write(OWN)
    edit = p.plan()
    p.write(OWN + b"\n")
    with pytest.raises(UsageError, match="meanwhile"):
        install.apply_edit(edit)
    assert p.user.read_bytes() == OWN + b"\n"


def test_what_cannot_be_written_is_said(p: Place) -> None:
    p.home.joinpath(".claude").write_text("a file")
    with pytest.raises(TakebackError) as raised:
        p.install()
    assert "Nothing was changed." in raised.value.message


def test_hooks_that_are_switched_off_are_named(p: Place) -> None:
    p.write(b'{"disableAllHooks": true}')
    p.install()
    assert any("disableAllHooks" in message and not ok for ok, message in p.status())


def test_status_never_raises(p: Place) -> None:
    for data in (
        *REFUSED,
        b"",
        b" \n",
        b'{"hooks": {"Stop": [3, [], {"hooks": 1}, {"hooks": [1]}]}}',
    ):
        p.write(data)
        assert p.status()


# --- The command ------------------------------------------------------------------------------


def run(command: str, data: Path, payload: bytes = b"{}", **env: str) -> Any:
    more = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TAKEBACK_DATA_DIR": str(data), **env}
    return subprocess.run(["sh", "-c", command], input=payload, env=more, capture_output=True)


def test_the_command_works_and_says_nothing(p: Place, tmp_path: Path) -> None:
    command = install.hook_command("claude")
    assert command.startswith(shlex.quote(sys.executable) + " -I -S -c ")
    payload = {
        "session_id": "s", "cwd": str(p.root), "prompt_id": "k", "prompt": "hello",
        "hook_event_name": "UserPromptSubmit",
    }  # fmt: skip
    done = run(command, tmp_path / "data", json.dumps(payload).encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not (tmp_path / "data/errors.jsonl").exists()
    assert len(os.listdir(tmp_path / "data/open")) == 1
    done = run(command, tmp_path / "data", b"torn")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert (tmp_path / "data/errors.jsonl").exists()


def test_a_data_folder_of_ones_own_goes_along(p: Place, tmp_path: Path) -> None:
    command = install.hook_command("claude", str(tmp_path / "it's mine"))
    assert install.is_ours(command, "claude")
    assert run(command, tmp_path / "not here", b"torn").returncode == 0
    assert (tmp_path / "it's mine/errors.jsonl").exists()


def test_odd_names_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'it\'s "a" $(x) \\ ü b'
    folder.mkdir()
    python = folder / "python"
    python.symlink_to(sys.executable)
    (folder / "takeback").symlink_to(Path(install.import_folder() or "") / "takeback")
    monkeypatch.setattr("takeback.engine.agents.command.import_folder", lambda: str(folder))
    monkeypatch.setattr(sys, "executable", str(python))
    command = install.hook_command("claude")
    assert install.is_ours(command, "claude")
    assert hookstatus.stale(command) == ""
    done = run(command, tmp_path / "data", b"torn")
    assert (done.returncode, done.stdout) == (0, b""), done
    assert (tmp_path / "data/errors.jsonl").exists()


def test_where_takeback_is_gone_the_agent_is_not_blocked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeback.engine.agents.command.import_folder", lambda: str(tmp_path))
    command = install.hook_command("claude")
    done = run(command, tmp_path)
    assert done.returncode not in (0, 2) and done.stdout == b""
    assert "gone" in hookstatus.stale(command)


def test_without_a_folder_to_import_from_the_whole_python_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("takeback.engine.agents.command.import_folder", lambda: None)
    command = install.hook_command("claude", "/d a")
    assert command == (
        f"{shlex.quote(sys.executable)} -I -m takeback.tui.cli --data-dir '/d a' hook claude"
    )
    assert install.is_ours(command, "claude")


def test_whose_command_it_is() -> None:
    ours = [
        "takeback hook claude",
        "/x/takeback --data-dir /d hook claude",
        "'/a b/python' -I -m takeback.tui.cli hook claude",
        install.hook_command("claude"),
    ]
    others = [
        "", "takeback", "hook claude", "takeback hook codex", "x && takeback hook claude", "'",
        "takeback hook claude | cat", "takeback log", "mytakeback hook claude", 3, None, ["a"],
        "python -c 'import takeback'", "python -c 1 takeback.tui.cli",
    ]  # fmt: skip
    assert [command for command in ours if not install.is_ours(command, "claude")] == []
    assert [command for command in others if install.is_ours(command, "claude")] == []


# --- Any settings file ------------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"), max_size=5)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": TEXT})
GROUP = st.fixed_dictionaries(
    {"hooks": st.lists(HOOK, max_size=2)}, optional={"matcher": st.sampled_from(["Bash", ""])}
)
SETTINGS = st.dictionaries(TEXT, VALUES, max_size=3).flatmap(
    lambda rest: st.fixed_dictionaries(
        {},
        optional={
            "hooks": st.dictionaries(
                st.sampled_from([*HOOKS.events, "Notification"]), st.lists(GROUP, max_size=2)
            )
        },
    ).map(lambda hooks: {**rest, **hooks})
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Settings as JSON with blanks anywhere."""
    value = draw(SETTINGS)
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" , ", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    blanks = st.sampled_from(["", " ", "\n", "\n\n  "])
    return str(draw(blanks) + text + draw(blanks))


@settings(max_examples=100)
@given(texts())
def test_any_file_in_and_out(text: str) -> None:
    data = text.encode()
    path = b"/settings.json"
    after = hookfile._installed(path, data, HOOKS, install.hook_command("claude"))
    assert hookfile._installed(path, after, HOOKS, install.hook_command("claude")) == after
    assert all(len(found) == 1 for found in ours_of(after).values() if found)
    hookfile._check(path, data, after, HOOKS)
    rest: bytes | None = after
    while rest is not None:
        file = hookfile.HookFile(path, rest, HOOKS)
        ours = next(file.ours(), None)
        if ours is None:
            break
        rest = hookfile._without(file, ours)
    assert rest == data


@settings(max_examples=300)
@given(texts())
def test_the_parser_finds_what_json_finds(text: str) -> None:
    def value(node: jsontext.Node) -> Any:
        if node.kind == "object":
            return {item.key: value(item.value) for item in node.items}
        if node.kind == "array":
            return [value(item.value) for item in node.items]
        return node.value

    root = jsontext.parse(text)
    assert value(root) == json.loads(text)
    assert text[root.start : root.end] == text.strip(" \t\r\n")
