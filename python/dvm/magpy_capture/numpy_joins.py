"""Joins, splits and comparisons of whole arrays."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from itertools import pairwise
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.arrays import c_order
from dvm.magpy_capture.numpy_moves import NumpyMoves
from dvm.magpy_capture.numpy_ranges import every_element
from dvm.magpy_capture.numpy_ufuncs import NONE, ZERO
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import (
    Abstract,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
)

ONE = Literal(1)


def _broadcast_for_now(array: Any, shape: tuple[int, ...]) -> Any:
    """What np.broadcast_arrays makes of an array of another shape: writable, with a warning."""
    return np.broadcast_arrays(array, np.broadcast_to(np.zeros((), array.dtype), shape))[0]


numpy_table(
    {
        name: name
        for name in (
            "meshgrid split array_split vstack hstack column_stack atleast_1d atleast_2d "
            "rot90 fliplr flipud isclose array_equal outer kron cross block broadcast_arrays"
        ).split()
    }
)


class NumpyJoins(NumpyMoves):
    """Functions of several arrays."""

    # ---- joins and splits

    def block(self, arrays: Abstract) -> Tensor:
        """Nested lists: the innermost joined along the last axis, and so on outwards."""
        depth = self._nesting(arrays)
        leaves = self._leaves(arrays)
        if depth == 0 or any(t.order != c_order(t.rank) for t in leaves):
            raise self.refuse(reasons.BLOCK_ARRAY_ARRAYS_ANOTHER_ORDER)
        rank = max(depth, self.common_rank(leaves))
        return self._block(arrays, depth, rank)

    def _block(self, value: Abstract, depth: int, rank: int) -> Tensor:
        if depth > 0:
            parts: list[Abstract] = [
                self._block(part, depth - 1, rank) for part in self.elements(value)
            ]
            return self.concatenate(Sequence(parts), Literal(-depth))
        x = self.as_array(value)
        shape = [*[self.size(1)] * (rank - x.rank), *x.shape]
        return self.fresh(self.reshape_value(self.in_c_order(x), shape), x.dtype, shape)

    def _is_list(self, value: Abstract) -> bool:
        value = self.resolve(value)
        return isinstance(value, ListValue) or (
            isinstance(value, Literal) and type(value.object) is list
        )

    def _nesting(self, value: Abstract) -> int:
        """How deep lists are nested, which is the same everywhere."""
        if not self._is_list(value):
            return 0
        depths = {self._nesting(part) for part in self.elements(value)}
        if len(depths) != 1:
            raise self.refuse(reasons.BLOCK_LISTS_UNEQUAL_DEPTH)
        return 1 + depths.pop()

    def _leaves(self, value: Abstract) -> list[Tensor]:
        if not self._is_list(value):
            return [self.as_array(value)]
        return [leaf for part in self.elements(value) for leaf in self._leaves(part)]

    def atleast_1d(self, *arys: Abstract) -> Abstract:
        return self._at_least(arys, 1)

    def atleast_2d(self, *arys: Abstract) -> Abstract:
        return self._at_least(arys, 2)

    def _at_least(self, arys: SequenceOf[Abstract], rank: int) -> Abstract:
        made = []
        for value in arys:
            x = self.as_array(value)
            if x.rank < rank:
                key = [NONE] * (rank - x.rank) + [every_element()] * x.rank
                x = self.index(x, Sequence([*key, Literal(Ellipsis)]))
            made.append(x)
        return made[0] if len(made) == 1 else Sequence(made)

    def vstack(self, tup: Abstract) -> Tensor:
        parts = [self._at_least([part], 2) for part in self.elements(tup)]
        return self.concatenate(Sequence(parts))

    def hstack(self, tup: Abstract) -> Tensor:
        parts = [self._at_least([part], 1) for part in self.elements(tup)]
        return self.concatenate(Sequence(parts), Literal(0 if parts[0].rank == 1 else 1))

    def column_stack(self, tup: Abstract) -> Tensor:
        parts = []
        for part in self.elements(tup):
            x = self.as_array(part)
            if x.rank < 2:
                x = self.index(self._at_least([x], 1), Sequence([every_element(), NONE]))
            parts.append(x)
        return self.concatenate(Sequence(parts), ONE)

    def split(
        self, ary: Abstract, indices_or_sections: Abstract, axis: Abstract = ZERO
    ) -> Abstract:
        return self._split(ary, indices_or_sections, axis, equal=True)

    def array_split(
        self, ary: Abstract, indices_or_sections: Abstract, axis: Abstract = ZERO
    ) -> Abstract:
        return self._split(ary, indices_or_sections, axis, equal=False)

    def _split(self, ary: Abstract, sections: Abstract, axis: Abstract, *, equal: bool) -> Abstract:
        x = self.as_array(ary)
        place = self.axis(self.plain(axis), x.rank)
        parts = self._parts(sections)
        bounds: list[Abstract]
        if parts is None:
            count = self.integer(sections)
            if count <= 0:
                raise self.refuse(reasons.SPLIT_INTO_NO_PARTS)
            size = x.shape[place]
            if equal:
                self._require_equal([size % count], [self.size(0)])
                each = size // count
                bounds = [Size(each * i) for i in range(1, count)]
            else:
                whole, extra = size // count, size % count
                bounds = [Size(whole * i + extra.min(self.size(i))) for i in range(1, count)]
        else:
            bounds = parts
        edges: list[Abstract] = [NONE, *bounds, NONE]
        views = []
        for first, last in pairwise(edges):
            key: list[Abstract] = [every_element()] * x.rank
            key[place] = SliceValue(first, last, NONE)
            views.append(self.index(x, Sequence(key)))
        return ListValue(views)

    def meshgrid(self, *xi: Abstract, indexing: Abstract = Literal("xy")) -> Abstract:
        parts = [self.flat(self.as_array(value)) for value in xi]
        places = list(range(len(parts)))
        if self.plain(indexing) == "xy" and len(parts) > 1:
            places[0], places[1] = 1, 0
        shape: list[Any] = [None] * len(parts)
        for part, place in zip(parts, places, strict=True):
            shape[place] = part.shape[0]
        grids = []
        for part, place in zip(parts, places, strict=True):
            own = [shape[i] if i == place else self.size(1) for i in range(len(parts))]
            value = self.reshape_value(self.in_c_order(part), own)
            grids.append(self.fresh(self.copy_value(value, shape), part.dtype, shape))
        return Sequence(grids)

    def broadcast_arrays(self, *args: Abstract) -> Abstract:
        """Those that have the shape of all stay themselves (numpy/lib/_stride_tricks_impl.py)."""
        parts = [self.as_array(value) for value in args]
        shape = self.common_shape(parts)
        return Sequence(
            [
                part if self._has_shape(part, shape) else self._expanded(part, shape)
                for part in parts
            ]
        )

    def _has_shape(self, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> bool:
        return x.rank == len(shape) and all(
            self._are_equal(one, other) for one, other in zip(x.shape, shape, strict=True)
        )

    def _are_equal(self, one: _dvm.Dim, other: _dvm.Dim) -> bool:
        """Whether two sizes are equal: an outcome, unless it is known."""
        if one == other:
            return True
        if one.constant is not None and other.constant is not None:
            return False
        equal = self.observed(one) == self.observed(other)
        test = self._operate("==", self.register_of_dim(one), self.register_of_dim(other))
        self.guard("guard_truth", test, equal)
        return equal

    def _expanded(self, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
        """A view that NumPy warns about once it is written: such a write is refused here."""
        view = self.broadcast_to(x, self.arguments_of(shape))
        view.remake = (_broadcast_for_now, [self.arguments_of(shape)])
        return view

    def fliplr(self, m: Abstract) -> Tensor:
        return self.flip(m, ONE)

    def flipud(self, m: Abstract) -> Tensor:
        return self.flip(m, ZERO)

    def rot90(self, m: Abstract, k: Abstract = ONE, axes: Abstract = Literal((0, 1))) -> Tensor:
        x = self.as_array(m)
        first, second = (self.axis(axis, x.rank) for axis in self.plain(axes))
        turns = self.integer(k) % 4
        everything = Sequence([Literal(Ellipsis)])
        if turns == 0:
            return self.index(x, everything)
        if turns == 2:
            return self.flip(self.flip(x, Literal(first)), Literal(second))
        if turns == 1:
            return self.swapaxes(self.flip(x, Literal(second)), Literal(first), Literal(second))
        return self.flip(self.swapaxes(x, Literal(first), Literal(second)), Literal(second))

    # ---- comparisons of arrays

    def isclose(
        self,
        a: Abstract,
        b: Abstract,
        rtol: Abstract = Literal(1e-05),
        atol: Abstract = Literal(1e-08),
        equal_nan: Abstract = Literal(False),
    ) -> Tensor:
        """|a - b| <= atol + rtol |b| where b is finite, or equal (numpy/_core/numeric.py)."""
        x, y = self.as_array(a), self.as_array(b)
        if np.dtype(y.dtype).kind in "iub":
            y = self.cast(y, np.result_type(np.dtype(y.dtype), 1.0).name)
        distance = self.ufunc(np.absolute, [self.ufunc(np.subtract, [x, y])])
        bound = self.ufunc(np.multiply, [self.resolve(rtol), self.ufunc(np.absolute, [y])])
        bound = self.ufunc(np.add, [self.resolve(atol), bound])
        near = self.ufunc(np.less_equal, [distance, bound])
        near = self.ufunc(np.bitwise_and, [near, self.ufunc(np.isfinite, [y])])
        near = self.ufunc(np.bitwise_or, [near, self.ufunc(np.equal, [x, y])])
        if self.plain(equal_nan):
            neither = [self.ufunc(np.isnan, [one]) for one in (x, y)]
            near = self.ufunc(np.bitwise_or, [near, self.ufunc(np.bitwise_and, neither)])
        return self.index(near, Literal(()))  # NumPy's way to make scalars of 0-d arrays

    def array_equal(self, a1: Abstract, a2: Abstract) -> Abstract:
        x, y = self.as_array(a1), self.as_array(a2)
        if x.rank != y.rank:
            return Literal(False)
        for one, other in zip(x.shape, y.shape, strict=True):
            if not self._are_equal(one, other):
                return Literal(False)
        same = self.ufunc(np.equal, [x, y])
        found = self.fold(np.logical_and, same, list(range(same.rank)), keepdims=False)
        return self.computed(self.leave(self.value_of(found), "bool"), self.seen_result)

    def kron(self, a: Abstract, b: Abstract) -> Abstract:
        """Each element of `a` times all of `b`, in blocks."""
        x, y = self.as_array(a), self.as_array(b)
        rank = max(x.rank, y.rank)
        if not x.rank or not y.rank:
            return self.ufunc(np.multiply, [x, y])
        if any(t.order != c_order(t.rank) for t in (x, y)):
            raise self.refuse(reasons.KRON_ARRAYS_ANOTHER_ORDER_C)
        one = self.size(1)
        sizes = [[*[one] * (rank - t.rank), *t.shape] for t in (x, y)]
        apart = [
            self.fresh(self.reshape_value(self.in_c_order(t), shape), t.dtype, shape)
            for t, shape in (
                (x, [size for each in sizes[0] for size in (each, one)]),
                (y, [size for each in sizes[1] for size in (one, each)]),
            )
        ]
        blocks = self.ufunc(np.multiply, apart)
        return self.reshaped(blocks, [s * t for s, t in zip(*sizes, strict=True)])

    def cross(self, a: Abstract, b: Abstract) -> Tensor:
        """Of vectors in space, which lie along the last axis."""
        x, y = self.as_array(a), self.as_array(b)
        for t in (x, y):
            if not t.rank or self.observed(t.shape[-1]) != 3:
                raise self.refuse(reasons.CROSS_VECTORS_THOSE_THREE_NUMBERS)
            self.require_equal(t.shape[-1], self.size(3))
        u, v = (
            [self.index(t, Sequence([Literal(Ellipsis), Literal(i)])) for i in range(3)]
            for t in (x, y)
        )

        def minor(i: int, j: int) -> Tensor:
            products = [self.ufunc(np.multiply, [u[p], v[q]]) for p, q in ((i, j), (j, i))]
            return self.ufunc(np.subtract, products)

        made = self.stack(Sequence([minor(1, 2), minor(2, 0), minor(0, 1)]), Literal(-1))
        return self.moveaxis(made, Literal(-1), Literal(-1))

    def outer(self, a: Abstract, b: Abstract, out: Abstract = NONE) -> Abstract:
        x, y = self.flat(self.as_array(a)), self.flat(self.as_array(b))
        return self.ufunc_outer(np.multiply, x, y, out)
