"""Settings with comments, as Gemini CLI reads them: every comment stays where it is."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from takeback.engine.agents import hookfile, install, jsontext
from takeback.engine.agents.gemini.setup import HOOKS
from takeback.engine.errors import UsageError
from tests.agents.test_install import texts

PATH = b"/settings.json"
COMMAND = install.hook_command("gemini")

COMMENTED = """\
// My settings, "with" { brackets, and // more
{
  /* at the top */
  "ui": {"theme": "x // no comment", "a": "/* nor this */"}, // beside
  // above
  "hooks": { // of hooks
    "BeforeTool": [
      // none yet
    ],
    "AfterAgent": [ {"hooks": [ /* in */ {"type": "command", "command": "mine"} ]} ] // mine
    /* the last */
  }, "general": {} /* g */ // e
  // at the end
} // over
"""


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)


def installed(data: bytes) -> bytes:
    return hookfile._installed(PATH, data, HOOKS, COMMAND)


def without_ours(data: bytes) -> bytes | None:
    rest: bytes | None = data
    while rest is not None:
        file = hookfile.HookFile(PATH, rest, HOOKS)
        ours = next(file.ours(), None)
        if ours is None:
            break
        rest = hookfile._without(file, ours)
    return rest


def comments(text: str) -> list[str]:
    found = re.finditer(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', text, re.DOTALL)
    return [one[0].rstrip("\r") for one in found if one[0][0] == "/"]


@st.composite
def commented(draw: st.DrawFn) -> str:
    """Settings as JSON with comments between its values."""
    parts = re.split(r'("(?:\\.|[^"\\])*"|[{}\[\],:])', draw(texts()))
    some = st.sampled_from(
        [
            "",
            "",
            "",
            "/* c */",
            " // it's { \n",
            "/*\n * //, */",
            '//"\r\n',
            "// a\n  // b\n",
            "/**/",
        ]
    )
    return "".join(part + (draw(some) if part in set("{}[],:") else "") for part in parts)


@settings(max_examples=200)
@given(commented())
@example(COMMENTED)
@example(COMMENTED.replace("\n", "\r\n"))
@example("// c\n{}")
@example("{// c\n}/* d */")
@example('{"a": 1 // c\n}')
@example('{\n  "a": 1 // c\n}')
@example('{\n  /* c */ "a": 1 /* d\n */ }')
@example('{"hooks": {"BeforeTool": [/* c */], "SessionEnd": [// c\n]}}')
def test_in_and_out_gives_the_same_bytes(text: str) -> None:
    data = text.encode()
    after = installed(data)
    assert installed(after) == after
    assert comments(after.decode()) == comments(text)
    hookfile._check(PATH, data, after, HOOKS)
    ours = {found.event for found in hookfile.HookFile(PATH, after, HOOKS).ours()}
    assert ours == set(HOOKS.events)
    assert without_ours(after) == data


@settings(max_examples=200)
@given(commented(), st.data())
def test_comments_that_come_later_stay(text: str, data: st.DataObject) -> None:
    after = installed(text.encode()).decode()
    file = hookfile.HookFile(PATH, after.encode(), HOOKS)
    # Between the groups and the events; what is written within a hook of ours goes with it.
    spans = [groups.items[at] for found in file.ours() for groups, at in found.trail[1:2]]
    places = sorted({place for one in spans for place in (one.start, one.value.end)}, reverse=True)
    for at in places:
        comment = data.draw(st.sampled_from(["", "/* later */", "// later\n"]))
        after = after[:at] + comment + after[at:]
    rest = without_ours(after.encode())
    assert comments((rest or b"").decode()) == comments(after)
    assert rest is None or not any(True for _ in hookfile.HookFile(PATH, rest, HOOKS).ours())
    hookfile._check(PATH, after.encode(), rest, HOOKS)


@settings(max_examples=200)
@given(commented())
def test_comments_are_blanks_to_the_parser(text: str) -> None:
    blank = jsontext.strict(text)
    assert len(blank) == len(text) and json.loads(blank) is not None
    assert not comments(blank) and jsontext.has_comments(text) == bool(comments(text))


def test_the_comment_beside_the_last_value_stays_beside_it() -> None:
    text = '{\n  "a": 1 // the first\n}\n'
    lines = installed(text.encode()).decode().splitlines()
    assert lines[1] == '  "a": 1, // the first' and lines[2] == '  "hooks": {'


@pytest.mark.parametrize("level", ["user", "project"])
def test_gemini_cli_is_connected_and_disconnected(tmp_path: Path, level: Any) -> None:
    home, root = tmp_path / "home", tmp_path / "root"
    file = (home if level == "user" else root) / ".gemini/settings.json"
    file.parent.mkdir(parents=True)
    for folder in (home, root):
        folder.mkdir(exist_ok=True)
    file.write_text(COMMENTED)
    both = os.fsencode(root), os.fsencode(home)
    for edit in install.plan_install("gemini", level, *both):
        install.apply_edit(edit)
    assert file.read_text() != COMMENTED
    for edit in install.plan_uninstall("gemini", *both):
        install.apply_edit(edit)
    assert file.read_text() == COMMENTED


def test_a_file_of_comments_alone_stays(tmp_path: Path) -> None:
    text = "// mine\n" + installed(b"{}").decode().replace('{"hooks"', '{\n  "hooks"', 1)
    assert without_ours(text.encode()) == b"// mine\n{}"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
@pytest.mark.parametrize(
    ("text", "has"),
    [
        ('{"a": 1, // c\n "b": 2}', "comments"),
        ('{"a": [1, 2,\n ],\n}', "a comma behind the last of several values"),
        ('{"a" 1,} // c', ""),
        ('{"a": 1,} // c', "a comma behind the last of several values"),
        ("{/* c }", ""),
    ],
)
def test_what_an_agent_does_not_read_is_refused(
    tmp_path: Path, agent: str, text: str, has: str
) -> None:
    name = {"codex": "hooks.json"}.get(agent, "settings.json")
    file = tmp_path / f".{agent}" / name
    file.parent.mkdir()
    file.write_text(text)
    if agent == "gemini" and has == "comments":
        assert install.plan_install(agent, "user", b"/none", os.fsencode(tmp_path))
        return
    with pytest.raises(UsageError) as raised:
        install.plan_install(agent, "user", b"/none", os.fsencode(tmp_path))
    assert (has or "is not valid JSON") in raised.value.message
    assert ("has comments" in raised.value.message) == (
        agent != "gemini" and "//" in text and has != ""
    )
    assert "Nothing was changed." in raised.value.message and file.read_text() == text
