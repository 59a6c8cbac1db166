"""The libraries of arrays that dvm captures, and of which an object is."""

from __future__ import annotations

from typing import Any

from dvm.magpy_capture.library import Library
from dvm.magpy_capture.numpy.library import NUMPY

LIBRARIES: tuple[Library, ...] = (NUMPY,)
#: classes of their arrays and scalars
ARRAYS: tuple[type, ...] = tuple(library.array for library in LIBRARIES)
SCALARS: tuple[type, ...] = tuple(library.scalar for library in LIBRARIES)
#: classes of whole numbers and of floats among the scalars
INTEGERS: tuple[Any, ...] = tuple(library.integer for library in LIBRARIES)
INEXACT: tuple[Any, ...] = tuple(library.inexact for library in LIBRARIES)
#: classes of their elementwise functions
ELEMENTWISE: tuple[Any, ...] = tuple(library.elementwise for library in LIBRARIES)
#: classes of objects that never change: functions, dtypes
UNCHANGING: tuple[Any, ...] = tuple(kind for library in LIBRARIES for kind in library.unchanging)

#: those whose objects are equal where they say the same: dtypes
EQUALS: tuple[Any, ...] = tuple(library.dtype for library in LIBRARIES)
#: those whose objects say how an array is, and no more
DESCRIBING: tuple[Any, ...] = tuple(kind for library in LIBRARIES for kind in library.describing)


def library_of(value: Any) -> Library:
    """Whose array or scalar it is.

    Raises:
        TypeError: if it is neither.
    """
    for library in LIBRARIES:
        if issubclass(type(value), (library.array, library.scalar)):
            return library
    raise TypeError(type(value))


def fits_graph(value: Any) -> bool:
    """Whether it is an array that a Graph can hold."""
    return any(library.fits_graph(value) for library in LIBRARIES)


def is_held(scalar: Any) -> bool:
    """Whether it is a scalar of a library, of a dtype that a Graph has."""
    return is_scalar(scalar) and library_of(scalar).is_held(scalar)


def is_array(value: Any) -> bool:
    """Whether it is an array of any class; `isinstance` would ask an object of the user's."""
    return issubclass(type(value), ARRAYS)


def is_scalar(value: Any) -> bool:
    """Whether it is a scalar of a library, which is no number of Python's alone."""
    return issubclass(type(value), SCALARS)


def is_plain_array(value: Any) -> bool:
    """Whether it is an array of a library's own class, and of none that is derived from it."""
    return type(value) in ARRAYS


def is_single(value: Any) -> bool:
    """Whether it is an object of a library of which there is one: a constant, a function."""
    return any(library.is_single(value) for library in LIBRARIES)


def has_equals(value: Any) -> bool:
    """Whether it is an unchanging object of a library, one of many that are equal: a dtype."""
    return any(library.has_equals(value) for library in LIBRARIES)


def is_told(value: Any) -> bool:
    """Whether it is a dtype of which the core tells equal ones (cpp/capture/path/literals.cpp)."""
    return any(library.is_told(value) for library in LIBRARIES)


def is_function(thing: Any) -> bool:
    """Whether it is a function of a library's, whose result follows from its arguments alone."""
    return any(library.is_function(thing) for library in LIBRARIES)


def writes(function: Any) -> bool:
    """Whether it is a function of a library's that writes into its first argument."""
    return any(library.writes(function) for library in LIBRARIES)


def makes_new(function: Any) -> bool:
    """Whether its result is always new memory."""
    return any(library.makes_new(function) for library in LIBRARIES)


def owned(function: Any) -> bool:
    """Whether a function of Python is a library's own."""
    return any(library.owns(function) for library in LIBRARIES)


__all__ = [
    *(
        "ARRAYS",
        "DESCRIBING",
        "ELEMENTWISE",
        "EQUALS",
        "INEXACT",
        "LIBRARIES",
        "SCALARS",
        "UNCHANGING",
    ),
    *(
        "fits_graph",
        "has_equals",
        "is_array",
        "is_function",
        "is_plain_array",
        "is_scalar",
        "is_single",
    ),
    *("is_held", "is_told", "library_of", "makes_new", "owned", "writes"),
]
