"""H: nothing of the user's environment or configuration leaks in."""

from __future__ import annotations

import os
import stat

import pytest

from tests.cases.world import World, differences, tree_of

HOOKS = (
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-rewrite",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "reference-transaction",
    "update",
)


@pytest.mark.parametrize("repository", [False, True])
def test_H1_git_variables_of_the_environment_do_not_leak_in(w: World, repository: bool) -> None:
    w.files({"f": b"old\n", ".gitignore": b"ignored\n", "ignored": b"x\n"})
    if repository:
        w.repository()
    other = w.place / "other"
    other.mkdir()
    (other / "f").write_bytes(b"of another\n")
    w.git("init", "-q", cwd=other)
    w.commit(cwd=other)
    w.guard(other / ".git")
    leaked = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git/objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(other / ".git/objects"),
        "GIT_COMMON_DIR": str(other / ".git"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_CEILING_DIRECTORIES": str(w.place),
        "GIT_LITERAL_PATHSPECS": "0",
        "GIT_EXTERNAL_DIFF": "/bin/false",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
        "GIT_TRACE": str(w.place / "trace"),
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_TEMPLATE_DIR": "/nowhere",
    }
    before, kept = w.tree(), tree_of(other, git=True, dir_times=True)
    with_leak = w.env | leaked
    clean, w.env = w.env, with_leak
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell(lambda: w.write("n", b"n\n"))
    w.there_and_back(before, undo=("--all", "--yes"))
    w.tb("log")
    w.tb("diff")
    w.env = clean
    assert differences(kept, tree_of(other, git=True, dir_times=True)) == []
    assert not (w.place / "trace").exists()


def test_H2_global_commit_signing_asks_for_nothing(w: World) -> None:
    mark = w.place / "signed"
    program = w.place / "sign"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\nexit 1\n")
    program.chmod(0o755)
    w.write("f", b"old\n")
    w.repository()
    for key, value in (
        ("commit.gpgsign", "true"),
        ("tag.gpgsign", "true"),
        ("gpg.program", str(program)),
        ("user.signingkey", "0xDEADBEEF"),
    ):
        w.git("config", "--global", key, value)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
    w.there_and_back(before)
    assert not mark.exists()


@pytest.mark.parametrize("level", ["--global", "--local"])
def test_H3_no_hook_of_the_user_runs(w: World, level: str) -> None:
    mark = w.place / "ran"
    script = f"#!/bin/sh\necho $0 $* >> '{mark}'\n"
    hooks, template = w.place / "hooks", w.place / "template/hooks"
    for folder in (hooks, template):
        folder.mkdir(parents=True)
        for name in HOOKS:
            (folder / name).write_text(script)
            (folder / name).chmod(0o755)
    monitor = w.place / "monitor"
    monitor.write_text(script)
    monitor.chmod(0o755)
    w.files({"f": b"old\n", "g": b"g\n"})
    w.repository()
    w.git("init", "-q", "nested")
    w.git("init", "-q")
    for key, value in (
        ("core.hooksPath", str(hooks)),
        ("core.fsmonitor", str(monitor)),
        ("init.templateDir", str(template.parent)),
        ("alias.status", f"!{monitor}"),
        ("core.pager", str(monitor)),
        ("core.editor", str(monitor)),
        ("diff.external", str(monitor)),
        ("core.sshCommand", str(monitor)),
        ("credential.helper", str(monitor)),
    ):
        w.git("config", level, key, value)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell(lambda: w.path("g").unlink())
    w.there_and_back(before, undo=("--all", "--yes"))
    w.tb("log")
    w.tb("diff")
    w.tb("diff", "--against", "HEAD")
    assert not mark.exists(), mark.read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_H4_a_work_tree_owned_by_another_user(w: World) -> None:
    w.files({"f": b"old\n", ".gitignore": b"data/\n", "data/x": b"precious\n"})
    w.repository()
    for folder, names, files in os.walk(w.root):
        for name in [*names, *files, "."]:
            os.chown(os.path.join(folder, name), 12345, 12345, follow_symlinks=False)
    before = w.tree()
    with w.turn() as agent:
        agent.edit("f", b"new\n")
        agent.shell(lambda: w.write("data/made", b"ignored\n"))
    assert [one["path"] for one in w.turns()[-1]["changes"]] == ["f"]
    w.undo_all()
    w.is_now(before | {b"data/made": w.tree()[b"data/made"]})
    assert os.stat(w.path("f")).st_uid == 12345
    w.redo()
    assert w.read("f") == b"new\n"


def test_H5_a_world_of_odd_settings_changes_no_permission_of_ours(w: World) -> None:
    w.write("f", b"old\n")
    w.repository()
    w.git("config", "--global", "core.sharedRepository", "0666")
    old = os.umask(0)
    try:
        with w.turn() as agent:
            agent.edit("f", b"new\n")
        w.undo()
    finally:
        os.umask(old)
    for path in w.data.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode & 0o077 == 0, (path, oct(mode))
