"""np.sum and its kin, as functions and as array methods (NumPy: fromnumeric.py, _methods.py)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dvm.magpy_capture.meanings import means
from dvm.magpy_capture.numpy.ufuncs import ABSENT, FALSE, NONE, TRUE
from dvm.magpy_capture.part import Part
from dvm.magpy_capture.tensors.arrays import fresh
from dvm.magpy_capture.values import Abstract, Literal, Tensor, is_none

_SHARED = {name: name + "_of" for name in ("sum", "prod", "max", "min", "any", "all")} | {
    "argmax": "argmax",
    "argmin": "argmin",
    "cumsum": "cumsum",
    "cumprod": "cumprod",
}


def _with_dtype(function: np.ufunc) -> Callable[..., Tensor]:
    """np.sum and np.prod."""

    def reduce(
        self: Reductions,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.ufunc_methods.ufunc_reduce(
            function, a, axis, dtype, out, keepdims, initial, where
        )

    return reduce


def _with_initial(function: np.ufunc) -> Callable[..., Tensor]:
    """np.max and np.min."""

    def reduce(
        self: Reductions,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = ABSENT,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.ufunc_methods.ufunc_reduce(
            function, a, axis, NONE, out, keepdims, initial, where
        )

    return reduce


def _of_truth(function: np.ufunc) -> Callable[..., Tensor]:
    """np.any and np.all."""

    def reduce(
        self: Reductions,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        *,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.ufunc_methods.ufunc_reduce(
            function, a, axis, Literal(bool), out, keepdims, ABSENT, where
        )

    return reduce


class Reductions(Part):
    """Folds, positions of extremes, and running results."""

    needs = "arrays calls graph heap indexing ufunc_methods ufuncs views"

    sum_of = means(np.sum, np.ndarray.sum)(_with_dtype(np.add))
    prod_of = means(np.prod, np.ndarray.prod)(_with_dtype(np.multiply))
    max_of = means(np.max, np.amax, np.ndarray.max)(_with_initial(np.maximum))
    min_of = means(np.min, np.amin, np.ndarray.min)(_with_initial(np.minimum))
    any_of = means(np.any, np.ndarray.any)(_of_truth(np.logical_or))
    all_of = means(np.all, np.ndarray.all)(_of_truth(np.logical_and))

    @means(np.ptp)
    def ptp_of(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        highest = self.max_of(a, axis, NONE, keepdims)
        lowest = self.min_of(a, axis, NONE, keepdims)
        return self.ufunc_methods.deliver(
            self.arrays.ufunc(np.subtract, [highest, lowest]), self.ufunc_methods.result_array(out)
        )

    @means(np.count_nonzero)
    def count_nonzero(
        self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE
    ) -> Abstract:
        x = self.ufuncs.as_array(a)
        order = self.arrays.order_in_memory(x) if x.dtype == "bool" else self.arrays.copied_order(x)
        x = fresh(self.arrays.arranged(x, order), x.dtype, x.shape, order)
        x = self.arrays.cast(self.arrays.cast(x, "bool"), "int64")
        result = self.arrays.reduce(
            "sum", x, self.ufunc_methods.axes(axis, x.rank), self.ufunc_methods.keeps(keepdims)
        )
        if isinstance(self.calls.seen_result, int):  # older versions of NumPy
            return self.heap.computed(
                self.graph.leave(self.arrays.value_of(result), "int"), self.calls.seen_result
            )
        return result

    # ---- positions

    @means(np.argmax, np.ndarray.argmax)
    def argmax(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        *,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        return self._position("argmax", a, axis, out, keepdims)

    @means(np.argmin, np.ndarray.argmin)
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
        value = self.graph.along_value(op, [self.arrays.in_c_order(x)], place)
        ones = [self.graph.size(1) if i == place else dim for i, dim in enumerate(x.shape)]
        if not self.ufunc_methods.keeps(keepdims):
            shape = ones[:place] + ones[place + 1 :]
        else:  # of a flattened array, one size for each axis that it had
            given = self.ufuncs.as_array(a).rank
            shape = ones if given == x.rank else [self.graph.size(1)] * given
        value = self.views.reshape_value(value, shape)
        found = fresh(value, "int64", shape, is_scalar=not shape)
        return self.ufunc_methods.deliver(found, self.ufunc_methods.result_array(out))

    def _along(self, a: Abstract, axis: Abstract) -> tuple[Tensor, int]:
        """The array and its axis to work along; flattened where no axis is named."""
        x = self.ufuncs.as_array(a)
        if is_none(axis) or x.rank == 0:
            self.ufunc_methods.axes(axis, x.rank)
            return self.flat(x), 0
        return x, self.ufunc_methods.axis(self.indexing.plain(axis), x.rank)

    def flat(self, x: Tensor) -> Tensor:
        """All elements in C order, as new memory."""
        size = self.graph.product(x.shape)
        value = self.arrays.in_c_order(x)
        if not x.contiguous:
            value = self.graph.copy_value(value)
        return fresh(self.views.reshape_value(value, [size]), x.dtype, [size])

    # ---- running results

    @means(np.cumsum, np.ndarray.cumsum)
    def cumsum(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self._running(np.add, a, axis, dtype, out)

    @means(np.cumprod, np.ndarray.cumprod)
    def cumprod(
        self, a: Abstract, axis: Abstract = NONE, dtype: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        return self._running(np.multiply, a, axis, dtype, out)

    def _running(
        self, function: np.ufunc, a: Abstract, axis: Abstract, dtype: Abstract, out: Abstract
    ) -> Tensor:
        x, place = self._along(a, axis)
        return self.ufunc_methods.accumulate(function, x, Literal(place), dtype, out)
