"""np.sum and its kin, as functions and as array methods (NumPy: fromnumeric.py, _methods.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dvm.magpy_capture.numpy_ufuncs import ABSENT, FALSE, NONE, TRUE
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.ufunc_methods import UfuncMethods
from dvm.magpy_capture.values import Abstract, Literal, Tensor

_SHARED = {name: name + "_of" for name in ("sum", "prod", "max", "min", "any", "all")} | {
    "argmax": "argmax",
    "argmin": "argmin",
    "cumsum": "cumsum",
    "cumprod": "cumprod",
}
numpy_table(
    {
        **_SHARED,
        "amax": "max_of",
        "amin": "min_of",
        "ptp": "ptp_of",
        "count_nonzero": "count_nonzero",
    },
    _SHARED,
)


def _with_dtype(function: np.ufunc) -> Callable[..., Tensor]:
    """np.sum and np.prod."""

    def reduce(
        self: UfuncMethods,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.ufunc_reduce(function, a, axis, dtype, out, keepdims, initial, where)

    return reduce


def _with_initial(function: np.ufunc) -> Callable[..., Tensor]:
    """np.max and np.min."""

    def reduce(
        self: UfuncMethods,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.ufunc_reduce(function, a, axis, NONE, out, keepdims, initial, where)

    return reduce


def _of_truth(function: np.ufunc) -> Callable[..., Tensor]:
    """np.any and np.all."""

    def reduce(
        self: UfuncMethods,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        *,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.ufunc_reduce(function, a, axis, Literal(bool), out, keepdims, ABSENT, where)

    return reduce


class Reductions(UfuncMethods):
    """Folds, positions of extremes, and running results."""

    sum_of = _with_dtype(np.add)
    prod_of = _with_dtype(np.multiply)
    max_of = _with_initial(np.maximum)
    min_of = _with_initial(np.minimum)
    any_of = _of_truth(np.logical_or)
    all_of = _of_truth(np.logical_and)

    def ptp_of(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        highest = self.max_of(a, axis, NONE, keepdims)
        lowest = self.min_of(a, axis, NONE, keepdims)
        return self.deliver(self.ufunc(np.subtract, [highest, lowest]), self.result_array(out))

    def count_nonzero(
        self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE
    ) -> Abstract:
        x = self.as_array(a)
        order = self.order_in_memory(x) if x.dtype == "bool" else self.copied_order(x)
        x = self.fresh(self.arranged(x, order), x.dtype, x.shape, order)
        x = self.cast(self.cast(x, "bool"), "int64")
        result = self.reduce("sum", x, self.axes(axis, x.rank), self.keeps(keepdims))
        if isinstance(self.seen_result, int):  # older versions of NumPy
            return self.computed(self.leave(self.value_of(result), "int"), self.seen_result)
        return result

    # ---- positions

    def argmax(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        return self._position("argmax", a, axis, out, keepdims)

    def argmin(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        return self._position("argmin", a, axis, out, keepdims)

    def _position(
        self, op: str, a: Abstract, axis: Abstract, out: Abstract, keepdims: Abstract
    ) -> Tensor:
        x, place = self._along(a, axis)
        value = self.along_value(op, [self.in_c_order(x)], place)
        ones = [self.size(1) if i == place else dim for i, dim in enumerate(x.shape)]
        if not self.keeps(keepdims):
            shape = ones[:place] + ones[place + 1 :]
        else:  # of a flattened array, one size for each axis that it had
            given = self.as_array(a).rank
            shape = ones if given == x.rank else [self.size(1)] * given
        value = self.reshape_value(value, shape)
        found = self.fresh(value, "int64", shape, is_scalar=not shape)
        return self.deliver(found, self.result_array(out))

    def _along(self, a: Abstract, axis: Abstract) -> tuple[Tensor, int]:
        """The array and its axis to work along; flattened where no axis is named."""
        x = self.as_array(a)
        if self.is_none(axis) or x.rank == 0:
            self.axes(axis, x.rank)
            return self.flat(x), 0
        return x, self.axis(self.plain(axis), x.rank)

    def flat(self, x: Tensor) -> Tensor:
        """All elements in C order, as new memory."""
        size = self.product(x.shape)
        value = self.in_c_order(x)
        if not x.contiguous:
            value = self.copy_value(value)
        return self.fresh(self.reshape_value(value, [size]), x.dtype, [size])

    # ---- running results

    def cumsum(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self._running(np.add, a, axis, dtype, out)

    def cumprod(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self._running(np.multiply, a, axis, dtype, out)

    def _running(
        self, function: np.ufunc, a: Abstract, axis: Abstract, dtype: Abstract, out: Abstract
    ) -> Tensor:
        x, place = self._along(a, axis)
        return self.accumulate(function, x, Literal(place), dtype, out)
