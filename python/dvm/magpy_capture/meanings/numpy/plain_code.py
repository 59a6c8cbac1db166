"""Functions of the user's that C code calls for each element: np.vectorize, np.frompyfunc.

They are not followed, for an array has many elements. So they must do nothing but compute from what
they are given, from numbers that they find by name, and by functions of which the same is known.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import functools
import gc
import math
import types
from typing import Any

import numpy as np

from dvm.magpy_capture.libraries import ELEMENTWISE, is_scalar

#: Instructions that leave alone all but the function's own variables.
LOCAL = frozenset(
    "RESUME PRECALL CALL KW_NAMES PUSH_NULL POP_TOP RETURN_VALUE COPY SWAP NOP CACHE EXTENDED_ARG "
    "LOAD_CONST LOAD_FAST STORE_FAST DELETE_FAST LOAD_GLOBAL LOAD_DEREF LOAD_CLASSDEREF "
    "COPY_FREE_VARS LOAD_ATTR LOAD_METHOD BINARY_OP BINARY_SUBSCR STORE_SUBSCR COMPARE_OP IS_OP "
    "CONTAINS_OP UNARY_NEGATIVE UNARY_POSITIVE UNARY_NOT UNARY_INVERT BUILD_TUPLE BUILD_LIST "
    "LIST_EXTEND UNPACK_SEQUENCE FORMAT_VALUE BUILD_STRING GET_ITER FOR_ITER JUMP_FORWARD "
    "JUMP_BACKWARD JUMP_IF_TRUE_OR_POP JUMP_IF_FALSE_OR_POP RAISE_VARARGS "
    "LOAD_ASSERTION_ERROR".split()
)
#: Builtins that give a value, and keep and change nothing.
BUILTINS = frozenset(
    getattr(builtins, name)
    for name in (
        "abs all any bool chr complex divmod enumerate float int isinstance len list max min ord "
        "pow range repr reversed round sorted str sum tuple zip ArithmeticError ValueError "
        "TypeError IndexError KeyError ZeroDivisionError"
    ).split()
)
VALUES = (int, float, complex, bool, str, bytes, type(None), range, type(Ellipsis))
MODULES = (math, cmath, np)
MOST_LEVELS = 8  # of functions that call each other

Names = tuple[tuple[str, ...], ...]


def is_made_of_function(function: Any) -> bool:
    """Whether it is a ufunc that np.frompyfunc made."""
    return isinstance(function, ELEMENTWISE) and function.__name__.endswith(" (vectorized)")


def functions_in(thing: Any) -> list[Any]:
    """The functions that a ufunc or an np.vectorize calls."""
    if type(thing) is np.vectorize:
        return [thing.pyfunc]
    return [each for each in gc.get_referents(thing) if callable(each)]


def runs_plainly(thing: Any) -> bool:
    """Whether a call of it does nothing but compute what it gives."""
    functions = functions_in(thing)
    return bool(functions) and all(_is_plain(function, MOST_LEVELS) for function in functions)


def _is_plain(value: Any, levels: int) -> bool:
    kind = type(value)
    if kind in VALUES or is_scalar(value):
        return True
    if kind is tuple:
        return all(_is_plain(part, levels) for part in value)
    if kind is types.FunctionType:
        return levels > 0 and _is_plain_function(value, levels - 1)
    if isinstance(value, ELEMENTWISE):
        return not is_made_of_function(value)
    if kind is types.BuiltinFunctionType and getattr(value, "__self__", None) in (math, cmath):
        return True
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__module__ == "numpy"
    return isinstance(value, (type, types.BuiltinFunctionType)) and value in BUILTINS


def _is_plain_function(function: types.FunctionType, levels: int) -> bool:
    found = names_of(function.__code__)
    if found is None or function.__kwdefaults__:
        return False
    if not all(_is_plain(value, levels) for value in function.__defaults__ or ()):
        return False
    for cell in function.__closure__ or ():
        try:
            held = cell.cell_contents
        except ValueError:
            return False
        if held is not function and not _is_plain(held, levels):
            return False
    for name, *attributes in found:
        if name in function.__globals__:
            value = function.__globals__[name]
        else:
            value = vars(builtins).get(name)
        for attribute in attributes:
            if not any(value is module for module in MODULES):
                return False
            value = vars(value).get(attribute)
        if value is not function and not _is_plain(value, levels):
            return False
    return True


@functools.lru_cache(maxsize=1 << 10)
def names_of(code: types.CodeType) -> Names | None:
    """The names from outside that a code reads, with attributes; None if it does more than that."""
    found: list[list[str]] = []
    reads = False  # whether the instruction before has read a name from outside
    for each in dis.get_instructions(code):
        if each.opname not in LOCAL and not each.opname.startswith("POP_JUMP_"):
            return None
        if each.opname == "LOAD_GLOBAL":
            found.append([each.argval])
        elif reads and each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found[-1].append(each.argval)
        reads = each.opname == "LOAD_GLOBAL" or (reads and each.opname == "LOAD_ATTR")
    return tuple(map(tuple, found))
