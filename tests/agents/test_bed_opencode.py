"""The real OpenCode against a scripted model; opt-in, see `test_bed`."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from takeback.engine.agents.opencode.resume import fork
from takeback.engine.agents.programs import Programs
from takeback.engine.agents.resume import Point
from tests.agents.real import FIRST, SECOND, Bed, bed, evidence, tree

pytestmark = pytest.mark.agents


class Shop(Bed):
    """A project with OpenCode connected."""

    name = "opencode"

    def repository(self) -> dict[str, tuple[str, bytes, int]]:
        """What is within `.git`, but for what OpenCode itself does there: it keeps the project's id
        in a file, and touches objects."""
        found = tree(self.shop / ".git").items()
        return {name: state[:3] for name, state in found if name != "opencode"}


@pytest.mark.parametrize("git", [True, False], ids=["repository", "plain"])
def test_three_turns(tmp_path: Path, git: bool) -> None:
    b = Shop(tmp_path, "basic3", git)
    before, repository = b.files(), b.repository()
    b.play("--turns", "1", *b.connect())
    between = b.files()
    b.play("--turns", "2,3", "--resume")
    after = b.files()
    one, two, three = b.turns()
    assert [turn["state"] for turn in (one, two, three)] == ["complete"] * 3
    assert all(turn["complete"] for turn in (one, two, three))
    assert [len(turn["steps"]) for turn in (one, two, three)] == [3, 3, 1]
    assert one["prompt"] == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert evidence(one) == FIRST and evidence(two) == SECOND and evidence(three) == {}
    (talk,) = b.talks()
    assert [turn.prompt for turn in talk.turns] == [turn["prompt"] for turn in (one, two, three)]
    assert [[step.text for step in turn.steps] for turn in talk.turns] == [
        [step["text"] for step in turn["steps"]] for turn in (one, two, three)
    ]
    told = {call.id for turn in talk.turns for step in turn.steps for call in step.calls}
    assert {c["id"] for t in (one, two) for step in t["steps"] for c in step["calls"]} < told
    checks = b.tb("doctor")["checks"]
    named = [c for c in checks if c["name"] in ("hooks", "opencode")]
    assert [check for check in named if not check["ok"]] == []

    b.tb("undo")
    now = b.files()
    assert now["src/cart.py"] == between["src/cart.py"]
    assert {k: v for k, v in now.items() if k != "src/cart.py"} == {
        k: v for k, v in after.items() if k != "src/cart.py"
    }
    b.tb("undo", "--turn", "2", "--all", "--yes")
    assert b.files() == between
    b.tb("undo")
    assert b.files() == before
    for _ in range(3):
        b.tb("redo", "--yes")
    assert b.files() == after
    assert b.repository() == repository

    plugin = b.home / ".config/opencode/plugin/takeback.js"
    assert plugin.exists()
    b.tb("uninstall", "opencode")
    assert not plugin.exists()


def test_calls_that_fail(tmp_path: Path) -> None:
    b = Shop(tmp_path, "fail", False)
    before = b.files()
    b.play(*b.connect())
    first, second = b.turns()
    assert evidence(first) == {
        "partial.txt": ("added", "during-call"),
        "README.md": ("modified", "tool-edit"),
    }
    states = {(c["tool"], c["state"]) for step in first["steps"] for c in step["calls"]}
    assert states == {("edit", "failed"), ("bash", "failed"), ("edit", "done")}
    assert len(first["steps"]) == 3 and evidence(second) == {}
    edit = next(c["id"] for c in first["steps"][1]["calls"])
    b.tb("undo", "--call", edit)
    assert b.files()["README.md"] == before["README.md"] and "partial.txt" in b.files()
    b.tb("undo", "--all", "--yes")
    assert b.files() == before


def test_renames(tmp_path: Path) -> None:
    b = Shop(tmp_path, "rename", True)
    before, repository = b.files(), b.repository()
    b.play("--turns", "mv", *b.connect())
    between = b.files()
    b.play("--turns", "move", "--resume")
    after = b.files()
    one, two = b.turns()
    assert evidence(one) == {
        "src/price.py": ("deleted", "during-call"),
        "src/pricing.py": ("added", "mixed"),
    }
    assert evidence(two) == {
        "config.ini": ("deleted", "during-call"),
        "shop.ini": ("added", "during-call"),
    }
    b.tb("undo", "--path", "config.ini", "--yes")
    assert b.files()["config.ini"] == before["config.ini"] and "shop.ini" in b.files()
    b.tb("undo", "--all", "--yes")
    assert b.files() == between
    b.tb("undo", "--all", "--yes")
    assert b.files() == before
    for _ in range(3):
        b.tb("redo", "--yes")
    assert b.files() == after and b.repository() == repository


@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"])
def test_an_agent_that_is_stopped(tmp_path: Path, signal: str) -> None:
    b = Shop(tmp_path, "slow", True)
    before = b.files()
    options = ["--turns", "slow", "--interrupt", signal, "--when", "slow1.txt"]
    b.play(*options, *b.connect())
    (turn,) = b.turns()
    assert turn["state"] == "interrupted" and turn["prompt"] == "[slow] Run the slow command."
    assert evidence(turn)["slow1.txt"][0] == "added"
    (call,) = (call for step in turn["steps"] for call in step["calls"])
    assert call["state"] in ("lost", "failed")
    b.tb("undo", code=4)
    b.tb("undo", "--include-unknown", "--yes")
    assert {k: v for k, v in b.files().items() if k != "slow2.txt"} == before


def test_a_subagent(tmp_path: Path) -> None:
    b = Shop(tmp_path, "subagent", True)
    before = b.files()
    b.play(*b.connect())
    turns = b.turns()
    assert [turn["prompt"].split(" ")[0] for turn in turns] == ["[delegate]", "[after]"]
    assert evidence(turns[0]) == {"sub.txt": ("added", "tool-edit")}
    assert all(turn["state"] == "complete" for turn in turns)
    assert len(b.tb("log")["sessions"]) == 1
    b.tb("undo")
    assert b.files() == before


def test_outside_the_project(tmp_path: Path) -> None:
    b = Shop(tmp_path, "outside", True)
    b.play(*b.connect())
    (turn,) = b.turns()
    reasons = {str(item["path"]): item["reason"] for item in turn["not_captured"]}
    assert reasons[".env"] in ("secret", "ignored")
    assert any("made.txt" in path for path in reasons)
    for path in b.data.rglob("*"):
        if path.is_file():
            assert b"PORT=" not in path.read_bytes(), path


def test_a_plugin_of_the_project(tmp_path: Path) -> None:
    b = Shop(tmp_path, "basic3", True)
    b.play("--turns", "1", *b.connect("--project"))
    assert (b.shop / ".opencode/plugin/takeback.js").exists()
    (turn,) = b.turns()
    assert evidence(turn) == FIRST


def test_settings_in_another_folder(tmp_path: Path) -> None:
    b = Shop(tmp_path, "basic3", True)
    own = tmp_path / "own"
    own.mkdir()
    # The bed's settings of the model are read from there as well.
    (own / "opencode").symlink_to(b.home / ".config/opencode")
    b.play("--turns", "1", "--env", f"XDG_CONFIG_HOME={own}", *b.connect())
    (turn,) = b.turns()
    assert evidence(turn) == FIRST


def scenario(place: Path, *steps: dict[str, Any]) -> str:
    """A scenario of one turn, by the name under which the bed finds it."""
    files = {
        "README.md": "# shop\n\nA tiny shop.\n",
        "src/cart.py": "def total(prices):\n    return sum(prices) - 1\n",
        "old.txt": "an old file\n",
        "config.ini": "[shop]\nlevel = 1\n",
    }
    turn = {"match": "[own]", "prompt": "[own] Go.", "title": "Own", "steps": list(steps)}
    (place / "own.json").write_text(json.dumps({"name": "own", "files": files, "turns": [turn]}))
    return str(place / "own")


PATCH = """\
*** Begin Patch
*** Add File: new/a b.txt
+hello
*** Update File: src/cart.py
@@
 def total(prices):
-    return sum(prices) - 1
+    return sum(prices)
*** Delete File: old.txt
*** Update File: config.ini
*** Move to: shop.ini
@@
 [shop]
-level = 1
+level = 2
*** End Patch"""


def test_a_patch(tmp_path: Path) -> None:
    call = {"raw": "apply_patch", "args": {"patchText": PATCH}}
    name = scenario(tmp_path, {"text": "A patch.", "tools": [call]}, {"text": "Done."})
    b = Shop(tmp_path, name, True)
    before = b.files()
    # Only models of this name have the tool.
    settings = b.home / ".config/opencode/opencode.json"
    given = "import sys; p = sys.argv[1]; t = open(p).read().replace('scripted/scripted', " + (
        '\'scripted/gpt-5\').replace(\'"scripted": {\\n      "name"\', \'"gpt-5": {"name"\'); '
        "import json; d = json.loads(t); m = d['provider']['scripted']['models']; "
        "m.setdefault('gpt-5', m.get('scripted')); json.dump(d, open(p, 'w'))"
    )
    options = b.connect()
    options[1] += f"; {shlex.join([sys.executable, '-c', given, str(settings)])}"
    b.play(*options)
    (turn,) = b.turns()
    assert evidence(turn) == {
        "new/a b.txt": ("added", "tool-edit"),
        "src/cart.py": ("modified", "tool-edit"),
        "old.txt": ("deleted", "tool-edit"),
        "config.ini": ("deleted", "tool-edit"),
        "shop.ini": ("added", "tool-edit"),
    }
    (told,) = b.talks()
    assert told.turns[0].steps[0].calls[0].paths == (
        b"new/a b.txt", b"src/cart.py", b"old.txt", b"config.ini", b"shop.ini",
    )  # fmt: skip
    b.tb("undo")
    assert b.files() == before


def test_a_relative_path_in_a_subfolder(tmp_path: Path) -> None:
    call = {"raw": "write", "args": {"filePath": "rel.txt", "content": "x\n"}}
    name = scenario(tmp_path, {"text": "Writing.", "tools": [call]}, {"text": "Done."})
    b = Shop(tmp_path, name, True)
    before = b.files()
    b.play("--subdir", "src", *b.connect())
    (turn,) = b.turns()
    assert evidence(turn) == {"src/rel.txt": ("added", "tool-edit")}
    b.tb("undo")
    assert b.files() == before


def test_odd_names(tmp_path: Path) -> None:
    b = Shop(tmp_path, "names", True)
    before = b.files()
    b.play(*b.connect())
    after = b.files()
    found = {path: kind for turn in b.turns() for path, kind in evidence(turn).items()}
    assert set(found) == {k for k in after | before if after.get(k) != before.get(k)}
    assert any(kind == "tool-edit" for _, kind in found.values())
    while True:
        left = [turn for turn in b.turns() if turn["changes"] and not turn["undone"]]
        if not left:
            break
        b.tb("undo", "--turn", str(left[-1]["n"]), "--all", "--yes")
    assert b.files() == before


# --- One OpenCode that goes on -----------------------------------------------------------------


class Server(Shop):
    """OpenCode as a server, asked over its interface."""

    def __init__(self, place: Path, scenario: str) -> None:
        super().__init__(place, scenario, True)
        sys.path.insert(0, str(bed()))
        try:
            runner, models = map(importlib.import_module, ("run_agent", "modelserver"))
        finally:
            sys.path.pop(0)
        given = json.loads((self.bed / "scenarios" / f"{scenario}.json").read_text("utf-8"))
        self.bodies = place / "bodies.jsonl"
        self._models = models.start(
            given, root=str(self.shop), home=str(self.home), bodies=str(self.bodies)
        )
        threading.Thread(target=self._models.serve_forever, daemon=True).start()
        runner.BED_NODE = Path(self.env["BED_NODE"])
        url = f"http://127.0.0.1:{self._models.server_address[1]}"
        agent = runner.KINDS["opencode"](self.home, self.shop, url, None, True)
        agent.setup()
        self.tb("install", "opencode", "--data-dir", str(self.data))
        # The newer interface does not put variables into what it reads.
        config = self.home / ".config/opencode/opencode.json"
        config.write_text(config.read_text("utf-8").replace("{env:BED_MODEL_URL}", f"{url}/v1"))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        program = runner.find("opencode/node_modules/opencode-*-*/bin/opencode*")
        self._child = subprocess.Popen(
            [program, "serve", "--port", str(self._port)],
            cwd=self.shop,
            env={**self.env, **agent.env, "TERM": "xterm-256color"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            self.until(self._answers)
            self.session = str(self.api("POST", "/session", {})["id"])
        except BaseException:
            self.close()
            raise

    def _answers(self) -> bool:
        try:
            # What is asked while it starts may never be answered.
            return isinstance(self.api("GET", "/session", timeout=3), list)
        except OSError:
            return False

    def api(self, method: str, path: str, body: object = None, timeout: float = 60) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def ask(self, verb: str, **body: object) -> Any:
        return self.api("POST", f"/session/{self.session}/{verb}", body)

    def newer(self, *prompts: str) -> None:
        """A session through the newer interface, with one prompt after the other."""
        model = {"id": "scripted", "providerID": "scripted"}
        session = self.api("POST", "/api/session", {"model": model})["data"]["id"]
        for number, text in enumerate(prompts):
            self.api("POST", f"/api/session/{session}/prompt", {"prompt": {"text": text}})
            self.until(lambda done=number: len(self.turns()) > done)
            if text.startswith("[slow]"):
                self.until((self.shop / "slow1.txt").exists)
                self.api("POST", f"/api/session/{session}/interrupt", {})
            self.idle()

    def prompt(self, text: str, verb: str = "message") -> Any:
        return self.ask(verb, parts=[{"type": "text", "text": text}])

    def until(self, good: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not good():
            assert time.monotonic() < end
            time.sleep(0.1)

    def idle(self) -> None:
        """Wait until nothing runs, for takeback either."""
        self.until(lambda: all(turn["state"] != "running" for turn in self.turns()))

    def close(self) -> None:
        os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._models.shutdown()


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    found = Server(tmp_path, request.param)
    yield found
    found.close()


@pytest.mark.parametrize("server", ["slow"], indirect=True)
def test_a_turn_that_is_broken_off_and_prompts_that_wait(server: Server) -> None:
    b = server
    before = b.files()
    b.prompt("[slow] Run the slow command.", "prompt_async")
    b.until((b.shop / "slow1.txt").exists)
    b.tb("undo", code=5)
    b.ask("abort")
    b.idle()
    (turn,) = b.turns()
    assert turn["state"] == "interrupted"
    assert evidence(turn) == {"slow1.txt": ("added", "during-call")}
    b.tb("undo", "--include-unknown", "--yes")
    assert b.files() == before

    b.prompt("[slow] Once more.", "prompt_async")
    b.until((b.shop / "slow1.txt").exists)
    b.prompt("[after] And then this.", "prompt_async")
    b.until((b.shop / "slow2.txt").exists)
    b.idle()
    _, turn = b.turns()
    assert turn["prompt"] == "[slow] Once more.\n[after] And then this."
    assert turn["state"] == "complete"
    (talk,) = b.talks()
    first, second = talk.turns
    assert first.interrupted and not second.interrupted and second.prompt == turn["prompt"]
    assert [step.text for step in second.steps] == [step["text"] for step in turn["steps"]]
    b.tb("undo", "--include-unknown", "--yes")
    assert b.files() == before


@pytest.mark.parametrize("server", ["basic3"], indirect=True)
def test_undo_from_within_and_what_the_model_hears(server: Server) -> None:
    b = server
    before = b.files()
    # In its first line, which takeback says again, nothing that the scripted model would go by.
    b.prompt("Set the level.\n[2]")
    b.idle()
    after = b.files()
    b.ask("command", command="takeback-undo", arguments="--all --yes")
    b.idle()
    assert b.files() == before
    # What the user calls by its name is no turn.
    (turn,) = b.turns()
    assert turn["undone"]
    asked = b.talks()[0].turns[1].prompt
    assert asked.startswith("/takeback-undo --all --yes\n") and "Took back turn 1" in asked
    b.ask("command", command="takeback-redo", arguments="")
    assert b.files() == after
    b.ask("command", command="takeback-status", arguments="")
    assert "Next undo: turn 1" in b.talks()[0].turns[3].prompt
    assert len(b.turns()) == 1

    b.tb("undo", "--all", "--yes")
    b.prompt("[3] What now?")
    b.idle()
    assert len(b.turns()) == 2
    assert "Note from takeback" in b.bodies.read_text("utf-8")
    # The note is for the model, and no word of the user's.
    assert b.turns()[1]["prompt"] == b.talks()[0].turns[4].prompt == "[3] What now?"


@pytest.mark.parametrize("server", ["basic3"], indirect=True)
def test_opencodes_own_ways_back(server: Server) -> None:
    b = server
    b.prompt("[1] One.")
    b.prompt("[3] Two.")
    b.idle()
    (talk,) = b.talks()
    one, two = talk.turns
    fork = b.ask("fork", messageID=two.key)
    first, second = b.talks()
    assert second.session == fork["id"] and [turn.prompt for turn in second.turns] == [one.prompt]
    b.ask("revert", messageID=two.key)
    assert [turn.key for turn in b.talks()[0].turns] == [one.key]
    b.ask("unrevert")
    assert b.talks()[0] == first


def test_a_copy_ends_before_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    b = Shop(tmp_path, "basic3", True)
    b.play(*b.connect())
    state = b.files()
    (talk,) = b.talks()
    (program,) = Path(b.env["BED_NODE"]).glob("opencode/node_modules/opencode-*-*/bin/opencode")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/opencode").symlink_to(program)
    for name, value in b.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(b.home))
    for name in ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"):
        monkeypatch.setenv(f"OPENCODE_DISABLE_{name}", "1")
    folder, home = os.fsencode(b.shop), os.fsencode(b.home)
    points = [Point(talk.session, folder, turn.prompt, turn.key, -1, home) for turn in talk.turns]
    assert fork(points[0], Programs()).argv == ("opencode",)
    way = fork(points[2], Programs())
    assert way.exact and way.argv[:2] == ("opencode", "--session")
    copy = next(one for one in b.talks() if one.session == way.argv[2])
    assert [turn.prompt for turn in copy.turns] == [turn.prompt for turn in talk.turns[:2]]
    assert next(one for one in b.talks() if one.session == talk.session) == talk
    assert b.files() == state and len(b.turns()) == 3


def classes(turn: dict[str, Any]) -> dict[str, str]:
    return {path: found for path, (_, found) in evidence(turn).items()}


@pytest.mark.parametrize("server", ["basic3"], indirect=True)
def test_what_is_asked_through_the_newer_interface(server: Server) -> None:
    b = server
    states = [b.files()]
    b.newer("[1] One.")
    states.append(b.files())
    b.newer("[2] Two.")
    first, second = b.turns()
    assert classes(first) == {"NOTES.md": "tool-edit", "src/cart.py": "tool-edit"}
    assert classes(second) == {
        "config.ini": "during-call",
        "gen.txt": "during-call",
        "old.txt": "during-call",
        "src/cart.py": "tool-edit",
    }
    assert first["steps"][0]["text"] == "I read the file first."
    texts = {talk.title: [s.text for t in talk.turns for s in t.steps] for talk in b.talks()}
    assert texts["[1] One."] == [step["text"] for step in first["steps"]]
    last = b.files()
    for state in reversed(states):
        b.tb("undo", "--include-unknown", "--yes")
        assert b.files() == state
    b.tb("redo", "--yes")
    b.tb("redo", "--yes")
    assert b.files() == last


@pytest.mark.parametrize("server", ["slow"], indirect=True)
def test_what_is_broken_off_through_the_newer_interface(server: Server) -> None:
    b = server
    b.newer("[slow] Slow.", "[after] And then?")
    slow, after = b.turns()
    assert (slow["state"], after["state"]) == ("interrupted", "complete")
    assert classes(slow) == {"slow1.txt": "during-call"}
