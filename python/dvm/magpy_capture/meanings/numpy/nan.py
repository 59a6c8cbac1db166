"""Reductions that leave out NaN (NumPy: _nanfunctions_impl.py).

A sum counts NaN as the element that changes nothing, an extreme is that of the numbers, a mean is
over them. Where NumPy warns or raises because there is nothing but NaN a replay is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dvm.magpy_capture.meanings.numpy import averages as numpy_averages
from dvm.magpy_capture.meanings.numpy.expressions import Expression
from dvm.magpy_capture.meanings.numpy.reductions import fold_by
from dvm.magpy_capture.meanings.numpy.ufuncs import ABSENT, FALSE, NONE, TRUE, ZERO
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_literal

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


def _running(method: str, neutral: float) -> Callable[..., Tensor]:
    """np.nancumsum and np.nancumprod."""

    def accumulate(
        lower: NumpyPart,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Tensor:
        result: Tensor = getattr(lower.reductions, method)(
            _replaced(lower, a, neutral), axis, dtype, out
        )
        return result

    return accumulate


def _position(method: str, neutral: float) -> Callable[..., Tensor]:
    """np.nanargmax and np.nanargmin."""

    def position(
        lower: NumpyPart,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = ABSENT,
    ) -> Tensor:
        _require_numbers(lower, a, axis)
        found: Tensor = getattr(lower.reductions, method)(
            _replaced(lower, a, neutral), axis, out, keepdims=keepdims
        )
        return found

    return position


nan_cumsum = means(np.nancumsum)(_running("cumsum", 0))
nan_cumprod = means(np.nancumprod)(_running("cumprod", 1))
nan_argmax = means(np.nanargmax)(_position("argmax", -np.inf))
nan_argmin = means(np.nanargmin)(_position("argmin", np.inf))


def _missing(lower: NumpyPart, x: Tensor) -> Tensor | None:
    """Where NaN is, in an array that can have it."""
    if not x.dtype.startswith("float"):
        return None
    return lower.elementwise.apply("isnan", [x], "bool", x.order)


def _replaced(lower: NumpyPart, a: Abstract, value: float) -> Tensor:
    x = lower.ufuncs.as_array(a)
    missing = _missing(lower, x)
    if missing is None:
        return x
    other = lower.promotion.operand(Literal(value), x.dtype)
    return lower.elementwise.apply("select", [missing, other, x], x.dtype, x.order)


def _require_numbers_only(lower: NumpyPart, found: Tensor) -> None:
    missing = _missing(lower, found)
    if missing is not None:
        _require_none(lower, missing)


def _require_none(lower: NumpyPart, test: Tensor) -> None:
    some = lower.reduced_axes.reduce("any", test, list(range(test.rank)), keepdims=False)
    numpy_averages.require_truth(lower, lower.ufuncs.apply(np.logical_not, [some]))


nan_sum = fold_by(np.add, np.nansum, prepared=lambda lower, a: _replaced(lower, a, 0))
nan_prod = fold_by(np.multiply, np.nanprod, prepared=lambda lower, a: _replaced(lower, a, 1))
nan_max = fold_by(np.fmax, np.nanmax, checked=_require_numbers_only)
nan_min = fold_by(np.fmin, np.nanmin, checked=_require_numbers_only)


@means(np.nanmean)
def nan_mean(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
    keepdims: Abstract = ABSENT,
) -> Tensor:
    x = lower.ufuncs.as_array(a)
    missing = _missing(lower, x)
    if missing is None:
        return numpy_averages.mean_of(lower, x, axis, dtype, out, keepdims)
    there = lower.ufuncs.apply(np.logical_not, [missing])
    count = numpy_averages.number_of(lower, x, axis, keepdims, there)
    numpy_averages.require_above(lower, count, 0)
    zero = _replaced(lower, x, 0)
    total = lower.ufunc_methods.ufunc_reduce(np.add, zero, axis, dtype, out, keepdims)
    return numpy_averages.quotient(lower, total, count, out, total.dtype)


@means(np.nanvar)
def nan_var(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
    ddof: Abstract = ZERO,
    keepdims: Abstract = ABSENT,
    *,
    correction: Abstract = ABSENT,
) -> Tensor:
    x = lower.ufuncs.as_array(a)
    missing = _missing(lower, x)
    if missing is None:
        keepdims = FALSE if is_literal(keepdims, np._NoValue) else keepdims
        return numpy_averages.var_of(
            lower, x, axis, dtype, out, ddof, keepdims, correction=correction
        )
    lost = lower.indexing.integer(ddof if is_literal(correction, np._NoValue) else correction)
    there = lower.ufuncs.apply(np.logical_not, [missing])
    count = numpy_averages.number_of(lower, x, axis, TRUE, there)
    numpy_averages.require_above(lower, count, max(lost, 0))
    zero = lower.promotion.operand(ZERO, x.dtype)
    numbers = _replaced(lower, x, 0)
    total = lower.ufunc_methods.ufunc_reduce(np.add, numbers, axis, dtype, NONE, TRUE)
    mean = numpy_averages.quotient(lower, total, count, NONE, total.dtype)
    offset = lower.elementwise.cast((Expression(lower, numbers) - mean).tensor, x.dtype)
    offset = lower.elementwise.apply("select", [missing, zero, offset], x.dtype, x.order)
    square = Expression(lower, offset) * offset
    spread = lower.ufunc_methods.ufunc_reduce(np.add, square.tensor, axis, dtype, out, keepdims)
    count = numpy_averages.number_of(lower, x, axis, keepdims, there)
    freedom = (Expression(lower, count) - lost).value
    return numpy_averages.quotient(lower, spread, freedom, out, spread.dtype)


@means(np.nanstd)
def nan_std(
    lower: NumpyPart,
    a: Abstract,
    axis: Abstract = NONE,
    dtype: Abstract = NONE,
    out: Abstract = NONE,
    ddof: Abstract = ZERO,
    keepdims: Abstract = ABSENT,
    *,
    correction: Abstract = ABSENT,
) -> Tensor:
    variance = nan_var(lower, a, axis, dtype, out, ddof, keepdims, correction=correction)
    return numpy_averages.deviation(lower, variance, out)


def _require_numbers(lower: NumpyPart, a: Abstract, axis: Abstract) -> None:
    x = lower.ufuncs.as_array(a)
    missing = _missing(lower, x)
    if missing is not None:
        _require_none(
            lower,
            lower.ufunc_methods.fold(
                np.logical_and, missing, lower.ufunc_methods.axes(axis, x.rank), False
            ),
        )
