"""What functions mean, as declarative tables.

Elementwise operations come from the native table (core/ops/elementwise.def): a row there makes the
NumPy ufunc of that name compile. Others are written with @means (registry.py), in terms of graph
ops. A NumPy function in neither is followed if it is written in Python, and otherwise called as it
is (an opaque call).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.registry import FUNCTIONS
from dvm.magpy_capture.values.tables import ITERATOR, RANDOM

#: ufunc -> op of the graph
UFUNCS: dict[np.ufunc, str] = {getattr(np, name): op for op, name in _dvm.ufunc_table}
#: Ufuncs that another one's op computes, in the dtypes that they resolve themselves.
UFUNCS |= {
    np.degrees: "rad2deg",
    np.radians: "deg2rad",
    np.conjugate: "positive",
    np.float_power: "power",
}

#: ufunc -> whether its operands are vectors, where that does not follow from their ranks
VECTORS: dict[np.ufunc, tuple[bool, bool]] = {
    getattr(np, name): vectors
    for name, vectors in (
        ("matvec", (False, True)),
        ("vecmat", (True, False)),
        ("vecdot", (True, True)),
    )
    if hasattr(np, name)
}

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


#: NumPy's own, in Python: called as they are rather than followed
OPAQUE: frozenset[Any] = frozenset(
    [getattr(np.linalg, name) for name in np.linalg.__all__ if name != "LinAlgError"]
    + [getattr(np.fft, name) for name in np.fft.__all__]
    + [np.lib.stride_tricks.sliding_window_view, np.lib.stride_tricks.as_strided]
    + [
        getattr(np, name)
        for name in (
            "sort argsort partition argpartition median searchsorted unique einsum_path "
            "histogram bincount nonzero flatnonzero argwhere lexsort "
            "interp convolve correlate in1d isin union1d intersect1d setdiff1d digitize "
            "common_type min_scalar_type matmul"
        ).split()
        if hasattr(np, name)
    ]
)


def is_numpys(function: Any) -> bool:
    return (getattr(function, "__module__", None) or "").split(".")[0] == "numpy"


def _checks() -> list[Any]:
    """The assertions of numpy.testing, which look and raise; of programs that have imported it."""
    testing = sys.modules.get("numpy.testing")
    callers = ("assert_warns", "assert_no_warnings", "assert_raises", "assert_raises_regex")
    names = testing.__all__ if testing else []
    return [
        getattr(testing, name)
        for name in names
        if name.startswith("assert_") and name not in (*callers, "assert_no_gc_cycles")
    ]


def _limits() -> list[Any]:
    """What finfo and iinfo compute when they are made or asked."""
    made = [np.finfo, np.iinfo, np.finfo.__new__, np.iinfo.__init__]
    for cls in (np.finfo, np.iinfo):
        made += [value.fget for value in vars(cls).values() if isinstance(value, property)]
    return made


def _managers() -> list[Any]:
    """Those of `with` that dvm knows (contexts)."""
    methods = [getattr(np.errstate, name) for name in ("__init__", "__enter__", "__exit__")]
    return [np.errstate, np.geterr, np.seterr, *methods]


def _walks() -> list[Any]:
    """Iterators in Python that have a meaning here."""
    return [getattr(cls, name) for cls in (np.ndenumerate, np.ndindex) for name in ITERATOR]


def leaves() -> Iterable[Any]:
    """Callables of NumPy's that the tracer does not follow, for they have a meaning here."""
    return [
        *(function for function in FUNCTIONS if is_numpys(function)),
        *OPAQUE,
        *_checks(),
        *_limits(),
        *_managers(),
        *_walks(),
        *RANDOM,
        *(np.vectorize, np.vectorize.__init__, np.vectorize.__call__),
        np.ndindex,
    ]
