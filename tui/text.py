"""Untrusted text made safe to show: names, prompts and commands come from anywhere.

Nothing here interprets markup; what a terminal would obey or hide is written out instead.
"""

from __future__ import annotations

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\x1b": "\\e"}


def _table() -> dict[int, str]:
    table = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
    table.update({ord(char): shown for char, shown in _NAMED.items()})
    # Bytes that were no UTF-8 are shown as the byte; other lone surrogates as their code.
    table.update({code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)})
    table.update({0xDC00 + byte: f"\\x{byte:02x}" for byte in range(0x80, 0x100)})
    # These reorder, hide or break a line without being seen.
    hidden = (0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070))
    table.update({code: f"\\u{code:04x}" for code in (*hidden, 0xFEFF)})
    table.update({code: f"\\U{code:08x}" for code in range(0xE0000, 0xE0080)})
    return table


_ESCAPES = _table()


def decode(raw: bytes) -> str:
    """Bytes as text that can be turned back: what is no UTF-8 becomes lone surrogates."""
    return raw.decode("utf-8", "surrogateescape")


def safe(text: str | bytes) -> str:
    """One line that shows every control character instead of sending it to the terminal."""
    if isinstance(text, bytes):
        text = decode(text)
    return text.translate(_ESCAPES)


def first_line(text: str, limit: int = 72) -> str:
    """The first line with something on it, safe, cut at `limit` characters."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    line = safe(line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def quoted(text: str | bytes) -> str:
    """A safe name between quotation marks, for use within a sentence."""
    return "“" + safe(text) + "”"


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 file``, ``3 files``."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def joined(parts: list[str]) -> str:
    """Parts as a list in a sentence: ``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]
