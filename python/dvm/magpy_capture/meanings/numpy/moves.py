"""Padding, rolling, repeating and picking: moves of elements by position."""

from __future__ import annotations

import itertools
from collections.abc import Sequence as SequenceOf
from typing import TYPE_CHECKING

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy import ranges as numpy_ranges
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, ZERO
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    Content,
    ListValue,
    Literal,
    Sequence,
    Size,
    Storage,
    Tensor,
    is_none,
    resolve,
)

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


ONE = Literal(1)
LAST = Literal(-1)

#: Of arrays that are padded by parts of themselves: there are as many as three for each axis.
MOST_AXES_IN_PIECES = 3


@means(np.roll)
def roll(lower: NumpyPart, a: Abstract, shift: Abstract, axis: Abstract = NONE) -> Tensor:
    x = lower.ufuncs.as_array(a)
    shift = resolve(shift)
    if is_none(axis):
        flat = lower.reductions.flat(x)
        return lower.views.reshaped(_rolled(lower, flat, shift, 0), x.shape)
    axes = lower.indexing.plain(axis)
    axes = list(axes) if isinstance(axes, tuple) else [axes]
    shifts = lower.containers.elements(shift) if isinstance(shift, (Sequence, ListValue)) else None
    if isinstance(shift, Literal) and isinstance(shift.object, tuple):
        shifts = [Literal(part) for part in shift.object]
    shifts = [shift] * len(axes) if shifts is None else shifts
    if len(shifts) != len(axes):
        raise refuse(reasons.ROLL_UNEQUAL_NUMBERS_SHIFTS_AXES)
    for one, place in zip(shifts, axes, strict=True):
        x = _rolled(lower, x, one, lower.ufunc_methods.axis(place, x.rank))
    return x


def _rolled(lower: NumpyPart, x: Tensor, shift: Abstract, axis: int) -> Tensor:
    """Along one axis, in the memory order of `x`."""
    size = x.shape[axis]
    offset = lower.indexing.dim_of(shift)
    if size.constant == 0:
        return lower.elementwise.copy(x)
    # 0 <= offset < size; a size of zero has nothing to move.
    offset = offset % size.max(1)
    x = lower.elementwise.copy(x) if x.loose else x
    place, stored = x.order.index(axis), lower.arrays.stored_shape(x)
    back, front = [lower.graph.size(0)] * x.rank, [lower.graph.size(0)] * x.rank
    front[place] = offset
    head, tail = list(stored), list(stored)
    head[place], tail[place] = size - offset, offset
    whole = lower.arrays.value_of(x)
    ones = [1] * x.rank
    first = lower.updates.slice_value(whole, back, ones, head)
    begin = list(back)
    begin[place] = size - offset
    last = lower.updates.slice_value(whole, begin, ones, tail)
    value = lower.joining.empty_value(x.dtype, stored)
    value = lower.updates.update_value(value, first, front, ones)
    value = lower.updates.update_value(value, last, back, ones)
    return fresh(value, x.dtype, x.shape, x.order)


@means(np.pad)
def pad(
    lower: NumpyPart,
    array: Abstract,
    pad_width: Abstract,
    mode: Abstract = Literal("constant"),
    *,
    constant_values: Abstract = ZERO,
) -> Tensor:
    x = lower.ufuncs.as_array(array)
    if not x.rank:
        raise refuse(reasons.PADDING_D_ARRAY)
    how = lower.indexing.plain(mode)
    widths = _widths(lower, pad_width, x.rank)
    if not is_fortran(lower, x):
        return _padded_by(lower, how, x, widths, constant_values)
    backwards = range(x.rank - 1, -1, -1)
    made = _padded_by(
        lower, how, lower.shapes.transposed(x, backwards), widths[::-1], constant_values
    )
    order = c_order(x.rank)[::-1]
    return fresh(lower.layouts.in_c_order(made), x.dtype, made.shape[::-1], order)


def _padded_by(
    lower: NumpyPart,
    how: str,
    x: Tensor,
    widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]],
    fill: Abstract,
) -> Tensor:
    """A padded copy in C order."""
    if how == "constant":
        return _padded(lower, x, widths, fill)
    if how not in ("edge", "wrap", "reflect"):
        raise refuse(reasons.PADDING, how)
    for dim, (before, after) in zip(x.shape, widths, strict=True):
        if before.constant != 0 or after.constant != 0:
            lower.program.require_positive(dim)
    if x.rank <= MOST_AXES_IN_PIECES and _reaches_once(lower, how, x, widths):
        return _padded_in_pieces(lower, how, x, widths)
    for axis, (before, after) in enumerate(widths):
        x = _padded_axis(lower, x, axis, before, after, how)
    return x


def is_fortran(lower: NumpyPart, x: Tensor) -> bool:
    """NumPy's flag FNC: dense in Fortran's order alone, not in C order as well.

    The sizes decide where an axis of one makes no difference; an array of the caller in
    Fortran's order has none to spare.
    """
    if x.rank < 2 or x.order == c_order(x.rank):
        return False
    if not x.contiguous or x.order != c_order(x.rank)[::-1]:
        raise refuse(reasons.ARRAY_FORTRAN_S_ORDER_SIZES)
    large = [lower.sizes.exceeds_one(dim) for dim in x.shape]
    empty = any(
        not lower.sizes.is_one(d) for d, more in zip(x.shape, large, strict=True) if not more
    )
    return sum(large) > 1 and not empty


def _widths(lower: NumpyPart, pad_width: Abstract, rank: int) -> list[tuple[_dvm.Dim, _dvm.Dim]]:
    def pair(value: Abstract) -> tuple[_dvm.Dim, _dvm.Dim]:
        parts = pieces(value)
        if parts is None:
            parts = [value]
        dims = [lower.indexing.dim_of(part) for part in parts]
        for dim in dims:
            if lower.sizes.is_negative(dim):
                raise refuse(reasons.NEGATIVE_PAD_WIDTH)
        return (dims[0], dims[-1])

    parts = pieces(pad_width)
    if parts is None:
        return [pair(pad_width)] * rank
    if pieces(parts[0]) is None:
        if len(parts) > 2:
            raise refuse(reasons.FORM_PAD_WIDTHS)
        return [pair(pad_width)] * rank
    pairs = [pair(part) for part in parts]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank:
        raise refuse(reasons.PAD_WIDTHS_ANOTHER_NUMBER_AXES)
    return pairs


def pieces(value: Abstract) -> list[Abstract] | None:
    value = resolve(value)
    if isinstance(value, (Sequence, ListValue)):
        return [resolve(part) for part in value.elements]
    if isinstance(value, Literal) and isinstance(value.object, (tuple, list)):
        return [Literal(part) for part in value.object]
    return None


def _padded(
    lower: NumpyPart, x: Tensor, widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]], fill: Abstract
) -> Tensor:
    if pieces(fill) is not None:
        raise refuse(reasons.PADDING_SEVERAL_CONSTANTS)
    shape = [before + dim + after for dim, (before, after) in zip(x.shape, widths, strict=True)]
    value = lower.elementwise.cast(lower.ufuncs.as_array(fill, x.dtype), x.dtype)
    if value.rank:
        raise refuse(reasons.PADDING_ARRAY)
    base = lower.graph.copy_value(lower.arrays.value_of(value), shape)
    return numpy_ranges.placed(lower, x.dtype, shape, [(x, [before for before, _ in widths])], base)


def _reaches_once(
    lower: NumpyPart, how: str, x: Tensor, widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]]
) -> bool:
    """Whether what is put on each side is one part of the array."""
    if how == "edge":
        return True
    most = [dim if how == "wrap" else dim - 1 for dim in x.shape]
    return all(
        width.constant == 0 or lower.sizes.is_at_most(width, limit)
        for limit, pair in zip(most, widths, strict=True)
        for width in pair
    )


def _padded_in_pieces(
    lower: NumpyPart, how: str, x: Tensor, widths: SequenceOf[tuple[_dvm.Dim, _dvm.Dim]]
) -> Tensor:
    """Parts of the array put around it: edges and corners."""
    content, zero, one = lower.layouts.in_c_order(x), lower.graph.size(0), lower.graph.size(1)
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
    value = lower.joining.empty_value(x.dtype, shape)
    for piece in itertools.product(*axes):
        origins, places, sizes = zip(*piece, strict=True)
        starts, steps, counts = zip(*origins, strict=True)
        part = lower.updates.slice_value(content, starts, steps, counts)
        part = lower.graph.broadcast_value(part, sizes)
        value = lower.updates.update_value(value, part, places, [1] * x.rank)
    return fresh(value, x.dtype, shape)


def _padded_axis(
    lower: NumpyPart, x: Tensor, axis: int, before: _dvm.Dim, after: _dvm.Dim, how: str
) -> Tensor:
    """One axis continued by its edge, by itself, or mirrored, through indices into it."""
    if before.constant == 0 and after.constant == 0:
        return lower.elementwise.copy(x)
    size = x.shape[axis]
    lower.program.require_positive(size)
    total = before + size + after
    position = fresh(lower.graph.iota_value("int64", total), "int64", [total])
    position = lower.ufuncs.apply(np.subtract, [position, Size(before)])
    last = Size(size - 1)
    if how == "edge":
        position = lower.ufuncs.apply(np.maximum, [position, ZERO])
        position = lower.ufuncs.apply(np.minimum, [position, last])
    elif how == "wrap":
        position = lower.ufuncs.apply(np.remainder, [position, Size(size)])
    else:
        if known_size_is_one(lower, size):
            raise refuse(reasons.MIRROR_ELEMENT)
        period = Size((size - 1) * 2)
        position = lower.ufuncs.apply(np.remainder, [position, period])
        back = lower.ufuncs.apply(np.subtract, [period, position])
        position = lower.ufuncs.apply(np.minimum, [position, back])
    return _gathered(lower, x, position, axis)


def known_size_is_one(lower: NumpyPart, size: _dvm.Dim) -> bool:
    return lower.sizes.is_one(size)


# ---- repeating


@means(np.tile)
def tile(lower: NumpyPart, A: Abstract, reps: Abstract) -> Tensor:
    x = lower.ufuncs.as_array(A)
    parts = pieces(reps)
    counts = [lower.indexing.dim_of(part) for part in ([reps] if parts is None else parts)]
    for count in counts:
        if lower.sizes.is_negative(count):
            raise refuse(reasons.NEGATIVE_NUMBER_REPETITIONS)
    rank = max(len(counts), x.rank)
    one = lower.graph.size(1)
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
        if count.constant != 1 and not (asked and lower.sizes.is_one(count))
    ]
    if not repeated and x.rank == rank:
        return lower.elementwise.copy(x)
    final = [count * dim for count, dim in zip(counts, shape, strict=True)]
    if not repeated or _is_empty(lower, x):
        raise refuse(reasons.TILE_NOTHING_INTO_MORE_AXES)
    value = lower.views.reshape_value(lower.layouts.in_c_order(x), narrow)
    value = lower.graph.copy_value(value, wide)
    # NumPy returns another shape of what it repeated last: rows of what lies further in.
    rows = [lower.graph.product(final[: repeated[-1]]) * counts[repeated[-1]]]
    rows.append(lower.graph.product(shape[repeated[-1] :]))
    made = lower.views.reshaped(fresh(lower.views.reshape_value(value, rows), x.dtype, rows), final)
    if x.rank == rank and all(counts[place].constant is None for place in repeated):
        made.leaving = lambda: _own_if_once(lower, made, [counts[place] for place in repeated])
    return made


def _own_if_once(lower: NumpyPart, made: Tensor, counts: SequenceOf[_dvm.Dim]) -> None:
    """What np.tile repeats once along every axis is a copy, and no view of one."""
    once = [lower.sizes.is_one(count) for count in counts]
    if not all(once):
        return
    made.memory = Storage(Content(lower.arrays.value_of(made)), made.library)
    made.base = made.view = made.write = made.remake = None


def _is_empty(lower: NumpyPart, x: Tensor) -> bool:
    """Whether it has no elements, which the path then is for."""
    size = lower.graph.product(x.shape)
    if size.constant is not None:
        return bool(size.constant == 0)
    empty = lower.sizes.observed(size) == 0
    test = lower.program.operate(
        "==", lower.program.register_of_dim(size), lower.program.constant(0)
    )
    lower.program.guard("guard_truth", test, empty)
    return empty


@means(np.repeat, np.ndarray.repeat)
def repeat(lower: NumpyPart, a: Abstract, repeats: Abstract, axis: Abstract = NONE) -> Tensor:
    x = lower.ufuncs.as_array(a)
    repeats = resolve(repeats)
    if isinstance(repeats, (Tensor, Sequence, ListValue)):
        raise refuse(reasons.REPEAT_ARRAY_NUMBERS)
    count = lower.indexing.dim_of(repeats)
    if lower.sizes.is_negative(count):
        raise refuse(reasons.NEGATIVE_NUMBER_REPETITIONS)
    if is_none(axis):
        x, place = lower.reductions.flat(x), 0
    else:
        place = lower.ufunc_methods.axis(lower.indexing.plain(axis), x.rank)
    shape = list(x.shape)
    narrow = [*shape[: place + 1], lower.graph.size(1), *shape[place + 1 :]]
    wide = [*shape[: place + 1], count, *shape[place + 1 :]]
    value = lower.graph.copy_value(
        lower.views.reshape_value(lower.layouts.in_c_order(x), narrow), wide
    )
    shape[place] = shape[place] * count
    return fresh(lower.views.reshape_value(value, shape), x.dtype, shape)


@means(np.delete)
def delete(lower: NumpyPart, arr: Abstract, obj: Abstract, axis: Abstract = NONE) -> Tensor:
    line, place = _line_and_place(lower, arr, obj, axis)
    size = line.shape[0]
    rest = place + 1
    return lower.joining.joined(
        [_stretch(lower, line, lower.graph.size(0), place), _stretch(lower, line, rest, size)], 0
    )


@means(np.insert)
def insert(
    lower: NumpyPart, arr: Abstract, obj: Abstract, values: Abstract, axis: Abstract = NONE
) -> Tensor:
    line, place = _line_and_place(lower, arr, obj, axis)
    new = lower.ufuncs.as_array(values, line.dtype)
    if new.rank > 1:
        raise refuse(reasons.INSERT, describe(new))
    before = _stretch(lower, line, lower.graph.size(0), place)
    after = _stretch(lower, line, place, line.shape[0])
    return lower.joining.joined(
        [before, lower.reductions.flat(lower.elementwise.cast(new, line.dtype)), after], 0
    )


def _line_and_place(
    lower: NumpyPart, arr: Abstract, obj: Abstract, axis: Abstract
) -> tuple[Tensor, _dvm.Dim]:
    """An array of one axis, and a position in it."""
    x = lower.ufuncs.as_array(arr)
    if not numpy_ranges.is_int(resolve(obj)):
        raise refuse(reasons.POSITION, describe(obj))
    if is_none(axis):
        x = lower.reductions.flat(x)
    elif x.rank != 1 or lower.ufunc_methods.axis(lower.indexing.plain(axis), 1) != 0:
        raise refuse(reasons.INSERT_DELETE_ROWS)
    place = lower.indexing.dim_of(obj)
    return x, place + x.shape[0] if lower.sizes.is_negative(place) else place


def _stretch(lower: NumpyPart, line: Tensor, begin: _dvm.Dim, end: _dvm.Dim) -> Tensor:
    """The elements from one position to another; a replay is dropped where these are none."""
    size = end - begin
    value = lower.updates.slice_value(lower.arrays.value_of(line), [begin], [1], [size])
    return fresh(value, line.dtype, [size])


# ---- picking


def _gathered(lower: NumpyPart, x: Tensor, index: Tensor, axis: int) -> Tensor:
    position = lower.elementwise.cast(index, "int64")
    value = lower.graph.along_value(
        "gather", [lower.layouts.in_c_order(x), lower.layouts.in_c_order(position)], axis
    )
    shape = [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]]
    return fresh(value, x.dtype, shape, is_scalar=not shape)


@means(np.take, np.ndarray.take)
def take(
    lower: NumpyPart,
    a: Abstract,
    indices: Abstract,
    axis: Abstract = NONE,
    out: Abstract = NONE,
    mode: Abstract = Literal("raise"),
) -> Tensor:
    x = lower.ufuncs.as_array(a)
    index = lower.ufuncs.as_array(indices)
    if np.dtype(index.dtype).kind not in "iu" or index.dtype == "uint64":
        raise refuse(reasons.TAKE_INTEGERS)
    if is_none(axis):
        x, axis = lower.reductions.flat(x), ZERO
    place = lower.ufunc_methods.axis(lower.indexing.plain(axis), x.rank)
    index = _within(lower, index, x.shape[place], lower.indexing.plain(mode))
    return lower.ufunc_methods.deliver(
        _gathered(lower, x, index, place), lower.ufunc_methods.result_array(out)
    )


def _within(lower: NumpyPart, index: Tensor, size: _dvm.Dim, mode: object) -> Tensor:
    """Positions brought into range as `mode` says; others are for the op to check."""
    if mode == "raise":
        return index
    index = lower.elementwise.cast(index, "int64")
    if mode == "clip":
        index = lower.ufuncs.apply(np.maximum, [index, ZERO])
        return lower.ufuncs.apply(np.minimum, [index, Size(size - 1)])
    if mode == "wrap":
        return lower.ufuncs.apply(np.remainder, [index, Size(size)])
    raise refuse(reasons.TAKE_MODE, mode)


@means(np.take_along_axis)
def take_along_axis(
    lower: NumpyPart, arr: Abstract, indices: Abstract, axis: Abstract = LAST
) -> Tensor:
    x, index = lower.ufuncs.as_array(arr), lower.ufuncs.as_array(indices)
    if is_none(axis) or index.rank != x.rank or np.dtype(index.dtype).kind not in "i":
        raise refuse(reasons.TAKE_ALONG_AXIS_SHAPES)
    place = lower.ufunc_methods.axis(lower.indexing.plain(axis), x.rank)
    for i, (size, other) in enumerate(zip(x.shape, index.shape, strict=True)):
        if i != place and size != other:
            lower.program.require_all_equal([size], [other])
    wanted = list(x.shape)
    wanted[place] = index.shape[place]
    position = lower.views.reshape_value(
        lower.layouts.in_c_order(lower.elementwise.cast(index, "int64")), wanted
    )
    value = lower.graph.along_value("take_along", [lower.layouts.in_c_order(x), position], place)
    return fresh(value, x.dtype, wanted)
