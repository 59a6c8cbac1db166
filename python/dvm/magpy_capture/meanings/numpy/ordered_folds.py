"""Reductions and running results with any binary ufunc, element after element in NumPy's order.

A few ufuncs have reductions of their own (ufunc_methods). All else are the ops `scan` and `fold`,
which take the op to combine with as an attribute. A fold begins with the first element, with the
ufunc's identity or with `initial`, just as NumPy's: of `hypot` or `gcd` that changes results.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

import numpy as np

from dvm import reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.tables import UFUNCS
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order
from dvm.magpy_capture.values import Literal, Tensor

#: Of halves these keep the result of a whole run of the loop as a float.
WIDE_OF_HALVES = (np.subtract, np.divide)


class OrderedFolds(NumpyPart):
    """`reduce`, `accumulate` and `reduceat` where the order of elements is part of the meaning."""

    needs = "arrays elementwise graph layouts promotion reduced_axes updates"

    def scan(self, function: np.ufunc, x: Tensor, axis: int) -> Tensor:
        """`function.accumulate` in the dtype of `x`."""
        place = x.order.index(axis)
        value = self.graph.along_value(
            "scan", [self.arrays.value_of(x)], place, self.op_of(function)
        )
        return fresh(value, x.dtype, x.shape, x.order)

    def pieces(self, function: np.ufunc, x: Tensor, indices: Tensor, axis: int) -> Tensor:
        """`function.reduceat` in the dtype of `x`."""
        if x.dtype == "float16" and function in (*WIDE_OF_HALVES, np.multiply):
            raise refuse(reasons.HALVES_NUMPY_ROUNDS_AFTER_EACH)
        if indices.rank != 1 or not np.can_cast(indices.dtype, np.int64):
            raise refuse(reasons.REDUCEAT, describe(indices))
        places, order = (
            self.arrays.value_of(self.elementwise.cast(indices, "int64")),
            order_of_pieces(x.order, axis),
        )
        parts = [self.layouts.arranged(x, order), places]
        value = self.graph.along_value("fold_at", parts, order.index(axis), self.op_of(function))
        shape = [indices.shape[0] if a == axis else dim for a, dim in enumerate(x.shape)]
        return fresh(value, x.dtype, shape, order)

    def op_of(self, function: np.ufunc) -> str:
        if function not in UFUNCS:
            raise refuse(reasons.UFUNC, function.__name__)
        return UFUNCS[function]

    def ordered_fold(
        self,
        function: np.ufunc,
        x: Tensor,
        axes: SequenceOf[int],
        keepdims: bool,
        first: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        """`function.reduce` in the dtype of `x`; of several axes, the last one first."""
        if not axes:
            begin = first if first is not None else self._identity(function, x)
            return self._fold_of_one(function, x, begin, mask)
        self.reduced_axes.require_order(x, axes)
        wide = x.dtype == "float16" and function in WIDE_OF_HALVES
        if wide and (x.rank > 1 or mask is not None):
            raise refuse(reasons.HALVES_NUMPY_ROUNDS_AFTER_EACH)
        folded = self.elementwise.cast(x, "float32") if wide else x
        for axis in reversed(axes):
            begin = first if first is not None and axis == axes[0] else self._identity(function, x)
            folded = self._fold(function, folded, axis, begin, mask)
            mask = None
        folded = self.elementwise.cast(folded, x.dtype)
        return self.reduced_axes.without_axes(self.arrays.value_of(folded), folded, axes, keepdims)

    def _fold_of_one(
        self, function: np.ufunc, x: Tensor, begin: Tensor | None, mask: Tensor | None
    ) -> Tensor:
        """Over no axis each element is all there is to fold."""
        if begin is None:
            return self.elementwise.copy(x)
        made = self.elementwise.apply(self.op_of(function), [begin, x], x.dtype, x.order)
        if mask is None:
            return made
        return self.elementwise.apply("select", [mask, made, begin], x.dtype, mask.order)

    def _identity(self, function: np.ufunc, x: Tensor) -> Tensor | None:
        if function.identity is None:
            return None
        return self.promotion.operand(Literal(function.identity), x.dtype)

    def _fold(
        self,
        function: np.ufunc,
        x: Tensor,
        axis: int,
        begin: Tensor | None,
        mask: Tensor | None,
    ) -> Tensor:
        """One axis becomes one element, of which the first operand is `begin` or its first one."""
        order = x.order if mask is None else mask.order
        place = order.index(axis)
        rest, stored = self.layouts.arranged(x, order), [x.shape[a] for a in order]
        one = [*stored[:place], self.graph.size(1), *stored[place + 1 :]]
        if begin is not None:
            start = self.graph.broadcast_value(
                self.arrays.value_of(self.elementwise.cast(begin, x.dtype)), one
            )
        elif mask is not None:
            raise refuse(reasons.REDUCE_WHERE_NO_INITIAL, function.__name__)
        else:  # of no elements there is no first, and the replay is dropped
            origin, steps = [self.graph.size(0)] * x.rank, [1] * x.rank
            start = self.updates.slice_value(rest, origin, steps, one)
            stored[place] = stored[place] - 1
            origin[place] = self.graph.size(1)
            rest = self.updates.slice_value(rest, origin, steps, stored)
        parts = [start, rest] if mask is None else [start, rest, self.arrays.value_of(mask)]
        op = "fold" if mask is None else "fold_where"
        value = self.graph.along_value(op, parts, place, self.op_of(function))
        shape = [self.graph.size(1) if a == axis else dim for a, dim in enumerate(x.shape)]
        return fresh(value, x.dtype, shape, order)


def order_of_pieces(order: Order, axis: int) -> Order:
    """The memory order of what reduceat gives, as it comes out for a small array."""
    stored = np.zeros([axis + 2 for axis in order], np.uint8)
    array = stored.transpose([order.index(a) for a in range(len(order))])
    strides = np.add.reduceat(array, [0, 1], axis=axis, dtype=np.uint8).strides
    return tuple(sorted(range(len(order)), key=lambda axis: -strides[axis]))


__all__ = ["OrderedFolds"]
