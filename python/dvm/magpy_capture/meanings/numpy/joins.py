"""Joins, splits and comparisons of whole arrays."""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dvm import _dvm, reasons
from dvm.magpy_capture.meanings.numpy import moves as numpy_moves
from dvm.magpy_capture.meanings.numpy.expressions import Expression, arrays
from dvm.magpy_capture.meanings.numpy.fresh import fresh
from dvm.magpy_capture.meanings.numpy.ranges import every_element
from dvm.magpy_capture.meanings.numpy.ufuncs import NONE, ZERO
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.tensors.fresh import c_order
from dvm.magpy_capture.values import (
    Abstract,
    ListValue,
    Literal,
    Sequence,
    Size,
    SliceValue,
    Tensor,
    resolve,
)

if TYPE_CHECKING:
    from dvm.magpy_capture.meanings.numpy.layer import NumpyPart


ONE = Literal(1)


def _broadcast_for_now(array: Any, shape: tuple[int, ...]) -> Any:
    """What np.broadcast_arrays makes of an array of another shape: writable, with a warning."""
    return np.broadcast_arrays(array, np.broadcast_to(np.zeros((), array.dtype), shape))[0]


# ---- joins and splits


@means(np.block)
def block(lower: NumpyPart, arrays: Abstract) -> Tensor:
    """Nested lists: the innermost joined along the last axis, and so on outwards."""
    depth = _nesting(lower, arrays)
    leaves = _leaves(lower, arrays)
    if depth == 0 or any(t.order != c_order(t.rank) for t in leaves):
        raise refuse(reasons.BLOCK_ARRAY_ARRAYS_ANOTHER_ORDER)
    rank = max(depth, lower.conversions.common_rank(leaves))
    return _block(lower, arrays, depth, rank)


def _block(lower: NumpyPart, value: Abstract, depth: int, rank: int) -> Tensor:
    if depth > 0:
        parts: list[Abstract] = [
            _block(lower, part, depth - 1, rank) for part in lower.containers.elements(value)
        ]
        return lower.shapes.concatenate(Sequence(parts), Literal(-depth))
    x = lower.ufuncs.as_array(value)
    shape = [*[lower.graph.size(1)] * (rank - x.rank), *x.shape]
    return fresh(lower.views.reshape_value(lower.layouts.in_c_order(x), shape), x.dtype, shape)


def _is_list(value: Abstract) -> bool:
    value = resolve(value)
    return isinstance(value, ListValue) or (
        isinstance(value, Literal) and type(value.object) is list
    )


def _nesting(lower: NumpyPart, value: Abstract) -> int:
    """How deep lists are nested, which is the same everywhere."""
    if not _is_list(value):
        return 0
    depths = {_nesting(lower, part) for part in lower.containers.elements(value)}
    if len(depths) != 1:
        raise refuse(reasons.BLOCK_LISTS_UNEQUAL_DEPTH)
    return 1 + depths.pop()


def _leaves(lower: NumpyPart, value: Abstract) -> list[Tensor]:
    if not _is_list(value):
        return [lower.ufuncs.as_array(value)]
    return [leaf for part in lower.containers.elements(value) for leaf in _leaves(lower, part)]


@means(np.atleast_1d)
def atleast_1d(lower: NumpyPart, *arys: Abstract) -> Abstract:
    return _at_least(lower, arys, 1)


@means(np.atleast_2d)
def atleast_2d(lower: NumpyPart, *arys: Abstract) -> Abstract:
    return _at_least(lower, arys, 2)


def _at_least(lower: NumpyPart, arys: SequenceOf[Abstract], rank: int) -> Abstract:
    made = []
    for value in arys:
        x = lower.ufuncs.as_array(value)
        if x.rank == 0:
            x = lower.views.reshaped(x, [lower.graph.size(1)] * rank)
        elif x.rank < rank:
            key = [NONE] * (rank - x.rank) + [every_element()] * x.rank
            x = lower.indexing.index(x, Sequence([*key, Literal(Ellipsis)]))
        made.append(x)
    return made[0] if len(made) == 1 else Sequence(made)


@means(np.vstack)
def vstack(lower: NumpyPart, tup: Abstract) -> Tensor:
    parts = [_at_least(lower, [part], 2) for part in lower.containers.elements(tup)]
    return lower.shapes.concatenate(Sequence(parts))


@means(np.hstack)
def hstack(lower: NumpyPart, tup: Abstract) -> Tensor:
    parts = [_at_least(lower, [part], 1) for part in lower.containers.elements(tup)]
    return lower.shapes.concatenate(Sequence(parts), Literal(0 if parts[0].rank == 1 else 1))


@means(np.column_stack)
def column_stack(lower: NumpyPart, tup: Abstract) -> Tensor:
    parts = []
    for part in lower.containers.elements(tup):
        x = lower.ufuncs.as_array(part)
        if x.rank < 2:
            x = lower.indexing.index(_at_least(lower, [x], 1), Sequence([every_element(), NONE]))
        parts.append(x)
    return lower.shapes.concatenate(Sequence(parts), ONE)


@means(np.split)
def split(
    lower: NumpyPart, ary: Abstract, indices_or_sections: Abstract, axis: Abstract = ZERO
) -> Abstract:
    return _split(lower, ary, indices_or_sections, axis, equal=True)


@means(np.array_split)
def array_split(
    lower: NumpyPart, ary: Abstract, indices_or_sections: Abstract, axis: Abstract = ZERO
) -> Abstract:
    return _split(lower, ary, indices_or_sections, axis, equal=False)


def _split(
    lower: NumpyPart, ary: Abstract, sections: Abstract, axis: Abstract, *, equal: bool
) -> Abstract:
    x = lower.ufuncs.as_array(ary)
    place = lower.ufunc_methods.axis(lower.indexing.plain(axis), x.rank)
    parts = numpy_moves.pieces(sections)
    bounds: list[Abstract]
    if parts is None:
        count = lower.indexing.integer(sections)
        if count <= 0:
            raise refuse(reasons.SPLIT_INTO_NO_PARTS)
        size = x.shape[place]
        if equal:
            lower.program.require_all_equal([size % count], [lower.graph.size(0)])
            each = size // count
            bounds = [Size(each * i) for i in range(1, count)]
        else:
            whole, extra = size // count, size % count
            bounds = [Size(whole * i + extra.min(lower.graph.size(i))) for i in range(1, count)]
    else:
        bounds = parts
    edges: list[Abstract] = [NONE, *bounds, NONE]
    views = []
    for first, last in pairwise(edges):
        key: list[Abstract] = [every_element()] * x.rank
        key[place] = SliceValue(first, last, NONE)
        views.append(lower.indexing.index(x, Sequence(key)))
    return ListValue(views)


@means(np.meshgrid)
def meshgrid(lower: NumpyPart, *xi: Abstract, indexing: Abstract = Literal("xy")) -> Abstract:
    parts = [lower.reductions.flat(lower.ufuncs.as_array(value)) for value in xi]
    places = list(range(len(parts)))
    if lower.indexing.plain(indexing) == "xy" and len(parts) > 1:
        places[0], places[1] = 1, 0
    shape: list[Any] = [None] * len(parts)
    for part, place in zip(parts, places, strict=True):
        shape[place] = part.shape[0]
    grids = []
    for part, place in zip(parts, places, strict=True):
        own = [shape[i] if i == place else lower.graph.size(1) for i in range(len(parts))]
        value = lower.views.reshape_value(lower.layouts.in_c_order(part), own)
        grids.append(fresh(lower.graph.copy_value(value, shape), part.dtype, shape))
    return Sequence(grids)


@means(np.broadcast_arrays)
def broadcast_arrays(lower: NumpyPart, *args: Abstract) -> Abstract:
    """Those that have the shape of all stay themselves (numpy/lib/_stride_tricks_impl.py)."""
    parts = [lower.ufuncs.as_array(value) for value in args]
    shape = lower.elementwise.common_shape(parts)
    return Sequence(
        [
            part if _has_shape(lower, part, shape) else _expanded(lower, part, shape)
            for part in parts
        ]
    )


def _has_shape(lower: NumpyPart, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> bool:
    return x.rank == len(shape) and all(
        _are_equal(lower, one, other) for one, other in zip(x.shape, shape, strict=True)
    )


def _are_equal(lower: NumpyPart, one: _dvm.Dim, other: _dvm.Dim) -> bool:
    """Whether two sizes are equal: an outcome, unless it is known."""
    if one == other:
        return True
    if one.constant is not None and other.constant is not None:
        return False
    equal = lower.sizes.observed(one) == lower.sizes.observed(other)
    test = lower.program.operate(
        "==", lower.program.register_of_dim(one), lower.program.register_of_dim(other)
    )
    lower.program.guard("guard_truth", test, equal)
    return equal


def _expanded(lower: NumpyPart, x: Tensor, shape: SequenceOf[_dvm.Dim]) -> Tensor:
    """A view that NumPy warns about once it is written: such a write is refused here."""
    view = lower.shapes.broadcast_to(x, lower.views.arguments_of(shape))
    view.remake = (_broadcast_for_now, [lower.views.arguments_of(shape)])
    return view


@means(np.fliplr)
def fliplr(lower: NumpyPart, m: Abstract) -> Tensor:
    return lower.shapes.flip(m, ONE)


@means(np.flipud)
def flipud(lower: NumpyPart, m: Abstract) -> Tensor:
    return lower.shapes.flip(m, ZERO)


@means(np.rot90)
def rot90(
    lower: NumpyPart, m: Abstract, k: Abstract = ONE, axes: Abstract = Literal((0, 1))
) -> Tensor:
    x = lower.ufuncs.as_array(m)
    first, second = (lower.ufunc_methods.axis(axis, x.rank) for axis in lower.indexing.plain(axes))
    turns = lower.indexing.integer(k) % 4
    everything = Sequence([Literal(Ellipsis)])
    if turns == 0:
        return lower.indexing.index(x, everything)
    if turns == 2:
        return lower.shapes.flip(lower.shapes.flip(x, Literal(first)), Literal(second))
    if turns == 1:
        return lower.shapes.swapaxes(
            lower.shapes.flip(x, Literal(second)), Literal(first), Literal(second)
        )
    return lower.shapes.flip(
        lower.shapes.swapaxes(x, Literal(first), Literal(second)), Literal(second)
    )


# ---- comparisons of arrays


@means(np.isclose)
def isclose(
    lower: NumpyPart,
    a: Abstract,
    b: Abstract,
    rtol: Abstract = Literal(1e-05),
    atol: Abstract = Literal(1e-08),
    equal_nan: Abstract = Literal(False),
) -> Tensor:
    """|a - b| <= atol + rtol |b| where b is finite, or equal (numpy/_core/numeric.py)."""
    x, y = arrays(lower, a, b)
    if y.tensor.is_integer or y.tensor.dtype == "bool":
        wide = np.result_type(np.dtype(y.tensor.dtype), 1.0).name
        y = Expression(lower, lower.elementwise.cast(y.tensor, wide))
    near = abs(x - y) <= resolve(atol) + resolve(rtol) * abs(y)
    near = near & y.apply(np.isfinite) | x.equals(y)
    if lower.indexing.plain(equal_nan):
        near = near | x.apply(np.isnan) & y.apply(np.isnan)
    made: Tensor = near[()].tensor  # NumPy's way to make scalars of 0-d arrays
    return made


@means(np.array_equal)
def array_equal(lower: NumpyPart, a1: Abstract, a2: Abstract, *, seen: Any) -> Abstract:
    x, y = lower.ufuncs.as_array(a1), lower.ufuncs.as_array(a2)
    if x.rank != y.rank:
        return Literal(False)
    for one, other in zip(x.shape, y.shape, strict=True):
        if not _are_equal(lower, one, other):
            return Literal(False)
    same = lower.ufuncs.apply(np.equal, [x, y])
    found = lower.ufunc_methods.fold(np.logical_and, same, list(range(same.rank)), keepdims=False)
    return lower.heap.computed(lower.graph.leave(lower.arrays.value_of(found), "bool"), seen)


@means(np.kron)
def kron(lower: NumpyPart, a: Abstract, b: Abstract) -> Abstract:
    """Each element of `a` times all of `b`, in blocks."""
    x, y = lower.ufuncs.as_array(a), lower.ufuncs.as_array(b)
    rank = max(x.rank, y.rank)
    if not x.rank or not y.rank:
        return lower.ufuncs.apply(np.multiply, [x, y])
    if any(t.order != c_order(t.rank) for t in (x, y)):
        raise refuse(reasons.KRON_ARRAYS_ANOTHER_ORDER_C)
    one = lower.graph.size(1)
    sizes = [[*[one] * (rank - t.rank), *t.shape] for t in (x, y)]
    apart = [
        fresh(lower.views.reshape_value(lower.layouts.in_c_order(t), shape), t.dtype, shape)
        for t, shape in (
            (x, [size for each in sizes[0] for size in (each, one)]),
            (y, [size for each in sizes[1] for size in (one, each)]),
        )
    ]
    blocks = lower.ufuncs.apply(np.multiply, apart)
    return lower.views.reshaped(blocks, [s * t for s, t in zip(*sizes, strict=True)])


@means(np.cross, np.linalg.cross)
def cross(lower: NumpyPart, a: Abstract, b: Abstract) -> Tensor:
    """Of vectors in space, which lie along the last axis."""
    x, y = lower.ufuncs.as_array(a), lower.ufuncs.as_array(b)
    for t in (x, y):
        if not t.rank or lower.sizes.observed(t.shape[-1]) != 3:
            raise refuse(reasons.CROSS_VECTORS_THOSE_THREE_NUMBERS)
        lower.sizes.require_equal(t.shape[-1], lower.graph.size(3))
    u, v = ([each[..., i] for i in range(3)] for each in arrays(lower, x, y))

    def minor(i: int, j: int) -> Abstract:
        return (u[i] * v[j] - u[j] * v[i]).value

    made = lower.shapes.stack(Sequence([minor(1, 2), minor(2, 0), minor(0, 1)]), Literal(-1))
    return lower.shapes.moveaxis(made, Literal(-1), Literal(-1))


@means(np.outer)
def outer(lower: NumpyPart, a: Abstract, b: Abstract, out: Abstract = NONE) -> Abstract:
    x, y = (
        lower.reductions.flat(lower.ufuncs.as_array(a)),
        lower.reductions.flat(lower.ufuncs.as_array(b)),
    )
    return lower.ufunc_methods.ufunc_outer(np.multiply, x, y, out)
