"""What a person writes while an edit waits for permission is told apart by what the tool did."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeback.engine.agents.claude.events import translate
from takeback.engine.agents.codex.events import patch_swaps
from takeback.engine.record.toolread import unswapped
from tests.bed import LINES, Bed, line

PATCH = """*** Begin Patch
*** Update File: f
@@
 line 2
-line 3
+the agent's
 line 4
*** End Patch
"""


def waits(bed: Bed, name: str, mine: bytes, patch: str, *written: tuple[bytes, bytes]) -> None:
    """A call begins, a person adds to the file, the tool writes, and its end says what it did."""
    path = bed.root / name
    bed.tool_begin("e1", name)
    data = path.read_bytes() + mine
    path.write_bytes(data)
    for before, after in written:
        assert data.count(before) == 1
        data = data.replace(before, after)
    path.write_bytes(data)
    bed.tool_end("e1", swaps=patch_swaps(patch.replace("File: f", f"File: {name}")))


@pytest.mark.parametrize("through_link", [False, True])
def test_a_line_of_the_users_stays_when_the_patch_is_taken_back(
    bed: Bed, through_link: bool
) -> None:
    bed.write("f", LINES)
    (bed.root / "link").symlink_to("f")
    bed.begin()
    swap = (b"line 3\n", b"the agent's\n")
    waits(bed, "link" if through_link else "f", b"mine\n", PATCH, swap)
    bed.end()
    assert bed.evidence()["f"] == "mixed"
    bed.do()
    assert bed.read("f") == LINES + "mine\n"
    bed.do("redo")
    assert bed.read("f") == line(3, "the agent's") + "mine\n"


def test_a_patch_of_several_files_and_blocks(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.write("g", LINES)
    bed.begin()
    more = "@@ later\n-line 15\n+fifteen\n line 16\n*** Update File: g\n line 8\n+more\n line 9\n"
    patch = PATCH.replace("*** End", f"{more}*** End")
    bed.tool_begin("e1", "f", "g")
    for name in "fg":
        bed.write(name, (bed.read(name) or "") + "mine\n")
    bed.write("f", line(15, "fifteen", line(3, "the agent's", bed.read("f") or "")))
    bed.write("g", (bed.read("g") or "").replace("line 9\n", "more\nline 9\n"))
    bed.tool_end("e1", swaps=patch_swaps(patch))
    bed.end()
    assert bed.evidence() == {"f": "mixed", "g": "mixed"}
    bed.do()
    assert bed.read("f") == bed.read("g") == LINES + "mine\n"


def test_where_nobody_wrote_meanwhile_the_edit_is_the_agents(bed: Bed) -> None:
    bed.write("f", LINES)
    bed.begin()
    waits(bed, "f", b"", PATCH, (b"line 3\n", b"the agent's\n"))
    bed.end()
    assert bed.evidence() == {"f": "tool-edit"}
    bed.do()
    assert bed.read("f") == LINES


def test_a_file_that_a_person_made_meanwhile_comes_back(bed: Bed) -> None:
    bed.begin()
    bed.tool_begin("e1", "new")
    bed.write("new", "the agent's\n")
    bed.tool_end("e1", found=b"mine\n")
    bed.tool_begin("e2", "other")
    bed.write("other", "the agent's\n")
    bed.tool_end("e2")
    bed.end()
    assert bed.evidence() == {"new": "mixed", "other": "tool-edit"}
    bed.do()
    assert (bed.read("new"), bed.read("other")) == ("mine\n", None)


def test_words_of_an_edit_tell_it_in_a_file_that_is_no_utf8_text(bed: Bed) -> None:
    path = bed.root / "latin"
    path.write_bytes(b"caf\xe9\none\n")
    bed.begin()
    bed.tool_begin("e1", "latin")
    path.write_bytes(b"caf\xe9\ntwo\nmine\n")
    payload = {
        "hook_event_name": "PostToolUse", "session_id": "s", "cwd": "/x", "tool_name": "Edit",
        "tool_use_id": "e1",
        "tool_input": {"file_path": "latin", "old_string": "one", "new_string": "two"},
        "tool_response": {"originalFile": "caf\ufffd\none\nmine\n"},
    }  # fmt: skip
    (event,) = translate(payload)
    bed.tool_end("e1", found=event.found, swaps=event.swaps)
    bed.end()
    assert bed.evidence() == {"latin": "mixed"}
    bed.do()
    assert path.read_bytes() == b"caf\xe9\none\nmine\n"


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1), st.data())
def test_what_is_told_is_what_stood_there(parts: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(parts) - 1))
    new = data.draw(st.binary(max_size=4))
    became = b"".join([*parts[:at], new, *parts[at + 1 :]])
    assert unswapped(became, [(parts[at], new)]) in (None, b"".join(parts))
    assert unswapped(became, []) == became


def test_blocks_of_a_patch() -> None:
    patch = (
        "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: a\n@@ def f\n c\n-o\n+n\n\n"
        "@@\n-only\n*** End of File\n*** Delete File: gone\n*** End Patch\n"
    )
    assert patch_swaps(patch) == ((b"a", ((b"c\no\n\n", b"c\nn\n\n"), (b"only\n", b""))),)
    assert patch_swaps("") == () and patch_swaps("no patch\n-a\n+b") == ()
