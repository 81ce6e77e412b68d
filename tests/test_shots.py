"""The pictures say what the program says."""

from __future__ import annotations

import pytest

from tests import shots


@pytest.mark.parametrize("name", sorted(shots.SHOTS))
def test_a_picture_is_up_to_date(name: str) -> None:
    kept = (shots.FOLDER / f"{name}.svg").read_text("utf-8")
    fresh = shots.render(shots.text_of(name))
    assert shots.words_in(kept) == shots.words_in(fresh), "run: python -m tests.shots"


@pytest.mark.parametrize("name", sorted(shots.APP))
def test_a_picture_of_the_app_is_up_to_date(name: str) -> None:
    kept = (shots.FOLDER / f"{name}.svg").read_text("utf-8")
    assert shots.words_in(kept) == shots.words_in(shots.drawn(name)), "run: python -m tests.shots"
    assert (shots.FOLDER / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_every_picture_has_a_recipe() -> None:
    made = {path.stem for path in shots.FOLDER.glob("*.svg")}
    assert {*shots.SHOTS, *shots.APP} == made


def test_what_differs_between_runs_is_replaced() -> None:
    text = shots.steady("2024-05-06 07:08  op12  redo of op9 at 09:10:11")
    assert text == "2026-12-01 14:02  op2  redo of op1 at 14:02:08"
