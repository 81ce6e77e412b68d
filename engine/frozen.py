"""Frozen slotted records without the `dataclasses` module, for what every hook imports.

An agent waits for each hook. Importing `dataclasses` alone costs about 12 ms (it needs `inspect`),
half of what a hook may add; so the few types on that path are made by this metaclass, which the
type checker knows as a dataclass. Everything off that path uses real dataclasses.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T", bound="Frozen")
else:

    def dataclass_transform(**_: object):
        return lambda cls: cls


def _refuse(self: object, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen")


@dataclass_transform(frozen_default=True)
class FrozenType(type):
    """Makes slots, ``__init__``, equality, hash and ``repr`` from a class's annotations."""

    FIELDS: tuple[str, ...]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], space: dict[str, Any], **kwargs: Any
    ) -> FrozenType:
        fields = tuple(space.get("__annotations__", {}))
        defaults = {field: space.pop(field) for field in fields if field in space}
        space["__slots__"] = fields
        space["__match_args__"] = fields
        space["FIELDS"] = fields
        if fields:
            names = ", ".join(f"{f}=_d[{f!r}]" if f in defaults else f for f in fields)
            body = "".join(f"\n    _set(self, {f!r}, {f})" for f in fields)
            made: dict[str, Any] = {}
            exec(
                f"def __init__(self, {names}):{body}",
                {"_d": defaults, "_set": object.__setattr__},
                made,
            )
            space["__init__"] = made["__init__"]
            space["__setattr__"] = space["__delattr__"] = _refuse
        return super().__new__(mcs, name, bases, space, **kwargs)


class Frozen(metaclass=FrozenType):
    """Base of the records; see the module."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f) == getattr(other, f) for f in type(self).FIELDS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, field) for field in type(self).FIELDS))

    def __repr__(self) -> str:
        shown = ", ".join(f"{f}={getattr(self, f)!r}" for f in type(self).FIELDS)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field) for field in type(self).FIELDS)


def changed(record: T, **values: Any) -> T:
    """A copy of a record with some fields set."""
    fields = {field: getattr(record, field) for field in type(record).FIELDS}
    return type(record)(**{**fields, **values})
