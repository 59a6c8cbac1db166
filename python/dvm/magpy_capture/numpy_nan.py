"""Reductions that leave out NaN (NumPy: _nanfunctions_impl.py).

A sum counts NaN as the element that changes nothing, an extreme is that of the numbers, a mean is
over them. Where NumPy warns or raises because there is nothing but NaN a replay is dropped.
"""

from __future__ import annotations

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


class NanReductions(Averages):
    """np.nansum and its kin."""

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

    def nan_sum(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        x = self._replaced(a, 0)
        return self.ufunc_reduce(np.add, x, axis, dtype, out, keepdims, initial, where)

    def nan_prod(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        x = self._replaced(a, 1)
        return self.ufunc_reduce(np.multiply, x, axis, dtype, out, keepdims, initial, where)

    def nan_max(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self._extreme_number(np.fmax, a, axis, out, keepdims, initial, where)

    def nan_min(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = ABSENT,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self._extreme_number(np.fmin, a, axis, out, keepdims, initial, where)

    def _extreme_number(
        self,
        function: np.ufunc,
        a: Abstract,
        axis: Abstract,
        out: Abstract,
        keepdims: Abstract,
        initial: Abstract,
        where: Abstract,
    ) -> Tensor:
        found = self.ufunc_reduce(function, a, axis, NONE, out, keepdims, initial, where)
        missing = self._missing(found)
        if missing is not None:
            self._require_none(missing)
        return found

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
        self._require_above(self._count(x, axis, TRUE, there), max(lost, 0))
        zero = self.operand(ZERO, x.dtype)
        numbers = self._replaced(x, 0)
        total = self.ufunc_reduce(np.add, numbers, axis, dtype, NONE, TRUE)
        mean = self._quotient(total, self._count(x, axis, TRUE, there), NONE, total.dtype)
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
        root = self.cast(self.ufunc(np.sqrt, [variance]), variance.dtype)
        return self.deliver(root, self.result_array(out))

    def nan_cumsum(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self.cumsum(self._replaced(a, 0), axis, dtype, out)

    def nan_cumprod(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self.cumprod(self._replaced(a, 1), axis, dtype, out)

    # ---- positions

    def nan_argmax(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = ABSENT,
    ) -> Tensor:
        self._require_numbers(a, axis)
        return self.argmax(self._replaced(a, -np.inf), axis, out, keepdims=keepdims)

    def nan_argmin(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = ABSENT,
    ) -> Tensor:
        self._require_numbers(a, axis)
        return self.argmin(self._replaced(a, np.inf), axis, out, keepdims=keepdims)

    def _require_numbers(self, a: Abstract, axis: Abstract) -> None:
        x = self.as_array(a)
        missing = self._missing(x)
        if missing is not None:
            self._require_none(self.fold(np.logical_and, missing, self.axes(axis, x.rank), False))
