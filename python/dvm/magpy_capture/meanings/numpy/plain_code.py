"""Functions of the user's that C code calls for each element: np.vectorize, np.frompyfunc.

They are not followed, for an array has many elements. So they must do nothing but compute from what
they are given, from numbers that they find by name, and by functions of which the same is known.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import gc
import math
import types
from typing import Any

import numpy as np

from dvm.magpy_capture.libraries import ELEMENTWISE, is_scalar
from dvm.magpy_capture.recording.operations import operations

#: Instructions that leave alone all but the function's own variables.
LOCAL = frozenset(
    "nothing resume call call_kw kw_names push_null pop_top return_value copy swap load_const "
    "load_fast store_fast delete_fast load_global load_global_under_null load_deref load_attr "
    "load_method binary subscript store_subscript slice store_slice compare compare_truth to_bool "
    "is contains unary_negative unary_positive unary_not unary_invert build_tuple build_list "
    "list_extend unpack_sequence format convert build_string get_iter for_iter jump_forward "
    "jump_backward jump_if_true_or_pop jump_if_false_or_pop raise_varargs "
    "load_common_constant".split()
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
    for each in operations(code):
        if each.name not in LOCAL and not each.name.startswith("pop_jump_"):
            return None
        if each.name.startswith("load_global"):
            found.append([each.value])
        elif reads and each.name in ("load_attr", "load_method"):
            found[-1].append(each.value)
        reads = each.name.startswith("load_global") or (reads and each.name == "load_attr")
    return tuple(map(tuple, found))
