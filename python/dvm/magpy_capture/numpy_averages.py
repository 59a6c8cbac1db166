"""Averages: np.mean, np.var, np.std and np.average (NumPy: _methods.py).

Each follows NumPy's own function step by step, so that sums round to the dtype, and are divided in
the dtype, that NumPy's are. Where NumPy warns of an average of nothing a replay is dropped.
"""

from __future__ import annotations

import numpy as np

from dvm import reasons
from dvm.magpy_capture.numpy_reductions import Reductions
from dvm.magpy_capture.numpy_ufuncs import ABSENT, FALSE, NONE, TRUE, ZERO
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import Abstract, Literal, Sequence, Size, Tensor

_SHARED = {name: name + "_of" for name in ("mean", "var", "std")}
numpy_table(
    {**_SHARED, "average": "average"},
    _SHARED,
)

FLOAT64 = Literal(np.dtype("f8"))
FLOAT32 = Literal(np.dtype("f4"))


class Averages(Reductions):
    """Sums over counts."""

    def mean_of(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
        keepdims: Abstract = FALSE,
        *,
        where: Abstract = TRUE,
    ) -> Tensor:
        x = self.as_array(a)
        count = self._count(x, axis, keepdims, where)
        self._require_above(count, 0)
        narrow = self.is_none(dtype) and x.dtype == "float16"
        if self.is_none(dtype):
            dtype = FLOAT32 if narrow else self._inexact(x)
        total = self.ufunc_reduce(np.add, x, axis, dtype, out, keepdims, ABSENT, where)
        return self._quotient(total, count, out, "float16" if narrow else total.dtype)

    def var_of(
        self,
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
        x = self.as_array(a)
        given = self.is_literal(correction, np._NoValue)
        lost = self.integer(ddof if given else correction)
        count = self._count(x, axis, TRUE, where)
        self._require_above(count, lost)
        if self.is_none(dtype):
            dtype = self._inexact(x)
        total = self.ufunc_reduce(np.add, x, axis, dtype, NONE, TRUE, ABSENT, where)
        mean = self._quotient(total, count, NONE, total.dtype)
        offset = self.ufunc(np.subtract, [x, mean])
        square = self.ufunc(np.multiply, [offset, offset])
        spread = self.ufunc_reduce(np.add, square, axis, dtype, out, keepdims, ABSENT, where)
        count = self._count(x, axis, keepdims, where)
        if isinstance(count, Size):
            freedom: Abstract = Size((count.dim - lost).max(0) if lost else count.dim)
        else:
            freedom = self.ufunc(np.subtract, [count, Literal(lost)])
        return self._quotient(spread, freedom, out, spread.dtype)

    def std_of(
        self,
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
        variance = self.var_of(
            a, axis, dtype, out, ddof, keepdims, where=where, correction=correction
        )
        return self._root(variance, out)

    def average(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        weights: Abstract = NONE,
        returned: Abstract = FALSE,
        *,
        keepdims: Abstract = ABSENT,
    ) -> Abstract:
        if not self.is_none(weights):
            if self.plain(returned):
                raise self.refuse(reasons.AVERAGE_SUM_WEIGHTS)
            return self._weighted(self.as_array(a), axis, self.as_array(weights), keepdims)
        x = self.as_array(a)
        mean = self.mean_of(x, axis, NONE, NONE, keepdims)
        self.require_positive(self.product(mean.shape))  # NumPy divides by it
        if not self.plain(returned):
            return mean
        count = Size(self.product(x.shape[place] for place in self.axes(axis, x.rank)))
        number = self.operand(count, mean.dtype)
        sums = self.broadcast(number, mean.shape)
        sums.is_scalar = not mean.rank
        return Sequence([mean, sums])

    def _weighted(self, x: Tensor, axis: Abstract, weights: Tensor, keepdims: Abstract) -> Tensor:
        """A sum of products over the sum of the weights, which is a ZeroDivisionError if 0."""
        dtypes = [np.dtype(x.dtype), np.dtype(weights.dtype)]
        wide = np.result_type(*dtypes, *(["f8"] if dtypes[0].kind in "iub" else []))
        if weights.rank != x.rank:
            axes = self.axes(axis, x.rank)
            if self.is_none(axis) or weights.rank != 1 or len(axes) != 1:
                raise self.refuse(reasons.AVERAGE_WEIGHTS_SEVERAL_AXES)
            self._require_equal(weights.shape, [x.shape[axes[0]]])
            along = [x.shape[i] if i == axes[0] else self.size(1) for i in range(x.rank)]
            value = self.reshape_value(self.in_c_order(weights), along)
            weights = self.fresh(value, weights.dtype, along)
        else:
            self._require_equal(weights.shape, x.shape)
        dtype = Literal(wide)
        scale = self.ufunc_reduce(np.add, weights, axis, dtype, NONE, keepdims)
        test = self.ufunc(np.not_equal, [scale, ZERO])
        self.require_truth(self.reduce("all", test, list(range(test.rank)), keepdims=False))
        product = self.ufunc(np.multiply, [x, weights], signature=(None, None, wide))
        total = self.ufunc_reduce(np.add, product, axis, NONE, NONE, keepdims)
        return self.ufunc(np.true_divide, [total, scale])

    # ---- parts

    def _inexact(self, x: Tensor) -> Abstract:
        """The dtype= that NumPy gives to its sums: that of the array if it is a float."""
        return NONE if x.dtype.startswith("float") else FLOAT64

    def _count(self, x: Tensor, axis: Abstract, keepdims: Abstract, where: Abstract) -> Abstract:
        """How many elements each result is the average of: one size, or an array."""
        mask = self.mask(where, x)
        axes = self.axes(axis, x.rank)
        if mask is None:
            return Size(self.product(x.shape[axis] for axis in axes))
        return self.fold(np.add, self.cast(mask, "int64"), axes, self.keeps(keepdims))

    def _require_above(self, count: Abstract, lost: int) -> None:
        """NumPy warns about an average of nothing."""
        if isinstance(count, Size):
            self.require_positive(count.dim - lost)
            return
        every = list(range(count.rank))
        least = self.reduce("min_or_highest", count, every, keepdims=False)
        enough = self.ufunc(np.greater, [least, Literal(lost)])
        self.require_truth(enough)

    def require_truth(self, test: Tensor) -> None:
        """Drops a replay in which the scalar is not True: it divides by it."""
        register = self.leave(self.value_of(test), "bool")
        self._operate("%", self.constant(0), register)

    def _quotient(self, total: Tensor, count: Abstract, out: Abstract, dtype: str) -> Tensor:
        """What NumPy divides as float64, unless counts are exact enough in the dtype."""
        if total.dtype not in ("float32", "float64"):
            total = self.cast(total, "float64")
        divisor = self.operand(count, total.dtype)
        ratio = self.elementwise("div", [total, divisor], total.dtype, total.order)
        return self.deliver(self.cast(ratio, dtype), self.result_array(out))

    def _root(self, variance: Tensor, out: Abstract) -> Tensor:
        """The deviation of a variance, in its dtype."""
        root = self.cast(self.ufunc(np.sqrt, [variance]), variance.dtype)
        return self.deliver(root, self.result_array(out))
