"""Ranges, padding, rolling, repeating and picking: moves of elements by position."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from itertools import pairwise
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.arrays import c_order, same_dim
from dvm.magpy_capture.numpy_functions import NumpyFunctions
from dvm.magpy_capture.numpy_ufuncs import NONE, ZERO
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
)

ONE = Literal(1)

numpy_table(
    {
        name: name
        for name in (
            "arange linspace eye identity tri tril triu diag pad roll tile repeat diff take "
            "take_along_axis meshgrid split array_split vstack hstack column_stack atleast_1d "
            "atleast_2d rot90 fliplr flipud ediff1d isclose array_equal outer broadcast_arrays "
            "diagonal trace"
        ).split()
    },
    {"repeat": "repeat", "take": "take", "diagonal": "diagonal", "trace": "trace"},
)


class NumpyMoves(NumpyFunctions):
    """Functions that place elements by their position."""

    # ---- ranges

    def is_int(self, value: Abstract) -> bool:
        return isinstance(value, Size) or (
            isinstance(value, (Literal, Host)) and type(value.object) is int
        )

    def arange(self, *bounds: Abstract, dtype: Abstract = NONE) -> Tensor:
        parts = [self.resolve(part) for part in bounds]
        if not all(self.is_int(part) for part in parts):
            raise self.refuse("arange of other than ints")
        start, stop, step = ZERO, parts[0], ONE
        if len(parts) > 1:
            start, stop = parts[0], parts[1]
        if len(parts) > 2:
            step = parts[2]
        name = "int64" if self.is_none(dtype) else self.dtype_name(dtype)
        stride = self.integer(step)
        if stride == 0:
            raise self.refuse("arange with step 0")
        first, last = self.dim_of(start), self.dim_of(stop)
        span = last - first if stride > 0 else first - last
        if span.constant is not None:
            span = self.size(max(0, int(span.constant)))
        elif not (isinstance(stop, Size) and first.constant == 0 and not self.is_negative(last)):
            span = span.max(0)
        if abs(stride) > 1:
            span = (span + (abs(stride) - 1)) // abs(stride)
        value = self.iota_value("int64", span)
        made = self.fresh(value, "int64", [span])
        if stride != 1:
            made = self.ufunc(np.multiply, [made, Literal(stride)])
        if first.constant != 0:
            made = self.ufunc(np.add, [made, Size(first)])
        return self.cast(made, name)

    def linspace(
        self,
        start: Abstract,
        stop: Abstract,
        num: Abstract = Literal(50),
        endpoint: Abstract = Literal(True),
        retstep: Abstract = Literal(False),
        dtype: Abstract = NONE,
        axis: Abstract = ZERO,
    ) -> Tensor:
        """numpy/_core/function_base.py: y = arange(num) * step + start, the last one exact."""
        if self.plain(retstep) or self.plain(axis) != 0:
            raise self.refuse("linspace with retstep or axis")
        for bound in (start, stop):
            bound = self.resolve(bound)
            if isinstance(bound, Tensor) and bound.rank:
                raise self.refuse("linspace between arrays")
        name = "float64" if self.is_none(dtype) else self.dtype_name(dtype)
        if not name.startswith("float"):
            raise self.refuse("linspace of integers")
        count = self.dim_of(num)
        if self.is_negative(count):
            raise self.refuse("linspace of a negative number")
        ends = bool(self.plain(endpoint))
        first, last = (self.operand(bound, "float64") for bound in (start, stop))
        delta = self.elementwise("sub", [last, first], "float64")
        parts = count - 1 if ends else count
        ramp = self.cast(self.fresh(self.iota_value("int64", count), "int64", [count]), "float64")
        if parts.constant is not None and parts.constant <= 0:
            made = self.elementwise("mul", [ramp, delta], "float64")
        else:
            self.require_positive(parts)
            self.require_nonzero(delta)
            step = self.elementwise("div", [delta, self.operand(Size(parts), "float64")], "float64")
            made = self.elementwise("mul", [ramp, step], "float64")
        made = self.elementwise("add", [made, first], "float64")
        if ends and not (count.constant is not None and count.constant < 2):
            final = self.index(made, SliceValue(Literal(-1), NONE, NONE))
            self.write(final, last)
        return self.cast(made, name)

    def require_nonzero(self, value: Tensor) -> None:
        """np.linspace takes another way when a step of zero loses the ends: not on this path."""
        test = self.leave(self.value_of(value), "float")
        self.guard("guard_truth", test, True)

    # ---- triangles and diagonals

    def tri(
        self, N: Abstract, M: Abstract = NONE, k: Abstract = ZERO, dtype: Abstract = Literal(float)
    ) -> Tensor:
        rows = self.dim_of(N)
        columns = rows if self.is_none(M) else self.dim_of(M)
        for size in (rows, columns):
            if self.is_negative(size):
                raise self.refuse("a triangle of negative size")
        return self.cast(self._below(rows, columns, k), self.dtype_name(dtype))

    def _below(self, rows: _dvm.Dim, columns: _dvm.Dim, k: Abstract) -> Tensor:
        """Column <= row + k, as bool."""
        down = self.fresh(self.iota_value("int64", rows), "int64", [rows])
        down = self.index(down, Sequence([_all(), NONE]))
        across = self.fresh(self.iota_value("int64", columns), "int64", [columns])
        shift = Size(self.dim_of(k))
        limit = self.ufunc(np.add, [down, shift]) if shift.dim.constant != 0 else down
        return self.ufunc(np.less_equal, [across, limit])

    def tril(self, m: Abstract, k: Abstract = ZERO) -> Tensor:
        x = self.as_array(m)
        return self._triangle(x, self._below(*self._matrix(x), k))

    def triu(self, m: Abstract, k: Abstract = ZERO) -> Tensor:
        x = self.as_array(m)
        below = self._below(*self._matrix(x), Size(self.dim_of(k) - 1))
        return self._triangle(x, self.ufunc(np.logical_not, [below]))

    def _matrix(self, x: Tensor) -> tuple[_dvm.Dim, _dvm.Dim]:
        if x.rank < 2:
            raise self.refuse("the triangle of a vector")
        return x.shape[-2], x.shape[-1]

    def _triangle(self, x: Tensor, mask: Tensor) -> Tensor:
        zero = self.operand(Literal(0), x.dtype)
        return self.elementwise("select", [mask, x, zero], x.dtype, c_order(x.rank))

    def eye(
        self,
        N: Abstract,
        M: Abstract = NONE,
        k: Abstract = ZERO,
        dtype: Abstract = Literal(float),
    ) -> Tensor:
        rows = self.dim_of(N)
        columns = rows if self.is_none(M) else self.dim_of(M)
        for size in (rows, columns):
            if self.is_negative(size):
                raise self.refuse("an identity matrix of negative size")
        down = self.fresh(self.iota_value("int64", rows), "int64", [rows])
        down = self.ufunc(np.add, [down, Size(self.dim_of(k))])
        across = self.fresh(self.iota_value("int64", columns), "int64", [columns])
        on = self.ufunc(np.equal, [self.index(down, Sequence([_all(), NONE])), across])
        return self.cast(on, self.dtype_name(dtype))

    def identity(self, n: Abstract, dtype: Abstract = Literal(float)) -> Tensor:
        return self.eye(n, dtype=dtype)

    def diag(self, v: Abstract, k: Abstract = ZERO) -> Tensor:
        x, beside = self.as_array(v), self.integer(k)
        if x.rank == 2:
            return self.diagonal(x, Literal(beside))
        if x.rank != 1:
            raise self.refuse("diag of more than a matrix")
        size = x.shape[0]
        across = self.fresh(self.iota_value("int64", size), "int64", [size])
        on = self.ufunc(np.equal, [self.index(across, Sequence([_all(), NONE])), across])
        zero = self.operand(Literal(0), x.dtype)
        made = self.elementwise("select", [on, x, zero], x.dtype, c_order(2))
        if beside == 0:
            return made
        shape = [size + abs(beside)] * 2
        places = [self.size(max(-beside, 0)), self.size(max(beside, 0))]
        return self.placed(
            x.dtype, shape, [(made, places)], self.copy_value(self.value_of(zero), shape)
        )

    def diagonal(
        self, a: Abstract, offset: Abstract = ZERO, axis1: Abstract = ZERO, axis2: Abstract = ONE
    ) -> Tensor:
        """A read-only view of a matrix, whose elements lie one row and one column apart."""
        x, beside = self.as_array(a), self.integer(offset)
        axes = [self.axis(self.plain(axis), x.rank) for axis in (axis1, axis2)]
        if x.rank != 2 or axes != [0, 1]:
            raise self.refuse("the diagonal of more than a matrix")
        rows, columns = x.shape
        down, right = self.size(max(-beside, 0)), self.size(max(beside, 0))
        size = self.at_least((rows - down).min(columns - right), self.size(0))

        def view(_value: int) -> int:
            flat = self.reshape_value(self.in_c_order(x), [rows * columns])
            step = self.fresh(self.iota_value("int64", size), "int64", [size])
            place = self.ufunc(np.multiply, [step, Size(columns + 1)])
            place = self.ufunc(np.add, [place, Size(down * columns + right)])
            return self.along_value("gather", [flat, self.value_of(place)], 0)

        remake = (np.ndarray.diagonal, [Literal(beside)])
        made = self.view_of(x, [size], c_order(1), view, None, remake, contiguous=False)
        made.writeable = False
        return made

    def trace(
        self,
        a: Abstract,
        offset: Abstract = ZERO,
        axis1: Abstract = ZERO,
        axis2: Abstract = ONE,
        dtype: Abstract = NONE,
        out: Abstract = NONE,
    ) -> Abstract:
        line = self.diagonal(a, offset, axis1, axis2)
        return self.ufunc_reduce(np.add, line, dtype=dtype, out=out)

    # ---- neighbours

    def placed(
        self,
        dtype: str,
        shape: SequenceOf[_dvm.Dim],
        pieces: SequenceOf[tuple[Tensor, SequenceOf[_dvm.Dim]]],
        base: int | None = None,
    ) -> Tensor:
        """A new array in C order made of pieces, each at its start."""
        value = self.empty_value(dtype, shape) if base is None else base
        for piece, starts in pieces:
            content = self.in_c_order(self.cast(piece, dtype))
            value = self.update_value(value, content, list(starts), [1] * len(shape))
        return self.fresh(value, dtype, shape)

    def roll(self, a: Abstract, shift: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.as_array(a)
        shift = self.resolve(shift)
        if self.is_none(axis):
            flat = self.flat(x)
            return self.reshaped(self._rolled(flat, shift, 0), x.shape)
        axes = self.plain(axis)
        axes = list(axes) if isinstance(axes, tuple) else [axes]
        shifts = self.elements(shift) if isinstance(shift, (Sequence, ListValue)) else None
        if isinstance(shift, Literal) and isinstance(shift.object, tuple):
            shifts = [Literal(part) for part in shift.object]
        shifts = [shift] * len(axes) if shifts is None else shifts
        if len(shifts) != len(axes):
            raise self.refuse("roll with unequal numbers of shifts and axes")
        for one, place in zip(shifts, axes, strict=True):
            x = self._rolled(x, one, self.axis(place, x.rank))
        return x

    def _rolled(self, x: Tensor, shift: Abstract, axis: int) -> Tensor:
        """Along one axis, in the memory order of `x`."""
        size = x.shape[axis]
        offset = self.dim_of(shift)
        if size.constant == 0:
            return self.copy(x)
        # 0 <= offset < size; a size of zero has nothing to move.
        offset = offset % size.max(1)
        place, stored = x.order.index(axis), self.stored_shape(x)
        back, front = [self.size(0)] * x.rank, [self.size(0)] * x.rank
        front[place] = offset
        head, tail = list(stored), list(stored)
        head[place], tail[place] = size - offset, offset
        whole = self.value_of(x)
        ones = [1] * x.rank
        first = self.slice_value(whole, back, ones, head)
        begin = list(back)
        begin[place] = size - offset
        last = self.slice_value(whole, begin, ones, tail)
        value = self.empty_value(x.dtype, stored)
        value = self.update_value(value, first, front, ones)
        value = self.update_value(value, last, back, ones)
        return self.fresh(value, x.dtype, x.shape, x.order)

    def diff(
        self,
        a: Abstract,
        n: Abstract = ONE,
        axis: Abstract = Literal(-1),
        prepend: Abstract = NONE,
        append: Abstract = NONE,
    ) -> Tensor:
        x = self.as_array(a)
        place = self.axis(self.plain(axis), x.rank)
        order = self.integer(n)
        if order < 0:
            raise self.refuse("a difference of negative order")
        edges = [value for value in (prepend, append) if not self.is_none(value)]
        if edges:
            pieces: list[Tensor] = [x]
            for value, at_front in ((prepend, True), (append, False)):
                if self.is_none(value):
                    continue
                edge = self.as_array(value)
                if edge.rank == 0:
                    shape = list(x.shape)
                    shape[place] = self.size(1)
                    edge = self.broadcast(edge, shape)
                pieces.insert(0 if at_front else len(pieces), edge)
            x = self.joined(pieces, place)
        function = np.not_equal if x.dtype == "bool" else np.subtract
        for _ in range(order):
            later: list[Abstract] = [_all()] * x.rank
            earlier: list[Abstract] = [_all()] * x.rank
            later[place] = SliceValue(ONE, NONE, NONE)
            earlier[place] = SliceValue(NONE, Literal(-1), NONE)
            x = self.ufunc(
                function, [self.index(x, Sequence(later)), self.index(x, Sequence(earlier))]
            )
        return x

    def ediff1d(self, ary: Abstract) -> Tensor:
        return self.diff(self.flat(self.as_array(ary)))

    def pad(
        self,
        array: Abstract,
        pad_width: Abstract,
        mode: Abstract = Literal("constant"),
        *,
        constant_values: Abstract = ZERO,
    ) -> Tensor:
        x = self.as_array(array)
        if not x.rank:
            raise self.refuse("padding of a 0-d array")
        how = self.plain(mode)
        widths = self._widths(pad_width, x.rank)
        if not self.is_fortran(x):
            return self._padded_by(how, x, widths, constant_values)
        backwards = range(x.rank - 1, -1, -1)
        made = self._padded_by(how, self.transposed(x, backwards), widths[::-1], constant_values)
        order = c_order(x.rank)[::-1]
        return self.fresh(self.in_c_order(made), x.dtype, made.shape[::-1], order)

    def _padded_by(
        self,
        how: str,
        x: Tensor,
        widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]],
        fill: Abstract,
    ) -> Tensor:
        """A padded copy in C order."""
        if how == "constant":
            return self._padded(x, widths, fill)
        if how not in ("edge", "wrap", "reflect"):
            raise self.refuse(f"padding by {how}")
        for axis, (before, after) in enumerate(widths):
            x = self._padded_axis(x, axis, before, after, how)
        return x

    def is_fortran(self, x: Tensor) -> bool:
        """NumPy's flag FNC: dense in Fortran's order alone, not in C order as well.

        The sizes decide where an axis of one makes no difference; an array of the caller in
        Fortran's order has none to spare.
        """
        if x.rank < 2 or x.order == c_order(x.rank):
            return False
        if not x.contiguous or x.order != c_order(x.rank)[::-1]:
            raise self.refuse("an array that is in Fortran's order for some sizes alone")
        large = [self.exceeds_one(dim) for dim in x.shape]
        empty = any(not self.is_one(d) for d, more in zip(x.shape, large, strict=True) if not more)
        return sum(large) > 1 and not empty

    def _widths(self, pad_width: Abstract, rank: int) -> list[tuple[_dvm.Dim, _dvm.Dim]]:
        def pair(value: Abstract) -> tuple[_dvm.Dim, _dvm.Dim]:
            parts = self._parts(value)
            if parts is None:
                parts = [value]
            dims = [self.dim_of(part) for part in parts]
            for dim in dims:
                if self.is_negative(dim):
                    raise self.refuse("a negative pad width")
            return (dims[0], dims[-1])

        parts = self._parts(pad_width)
        if parts is None:
            return [pair(pad_width)] * rank
        if self._parts(parts[0]) is None:
            if len(parts) > 2:
                raise self.refuse("this form of pad widths")
            return [pair(pad_width)] * rank
        pairs = [pair(part) for part in parts]
        if len(pairs) == 1:
            pairs *= rank
        if len(pairs) != rank:
            raise self.refuse("pad widths for another number of axes")
        return pairs

    def _parts(self, value: Abstract) -> list[Abstract] | None:
        value = self.resolve(value)
        if isinstance(value, (Sequence, ListValue)):
            return [self.resolve(part) for part in value.elements]
        if isinstance(value, Literal) and isinstance(value.object, (tuple, list)):
            return [Literal(part) for part in value.object]
        return None

    def _padded(
        self, x: Tensor, widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]], fill: Abstract
    ) -> Tensor:
        if self._parts(fill) is not None:
            raise self.refuse("padding with several constants")
        shape = [before + dim + after for dim, (before, after) in zip(x.shape, widths, strict=True)]
        value = self.cast(self.as_array(fill, x.dtype), x.dtype)
        if value.rank:
            raise self.refuse("padding with an array")
        base = self.copy_value(self.value_of(value), shape)
        return self.placed(x.dtype, shape, [(x, [before for before, _ in widths])], base)

    def _padded_axis(
        self, x: Tensor, axis: int, before: _dvm.Dim, after: _dvm.Dim, how: str
    ) -> Tensor:
        """One axis continued by its edge, by itself, or mirrored, through indices into it."""
        if before.constant == 0 and after.constant == 0:
            return self.copy(x)
        size = x.shape[axis]
        self.require_positive(size)
        total = before + size + after
        position = self.fresh(self.iota_value("int64", total), "int64", [total])
        position = self.ufunc(np.subtract, [position, Size(before)])
        last = Size(size - 1)
        if how == "edge":
            position = self.ufunc(np.maximum, [position, ZERO])
            position = self.ufunc(np.minimum, [position, last])
        elif how == "wrap":
            position = self.ufunc(np.remainder, [position, Size(size)])
        else:
            if self.known_size_is_one(size):
                raise self.refuse("a mirror of one element")
            period = Size((size - 1) * 2)
            position = self.ufunc(np.remainder, [position, period])
            back = self.ufunc(np.subtract, [period, position])
            position = self.ufunc(np.minimum, [position, back])
        return self._gathered(x, position, axis)

    def known_size_is_one(self, size: _dvm.Dim) -> bool:
        return self.is_one(size)

    # ---- repeating

    def tile(self, A: Abstract, reps: Abstract) -> Tensor:
        x = self.as_array(A)
        parts = self._parts(reps)
        counts = [self.dim_of(part) for part in ([reps] if parts is None else parts)]
        for count in counts:
            if self.is_negative(count):
                raise self.refuse("a negative number of repetitions")
        rank = max(len(counts), x.rank)
        one = self.size(1)
        counts = [one] * (rank - len(counts)) + counts
        shape = [one] * (rank - x.rank) + list(x.shape)
        narrow: list[_dvm.Dim] = []
        wide: list[_dvm.Dim] = []
        for count, dim in zip(counts, shape, strict=True):
            narrow += [one, dim]
            wide += [count, dim]
        value = self.reshape_value(self.in_c_order(x), narrow)
        value = self.copy_value(value, wide)
        final = [count * dim for count, dim in zip(counts, shape, strict=True)]
        return self.fresh(self.reshape_value(value, final), x.dtype, final)

    def repeat(self, a: Abstract, repeats: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.as_array(a)
        repeats = self.resolve(repeats)
        if isinstance(repeats, (Tensor, Sequence, ListValue)):
            raise self.refuse("repeat by an array of numbers")
        count = self.dim_of(repeats)
        if self.is_negative(count):
            raise self.refuse("a negative number of repetitions")
        if self.is_none(axis):
            x, place = self.flat(x), 0
        else:
            place = self.axis(self.plain(axis), x.rank)
        shape = list(x.shape)
        narrow = [*shape[: place + 1], self.size(1), *shape[place + 1 :]]
        wide = [*shape[: place + 1], count, *shape[place + 1 :]]
        value = self.copy_value(self.reshape_value(self.in_c_order(x), narrow), wide)
        shape[place] = shape[place] * count
        return self.fresh(self.reshape_value(value, shape), x.dtype, shape)

    # ---- picking

    def _gathered(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        position = self.cast(index, "int64")
        value = self.along_value("gather", [self.in_c_order(x), self.in_c_order(position)], axis)
        shape = [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]]
        return self.fresh(value, x.dtype, shape, is_scalar=not shape)

    def take(
        self, a: Abstract, indices: Abstract, axis: Abstract = NONE, out: Abstract = NONE
    ) -> Tensor:
        x = self.as_array(a)
        if not self.is_none(out):
            raise self.refuse("take with out=")
        index = self.as_array(indices)
        if np.dtype(index.dtype).kind not in "iu" or index.dtype == "uint64":
            raise self.refuse("take by other than integers")
        if self.is_none(axis):
            x, axis = self.flat(x), ZERO
        return self._gathered(x, index, self.axis(self.plain(axis), x.rank))

    def take_along_axis(
        self, arr: Abstract, indices: Abstract, axis: Abstract = Literal(-1)
    ) -> Tensor:
        x, index = self.as_array(arr), self.as_array(indices)
        if self.is_none(axis) or index.rank != x.rank or np.dtype(index.dtype).kind not in "i":
            raise self.refuse("take_along_axis of other shapes")
        place = self.axis(self.plain(axis), x.rank)
        for i, (size, other) in enumerate(zip(x.shape, index.shape, strict=True)):
            if i != place and not same_dim(size, other):
                self._require_equal([size], [other])
        wanted = list(x.shape)
        wanted[place] = index.shape[place]
        position = self.reshape_value(self.in_c_order(self.cast(index, "int64")), wanted)
        value = self.along_value("take_along", [self.in_c_order(x), position], place)
        return self.fresh(value, x.dtype, wanted)

    # ---- joins and splits

    def atleast_1d(self, *arys: Abstract) -> Abstract:
        return self._at_least(arys, 1)

    def atleast_2d(self, *arys: Abstract) -> Abstract:
        return self._at_least(arys, 2)

    def _at_least(self, arys: SequenceOf[Abstract], rank: int) -> Abstract:
        made = []
        for value in arys:
            x = self.as_array(value)
            if x.rank < rank:
                key = [NONE] * (rank - x.rank) + [_all()] * x.rank
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
                x = self.index(self._at_least([x], 1), Sequence([_all(), NONE]))
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
                raise self.refuse("a split into no parts")
            size = x.shape[place]
            if equal:
                self._require_equal([size % count], [self.size(0)])
                each = size // count
                bounds = [Size(each * i) for i in range(1, count)]
            else:
                whole, extra = divmod(self.known_size(size), count)
                ends = [i * whole + min(i, extra) for i in range(1, count)]
                bounds = [Literal(end) for end in ends]
        else:
            bounds = parts
        edges: list[Abstract] = [NONE, *bounds, NONE]
        views = []
        for first, last in pairwise(edges):
            key: list[Abstract] = [_all()] * x.rank
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
        parts = [self.as_array(value) for value in args]
        shape = self.arguments_of(self.common_shape(parts))
        return Sequence([self.broadcast_to(part, shape) for part in parts])

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
        if self.plain(equal_nan):
            raise self.refuse("isclose with equal_nan")
        distance = self.ufunc(np.absolute, [self.ufunc(np.subtract, [x, y])])
        bound = self.ufunc(np.multiply, [self.resolve(rtol), self.ufunc(np.absolute, [y])])
        bound = self.ufunc(np.add, [self.resolve(atol), bound])
        near = self.ufunc(np.less_equal, [distance, bound])
        near = self.ufunc(np.bitwise_and, [near, self.ufunc(np.isfinite, [y])])
        near = self.ufunc(np.bitwise_or, [near, self.ufunc(np.equal, [x, y])])
        return self.index(near, Literal(()))  # NumPy's way to make scalars of 0-d arrays

    def array_equal(self, a1: Abstract, a2: Abstract) -> Abstract:
        x, y = self.as_array(a1), self.as_array(a2)
        if x.rank != y.rank:
            return Literal(False)
        for one, other in zip(x.shape, y.shape, strict=True):
            if same_dim(one, other):
                continue
            equal = self.observed(one) == self.observed(other)
            test = self._operate("==", self.register_of_dim(one), self.register_of_dim(other))
            self.guard("guard_truth", test, equal)
            if not equal:
                return Literal(False)
        same = self.ufunc(np.equal, [x, y])
        found = self.fold(np.logical_and, same, list(range(same.rank)), keepdims=False)
        return self.computed(self.leave(self.value_of(found), "bool"), self.seen_result)

    def outer(self, a: Abstract, b: Abstract, out: Abstract = NONE) -> Tensor:
        if not self.is_none(out):
            raise self.refuse("outer with out=")
        x, y = self.flat(self.as_array(a)), self.flat(self.as_array(b))
        return self.ufunc_outer(np.multiply, x, y)


def _all() -> SliceValue:
    return SliceValue(NONE, NONE, NONE)
