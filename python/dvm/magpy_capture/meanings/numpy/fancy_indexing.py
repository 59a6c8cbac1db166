"""Indexing by arrays of integers and by masks, as gathers and scatters of the graph.

Several arrays of indices become one, of positions along the axes they stand for, taken as one axis.
An index out of range gives the replay up, and NumPy raises. Forms that are not followed here, and
writes into arrays of the caller, are left to NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.tables import UFUNCS
from dvm.magpy_capture.path.graphs import same_shape
from dvm.magpy_capture.path.spec import NotCapturable
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.tensors.indexing import index_parts
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    resolve,
)

ZERO = Literal(0)

#: What `ufunc.at` combines with, of all dtypes. Of two zeros NumPy's extremes keep either.
EXACT_AT = (np.add, np.subtract, np.multiply)
EXACT_AT_OF_INTEGERS = (np.maximum, np.minimum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)

#: Numbers of Python, which `ufunc.at` makes arrays of their own dtype.
ARRAYS_OF_NUMBERS = {int: "int64", float: "float64"}


@dataclass
class IndexArrays:
    """Elements of an array that arrays of indices name.

    table: the array, or the view of it that the other parts of the index make.
    axes: of the table, one for each array of indices.
    arrays: of int64, in C order.
    at: the axis of the result with which those of the indices begin.
    """

    table: Tensor
    axes: list[int]
    arrays: list[Tensor]
    at: int

    @property
    def others(self) -> list[int]:
        """The axes of the table that no array of indices stands for."""
        return [axis for axis in range(self.table.rank) if axis not in self.axes]


class FancyIndexing(NumpyPart):
    """Reads and writes through arrays of indices, of arrays that the path made."""

    needs = (
        "arrays conversions elementwise graph indexing layouts places program promotion shapes "
        "sizes ufuncs views writes"
    )

    # ---- reads

    def advanced_index(
        self, base: Tensor, key: Abstract, parts: list[Abstract], seen: Any
    ) -> Abstract:
        if isinstance(seen, np.ndarray) and self._is_readable(base):
            if len(parts) == 1 and self.places.is_mask(base, resolve(parts[0])):
                return self._compressed(base, self.shapes.tensor(parts[0]), seen)
            places = self._places(base, parts)
            if places is not None:
                taken = self._elements_at(places, base, parts, seen.base is not None)
                if taken is not None:
                    return taken
        return self.conversions.index_on_host(base, key, parts, seen)

    def _is_readable(self, base: Tensor) -> bool:
        """Whether reading a part of it needs nothing of it as a whole."""
        written = base.storage.external and base.storage.written
        return not (base.is_scalar or base.loose or written) and base.rank > 0

    def _places(
        self, base: Tensor, parts: list[Abstract], written: bool = False
    ) -> IndexArrays | None:
        """None: of a form that is left to NumPy."""
        resolved = [resolve(part) for part in parts]
        arrays = [self._as_indices(part) for part in resolved]
        basic = [
            SliceValue(Literal(None), Literal(None), Literal(None)) if array is not None else part
            for part, array in zip(resolved, arrays, strict=True)
        ]
        if not any(array is not None for array in arrays) or not self.indexing.is_basic(basic):
            return None
        used = sum(not _is(part, None, Ellipsis) for part in basic)
        if used > base.rank or sum(_is(part, Ellipsis) for part in basic) > 1:
            return None
        # Integers are indices, too, where it counts which parts stand side by side.
        names = [a is not None or _names_place(p) for p, a in zip(basic, arrays, strict=True)]
        axes, axis, first = [], 0, None
        for part, array, name in zip(basic, arrays, names, strict=True):
            if name and first is None:
                first = axis
            if array is not None:
                axes.append(axis)
            if _is(part, Ellipsis):
                if base.rank == used:
                    return None
                axis += base.rank - used
            elif array is not None or not name:
                axis += 1
        places = [k for k, name in enumerate(names) if name]
        adjacent = places[-1] - places[0] == len(places) - 1
        assert first is not None
        whole = all(_is(part, Ellipsis) or _is_everything(part) for part in basic)
        table = base if whole else self.indexing.index(base, Sequence(basic), written=written)
        chosen = [array for array in arrays if array is not None]
        return IndexArrays(table, axes, chosen, first if adjacent else 0)

    def _as_indices(self, part: Abstract) -> Tensor | None:
        """An array of indices, if the part is one that is followed here."""
        if isinstance(part, (ListValue, Sequence)):
            if not self.places.is_places(part):
                return None
            try:
                part = self.ufuncs.as_array(part)
            except NotCapturable:
                return None
        if not isinstance(part, Tensor) or part.is_scalar or part.rank == 0 or part.loose:
            return None
        if np.dtype(part.dtype).kind not in "iu" or part.dtype == "uint64":
            return None
        return self.elementwise.cast(part, "int64") if part.order == c_order(part.rank) else None

    def _elements_at(
        self, places: IndexArrays, base: Tensor, parts: list[Abstract], is_view: bool
    ) -> Tensor | None:
        """The elements as a new array; None: left to NumPy.

        is_view: whether NumPy made it a view, of an array whose axes lie in order of memory.
        """
        example = self.conversions.indexed_example(base, parts)
        if example is None:
            return None
        order: Order = tuple(_dvm.layout(example)[1])
        if is_view != (example.base is not None):
            return None
        table, others = places.table, places.others
        index = self._positions(places)
        shape = self._result_shape(places, index)
        sides = _sides(order, places.at, index.rank)
        if sides is None:
            return None
        before, after = ([others[k] for k in side] for side in sides)
        merged = self._with_axes_merged(table, before, places.axes, after)
        value = self.graph.along_value(
            "gather", [merged, self.layouts.in_c_order(index)], len(before)
        )
        if not is_view:
            return fresh(value, table.dtype, shape, order)
        made = fresh(value, table.dtype, [shape[axis] for axis in order])
        return self.shapes.transposed(made, [order.index(axis) for axis in range(len(order))])

    def _result_shape(self, places: IndexArrays, index: Tensor) -> list[_dvm.Dim]:
        rest = [places.table.shape[axis] for axis in places.others]
        return [*rest[: places.at], *index.shape, *rest[places.at :]]

    def _with_axes_merged(
        self, table: Tensor, before: list[int], axes: list[int], after: list[int]
    ) -> int:
        """The content with those axes as one between the others."""
        arranged = (*before, *axes, *after)
        value = self.layouts.arranged(table, arranged)
        if len(axes) == 1:
            return value
        if not table.contiguous:
            value = self.graph.copy_value(value)
        shape = [table.shape[axis] for axis in arranged]
        first, last = len(before), len(before) + len(axes)
        joined = [*shape[:first], self.graph.product(shape[first:last]), *shape[last:]]
        return self.views.reshape_value(value, joined)

    def _positions(self, places: IndexArrays) -> Tensor:
        """Of each set of indices the position along their axes taken as one, or one outside."""
        if len(places.arrays) == 1:
            return places.arrays[0]
        sizes = [places.table.shape[axis] for axis in places.axes]
        wrapped, within = [], []
        for index, dim in zip(places.arrays, sizes, strict=True):
            negative = self.ufuncs.apply(np.less, [index, ZERO])
            from_end = self.ufuncs.apply(np.add, [index, Size(dim)])
            index = self.elementwise.apply("select", [negative, from_end, index], "int64")
            wrapped.append(index)
            within.append(self.ufuncs.apply(np.greater_equal, [index, ZERO]))
            within.append(self.ufuncs.apply(np.less, [index, Size(dim)]))
        position, inside = wrapped[0], within[0]
        for index, dim in zip(wrapped[1:], sizes[1:], strict=True):
            position = self.ufuncs.apply(np.multiply, [position, Size(dim)])
            position = self.ufuncs.apply(np.add, [position, index])
        for test in within[1:]:
            inside = self.ufuncs.apply(np.logical_and, [inside, test])
        outside = self.promotion.operand(Size(self.graph.product(sizes)), "int64")
        return self.elementwise.apply("select", [inside, position, outside], "int64")

    # ---- masks

    def _compressed(self, base: Tensor, mask: Tensor, seen: Any) -> Tensor:
        """`base[mask]` for a mask of its shape."""
        self.program.require_all_equal(mask.shape, base.shape)
        line, total = self.flat_value(base), self.graph.product(base.shape)
        size = self.number_of_true(mask, seen.shape[0])
        chosen = self.views.reshape_value(self.flat_value(mask), [total])
        value = self.graph.compress_value(line, chosen, 0, size)
        return fresh(value, base.dtype, [size])

    def flat_value(self, x: Tensor) -> int:
        """The elements in C order, along one axis."""
        value = self.layouts.in_c_order(x)
        if not x.contiguous:
            value = self.graph.copy_value(value)
        return self.views.reshape_value(value, [self.graph.product(x.shape)])

    def number_of_true(self, mask: Tensor, seen: int) -> _dvm.Dim:
        """How many elements are true, as a size."""
        ones = self.graph.cast_value(self.flat_value(mask), "int64")
        count = self.graph.reduce_value("sum", ones, [0])
        return self.sizes.size_of_int(
            self.graph.leave(self.views.reshape_value(count, []), "int"), seen
        )

    # ---- writes

    def advanced_store(self, base: Tensor, parts: list[Abstract], value: Abstract) -> None:
        masked = len(parts) == 1 and self.places.is_mask(base, resolve(parts[0]))
        apart = not self.places.is_of(base.storage, [*parts, value])
        if apart and self._is_readable(base) and (masked or not base.storage.external):
            try:
                source = self.elementwise.cast(
                    self.ufuncs.element_of(value, base.dtype), base.dtype
                )
            except NotCapturable:  # what the graph cannot convert, NumPy can
                source = None
            if source is not None:
                if masked and self._stored_at_mask(base, self.shapes.tensor(parts[0]), source):
                    return
                if not masked and self._scattered_to(base, parts, source, ""):
                    return
        self.places.store_in_places(base, parts, value)

    def _stored_at_mask(self, base: Tensor, mask: Tensor, source: Tensor) -> bool:
        """Put as many elements as are true where they are; False: a number, or not so."""
        if source.rank != 1 or self.sizes.observed(source.shape[0]) == 1:
            return False
        self.program.require_all_equal(mask.shape, base.shape)
        line = base if base.rank == 1 else self.views.flat_view(base)
        size = self.number_of_true(mask, self.sizes.observed(source.shape[0]))
        chosen = self.views.reshape_value(self.flat_value(mask), line.shape)
        self.program.require_all_equal([size], source.shape)
        given = self.views.reshape_value(self.layouts.in_c_order(source), [size])
        places = self.graph.nonzero_value(chosen, size)
        self.writes.assign(
            line, self.graph.along_value("scatter", [self.arrays.value_of(line), places, given], 0)
        )
        return True

    @means(np.put, np.ndarray.put)
    def put(
        self, a: Abstract, ind: Abstract, v: Abstract, mode: Abstract = Literal("raise")
    ) -> Abstract:
        target = self.shapes.tensor(a)
        if (
            self._is_readable(target)
            and not target.storage.external
            and self.indexing.plain(mode) == "raise"
        ):
            source = self.elementwise.cast(self.ufuncs.element_of(v, target.dtype), target.dtype)
            index = self._as_indices(resolve(ind))
            if index is not None and (not source.rank or same_shape(source.shape, index.shape)):
                line = target if target.rank == 1 else self.views.flat_view(target)
                if self._scattered_to(line, [index], source, ""):
                    return Literal(None)
        return self.places.put_in_places(a, ind, v, mode)

    def written_at(self, function: Any, positional: list[Abstract]) -> bool:
        ufunc = getattr(function, "__self__", None)
        if isinstance(ufunc, np.ufunc) and function.__name__ == "at" and len(positional) == 3:
            target, places, value = positional
            if isinstance(target, Tensor) and self._combined_at(ufunc, target, places, value):
                return True
        return self.places.written_in_places(function, positional)

    def _combined_at(
        self, ufunc: np.ufunc, target: Tensor, places: Abstract, value: Abstract
    ) -> bool:
        """`ufunc.at(target, places, value)`; False: left to NumPy."""
        exact = EXACT_AT if target.dtype[0] == "f" else (*EXACT_AT, *EXACT_AT_OF_INTEGERS)
        if ufunc not in exact or not self._is_readable(target):
            return False
        if self.places.is_of(target.storage, [*index_parts(places), value]):
            return False
        if target.storage.external and not self._is_dense(target, places):
            return False
        value = resolve(value)
        number = ARRAYS_OF_NUMBERS.get(type(getattr(value, "object", None)))
        own = value.dtype if isinstance(value, Tensor) else number
        if own != target.dtype:
            return False
        try:
            loop = self.promotion.loop_of(ufunc, [target, value])
            source = self.promotion.operand(value, target.dtype)
        except NotCapturable:
            return False
        if any(dtype != target.dtype for dtype in loop):
            return False
        return self._scattered_to(target, index_parts(places), source, UFUNCS[ufunc])

    def _is_dense(self, target: Tensor, places: Abstract) -> bool:
        """Whether there are as many indices as places, in the recorded call.

        Then a copy of the array costs little beside them.
        """
        arrays = [self._as_indices(resolve(part)) for part in index_parts(places)]
        counts = [self.sizes.observed(self.graph.product(a.shape)) for a in arrays if a]
        return max(counts, default=-1) >= self.sizes.observed(target.shape[0])

    def _scattered_to(
        self, base: Tensor, parts: list[Abstract], source: Tensor, combined_by: str
    ) -> bool:
        """Put, or combine, the elements where the parts say; False: left to NumPy."""
        if self.places.is_mask(base, resolve(parts[0])):
            return False
        places = self._places(base, parts, written=True)
        if places is None:
            return False
        table = places.table
        stored = [table.order.index(axis) for axis in places.axes]
        first = stored[0]
        if stored != list(range(first, first + len(stored))):
            return False
        index = self._positions(places)
        shape = self._result_shape(places, index)
        if source.rank > len(shape):
            return False
        before, after = table.order[:first], table.order[first + len(stored) :]
        chosen = range(places.at, places.at + index.rank)
        others = [axis for axis in range(len(shape)) if axis not in chosen]
        rank_of = dict(zip(places.others, others, strict=True))
        order = (*(rank_of[a] for a in before), *chosen, *(rank_of[a] for a in after))
        given = self._elements_for(source, [shape[axis] for axis in order], order)
        merged = self._with_axes_merged(table, list(before), places.axes, list(after))
        operands = [merged, self.layouts.in_c_order(index), given]
        made = self.graph.along_value("scatter", operands, first, combined_by)
        self.writes.assign(table, self.views.reshape_value(made, self.arrays.stored_shape(table)))
        return True

    def _elements_for(self, source: Tensor, shape: SequenceOf[_dvm.Dim], order: Order) -> int:
        """Elements for axes in that order: of size 1 where they are the same."""
        value = self.layouts.arranged(source, order)
        if not source.rank:  # a number has no memory
            return self.graph.copy_value(value, [self.graph.size(1)] * len(shape))
        own = self.graph.shape(value)
        own = [self.graph.size(1)] * (len(shape) - len(own)) + list(own)
        value = self.views.reshape_value(value, own)
        fits = [d.constant == 1 or d == wanted for d, wanted in zip(own, shape, strict=True)]
        return value if all(fits) else self.graph.broadcast_value(value, shape)


def _is(part: Abstract, *things: object) -> bool:
    return isinstance(part, Literal) and any(part.object is thing for thing in things)


def _names_place(part: Abstract) -> bool:
    """Whether a part of a basic index is an integer."""
    if isinstance(part, Literal):
        return part.object is not None and part.object is not Ellipsis and not _is_slice(part)
    return isinstance(part, (Size, Host, Tensor))


def _is_slice(part: Abstract) -> bool:
    return isinstance(part, SliceValue) or isinstance(getattr(part, "object", None), slice)


def _is_everything(part: Abstract) -> bool:
    if isinstance(part, Literal):
        return isinstance(part.object, slice) and part.object == slice(None)
    return isinstance(part, SliceValue) and all(
        _is(bound, None) for bound in (part.start, part.stop, part.step)
    )


def _sides(order: Order, at: int, rank: int) -> tuple[list[int], list[int]] | None:
    """The other axes of a result before and after those of the indices, in order of memory.

    By their number among the other axes; None where those of the indices are apart or permuted.
    """
    chosen = list(range(at, at + rank))
    begin = order.index(at)
    if list(order[begin : begin + rank]) != chosen:
        return None
    number = {axis: k for k, axis in enumerate(a for a in sorted(order) if a not in chosen)}
    before, after = order[:begin], order[begin + rank :]
    return [number[axis] for axis in before], [number[axis] for axis in after]


__all__ = ["FancyIndexing"]
