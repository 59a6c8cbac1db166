"""The meaning of NumPy functions and array methods, over abstract values.

Each public method is named in `tables.py` and takes the abstract arguments of the call. Parameters
that a method does not name are not compiled: the call then is not captured.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.builder import Builder, describe, same_dim, supported
from dvm.magpy_capture.spec import NotCapturable
from dvm.magpy_capture.values import Abstract, Literal, Sequence, Size, Slice, Tensor

NONE = Literal(None)
FALSE = Literal(False)
ZERO = Literal(0)


class Functions(Builder):
    """Functions and methods of NumPy on top of the builder."""

    # ---- arguments

    def tensor(self, value: Abstract) -> Tensor:
        if isinstance(value, Tensor):
            return value
        raise NotCapturable(f"{describe(value)} where an array is needed", self.at)

    def plain(self, value: Abstract) -> Any:
        """A compile-time Python object: an axis, a flag, a dtype."""
        if isinstance(value, Sequence):
            return tuple(self.plain(element) for element in value.elements)
        return self.literal(value).object

    def axes(self, axis: Abstract, rank: int) -> list[int]:
        given = self.plain(axis)
        if given is None:
            return list(range(rank))
        return sorted(self.axis(a, rank) for a in (given if isinstance(given, tuple) else (given,)))

    def axis(self, axis: Any, rank: int) -> int:
        if type(axis) is not int or not -rank <= axis < rank:
            raise NotCapturable(f"axis {axis!r} of an array of rank {rank}", self.at)
        return axis % rank

    def integer(self, value: Abstract) -> int:
        number = self.plain(value)
        if type(number) is not int:
            raise NotCapturable(f"{number!r} where an int is needed", self.at)
        return number

    def dims(self, shape: Abstract) -> list[_dvm.Dim]:
        parts = shape.elements if isinstance(shape, Sequence) else [shape]
        if isinstance(shape, Literal) and isinstance(shape.object, tuple):
            parts = [Literal(part) for part in shape.object]
        return [
            part.dim if isinstance(part, Size) else self.size(self.integer(part)) for part in parts
        ]

    # ---- reductions (NumPy: _methods.py; numpy.add.reduce and friends)

    def sum(self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE) -> Tensor:
        x = self.tensor(a)
        if x.dtype in ("bool", "int32"):  # the accumulator NumPy chooses
            x = self.cast(x, "int64")
        return self.reduce("sum", x, self.axes(axis, len(x.shape)), bool(self.plain(keepdims)))

    def max(self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE) -> Tensor:
        x = self.tensor(a)
        return self.reduce("max", x, self.axes(axis, len(x.shape)), bool(self.plain(keepdims)))

    def mean(self, a: Abstract, axis: Abstract = NONE, *, keepdims: Abstract = FALSE) -> Tensor:
        x, wide, result = self._averaged(a)
        axes = self.axes(axis, len(x.shape))
        total = self.reduce("sum", wide, axes, bool(self.plain(keepdims)))
        return self.cast(self._divide_by_count(total, x, axes, 0), result)

    def var(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        *,
        ddof: Abstract = ZERO,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        x, wide, result = self._averaged(a)
        axes = self.axes(axis, len(x.shape))
        total = self.reduce("sum", wide, axes, keepdims=True)
        mean = self._divide_by_count(total, x, axes, 0)
        centered = self.elementwise("sub", [wide, mean], wide.dtype)
        squares = self.elementwise("mul", [centered, centered], wide.dtype)
        spread = self.reduce("sum", squares, axes, bool(self.plain(keepdims)))
        return self.cast(self._divide_by_count(spread, x, axes, self.integer(ddof)), result)

    def std(
        self,
        a: Abstract,
        axis: Abstract = NONE,
        *,
        ddof: Abstract = ZERO,
        keepdims: Abstract = FALSE,
    ) -> Tensor:
        variance = self.var(a, axis, ddof=ddof, keepdims=keepdims)
        return self.elementwise("sqrt", [variance], variance.dtype)

    def _averaged(self, a: Abstract) -> tuple[Tensor, Tensor, str]:
        """The array, the array in the dtype NumPy averages in, and the dtype of the result."""
        x = self.tensor(a)
        result = x.dtype if x.dtype.startswith("float") else "float64"
        return x, self.cast(x, "float32" if result == "float16" else result), result

    def _divide_by_count(self, total: Tensor, x: Tensor, axes: list[int], ddof: int) -> Tensor:
        count = self.product(x.shape[axis] for axis in axes)
        if ddof:
            count = (count - ddof).max(0)
        divisor = self.operand(Size(count), total.dtype)
        return self.elementwise("div", [total, divisor], total.dtype)

    # ---- selection and conversion

    def where(self, condition: Abstract, a: Abstract, b: Abstract) -> Tensor:
        test = self.cast(self.tensor(condition), "bool")
        kinds = [self._example(value) for value in (a, b)]
        dtype = supported(np.result_type(*kinds), self.at)
        return self.elementwise("select", [test, *(self.operand(v, dtype) for v in (a, b))], dtype)

    def _example(self, value: Abstract) -> Any:
        """What np.result_type should see of a value: a dtype, or a weak Python number."""
        kind = self._kind(value)
        return kind if isinstance(kind, np.dtype) else kind(0)

    def astype(self, a: Abstract, dtype: Abstract) -> Tensor:
        x = self.tensor(a)
        wanted = supported(np.dtype(self.plain(dtype)), self.at)
        return self.copy(x) if wanted == x.dtype else self.cast(x, wanted)

    # ---- shapes and views

    def length(self, a: Abstract) -> Size:
        x = self.tensor(a)
        return Size(x.shape[0])

    def reshape(self, a: Abstract, shape: Abstract) -> Tensor:
        x = self.tensor(a)
        sizes = self.dims(shape)
        unknown = [i for i, dim in enumerate(sizes) if dim.constant == -1]
        if unknown:
            known = self.product(dim for i, dim in enumerate(sizes) if i not in unknown)
            sizes[unknown[0]] = self.product(x.shape) // known
        return self.reshaped(x, sizes, is_view=True)

    def reshape_method(self, a: Abstract, *shape: Abstract) -> Tensor:
        one = len(shape) == 1 and not isinstance(shape[0], Size)
        return self.reshape(a, shape[0] if one else Sequence(list(shape)))

    def transpose(self, a: Abstract, axes: Abstract = NONE) -> Tensor:
        x = self.tensor(a)
        order = self.plain(axes)
        rank = len(x.shape)
        if order is None:
            order = range(rank - 1, -1, -1)
        if isinstance(order, int):
            order = (order,)
        return self.transposed(x, [self.axis(axis, rank) for axis in order])

    def transpose_method(self, a: Abstract, *axes: Abstract) -> Tensor:
        if len(axes) > 1:
            return self.transpose(a, Sequence(list(axes)))
        return self.transpose(a, *axes)

    def expand_dims(self, a: Abstract, axis: Abstract) -> Tensor:
        x = self.tensor(a)
        rank = len(x.shape) + 1
        shape = list(x.shape)
        shape.insert(self.axis(self.plain(axis), rank), self.graph.size(1))
        return self.reshaped(x, shape, is_view=True)

    def index(self, a: Tensor, key: Abstract) -> Tensor:
        """Basic indexing with None, Ellipsis and unit-step slices."""
        parts = list(key.elements) if isinstance(key, Sequence) else [key]
        if isinstance(key, Literal) and isinstance(key.object, tuple):
            parts = [Literal(part) for part in key.object]
        used = sum(1 for part in parts if not _is(part, None) and not _is(part, Ellipsis))
        if not any(_is(part, Ellipsis) for part in parts):
            parts.append(Literal(Ellipsis))
        starts: list[_dvm.Dim] = []
        sliced: list[_dvm.Dim] = []
        shape: list[_dvm.Dim] = []
        for part in parts:
            if _is(part, None):
                shape.append(self.graph.size(1))
            elif _is(part, Ellipsis):
                for dim in a.shape[len(sliced) : len(sliced) + len(a.shape) - used]:
                    starts.append(self.graph.size(0))
                    sliced.append(dim)
                    shape.append(dim)
            elif isinstance(part, Slice) or (isinstance(part, Literal) and _is_slice(part.object)):
                start, stop = self._slice_range(part, a.shape[len(sliced)])
                starts.append(start)
                sliced.append((stop - start).max(0))
                shape.append(sliced[-1])
            else:
                raise NotCapturable(f"indexing with {describe(part)}", self.at)
        result = a
        if any(not same_dim(dim, whole) for dim, whole in zip(sliced, a.shape, strict=True)):
            value = self.graph.slice(a.value, starts, [1] * len(starts), sliced, at=self.at)
            result = Tensor(value, a.dtype, sliced)
        return self.reshaped(result, shape, is_view=True)

    def _slice_range(self, part: Any, size: _dvm.Dim) -> tuple[_dvm.Dim, _dvm.Dim]:
        if isinstance(part, Literal):
            part = Slice(*(Literal(v) for v in (part.object.start, part.object.stop, None)))
        if self.plain(part.step) not in (None, 1):
            raise NotCapturable("a slice with a step", self.at)
        zero = self.graph.size(0)

        def position(bound: Abstract, default: _dvm.Dim) -> _dvm.Dim:
            if _is(bound, None):
                return default
            if isinstance(bound, Size):
                raise NotCapturable("a slice bounded by a size", self.at)
            offset = self.integer(bound)
            edge = self.size(offset)
            return (size + edge).max(0) if offset < 0 else edge.min(size)

        return position(part.start, zero), position(part.stop, size)


def _is(value: Abstract, thing: object) -> bool:
    return isinstance(value, Literal) and value.object is thing


def _is_slice(value: object) -> bool:
    return isinstance(value, slice) and value.step in (None, 1)
