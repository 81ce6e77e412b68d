"""The hook of every agent, given what is no payload."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from takeback.engine.agents.hook import AGENTS
from tests.agents.replay import JUNK, Replay

BAD = [b"", b"{", b"null", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"session_id": "s"}', b"3"]


@pytest.fixture(params=AGENTS)
def replay(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Replay:
    found = Replay(tmp_path, monkeypatch)
    found.agent = request.param
    return found


@pytest.mark.parametrize("data", BAD, ids=range(len(BAD)))
def test_a_torn_payload_is_noted_without_its_content(
    replay: Replay, data: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    replay.send(data)
    (error,) = replay.errors()
    assert error["agent"] == replay.agent and error["message"]
    assert os.stat(replay.data / "errors.jsonl").st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | JUNK.map(lambda value: json.dumps(value).encode()))
def test_the_hook_never_raises(replay: Replay, data: bytes) -> None:
    replay.send(data)
