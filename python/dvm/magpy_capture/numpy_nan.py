"""Reductions that leave out NaN (NumPy: _nanfunctions_impl.py).

A sum counts NaN as the element that changes nothing, an extreme is that of the numbers, a mean is
over them. Where NumPy warns or raises because there is nothing but NaN a replay is dropped.
"""

from __future__ import annotations

import numpy as np

from dvm.magpy_capture.numpy_averages import Averages
from dvm.magpy_capture.numpy_ufuncs import ABSENT, NONE, TRUE
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
