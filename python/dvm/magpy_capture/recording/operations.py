"""What a code object does, operation by operation, whichever version of CPython it is of.

cpp/capture/cpython/ops.def says what there is; two operations that the compiler has put into one
instruction come one after the other here.
"""

from __future__ import annotations

import functools
import types
from typing import Any, NamedTuple

from dvm import _dvm

#: Operations by what their operand is an index of.
OF_NAMES = frozenset(
    "load_global load_global_under_null store_global delete_global load_attr load_method "
    "store_attr delete_attr import_name import_from load_name store_name".split()
)
OF_VARIABLES = frozenset(
    "load_fast load_fast_and_clear store_fast delete_fast load_closure make_cell load_deref "
    "store_deref delete_deref".split()
)


class Operation(NamedTuple):
    """One operation.

    value: what its operand stands for: a name, a constant, or the number itself.
    start, unit: code units, of the prefixes of its instruction and of that itself.
    target: where it may jump to, a code unit; -1: nowhere.
    depth: entries on the value stack before it; -1 of the second of two, and where nothing leads.
    goes_on: whether what is behind it may follow.
    """

    name: str
    arg: int
    value: Any
    start: int
    unit: int
    target: int
    depth: int
    goes_on: bool


def read_operations(code: types.CodeType) -> tuple[Operation, ...]:
    """All operations of a code object, in the order of its instructions."""
    variables = variables_of(code)
    found = []
    for name, arg, start, unit, target, depth, goes_on in _dvm.operations(code):
        value: Any = arg
        if name in OF_NAMES:
            value = code.co_names[arg]
        elif name in OF_VARIABLES:
            value = variables[arg]
        elif name == "load_const":
            value = code.co_consts[arg]
        elif name == "load_small_int":  # a constant that the instruction itself holds
            name = "load_const"
        found.append(Operation(name, arg, value, start, unit, target, depth, goes_on))
    return tuple(found)


#: As `read_operations`; it keeps code objects, and what is among their constants, alive.
operations = functools.lru_cache(maxsize=256)(read_operations)


def variables_of(code: types.CodeType) -> tuple[str, ...]:
    """The local variables of a code object by the numbers that operations have for them."""
    own = code.co_varnames
    return (*own, *(name for name in code.co_cellvars if name not in own), *code.co_freevars)


__all__ = ["Operation", "operations", "read_operations", "variables_of"]
