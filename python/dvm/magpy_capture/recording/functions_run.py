"""Which Python function a callee runs in the end, told by the objects alone."""

from __future__ import annotations

import functools
import types
from typing import Any

from dvm import _dvm
from dvm.classes import lookup, module_of, qualname_of


def wrapped(callee: Any) -> Any:
    """The function that a C wrapper calls with its own arguments, or None."""
    name = f"{module_of(type(callee))}.{qualname_of(type(callee))}"
    if name == "numpy._ArrayFunctionDispatcher":
        return callee._implementation
    return callee.__wrapped__ if type(callee) is _dvm.Compiled else None


def defines(kind: type, name: str, function: Any) -> bool:
    """Whether the type has the function under this name, itself or inherited."""
    found = lookup(kind, name)
    return found is function or (type(found) is staticmethod and found.__func__ is function)


def runs(callee: Any, function: Any) -> bool:
    """Whether calling it runs the function, by the objects alone."""
    if _dvm.is_leaf(callee):
        return False
    if callee is function:
        return True
    if type(callee) is types.MethodType:
        return runs(callee.__func__, function)
    if type(callee) is functools.partial:
        return runs(callee.func, function)
    if (inner := wrapped(callee)) is not None:
        return inner is function
    if lookup(type(callee), "__call__") is function:
        return True
    if not isinstance(callee, type):
        return False
    return defines(callee, "__new__", function) or defines(callee, "__init__", function)


__all__ = ["defines", "lookup", "runs", "wrapped"]
