"""Functions that make one element of many, and running ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm
from dvm.lazy.door import Array, through_numpy
from dvm.lazy.elementwise import sqrt
from dvm.lazy.shapes import astype

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_CORE = _dvm.lazy_functions

count_nonzero = through_numpy(np.count_nonzero)
_cumulative_prod = through_numpy(np.cumulative_prod)
_cumulative_sum = through_numpy(np.cumulative_sum)
diff = through_numpy(np.diff)
_prod = through_numpy(np.prod)
_sum = through_numpy(np.sum)
_var = through_numpy(np.var)


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements are true."""
    return _CORE["all"](x, axis, keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether any element is true."""
    return _CORE["any"](x, axis, keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element; NaN wins."""
    return _CORE["max"](x, axis, keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element; NaN wins."""
    return _CORE["min"](x, axis, keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The arithmetic mean."""
    return _CORE["mean"](x, axis, keepdims)


def _folded(name: str, numpy: Any, x: Any, axis: Any, dtype: Any, keepdims: bool) -> Any:
    if dtype is not None:
        if np.dtype(dtype).kind != "f" or type(x) is not Array:
            return numpy(x, axis=axis, dtype=dtype, keepdims=keepdims)
        x = astype(x, dtype, copy=False)
    return _CORE[name](x, axis, keepdims)


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum. Small integers are added up as 64-bit ones."""
    return _folded("sum", _sum, x, axis, dtype, keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product. Small integers are multiplied as 64-bit ones."""
    return _folded("prod", _prod, x, axis, dtype, keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance: of n elements their squared distances from the mean over n - correction."""
    if type(x) is not Array or x.dtype.kind != "f" or x.size == 0:
        return _var(x, axis=axis, correction=correction, keepdims=keepdims)
    distances = x - mean(x, axis=axis, keepdims=True)
    total = sum(distances * distances, axis=axis, keepdims=keepdims)
    elements = x.size // total.size
    return total / (elements - correction if elements > correction else 0.0)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation: the root of the variance."""
    return sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _running(make: Any, numpy: Any, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    made = None
    along = 0 if axis is None and x.ndim == 1 else axis
    if type(x) is Array and type(along) is int and dtype is None and not include_initial:
        made = make(x, along)
    if made is not None:
        return made
    return numpy(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Return running sums along an axis, from 0 on with `include_initial`."""
    return _running(_dvm.lazy_running_sum, _cumulative_sum, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Return running products along an axis, from 1 on with `include_initial`."""
    return _running(_dvm.lazy_running_product, _cumulative_prod, x, axis, dtype, include_initial)
