"""Shapes, views and joining: reshape, transpose, broadcast_to, concatenate, flip, roll ..."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from typing import Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.arrays import Order, c_order, same_shape
from dvm.magpy_capture.numpy_nan import NanReductions
from dvm.magpy_capture.numpy_ufuncs import NONE, ZERO
from dvm.magpy_capture.program import describe
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

numpy_table(
    {
        "reshape": "reshape",
        "transpose": "transpose",
        "permute_dims": "transpose",
        "swapaxes": "swapaxes",
        "moveaxis": "moveaxis",
        "expand_dims": "expand_dims",
        "squeeze": "squeeze",
        "ravel": "ravel",
        "broadcast_to": "broadcast_to",
        "concatenate": "concatenate",
        "concat": "concatenate",
        "stack": "stack",
        "flip": "flip",
        "copy": "copy_function",
        "shape": "shape_of",
        "ndim": "ndim_of",
        "size": "size_of",
    },
    {
        "reshape": "reshape_method",
        "transpose": "transpose_method",
        "swapaxes": "swapaxes",
        "squeeze": "squeeze",
        "ravel": "ravel",
        "flatten": "flatten",
        "copy": "copy_method",
    },
)


class Shapes(NanReductions):
    """Functions that only move elements."""

    def tensor(self, value: Abstract) -> Tensor:
        value = self.resolve(value)
        if isinstance(value, Tensor):
            return value
        raise self.refuse(reasons.NEEDS_ARRAY, describe(value))

    def dims(self, shape: Abstract) -> list[_dvm.Dim]:
        shape = self.resolve(shape)
        parts = [shape]
        if isinstance(shape, (Sequence, ListValue)):
            parts = shape.elements
        elif isinstance(shape, Literal) and isinstance(shape.object, (tuple, list)):
            parts = [Literal(part) for part in shape.object]
        sizes = []
        for part in parts:
            size = self.dim_of(part)
            if size.constant is None and self.is_negative(size):
                size = self.size(self.integer(part))
            sizes.append(size)
        return sizes

    # ---- views

    def reshape(
        self, a: Abstract, shape: Abstract = NONE, order: Abstract = Literal("C")
    ) -> Tensor:
        x = self.as_array(a)
        if self.plain(order) == "F":  # as the transposed array is cut in C order
            sizes = self.arguments_of(self.dims(shape)[::-1])
            return self.transpose(self.reshape(self.transpose(x), sizes))
        if self.plain(order) != "C":
            raise self.refuse(reasons.RESHAPE_ANOTHER_ORDER_C_F)
        sizes = self.dims(shape)
        unknown = [i for i, dim in enumerate(sizes) if dim.constant == -1]
        if unknown:
            known = self.product(dim for i, dim in enumerate(sizes) if i not in unknown)
            self.require_positive(known)  # or -1 may be anything, and NumPy raises
            sizes[unknown[0]] = self._without(x.shape, sizes, unknown[0]) or (
                self.product(x.shape) // known
            )
        return self.reshaped(x, sizes)

    def _without(
        self, shape: SequenceOf[_dvm.Dim], sizes: SequenceOf[_dvm.Dim], place: int
    ) -> _dvm.Dim | None:
        """The size for -1 when the other sizes are among those of the array: the rest of them."""
        rest = list(shape)
        for i, size in enumerate(sizes):
            if i == place:
                continue
            match = next((dim for dim in rest if dim == size), None)
            if match is None and size.constant != 1:
                return None
            if match is not None:
                rest.remove(match)
        return None if any(True for size in sizes if size.constant == 0) else self.product(rest)

    def reshape_method(
        self, a: Abstract, *shape: Abstract, order: Abstract = Literal("C")
    ) -> Tensor:
        first = self.resolve(shape[0]) if shape else Sequence([])
        tuple_given = isinstance(first, (Sequence, ListValue)) or (
            isinstance(first, Literal) and isinstance(first.object, (tuple, list))
        )
        one = (len(shape) == 1 and tuple_given) or not shape
        return self.reshape(a, first if one else Sequence(list(shape)), order)

    def reshaped(self, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
        """Another shape in C order: a view where NumPy makes one, else a copy."""
        line = len(shape) == 1 and self.product(x.shape) == shape[0]
        wanted = Literal(-1) if line else self.arguments_of(shape)
        remake: tuple[Any, ...] = (np.ndarray.reshape, [wanted])
        order = self.kept_order(x, shape)
        if order is not None:
            own, stored = self.stored_shape(x), [shape[axis] for axis in order]
            return self.view_of(
                x,
                shape,
                order,
                lambda value: self.reshape_value(value, stored),
                lambda _base, value: self.reshape_value(value, own),
                remake,
                may_fail=self.product(x.shape) != self.product(shape),
            )
        return self.maybe_view(
            x,
            shape,
            lambda value: self.reshape_value(self._dense(x, value), shape),
            lambda value: self.transpose_value(self.reshape_value(value, x.shape), x.order),
            remake,
            open_order=x.order != c_order(x.rank),
        )

    def _c_ordered(self, x: Tensor, value: int) -> int:
        """A value of `x` with its axes in C order."""
        return self.transpose_value(value, [x.order.index(axis) for axis in range(x.rank)])

    def _dense(self, x: Tensor, value: int) -> int:
        """The same in memory that can be cut into any shape."""
        ordered = self._c_ordered(x, value)
        return ordered if x.contiguous else self.copy_value(ordered)

    def arguments_of(self, shape: SequenceOf[_dvm.Dim]) -> Abstract:
        return Sequence([Literal(d.constant) if d.constant is not None else Size(d) for d in shape])

    def ravel(self, a: Abstract, order: Abstract = Literal("C")) -> Tensor:
        x = self.as_array(a)
        if self.plain(order) == "F" and x.rank > 1:
            return self.ravel(self.transpose(x))
        if self.plain(order) == "C" and not (x.contiguous and x.order == c_order(x.rank)):
            size = self.product(x.shape)
            return self.maybe_view(
                x,
                [size],
                lambda value: self.reshape_value(self._dense(x, value), [size]),
                lambda value: self.transpose_value(self.reshape_value(value, x.shape), x.order),
                (np.ndarray.ravel, []),
            )
        return self.reshape(x, Sequence([Literal(-1)]), order)

    def flatten(self, a: Tensor, order: Abstract = Literal("C")) -> Tensor:
        if self.plain(order) == "F":
            a = self.transpose(a)
        elif self.plain(order) != "C":
            raise self.refuse(reasons.FLATTEN_ANOTHER_ORDER_C_F)
        size = self.product(a.shape)
        value = self.reshape_value(self._dense(a, self.value_of(a)), [size])
        return self.fresh(self.copy_value(value) if a.contiguous else value, a.dtype, [size])

    def transposed(self, x: Tensor, axes: SequenceOf[int]) -> Tensor:
        order: Order = tuple(list(axes).index(axis) for axis in x.order)
        return self.view_of(
            x,
            [x.shape[axis] for axis in axes],
            order,
            lambda value: value,
            lambda _base, value: value,
            (np.ndarray.transpose, [Literal(tuple(axes))]),
        )

    def transpose(self, a: Abstract, axes: Abstract = NONE) -> Tensor:
        x = self.as_array(a)
        order = self.plain(axes)
        if order is None:
            order = range(x.rank - 1, -1, -1)
        if isinstance(order, int):
            order = (order,)
        return self.transposed(x, [self.axis(axis, x.rank) for axis in order])

    def transpose_method(self, a: Abstract, *axes: Abstract) -> Tensor:
        if len(axes) > 1:
            return self.transpose(a, Sequence(list(axes)))
        return self.transpose(a, *axes)

    def swapaxes(self, a: Abstract, axis1: Abstract, axis2: Abstract) -> Tensor:
        x = self.as_array(a)
        order = list(range(x.rank))
        i, j = (self.axis(self.plain(axis), x.rank) for axis in (axis1, axis2))
        order[i], order[j] = order[j], order[i]
        return self.transposed(x, order)

    def moveaxis(self, a: Abstract, source: Abstract, destination: Abstract) -> Tensor:
        x = self.as_array(a)
        places = []
        for given in (source, destination):
            axes = self.plain(given)
            axes = axes if isinstance(axes, (tuple, list)) else (axes,)
            places.append([self.axis(axis, x.rank) for axis in axes])
        order = [axis for axis in range(x.rank) if axis not in places[0]]
        for target, origin in sorted(zip(places[1], places[0], strict=True)):
            order.insert(target, origin)
        return self.transposed(x, order)

    def expand_dims(self, a: Abstract, axis: Abstract) -> Tensor:
        x = self.as_array(a)
        given = self.plain(axis)
        given = given if isinstance(given, (tuple, list)) else (given,)
        rank = x.rank + len(given)
        places = {self.axis(place, rank) for place in given}
        key = [Literal(None) if i in places else _everything() for i in range(rank)]
        made = self.index(x, Sequence(key))
        # By NumPy itself, whose reshape gives the new axes strides that no index does.
        made.remake = (np.expand_dims, [Literal(tuple(sorted(places)))])
        return made

    def squeeze(self, a: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.as_array(a)
        given = self.plain(axis)
        if given is None:
            gone = []
            for place, dim in enumerate(x.shape):
                if self.is_one(dim):
                    gone.append(place)
        else:
            given = given if isinstance(given, tuple) else (given,)
            gone = [self.axis(place, x.rank) for place in given]
            for place in gone:
                if not self.is_one(x.shape[place]):
                    raise self.refuse(reasons.SQUEEZE_SIZE)
        if not gone and not x.is_scalar:
            return x
        key = [Literal(0) if i in gone else _everything() for i in range(x.rank)]
        return self.index(x, Sequence([*key, Literal(Ellipsis)]))

    def is_one(self, dim: _dvm.Dim) -> bool:
        """Whether the size is 1, which the path then is for."""
        return self.is_size(dim, 1)

    def is_size(self, dim: _dvm.Dim, size: int) -> bool:
        """Whether the size is that one, which the path then is for."""
        if dim.constant is not None:
            return bool(dim.constant == size)
        answer = self.observed(dim) == size
        test = self._operate("==", self.register_of_dim(dim), self.constant(size))
        self.guard("guard_truth", test, answer)
        return answer

    def broadcast_to(self, array: Abstract, shape: Abstract) -> Tensor:
        x = self.as_array(array)
        sizes = self.dims(shape)
        order = c_order(len(sizes))
        view = self.view_of(
            x,
            sizes,
            order,
            lambda _value: self.broadcast_value(self.arranged(x, order), sizes),
            None,
            (np.broadcast_to, [self.arguments_of(sizes)]),
            contiguous=False,
            loose=True,
            may_fail=not same_shape(x.shape, sizes),
        )
        view.writeable = False
        return view

    def flip(self, m: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.as_array(m)
        axes = self.axes(axis, x.rank)
        back = SliceValue(NONE, NONE, Literal(-1))
        key = [back if i in axes else _everything() for i in range(x.rank)]
        return self.index(x, Sequence([*key, Literal(Ellipsis)]))

    # ---- copies and joins

    def copy_method(self, a: Tensor, order: Abstract = Literal("C")) -> Tensor:
        return self._copied(a, self.plain(order))

    def copy_function(self, a: Abstract, order: Abstract = Literal("K")) -> Tensor:
        return self._copied(self.as_array(a), self.plain(order))

    def _copied(self, x: Tensor, order: str) -> Tensor:
        orders = {"C": c_order(x.rank), "K": None, "F": c_order(x.rank)[::-1]}
        if order not in orders:
            raise self.refuse(reasons.COPY_ORDER, order)
        return self.copy(x, orders[order])

    def common_dtype(self, parts: SequenceOf[Tensor]) -> str:
        return str(np.result_type(*(np.dtype(part.dtype) for part in parts)).name)

    def joined(self, parts: SequenceOf[Tensor], axis: int) -> Tensor:
        """The parts one after the other along an axis, as new memory in C order."""
        self.require_few(parts)
        dtype = self.common_dtype(parts)
        total = self.size(0)
        for part in parts:
            total = total + part.shape[axis]
        shape = list(parts[0].shape)
        for other in parts[1:]:
            for i, dim in enumerate(other.shape):
                if i != axis and dim != shape[i]:
                    shape[i] = shape[i] if shape[i].constant != 1 else dim
        shape[axis] = total
        value = self.empty_value(dtype, shape)
        begin = self.size(0)
        for part in parts:
            own = list(shape)
            own[axis] = part.shape[axis]
            self._require_equal(part.shape, own)
            content = self.in_c_order(self.cast(part, dtype))
            content = self.reshape_value(content, own)
            starts = [self.size(0)] * len(shape)
            starts[axis] = begin
            value = self.update_value(value, content, starts, [1] * len(shape))
            begin = begin + part.shape[axis]
        return self.fresh(value, dtype, shape)

    def empty_value(self, dtype: str, shape: SequenceOf[_dvm.Dim]) -> int:
        self._empties += 1
        return self.node(
            "empty",
            (),
            lambda: self.graph.empty(self.dtype_text(dtype), list(shape), at=self.at),
            (dtype, self._empties),
        )

    def concatenate(
        self,
        arrays: Abstract,
        axis: Abstract = ZERO,
        out: Abstract = NONE,
        *,
        dtype: Abstract = NONE,
    ) -> Tensor:
        parts = [self.as_array(part) for part in self.elements(arrays)]
        if not self.is_none(dtype):
            parts = [self.cast(part, self.dtype_name(dtype)) for part in parts]
        place = self.plain(axis)
        if place is None:
            parts, place = [self.flat(part) for part in parts], 0
        if any(self.copied_order(part) != c_order(part.rank) for part in parts):
            raise self.refuse(reasons.CONCATENATION_ARRAYS_NOT_C_ORDER)
        joined = self.joined(parts, self.axis(place, parts[0].rank))
        return joined if self.is_none(out) else self.store_result(joined, self.tensor(out))

    def stack(self, arrays: Abstract, axis: Abstract = ZERO, out: Abstract = NONE) -> Tensor:
        parts = [self.as_array(part) for part in self.elements(arrays)]
        place = self.axis(self.plain(axis), parts[0].rank + 1)
        wide = [self.expand_dims(part, Literal(place)) for part in parts]
        if any(self.copied_order(part) != c_order(part.rank) for part in parts):
            raise self.refuse(reasons.STACK_ARRAYS_NOT_C_ORDER)
        joined = self.joined(wide, place)
        return joined if self.is_none(out) else self.store_result(joined, self.tensor(out))

    def stacked(self, parts: list[Tensor], dtype: str | None) -> Tensor:
        """What np.array makes of a list of equal arrays or numbers."""
        if not parts:
            raise self.refuse(reasons.ARRAY_EMPTY_LIST)
        one = self.size(1)
        wide = []
        for part in parts:
            shape = [one, *part.shape]
            value = self.reshape_value(self.in_c_order(part), shape)
            wide.append(self.fresh(value, part.dtype, shape))
        return self.joined(wide, 0)

    # ---- questions

    def shape_of(self, a: Abstract) -> Abstract:
        return Sequence([Size(dim) for dim in self.as_array(a).shape])

    def ndim_of(self, a: Abstract) -> Abstract:
        return Literal(self.as_array(a).rank)

    def size_of(self, a: Abstract, axis: Abstract = NONE) -> Abstract:
        x = self.as_array(a)
        if self.is_none(axis):
            return Size(self.product(x.shape))
        return Size(x.shape[self.axis(self.plain(axis), x.rank)])


def _everything() -> SliceValue:
    return SliceValue(Literal(None), Literal(None), Literal(None))
