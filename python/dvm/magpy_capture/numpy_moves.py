"""Padding, rolling, repeating and picking: moves of elements by position."""

from __future__ import annotations

import itertools
from collections.abc import Sequence as SequenceOf

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.arrays import c_order
from dvm.magpy_capture.numpy_ranges import NumpyRanges, every_element
from dvm.magpy_capture.numpy_ufuncs import NONE, ZERO
from dvm.magpy_capture.program import describe
from dvm.magpy_capture.tables import numpy_table
from dvm.magpy_capture.values import (
    Abstract,
    Content,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Storage,
    Tensor,
)

ONE = Literal(1)

#: Of arrays that are padded by parts of themselves: there are as many as three for each axis.
MOST_AXES_IN_PIECES = 3

numpy_table(
    {
        name: name
        for name in ("pad roll tile repeat diff take take_along_axis ediff1d insert delete").split()
    },
    {"repeat": "repeat", "take": "take"},
)


class NumpyMoves(NumpyRanges):
    """Functions that place elements by their position."""

    # ---- neighbours

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
            raise self.refuse(reasons.ROLL_UNEQUAL_NUMBERS_SHIFTS_AXES)
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
        x = self.copy(x) if x.loose else x
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
            raise self.refuse(reasons.DIFFERENCE_NEGATIVE_ORDER)
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
            later: list[Abstract] = [every_element()] * x.rank
            earlier: list[Abstract] = [every_element()] * x.rank
            later[place] = SliceValue(ONE, NONE, NONE)
            earlier[place] = SliceValue(NONE, Literal(-1), NONE)
            x = self.ufunc(
                function, [self.index(x, Sequence(later)), self.index(x, Sequence(earlier))]
            )
        return x

    def ediff1d(self, ary: Abstract, to_end: Abstract = NONE, to_begin: Abstract = NONE) -> Tensor:
        x = self.flat(self.as_array(ary))
        parts: list[Abstract] = [self.diff(x)]
        for end, place in ((to_begin, 0), (to_end, 2)):
            if not self.is_none(end):
                parts.insert(place, self.cast(self.flat(self.as_array(end)), x.dtype))
        return self.concatenate(Sequence(parts)) if len(parts) > 1 else self.tensor(parts[0])

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
            raise self.refuse(reasons.PADDING_D_ARRAY)
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
            raise self.refuse(reasons.PADDING, how)
        for dim, (before, after) in zip(x.shape, widths, strict=True):
            if before.constant != 0 or after.constant != 0:
                self.require_positive(dim)
        if x.rank <= MOST_AXES_IN_PIECES and self._reaches_once(how, x, widths):
            return self._padded_in_pieces(how, x, widths)
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
            raise self.refuse(reasons.ARRAY_FORTRAN_S_ORDER_SIZES)
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
                    raise self.refuse(reasons.NEGATIVE_PAD_WIDTH)
            return (dims[0], dims[-1])

        parts = self._parts(pad_width)
        if parts is None:
            return [pair(pad_width)] * rank
        if self._parts(parts[0]) is None:
            if len(parts) > 2:
                raise self.refuse(reasons.FORM_PAD_WIDTHS)
            return [pair(pad_width)] * rank
        pairs = [pair(part) for part in parts]
        if len(pairs) == 1:
            pairs *= rank
        if len(pairs) != rank:
            raise self.refuse(reasons.PAD_WIDTHS_ANOTHER_NUMBER_AXES)
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
            raise self.refuse(reasons.PADDING_SEVERAL_CONSTANTS)
        shape = [before + dim + after for dim, (before, after) in zip(x.shape, widths, strict=True)]
        value = self.cast(self.as_array(fill, x.dtype), x.dtype)
        if value.rank:
            raise self.refuse(reasons.PADDING_ARRAY)
        base = self.copy_value(self.value_of(value), shape)
        return self.placed(x.dtype, shape, [(x, [before for before, _ in widths])], base)

    def _reaches_once(
        self, how: str, x: Tensor, widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]]
    ) -> bool:
        """Whether what is put on each side is one part of the array."""
        if how == "edge":
            return True
        most = [dim if how == "wrap" else dim - 1 for dim in x.shape]
        return all(
            width.constant == 0 or self.is_at_most(width, limit)
            for limit, pair in zip(most, widths, strict=True)
            for width in pair
        )

    def _padded_in_pieces(
        self, how: str, x: Tensor, widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]]
    ) -> Tensor:
        """Parts of the array put around it: edges and corners."""
        content, zero, one = self.in_c_order(x), self.size(0), self.size(1)
        shape = [before + dim + after for dim, (before, after) in zip(x.shape, widths, strict=True)]
        # Of each axis: where a piece comes from, by which step, how many, where it goes, and how
        # many it becomes.
        axes = []
        for dim, (before, after) in zip(x.shape, widths, strict=True):
            if how == "edge":
                first, last = (zero, 1, one), (dim - 1, 1, one)
            elif how == "wrap":
                first, last = (dim - before, 1, before), (zero, 1, after)
            else:
                first, last = (before, -1, before), (dim - 2, -1, after)
            sides = [((zero, 1, dim), before, dim)]
            sides += [(first, zero, before)] if before.constant != 0 else []
            sides += [(last, before + dim, after)] if after.constant != 0 else []
            axes.append(sides)
        value = self.empty_value(x.dtype, shape)
        for piece in itertools.product(*axes):
            origins, places, sizes = zip(*piece, strict=True)
            starts, steps, counts = zip(*origins, strict=True)
            part = self.slice_value(content, starts, steps, counts)
            part = self.broadcast_value(part, sizes)
            value = self.update_value(value, part, places, [1] * x.rank)
        return self.fresh(value, x.dtype, shape)

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
                raise self.refuse(reasons.MIRROR_ELEMENT)
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
                raise self.refuse(reasons.NEGATIVE_NUMBER_REPETITIONS)
        rank = max(len(counts), x.rank)
        one = self.size(1)
        counts = [one] * (rank - len(counts)) + counts
        shape = [one] * (rank - x.rank) + list(x.shape)
        narrow: list[_dvm.Dim] = []
        wide: list[_dvm.Dim] = []
        for count, dim in zip(counts, shape, strict=True):
            narrow += [one, dim]
            wide += [count, dim]
        # What is repeated once along every axis is a copy in its own order: where that can be told
        # from C order, a number of repetitions that is open is asked for.
        asked = x.loose or x.order != c_order(x.rank)
        repeated = [
            place
            for place, count in enumerate(counts)
            if count.constant != 1 and not (asked and self.is_one(count))
        ]
        if not repeated and x.rank == rank:
            return self.copy(x)
        final = [count * dim for count, dim in zip(counts, shape, strict=True)]
        if not repeated or self._is_empty(x):
            raise self.refuse(reasons.TILE_NOTHING_INTO_MORE_AXES)
        value = self.reshape_value(self.in_c_order(x), narrow)
        value = self.copy_value(value, wide)
        # NumPy returns another shape of what it repeated last: rows of what lies further in.
        rows = [self.product(final[: repeated[-1]]) * counts[repeated[-1]]]
        rows.append(self.product(shape[repeated[-1] :]))
        made = self.reshaped(self.fresh(self.reshape_value(value, rows), x.dtype, rows), final)
        if x.rank == rank and all(counts[place].constant is None for place in repeated):
            made.leaving = lambda: self._own_if_once(made, [counts[place] for place in repeated])
        return made

    def _own_if_once(self, made: Tensor, counts: SequenceOf[_dvm.Dim]) -> None:
        """What np.tile repeats once along every axis is a copy, and no view of one."""
        once = [self.is_one(count) for count in counts]
        if not all(once):
            return
        made.memory = Storage(Content(self.value_of(made)))
        made.base = made.view = made.write = made.remake = None

    def _is_empty(self, x: Tensor) -> bool:
        """Whether it has no elements, which the path then is for."""
        size = self.product(x.shape)
        if size.constant is not None:
            return bool(size.constant == 0)
        empty = self.observed(size) == 0
        test = self._operate("==", self.register_of_dim(size), self.constant(0))
        self.guard("guard_truth", test, empty)
        return empty

    def repeat(self, a: Abstract, repeats: Abstract, axis: Abstract = NONE) -> Tensor:
        x = self.as_array(a)
        repeats = self.resolve(repeats)
        if isinstance(repeats, (Tensor, Sequence, ListValue)):
            raise self.refuse(reasons.REPEAT_ARRAY_NUMBERS)
        count = self.dim_of(repeats)
        if self.is_negative(count):
            raise self.refuse(reasons.NEGATIVE_NUMBER_REPETITIONS)
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

    def delete(self, arr: Abstract, obj: Abstract, axis: Abstract = NONE) -> Tensor:
        line, place = self._line_and_place(arr, obj, axis)
        size = line.shape[0]
        rest = place + 1
        return self.joined(
            [self._stretch(line, self.size(0), place), self._stretch(line, rest, size)], 0
        )

    def insert(
        self, arr: Abstract, obj: Abstract, values: Abstract, axis: Abstract = NONE
    ) -> Tensor:
        line, place = self._line_and_place(arr, obj, axis)
        new = self.as_array(values, line.dtype)
        if new.rank > 1:
            raise self.refuse(reasons.INSERT, describe(new))
        before = self._stretch(line, self.size(0), place)
        after = self._stretch(line, place, line.shape[0])
        return self.joined([before, self.flat(self.cast(new, line.dtype)), after], 0)

    def _line_and_place(
        self, arr: Abstract, obj: Abstract, axis: Abstract
    ) -> tuple[Tensor, _dvm.Dim]:
        """An array of one axis, and a position in it."""
        x = self.as_array(arr)
        if not self.is_int(self.resolve(obj)):
            raise self.refuse(reasons.POSITION, describe(obj))
        if self.is_none(axis):
            x = self.flat(x)
        elif x.rank != 1 or self.axis(self.plain(axis), 1) != 0:
            raise self.refuse(reasons.INSERT_DELETE_ROWS)
        place = self.dim_of(obj)
        return x, place + x.shape[0] if self.is_negative(place) else place

    def _stretch(self, line: Tensor, begin: _dvm.Dim, end: _dvm.Dim) -> Tensor:
        """The elements from one position to another; a replay is dropped where these are none."""
        size = end - begin
        value = self.slice_value(self.value_of(line), [begin], [1], [size])
        return self.fresh(value, line.dtype, [size])

    # ---- picking

    def _gathered(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        position = self.cast(index, "int64")
        value = self.along_value("gather", [self.in_c_order(x), self.in_c_order(position)], axis)
        shape = [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]]
        return self.fresh(value, x.dtype, shape, is_scalar=not shape)

    def take(
        self,
        a: Abstract,
        indices: Abstract,
        axis: Abstract = NONE,
        out: Abstract = NONE,
        mode: Abstract = Literal("raise"),
    ) -> Tensor:
        x = self.as_array(a)
        index = self.as_array(indices)
        if np.dtype(index.dtype).kind not in "iu" or index.dtype == "uint64":
            raise self.refuse(reasons.TAKE_INTEGERS)
        if self.is_none(axis):
            x, axis = self.flat(x), ZERO
        place = self.axis(self.plain(axis), x.rank)
        index = self._within(index, x.shape[place], self.plain(mode))
        return self.deliver(self._gathered(x, index, place), self.result_array(out))

    def _within(self, index: Tensor, size: _dvm.Dim, mode: object) -> Tensor:
        """Positions brought into range as `mode` says; others are for the op to check."""
        if mode == "raise":
            return index
        index = self.cast(index, "int64")
        if mode == "clip":
            index = self.ufunc(np.maximum, [index, ZERO])
            return self.ufunc(np.minimum, [index, Size(size - 1)])
        if mode == "wrap":
            return self.ufunc(np.remainder, [index, Size(size)])
        raise self.refuse(reasons.TAKE_MODE, mode)

    def take_along_axis(
        self, arr: Abstract, indices: Abstract, axis: Abstract = Literal(-1)
    ) -> Tensor:
        x, index = self.as_array(arr), self.as_array(indices)
        if self.is_none(axis) or index.rank != x.rank or np.dtype(index.dtype).kind not in "i":
            raise self.refuse(reasons.TAKE_ALONG_AXIS_SHAPES)
        place = self.axis(self.plain(axis), x.rank)
        for i, (size, other) in enumerate(zip(x.shape, index.shape, strict=True)):
            if i != place and size != other:
                self._require_equal([size], [other])
        wanted = list(x.shape)
        wanted[place] = index.shape[place]
        position = self.reshape_value(self.in_c_order(self.cast(index, "int64")), wanted)
        value = self.along_value("take_along", [self.in_c_order(x), position], place)
        return self.fresh(value, x.dtype, wanted)
