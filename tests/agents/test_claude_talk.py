"""Claude Code's conversations, from its transcripts: what was said and done, and nothing raised."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.engine.agents.claude import conversation
from takeback.engine.agents.claude.transcript import Lines
from takeback.engine.agents.payload import as_path
from takeback.engine.agents.talk import Source, Talk, TalkTurn
from tests.agents.replay import JUNK
from tests.agents.test_claude import DATA, payloads

TALKS = DATA / "talks"
NAMES = sorted(path.name for path in TALKS.iterdir())
FORK = "430b1d70-076e-4d36-9ba5-9c7823f59329"
WITH_REWIND = "6992364f-8392-4bde-b4d6-4762b21d21cb"
HOOKED = ("Edit", "Write", "Bash", "Agent")


@pytest.fixture(autouse=True)
def no_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)


def source(path: Path) -> Source:
    return Source("claude", path.stem, str(path), ())


def talk(name: str, session: str = "") -> Talk:
    path = sorted(TALKS.joinpath(name).glob(f"{session}*.jsonl"))[-1]
    found = conversation.read(source(path))
    assert found is not None
    return found


def shape(turn: TalkTurn) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(step.text, [(call.tool, call.state) for call in step.calls]) for step in turn.steps]


def line(kind: str, uuid: str, above: str | None = None, content: Any = "", **more: Any) -> bytes:
    record = {
        "parentUuid": above,
        "isSidechain": False,
        "type": kind,
        "uuid": uuid,
        "cwd": "/p",
        "timestamp": "2026-12-01T00:00:01.000Z",
        "message": {"role": kind, "content": content},
    }
    if kind == "assistant":
        record["message"] = {"id": f"m{uuid}", "content": [{"type": "text", "text": content}]}
    return json.dumps({**record, **more}).encode()


def told(*lines: bytes) -> tuple[TalkTurn, ...]:
    found = Lines()
    for item in lines:
        found.add(item)
    return found.turns()


# --- What was said ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["basic3", "plain"])
def test_three_turns(name: str) -> None:
    found = talk(name)
    assert found.session == payloads(name)[0]["session_id"] and found.agent == "claude"
    assert found.folder == b"/home/dev/shop" and found.parent == ""
    one, two, three = found.turns
    assert found.title == one.prompt == "[1] Fix total() in src/cart.py and write NOTES.md."
    assert shape(one) == [
        ("I read the file first.", [("Read", "done")]),
        ("Now both files.", [("Edit", "done"), ("Write", "done")]),
        ("total() is fixed and NOTES.md is written.", []),
    ]
    assert [call.paths for call in one.steps[1].calls] == [
        (b"/home/dev/shop/src/cart.py",),
        (b"/home/dev/shop/NOTES.md",),
    ]
    assert [len(step.calls) for step in two.steps] == [1, 1, 0]
    assert "old.txt" in two.steps[0].calls[0].command
    assert [text for text, _ in shape(three)] == [
        "I fixed total(), wrote NOTES.md, set the level and changed greet()."
    ]
    assert not any(turn.interrupted or turn.rewound for turn in found.turns)
    assert 0 < one.begun_ns < one.ended_ns < two.begun_ns


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"interactive"}))
def test_hooks_name_turns_calls_and_prompts_the_same(name: str) -> None:
    """What was recorded and what was said are joined by these."""
    sent = payloads(name)
    prompts: dict[str, str] = {}
    calls: set[str] = set()
    for path in TALKS.joinpath(name).glob("*.jsonl"):
        found = conversation.read(source(path))
        assert found is not None
        prompts.update((turn.key, turn.prompt) for turn in found.turns)
        calls.update(c.id for turn in found.turns for step in turn.steps for c in step.calls)
    for payload in sent:
        prompt = str(payload.get("prompt", ""))
        if prompt and not prompt.startswith(("<task-notification>", "/")):
            assert prompts[payload["prompt_id"]] == prompt
        if payload["hook_event_name"] == "PreToolUse":
            assert payload["tool_use_id"] in calls


def test_an_interrupted_turn() -> None:
    slow, after = talk("slow").turns
    assert slow.interrupted and not after.interrupted
    assert shape(slow) == [("A slow command with a side effect.", [("Bash", "failed")])]
    assert [text for text, _ in shape(after)] == ["I am back. Nothing was changed in this turn."]


def test_calls_that_failed() -> None:
    turn, _ = talk("fail").turns
    assert [calls for _, calls in shape(turn)] == [
        [("Edit", "failed"), ("Bash", "failed")],
        [("Edit", "done")],
        [],
    ]


def test_a_subagents_work_is_one_step_of_the_turn_that_sent_it_out() -> None:
    turn, after = talk("subagent").turns
    assert shape(turn)[:3] == [
        ("Delegating.", [("Agent", "done")]),
        ("sub.txt is written.", [("Write", "done")]),
        ("The subagent has the work.", []),
    ]
    assert after.prompt == "[after] Just say that you are back."


def test_a_compaction_ends_nothing() -> None:
    turns = talk("compact").turns
    assert [turn.prompt[:3] for turn in turns] == ["[1]", "[2]", "[3]", "[3]"]
    assert not any(turn.rewound for turn in turns)


def test_a_fork_has_its_parents_turns_but_not_their_keys(tmp_path: Path) -> None:
    home = tmp_path / "home"
    folder = home / ".claude/projects/-home-dev-shop"
    shutil.copytree(TALKS / "fork", folder)
    found = {item.session: item for item in conversation.find(b"/home/dev/shop", bytes(home))}
    assert len(found) == 2
    fork = conversation.read(found[FORK])
    assert fork is not None
    assert [turn.key for turn in fork.turns] == ["", "", "", "56dd4d51-fd18-439d-86a7-6d9c517dcf0e"]
    parent = conversation.read(next(item for name, item in found.items() if name != FORK))
    assert parent is not None and fork.parent == parent.session and parent.parent == ""
    assert [shape(turn) for turn in fork.turns[:3]] == [shape(turn) for turn in parent.turns]


def test_turns_before_which_the_user_went_back_stay_and_are_marked() -> None:
    turns = talk("interactive", WITH_REWIND).turns
    assert [(turn.prompt.split(":")[0], turn.rewound) for turn in turns] == [
        ("TB-ONE", False),
        ("TB-TWO", True),
        ("TB-SLOW", True),
        ("TB-THREE", False),
        ("TB-BG", False),
    ]
    assert turns[2].interrupted


def test_commands_of_the_user_are_no_prompts() -> None:
    turns = talk("interactive", "b9b03b30").turns
    assert [turn.prompt for turn in turns] == ["TB-THREE: after clear"]


def test_a_command_that_the_model_answers_is_a_prompt() -> None:
    text = "<command-message>fix is running</command-message>\n<command-name>/fix</command-name>\n"
    turns = told(
        line("user", "a", content=text + "<command-args>the cart</command-args>"),
        line("user", "b", "a", "Fix this: the cart", isMeta=True),
        line("assistant", "c", "b", "Done."),
    )
    assert [(turn.prompt, len(turn.steps)) for turn in turns] == [("/fix the cart", 1)]


def test_prompts_given_meanwhile_belong_to_the_turn() -> None:
    said = {"type": "queued_command", "prompt": "and the tests"}
    note = {"type": "queued_command", "prompt": "<task-notification>x</task-notification>"}
    (turn,) = told(
        line("user", "a", content="fix it", promptId="k"),
        line("assistant", "b", "a", "I do."),
        line("attachment", "c", "b", attachment=said),
        line("attachment", "d", "c", attachment=note),
    )
    assert turn.prompt == "fix it\nand the tests"


def test_the_users_title_goes_before_the_agents() -> None:
    lines = Lines()
    assert lines.title == ""
    for kind, key in (("custom-title", "customTitle"), ("ai-title", "aiTitle")):
        lines.add(json.dumps({"type": kind, key: kind}).encode())
    assert lines.title == "custom-title"


def test_a_first_prompt_that_was_written_anew() -> None:
    turns = told(
        line("user", "a", content="one"),
        line("assistant", "b", "a", "1"),
        line("user", "c", None, "two"),
        line("assistant", "d", "c", "2"),
    )
    assert [(turn.prompt, turn.rewound) for turn in turns] == [("one", True), ("two", False)]


def test_lines_whose_place_is_lost_go_on_where_the_file_does() -> None:
    (turn,) = told(
        line("assistant", "x", "gone", "of a turn that is cut off"),
        line("user", "a", "gone", "one"),
        line("assistant", "b", "gone", "1"),
    )
    assert shape(turn) == [("1", [])] and not turn.rewound


# --- Where they are found ---------------------------------------------------------------------


def placed(home: Path, folder: str, cwd: str, name: str = "basic3", session: str = "") -> Path:
    (original,) = TALKS.joinpath(name).glob("*.jsonl")
    path = home / ".claude/projects" / folder / f"{session or original.stem}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(original.read_text().replace('"cwd":"/home/dev/shop"', f'"cwd":"{cwd}"'))
    return path


def test_the_folder_inside_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, home = tmp_path / "my shop", tmp_path / "home"
    (root / "sub").mkdir(parents=True)
    os.symlink(root, tmp_path / "link")
    slug = conversation.re.sub(r"[^a-zA-Z0-9]", "-", str(root))
    placed(home, slug, str(root), session="same")
    placed(home, slug, f"{tmp_path}/my-shop", session="lossy")
    placed(home, f"{slug}-sub", f"{root}/sub", session="sub")
    placed(home, "elsewhere", f"{tmp_path}/link", session="linked")
    placed(home, "other", f"{root}2", session="other")
    (home / ".claude/projects/note.txt").write_text("x")
    (home / f".claude/projects/{slug}/odd.jsonl").mkdir()
    found = {item.session for item in conversation.find(bytes(root), bytes(home))}
    assert found == {"same", "sub", "linked"}
    linked = {item.session for item in conversation.find(bytes(tmp_path / "link"), bytes(home))}
    assert linked == found
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    assert len(conversation.find(bytes(root), b"/none")) == 3
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "none"))
    assert conversation.find(bytes(root), bytes(home)) == []


def test_a_growing_transcript_is_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (original,) = TALKS.joinpath("basic3").glob("*.jsonl")
    data = original.read_bytes()
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"")
    assert conversation.read(source(path)) is None
    taken: list[bytes] = []
    add = Lines.add

    def counted(self: Lines, item: bytes) -> None:
        taken.append(item)
        add(self, item)

    monkeypatch.setattr(Lines, "add", counted)
    for end in (*range(1, len(data), 997), len(data)):
        path.write_bytes(data[:end])
        found = conversation.read(source(path))
    assert found == conversation.read(source(original)) or found is not None
    assert found is not None and found.turns == talk("basic3").turns
    assert len(taken) < 3 * len(data.splitlines())


def test_a_transcript_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(line("user", "a", content="one") + b"\n")
    assert conversation.read(source(path))
    path.write_bytes(line("user", "b", content="two") + b"\n" + line("assistant", "c", "b") + b"\n")
    found = conversation.read(source(path))
    assert found is not None and [turn.prompt for turn in found.turns] == ["two"]


def test_of_a_huge_transcript_the_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "_LARGEST", 2000)
    monkeypatch.setattr(conversation, "_LONGEST_LINE", 1000)
    path = tmp_path / "s.jsonl"
    lines = [line("user", f"u{at}", f"u{at - 1}", f"prompt {at}") for at in range(50)]
    lines.insert(48, line("user", "huge", "u47", "x" * 5000))
    path.write_bytes(b"\n".join(lines) + b"\n")
    found = conversation.read(source(path))
    assert found is not None
    assert [turn.prompt for turn in found.turns] == ["prompt 48", "prompt 49"]


# --- Whatever stands there --------------------------------------------------------------------


def test_what_is_no_transcript_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_bytes(b"no json\n\xff\xfe\n[1,2]\nnull\n" + b"[" * 100_000)
    for name in ("none", "pipe", "text", "a\0b", "", "\ud800"):
        assert conversation.read(Source("claude", "s", str(tmp_path / name), ())) is None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_lines_cut_anywhere_and_of_any_shape(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    path = sorted(TALKS.joinpath(name).glob("*.jsonl"))[0]
    lines = Lines()
    for item in path.read_bytes().splitlines():
        what = data.draw(st.sampled_from(("same", "same", "same", "cut", "junk")))
        if what == "cut":
            item = item[: data.draw(st.integers(0, len(item)))]
        elif what == "junk":
            record = json.loads(item)
            key = data.draw(st.sampled_from(sorted(record)))
            inner = record.get("message") if data.draw(st.booleans()) else None
            if isinstance(inner, dict):
                record, key = inner, data.draw(st.sampled_from(sorted(inner)))
            record[key] = data.draw(JUNK)
            item = json.dumps(record).encode("utf-8", "surrogatepass")
        lines.add(item)
    assert isinstance(lines.turns(), tuple)
    assert isinstance(lines.is_copy, bool) and isinstance(as_path(lines.folder), bytes)
