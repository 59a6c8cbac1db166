"""Elementwise steps: shapes that broadcast, casts, copies."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

from dvm import _dvm
from dvm.magpy_capture.tensors.fresh import Order, c_order, fresh
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Tensor


class Elementwise(TensorPart):
    """Elementwise steps on tensors."""

    needs = "arrays graph layouts rules sizes"

    def cast(self, t: Tensor, dtype: str) -> Tensor:
        if t.dtype == dtype:
            return t
        value = self.graph.cast_value(self.arrays.value_of(t), dtype)
        made = fresh(value, dtype, t.shape, t.order, library=t.library, is_scalar=t.is_scalar)
        if t.loose:
            made.loose, made.cast_of = True, t.cast_of or t
        return made

    def copy(self, t: Tensor, order: Order | None = None) -> Tensor:
        """New memory with the same elements (K order by default)."""
        order = self.rules.copied_order(t) if order is None else order
        value = self.graph.copy_value(self.layouts.arranged(t, order))
        return fresh(value, t.dtype, t.shape, order, library=t.library)

    def common_shape(self, operands: SequenceOf[Tensor]) -> list[_dvm.Dim]:
        shapes = [t.shape for t in operands]
        if shapes.count(shapes[0]) == len(shapes):
            return shapes[0]
        return self.broadcast_shape(shapes)

    def broadcast_shape(self, shapes: SequenceOf[SequenceOf[_dvm.Dim]]) -> list[_dvm.Dim]:
        """What shapes broadcast to, aligned at their last axes."""
        rank = max(map(len, shapes))
        result = []
        for axis in range(-rank, 0):
            first, *others = [shape[axis] for shape in shapes if len(shape) >= -axis]
            for dim in others:
                first = self.broadcast_dim(first, dim)
            result.append(first)
        return result

    def broadcast_dim(self, a: _dvm.Dim, b: _dvm.Dim) -> _dvm.Dim:
        """bcast(a, b), in which each size occurs once however often it was met."""
        if a is b:
            return a
        parts = [self.graph.broadcast_of.get(dim, frozenset([dim])) for dim in (a, b)]
        if parts[1] <= parts[0]:
            return a
        if parts[0] <= parts[1]:
            return b
        if (
            self.is_derived(a)
            and self.is_derived(b)
            and self.sizes.observed(a) == self.sizes.observed(b)
        ):
            # Halves, rests and clipped ranges that meet are equal by the program's design. Their
            # bcast() would grow with every step of it.
            self.sizes.require_equal(a, b)
            return a
        products = [dim for dim in (a, b) if dim in self.graph.product_sizes]
        if products and self.sizes.observed(a) == self.sizes.observed(b) != 1:
            # A bias has the size of the columns it is added to, so that their kernel may add it.
            self.sizes.require_equal(a, b)
            return a if a.constant is not None else b if b.constant is not None else products[0]
        result = a.bcast(b)
        self.graph.broadcast_of[result] = parts[0] | parts[1]
        return result

    @staticmethod
    def is_derived(dim: _dvm.Dim) -> bool:
        """Whether the size is more than a polynomial of sizes: a quotient, a rest, a maximum."""
        return not dim.is_polynomial

    def apply(
        self, op: str, operands: SequenceOf[Tensor], dtype: str, order: Order | None = None
    ) -> Tensor:
        shape = self.common_shape(operands)
        order = self.rules.result_order(operands, len(shape)) if order is None else order
        stored = [shape[axis] for axis in order]
        values = [
            self.layouts.arranged(t, order)
            if t.shape == shape
            else self.graph.broadcast_value(self.layouts.arranged(t, order), stored)
            for t in operands
        ]
        value = self.graph.elementwise_value(op, values)
        return fresh(value, dtype, shape, order, library=operands[0].library, is_scalar=not shape)

    def broadcast(self, t: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
        """The content repeated to `shape`, in C order, as new memory."""
        value = self.graph.broadcast_value(self.layouts.arranged(t, c_order(len(shape))), shape)
        return fresh(value, t.dtype, shape, library=t.library)


__all__ = ["Elementwise"]
