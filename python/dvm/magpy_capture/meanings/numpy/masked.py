"""NumPy's own subclasses of ndarray: where their code is, and numpy.ma if it was imported.

Importing it here would take as long as importing dvm.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

#: Where NumPy keeps the Python code of its own subclasses.
MODULES = frozenset(
    {"numpy.ma.core", "numpy.ma.extras", "numpy.matrixlib.defmatrix", "numpy._core.records"}
)


def is_numpys_code(function: Any) -> bool:
    """Whether it is the Python code of a class of arrays of NumPy's own."""
    scope = getattr(function, "__globals__", {})
    module = sys.modules.get(scope.get("__name__", ""))
    return scope.get("__name__") in MODULES and module is not None and vars(module) is scope


def masked_classes() -> tuple[type, ...]:
    """The array and the constant, of programs that have imported numpy.ma."""
    core = sys.modules.get("numpy.ma.core")
    return (core.MaskedArray, core.MaskedConstant) if core else ()


def is_masked_constant(value: Any) -> bool:
    """Whether it is np.ma.masked, of which there is one."""
    core = sys.modules.get("numpy.ma.core")
    return core is not None and value is core.masked


def is_masked(value: Any) -> bool:
    return issubclass(type(value), masked_classes())


def memories(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """What an array keeps its content in: a masked array its mask, too."""
    mask = array._mask if is_masked(array) else None  # type: ignore[attr-defined]
    return [array, mask] if isinstance(mask, np.ndarray) else [array]


def may_share(one: Any, other: Any) -> bool:
    """Whether the memory of two arrays may overlap, that of masks included."""
    if type(one) is np.ndarray is type(other):
        return np.may_share_memory(one, other)
    return any(np.may_share_memory(a, b) for a in memories(one) for b in memories(other))


def is_masked_function(value: Any) -> bool:
    """Whether it is one of the callable objects of numpy.ma, such as np.ma.add."""
    return "numpy.ma.core" in sys.modules and type(value) in _callables()


@functools.cache
def _callables() -> frozenset[type]:
    core = sys.modules["numpy.ma.core"]
    kinds = {type(value) for value in vars(core).values() if callable(value)}
    return frozenset(kind for kind in kinds if kind.__module__ == core.__name__)
