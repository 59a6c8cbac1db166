"""NumPy's own subclasses of ndarray: where their code is, and numpy.ma if it was imported.

Importing it here would take as long as importing dvm.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

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


def is_masked_function(value: Any) -> bool:
    """Whether it is one of the callable objects of numpy.ma, such as np.ma.add."""
    return "numpy.ma.core" in sys.modules and type(value) in _callables()


@functools.cache
def _callables() -> frozenset[type]:
    core = sys.modules["numpy.ma.core"]
    kinds = {type(value) for value in vars(core).values() if callable(value)}
    return frozenset(kind for kind in kinds if kind.__module__ == core.__name__)
