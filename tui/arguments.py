"""The arguments of the command line as one table, and a small parser for it.

A table of our own: global options stand before or after the verb, values may begin with a dash,
and the recording verbs start faster without a general parser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from takeback.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes:
        value: the name of its value in the help, "" for a flag.
        many: it may be given again; otherwise a second time is wrong usage.
        choices: the only values that are taken.
    """

    name: str
    help: str
    value: str = ""
    many: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb with what may follow it.

    Attributes:
        places: names of positional arguments; ``[X]`` may be left out.
        needs: options that must be given.
        built: False for verbs that are named but do not work yet.
        command: what follows is a command line of its own.
    """

    name: str
    summary: str
    places: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    needs: tuple[str, ...] = ()
    built: bool = True
    command: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """A parsed command line; `verb` is "" when none was given."""

    verb: str = ""
    places: tuple[str, ...] = ()
    flags: frozenset[str] = frozenset()
    values: dict[str, tuple[str, ...]] = field(default_factory=dict)
    command: tuple[str, ...] = ()

    def flag(self, name: str) -> bool:
        return name in self.flags

    def value(self, name: str, default: str = "") -> str:
        return self.values.get(name, (default,))[-1]

    def all(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, ())

    @property
    def json(self) -> bool:
        return self.flag("--json")


GLOBALS = (
    Option("-C", "the project's folder (default: the current one)", "DIR"),
    Option("--json", "one JSON document on standard output"),
    Option("--data-dir", "where everything is stored (also TAKEBACK_DATA_DIR)", "DIR"),
    Option("--version", "show the version"),
    Option("--help", "show this help"),
)

_SESSION = Option("--session", "the session's id", "S")
_ANY_SESSION = Option("--session", "only this session", "S")
_CALL = Option("--call", "the call's id", "ID")
_PATH = Option("--path", "only this file or folder; may be repeated", "P", many=True)
_PREVIEW = Option("--dry-run", "show what would happen, change nothing")
_YES = Option("--yes", "do it without asking")
_CONFLICTS = (
    Option("--merge", "merge with later edits (the default)"),
    Option("--keep", "leave files alone that changed since"),
    Option("--overwrite", "take whole files, later edits included"),
)
_UNWRITABLE = Option("--skip-unwritable", "go on without files that cannot be written")
_DEPS = (
    Option("--with-deps", "also take files that depend on what goes away"),
    Option("--ignore-deps", "go on despite dependency warnings"),
)
_RUNNING = Option("--yes-while-running", "close a running turn first, as interrupted")

VERBS = (
    Verb(
        "run",
        "record one turn around any command",
        ("CMD…",),
        (
            Option("--session", "add the turn to this session", "S"),
            Option("--agent", "the name shown for who works", "NAME"),
            Option("--prompt", "what was asked for", "TEXT"),
            Option("--unprotected", "start even if the first snapshot fails"),
        ),
        command=True,
    ),
    Verb(
        "record begin",
        "begin a turn; prints its id",
        (),
        (
            _SESSION,
            Option("--agent", "the agent's name", "A"),
            Option("--prompt", "what was asked for", "TEXT"),
            Option("--title", "the session's title", "T"),
            Option("--pid", "the process whose end ends the turn", "PID"),
        ),
        ("--session",),
    ),
    Verb(
        "record tool-begin",
        "a tool call begins",
        (),
        (
            _SESSION,
            _CALL,
            Option("--tool", "the tool's name", "NAME"),
            Option("--kind", "what it may do", "KIND", choices=("edit", "shell", "other")),
            Option("--path", "a file that it edits; may be repeated", "P", many=True),
            Option("--command", "the command that it runs", "TEXT"),
        ),
        ("--session", "--call", "--tool"),
    ),
    Verb(
        "record tool-end",
        "a tool call ended",
        (),
        (_SESSION, _CALL, Option("--failed", "the call failed")),
        ("--session", "--call"),
    ),
    Verb(
        "record step",
        "a model answer within the turn is complete",
        (),
        (_SESSION, Option("--text", "the answer's text", "TEXT")),
        ("--session",),
    ),
    Verb(
        "record end",
        "end the turn",
        (),
        (_SESSION, Option("--interrupted", "the turn was broken off")),
        ("--session",),
    ),
    Verb("hook", "for an agent's own hook, payload on standard input", ("AGENT",)),
    Verb(
        "install",
        "connect an agent",
        ("AGENT",),
        (
            Option("--user", "for all projects of yours (the default)"),
            Option("--project", "for this project"),
            _PREVIEW,
        ),
    ),
    Verb(
        "uninstall",
        "disconnect an agent",
        ("AGENT",),
        (
            Option("--user", "for all projects of yours (the default)"),
            Option("--project", "for this project"),
            _PREVIEW,
            _YES,
        ),
    ),
    Verb("sessions", "list sessions, newest first"),
    Verb("log", "list turns with their changes", (), (_ANY_SESSION,)),
    Verb("show", "show one turn, step, call or operation", ("[ID]",)),
    Verb(
        "diff",
        "show what a turn, step, call or operation changed",
        ("[ID]",),
        (
            _PATH,
            Option("--against", "compare with a commit of your git", "REF"),
            Option("--patch", "a patch that git can apply"),
        ),
    ),
    Verb(
        "undo",
        "take back what a turn did to files",
        (),
        (
            Option("--turn", "this turn only; later ones are kept", "N|ID"),
            Option("--to", "this turn and the later ones of its session", "N|ID"),
            Option("--step", "this step only", "ID"),
            Option("--call", "this call only", "ID"),
            Option("--session", "the newest turn of this session", "S"),
            Option("--path", "exactly these files or folders; may be repeated", "P", many=True),
            Option("--include-unknown", "also files of unknown origin that a call may have made"),
            Option("--all", "every file of the turn, probably yours included"),
            Option("--hunk", "a single hunk as numbered by diff", "PATH:N", many=True),
            *_CONFLICTS,
            _UNWRITABLE,
            *_DEPS,
            _PREVIEW,
            _YES,
            _RUNNING,
            Option("--resume", "then go on in the conversation from before what was taken back"),
        ),
    ),
    Verb(
        "resume",
        "go on in a conversation from before a turn; files stay as they are",
        ("[TURN]",),
        (
            Option("--fork", "in a copy that the agent makes, where it can"),
            Option("--print", "only show the command"),
        ),
    ),
    Verb(
        "redo",
        "put back what an undo took",
        ("[OP]",),
        (_ANY_SESSION, *_CONFLICTS, _UNWRITABLE, *_DEPS, _PREVIEW, _YES, _RUNNING),
    ),
    Verb(
        "goto",
        "bring the files to the state before or after a turn",
        ("TURN[@before|@after]",),
        (*_CONFLICTS, _UNWRITABLE, *_DEPS, _PREVIEW, _YES, _RUNNING),
    ),
    Verb(
        "restore",
        "bring files back to what they held just before an operation",
        (),
        (
            Option("--op", "the operation's id", "OP"),
            *_CONFLICTS,
            _UNWRITABLE,
            *_DEPS,
            _PREVIEW,
            _YES,
            _RUNNING,
        ),
        ("--op",),
    ),
    Verb("history", "list operations, and what undo and redo would do next"),
    Verb("fork", "begin a named line", ("NAME",), (Option("--from", "at", "TURN"),), built=False),
    Verb("forks", "list named lines of work", built=False),
    Verb("switch", "go to a named line of work", ("NAME",), (_PREVIEW, _YES), built=False),
    Verb("compare", "compare named lines of work", ("NAME", "[NAME]"), built=False),
    Verb("storage", "show the disk use and its limits"),
    Verb("prune", "pack the store and remove left-over temporary files", (), (_PREVIEW,)),
    Verb("verify", "check every kept object"),
    Verb("recover", "finish or roll back what a crash left"),
    Verb("purge", "forget for good", ("SESSION|PROJECT",), (_PATH, _YES), built=False),
    Verb("config", "show or change settings", ("[KEY]", "[VALUE]"), (_YES,)),
    Verb("doctor", "show what is connected, protected, skipped or failing"),
    Verb("demo", "a throw-away project to try everything on"),
)
_BY_NAME = {verb.name: verb for verb in VERBS}
_GROUPS = {"record": tuple(v.name.split()[1] for v in VERBS if v.name.startswith("record "))}


def find(name: str) -> Verb:
    return _BY_NAME[name]


def wants_json(argv: Sequence[str]) -> bool:
    """Whether errors should be JSON, also for a command line that cannot be parsed."""
    for arg in argv:
        if arg == "--":
            return False
        if arg == "--json":
            return True
    return False


def _near(name: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    match = get_close_matches(name, known, 1)
    return f"Did you mean {match[0]!r}? " if match else ""


class _Parser:
    """Goes through the words once; the verb becomes known on the way."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.words: Iterator[str] = iter(argv)
        self.verb = ""
        self.group = ""
        self.places: list[str] = []
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.command: tuple[str, ...] = ()

    def parse(self) -> Arguments:
        for word in self.words:
            if word == "--":
                rest = tuple(self.words)
                if self.verb and _BY_NAME[self.verb].command:
                    self.command = rest
                else:
                    for place in rest:
                        self._place(place)
                break
            if word.startswith("-") and word != "-":
                self._option(word)
            elif self.verb and _BY_NAME[self.verb].command:
                self.command = (word, *self.words)
                break
            else:
                self._place(word)
        return self._checked()

    def _place(self, word: str) -> None:
        if self.verb:
            self.places.append(word)
            return
        name = f"{self.group} {word}" if self.group else word
        if name in _BY_NAME:
            self.verb = name
        elif name in _GROUPS:
            self.group = name
        else:
            known = _GROUPS[self.group] if self.group else (*_BY_NAME, *_GROUPS)
            raise UsageError(
                f"There is no command {name!r}. Nothing was done.",
                _near(word, known) + f"Known are: {', '.join(self._known(known))}.",
            )

    @staticmethod
    def _known(names: Sequence[str]) -> list[str]:
        return sorted({name.split()[0] for name in names})

    def _find(self, name: str) -> Option:
        options = GLOBALS + (_BY_NAME[self.verb].options if self.verb else ())
        for option in options:
            if option.name == name:
                return option
        where = f"{self.verb!r}" if self.verb else "takeback without a command"
        if not self.verb and any(o.name == name for v in VERBS for o in v.options):
            raise UsageError(
                f"The option {name!r} must stand after its command. Nothing was done.",
                "See takeback --help.",
            )
        raise UsageError(
            f"There is no option {name!r} for {where}. Nothing was done.",
            _near(name, [option.name for option in options])
            + f"See takeback {self.verb + ' ' if self.verb else ''}--help.",
        )

    def _option(self, word: str) -> None:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "-h":
            name = "--help"
        elif word.startswith("-C") and len(word) > 2:
            name, equals, value = "-C", "=", word[2:]
        option = self._find(name)
        if not option.value:
            if equals:
                raise UsageError(
                    f"The option {name!r} takes no value. Nothing was done.", "Leave the value out."
                )
            self.flags.add(name)
            return
        if not equals:
            given = next(self.words, None)
            if given is None:
                raise UsageError(
                    f"The option {name!r} needs a value. Nothing was done.",
                    f"Write {name} {option.value}.",
                )
            value = given
        if option.choices and value not in option.choices:
            raise UsageError(
                f"{value!r} is no value for {name!r}. Nothing was done.",
                f"It may be {', '.join(option.choices)}.",
            )
        if name in self.values and not option.many:
            raise UsageError(
                f"The option {name!r} was given twice. Nothing was done.", "Give it once."
            )
        self.values.setdefault(name, []).append(value)

    def _checked(self) -> Arguments:
        if self.group and not self.verb and "--help" not in self.flags:
            raise UsageError(
                f"The command {self.group!r} needs to know what. Nothing was done.",
                f"It may be {', '.join(_GROUPS[self.group])}.",
            )
        parsed = Arguments(
            self.verb or self.group,
            tuple(self.places),
            frozenset(self.flags),
            {name: tuple(values) for name, values in self.values.items()},
            self.command,
        )
        if self.verb and not self.flags & {"--help", "--version"}:
            _check_complete(parsed, _BY_NAME[self.verb])
        return parsed


def _check_complete(parsed: Arguments, verb: Verb) -> None:
    usage = f"Usage: {usage_line(verb)}"
    if not verb.built:
        return
    for name in verb.needs:
        if name not in parsed.values:
            raise UsageError(
                f"The command {verb.name!r} needs the option {name}. Nothing was done.", usage
            )
    if verb.command:
        if not parsed.command:
            raise UsageError(
                f"The command {verb.name!r} needs a command to start. Nothing was done.", usage
            )
        return
    least = sum(not place.startswith("[") for place in verb.places)
    if len(parsed.places) < least:
        missing = verb.places[len(parsed.places)]
        raise UsageError(f"The command {verb.name!r} needs {missing}. Nothing was done.", usage)
    if len(parsed.places) > len(verb.places):
        extra = parsed.places[len(verb.places)]
        hint = f"To name a turn, write --turn {extra}." if verb.name == "undo" else usage
        raise UsageError(
            f"The command {verb.name!r} does not take {extra!r}. Nothing was done.", hint
        )
    conflicts = [o.name for o in _CONFLICTS if o.name in parsed.flags]
    if len(conflicts) > 1:
        raise UsageError(
            f"{conflicts[0]} and {conflicts[1]} exclude each other. Nothing was done.",
            "Give one of them.",
        )
    targets = [name for name in ("--turn", "--to", "--step", "--call") if name in parsed.values]
    if verb.name == "undo" and len(targets) > 1:
        raise UsageError(
            f"{targets[0]} and {targets[1]} exclude each other. Nothing was done.",
            "Name one target.",
        )
    if {"--user", "--project"} <= parsed.flags:
        raise UsageError(
            "--user and --project exclude each other. Nothing was done.", "Give one of them."
        )


def parse(argv: Sequence[str]) -> Arguments:
    """Parse the words after the program's name.

    Raises:
        UsageError: they do not fit the table.
    """
    return _Parser(argv).parse()


def usage_line(verb: Verb) -> str:
    needed = [f"{o.name} {o.value}" for o in verb.options if o.name in verb.needs]
    more = ["[OPTIONS]"] if len(verb.options) > len(verb.needs) else []
    places = ["--", *verb.places] if verb.command else list(verb.places)
    return " ".join(["takeback", verb.name, *needed, *more, *places])


def _option_lines(options: Sequence[Option]) -> list[str]:
    shown = [(f"{o.name} {o.value}".strip(), o.help, o.choices) for o in options]
    width = max(len(name) for name, _, _ in shown)
    return [
        f"  {name:<{width}}  {text}" + (f": {', '.join(choices)}" if choices else "")
        for name, text, choices in shown
    ]


def help_lines(name: str = "") -> list[str]:
    """The help of one verb, or of the program."""
    if name in _BY_NAME:
        verb = _BY_NAME[name]
        lines = [f"Usage: {usage_line(verb)}", "", verb.summary[0].upper() + verb.summary[1:] + "."]
        if not verb.built:
            lines.append("This command is not built yet.")
        if verb.options:
            lines += ["", "Options:", *_option_lines(verb.options)]
        if any(option.value == "TEXT" for option in verb.options):
            lines += ["", "A TEXT of - is read from standard input."]
    else:
        lines = ["Usage: takeback [OPTIONS] COMMAND …", ""]
        lines += ["Undoes what coding agents did to the files of a project.", "", "Commands:"]
        verbs = [v for v in VERBS if v.built and (not name or v.name.startswith(name + " "))]
        width = max(len(verb.name) for verb in verbs)
        lines += [f"  {verb.name:<{width}}  {verb.summary}" for verb in verbs]
        lines += ["", "See takeback COMMAND --help for the options of one."]
    return [*lines, "", "Everywhere:", *_option_lines(GLOBALS)]
