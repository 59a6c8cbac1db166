"""Reductions that leave out NaN (NumPy: _nanfunctions_impl.py).

A sum counts NaN as the element that changes nothing, an extreme is that of the numbers, a mean is
over them. Where NumPy warns or raises because there is nothing but NaN a replay is dropped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dvm.magpy_capture.numpy_averages import Averages
from dvm.magpy_capture.numpy_ufuncs import ABSENT, FALSE, NONE, TRUE, ZERO
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Literal, Tensor

numpy_table(
    {
        "nansum": "nan_sum",
        "nanprod": "nan_prod",
        "nancumsum": "nan_cumsum",
        "nancumprod": "nan_cumprod",
        "nanmax": "nan_max",
        "nanmin": "nan_min",
        "nanargmax": "nan_argmax",
        "nanargmin": "nan_argmin",
        "nanmean": "nan_mean",
        "nanvar": "nan_var",
        "nanstd": "nan_std",
    }
)


def _with_neutral(function: np.ufunc, neutral: float) -> Callable[..., Tensor]:
    """np.nansum and np.nanprod."""

    def reduce(
        self: NanReductions,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        x = self._replaced(a, neutral)
        return self.ufunc_reduce(function, x, axis, dtype, out, keepdims, initial, where)

    return reduce


def _of_numbers(function: np.ufunc) -> Callable[..., Tensor]:
    """np.nanmax and np.nanmin."""

    def reduce(
        self: NanReductions,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        found = self.ufunc_reduce(function, a, axis, NONE, out, keepdims, initial, where)
        missing = self._missing(found)
        if missing is not None:
            self._require_none(missing)
        return found

    return reduce


def _running(method: str, neutral: float) -> Callable[..., Tensor]:
    """np.nancumsum and np.nancumprod."""

    def accumulate(
        self: NanReductions,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Tensor:
        result: Tensor = getattr(self, method)(self._replaced(a, neutral), axis, dtype, out)
        return result

    return accumulate


def _position(method: str, neutral: float) -> Callable[..., Tensor]:
    """np.nanargmax and np.nanargmin."""

    def position(
        self: NanReductions,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = ABSENT,
    ) -> Tensor:
        self._require_numbers(a, axis)
        found: Tensor = getattr(self, method)(
            self._replaced(a, neutral), axis, out, keepdims=keepdims
        )
        return found

    return position


class NanReductions(Averages):
    """np.nansum and its kin."""

    nan_sum = _with_neutral(np.add, 0)
    nan_prod = _with_neutral(np.multiply, 1)
    nan_max = _of_numbers(np.fmax)
    nan_min = _of_numbers(np.fmin)
    nan_cumsum = _running("cumsum", 0)
    nan_cumprod = _running("cumprod", 1)
    nan_argmax = _position("argmax", -np.inf)
    nan_argmin = _position("argmin", np.inf)

    def _missing(self, x: Tensor) -> Tensor | None:
        """Where NaN is, in an array that can have it."""
        if not x.dtype.startswith("float"):
            return None
        return self.elementwise("isnan", [x], "bool", x.order)

    def _replaced(self, a: Abstract, value: float) -> Tensor:
        x = self.as_array(a)
        missing = self._missing(x)
        if missing is None:
            return x
        other = self.operand(Literal(value), x.dtype)
        return self.elementwise("select", [missing, other, x], x.dtype, x.order)

    def _require_none(self, test: Tensor) -> None:
        some = self.reduce("any", test, list(range(test.rank)), keepdims=False)
        self.require_truth(self.ufunc(np.logical_not, [some]))

    def nan_mean(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
    ) -> Tensor:
        x = self.as_array(a)
        missing = self._missing(x)
        if missing is None:
            return self.mean_of(x, axis, dtype, out, keepdims)
        there = self.ufunc(np.logical_not, [missing])
        count = self._count(x, axis, keepdims, there)
        self._require_above(count, 0)
        zero = self._replaced(x, 0)
        total = self.ufunc_reduce(np.add, zero, axis, dtype, out, keepdims)
        return self._quotient(total, count, out, total.dtype)

    def nan_var(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        ddof: Abstract = ZERO,
        keepdims: Abstract = ABSENT,
        *,
        correction: Abstract = ABSENT,
    ) -> Tensor:
        x = self.as_array(a)
        missing = self._missing(x)
        if missing is None:
            keepdims = FALSE if self.is_literal(keepdims, np._NoValue) else keepdims
            return self.var_of(x, axis, dtype, out, ddof, keepdims, correction=correction)
        lost = self.integer(ddof if self.is_literal(correction, np._NoValue) else correction)
        there = self.ufunc(np.logical_not, [missing])
        count = self._count(x, axis, TRUE, there)
        self._require_above(count, max(lost, 0))
        zero = self.operand(ZERO, x.dtype)
        numbers = self._replaced(x, 0)
        total = self.ufunc_reduce(np.add, numbers, axis, dtype, NONE, TRUE)
        mean = self._quotient(total, count, NONE, total.dtype)
        offset = self.cast(self.ufunc(np.subtract, [numbers, mean]), x.dtype)
        offset = self.elementwise("select", [missing, zero, offset], x.dtype, x.order)
        square = self.ufunc(np.multiply, [offset, offset])
        spread = self.ufunc_reduce(np.add, square, axis, dtype, out, keepdims)
        freedom = self.ufunc(np.subtract, [self._count(x, axis, keepdims, there), Literal(lost)])
        return self._quotient(spread, freedom, out, spread.dtype)

    def nan_std(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        ddof: Abstract = ZERO,
        keepdims: Abstract = ABSENT,
        *,
        correction: Abstract = ABSENT,
    ) -> Tensor:
        variance = self.nan_var(a, axis, dtype, out, ddof, keepdims, correction=correction)
        return self._root(variance, out)

    def _require_numbers(self, a: Abstract, axis: Abstract) -> None:
        x = self.as_array(a)
        missing = self._missing(x)
        if missing is not None:
            self._require_none(self.fold(np.logical_and, missing, self.axes(axis, x.rank), False))
