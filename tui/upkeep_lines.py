"""Lines for people about disk use, checks and settings: pure, from the contract's documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from takeback.tui.present import columns
from takeback.tui.text import counted, safe

if TYPE_CHECKING:
    from takeback.engine.upkeep.prune import PruneReport
    from takeback.engine.upkeep.verify import VerifyReport


def size(number: int) -> str:
    """Bytes in words: ``84.0 MiB``."""
    amount = float(number)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"


def storage_lines(document: dict[str, Any]) -> list[str]:
    """Disk use over all, then one line for each project."""
    cap = document.get("cap_bytes")
    head = f"{size(document['bytes'])} are used"
    lines = [head + (f" of at most {size(cap)}." if cap else ".")]
    rows = []
    for item in document["projects"]:
        counts = f"{counted(item['sessions'], 'session')}, {counted(item['snapshots'], 'snapshot')}"
        oldest = f"since {item['oldest'][:10]}" if item.get("oldest") else ""
        note = f"{oldest}  {safe(item['note'])}" if item.get("note") else oldest
        rows.append((size(item["bytes"]), safe(item["root"]), counts, note))
    return lines + columns(rows)


def doctor_lines(document: dict[str, Any]) -> list[str]:
    """One line for each check, with what to do where something is wrong."""
    lines = []
    for check in document["checks"]:
        mark = "ok  " if check["ok"] else "FAIL"
        lines.append(f"{mark}  {safe(check['name'])}: {safe(check['message'])}")
        if check.get("fix") and not check["ok"]:
            lines.append(f"      {safe(check['fix'])}")
    failing = sum(not check["ok"] for check in document["checks"])
    if failing:
        return [*lines, f"{counted(failing, 'check needs', 'checks need')} attention."]
    return [*lines, "Everything is in order."]


def prune_document(report: PruneReport) -> dict[str, Any]:
    """What was cleaned up, or would be, as the command line answers it."""
    return {
        "dry_run": report.dry_run,
        "temporary": report.temporary,
        "packed": report.packed,
        "loose": report.loose,
        "freed_bytes": report.freed,
        "damaged": list(report.damaged),
        "stopped": report.stopped,
    }


def verify_document(report: VerifyReport) -> dict[str, Any]:
    """What was checked, as the command line answers it."""
    return {
        "objects": report.objects,
        "refs": report.refs,
        "damage": [
            {"name": one.name, "state": one.state, "affected": list(one.affected)}
            for one in report.damage
        ],
        "lines": [{"file": name, "line": number} for name, number in report.lines],
    }


def prune_lines(document: dict[str, Any]) -> list[str]:
    """What was cleaned up, or would be."""
    would = document["dry_run"]
    temporary = counted(document["temporary"], "temporary file")
    packed = counted(document["packed"], "loose object")
    if would:
        lines = [f"This would remove {temporary} and pack {packed}. Nothing was changed."]
    else:
        freed = size(document["freed_bytes"])
        lines = [f"Removed {temporary} and packed {packed}; {freed} are free again."]
    if document["damaged"]:
        lines.append(f"{counted(len(document['damaged']), 'object')} damaged, left alone:")
        lines += [f"  {safe(name)}" for name in document["damaged"]]
    if document["stopped"]:
        lines.append(f"{safe(document['stopped'])}.")
    return lines


def verify_lines(document: dict[str, Any]) -> list[str]:
    """What was checked, and one line for each thing that is lost."""
    checked = f"{counted(document['objects'], 'object')} and {counted(document['refs'], 'ref')}"
    lines = []
    for one in document["damage"]:
        needs = ", ".join(safe(name) for name in one["affected"])
        lines.append(
            f"{one['state']}: {safe(one['name'])}" + (f", needed by {needs}" if needs else "")
        )
    for one in document["lines"]:
        lines.append(f"damaged record: {safe(one['file'])}, line {one['line']}")
    if not document["damage"] and document["lines"]:
        lines.append(f"Checked {checked}: every kept file is whole; what these lines said is lost.")
    elif not document["damage"]:
        lines.append(f"Checked {checked}: everything that is kept is whole.")
    return lines
