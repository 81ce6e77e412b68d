"""Going on in a conversation of Gemini CLI: the file that it is given, the copy that it makes."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.gemini import conversation, resume
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import CannotFork, Point

SESSION = "3a15c0d2-c3ed-4026-9215-df4c3cc876b1"

PROGRAM = """\
import json, os, sys
assert sys.argv[1] == "--session-file" and sys.argv[3:] == ["--list-extensions"]
path = sys.argv[2]
assert os.stat(path).st_mode & 0o77 == 0 or os.stat(os.path.dirname(path)).st_mode & 0o77 == 0
with open(path, "rb") as file:
    data = file.read()
with open("given", "wb") as file:
    file.write(data)
if MAKES:
    info = {"id": "import-1", "type": "info", "content": "Imported session from " + path}
    head = {"sessionId": "new", "startTime": "2026-12-01T09:00:00.000Z", "kind": "main"}
    live = {}
    for line in data.splitlines():
        record = json.loads(line)
        if "$rewindTo" in record:
            names = list(live)
            for name in names[names.index(record["$rewindTo"]):]:
                del live[name]
        elif "id" in record:
            live[record["id"]] = record
    with open(os.path.join(CHATS, "session-9-new.jsonl"), "w") as file:
        for record in [head, info, *live.values()]:
            file.write(json.dumps(record) + "\\n")
"""


class Gemini:
    """A home with one chat, and a program that stands for Gemini CLI."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.home, self.programs = place / "shop", place / "home", place / "bin"
        self.chats = self.home / ".gemini/tmp/shop/chats"
        for folder in (self.root, self.chats, self.programs):
            folder.mkdir(parents=True)
        projects = {"projects": {str(self.root): "shop"}}
        (self.home / ".gemini/projects.json").write_text(json.dumps(projects))
        (self.home / ".gemini/tmp/shop/.project_root").write_text(str(self.root))
        self.file = self.chats / "session-1-3a15c0d2.jsonl"
        self.makes = True
        monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setattr("tempfile.tempdir", str(place))

    def write(self, *records: dict[str, Any], file: Path | None = None) -> None:
        head = {"sessionId": SESSION, "startTime": "2026-12-01T08:00:00.000Z", "kind": "main"}
        lines = [json.dumps(record) + "\n" for record in (head, *records)]
        (file or self.file).write_text("".join(lines))

    def fork(self, prompt: str, index: int = -1, session: str = SESSION) -> tuple[str, ...]:
        program = self.programs / "gemini"
        given = f"CHATS, MAKES = {str(self.chats)!r}, {self.makes!r}\n"
        program.write_text(f"#!{sys.executable}\n{given}{PROGRAM}")
        program.chmod(0o755)
        point = Point(session, os.fsencode(self.root), prompt, "", index, os.fsencode(self.home))
        way = resume.fork(point, Programs())
        assert way.exact and way.folder == os.fsencode(self.root)
        return way.argv

    @property
    def given(self) -> bytes | None:
        path = self.root / "given"
        return path.read_bytes() if path.exists() else None


@pytest.fixture
def g(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gemini:
    return Gemini(tmp_path, monkeypatch)


def said(name: str, text: str, kind: str = "user") -> dict[str, Any]:
    at = "2026-12-01T08:00:01.000Z"
    return {"id": name, "timestamp": at, "type": kind, "content": [{"text": text}]}


TALK = [
    said("c", "<session_context>\nhere"),
    said("u1", "one"),
    said("a1", "First.", "gemini"),
    said("u2", "two"),
    said("a2", "Second.", "gemini"),
    said("u3", "one"),
]


def test_it_is_given_the_chat_with_a_line_that_goes_back(g: Gemini) -> None:
    g.write(*TALK)
    held = g.file.read_bytes()
    assert g.fork("two") == ("gemini", "--resume", "new")
    assert g.given == held + b'{"$rewindTo": "u2"}\n' and g.file.read_bytes() == held
    assert [path.name for path in g.root.parent.iterdir() if "takeback" in path.name] == []
    # The copy shows only what is said in it from now on.
    sources = conversation.find(os.fsencode(g.root), os.fsencode(g.home))
    (copy,) = [conversation.read(one) for one in sources if one.session == "new"]
    assert copy is not None and copy.parent == SESSION and copy.turns == ()
    with (g.chats / "session-9-new.jsonl").open("a") as file:
        file.write(json.dumps(said("u9", "three")) + "\n")
    (copy,) = [conversation.read(one) for one in sources if one.session == "new"]
    assert copy is not None and [turn.prompt for turn in copy.turns] == ["three"]
    # Where the first one is gone, it tells everything.
    g.file.unlink()
    (copy,) = [conversation.read(one) for one in sources if one.session == "new"]
    assert copy is not None and [turn.prompt for turn in copy.turns] == ["one", "three"]


def test_a_line_that_is_just_written_harms_nothing(g: Gemini) -> None:
    g.write(*TALK)
    g.file.write_bytes(g.file.read_bytes().rstrip(b"\n"))
    g.fork("two")
    assert g.given is not None and g.given.endswith(b'}\n{"$rewindTo": "u2"}\n')


def test_the_same_words_twice_are_told_apart_by_their_place(g: Gemini) -> None:
    g.write(*TALK)
    assert g.fork("one", 0) == ("gemini",) and g.given is None, "nothing comes before it"
    assert g.fork("one", 2)[:2] == ("gemini", "--resume")
    assert g.given is not None and b'{"$rewindTo": "u3"}' in g.given
    for index in (-1, 1, 7):
        with pytest.raises(CannotFork, match="more than once"):
            g.fork("one", index)


@pytest.mark.parametrize(
    "more",
    [
        {"$rewindTo": "u2"},
        {"$rewindTo": "gone"},
        {"$set": {"messages": TALK[:3]}},
        {"messages": [], "$set": {"messages": []}},
    ],
)
def test_a_prompt_that_does_not_stand_there_any_more(g: Gemini, more: dict[str, Any]) -> None:
    g.write(*TALK, more)
    with pytest.raises(CannotFork, match="Nothing was done"):
        g.fork("two")
    assert g.given is None


def test_a_prompt_that_was_gone_back_from_and_asked_again(g: Gemini) -> None:
    g.write(*TALK[:4], {"$rewindTo": "u2"}, said("u4", "else"), said("u5", "two"))
    for index in (1, -1):
        with pytest.raises(CannotFork, match="Nothing was done"):
            g.fork("two", index)
    g.fork("two", 2)
    assert g.given is not None and g.given.endswith(b'{"$rewindTo": "u5"}\n')


def test_prompts_that_were_summed_up_are_not_counted(g: Gemini) -> None:
    last = said("u4", "three")
    left = [said("s", "A summary.", "gemini"), TALK[1], TALK[5], last]
    g.write(*TALK, last, {"$set": {"messages": left}})
    with pytest.raises(CannotFork, match="more than once"):
        g.fork("one", 1)


def test_the_newest_file_counts(g: Gemini) -> None:
    g.write(*TALK, file=g.chats / "session-0-3a15c0d2.jsonl")
    head = {"sessionId": SESSION, "startTime": "2026-12-01T08:30:00.000Z"}
    g.file.write_text(json.dumps(head) + "\n" + json.dumps(TALK[1]) + "\n" + json.dumps(TALK[3]))
    g.fork("two")
    assert g.given is not None and g.given.startswith(json.dumps(head).encode())


def test_what_gemini_cli_does_not_do_is_said(g: Gemini) -> None:
    with pytest.raises(CannotFork, match="was not found"):
        g.fork("two")
    g.write(*TALK)
    with pytest.raises(CannotFork, match="was not found"):
        g.fork("two", session="../x")
    g.makes = False
    with pytest.raises(CannotFork, match="made no copy"):
        g.fork("two")
