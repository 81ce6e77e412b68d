"""Settings: the user's ``config.toml``, a project's ``.takeback.toml``, and the names never kept.

A project's file comes with the project, perhaps from somebody else, so it may only tighten: a value
that lowers protection waits until the user approved that file's very bytes. Light on purpose: every
hook reads the settings; the TOML parser is loaded only where a file exists.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import sys

from takeback.engine.errors import UsageError
from takeback.engine.frozen import Frozen, changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from takeback.engine.model import Selection

PROJECT_FILE = b".takeback.toml"

_LARGEST_FILE = 1 << 20
"""A settings file of more bytes is none."""

_SECRET_ENDS = (b".pem", b".key", b".p12", b".pfx", b".jks")
_SECRET_STARTS = (b".env.", b"id_rsa", b"id_dsa", b"id_ecdsa", b"id_ed25519")
_SECRET_NAMES = frozenset({b".env", b".netrc", b".npmrc", b".pypirc", b".git-credentials"})
_NO_SECRETS = frozenset({b".env.example", b".env.sample", b".env.template"})
_EXCLUDED_DIRS = frozenset(
    {b"node_modules", b".venv", b"venv", b"dist", b"build", b"target", b"__pycache__"}
)
_EXCLUDED_ENDS = (b".log", b".tmp", b".temp")
_EXCLUDED_NAMES = frozenset({b".DS_Store", b"Thumbs.db"})


class ConfigError(UsageError):
    """A settings file cannot be used."""


class Config(Frozen):
    """Every setting with its default.

    Attributes:
        undo_skip: names or patterns of files that undo leaves alone and lists as kept.
        default_undo_skip: whether names that are mostly built or downloaded (`default_excluded`)
            are passed over where the user's git does not track them.
        allow_roots: ``allow_root`` in the file: folders that may be projects although they hold a
            home folder.
        ignored: sentences about values that do not count, and why.
    """

    snapshots: bool = True
    default_select: Selection = "agent"
    undo_skip: tuple[str, ...] = ()
    default_undo_skip: bool = True
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
    theme: str = "auto"
    glyphs: str = "auto"
    keys: str = ""
    ignored: tuple[str, ...] = ()

    @property
    def allow_root(self) -> tuple[bytes, ...]:
        return tuple(os.fsencode(os.path.expanduser(path)) for path in self.allow_roots)

    def passed_over(self, path: bytes, is_dir: bool) -> bool:
        """Whether an untracked path is left out of scans because of its name."""
        return self.default_undo_skip and default_excluded(path, is_dir)


_CHOICES = {
    "default_select": ("agent", "agent+during-call", "all"),
    "restore_mtime": ("exact", "now"),
    "glyphs": ("auto", "unicode", "ascii"),
}
_LISTS = ("undo_skip", "roots", "allow_root")
_FOLDERS = ("roots", "allow_root")
_MOST = 1_000_000_000
"""No number may be larger: some are multiplied to bytes and nanoseconds."""
_NAMES = tuple(
    "allow_root" if name == "allow_roots" else name
    for name in Config.__match_args__
    if name != "ignored"
)
_GUARDS = ("snapshots", "dependency_guard", "tell_agent")
_LIMITS = (
    "max_file_size_mb",
    "snapshot_file_count_cap",
    "snapshot_total_size_cap_mb",
    "max_disk_mb_per_project",
    "max_disk_mb_total",
    "max_turn_age_days",
    "gc_interval_turns",
)
_NOTHING = "Nothing was done."
_IGNORED = "It was ignored."
_WIDER = {"agent": 0, "agent+during-call": 1, "all": 2}


def secret_reason(path: bytes) -> bool:
    """Whether a file's name says that it holds secrets: its bytes are kept nowhere."""
    name = path.rpartition(b"/")[2].lower()
    if name in _NO_SECRETS:
        return False
    return name in _SECRET_NAMES or name.startswith(_SECRET_STARTS) or name.endswith(_SECRET_ENDS)


def default_excluded(path: bytes, is_dir: bool) -> bool:
    """Whether a name is passed over by default when the user's git does not track it."""
    name = path.rpartition(b"/")[2]
    if is_dir:
        return name in _EXCLUDED_DIRS
    return name.endswith(_EXCLUDED_ENDS) or name in _EXCLUDED_NAMES


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
        base = os.environ.get("XDG_CONFIG_HOME", "")
        if not os.path.isabs(base):
            # A relative one does not count: it would take the settings from wherever we stand.
            base = os.path.join(home, ".config")
    return os.fsencode(os.path.join(base, "takeback"))


def user_file() -> bytes:
    return os.path.join(config_dir(), b"config.toml")


def default_of(key: str) -> Any:
    return getattr(Config(), "allow_roots" if key == "allow_root" else key)


def read_bytes(path: bytes) -> bytes | None:
    """What a settings file holds, None where there is none; never waits for a pipe's writer.

    Raises:
        OSError: it cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with open(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(_LARGEST_FILE + 1)
    if len(data) > _LARGEST_FILE:
        raise OSError(errno.EFBIG, f"it is larger than {_LARGEST_FILE} bytes")
    return data


def _read(path: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The values of a settings file and its bytes.

    Raises:
        ConfigError: it is there and cannot be used.
    """
    shown = repr(os.fsdecode(path))
    try:
        data = read_bytes(path)
    except OSError as error:
        raise ConfigError(
            f"The settings file {shown} cannot be read: {error.strerror}. {_NOTHING}",
            "Mend the file, or move it away.",
        ) from error
    if data is None:
        return None
    import tomllib

    try:
        return tomllib.loads(data.decode("utf-8")), data
    except (ValueError, RecursionError) as error:
        said = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(
            f"The settings file {shown} is not valid TOML: {said}. {_NOTHING}", "Mend the file."
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
        raise ConfigError(f"There is no setting {key!r}. {_IGNORED}", hint)
    default = default_of(key)
    if key in _LISTS:
        return _checked_list(key, value)
    if key in _CHOICES:
        # A value that cannot be hashed, or equals one of another type, is none of the choices.
        if isinstance(value, str) and value in _CHOICES[key]:
            return value
        raise ConfigError(
            f"The setting {key!r} takes one of {', '.join(_CHOICES[key])}. {_IGNORED}"
        )
    if isinstance(default, bool):
        if isinstance(value, bool):
            return value
        raise ConfigError(f"The setting {key!r} takes true or false. {_IGNORED}")
    if isinstance(default, int):
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST:
            return value
        raise ConfigError(f"The setting {key!r} takes a whole number from 1 to {_MOST}. {_IGNORED}")
    if isinstance(value, str):
        return value
    raise ConfigError(f"The setting {key!r} takes a text. {_IGNORED}")


def _checked_list(key: str, value: Any) -> tuple[str, ...]:
    """A list of patterns or folders.

    Raises:
        ConfigError: something else, an empty text, or a folder that depends on where we stand.
    """
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"The setting {key!r} takes a list of texts. {_IGNORED}")
    for item in value:
        if not item.strip() or "\0" in item:
            raise ConfigError(f"The setting {key!r} takes no empty text. {_IGNORED}")
        if key in _FOLDERS and not os.path.isabs(os.path.expanduser(item)):
            raise ConfigError(
                f"The setting {key!r} takes whole paths, not {item!r}. {_IGNORED}",
                "Begin it with '/' or '~/'.",
            )
    return tuple(value)


def loosens(key: str, value: Any, current: Any) -> bool:
    """Whether a checked value protects less than the current one.

    Larger limits capture more and smaller ones less; either may be what harms (a full disk, or a
    file that is not kept), so that any other limit counts.
    """
    if key in _GUARDS:
        return bool(current and not value)
    if key == "default_select":
        return _WIDER[value] > _WIDER[current]
    if key in ("store_secrets", "auto_include_deps", "default_undo_skip"):
        return bool(value and not current)
    if key == "restore_mtime":
        return bool(value == "now" and current != "now")
    if key in _LIMITS:
        return bool(value != current)
    if key in _LISTS:
        # What undo skips is not taken back; a root that is allowed is written to.
        return bool(set(value) - set(current))
    return False


def risks(key: str, value: Any, current: Any) -> bool:
    """Whether the user has to agree to a value of their own: not where no byte depends on it."""
    return key != "tell_agent" and loosens(key, value, current)


def _set(config: Config, key: str, value: Any) -> Config:
    return changed(config, **{"allow_roots" if key == "allow_root" else key: value})


def get(config: Config, key: str) -> Any:
    """The value of a setting by its name."""
    check_name = "allow_roots" if key == "allow_root" else key
    return getattr(config, check_name)


def choices(key: str) -> tuple[str, ...]:
    """The values that a setting may have, where these are few; else none."""
    return _CHOICES.get(key, ())


def names() -> tuple[str, ...]:
    """The names of all settings."""
    return _NAMES


def load(root: bytes | None, data: bytes, *, forgiving: bool = False) -> Config:
    """The settings for a project (or, without a root, the user's own).

    Args:
        data: the data folder, where approvals are.
        forgiving: for recording, which must go on: a user's file that cannot be used is named in
            `Config.ignored`, and the defaults hold, all of which protect.

    Raises:
        ConfigError: the user's file cannot be used. A project's file that cannot be used is ignored
            and named.
    """
    config = Config()
    ignored: list[str] = []
    own = user_file()
    try:
        found = _read(own)
    except ConfigError as error:
        if not forgiving:
            raise
        found = None
        ignored.append(error.message.replace(_NOTHING, "The defaults are used."))
    for key, value in (found[0] if found else {}).items():
        try:
            config = _set(config, key, check(key, value))
        except ConfigError as error:
            ignored.append(f"{os.fsdecode(own)}: {error.message} {error.hint}".strip())
    if root is not None:
        config = _with_project(config, root, data, ignored)
    return changed(config, ignored=tuple(ignored)) if ignored else config


def _with_project(config: Config, root: bytes, data: bytes, ignored: list[str]) -> Config:
    path = os.path.join(root, PROJECT_FILE)
    try:
        found = _read(path)
    except ConfigError as error:
        ignored.append(error.message.replace(_NOTHING, _IGNORED))
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
        current = get(config, key)
        if key in _LISTS:
            # Never fewer than the user's own.
            checked = tuple(dict.fromkeys((*current, *checked)))
        if loosens(key, checked, current) and not approved:
            ignored.append(
                f".takeback.toml: {key} would lower the protection and was ignored. "
                "Approve the file with 'takeback config approve'."
            )
            continue
        config = _set(config, key, checked)
    return config


def _approvals(data: bytes) -> dict[str, str]:
    try:
        with open(os.path.join(data, b"approvals.json"), "rb") as file:
            found = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
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
