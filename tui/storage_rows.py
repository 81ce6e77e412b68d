"""The rows and sentences of the storage screen: disk use, limits, what is skipped. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from takeback.engine.config import Config
from takeback.engine.model import NotCaptured, Session
from takeback.engine.upkeep.prune import PruneReport
from takeback.engine.upkeep.storage import ProjectUse, StorageReport
from takeback.engine.upkeep.verify import VerifyReport
from takeback.tui import keys, present, upkeep_lines
from takeback.tui.glyphs import Glyphs
from takeback.tui.text import counted, safe
from takeback.tui.upkeep_lines import size
from takeback.tui.widgets.row_list import Role, Row, Span

_BAR = 24
_FULL = "█"
_EMPTY = "░"
NOTHING = "Nothing was recorded in any project yet, so nothing is kept."


@dataclass(frozen=True, slots=True)
class Checks:
    """What was done since the app was opened, in words."""

    verified: str = ""
    pruned: str = ""


def bar(used: int, cap: int, cells: int = _BAR, ascii_only: bool = False) -> str:
    """How much of a limit is used, as a bar; the numbers stand beside it."""
    full, empty = ("#", "-") if ascii_only else (_FULL, _EMPTY)
    part = min(1.0, used / cap) if cap else 0.0
    # What is used at all is seen, and a bar is full only when the limit is reached.
    number = max(int(part * cells), 1 if used else 0)
    return f"[{full * number}{empty * (cells - number)}]"


def percent(used: int, cap: int) -> str:
    """The part of a limit in words."""
    if not cap:
        return "no limit"
    part = used * 100 / cap
    return "under 1 %" if 0 < part < 1 else f"{part:.0f} %"


def about(
    report: StorageReport, config: Config, folder: str, checks: Checks, ascii_only: bool = False
) -> list[str]:
    """What stands above the list: the use against the limit, the limits, the last checks."""
    used = f"{size(report.size)} of at most {size(report.cap)}" if report.cap else size(report.size)
    drawn = bar(report.size, report.cap, ascii_only=ascii_only)
    lines = [f"Store  {folder}", f"{drawn} {used}, {percent(report.size, report.cap)}"]
    if report.cap and report.size > report.cap:
        over = ". Over the limit: {storage.prune} cleans up, max_disk_mb_total raises it"
        lines[-1] += keys.words(over)
    lines.append(limits(config))
    never = "not since the app was opened"
    verified = checks.verified or keys.words(f"{never} ({{storage.verify}})")
    pruned = checks.pruned or keys.words(f"{never} ({{storage.prune}})")
    return [*lines, f"Checked: {verified}.  Cleaned up: {pruned}."]


def limits(config: Config) -> str:
    """The limits and what they are for."""
    return (
        f"Limits: one file {size(config.max_file_size_mb << 20)}; one snapshot "
        f"{config.snapshot_file_count_cap:,} new files or "
        f"{size(config.snapshot_total_size_cap_mb << 20)}. What is over them is not captured."
    )


def rows(
    report: StorageReport,
    here: bytes,
    glyphs: Glyphs,
    words_of: Callable[[bytes], str],
    gitless: Collection[bytes],
    skipped: Sequence[NotCaptured],
) -> list[Row]:
    """One row for each project, the largest first.

    Args:
        here: the root of the project that is open.
        words_of: a folder as it is shown.
        gitless: roots without a git.
        skipped: what the newest turn of the open project could not capture.
    """
    columns = tuple(Span(name, "muted") for name in ("Size", "Sessions", "Snapshots", "", "Oldest"))
    out = [Row("head", (Span("      Project", "muted"),), columns, still=True)]
    for one in report.projects:
        mine = one.root == here
        cells = (
            Span(size(one.size)),
            Span(str(one.sessions), "muted"),
            Span(str(one.snapshots), "muted"),
            _note(one, mine, gitless, skipped, glyphs),
            Span((one.oldest or "")[:10], "muted"),
        )
        out.append(
            Row(
                f"project:{one.root.hex()}",
                (
                    Span("here  " if mine else "      ", "agent"),
                    Span(words_of(one.root), "agent" if mine else "", True),
                ),
                cells,
                head=True,
            )
        )
    if len(out) == 1:
        return [Row("empty", (Span(NOTHING, "muted"),), still=True)]
    return out


def _note(
    one: ProjectUse,
    mine: bool,
    gitless: Collection[bytes],
    skipped: Sequence[NotCaptured],
    glyphs: Glyphs,
) -> Span:
    """What is odd about a project, in words."""
    parts: list[str] = []
    role: Role = "muted"
    if one.note:
        parts.append(f"{glyphs.warning} {safe(one.note)}")
        role = "warning"
    elif one.root in gitless:
        parts.append("no git")
    if mine and skipped:
        parts.append(f"{glyphs.warning} {len(skipped)} not captured")
        role = "warning"
    return Span(", ".join(parts), role)


def details(one: ProjectUse, words: str, missed: int = 0) -> str:
    """What is said of the project under the cursor.

    Args:
        missed: paths that its newest turn could not capture, if it is the open project.
    """
    kept = f"{counted(one.sessions, 'session')} in {counted(one.snapshots, 'snapshot')}"
    since = f" since {one.oldest[:10]}" if one.oldest else ""
    note = f" {safe(one.note)[:1].upper()}{safe(one.note)[1:]}." if one.note else ""
    listed = f"{counted(missed, 'path')} not captured: {keys.words('{storage.open}')} lists them. "
    listed = listed if missed else ""
    return f"{listed}{words}: {kept}{since}, {size(one.size)}.{note}"


def skipped(sessions: Iterable[Session]) -> tuple[NotCaptured, ...]:
    """What the newest turn could not capture, what is left out on purpose last."""
    turns = [turn for session in sessions for turn in session.turns]
    newest = max(turns, key=lambda turn: turn.n, default=None)
    if newest is None:
        return ()
    order = {"too-large": 0, "fuse": 1, "failed": 1}
    return tuple(
        sorted(newest.not_captured, key=lambda item: (order.get(item.reason, 2), item.path))
    )


def skipped_rows(items: Sequence[NotCaptured], config: Config) -> list[Row]:
    """What is not captured, by reason, and what would change that."""
    found: list[Row] = []
    for reason in dict.fromkeys(item.reason for item in items):
        mine = [item for item in items if item.reason == reason]
        words = present.reason_words(reason)
        title = Span(f"{words[:1].upper()}{words[1:]}", "warning")
        number = Span(f"  {counted(len(mine), 'path')}", "muted")
        found.append(Row(f"reason:{reason}", (title, number), head=True))
        found += [
            Row(
                f"path:{item.path.hex()}",
                (Span("everything" if item.path == b"./" else safe(item.path), "", True),),
                indent=2,
            )
            for item in mine
        ]
        if reason == "too-large":
            limit = size(config.max_file_size_mb << 20)
            hint = f"The limit is {limit}: max_file_size_mb in the settings."
            found.append(Row(f"hint:{reason}", (Span(hint, "muted"),), indent=2, still=True))
    if not found:
        said = "The newest turn of this project was captured whole: nothing was skipped."
        found.append(Row("none", (Span(said, "muted"),)))
    return found


# --- What upkeep says ----------------------------------------------------------------------------


def pruned(report: PruneReport) -> list[str]:
    """What cleaning up did or would do, in the words of the command line."""
    return upkeep_lines.prune_lines(upkeep_lines.prune_document(report))


def worth(report: PruneReport) -> bool:
    """Whether there is anything to clean up."""
    return bool(report.temporary or report.packed)


def prune_question(report: PruneReport) -> str:
    """What is said after the dry run, with the keys that answer it."""
    lines = [line.strip() for line in pruned(report)]
    if not worth(report):
        # Only what is wrong is still worth a word: damage, or a disk that is full.
        return " ".join(["There is nothing to clean up in this project.", *lines[1:]])
    said = " ".join(lines)
    asks = "{storage.agree}: do it. {common.go_back}: leave it."
    return f"{said} No turn and no undo is lost by it. {keys.words(asks)}"


def verified(report: VerifyReport) -> str:
    """What a check found, in a line."""
    checked = f"{counted(report.objects, 'object')} and {counted(report.refs, 'ref')}"
    lost, lines = len(report.damage), len(report.lines)
    if not lost and not lines:
        return f"{checked}: everything that is kept is whole"
    parts = [f"{counted(lost, 'thing')} missing or damaged"] if lost else []
    parts += [f"{counted(lines, 'line')} of the record damaged"] if lines else []
    return f"{checked}: {', '.join(parts)}"


def damage_rows(report: VerifyReport) -> list[Row]:
    """Each thing that is lost, and who needs it."""
    lines = upkeep_lines.verify_lines(upkeep_lines.verify_document(report))
    return [
        Row(f"damage:{at}", (Span(line, "warning" if not at else ""),))
        for at, line in enumerate(lines)
    ]
