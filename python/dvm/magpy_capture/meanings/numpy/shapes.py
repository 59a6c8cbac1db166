"""Shapes, views and joining: reshape, transpose, broadcast_to, concatenate, flip, roll ..."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.layer import NumpyPart
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, ZERO
from dvm.magpy_capture.path.graphs import same_shape
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import Order, c_order
from dvm.magpy_capture.values import (
    Abstract,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    is_none,
    resolve,
)


class Shapes(NumpyPart):
    """Functions that only move elements."""

    needs = (
        "arrays containers elementwise graph indexing joining layouts reductions rules "
        "sizes ufunc_methods ufuncs views"
    )

    def tensor(self, value: Abstract) -> Tensor:
        value = resolve(value)
        if isinstance(value, Tensor):
            return value
        raise refuse(reasons.NEEDS_ARRAY, describe(value))

    def dims(self, shape: Abstract) -> list[_dvm.Dim]:
        shape = resolve(shape)
        parts = [shape]
        if isinstance(shape, (Sequence, ListValue)):
            parts = shape.elements
        elif isinstance(shape, Literal) and isinstance(shape.object, (tuple, list)):
            parts = [Literal(part) for part in shape.object]
        sizes = []
        for part in parts:
            size = self.indexing.dim_of(part)
            if size.constant is None and self.sizes.is_negative(size):
                size = self.graph.size(self.indexing.integer(part))
            sizes.append(size)
        return sizes

    # ---- views

    @means(np.reshape)
    def reshape(
        self, a: Abstract, shape: Abstract = NONE, order: Abstract = Literal("C")
    ) -> Tensor:
        x = self.ufuncs.as_array(a)
        if self.indexing.plain(order) == "F":  # as the transposed array is cut in C order
            sizes = self.views.arguments_of(self.dims(shape)[::-1])
            return self.transpose(self.reshape(self.transpose(x), sizes))
        if self.indexing.plain(order) != "C":
            raise refuse(reasons.RESHAPE_ANOTHER_ORDER_C_F)
        return self.views.reshaped(x, self.dims(shape))

    @means(np.ndarray.reshape)
    def reshape_method(
        self, a: Abstract, *shape: Abstract, order: Abstract = Literal("C")
    ) -> Tensor:
        first = resolve(shape[0]) if shape else Sequence([])
        tuple_given = isinstance(first, (Sequence, ListValue)) or (
            isinstance(first, Literal) and isinstance(first.object, (tuple, list))
        )
        one = (len(shape) == 1 and tuple_given) or not shape
        return self.reshape(a, first if one else Sequence(list(shape)), order)

    @means(np.ravel, np.ndarray.ravel)
    def ravel(self, a: Abstract, order: Abstract = Literal("C")) -> Tensor:
        x = self.ufuncs.as_array(a)
        if self.indexing.plain(order) == "F" and x.rank > 1:
            return self.ravel(self.transpose(x))
        if self.indexing.plain(order) == "C" and not (x.contiguous and x.order == c_order(x.rank)):
            size = self.graph.product(x.shape)
            return self.views.maybe_view(
                x,
                [size],
                lambda value: self.views.reshape_value(self.views._dense(x, value), [size]),
                lambda value: self.graph.transpose_value(
                    self.views.reshape_value(value, x.shape), x.order
                ),
                (np.ndarray.ravel, []),
            )
        return self.reshape(x, Sequence([Literal(-1)]), order)

    @means(np.ndarray.flatten)
    def flatten(self, a: Tensor, order: Abstract = Literal("C")) -> Tensor:
        if self.indexing.plain(order) == "F":
            a = self.transpose(a)
        elif self.indexing.plain(order) != "C":
            raise refuse(reasons.FLATTEN_ANOTHER_ORDER_C_F)
        size = self.graph.product(a.shape)
        value = self.views.reshape_value(self.views._dense(a, self.arrays.value_of(a)), [size])
        return fresh(self.graph.copy_value(value) if a.contiguous else value, a.dtype, [size])

    def transposed(self, x: Tensor, axes: SequenceOf[int]) -> Tensor:
        order: Order = tuple(list(axes).index(axis) for axis in x.order)
        return self.arrays.view_of(
            x,
            [x.shape[axis] for axis in axes],
            order,
            lambda value: value,
            lambda _base, value: value,
            (np.ndarray.transpose, [Literal(tuple(axes))]),
        )

    @means(np.transpose)
    def transpose(self, a: Abstract, axes: Abstract = NONE) -> Tensor:
        x = self.ufuncs.as_array(a)
        order = self.indexing.plain(axes)
        if order is None:
            order = range(x.rank - 1, -1, -1)
        if isinstance(order, int):
            order = (order,)
        return self.transposed(x, [self.ufunc_methods.axis(axis, x.rank) for axis in order])

    @means(np.ndarray.transpose)
    def transpose_method(self, a: Abstract, *axes: Abstract) -> Tensor:
        if len(axes) > 1:
            return self.transpose(a, Sequence(list(axes)))
        return self.transpose(a, *axes)

    @means(np.swapaxes, np.ndarray.swapaxes)
    def swapaxes(self, a: Abstract, axis1: Abstract, axis2: Abstract) -> Tensor:
        x = self.ufuncs.as_array(a)
        order = list(range(x.rank))
        i, j = (
            self.ufunc_methods.axis(self.indexing.plain(axis), x.rank) for axis in (axis1, axis2)
        )
        order[i], order[j] = order[j], order[i]
        return self.transposed(x, order)

    @means(np.moveaxis)
    def moveaxis(self, a: Abstract, source: Abstract, destination: Abstract) -> Tensor:
        x = self.ufuncs.as_array(a)
        places = []
        for given in (source, destination):
            axes = self.indexing.plain(given)
            axes = axes if isinstance(axes, (tuple, list)) else (axes,)
            places.append([self.ufunc_methods.axis(axis, x.rank) for axis in axes])
        order = [axis for axis in range(x.rank) if axis not in places[0]]
        for target, origin in sorted(zip(places[1], places[0], strict=True)):
            order.insert(target, origin)
        return self.transposed(x, order)

    @means(np.expand_dims)
    def expand_dims(self, a: Abstract, axis: Abstract) -> Tensor:
        x = self.ufuncs.as_array(a)
        given = self.indexing.plain(axis)
        given = given if isinstance(given, (tuple, list)) else (given,)
        rank = x.rank + len(given)
        places = {self.ufunc_methods.axis(place, rank) for place in given}
        key = [Literal(None) if i in places else _everything() for i in range(rank)]
        made = self.indexing.index(x, Sequence(key))
        # By NumPy itself, whose reshape gives the new axes strides that no index does.
        made.remake = (np.expand_dims, [Literal(tuple(sorted(places)))])
        return made

    @means(np.squeeze, np.ndarray.squeeze)
    def squeeze(self, a: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.ufuncs.as_array(a)
        given = self.indexing.plain(axis)
        if given is None:
            gone = []
            for place, dim in enumerate(x.shape):
                if self.sizes.is_one(dim):
                    gone.append(place)
        else:
            given = given if isinstance(given, tuple) else (given,)
            gone = [self.ufunc_methods.axis(place, x.rank) for place in given]
            for place in gone:
                if not self.sizes.is_one(x.shape[place]):
                    raise refuse(reasons.SQUEEZE_SIZE)
        if not gone and not x.is_scalar:
            return x
        key = [Literal(0) if i in gone else _everything() for i in range(x.rank)]
        return self.indexing.index(x, Sequence([*key, Literal(Ellipsis)]))

    @means(np.broadcast_to)
    def broadcast_to(self, array: Abstract, shape: Abstract) -> Tensor:
        x = self.ufuncs.as_array(array)
        sizes = self.dims(shape)
        order = c_order(len(sizes))
        view = self.arrays.view_of(
            x,
            sizes,
            order,
            lambda _value: self.graph.broadcast_value(self.layouts.arranged(x, order), sizes),
            None,
            (np.broadcast_to, [self.views.arguments_of(sizes)]),
            contiguous=False,
            loose=True,
            may_fail=not same_shape(x.shape, sizes),
        )
        view.writeable = False
        return view

    @means(np.flip)
    def flip(self, m: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.ufuncs.as_array(m)
        axes = self.ufunc_methods.axes(axis, x.rank)
        back = SliceValue(NONE, NONE, Literal(-1))
        key = [back if i in axes else _everything() for i in range(x.rank)]
        return self.indexing.index(x, Sequence([*key, Literal(Ellipsis)]))

    # ---- copies and joins

    @means(np.ndarray.copy)
    def copy_method(self, a: Tensor, order: Abstract = Literal("C")) -> Tensor:
        return self._copied(a, self.indexing.plain(order))

    @means(np.copy)
    def copy_function(self, a: Abstract, order: Abstract = Literal("K")) -> Tensor:
        return self._copied(self.ufuncs.as_array(a), self.indexing.plain(order))

    def _copied(self, x: Tensor, order: str) -> Tensor:
        orders = {"C": c_order(x.rank), "K": None, "F": c_order(x.rank)[::-1]}
        if order not in orders:
            raise refuse(reasons.COPY_ORDER, order)
        return self.elementwise.copy(x, orders[order])

    @means(np.concatenate)
    def concatenate(
        self,
        arrays: Abstract,
        axis: Abstract = ZERO,
        out: Abstract = NONE,
        *,
        dtype: Abstract = NONE,
    ) -> Tensor:
        parts = [self.ufuncs.as_array(part) for part in self.containers.elements(arrays)]
        if not is_none(dtype):
            parts = [self.elementwise.cast(part, self.ufuncs.dtype_name(dtype)) for part in parts]
        place = self.indexing.plain(axis)
        if place is None:
            parts, place = [self.reductions.flat(part) for part in parts], 0
        if any(self.rules.copied_order(part) != c_order(part.rank) for part in parts):
            raise refuse(reasons.CONCATENATION_ARRAYS_NOT_C_ORDER)
        joined = self.joining.joined(parts, self.ufunc_methods.axis(place, parts[0].rank))
        return joined if is_none(out) else self.ufuncs.store_result(joined, self.tensor(out))

    @means(np.stack)
    def stack(self, arrays: Abstract, axis: Abstract = ZERO, out: Abstract = NONE) -> Tensor:
        parts = [self.ufuncs.as_array(part) for part in self.containers.elements(arrays)]
        place = self.ufunc_methods.axis(self.indexing.plain(axis), parts[0].rank + 1)
        wide = [self.expand_dims(part, Literal(place)) for part in parts]
        if any(self.rules.copied_order(part) != c_order(part.rank) for part in parts):
            raise refuse(reasons.STACK_ARRAYS_NOT_C_ORDER)
        joined = self.joining.joined(wide, place)
        return joined if is_none(out) else self.ufuncs.store_result(joined, self.tensor(out))

    # ---- questions

    @means(np.shape)
    def shape_of(self, a: Abstract) -> Abstract:
        return Sequence([Size(dim) for dim in self.ufuncs.as_array(a).shape])

    @means(np.ndim)
    def ndim_of(self, a: Abstract) -> Abstract:
        return Literal(self.ufuncs.as_array(a).rank)

    @means(np.size)
    def size_of(self, a: Abstract, axis: Abstract = NONE) -> Abstract:
        x = self.ufuncs.as_array(a)
        if is_none(axis):
            return Size(self.graph.product(x.shape))
        return Size(x.shape[self.ufunc_methods.axis(self.indexing.plain(axis), x.rank)])


def _everything() -> SliceValue:
    return SliceValue(Literal(None), Literal(None), Literal(None))
