"""Averages: np.mean, np.var, np.std and np.average (NumPy: _methods.py).

Each follows NumPy's own function step by step, so that sums round to the dtype, and are divided in
the dtype, that NumPy's are. Where NumPy warns of an average of nothing a replay is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.expressions import Expression
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ufuncs import ABSENT, FALSE, NONE, TRUE, ZERO
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Sequence, Size, Tensor, is_literal, is_none

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


_SHARED = {name: name + "_of" for name in ("mean", "var", "std")}


FLOAT64 = Literal(np.dtype("f8"))
FLOAT32 = Literal(np.dtype("f4"))


@means(np.mean, np.ndarray.mean)
def mean_of(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
    keepdims: Abstract = FALSE,
    *,
    where: Abstract = TRUE,
) -> Tensor:
    x = lower.ufuncs.as_array(a)
    count = number_of(lower, x, axis, keepdims, where)
    require_above(lower, count, 0)
    narrow = is_none(dtype) and x.dtype == "float16"
    if is_none(dtype):
        dtype = FLOAT32 if narrow else _inexact(x)
    total = lower.ufunc_methods.ufunc_reduce(np.add, x, axis, dtype, out, keepdims, ABSENT, where)
    return quotient(lower, total, count, out, "float16" if narrow else total.dtype)


@means(np.var, np.ndarray.var)
def var_of(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
    ddof: Abstract = ZERO,
    keepdims: Abstract = FALSE,
    *,
    where: Abstract = TRUE,
    correction: Abstract = ABSENT,
) -> Tensor:
    x = lower.ufuncs.as_array(a)
    given = is_literal(correction, np._NoValue)
    lost = lower.indexing.integer(ddof if given else correction)
    count = number_of(lower, x, axis, TRUE, where)
    require_above(lower, count, lost)
    halves = x.dtype == "float16" and is_none(dtype)
    if is_none(dtype):
        dtype = _inexact(x)
    # A half's mean is rounded, for its total is; so the elements that it is subtracted from are
    # asked for as halves too.
    sums = FLOAT32 if halves else dtype
    total = lower.ufunc_methods.ufunc_reduce(np.add, x, axis, sums, NONE, TRUE, ABSENT, where)
    if halves:
        total = lower.elementwise.cast(total, "float16")
    mean = quotient(lower, total, count, NONE, total.dtype)
    offset = Expression(lower, x) - mean
    square = (offset * offset).tensor
    spread = lower.ufunc_methods.ufunc_reduce(
        np.add, square, axis, dtype, out, keepdims, ABSENT, where
    )
    count = number_of(lower, x, axis, keepdims, where)
    if isinstance(count, Size):
        freedom: Abstract = Size((count.dim - lost).max(0) if lost else count.dim)
    else:
        freedom = (Expression(lower, count) - lost).value
    return quotient(lower, spread, freedom, out, spread.dtype)


@means(np.std, np.ndarray.std)
def std_of(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
    ddof: Abstract = ZERO,
    keepdims: Abstract = FALSE,
    *,
    where: Abstract = TRUE,
    correction: Abstract = ABSENT,
) -> Tensor:
    variance = var_of(
        lower, a, axis, dtype, out, ddof, keepdims, where=where, correction=correction
    )
    return deviation(lower, variance, out)


@means(np.average)
def average(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    weights: Abstract = NONE,
    returned: Abstract = FALSE,
    *,
    keepdims: Abstract = ABSENT,
) -> Abstract:
    if not is_none(weights):
        if lower.indexing.plain(returned):
            raise refuse(reasons.AVERAGE_SUM_WEIGHTS)
        return _weighted(
            lower, lower.ufuncs.as_array(a), axis, lower.ufuncs.as_array(weights), keepdims
        )
    x = lower.ufuncs.as_array(a)
    mean = mean_of(lower, x, axis, NONE, NONE, keepdims)
    lower.program.require_positive(lower.graph.product(mean.shape))  # NumPy divides by it
    if not lower.indexing.plain(returned):
        return mean
    count = Size(
        lower.graph.product(x.shape[place] for place in lower.ufunc_methods.axes(axis, x.rank))
    )
    number = lower.promotion.operand(count, mean.dtype)
    sums = lower.elementwise.broadcast(number, mean.shape)
    sums.is_scalar = not mean.rank
    return Sequence([mean, sums])


def _weighted(
    lower: NumpyPart, x: Tensor, axis: Abstract, weights: Tensor, keepdims: Abstract
) -> Tensor:
    """A sum of products over the sum of the weights, which is a ZeroDivisionError if 0."""
    dtypes = [np.dtype(x.dtype), np.dtype(weights.dtype)]
    wide = np.result_type(*dtypes, *(["f8"] if dtypes[0].kind in "iub" else []))
    if weights.rank != x.rank:
        axes = lower.ufunc_methods.axes(axis, x.rank)
        if is_none(axis) or weights.rank != 1 or len(axes) != 1:
            raise refuse(reasons.AVERAGE_WEIGHTS_SEVERAL_AXES)
        lower.program.require_all_equal(weights.shape, [x.shape[axes[0]]])
        along = [x.shape[i] if i == axes[0] else lower.graph.size(1) for i in range(x.rank)]
        value = lower.views.reshape_value(lower.layouts.in_c_order(weights), along)
        weights = fresh(value, weights.dtype, along)
    else:
        lower.program.require_all_equal(weights.shape, x.shape)
    dtype = Literal(wide)
    scale = lower.ufunc_methods.ufunc_reduce(np.add, weights, axis, dtype, NONE, keepdims)
    test = Expression(lower, scale).differs(0).tensor
    require_truth(
        lower, lower.reduced_axes.reduce("all", test, list(range(test.rank)), keepdims=False)
    )
    product = lower.ufuncs.apply(np.multiply, [x, weights], signature=(None, None, wide))
    total = lower.ufunc_methods.ufunc_reduce(np.add, product, axis, NONE, NONE, keepdims)
    return (Expression(lower, total) / scale).tensor


# ---- parts


def _inexact(x: Tensor) -> Abstract:
    """The dtype= that NumPy gives to its sums: that of the array if it is a float."""
    return NONE if x.dtype.startswith("float") else FLOAT64


def number_of(
    lower: NumpyPart, x: Tensor, axis: Abstract, keepdims: Abstract, where: Abstract
) -> Abstract:
    """How many elements each result is the average of: one size, or an array."""
    mask = lower.ufunc_methods.mask(where, x)
    axes = lower.ufunc_methods.axes(axis, x.rank)
    if mask is None:
        return Size(lower.graph.product(x.shape[axis] for axis in axes))
    return lower.ufunc_methods.fold(
        np.add, lower.elementwise.cast(mask, "int64"), axes, lower.ufunc_methods.keeps(keepdims)
    )


def require_above(lower: NumpyPart, count: Abstract, lost: int) -> None:
    """NumPy warns about an average of nothing."""
    if isinstance(count, Size):
        lower.program.require_positive(count.dim - lost)
        return
    every = list(range(count.rank))
    least = lower.reduced_axes.reduce("min_or_highest", count, every, keepdims=False)
    enough = lower.ufuncs.apply(np.greater, [least, Literal(lost)])
    require_truth(lower, enough)


def require_truth(lower: NumpyPart, test: Tensor) -> None:
    """Drops a replay in which the scalar is not True: it divides by it."""
    lower.program.require(lower.graph.leave(lower.arrays.value_of(test), "bool"))


def quotient(lower: NumpyPart, total: Tensor, count: Abstract, out: Abstract, dtype: str) -> Tensor:
    """What NumPy divides as float64, unless counts are exact enough in the dtype."""
    if total.dtype not in ("float32", "float64"):
        total = lower.elementwise.cast(total, "float64")
    divisor = lower.promotion.operand(count, total.dtype)
    ratio = lower.elementwise.apply("div", [total, divisor], total.dtype, total.order)
    return lower.ufunc_methods.deliver(
        lower.elementwise.cast(ratio, dtype), lower.ufunc_methods.result_array(out)
    )


def deviation(lower: NumpyPart, variance: Tensor, out: Abstract) -> Tensor:
    """The deviation of a variance, in its dtype."""
    root = lower.elementwise.cast(lower.ufuncs.apply(np.sqrt, [variance]), variance.dtype)
    return lower.ufunc_methods.deliver(root, lower.ufunc_methods.result_array(out))
