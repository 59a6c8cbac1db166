"""What functions mean, as one declarative table.

Elementwise operations come from the native table (core/elementwise.def): a row there makes the
NumPy ufunc of that name compile. The rest maps a function or an array method to the name of a
`Lowering` method. A function that is in no table is not captured.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dvm import _dvm

#: ufunc -> op of the graph
UFUNCS: dict[np.ufunc, str] = {getattr(np, name): op for op, name in _dvm.ufunc_table}

#: operator of the language -> the ufunc that ndarray implements it with
BINARY_OPERATORS: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "@": np.matmul,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
}
COMPARE_OPERATORS: dict[str, Any] = {
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
UNARY_OPERATORS: dict[str, Any] = {"-": np.negative, "+": np.positive, "~": np.invert}

#: NumPy function -> method of Lowering; called with the abstract arguments
FUNCTIONS: dict[Any, str] = {
    np.sum: "sum",
    np.max: "max",
    np.amax: "max",
    np.mean: "mean",
    np.var: "var",
    np.std: "std",
    np.where: "where",
    np.reshape: "reshape",
    np.transpose: "transpose",
    np.expand_dims: "expand_dims",
    len: "length",
}

#: array method -> method of Lowering; called with the array first
METHODS: dict[str, str] = {
    "sum": "sum",
    "max": "max",
    "mean": "mean",
    "var": "var",
    "std": "std",
    "astype": "astype",
    "reshape": "reshape_method",
    "transpose": "transpose_method",
}

#: pure NumPy functions that run as they are, as one host call of the plan
OPAQUE: frozenset[Any] = frozenset({np.matmul, np.dot})

#: pure functions that are evaluated once when all their arguments are literals
FOLDED: frozenset[Any] = frozenset(
    {float, int, bool, abs, min, max, np.float16, np.float32, np.float64, np.int32, np.int64}
    | {math.sqrt, math.exp, math.log, math.pow, math.tanh, math.erf}
)
