"""Sums of products over axes with labels: what np.dot, np.tensordot and np.einsum have in common.

A Factor is a value of the graph whose axes have labels. Two of them are multiplied and summed over
the labels that nobody needs any more: by the op matmul, for which axes are sorted and merged, or
element by element where no label is left to sum over.
"""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass

from dvm import _dvm, reasons
from dvm.magpy_capture.path.graphs import same_shape
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.tensors.fresh import Order, adjacent_runs, c_order
from dvm.magpy_capture.tensors.layer import TensorPart
from dvm.magpy_capture.values import Tensor

#: dtype of a product -> dtypes in which it is computed: of the factors, and of their sums.
#: Integers wrap, so that wider ones end in the same bits; of truths, a sum of floats that are not
#: negative is 0 where none is true.
COMPUTED_IN: dict[str, tuple[str, str]] = {
    "bool": ("float32", "float32"),
    "int8": ("int8", "int32"),
    "uint8": ("int8", "int32"),
    "int16": ("int32", "int32"),
    "uint16": ("int32", "int32"),
    "uint32": ("int32", "int32"),
}

Sizes = dict[str, _dvm.Dim]


@dataclass(frozen=True)
class Factor:
    """A value whose axes have these labels."""

    value: int
    labels: tuple[str, ...]


class Contractions(TensorPart):
    """Products of factors, pair by pair."""

    needs = "arrays elementwise graph sizes updates views"

    def matrices(self, a: int, b: int, dtype: str) -> int:
        """Products of matrices of one dtype, in that dtype."""
        elements, sums = COMPUTED_IN.get(dtype, (dtype, dtype))
        value = self.graph.matmul_value(
            self.graph.cast_value(a, elements), self.graph.cast_value(b, elements), sums
        )
        return self.graph.cast_value(value, dtype)

    # ---- labels

    def sizes_of(
        self,
        operands: SequenceOf[Tensor],
        labels: SequenceOf[SequenceOf[str]],
        stretched: Collection[str] = (),
    ) -> Sizes:
        """One size for each label: the path is for calls in which those of all arrays are equal.

        stretched: labels along which an array of size 1 is repeated, as in elementwise operations.
        """
        sizes: Sizes = {}
        pairs = []
        for operand, names in zip(operands, labels, strict=True):
            for name, size in zip(names, operand.shape, strict=True):
                known = sizes.setdefault(name, size)
                if name in stretched:
                    sizes[name] = self.elementwise.broadcast_dim(known, size)
                elif self.sizes.observed(known) != self.sizes.observed(size):
                    raise refuse(reasons.SUM_OVER_UNEQUAL_SIZES)
                else:
                    sizes[name] = size if known.constant is None else known
                    pairs.append((known, size))
        for known, size in pairs:
            self.sizes.require_equal(known, size)
        return sizes

    def as_it_lies(self, t: Tensor, sizes: SequenceOf[_dvm.Dim]) -> tuple[int, Order]:
        """The content under other names of the same sizes, and its axes in the order it has them.

        Where it is open whether an array is a view, C order does, of which nobody need know more.
        """
        if t.maybe is not None and t.open_order is not None and not self.arrays.is_stale(t):
            value, order = t.maybe.content, c_order(t.rank)
        else:
            value, order = self.arrays.value_of(t), t.order
        stored = [sizes[axis] for axis in order]
        dense = t.contiguous and not _is_of_part(t)
        if dense or t.maybe is not None or same_shape(self.graph.shape(value), stored):
            return self.views.reshape_value(value, stored), order
        # Of what does not lie densely a reshape is a copy, and a slice of everything is none. It
        # is one more of a part, of which the Plan knows where in an array it lies.
        return self.updates.slice_value(
            value, [self.graph.size(0)] * t.rank, [1] * t.rank, stored
        ), order

    def factor(
        self, t: Tensor, labels: SequenceOf[str], sizes: Sizes, stretched: Collection[str] = ()
    ) -> Factor:
        own = [
            size if name in stretched else sizes[name]
            for name, size in zip(labels, t.shape, strict=True)
        ]
        value, order = self.as_it_lies(t, own)
        names = tuple(labels[axis] for axis in order)
        return Factor(self.graph.broadcast_value(value, [sizes[name] for name in names]), names)

    def transposed_value(self, factor: Factor, labels: SequenceOf[str]) -> int:
        return self.graph.transpose_value(
            factor.value, [factor.labels.index(name) for name in labels]
        )

    def _sizes_in(self, *factors: Factor) -> Sizes:
        return {
            name: size
            for one in factors
            for name, size in zip(one.labels, self.graph.shape(one.value), strict=True)
        }

    # ---- sums and products

    def summed(self, factor: Factor, kept: Collection[str], dtype: str) -> Factor:
        """The factor without the labels that are not kept."""
        value, names = factor.value, factor.labels
        gone = [axis for axis, name in enumerate(names) if name not in kept]
        if not gone:
            return factor
        for run in reversed(adjacent_runs(gone)):
            value = self.graph.reduce_value("any" if dtype == "bool" else "sum", value, run)
        sizes = self.graph.shape(value)
        left = [axis for axis in range(len(names)) if axis not in gone]
        value = self.views.reshape_value(value, [sizes[axis] for axis in left])
        return Factor(value, tuple(names[axis] for axis in left))

    def contracted(
        self, a: Factor, b: Factor, kept: Collection[str], order: SequenceOf[str], dtype: str
    ) -> Factor:
        """The sum of products over the labels that are not kept.

        order: in which labels are wanted; they come in another where that one would cost a copy.
        """
        a, b = (self.summed(one, {*kept, *other.labels}, dtype) for one, other in ((a, b), (b, a)))
        both = [name for name in a.labels if name in b.labels]
        common = [name for name in both if name not in kept]
        if not common:
            return self._elementwise(a, b, order, dtype)
        batch = sorted((name for name in both if name in kept), key=order.index)
        rows, columns = ([name for name in one.labels if name not in both] for one in (a, b))
        if batch and not rows and not columns:
            return self._row_by_row(a, b, kept, dtype)
        if rows and columns and order.index(rows[0]) > order.index(columns[0]):
            a, b, rows, columns = b, a, columns, rows
        left = self._merged(a, batch, rows, common)
        right = self._merged(b, batch, common, columns)
        sizes, names = self._sizes_in(a, b), (*batch, *rows, *columns)
        value = self.matrices(left, right, dtype)
        return Factor(self.views.reshape_value(value, [sizes[name] for name in names]), names)

    def _row_by_row(self, a: Factor, b: Factor, kept: Collection[str], dtype: str) -> Factor:
        """Of the same labels: for each kept place products of vectors, too small for a matmul each.

        Halves are multiplied and added up as floats, as they are in a matmul.
        """
        sums = "float32" if dtype == "float16" else dtype
        a, b = (Factor(self.graph.cast_value(one.value, sums), one.labels) for one in (a, b))
        summed = self.summed(self._elementwise(a, b, a.labels, sums), kept, sums)
        return Factor(self.graph.cast_value(summed.value, dtype), summed.labels)

    def _merged(self, factor: Factor, batch: list[str], first: list[str], second: list[str]) -> int:
        """As matrices, of which there is one for each place along the labels of the batch."""
        value = self.transposed_value(factor, [*batch, *first, *second])
        sizes = self.graph.shape(value)
        begin, middle = len(batch), len(batch) + len(first)
        merged = [self.graph.product(sizes[begin:middle]), self.graph.product(sizes[middle:])]
        return self.views.reshape_value(value, [*sizes[:begin], *merged])

    def _elementwise(self, a: Factor, b: Factor, order: SequenceOf[str], dtype: str) -> Factor:
        sizes = self._sizes_in(a, b)
        names = sorted(sizes, key=order.index)
        spread = []
        for one in (a, b):
            own = [name for name in names if name in one.labels]
            shape = [sizes[name] if name in own else self.graph.size(1) for name in names]
            value = self.views.reshape_value(self.transposed_value(one, own), shape)
            spread.append(self.graph.broadcast_value(value, [sizes[name] for name in names]))
        value = self.from_zero(self.graph.elementwise_value("mul", spread), dtype)
        return Factor(value, tuple(names))

    def from_zero(self, value: int, dtype: str) -> int:
        """A product as NumPy's sums of products have it, which begin with 0: never -0."""
        if not dtype.startswith("float"):
            return value
        zero = self.graph.broadcast_value(
            self.graph.constant_value(dtype, 0.0), self.graph.shape(value)
        )
        return self.graph.elementwise_value("add", [value, zero])

    def finished(self, factor: Factor, labels: SequenceOf[str]) -> int:
        """The value with its axes in that order, as new memory."""
        value = self.transposed_value(factor, labels)
        return value if value == factor.value else self.graph.copy_value(value)


def _is_of_part(t: Tensor) -> bool:
    """Whether it is `x[key]`, or a view of that."""
    while t.base is not None and t.remake is not None:
        if t.remake[0] == "getitem":
            return True
        t = t.base
    return False


__all__ = ["Contractions", "Factor", "Sizes"]
