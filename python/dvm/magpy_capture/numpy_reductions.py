"""Reductions and statistics, as NumPy's _methods.py and fromnumeric.py define them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.numpy_ufuncs import FALSE, NONE, TRUE, ZERO, Ufuncs
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Literal, Size, Tensor

_SHARED = {
    name: name + "_of" for name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
} | {"argmax": "argmax", "argmin": "argmin", "cumsum": "cumsum", "cumprod": "cumprod"}
numpy_table(
    {**_SHARED, "amax": "max_of", "amin": "min_of", "count_nonzero": "count_nonzero"}, _SHARED
)


def _with_dtype(function: np.ufunc) -> Callable[..., Tensor]:
    """np.sum and np.prod."""

    def reduce(
        self: Ufuncs,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = NONE,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.reduction(function, a, axis, dtype, out, keepdims, initial, where)

    return reduce


def _with_initial(function: np.ufunc) -> Callable[..., Tensor]:
    """np.max and np.min."""

    def reduce(
        self: Ufuncs,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        initial: Abstract = NONE,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.reduction(function, a, axis, NONE, out, keepdims, initial, where)

    return reduce


def _of_truth(function: np.ufunc) -> Callable[..., Tensor]:
    """np.any and np.all."""

    def reduce(
        self: Ufuncs,
        a: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        *,
        where: Abstract = TRUE,
    ) -> Tensor:
        return self.reduction(function, a, axis, NONE, out, keepdims, NONE, where)

    return reduce


class Reductions(Ufuncs):
    """np.sum and its kin, as functions and as array methods."""

    sum_of = _with_dtype(np.add)
    prod_of = _with_dtype(np.multiply)
    max_of = _with_initial(np.maximum)
    min_of = _with_initial(np.minimum)
    any_of = _of_truth(np.logical_or)
    all_of = _of_truth(np.logical_and)

    def count_nonzero(
        self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE
    ) -> Abstract:
        x = self.cast(self.cast(self.as_array(a), "bool"), "int64")
        result = self.reduce("sum", x, self.axes(axis, x.rank), bool(self.plain(keepdims)))
        if isinstance(self.seen_result, int):  # older versions of NumPy
            return self.computed(self.leave(self.value_of(result), "int"), self.seen_result)
        return result

    # ---- averages

    def mean_of(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        x, wide, result = self._averaged(a, dtype)
        axes = self.axes(axis, x.rank)
        total = self.reduce("sum", wide, axes, bool(self.plain(keepdims)))
        mean = self.cast(self._divide_by_count(total, x, axes, 0), result)
        return mean if self.is_none(out) else self.store_result(mean, self.as_array(out))

    def var_of(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        ddof: Abstract = ZERO,
        keepdims: Abstract = FALSE,
        *,
        correction: Abstract = NONE,
    ) -> Tensor:
        x, wide, result = self._averaged(a, dtype)
        axes = self.axes(axis, x.rank)
        freedom = self.integer(ddof if self.is_none(correction) else correction)
        total = self.reduce("sum", wide, axes, keepdims=True)
        mean = self._divide_by_count(total, x, axes, 0)
        centered = self.elementwise("sub", [wide, mean], wide.dtype)
        squares = self.elementwise("mul", [centered, centered], wide.dtype)
        spread = self.reduce("sum", squares, axes, bool(self.plain(keepdims)))
        variance = self.cast(self._divide_by_count(spread, x, axes, freedom), result)
        return variance if self.is_none(out) else self.store_result(variance, self.as_array(out))

    def std_of(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        ddof: Abstract = ZERO,
        keepdims: Abstract = FALSE,
        *,
        correction: Abstract = NONE,
    ) -> Tensor:
        variance = self.var_of(a, axis, dtype, NONE, ddof, keepdims, correction=correction)
        result = self.elementwise("sqrt", [variance], variance.dtype)
        return result if self.is_none(out) else self.store_result(result, self.as_array(out))

    def _averaged(self, a: Abstract, dtype: Abstract) -> tuple[Tensor, Tensor, str]:
        """The array, the array in the dtype NumPy averages in, and the dtype of the result."""
        x = self.as_array(a)
        if not self.is_none(dtype):
            wanted = self.dtype_name(dtype)
            return x, self.cast(x, wanted), wanted
        result = x.dtype if x.dtype.startswith("float") else "float64"
        return x, self.cast(x, "float32" if result == "float16" else result), result

    def _divide_by_count(self, total: Tensor, x: Tensor, axes: list[int], ddof: int) -> Tensor:
        if not total.dtype.startswith("float"):
            raise self.refuse(f"an average in {total.dtype}")
        count = self.product(x.shape[axis] for axis in axes)
        self.require_positive(count - ddof)  # NumPy warns about an average of nothing
        if ddof:
            count = (count - ddof).max(0)
        divisor = self.operand(Size(count), total.dtype)
        return self.elementwise("div", [total, divisor], total.dtype)

    def require_positive(self, dim: _dvm.Dim) -> None:
        """Drops a replay for which the size is not above zero: it divides by it."""
        if dim.constant is None:
            least = dim.max(0) if "-" in str(dim) else dim
            self._operate("%", self.constant(0), self.register_of_dim(least))

    # ---- positions and running results

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
        x = self.as_array(a)
        if self.is_none(axis):
            if self.plain(keepdims):
                raise self.refuse(f"{op} of a flattened array with keepdims")
            x = self.flat(x)
            axis = ZERO
        place = self.axis(self.plain(axis), x.rank)
        value = self.along_value(op, [self.in_c_order(x)], place)
        shape = [self.size(1) if i == place else dim for i, dim in enumerate(x.shape)]
        if not self.plain(keepdims):
            del shape[place]
            value = self.reshape_value(value, shape)
        found = self.fresh(value, "int64", shape, is_scalar=not shape)
        return found if self.is_none(out) else self.store_result(found, self.as_array(out))

    def flat(self, x: Tensor) -> Tensor:
        """All elements in C order, as new memory."""
        size = self.product(x.shape)
        return self.fresh(self.reshape_value(self.in_c_order(x), [size]), x.dtype, [size])

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
        x = self.as_array(a)
        if self.is_none(axis):
            x, axis = self.flat(x), Literal(0)
        return self.accumulate(function, x, axis, dtype, out)
