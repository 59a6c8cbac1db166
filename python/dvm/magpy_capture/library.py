"""What the lowering asks a library of arrays. NumPy is the first (meanings/numpy/library.py).

Tensors are the same for each library: their storage, views, order in memory, writes, reductions.
Two things are the library's own: its objects, which are to be recognised, and how the host handles
its arrays, which a path calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dvm import _dvm

#: dtype as libraries name it -> as the Graph does
DTYPES: dict[str, str] = dict(_dvm.dtype_table)
#: An array of the library, as the program has it.
Array = Any
#: Names, which may be many.
Names = Container[str]
#: A function of the host, which a path calls on each replay.
HostFunction = Callable[..., Any]


class Library(Protocol):
    """A library of arrays whose programs are captured."""

    @property
    def name(self) -> str:
        """Of its module."""

    # ---- what its objects are

    @property
    def rules(self) -> str:
        """The part that has its rules (tensors/rules.py)."""

    @property
    def array(self) -> type:
        """The class of its arrays."""

    @property
    def scalar(self) -> type:
        """The class of its scalars: what an array gives for one element."""

    @property
    def classes(self) -> tuple[type, ...]:
        """Of its arrays and scalars."""

    @property
    def plain(self) -> tuple[type, ...]:
        """The class of its arrays, and those whose arrays are like it in all they do."""

    @property
    def has_scalars(self) -> bool:
        """Whether it gives scalars in place of arrays of rank 0."""

    @property
    def reshapes_copies(self) -> bool:
        """Whether an array that has to be copied for another shape is a view of that copy."""

    @property
    def integer(self) -> type:
        """The class of scalars that are whole numbers."""

    @property
    def inexact(self) -> type:
        """The class of scalars that are floats, of which one may be no number (NaN)."""

    @property
    def dtype(self) -> type:
        """The class of its dtypes."""

    @property
    def fields(self) -> type:
        """The class of scalars with fields, which may be views of an array."""

    @property
    def metaclasses(self) -> tuple[type, ...]:
        """Those of its classes that have their own isinstance.

        They answer as Python does, but for what the library's rules guard.
        """

    @property
    def plain_scalars(self) -> frozenset[type]:
        """Classes of scalars whose operators run no other code."""

    @property
    def elementwise(self) -> type:
        """The class of its elementwise functions."""

    @property
    def describing(self) -> tuple[type, ...]:
        """Classes of objects that say how an array is, and no more: dtypes, flags."""

    @property
    def unchanging(self) -> tuple[type, ...]:
        """Classes of objects that never change: functions, dtypes."""

    def is_single(self, seen: Any) -> bool:
        """Whether there is one such object: a constant, a callable object."""

    def has_equals(self, seen: Any) -> bool:
        """Whether it is a dtype made at run time, which equal ones stand for."""

    @property
    def clocks(self) -> tuple[Any, ...]:
        """What reads a clock for some of its arguments."""

    def is_told(self, seen: Any) -> bool:
        """Whether it is a dtype of which the core tells equal ones."""

    def is_foreign(self, seen: Any, /) -> bool:
        """Whether the host computes with that array, which no Graph can hold."""

    @property
    def bare(self) -> tuple[type, ...]:
        """Classes of arrays whose whole content is their own memory."""

    def beside(self, array: Array) -> tuple[str, ...]:
        """Attributes in which it keeps more of its content: a mask."""

    def is_compound(self, array: Array) -> bool:
        """Whether the array keeps more than its elements: a mask."""

    def fits_graph(self, seen: Any) -> bool:
        """Whether it is an array that the Graph can hold."""

    def is_empty(self, array: Array) -> bool:
        """Whether it has no elements."""

    def is_writeable(self, array: Array) -> bool:
        """Whether the program may write into it."""

    def is_held(self, scalar: Any) -> bool:
        """Whether it is a scalar whose dtype the Graph has."""

    def dtype_of(self, seen: Any) -> str:
        """The name of an array's or a scalar's dtype."""

    def class_of(self, dtype: str, is_scalar: bool) -> type:
        """The class of its arrays, or of its scalars, of that dtype."""

    def strides(self, array: Array) -> tuple[int, ...]:
        """How far the elements along each axis lie apart, in any unit."""

    def layout(self, array: Array) -> tuple[str, tuple[int, ...]]:
        """How the array lies in memory ("c_contiguous", ...), and its axes in that order."""

    def repeated_axes(self, array: Array) -> int:
        """The axes of more than one element along which memory is repeated, as bits."""

    def overlaps_itself(self, array: Array) -> bool:
        """Whether some of its elements share memory."""

    @property
    def of_lists(self) -> frozenset[Any]:
        """Functions that make new arrays, or numbers, of what is in a list."""

    @property
    def generators(self) -> tuple[type, ...]:
        """Classes of generators of random numbers, the first that of the global one."""

    def generator_of(self, function: Any) -> Any:
        """The global generator that a function draws from, or None."""

    def called_by(self, thing: Any) -> list[Any] | None:
        """The functions that an object of the library's calls; None of another."""

    def is_function(self, thing: Any) -> bool:
        """Whether it is a public function whose result follows from its arguments alone."""

    def is_whole(self, function: Any) -> bool:
        """Whether it is a followed function of its own, called as it is where that fails."""

    def is_code(self, function: Any) -> bool:
        """Whether it is the code of a class of arrays of its own, which nobody looks into."""

    def tells_state(self, function: Any) -> bool:
        """Whether it does nothing but tell of the library, on one call so and on another so."""

    def is_called(self, function: Any) -> bool:
        """Whether it may be called as it is, where its meaning gives up."""

    def writes(self, function: Any) -> bool:
        """Whether it is a function whose effect is that it writes into its first argument."""

    def makes_new(self, function: Any) -> bool:
        """Whether its result is always new memory."""

    @property
    def pure_methods(self) -> Names:
        """Methods of arrays that change nothing, called as they are where no table has them."""

    @property
    def writing_methods(self) -> Names:
        """Methods that write into the array and give None."""

    @property
    def own_methods(self) -> frozenset[str]:
        """Methods that its classes derived from the array have besides."""

    @property
    def facts(self) -> tuple[type, ...]:
        """Classes of objects that say what a dtype is like."""

    @property
    def function_types(self) -> tuple[type, ...]:
        """Classes of functions that Python code of its own defines."""

    def owns(self, function: Any) -> bool:
        """Whether a function of Python is the library's own."""

    # ---- memory of several arrays

    def may_share(self, one: Array, other: Array) -> bool:
        """Whether their memory may overlap, told by where each begins and ends."""

    def share_elements(self, one: Array, other: Array) -> bool:
        """Whether some element of one is one of the other's."""

    #: the attribute by which an array tells whose view it is
    base: str

    def owner_of(self, array: Array) -> Array | None:
        """The dense array of the same dtype whose memory it is; None if there is none."""

    def place_of(self, array: Array) -> tuple[tuple[int, ...] | None, tuple[slice, ...]] | None:
        """Shape and key such that `owner.reshape(shape)[key]` is the array, if there are any."""

    # ---- arrays that the Graph cannot hold

    def number_classes(self) -> tuple[type, ...]:
        """The classes in Python that arrays hold, whose operators are guarded to be their own."""

    @property
    def holds_plain(self) -> HostFunction:
        """(array): whether all elements are immutable objects of Python itself."""

    @property
    def like(self) -> HostFunction:
        """(array): a copy that lies in memory as it does."""

    @property
    def is_view_or_empty(self) -> HostFunction:
        """(array, base): whether it has no elements, or may have them in the memory of `base`."""

    @property
    def count_writes(self) -> HostFunction | None:
        """(array, times): counts writes into it that were not made one by one, if it counts any.

        Fewer than none: so many are not to count that were made.
        """

    @property
    def number_writes(self) -> HostFunction | None:
        """(array, times, *others): it has counted so many, and those that the others have."""

    # ---- what a path calls

    @property
    def as_array(self) -> HostFunction:
        """(scalar): the array of its one element."""

    @property
    def transpose(self) -> HostFunction:
        """(array, axes): the view with its axes in that order."""

    @property
    def reshape(self) -> HostFunction:
        """(array, shape): a view where that can be, else a copy."""

    @property
    def copy(self) -> HostFunction:
        """(array, order=): new memory; `order` is "C", "F" or "K", that of the array."""

    @property
    def set_writeable(self) -> HostFunction:
        """(array, write=): whether the array may be written from now on."""

    def scalar_type(self, dtype: str) -> type:
        """(scalar): what makes another scalar of the dtype."""

    # ---- floating-point errors

    @property
    def tells_errors(self) -> bool:
        """Whether it warns or raises where floating-point arithmetic has such an error."""

    def error_state(self) -> tuple[str, str, str, str]:
        """What the program told it about these: divide, over, under, invalid."""

    def quiet(self) -> AbstractContextManager[Any]:
        """Within it the library ignores them all."""

    # ---- numbers

    def number(self, literal: Any, dtype: str) -> Array:
        """A number of Python's as an array of that dtype, as the library converts it.

        Raises FloatingPointError where it does not fit.
        """


__all__ = ["DTYPES", "Array", "HostFunction", "Library"]
