"""Settings: the user's ``config.toml``, a project's ``.takeback.toml``, and the names never kept.

A project's file comes with the project, perhaps from somebody else, so it may only tighten: a value
that lowers protection waits until the user approved that file's very bytes. Light on purpose: every
hook reads the settings; the TOML parser is loaded only where a file exists.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from takeback.engine.errors import UsageError
from takeback.engine.model import Selection

PROJECT_FILE = b".takeback.toml"

_SECRET = re.compile(
    rb"(?:^|/)(?:"
    rb"\.env(?:\.(?!(?:example|sample|template)$)[^/]*)?"
    rb"|[^/]*\.(?:pem|key|p12|pfx|jks)"
    rb"|id_(?:rsa|dsa|ecdsa|ed25519)[^/]*"
    rb"|\.netrc|\.npmrc|\.pypirc|\.git-credentials"
    rb")$",
    re.IGNORECASE | re.DOTALL,
)
_EXCLUDED_DIR = re.compile(rb"(?:^|/)(?:node_modules|\.venv|venv|dist|build|target|__pycache__)$")
_EXCLUDED_FILE = re.compile(
    rb"(?:^|/)(?:[^/]*\.(?:log|tmp|temp)|\.DS_Store|Thumbs\.db)$", re.DOTALL
)


class ConfigError(UsageError):
    """A settings file cannot be used."""


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting with its default.

    Attributes:
        undo_skip: names or patterns of files that undo leaves alone.
        allow_root: folders that may be projects although they hold a home folder.
        ignored: sentences about values that do not count, and why.
    """

    snapshots: bool = True
    default_select: Selection = "agent"
    undo_skip: tuple[str, ...] = ()
    default_undo_skip: bool = False
    max_file_size_mb: int = 10
    snapshot_file_count_cap: int = 50_000
    snapshot_total_size_cap_mb: int = 1024
    max_disk_mb_per_project: int = 2048
    max_disk_mb_total: int = 10_240
    max_turn_age_days: int = 30
    gc_interval_turns: int = 10
    dependency_guard: bool = True
    auto_include_deps: bool = False
    store_secrets: bool = False
    restore_mtime: Literal["exact", "now"] = "exact"
    roots: tuple[str, ...] = ()
    allow_roots: tuple[str, ...] = ()
    tell_agent: bool = True
    theme: str = "takeback-dark"
    glyphs: str = "unicode"
    keys: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def allow_root(self) -> tuple[bytes, ...]:
        return tuple(os.fsencode(os.path.expanduser(path)) for path in self.allow_roots)


_CHOICES = {
    "default_select": ("agent", "agent+during-call", "all"),
    "restore_mtime": ("exact", "now"),
    "glyphs": ("unicode", "ascii"),
}
_LISTS = {"undo_skip", "roots", "allow_root"}
_NAMES = tuple(
    "allow_root" if f.name == "allow_roots" else f.name
    for f in fields(Config)
    if f.name != "ignored"
)
_WIDER = {"agent": 0, "agent+during-call": 1, "all": 2}


def secret_reason(path: bytes) -> bool:
    """Whether a file's name says that it holds secrets: its bytes are kept nowhere."""
    return _SECRET.search(path) is not None


def default_excluded(path: bytes, is_dir: bool) -> bool:
    """Whether a name is passed over by default when the user's git does not track it."""
    pattern = _EXCLUDED_DIR if is_dir else _EXCLUDED_FILE
    return pattern.search(path) is not None


def config_dir() -> bytes:
    """The folder of the user's settings: ``TAKEBACK_CONFIG_DIR``, or the platform's place."""
    given = os.environ.get("TAKEBACK_CONFIG_DIR")
    if given:
        return os.path.abspath(os.fsencode(given))
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        base = os.path.join(home, "Library", "Application Support")
    elif os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    return os.fsencode(os.path.join(base, "takeback"))


def user_file() -> bytes:
    return os.path.join(config_dir(), b"config.toml")


def default_of(key: str) -> Any:
    return getattr(Config(), "allow_roots" if key == "allow_root" else key)


def _read(path: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The values of a settings file and its bytes.

    Raises:
        ConfigError: it is there and cannot be used.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(
            f"The settings file {os.fsdecode(path)!r} cannot be read: {error.strerror}. "
            "Nothing was done."
        ) from error
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8")), data
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(
            f"The settings file {os.fsdecode(path)!r} is not valid TOML: {error}. "
            "Nothing was done.",
            "Mend the file.",
        ) from error


def check(key: str, value: Any) -> Any:
    """The value in the form `Config` holds it.

    Raises:
        ConfigError: there is no such setting, or the value does not fit it.
    """
    if key not in _NAMES:
        import difflib

        near = difflib.get_close_matches(key, _NAMES, 1)
        hint = f"Did you mean {near[0]!r}?" if near else "See 'takeback config' for the settings."
        raise ConfigError(f"There is no setting {key!r}. It was ignored.", hint)
    default = default_of(key)
    if key in _LISTS:
        if isinstance(value, str):
            value = [value]
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise ConfigError(f"The setting {key!r} takes a list of texts. It was ignored.")
    if key in _CHOICES:
        if value in _CHOICES[key]:
            return value
        raise ConfigError(
            f"The setting {key!r} takes one of {', '.join(_CHOICES[key])}. It was ignored."
        )
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise ConfigError(f"The setting {key!r} takes true or false. It was ignored.")
    if isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise ConfigError(f"The setting {key!r} takes a whole number from 0. It was ignored.")
    if isinstance(value, str):
        return value
    raise ConfigError(f"The setting {key!r} takes a text. It was ignored.")


def loosens(key: str, value: Any, current: Any) -> bool:
    """Whether a checked value protects less than the current one."""
    if key == "snapshots":
        return current and not value
    if key == "default_select":
        return _WIDER[value] > _WIDER[current]
    if key == "store_secrets":
        return value and not current
    if key in ("max_file_size_mb", "snapshot_file_count_cap", "snapshot_total_size_cap_mb"):
        return bool(value != current)
    if key in ("max_disk_mb_per_project", "max_disk_mb_total", "max_turn_age_days"):
        return bool(value != current)
    if key in ("allow_root", "roots"):
        return bool(set(value) - set(current))
    if key in ("undo_skip",):
        return False
    if key == "dependency_guard":
        return current and not value
    return False


def _set(config: Config, key: str, value: Any) -> Config:
    return replace(config, **{"allow_roots" if key == "allow_root" else key: value})


def get(config: Config, key: str) -> Any:
    """The value of a setting by its name."""
    check_name = "allow_roots" if key == "allow_root" else key
    return getattr(config, check_name)


def names() -> tuple[str, ...]:
    """The names of all settings."""
    return _NAMES


def load(root: bytes | None, data: bytes) -> Config:
    """The settings for a project (or, without a root, the user's own).

    Raises:
        ConfigError: the user's file cannot be used. A project's file that cannot be used is ignored
            and named.
    """
    config = Config()
    ignored: list[str] = []
    own = user_file()
    found = _read(own)
    for key, value in (found[0] if found else {}).items():
        try:
            config = _set(config, key, check(key, value))
        except ConfigError as error:
            ignored.append(f"{os.fsdecode(own)}: {error.message} {error.hint}".strip())
    if root is not None:
        config = _with_project(config, root, data, ignored)
    return replace(config, ignored=tuple(ignored))


def _with_project(config: Config, root: bytes, data: bytes, ignored: list[str]) -> Config:
    path = os.path.join(root, PROJECT_FILE)
    try:
        found = _read(path)
    except ConfigError as error:
        ignored.append(error.message.replace("Nothing was done.", "It was ignored."))
        return config
    if found is None:
        return config
    values, raw = found
    approved = is_approved(root, data, raw)
    for key, value in values.items():
        try:
            checked = check(key, value)
        except ConfigError as error:
            ignored.append(f".takeback.toml: {error.message} {error.hint}".strip())
            continue
        if loosens(key, checked, get(config, key)) and not approved:
            ignored.append(
                f".takeback.toml: {key} would lower the protection and was ignored. "
                "Approve the file with 'takeback config approve'."
            )
            continue
        if key == "undo_skip":
            checked = tuple(dict.fromkeys((*config.undo_skip, *checked)))
        config = _set(config, key, checked)
    return config


def _approvals(data: bytes) -> dict[str, str]:
    try:
        with open(os.path.join(data, b"approvals.json"), "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_approved(root: bytes, data: bytes, raw: bytes) -> bool:
    """Whether the user approved exactly these bytes of a project's file."""
    key = hashlib.sha256(root).hexdigest()
    return _approvals(data).get(key) == hashlib.sha256(raw).hexdigest()


def approve(root: bytes, data: bytes) -> list[str]:
    """Approve a project's file as it is now; the names of what it sets.

    Raises:
        ConfigError: there is no such file, or it cannot be used.
    """
    from takeback.engine.store.store import make_private, write_file

    found = _read(os.path.join(root, PROJECT_FILE))
    if found is None:
        raise ConfigError("This project has no .takeback.toml. Nothing was approved.")
    approvals = _approvals(data)
    approvals[hashlib.sha256(root).hexdigest()] = hashlib.sha256(found[1]).hexdigest()
    make_private(data)
    write_file(os.path.join(data, b"approvals.json"), json.dumps(approvals).encode(), True)
    return sorted(found[0])
