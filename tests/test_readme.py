"""What the README shows is what there is: its commands parse, its tables are complete."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from takeback.engine.errors import Exit
from takeback.engine.model import Evidence
from takeback.tui import arguments

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def commands() -> list[str]:
    lines = "".join(blocks("sh")).splitlines() + re.findall(r"`(takeback [^`]*)`", TEXT)
    return [line for line in lines if line.startswith("takeback ")]


def test_the_first_two_commands_set_up_and_test() -> None:
    first, second = "".join(blocks("sh")).splitlines()[:2]
    assert first.startswith("python3 -m venv .venv && ")
    assert first.endswith(" && .venv/bin/takeback demo")
    assert second in (ROOT / ".ci/run").read_text("utf-8").splitlines()


@pytest.mark.parametrize("line", sorted(set(commands())))
def test_a_command_shown_is_a_command(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    parsed = arguments.parse(words)
    # Without a verb it is the app.
    assert not words or parsed.flag("--help") or arguments.find(parsed.verb).built


def test_the_exit_codes_are_all_there() -> None:
    table = TEXT.split("## Exit codes")[1]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == sorted(Exit)


def test_every_evidence_named_exists() -> None:
    table = TEXT.split("| evidence |")[1].split("\n\n")[0]
    named = set(re.findall(r"^\| `([a-z-]+)`", table, re.MULTILINE))
    assert named <= set(Evidence.__args__)  # type: ignore[attr-defined]
    assert {"tool-edit", "mixed", "during-call", "outside-calls", "no-record"} <= named


def test_the_python_example_is_python() -> None:
    (example,) = blocks("python")
    ast.parse(example)


def test_every_picture_shown_is_there() -> None:
    shown = re.findall(r"\]\((screenshots/[^)]+)\)", TEXT)
    assert shown
    assert [name for name in shown if not (ROOT / name).is_file()] == []
