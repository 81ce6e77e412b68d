"""Patches as lines, lines as rows: what is shown of a change, without a screen."""

from __future__ import annotations

import difflib
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeback.tui import diff_layout, diffs, words
from takeback.tui.diff_layout import NONE, Place
from takeback.tui.diffs import SIGNS, Diff, Line
from takeback.tui.widgets.cells import cell_len
from takeback.tui.widgets.diff_paint import seen

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["a", "b", "--- c", "+++ d", "@@ -1 +1 @@", "diff --git a/x b/x", "", "中"]
        ),
        st.text("xyz \\+-@", max_size=6),
    ),
    max_size=12,
)


def git(old: list[str], new: list[str], context: int = 3, name: str = "x.py") -> bytes:
    """A patch in git's form; an empty side is a file that is not there."""
    found = list(difflib.unified_diff(old, new, "a/" + name, "b/" + name, n=context, lineterm=""))
    if not found:
        return b""
    head = [f"diff --git a/{name} b/{name}", "index 1..2 100644"]
    return ("\n".join([*head, *found]) + "\n").encode()


@given(LINES, LINES)
@settings(max_examples=300, deadline=None)
def test_both_sides_are_in_the_lines(old: list[str], new: list[str]) -> None:
    diff = diffs.parse(git(old, new, 1000))
    if old == new:
        assert len(diff) == 0
        return
    assert [line.text for line in diff if line.kind in ("same", "removed")] == old
    assert [line.text for line in diff if line.kind in ("same", "added")] == new
    assert [line.old for line in diff if line.old] == list(range(1, len(old) + 1))
    assert [line.new for line in diff if line.new] == list(range(1, len(new) + 1))


@given(LINES, LINES, st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_partners_are_a_change_and_never_cross(old: list[str], new: list[str], n: int) -> None:
    diff = diffs.parse(git(old, new, n))
    pairs = [(at, to) for at, to in enumerate(diff.partners) if to != NONE]
    for at, to in pairs:
        assert diff.partners[to] == at
        assert {diff[at].kind, diff[to].kind} == {"added", "removed"}
    rising = [to for at, to in pairs if diff[at].kind == "removed"]
    assert rising == sorted(rising)


@given(LINES, LINES, st.sampled_from([0, 1, 3, 7]))
@settings(max_examples=300, deadline=None)
def test_two_columns_hold_every_line_once_and_in_order(
    old: list[str], new: list[str], width: int
) -> None:
    diff = diffs.parse(git(old, new))
    layout = diff_layout.two_columns(diff, width)
    left, right = list(layout.left), list(cast("list[int]", layout.right))
    for side, kinds in ((left, ("same", "removed")), (right, ("same", "added"))):
        found = [at for at in side if at != NONE and diff[at].kind in kinds]
        wanted = [at for at, line in enumerate(diff) if line.kind in kinds]
        assert found == wanted
    for one, other in zip(left, right, strict=True):
        if one != NONE and diff[one].kind == "removed" and diff.partners[one] != NONE:
            assert diff.partners[one] == other
    for at in range(diff_layout.skipped(diff), len(diff)):
        row = layout.row_of(at)
        item = layout.at(row)[0]
        assert at in (left[item], right[item])


@given(st.lists(st.text("ab中e\u0301🙂", max_size=20), min_size=1), st.integers(2, 9))
@settings(max_examples=200, deadline=None)
def test_wrapped_rows_fit_and_lose_nothing(texts: list[str], width: int) -> None:
    diff = diffs.of([Line("added", text, 0, at + 1) for at, text in enumerate(texts)])
    layout = diff_layout.one_column(diff, width)
    shown: dict[int, str] = {}
    for row in range(layout.rows):
        item, part = layout.at(row)
        start, text = diff_layout.part(diff[layout.left[item]], part, width)
        assert cell_len(text) <= width
        assert start == len(shown.get(item, ""))
        shown[item] = shown.get(item, "") + text
    assert [shown[at] for at in range(len(texts))] == texts


@given(st.text("ab中e\u0301🙂", max_size=20), st.integers(0, 12), st.integers(0, 12))
def test_a_window_on_a_text_fits(text: str, left: int, width: int) -> None:
    start, before, part = seen(text, left, width)
    assert text[start : start + len(part)] == part
    assert before + cell_len(part) <= max(width, before)


def test_many_files_in_words() -> None:
    patch = (
        b'diff --git "a/\\377[red]\\033\\n" "b/\\377[red]\\033\\n"\n'
        b"new file mode 100644\nindex 0000000..1\n--- /dev/null\n"
        b'+++ "b/\\377[red]\\033\\n"\n@@ -0,0 +1,2 @@\n+--- no head\n+\x1b[2J\n'
        b"diff --git a/x y b/x y\nindex 1..2 100644\n--- a/x y\n+++ b/x y\n"
        b"@@ -1 +1 @@ f\n-old\n\\ No newline at end of file\n+new\n"
        b"diff --git a/pic b/pic\nindex 1..2 100644\nGIT binary patch\nliteral 1\nzcmX\n\n"
        b"diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        b"diff --git a/e b/e\nnew file mode 100644\nindex 0..e\n"
        b"diff --git a/gone b/gone\ndeleted file mode 100755\nindex 1..0\n--- a/gone\n"
        b"+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    )
    diff = diffs.parse(patch)
    assert [(line.kind, line.text) for line in diff] == [
        ("file", "\\xff[red]\\e\\n  (new file)"),
        ("hunk", "@@ -0,0 +1,2 @@"),
        ("added", "--- no head"),
        ("added", "\\e[2J"),
        ("file", "x y"),
        ("hunk", "@@ -1 +1 @@ f"),
        ("removed", "old"),
        ("note", "Before: no newline at the end of the file."),
        ("added", "new"),
        ("file", "pic  (binary, not shown)"),
        ("file", "run  (made executable)"),
        ("file", "e  (new file, empty)"),
        ("file", "gone  (deleted executable file)"),
        ("hunk", "@@ -1 +0,0 @@"),
        ("removed", "x"),
    ]
    assert diff.partners[6] == 8
    assert [(file.added, file.removed) for file in diff.files[:3]] == [(2, 0), (1, 1), (0, 0)]
    assert diff.patch_of(diff.hunks[1]) == (
        "diff --git a/x y b/x y\nindex 1..2 100644\n--- a/x y\n+++ b/x y\n"
        "@@ -1 +1 @@ f\n-old\n\\ No newline at end of file\n+new\n"
    )


def test_a_file_that_became_a_link_is_one_file() -> None:
    patch = (
        b"diff --git a/n b/n\ndeleted file mode 100644\nindex 1..0\n--- a/n\n+++ /dev/null\n"
        b"@@ -1 +0,0 @@\n-text\n"
        b"diff --git a/n b/n\nnew file mode 120000\nindex 0..2\n--- /dev/null\n+++ b/n\n"
        b"@@ -0,0 +1 @@\n+to/there\n\\ No newline at end of file\n"
    )
    diff = diffs.parse(patch)
    assert [file.said for file in diff.files] == ["a file became a symbolic link"]
    assert [line.text for line in diff if line.kind in ("file", "note")] == [
        "n  (a file became a symbolic link)",
        "a symbolic link instead:",
    ]
    assert (diff.files[0].added, diff.files[0].removed) == (1, 1)
    assert diff.patch_of(diff.hunks[1]).startswith("diff --git a/n b/n\nnew file mode 120000")


@pytest.mark.parametrize(
    ("old", "new", "said", "texts"),
    [
        ("a\r\nb\r\n", "a\r\nc\r\n", "CRLF line ends", ["a", "b", "c"]),
        ("a\nb\n", "a\nb\r\n", "", ["a", "b", "b\\r"]),
    ],
)
def test_line_ends_are_shown_only_where_they_differ(
    old: str, new: str, said: str, texts: list[str]
) -> None:
    diff = diffs.parse(git(old.split("\n")[:-1], new.split("\n")[:-1]))
    assert diff.files[0].said == said
    assert [line.text for line in diff if line.kind in SIGNS] == texts


@pytest.mark.parametrize("patch", [b"", b"\n", b"@@ -1 +1 @@\n", b"\\ x\n", b"+x\n", b"\xff\x00"])
def test_what_is_no_patch_is_no_failure(patch: bytes) -> None:
    assert diffs.parse(patch).files == []


def test_a_patch_without_end_is_cut_at_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    patch = git([], [f"line {n}" for n in range(100)])
    monkeypatch.setattr(diffs, "MOST", 500)
    diff = diffs.parse(patch)
    assert len(diff.patch) <= 500
    assert diff[-2].kind == "added"
    assert "not the end" in diff[-1].text
    monkeypatch.setattr(diffs, "MOST", len(patch))
    assert diffs.parse(patch)[-1].text == "line 99"


def test_tabs_wide_and_long_lines() -> None:
    long = "x" * (diffs.LONGEST + 5)
    diff = diffs.parse(git(["\ta"], ["中\u202e", long]))
    texts = [line.text for line in diff if line.kind in SIGNS]
    assert texts == ["    a", "中\\u202e", long]
    assert diffs.shown(diff[-1]).endswith("x ... and 5 more characters")
    assert diff.widest == cell_len(diffs.shown(diff[-1]))


@pytest.mark.parametrize(
    ("old", "new", "removed", "added"),
    [
        ("x = f(a, b)", "x = f(a, c)", ["b"], ["c"]),
        ("return a.b(value)", "return cd.ef(value)", ["a", "b"], ["cd", "ef"]),
        ("same", "same", [], []),
        ("alpha beta", "gamma delta", [], []),
        ("a b c", "a x y c", ["b"], ["x y"]),
        ("keep", "keep this", [], [" this"]),
    ],
)  # fmt: skip
def test_the_words_that_differ(old: str, new: str, removed: list[str], added: list[str]) -> None:
    one, other = words.marks(old, new)
    assert [old[start:end] for start, end in one] == removed
    assert [new[start:end] for start, end in other] == added


@given(st.text("ab, ", max_size=30), st.text("ab, ", max_size=30))
def test_without_the_marked_words_both_lines_are_equal(old: str, new: str) -> None:
    sides = []
    for text, spans in zip((old, new), words.marks(old, new), strict=True):
        assert spans == sorted(spans)
        kept = list(text)
        for start, end in spans:
            kept[start:end] = [""] * (end - start)
        # Blanks between two marks are marked with them, perhaps on one side only.
        sides.append("".join(kept).replace(" ", ""))
    assert sides[0] == sides[1] or words.marks(old, new) == ([], [])


def test_lines_find_their_partners_and_not_the_next_best() -> None:
    old = ["def total(lines):", "    return sum(lines)"]
    new = ["# The sum.", "def total(rows):", "    return sum(rows)"]
    assert words.pairs(old, new, words.Budget()) == [(0, 1), (1, 2)]
    assert words.pairs(old, new, words.Budget(0)) == [(0, 0), (1, 1)]


def test_comparing_is_bounded() -> None:
    budget = words.Budget()
    many = [f"line {at}" for at in range(5000)]
    assert len(words.pairs(many, many[1:], budget)) == 4999
    assert budget.left == words.Budget().left
    words.pairs(many[:10], many[:11], budget)
    assert budget.left == words.Budget().left - 110


def two_files() -> Diff:
    one = git([str(n) for n in range(40)], ["x", *[str(n) for n in range(1, 39)], "y"], 1, "a.py")
    return diffs.parse(one + git(["1"], ["2"], 1, "b.py"))


def test_the_headline_says_where_a_line_is() -> None:
    diff = two_files()
    first, second, third = (hunk.line for hunk in diff.hunks)
    assert diff_layout.headline(diff, 0) == ("a.py", "file 1/2  hunk 1/2  +2 -2")
    assert diff_layout.headline(diff, first + 1) == ("a.py", "file 1/2  hunk 1/2  +2 -2")
    assert diff_layout.headline(diff, second) == ("a.py", "file 1/2  hunk 2/2  +2 -2")
    assert diff_layout.headline(diff, third) == ("b.py", "file 2/2  hunk 1/1  +1 -1")
    assert diff_layout.headline(diffs.note("x"), 0) == ("", "")
    drawn = diffs.parse(
        b"diff --git a/pic b/pic\nindex 1..2 100644\nBinary files a/pic and b/pic\n"
    )
    assert diff_layout.headline(drawn, 0) == ("pic  (binary, not shown)", "")


def test_a_place_is_found_again_with_more_context() -> None:
    old = [str(n) for n in range(60)]
    new = [line if n not in (20, 40) else "x" + line for n, line in enumerate(old)]
    less, more = diffs.parse(git(old, new, 1)), diffs.parse(git(old, new, 9))
    for at, line in enumerate(less):
        if line.kind in SIGNS:
            again = more[diff_layout.found_again(more, diff_layout.place(less, at))]
            assert (again.kind, again.text) == (line.kind, line.text)
    assert diff_layout.found_again(more, Place("gone", 1, 1)) == 0


@pytest.mark.parametrize(
    ("wanted", "count"), [("abc", 3), ("ABC", 1), ("Abc", 0), ("", 0), ("a.c", 0), ("中", 1)]
)
def test_capitals_count_only_where_they_are_typed(wanted: str, count: int) -> None:
    diff = diffs.of([Line("same", "abcABC abc", 1, 1), Line("added", "İ中", 0, 2)])
    found = diff_layout.find(diff, wanted)
    assert len(found) == count
    assert all(diff[at].text[start:end].lower() == wanted.lower() for at, start, end in found)


def test_searching_ends_somewhere() -> None:
    diff = diffs.of([Line("same", "aaaa", 1, 1)] * 10)
    assert len(diff_layout.find(diff, "a", most=15)) == 15


def test_steps_of_context() -> None:
    assert diff_layout.context_after(3, 1) == 6
    assert diff_layout.context_after(0, -1) == 0
    assert diff_layout.context_after(1_000_000, 1) == 1_000_000
