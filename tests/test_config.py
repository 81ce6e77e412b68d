from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine import config
from takeback.engine.config import Config, ConfigError


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `config/`, `project/` and `data/`."""
    for name in ("config", "project", "data"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


def own(place: Path, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (place / "config/config.toml").write_bytes(data)


def theirs(place: Path, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (place / "project/.takeback.toml").write_bytes(data)


def load(place: Path, **more: Any) -> Config:
    return config.load(os.fsencode(place / "project"), os.fsencode(place / "data"), **more)


def approve(place: Path) -> list[str]:
    return config.approve(os.fsencode(place / "project"), os.fsencode(place / "data"))


def test_without_files_the_defaults_hold(place: Path) -> None:
    found = load(place)
    assert found == Config()
    assert found.snapshots and not found.store_secrets and found.default_select == "agent"
    assert found.max_file_size_mb == 10 and found.restore_mtime == "exact"


def test_the_users_file_holds_as_it_stands(place: Path) -> None:
    own(place, 'store_secrets = true\nundo_skip = ["gen/"]\nallow_root = "~/"\nsnapshots = false\n')
    found = load(place)
    assert found.store_secrets and not found.snapshots
    assert found.undo_skip == ("gen/",)
    assert found.allow_root == (os.fsencode(os.path.expanduser("~/")),)
    assert found.ignored == ()


@pytest.mark.parametrize(
    "line",
    [
        "snapshots = 0",
        'snapshots = "false"',
        "max_file_size_mb = 0",
        "max_file_size_mb = -1",
        "max_file_size_mb = 1.5",
        "max_file_size_mb = true",
        f"max_file_size_mb = {10**30}",
        'default_select = "everything"',
        "default_select = []",
        "default_select = {a = 1}",
        "undo_skip = 3",
        "undo_skip = [1]",
        'undo_skip = [""]',
        'allow_root = ["."]',
        'allow_root = ["a\\u0000b"]',
        'roots = "src"',
        "theme = 1",
        "[snapshots]\na = 1",
        "store_secrets = 2026-01-01",
    ],
)
def test_a_value_that_does_not_fit_is_named_and_the_default_holds(place: Path, line: str) -> None:
    own(place, line + "\n")
    found = load(place)
    assert found == Config(ignored=found.ignored)
    (said,) = found.ignored
    key = line.split(" ")[0].strip("[]").split("]")[0].split("\n")[0]
    assert repr(key) in said and str(place / "config/config.toml") in said and "ignored" in said


def test_an_unknown_key_is_named_with_the_nearest_one(place: Path) -> None:
    own(place, "undo_skp = []\nqqqqqqqq = 1\n")
    first, second = load(place).ignored
    assert "'undo_skp'" in first and "Did you mean 'undo_skip'?" in first
    assert "'qqqqqqqq'" in second and "mean" not in second


BROKEN = [
    b"snapshots = \n",
    b"\xff\xfe",
    b"a = 1\na = 2\n",
    b"a = " + b"[" * 20_000,
    b"a = " + b"9" * 9000,
    b"# x\n" * (1 << 19),
]


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_of_the_user_stops_commands_but_not_recording(
    place: Path, data: bytes
) -> None:
    own(place, data)
    with pytest.raises(ConfigError) as raised:
        load(place)
    assert str(place / "config/config.toml") in raised.value.message
    assert "Nothing was done." in raised.value.message
    found = load(place, forgiving=True)
    assert found == Config(ignored=found.ignored)
    assert "The defaults are used." in found.ignored[0]


@pytest.mark.parametrize("data", BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file_of_a_project_is_ignored_and_named(place: Path, data: bytes) -> None:
    own(place, "store_secrets = true\n")
    theirs(place, data)
    found = load(place)
    assert found.store_secrets
    assert ".takeback.toml" in found.ignored[0] and "ignored" in found.ignored[0]


def test_what_is_no_file_is_not_waited_for(place: Path) -> None:
    os.mkfifo(place / "project/.takeback.toml")
    start = time.monotonic()
    assert "no regular file" in load(place).ignored[0]
    assert time.monotonic() - start < 5
    (place / "config/config.toml").mkdir()
    with pytest.raises(ConfigError):
        load(place)


LOOSER = {
    "snapshots": "false",
    "default_select": '"all"',
    "undo_skip": '["*"]',
    "max_file_size_mb": "1000",
    "snapshot_file_count_cap": "1",
    "snapshot_total_size_cap_mb": "9000",
    "max_disk_mb_per_project": "1",
    "max_disk_mb_total": "1",
    "max_turn_age_days": "1",
    "gc_interval_turns": "1",
    "dependency_guard": "false",
    "auto_include_deps": "true",
    "store_secrets": "true",
    "restore_mtime": '"now"',
    "roots": '["/etc"]',
    "allow_root": '["/"]',
    "tell_agent": "false",
}


@pytest.mark.parametrize("key", LOOSER)
def test_a_project_cannot_lower_the_protection_by_itself(place: Path, key: str) -> None:
    theirs(place, f"{key} = {LOOSER[key]}\n")
    found = load(place)
    assert config.get(found, key) == config.default_of(key)
    (said,) = found.ignored
    assert key in said and "takeback config approve" in said
    assert approve(place) == [key]
    found = load(place)
    assert config.get(found, key) != config.default_of(key)
    assert found.ignored == ()


def test_an_approval_is_for_these_very_bytes_and_this_folder(place: Path) -> None:
    theirs(place, "store_secrets = true\n")
    approve(place)
    assert load(place).store_secrets
    theirs(place, "store_secrets = true \n")
    assert not load(place).store_secrets
    theirs(place, "store_secrets = true\n")
    assert load(place).store_secrets
    (place / "project").rename(place / "other")
    found = config.load(os.fsencode(place / "other"), os.fsencode(place / "data"))
    assert not found.store_secrets
    assert os.stat(place / "data/approvals.json").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a": [', b"\xff", b"[" * 100_000, b'"x"'])
def test_damaged_approvals_approve_nothing(place: Path, data: bytes) -> None:
    theirs(place, "store_secrets = true\n")
    approve(place)
    (place / "data/approvals.json").write_bytes(data)
    assert not load(place).store_secrets
    approve(place)
    assert load(place).store_secrets


def test_a_project_may_tighten(place: Path) -> None:
    own(place, 'store_secrets = true\ndefault_select = "all"\nundo_skip = ["a"]\n')
    theirs(place, 'store_secrets = false\ndefault_select = "agent"\ndefault_undo_skip = false\n')
    found = load(place)
    assert not found.store_secrets and found.default_select == "agent"
    assert not found.default_undo_skip and found.ignored == ()
    assert not found.passed_over(b"dist", True)


def test_a_project_never_shortens_the_users_lists(place: Path) -> None:
    own(place, 'undo_skip = ["a"]\n')
    theirs(place, "undo_skip = []\n")
    assert load(place).undo_skip == ("a",)
    theirs(place, 'undo_skip = ["b", "a"]\n')
    approve(place)
    assert load(place).undo_skip == ("a", "b")


def test_there_is_nothing_to_approve_without_a_file(place: Path) -> None:
    with pytest.raises(ConfigError):
        approve(place)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from([*config.names(), "other"]),
        st.sampled_from(
            ["true", "false", "0", "1", "-5", "1.5", '"x"', '"all"', "[]", '["a"]', '["/"]', "{}"]
        ),
    )
)
def test_no_project_file_is_ever_looser_than_the_users(place: Path, values: dict[str, str]) -> None:
    theirs(place, "".join(f"{key} = {value}\n" for key, value in values.items()))
    found = load(place)
    for key in config.names():
        assert not config.loosens(key, config.get(found, key), config.default_of(key))


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_give_settings_or_one_sentence(data: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(os.fsencode(folder), config.PROJECT_FILE)
        with open(path, "wb") as file:
            file.write(data)
        old = os.environ.get("TAKEBACK_CONFIG_DIR")
        os.environ["TAKEBACK_CONFIG_DIR"] = os.path.join(folder, "none")
        try:
            config.load(os.fsencode(folder), os.fsencode(folder))
        finally:
            if old is None:
                del os.environ["TAKEBACK_CONFIG_DIR"]
            else:
                os.environ["TAKEBACK_CONFIG_DIR"] = old


def test_the_folder_of_the_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("TAKEBACK_CONFIG_DIR", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert config.config_dir() == os.fsencode(tmp_path / ".config/takeback")
    monkeypatch.setenv("XDG_CONFIG_HOME", "here")
    assert config.config_dir() == os.fsencode(tmp_path / ".config/takeback")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/there")
    assert config.config_dir() == b"/there/takeback"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert config.config_dir() == os.fsencode(tmp_path / "Library/Application Support/takeback")
    monkeypatch.setenv("TAKEBACK_CONFIG_DIR", str(tmp_path / "c"))
    assert config.user_file() == os.fsencode(tmp_path / "c/config.toml")


SECRET = [
    ".env", "a/.env", ".env.local", ".env.production", ".ENV", "a/b.pem", "b.key", "x.p12",
    "x.pfx", "x.jks", "id_rsa", "id_rsa.pub", "id_dsa", "id_ecdsa_old", "keys/id_ed25519",
    ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".env\nx/.env", ".pem", "K.PEM",
]  # fmt: skip
PLAIN = [
    ".env.example", ".env.sample", "a/.env.template", "env", ".envrc", "my.env", "pem", "a.pem.txt",
    "id_rs", "my_id_rsa", "key", ".npmrc/x", "id_rsa/x", "monkey", "a.keys", ".netrc.txt",
]  # fmt: skip


def test_names_of_secrets() -> None:
    assert [name for name in SECRET if not config.secret_reason(name.encode())] == []
    assert [name for name in PLAIN if config.secret_reason(name.encode())] == []
    assert not config.secret_reason(b"\xff/\xfe")


def test_names_passed_over_by_default() -> None:
    folders = ["node_modules", "a/.venv", "venv", "dist", "x/build", "target", "__pycache__"]
    files = ["a.log", "x/b.tmp", "c.temp", ".DS_Store", "a/Thumbs.db", ".log", "a\n.log"]
    for name in folders:
        assert config.default_excluded(name.encode(), True)
        assert not config.default_excluded(name.encode(), False)
    for name in files:
        assert config.default_excluded(name.encode(), False)
        assert not config.default_excluded(name.encode(), True)
    for name in ("a.log2", "distx", "mydist", "build.py", "log", "a.log\n"):
        assert not config.default_excluded(name.encode(), False)
        assert not config.default_excluded(name.encode(), True)


def test_names_are_judged_fast() -> None:
    names = [b"src/package/module_%d/file_%d.py" % (at % 50, at) for at in range(20_000)]
    start = time.process_time()
    for name in names:
        config.secret_reason(name)
        config.default_excluded(name, False)
    assert time.process_time() - start < 0.5


def test_reading_no_settings_loads_no_parser() -> None:
    code = (
        "import sys; from takeback.engine import config; config.load(b'/', b'/none'); "
        "print([m for m in ('tomllib', 'difflib', 'dataclasses') if m in sys.modules])"
    )
    env = {**os.environ, "TAKEBACK_CONFIG_DIR": "/none"}
    env["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path.endswith(".dev"))
    done = subprocess.run([sys.executable, "-S", "-c", code], env=env, capture_output=True)
    assert done.stdout.strip() == b"[]", done
