"""Products of matrices and vectors: @ and the ufuncs beside it, np.dot and its kin.

Sums are in the order of the graph's op, so that floats may differ from NumPy's in their last bits,
as those of np.sum do; halves are added up as floats and rounded once, and integers wrap, as NumPy's
do. Arrays are read where they lie: transposed, with any strides, or repeated.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from string import ascii_lowercase
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.einsum_text import (
    Layout,
    Path,
    memory_order,
    sizes_that_matter,
)
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.tables import VECTORS
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, applied_otherwise
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.contractions import Sizes
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.values import Abstract, Literal, Tensor


class NumpyProducts(NumpyPart):
    """What the op matmul of the graph computes, in NumPy's shapes, dtypes and memory orders."""

    needs = (
        "arrays containers contractions elementwise graph indexing joining layouts promotion "
        "reductions sizes ufunc_methods ufuncs views"
    )

    # ---- ufuncs

    @applied_otherwise(np.matmul, *VECTORS)
    def matrix_product(
        self, function: np.ufunc, operands: SequenceOf[Abstract], **kwargs: Any
    ) -> Tensor:
        """np.matmul and its kin, of vectors and matrices."""
        dtype, *_ = self.promotion.loop_of(function, operands, **kwargs)
        a, b = (self.promotion.operand(each, dtype) for each in operands)
        row, column = VECTORS.get(function, (a.rank == 1, b.rank == 1))
        return self._matmul(a, b, row, column)

    def order_of_sums(
        self,
        operands: SequenceOf[Tensor],
        labels: SequenceOf[SequenceOf[str]],
        output: str,
        sizes: Sizes,
        *,
        path: Path = None,
    ) -> Order:
        """The memory order of np.einsum's result, where `sizes` are those that arrays share.

        labels: of the first axes of each array.
        """
        kept = set()  # sizes that the result has
        layouts = []
        for t, names in zip(operands, labels, strict=True):
            still = self.layouts.repeated_axes(t)
            dims = []
            for axis, name in enumerate(names):
                dim = self.graph.size(1) if still >> axis & 1 else sizes.get(name, t.shape[axis])
                dims.append(dim)
                if name in output:
                    kept.add(dim)
            own = tuple(axis for axis in self.layouts.order_in_memory(t) if axis < len(names))
            layouts.append((own, dims))
        # What is remembered of other calls has no names of symbols.
        known = dict.fromkeys(dim for _, dims in layouts for dim in dims)
        short = {dim: f"n{i}" for i, dim in enumerate(d for d in known if d.constant is None)}
        question = (
            tuple("".join(names) for names in labels),
            output,
            tuple(
                Layout(own, tuple(short.get(d) or str(d) for d in dims)) for own, dims in layouts
            ),
        )
        small = []
        for dim, name in short.items():
            if name not in sizes_that_matter(*question, path):
                continue
            if self.sizes.is_size(dim, 1):
                small.append((name, 1))
            elif dim not in kept and self.sizes.is_size(dim, 0):
                small.append((name, 0))
        return memory_order(*question, tuple(small), path)

    def _matmul(self, a: Tensor, b: Tensor, row: bool, column: bool) -> Tensor:
        """A vector counts as one row or as one column, which the result lacks."""
        ranks = a.rank - 2 + row, b.rank - 2 + column
        if min(ranks) < 0:
            raise refuse(reasons.PRODUCT_OF, describe(a), describe(b))
        size = self._common_size(a, b, -1 if column else -2)
        rows = [] if row else [a.shape[-2]]
        columns = [] if column else [b.shape[-1]]
        batch = self.elementwise.broadcast_shape([a.shape[: ranks[0]], b.shape[: ranks[1]]])
        one = [self.graph.size(1)]
        left = self._matrices_of(a, [*rows, size], [*(rows or one), size], batch)
        right = self._matrices_of(b, [size, *columns], [size, *(columns or one)], batch)
        shape = [*batch, *rows, *columns]
        value = self.views.reshape_value(self.contractions.matrices(left, right, a.dtype), shape)
        first = self._batch_order((a, b), ranks)
        order = (*first, *range(len(first), len(shape)))
        if order != c_order(len(shape)):
            value = self.graph.copy_value(self.graph.transpose_value(value, order))
        return fresh(value, a.dtype, shape, order, is_scalar=not shape)

    def _common_size(self, a: Tensor, b: Tensor, axis: int) -> _dvm.Dim:
        """The size to sum along, which both have in calls of this path."""
        sizes = a.shape[-1], b.shape[axis]
        self.sizes.require_equal(*sizes)
        return sizes[0] if sizes[1].constant is None else sizes[1]

    def _matrices_of(
        self,
        t: Tensor,
        own: SequenceOf[_dvm.Dim],
        matrix: SequenceOf[_dvm.Dim],
        batch: SequenceOf[_dvm.Dim],
    ) -> int:
        """Its last axes, of sizes `own`, as a matrix, which is repeated for the batch."""
        lead = t.shape[: t.rank - len(own)]
        value, order = self.contractions.as_it_lies(t, [*lead, *own])
        value = self.graph.transpose_value(value, [order.index(axis) for axis in range(t.rank)])
        value = self.views.reshape_value(value, [*lead, *matrix])
        return self.graph.broadcast_value(value, [*batch, *matrix])

    def _batch_order(self, operands: SequenceOf[Tensor], ranks: SequenceOf[int]) -> Order:
        """The order in memory of the axes in front of those of the matrices: K order."""
        rank = max(ranks)
        if rank < 2:
            return c_order(rank)
        letters = ascii_lowercase[:rank]
        labels = [letters[rank - own :] for own in ranks]
        return self.order_of_sums(operands, labels, letters, {})

    # ---- np.dot and its kin

    @means(np.dot, np.ndarray.dot)
    def dot(self, a: Abstract, b: Abstract, out: Abstract = NONE) -> Tensor:
        x, y = self._pair(a, b)
        if not x.rank or not y.rank:
            return self._into(self._scaled(x, y), out)
        return self._into(self._summed_over(x, y, [x.rank - 1], [max(y.rank - 2, 0)]), out)

    @means(np.inner)
    def inner(self, a: Abstract, b: Abstract) -> Tensor:
        x, y = self._pair(a, b)
        if not x.rank or not y.rank:
            return self._scaled(x, y)
        return self._summed_over(x, y, [x.rank - 1], [y.rank - 1])

    @means(np.vdot)
    def vdot(self, a: Abstract, b: Abstract) -> Tensor:
        x, y = (self.reductions.flat(each) for each in self._pair(a, b))
        return self._summed_over(x, y, [0], [0])

    @means(np.tensordot, np.linalg.tensordot)
    def tensordot(self, a: Abstract, b: Abstract, axes: Abstract = Literal(2)) -> Tensor:
        x, y = self._pair(a, b)
        given = self.indexing.plain(axes)
        if isinstance(given, (tuple, list)) and len(given) == 2:
            pairs = [list(each) if isinstance(each, (tuple, list)) else [each] for each in given]
        else:
            count = self.indexing.integer(axes)
            pairs = [list(range(-count, 0)), list(range(count))]
        own = [
            [self.ufunc_methods.axis(axis, t.rank) for axis in each]
            for t, each in zip((x, y), pairs, strict=True)
        ]
        if len(own[0]) != len(own[1]) or any(len(set(each)) < len(each) for each in own):
            raise refuse(reasons.TENSORDOT_AXES, given)
        made = self._summed_over(x, y, *own)
        # A view of the product of two matrices, as NumPy computes it.
        left = x.rank - len(own[0])
        sizes = [self.graph.product(made.shape[:left]), self.graph.product(made.shape[left:])]
        matrix = self.views.reshape_value(self.arrays.value_of(made), sizes)
        return self.views.reshaped(fresh(matrix, made.dtype, sizes), made.shape)

    def _pair(self, a: Abstract, b: Abstract) -> tuple[Tensor, Tensor]:
        """Both as arrays of the dtype that they have in common."""
        x, y = self.ufuncs.as_array(a), self.ufuncs.as_array(b)
        dtype = self.joining.common_dtype([x, y])
        return self.elementwise.cast(x, dtype), self.elementwise.cast(y, dtype)

    def _scaled(self, x: Tensor, y: Tensor) -> Tensor:
        """With an operand that has no axes. In which order the result lies depends on the dtype."""
        for t in (x, y):
            if self.layouts.order_in_memory(t) != c_order(t.rank):
                raise refuse(reasons.PRODUCT_OF, describe(x), describe(y))
        return self.ufuncs.apply(np.multiply, [x, y])

    def _summed_over(self, x: Tensor, y: Tensor, axes: list[int], others: list[int]) -> Tensor:
        """Summed over pairs of axes; what is left of `x` and then of `y` lies in C order."""
        letters = iter(ascii_lowercase)
        labels = [next(letters) for _ in range(x.rank)]
        paired = {other: labels[axis] for axis, other in zip(axes, others, strict=True)}
        partner = [paired.get(axis) or next(letters) for axis in range(y.rank)]
        gone = paired.values()
        left = [name for name in (*labels, *partner) if name not in gone]
        sizes = self.contractions.sizes_of([x, y], [labels, partner])
        a, b = (
            self.contractions.factor(x, labels, sizes),
            self.contractions.factor(y, partner, sizes),
        )
        made = self.contractions.contracted(a, b, left, left, x.dtype)
        shape = [sizes[name] for name in left]
        value = self.contractions.finished(made, left)
        return fresh(value, x.dtype, shape, is_scalar=not shape)

    def _into(self, result: Tensor, out: Abstract) -> Tensor:
        """The result, or `out` with it, which NumPy takes in its dtype and in C order only.

        Of an `out` without axes it gives back the number.
        """
        into = self.ufunc_methods.result_array(out)
        if into is not None:
            if into.rank == 0:
                raise refuse(reasons.OUT, describe(into))
            if into.dtype != result.dtype or into.order != c_order(into.rank):
                raise refuse(reasons.OUT, describe(into))
            if not into.contiguous:
                raise refuse(reasons.OUT, describe(into))
        return self.ufunc_methods.deliver(result, into)

    # ---- several products

    @means(np.linalg.multi_dot)
    def multi_dot(self, arrays: Abstract, *, out: Abstract = NONE) -> Tensor:
        """In the order of least work, by the sizes of the recorded call."""
        parts = [self.ufuncs.as_array(part) for part in self.containers.elements(arrays)]
        inner = parts[1:-1]
        fits = len(parts) > 1 and all(t.rank == 2 for t in inner)
        if not fits or any(t.rank not in (1, 2) for t in parts):
            raise refuse(reasons.PRODUCT_OF, *map(describe, parts[:2]))
        if len({t.dtype for t in parts}) > 1 and len(parts) > 2:
            raise refuse(reasons.MULTI_DOT_DTYPES)
        sizes = [1 if parts[0].rank == 1 else self.sizes.observed(parts[0].shape[0])]
        sizes += [self.sizes.observed(t.shape[0]) for t in parts[1:]]
        sizes += [1 if parts[-1].rank == 1 else self.sizes.observed(parts[-1].shape[1])]

        def chain(begin: int, end: int) -> Tensor:
            if begin == end:
                return parts[begin]
            split = splits[begin, end]
            return self.dot(chain(begin, split), chain(split + 1, end))

        splits = _cheapest_splits(sizes)
        return self._into(chain(0, len(parts) - 1), out)

    @means(np.linalg.matrix_power)
    def matrix_power(self, a: Abstract, n: Abstract) -> Tensor:
        x, power = self.ufuncs.as_array(a), self.indexing.integer(n)
        if x.rank < 2 or power < 1:
            raise refuse(reasons.MATRIX_POWER, power)
        self.sizes.require_equal(x.shape[-2], x.shape[-1])
        if power == 1:
            return x
        if power == 3:  # as NumPy does, and not by squares
            return self.ufuncs.apply(np.matmul, [self.ufuncs.apply(np.matmul, [x, x]), x])
        square, result = x, None
        while power:
            power, odd = divmod(power, 2)
            if odd:
                result = (
                    square if result is None else self.ufuncs.apply(np.matmul, [result, square])
                )
            if power:
                square = self.ufuncs.apply(np.matmul, [square, square])
        assert result is not None
        return result


def _cheapest_splits(sizes: SequenceOf[int]) -> dict[tuple[int, int], int]:
    """Where to split a chain of matrices, of which number i is sizes[i] by sizes[i + 1]."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length

            def whole(k: int, i: int = i, j: int = j) -> int:
                return cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]

            splits[i, j] = min(range(i, j), key=whole)
            cost[i, j] = whole(splits[i, j])
    return splits


__all__ = ["NumpyProducts"]
