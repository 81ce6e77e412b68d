"""Scans under odd rules: what nobody looked at was neither made nor removed."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from tests.bed import Bed, captured, nothing_of_the_users_goes, shown

MIB = 1 << 20


def git(bed: Bed, *words: str) -> None:
    subprocess.run(["git", *words], cwd=bed.root, check=True, capture_output=True)


# --- Rules ---------------------------------------------------------------------------------------

RULES = {
    "a rule file that ignores itself": ("private/.gitignore", "*\n"),
    "a rule file that names itself": ("private/.gitignore", ".gitignore\ndata.txt\n"),
    "a rule file in the root that names itself": (".gitignore", ".gitignore\nprivate\n"),
    "a rule file that is captured": (".gitignore", "data.txt\n"),
    "an exclude file of the repository": (".git/info/exclude", "private/\n"),
}


@pytest.fixture(params=list(RULES))
def hidden(request: pytest.FixtureRequest, bed: Bed) -> str:
    """A file of the user's that rules keep out of every scan; the rules' file."""
    name, text = RULES[request.param]
    if name.startswith(".git/"):
        git(bed, "init", "-q")
    bed.write("private/data.txt", "precious\n")
    bed.write("a", "a\n")
    bed.write(name, text)
    return name


def test_what_former_rules_hid_was_not_made_when_they_go(bed: Bed, hidden: str) -> None:
    bed.begin()
    with bed.shell():
        (bed.root / hidden).unlink()
        bed.write("private/more.txt" if hidden.startswith("private") else "more.txt", "more\n")
    bed.end()
    assert "private/data.txt" not in bed.changes()
    assert "private/data.txt" in captured(bed)
    assert bed.missing()["private/data.txt"] == "ignored"
    nothing_of_the_users_goes(bed, "private/data.txt")


def test_what_former_rules_hid_was_not_made_by_the_turn_after_they_went(
    bed: Bed, hidden: str
) -> None:
    with bed.turn():
        pass
    bed.write(hidden, "*.pyc\n")
    bed.begin()
    with bed.shell():
        bed.write("made", "by the agent\n")
    bed.end()
    assert set(bed.changes()) == {"made"}
    nothing_of_the_users_goes(bed, "private/data.txt")


def test_what_new_rules_hide_is_neither_gone_nor_brought_back(bed: Bed, hidden: str) -> None:
    text = (bed.root / hidden).read_text()
    (bed.root / hidden).unlink()
    with bed.turn():
        pass
    assert "private/data.txt" in captured(bed)
    bed.begin()
    with bed.shell():
        bed.write(hidden, text)
    bed.end()
    assert "private/data.txt" not in bed.changes()
    assert "private/data.txt" not in captured(bed)
    nothing_of_the_users_goes(bed, "private/data.txt")


def test_a_hiding_rule_file_that_changes_without_a_trace_in_its_stat_is_seen(bed: Bed) -> None:
    bed.write(".gitignore", ".gitignore\nx\n")
    bed.write("x", "precious\n")
    bed.write("y", "precious\n")
    with bed.turn():
        pass
    assert captured(bed) == {"y"}
    bed.begin()
    bed.write(".gitignore", ".gitignore\ny\n")
    bed.end()
    assert captured(bed) == {"x"}
    assert bed.changes() == {}


def test_a_folder_whose_own_rules_ignore_all_but_one_is_looked_into(bed: Bed) -> None:
    bed.write("sub/.gitignore", "*\n!keep\n")
    bed.write("sub/keep", "one\n")
    bed.write("sub/other", "one\n")
    bed.begin()
    with bed.shell():
        bed.write("sub/keep", "two\n")
        bed.write("sub/other", "two\n")
        bed.write("new/.gitignore", "*\n!keep\n")
        bed.write("new/keep", "made\n")
        bed.write("new/other", "made\n")
    bed.end()
    assert set(bed.changes()) == {"sub/keep", "new/keep"}
    assert captured(bed) == {"sub/keep", "new/keep"}


def test_a_rule_file_that_is_a_link_holds_no_rules(bed: Bed) -> None:
    """Git does not follow it, and neither may the comparison of former rules."""
    bed.write("rules", "x\n")
    bed.write("x", "one\n")
    (bed.root / ".gitignore").symlink_to("rules")
    with bed.turn():
        pass
    assert "x" in captured(bed)


@pytest.mark.parametrize("how", ["setting", "tracked"])
def test_what_a_default_exclude_hid_was_not_made_when_it_no_longer_holds(
    bed: Bed, how: str
) -> None:
    git(bed, "init", "-q")
    for name in ("node_modules/lib/x.js", "a.log"):
        bed.write(name, "precious\n")
    with bed.turn():
        pass
    assert captured(bed) == set()
    bed.begin()
    with bed.shell():
        if how == "tracked":
            git(bed, "add", "-f", ".")
        else:
            bed.config.write_text("default_undo_skip = false\n")
        bed.write("made", "by the agent\n")
    bed.end()
    assert captured(bed) == {"node_modules/lib/x.js", "a.log", "made"}
    assert set(bed.changes()) == {"made"}
    nothing_of_the_users_goes(bed, "node_modules/lib/x.js", "a.log")


# --- The size limit ------------------------------------------------------------------------------


def test_a_file_that_shrinks_below_the_limit_was_there_before(bed: Bed) -> None:
    bed.config.write_text("max_file_size_mb = 1\n")
    bed.write("big", "x" * (MIB + 1))
    time.sleep(0.05)  # Its folder does not change and is too old to be listed again.
    bed.begin()
    assert bed.missing() == {"big": "too-large"}
    with bed.shell():
        os.truncate(bed.root / "big", 100)
    bed.end()
    assert captured(bed) == {"big"}
    assert bed.changes() == {}
    assert bed.missing() == {"big": "too-large"}
    nothing_of_the_users_goes(bed, "big")
    bed.begin()
    with bed.shell():
        os.truncate(bed.root / "big", 50)
    bed.end()
    assert shown(bed.changes()) == {"big": ("file", "file")}


def test_a_file_that_grows_above_the_limit_is_not_gone(bed: Bed) -> None:
    bed.config.write_text("max_file_size_mb = 1\n")
    bed.write("grows", "x\n")
    time.sleep(0.05)
    bed.begin()
    with bed.shell(), open(bed.root / "grows", "a") as file:
        file.write("y" * MIB)
    bed.end()
    assert captured(bed) == set()
    assert bed.changes() == {}
    assert bed.missing() == {"grows": "too-large"}
    nothing_of_the_users_goes(bed, "grows")
    with bed.turn():
        os.truncate(bed.root / "grows", 1)
    assert bed.changes() == {}
    assert captured(bed) == {"grows"}
