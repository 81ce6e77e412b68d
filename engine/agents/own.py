"""Whether a command that an agent's shell runs is takeback itself, and nothing else.

Such a call is not the agent's work: were it recorded as a call, the turn that asks for an undo
would have work of its own, and the undo would wait for its end.
"""

from __future__ import annotations

_VERBS = frozenset(
    {"diff", "doctor", "history", "log", "redo", "sessions", "show", "storage", "undo"}
)
_OPERATORS = frozenset("();<>|&")
_MORE = ("$(", "`", "\n")
"""What runs other commands from within a word."""


def is_own(command: str) -> bool:
    """Whether a shell command only calls takeback, to look or to undo and redo."""
    if "takeback" not in command or len(command) > 4000 or any(m in command for m in _MORE):
        return False
    import shlex

    lexer = shlex.shlex(command, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return False
    if any(word and _OPERATORS.issuperset(word) for word in words):
        return False
    return _verb(words) in _VERBS


def _verb(words: list[str]) -> str:
    """The verb of a call of takeback, "" where it is none."""
    rest = iter(words)
    program = next(rest, "").rpartition("/")[2]
    if program.startswith("python"):
        option = next(rest, "")
        while option in ("-I", "-S", "-E", "-s"):
            option = next(rest, "")
        value = next(rest, "")
        module = option == "-m" and value == "takeback.tui.cli"
        if not module and not (option == "-c" and value.endswith(CALL)):
            return ""
    elif program != "takeback":
        return ""
    for word in rest:
        if word in ("--data-dir", "-C"):
            next(rest, "")
        elif not word.startswith("-"):
            return word
    return ""


CALL = "from takeback.tui import cli; sys.exit(cli.main())"
"""How code that calls the command line ends, see `command.cli_command`."""
