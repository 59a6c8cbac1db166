"""Abstract values. Arrays: their memory, its content, views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dvm import _dvm
    from dvm.magpy_capture.library import Library


@dataclass(eq=False)
class Content:
    """What some memory holds from one write to the next: a graph value, or how to make it.

    spine: the graph's values that were made for no more than that.
    """

    value: int = -1
    make: Callable[[], int] | None = None
    spine: range = field(default_factory=lambda: range(0))

    def read(self) -> int:
        """Its graph value."""
        if self.make is not None:
            self.value, self.make = self.make(), None
        return self.value


@dataclass(eq=False)
class Storage:
    """The memory of one array, and its present content, in order of memory.

    A write makes a new one, so that reads before and after it keep theirs.

    library: whose array it is.
    register: the host array itself, of one that the caller passed in.
    initial: the content at entry, of one that the caller passed in.
    """

    content: Content
    library: Library
    register: int = -1
    initial: int = -1
    object: Any = None
    version: int = 0
    host: int = -1  # register of the array made for it, once it left the path
    frozen: bool = False  # shares memory with what an opaque call made: not to be written
    seen_in: Storage | None = None  # the one of which it is a view
    root: Any = None  # the host array in whose memory it lies
    viewed: bool = False  # whether the program made a view of it
    locked: bool = False  # whether the program made it read-only
    open_behind: int = -1  # a loop, by its first event: what came out of it may be this memory
    in_copy: bool = False  # whether a call that writes was made on a copy, which was read
    writes: list[Any] = field(default_factory=list)  # PartWrites, into one of the caller's
    uncounted: int = 0  # the program's writes less those that the path repeats as such
    counted_by: list[int] = field(default_factory=list)  # registers of arrays that count others
    wants_gradient: bool = False  # of the caller's, in a call that keeps gradients

    @property
    def external(self) -> bool:
        return self.register >= 0

    @property
    def written(self) -> bool:
        return self.version > 0

    @property
    def is_new(self) -> bool:
        """Whether the program made it, and nothing else is known to lie there."""
        return not (self.external or self.frozen or self.seen_in or self.root is not None)


@dataclass(eq=False)
class MaybeView:
    """What is open about an array that is a view or a copy of its base (see maybe_views.py).

    born, source: version of the base's memory when it was made, and the base's value then.
    again, back: from the base's graph value to this one's, with its axes in C order, and back.
    decide: makes the path for calls in which it is a view, or for those with a copy.
    made: whether some step makes it, and so checks that the sizes allow it.
    """

    born: int
    source: int
    again: Callable[[int], int]
    back: Callable[[int], int] | None
    decide: Callable[[], None]
    made: bool = False

    @property
    def content(self) -> int:
        """Its value when it was made, with its axes in C order."""
        self.made = True
        return self.again(self.source)


@dataclass(frozen=True, eq=False)
class Strides:
    """What is known of an array's strides beside its order in memory.

    Those of axes of one element, and of arrays without elements, do not follow from the order.

    kind: "plain": new memory in C order. "given": they decrease from axis to axis, as in C order,
        if those of its origins do. "iterated": so they do if, besides, no axis without elements is
        followed by one of one element. "turned": what they are, origins and sizes decide.
    origins: arrays of the host, and their registers, whose strides it follows.
    like: the array whose strides it takes over, where that one lies densely.
    """

    kind: str = "plain"
    origins: tuple[tuple[int, Any], ...] = ()
    like: Tensor | None = None

    def seen_through(self, *, turned: bool) -> Strides:
        """Those of a view."""
        is_turned = turned or self.kind == "turned"
        return Strides("turned" if is_turned else "iterated", self.origins)


@dataclass(eq=False)
class Tensor:
    """An array. Rank 0 may be a NumPy scalar (`is_scalar`) to Python.

    memory: of an array that is no view. `storage` is the memory it lies in.
    shape: sizes of its axes as the program sees them.
    axes: from outermost to innermost in memory; the graph value has this order. To read them as
        `order` decides what `open_order` still leaves open.
    base, view: a view of `base`: `view` maps the base's graph value to this one's; `write` maps
        (base value, new value of this) to the base's new value; `remake` performs the same
        operation on host arrays when the view leaves the path.
    """

    memory: Storage
    dtype: str  # as libraries name it
    shape: list[_dvm.Dim]
    axes: tuple[int, ...]
    is_scalar: bool = False
    base: Tensor | None = None
    view: Callable[[int], int] | None = None
    write: Callable[[int, int], int] | None = None
    remake: tuple[Any, ...] | None = None
    writeable: bool = True
    contiguous: bool = True  # its elements lie densely in `order`
    loose: bool = False  # axes may have stride 0 or overlap: NumPy may take them in another order
    cast_of: Tensor | None = None  # the array that NumPy itself casts, and whose order it takes
    cached: tuple[int, int] | None = None  # (version of the storage, graph value)
    object: Any = None  # the array seen in the recorded call
    host: int = -1  # register of the view itself, once it left the path
    maybe: MaybeView | None = None
    unchecked: bool = False  # whether an integer that it was made with may be out of bounds
    open_order: Callable[[], None] | None = None
    strides: Strides = Strides()
    leaving: Callable[[], None] | None = None  # settles what only matters outside of the path
    wants_gradient: bool = False  # what is computed of it has one, where gradients are kept
    told: int = 1  # of a write into it, how many its library counts for the memory's owner

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith(("int", "uint"))

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def storage(self) -> Storage:
        return self.memory if self.base is None else self.base.storage

    @property
    def library(self) -> Library:
        """The library of arrays whose rules are its own."""
        return self.storage.library

    @property
    def order(self) -> tuple[int, ...]:
        if self.open_order is not None:
            self.open_order()
        return self.axes


@dataclass(eq=False)
class Flags:
    """`x.flags`; `object` is the one of the recorded call."""

    base: Tensor
    object: Any


@dataclass(eq=False)
class FlatValue:
    """`x.flat`; `walked` once an iteration has begun, which each index would start again."""

    base: Tensor
    walked: bool = False


__all__ = ["Content", "Flags", "FlatValue", "MaybeView", "Storage", "Strides", "Tensor"]
