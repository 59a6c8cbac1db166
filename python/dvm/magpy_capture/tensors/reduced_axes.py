"""Reductions of tensors over axes."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from dvm import reasons
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import adjacent_runs, fresh
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Literal, Tensor


class ReducedAxes(TensorPart):
    """Reduces axes of tensors."""

    needs = "arrays elementwise graph program rules sizes views"

    def reduce(self, op: str, t: Tensor, axes: SequenceOf[int], keepdims: bool) -> Tensor:
        """Reduces `axes` (normalised, ascending)."""
        if not axes:
            if op == "sum" and t.dtype.startswith("float"):  # which begins with 0: never -0
                zero = self.rules.operand(Literal(0.0), t.dtype)
                return self.elementwise.apply("add", [t, zero], t.dtype, self.rules.copied_order(t))
            return self.elementwise.copy(t)
        value = self.arrays.value_of(t)
        self.require_order(t, axes)
        places = sorted(t.order.index(axis) for axis in axes)
        for run in reversed(adjacent_runs(places)):
            value = self.graph.reduce_value(op, value, run)
        return self.without_axes(value, t, axes, keepdims)

    def require_order(self, t: Tensor, axes: SequenceOf[int]) -> None:
        """The path is for calls in which the order of `t` is that of its sums over the axes.

        Of an array that NumPy made without elements, some axes may have stride 0 and so no order.
        """
        kept = [axis for axis in t.order if axis not in axes]
        if kept == sorted(kept):
            return
        size = self.graph.product(t.shape[axis] for axis in axes)
        if size.constant is None or size.constant == 0:
            some = self.program.operate(
                "!=", self.program.register_of_dim(size), self.program.constant(0)
            )
            self.program.guard("guard_truth", some, bool(self.sizes.observed(size)))
            if not self.sizes.observed(size):
                raise refuse(reasons.RESULT_ANOTHER_MEMORY_ORDER_EXPECTED)

    def without_axes(self, value: int, t: Tensor, axes: SequenceOf[int], keepdims: bool) -> Tensor:
        """The value of a reduction of `t`, in which the axes have size 1, with or without these."""
        shape = list(t.shape)
        for axis in axes:
            shape[axis] = self.graph.size(1)
        if keepdims:
            return fresh(value, t.dtype, shape, t.order, library=t.library)
        kept = [axis for axis in range(t.rank) if axis not in axes]
        order = tuple(kept.index(axis) for axis in t.order if axis not in axes)
        stored = [t.shape[axis] for axis in t.order if axis not in axes]
        value = self.views.reshape_value(value, stored)
        dims = [t.shape[axis] for axis in kept]
        return fresh(value, t.dtype, dims, order, library=t.library, is_scalar=not dims)


__all__ = ["ReducedAxes"]
