"""A copy of a conversation of OpenCode's, made by a server of its own, which a stand-in is here."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.opencode import conversation, resume
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import CannotFork, Point
from takeback.engine.agents.talk import Source, Talk

DATA = Path(__file__).parent / "data/opencode"

SERVER = """
import base64, http.server, json, os, pathlib, sys, time
class Asked(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
        word = base64.b64decode(self.headers["authorization"].split()[1]).decode()
        known = ":".join(os.environ[f"OPENCODE_SERVER_{name}"] for name in ("USERNAME", "PASSWORD"))
        line = [sys.argv[1:], self.path, given, word == known and len(known) > 25, os.getpid()]
        pathlib.Path(HERE, "asked").write_text(json.dumps(line))
        data = json.dumps(ANSWER).encode()
        self.send_response(STATUS)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Asked)
print("Warning: something else", flush=True)
print(f"opencode server listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
"""


class OpenCode:
    """OpenCode's database of a captured run, and a stand-in for the program."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.root, self.home = place, place / "shop", place / "home"
        self.programs = place / "bin"
        self.database = self.home / ".local/share/opencode/opencode.db"
        for folder in (self.root, self.programs, self.database.parent):
            folder.mkdir(parents=True)
        shutil.copy(DATA / "basic3.db", self.database)
        self.change("UPDATE session SET directory = ?", str(self.root))
        for name in ("XDG_DATA_HOME", "OPENCODE_DB"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PATH", str(self.programs))
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
        self.answer: Any = {"id": "ses_new"}
        self.status = 200

    def change(self, query: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.database)) as database:
            database.execute(query, values)
            database.commit()

    @property
    def source(self) -> Source:
        (source,) = conversation.find(os.fsencode(self.root), os.fsencode(self.home))
        return source

    @property
    def talk(self) -> Talk:
        talk = conversation.read(self.source)
        assert talk is not None
        return talk

    def fork(self, prompt: str = "", key: str = "", session: str = "") -> tuple[str, ...]:
        program = self.programs / "opencode"
        given = f"HERE, ANSWER, STATUS = {str(self.place)!r}, {self.answer!r}, {self.status}"
        program.write_text(f"#!{sys.executable}\n{given}\n{SERVER}")
        program.chmod(0o755)
        home = os.fsencode(self.home)
        session = session or self.source.session
        point = Point(session, os.fsencode(self.root), prompt, key, -1, home)
        way = resume.fork(point, Programs())
        assert way.exact and way.folder == os.fsencode(self.root)
        return way.argv

    def asked(self) -> Any:
        path = self.place / "asked"
        return json.loads(path.read_text()) if path.exists() else None


@pytest.fixture
def o(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenCode:
    return OpenCode(tmp_path, monkeypatch)


@pytest.mark.parametrize("by_key", [True, False])
def test_opencode_copies_up_to_the_prompt_and_its_server_is_gone_then(
    o: OpenCode, by_key: bool
) -> None:
    before = o.database.read_bytes()
    turn = o.talk.turns[1]
    argv = o.fork("changed" if by_key else turn.prompt, turn.key if by_key else "")
    assert argv == ("opencode", "--session", "ses_new")
    words, path, given, known, server = o.asked()
    assert words == ["serve", "--pure", "--hostname", "127.0.0.1", "--port", "0"]
    assert path == f"/session/{o.source.session}/fork"
    assert given == {"messageID": turn.key}
    assert known, "nobody else on the machine can ask this server"
    end = time.monotonic() + 10
    while os.path.exists(f"/proc/{server}") and time.monotonic() < end:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{server}")
    assert o.database.read_bytes() == before


def test_nothing_comes_before_the_first_prompt(o: OpenCode) -> None:
    assert o.fork(key=o.talk.turns[0].key) == ("opencode",)
    assert o.asked() is None


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (404, {"message": "no such session"}, r"\(404\).*no such session"),
        (200, {}, "no copy"),
        (200, [], "no copy"),
        (200, {"id": 3}, "no copy"),
    ],
)
def test_a_server_that_refuses(o: OpenCode, status: int, answer: Any, said: str) -> None:
    o.status, o.answer = status, answer
    with pytest.raises(CannotFork, match=said):
        o.fork(key=o.talk.turns[1].key)


def test_a_program_that_is_no_server(o: OpenCode) -> None:
    turn = o.talk.turns[1]
    point = Point(o.source.session, os.fsencode(o.root), "", turn.key, -1, os.fsencode(o.home))
    with pytest.raises(CannotFork, match="not found"):
        resume.fork(point, Programs())
    program = o.programs / "opencode"
    program.write_text("#!/bin/sh\necho no server here\n")
    program.chmod(0o755)
    with pytest.raises(CannotFork, match="did not start"):
        resume.fork(point, Programs())


def test_what_cannot_be_copied_starts_no_server(o: OpenCode) -> None:
    with pytest.raises(CannotFork, match="or more than once"):
        o.fork("never said")
    with pytest.raises(CannotFork, match="'gone' was not found"):
        o.fork(key=o.talk.turns[1].key, session="gone")
    turn = o.talk.turns[1]
    o.change("DELETE FROM message")
    o.change(
        "INSERT INTO session_message (id, session_id, type, seq, time_created, time_updated, data) "
        "VALUES (?, ?, 'user', 1, 1, 1, ?)",
        turn.key, o.source.session, json.dumps({"text": turn.prompt, "time": {"created": 1}}),
    )  # fmt: skip
    with pytest.raises(CannotFork, match="newer interface"):
        o.fork(turn.prompt, turn.key)
    assert o.asked() is None
