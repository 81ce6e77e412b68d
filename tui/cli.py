"""The command line: finds the verb, runs it, and turns whatever happens into an exit code.

Thin on purpose: hooks and recording verbs are dispatched before anything else is imported.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from takeback.engine.errors import Exit, TakebackError

if TYPE_CHECKING:
    from takeback.tui.arguments import Arguments
    from takeback.tui.output import Output

Handler = Callable[["Arguments", "Output"], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    if _is_hook(argv):
        return _hook(argv)
    # Records and modules are many and hold no circles: the collector would only look at them again
    # and again.
    gc.set_threshold(50_000, 20, 50)
    from takeback.tui import arguments
    from takeback.tui.output import Output

    out = Output(arguments.wants_json(argv))
    try:
        args = arguments.parse(argv)
        out.json = args.json
        return int(_dispatch(args, out))
    except (TakebackError, KeyboardInterrupt, OSError) as error:
        return _failed(out, error)
    except Exception as error:
        if os.environ.get("TAKEBACK_DEBUG") == "1":
            raise
        return _failed(out, error)


def _failed(out: Output, what: BaseException) -> int:
    from takeback.tui.failures import as_error

    error = as_error(what)
    try:
        out.error(error)
    except TakebackError:
        # The answer cannot be written either; the exit code still tells.
        pass
    return int(error.code)


def _is_hook(argv: Sequence[str]) -> bool:
    """Whether the verb is ``hook``, told without the parser."""
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in ("-C", "--data-dir"):
            skip = True
        elif not word.startswith("-"):
            return word == "hook"
        elif word in ("--help", "-h", "--version"):
            return False
    return False


def _hook(argv: Sequence[str]) -> int:
    """Run a hook. Whatever is wrong with us, the agent goes on: the exit code is 0."""
    try:
        agent, data = "", ""
        words = iter(argv)
        named = False
        for word in words:
            if word in ("--help", "-h"):
                return _hook_help()
            if word == "-C":
                next(words, "")
            elif word == "--data-dir":
                data = next(words, "")
            elif word.startswith("--data-dir="):
                data = word[11:]
            elif not word.startswith("-"):
                agent = agent or (word if named else "")
                named = True
        if not agent:
            from takeback.tui.output import say

            say("takeback: The hook needs the agent's name. Nothing was recorded.")
            return 0
        from takeback.engine.agents import hook

        hook.main(agent, data or None)
    except BaseException as error:
        if os.environ.get("TAKEBACK_DEBUG") == "1":
            raise
        from takeback.tui.output import say

        say(f"takeback: The hook failed ({type(error).__name__}: {error}).")
    return 0


def _hook_help() -> int:
    from takeback.tui import arguments
    from takeback.tui.output import Output

    Output().lines(arguments.help_lines("hook"))
    return 0


def _dispatch(args: Arguments, out: Output) -> int:
    if args.flag("--help"):
        from takeback.tui import arguments

        out.json = False
        out.lines(arguments.help_lines(args.verb))
        return Exit.DONE
    if args.flag("--version"):
        out.answer({"version": version()}, [f"takeback {version()}"])
        return Exit.DONE
    if args.verb.startswith("record "):
        from takeback.tui import verbs_record

        return verbs_record.record(args, out)
    if args.verb == "run":
        from takeback.tui import run

        return run.run(args, out)
    from takeback.tui import verbs

    return verbs.handler(args.verb)(args, out)


def version() -> str:
    """The installed version, from the distribution's metadata."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("takeback")
    except PackageNotFoundError:
        return "0 (not installed)"


def entry() -> None:
    """For ``python -m takeback.tui.cli``."""
    sys.exit(main())


if __name__ == "__main__":
    entry()
