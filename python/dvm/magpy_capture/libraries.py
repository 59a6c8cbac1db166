"""The libraries of arrays that dvm captures, and of which an object is."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from dvm.magpy_capture.library import Library
from dvm.magpy_capture.meanings.numpy.library import NUMPY as NUMPY

#: NumPy, and PyTorch once a program brings it along (meanings/torch). What is told by classes below
#: has NumPy alone: PyTorch has tensors for scalars, and no objects of these other kinds.
LIBRARIES: list[Library] = [NUMPY]
#: of modules whose functions nobody looks into
NAMES = frozenset({NUMPY.name})
#: classes of scalars
SCALARS: tuple[type, ...] = (NUMPY.scalar,)
#: classes of scalars with fields, and of those whose operators run no other code
FIELDS: tuple[type, ...] = (NUMPY.fields,)
PLAIN_SCALARS = NUMPY.plain_scalars
#: classes of generators of random numbers, and those of the global ones
GENERATORS: tuple[type, ...] = NUMPY.generators
GLOBAL_GENERATORS: tuple[type, ...] = NUMPY.generators[:1]
#: classes of functions in Python of a library's own
FUNCTION_TYPES = NUMPY.function_types
#: what reads a clock for some of its arguments
CLOCKS_OF: tuple[Any, ...] = NUMPY.clocks
#: classes of whole numbers and of floats among the scalars
INTEGERS: tuple[Any, ...] = (NUMPY.integer,)
INEXACT: tuple[Any, ...] = (NUMPY.inexact,)
#: classes of their elementwise functions
ELEMENTWISE: tuple[Any, ...] = (NUMPY.elementwise,)
#: classes of objects that never change: functions, dtypes
UNCHANGING: tuple[Any, ...] = NUMPY.unchanging

#: those whose objects are equal where they say the same: dtypes
EQUALS: tuple[Any, ...] = (NUMPY.dtype,)


def join(library: Library) -> None:
    """Its arrays are arrays from here on."""
    global _arrays, _facts, _plain
    LIBRARIES.append(library)
    is_library_file.cache_clear()
    _arrays = tuple(each.array for each in LIBRARIES)
    _plain = tuple(kind for each in LIBRARIES for kind in each.plain)
    _facts = tuple(kind for each in LIBRARIES for kind in each.facts)


#: classes of arrays, and those of plain ones
_arrays: tuple[type, ...] = (NUMPY.array,)
_plain: tuple[type, ...] = NUMPY.plain
#: those of objects that say what a dtype is like
_facts: tuple[type, ...] = NUMPY.facts


@functools.cache
def is_library_file(file: str) -> bool:
    """Whether code in it is a library's, or dvm's own, and not what the user wrote."""
    names = [*(each.name for each in LIBRARIES), "dvm"]
    files = [sys.modules[name].__file__ or "" for name in names]
    return any(file.startswith(os.path.dirname(own) + os.sep) for own in files)


def is_of_library(module: Any) -> bool:
    """Whether a module of that name is a library's."""
    return type(module) is str and module.partition(".")[0] in NAMES


def generator_of(function: Any) -> Any:
    """The global generator that a function of a library draws from, or None."""
    found = [library.generator_of(function) for library in LIBRARIES]
    return next((each for each in found if each is not None), None)


def called_by(thing: Any) -> list[Any] | None:
    """The functions that an object of a library calls; None of another object."""
    for library in LIBRARIES:
        if (found := library.called_by(thing)) is not None:
            return found
    return None


def library_of(value: Any) -> Library:
    """Whose array or scalar it is.

    Raises:
        TypeError: if it is neither.
    """
    for library in LIBRARIES:
        if issubclass(type(value), library.classes):
            return library
    raise TypeError(type(value))


def fits_graph(value: Any) -> bool:
    """Whether it is an array that a Graph can hold."""
    return is_array(value) and library_of(value).fits_graph(value)


def is_held(scalar: Any) -> bool:
    """Whether it is a scalar of a library, of a dtype that a Graph has."""
    return is_scalar(scalar) and library_of(scalar).is_held(scalar)


def is_array(value: Any) -> bool:
    """Whether it is an array of any class; `isinstance` would ask an object of the user's."""
    return issubclass(type(value), _arrays)


def holds_objects(array: Any) -> bool:
    """Whether its elements are objects of Python's, which PyTorch's never are."""
    return getattr(array.dtype, "hasobject", False)


def is_of_lists(function: Any) -> bool:
    """Whether it makes new arrays, or numbers, of what is in a list."""
    return any(function in library.of_lists for library in LIBRARIES)


def is_empty(array: Any) -> bool:
    """Whether it has no elements."""
    return library_of(array).is_empty(array)


def is_fact(value: Any) -> bool:
    """Whether it says what a dtype is like."""
    return type(value) in _facts


def is_array_class(kind: type) -> bool:
    return issubclass(kind, _arrays)


def is_scalar(value: Any) -> bool:
    """Whether it is a scalar of a library, which is no number of Python's alone."""
    return issubclass(type(value), SCALARS)


def tensor_metaclasses() -> tuple[type, ...]:
    """Metaclasses of plain arrays that have their own isinstance, and answer as Python does."""
    return tuple(kind for each in LIBRARIES for kind in each.metaclasses)


def is_plain_array(value: Any) -> bool:
    """Whether it is an array of a library's own class, and of none that is derived from it."""
    return type(value) in _plain


def is_describing(value: Any) -> bool:
    """Whether it says how an array is, and no more: a dtype, flags."""
    return any(isinstance(value, library.describing) for library in LIBRARIES)


def has_equals(value: Any) -> bool:
    """Whether it is an unchanging object of a library, one of many that are equal: a dtype."""
    return issubclass(type(value), EQUALS) and any(each.has_equals(value) for each in LIBRARIES)


def is_count_of_writes(function: Any) -> bool:
    """Whether a library counts writes by it that were not made one by one."""
    return function is not None and any(function is each.count_writes for each in LIBRARIES)


def _asks(question: str) -> Callable[[Any], bool]:
    """Whether one of the libraries says so of an object."""

    def ask(thing: Any) -> bool:
        for library in LIBRARIES:  # noqa: SIM110 - of two, a generator would be half the time
            if getattr(library, question)(thing):
                return True
        return False

    return ask


#: whether it is an object of a library of which there is one: a constant, a function
is_single = _asks("is_single")
#: whether it is a dtype of which the core tells equal ones (cpp/capture/path/literals.cpp)
is_told = _asks("is_told")
#: whether it is a function of a library's, whose result follows from its arguments alone
is_function = _asks("is_function")
#: whether it does nothing but tell of a library, on one call so and on another so
tells_state = _asks("tells_state")
#: whether it is a followed function of a library's, called as it is where that fails
is_whole = _asks("is_whole")
#: whether it is the code of a class of arrays of a library's own
is_code = _asks("is_code")
#: whether it may be called as it is, where its meaning gives up
is_called = _asks("is_called")
#: whether it is a function of a library's that writes into its first argument
writes = _asks("writes")
#: whether its result is always new memory
makes_new = _asks("makes_new")
#: whether a function of Python is a library's own
owned = _asks("owns")
