"""Abstract values. What is known, or in a register, or not read yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dvm import _dvm

Abstract = Any


#: Arguments by name.
Named = dict[str, Abstract]


@dataclass(eq=False)
class Literal:
    """An object that is the same on every call of the path.

    identical: False where it is only an equal one, which `is` can tell.
    made: a NumPy scalar that the program makes anew on each call; one abstract value is one object.
    """

    object: Any
    identical: bool = True
    made: bool = False
    host: int = -1  # register of the object made for it, once it left the path


@dataclass(eq=False)
class Host:
    """An object computed or fetched on every call; `object` is the one of the recorded call.

    made: by a pure operation on pure values of the path, so that even an array of objects holds
        none of the user's.
    owned: an array whose memory only the path can see.
    home: of an array that the path writes for the caller: the register of the caller's own, which
        gets the content at the end.
    base, remake: of a view, the array that it is a view of, and the step that makes it of another
        register.
    frozen: the graph has read its memory, or that of a view: not to be written.
    """

    register: int
    object: Any
    made: bool = False
    owned: bool = False
    home: int = -1
    base: Host | None = None
    remake: Callable[[int], int] | None = None
    frozen: bool = False
    host: int = -1  # register of the view itself, once it left the path

    @property
    def root(self) -> Host:
        """The array whose memory it is."""
        return self if self.base is None else self.base.root


@dataclass(eq=False)
class Size:
    """A Python int computed from sizes of arrays."""

    dim: _dvm.Dim


@dataclass(eq=False)
class Unread:
    """A part of an object of the caller that the program has not looked at (no guard yet)."""

    read: Callable[[], Abstract]
    object: Any


@dataclass(eq=False)
class Hidden:
    """Something that a replay does not have: it may be handed on, but not be used."""

    what: str


class End:
    """What an iterator gives when nothing is left."""


@dataclass(eq=False)
class Gone:
    """An attribute or element that the program deleted."""


__all__ = ["Abstract", "End", "Gone", "Hidden", "Host", "Literal", "Named", "Size", "Unread"]
