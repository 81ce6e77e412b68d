"""Work that may be cancelled and that says how far it is.

Who starts a long call opens `using` with a `Cancel` and a progress function; the places where time
goes call `check` or `step`. What they find belongs to the thread, so that nothing has to be handed
through every function, and where nobody asked for it a check costs next to nothing: a hook, which
an agent waits for, never has one.
"""

from __future__ import annotations

from _thread import get_ident

from takeback.engine.errors import Exit, TakebackError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from types import TracebackType
    from typing import TypeVar

    T = TypeVar("T")
    Progress = Callable[[str, int, int], None]
    """(what is done, how many of it, of how many or 0 where nobody knows)."""

SLICE_S = 0.05
"""What waits for something else looks this often whether it was cancelled."""

_EVERY = 64


class Cancelled(TakebackError):
    """The user cancelled it before anything was changed."""

    code = Exit.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("Cancelled. Nothing was changed.")


class Cancel:
    """A wish to stop, set by any thread, honoured by the one that works."""

    __slots__ = ("_wanted",)

    def __init__(self) -> None:
        self._wanted = False

    def set(self) -> None:
        self._wanted = True

    @property
    def wanted(self) -> bool:
        return self._wanted

    def check(self) -> None:
        """Stop here if it is wanted.

        Raises:
            Cancelled: it is.
        """
        if self._wanted:
            raise Cancelled


class using:
    """While the block runs in this thread, `check` and `step` reach these. The outermost counts."""

    __slots__ = ("_mine", "_work")

    def __init__(self, cancel: Cancel | None, progress: Progress | None) -> None:
        self._work = (cancel, progress)
        self._mine = False

    def __enter__(self) -> None:
        self._mine = self._work != (None, None) and get_ident() not in _now
        if self._mine:
            _now[get_ident()] = self._work

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._mine:
            del _now[get_ident()]


class held:
    """While the block runs in this thread, nothing in it is cancelled: it cannot be half done."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: tuple[Cancel | None, Progress | None] | None = None

    def __enter__(self) -> None:
        self._before = _now.get(get_ident())
        if self._before is not None:
            _now[get_ident()] = (None, self._before[1])

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            _now[get_ident()] = self._before


_now: dict[int, tuple[Cancel | None, Progress | None]] = {}


def check() -> None:
    """Stop here if that is wanted.

    Raises:
        Cancelled: it is.
    """
    if _now:
        cancel = _now.get(get_ident(), (None, None))[0]
        if cancel is not None:
            cancel.check()


def can_stop() -> bool:
    """Whether somebody may cancel what this thread does: waiting goes in slices then."""
    return bool(_now) and _now.get(get_ident(), (None, None))[0] is not None


def step(what: str, done: int, total: int = 0) -> None:
    """Say how far it is, and stop here if that is wanted.

    Raises:
        Cancelled: it is.
    """
    if _now:
        cancel, progress = _now.get(get_ident(), (None, None))
        if cancel is not None:
            cancel.check()
        if progress is not None:
            progress(what, done, total)


def watched(what: str, items: Collection[T]) -> Iterable[T]:
    """The same items, with a `step` now and then; the very same where nobody asked for it.

    Args:
        what: empty for a mere `check`: too small a part of the whole to be told.
    """
    return _stepped(what, items) if _now else items


def _stepped(what: str, items: Collection[T]) -> Iterator[T]:
    total = len(items)
    for done, item in enumerate(items):
        if done % _EVERY == 0:
            step(what, done, total) if what else check()
        yield item
    if what:
        step(what, total, total)
