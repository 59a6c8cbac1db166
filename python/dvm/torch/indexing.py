"""Lowerings of ops that take elements at places which are tensors themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dvm.torch.builder import Builder, NotCompiled, Tensor, is_same
from dvm.torch.shapes import axis_of
from dvm.torch.sizes import Size

# No place of any tensor: the call is given up, and torch raises its own error.
NOWHERE = -(2**62)


def embedding(b: Builder, weight: Tensor, places: Tensor, *_args: Any) -> Tensor:
    return b.along("gather", [weight, as_places(b, places, weight.shape[0], wraps=False)], 0)


def as_places(b: Builder, places: Tensor, size: Size, *, wraps: bool) -> Tensor:
    """Indices as i64, from 0 on; those from the end are what they are for torch."""
    if places.dtype not in ("i64", "i32"):
        raise NotCompiled("a mask, or indices of bytes")
    places = b.cast(places, "i64")
    zero = b.constant(0, "i64", places.shape)
    negative = b.lt(places, zero)
    below = b.add(places, b.number(size, "i64", places.shape)) if wraps else None
    nowhere = b.constant(NOWHERE, "i64", places.shape)
    if below is not None:
        nowhere = b.select(b.lt(below, zero), nowhere, below)
    return b.select(negative, nowhere, places)


def index_select(b: Builder, x: Tensor, axis: int, places: Tensor) -> Tensor:
    if x.rank == 0 or places.rank != 1:
        raise NotCompiled("a number")
    axis = axis_of(axis, x.rank)
    return b.along("gather", [x, as_places(b, places, x.shape[axis], wraps=False)], axis)


def gather(
    b: Builder, x: Tensor, axis: int, places: Tensor, *, sparse_grad: bool = False
) -> Tensor:
    if x.rank == 0 or places.rank != x.rank:
        raise NotCompiled("a number, or no places at all")
    axis = axis_of(axis, x.rank)
    shape = [x.shape[i] if i == axis else size for i, size in enumerate(places.shape)]
    part = b.slice(x, [0] * x.rank, shape) if str(shape) != str(list(x.shape)) else x
    places = as_places(b, places, x.shape[axis], wraps=False)
    return b.along("take_along", [part, places], axis)


def index(b: Builder, x: Tensor, places: Sequence[Tensor | None]) -> Tensor:
    """x[.., places, ..]: the indexed axes become one, along which elements are gathered."""
    flat, place, axis = merged(b, x, places)
    return b.along("gather", [flat, place], axis)


def merged(b: Builder, x: Tensor, places: Sequence[Tensor | None]) -> tuple[Tensor, Tensor, int]:
    """X with its indexed axes as a single one, the places along that, and which axis it is."""
    axes = [axis for axis, place in enumerate(places) if place is not None]
    given = [place for place in places if place is not None]
    wrapped = [as_places(b, p, x.shape[a], wraps=True) for p, a in zip(given, axes, strict=True)]
    if len(axes) == 1:
        return x, wrapped[0], axes[0]
    are_neighbours = axes == list(range(axes[0], axes[0] + len(axes)))
    before = axes[0] if are_neighbours else 0
    shape = broadcast_shape([place.shape for place in wrapped])
    place = b.constant(0, "i64", shape)
    outside = b.constant(False, "bool", shape)
    size: Size = 1
    for p, axis in zip(wrapped, axes, strict=True):
        p = b.broadcast(p, shape)
        extent = b.number(x.shape[axis], "i64", shape)
        beyond = b.logical_or(b.lt(p, b.constant(0, "i64", shape)), b.ge(p, extent))
        outside = b.logical_or(outside, beyond)
        place = b.add(b.mul(place, extent), p)
        size = x.shape[axis] * size
    place = b.select(outside, b.constant(NOWHERE, "i64", shape), place)
    moved = b.transpose(x, merging_order(x.rank, axes, before))
    flat = b.reshape(moved, [*moved.shape[:before], size, *moved.shape[before + len(axes) :]])
    return flat, place, before


def merging_order(rank: int, axes: Sequence[int], before: int) -> list[int]:
    """The order of axes in which those to merge are neighbours, behind `before` others."""
    others = [axis for axis in range(rank) if axis not in axes]
    return [*others[:before], *axes, *others[before:]]


def broadcast_shape(shapes: Sequence[Sequence[Size]]) -> list[Size]:
    """The shape that all are broadcast to: sizes but 1 win, which the call checks to be one."""
    rank = max(map(len, shapes))
    padded: list[list[Size]] = [[*[1] * (rank - len(shape)), *shape] for shape in shapes]
    return [
        next((size for size in sizes if str(size) != "1"), 1) for sizes in zip(*padded, strict=True)
    ]


def index_put(
    b: Builder,
    x: Tensor,
    places: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
) -> Tensor:
    """X but for x[.., places, ..], which is, or is more by, `values`."""
    axes = [axis for axis, place in enumerate(places) if place is not None]
    flat, place, axis = merged(b, x, places)
    shape = [*flat.shape[:axis], *place.shape, *flat.shape[axis + 1 :]]
    operands = [flat, place, b.broadcast(values, shape)]
    made = b.along("scatter", operands, axis, "add" if accumulate else "")
    if len(axes) == 1:
        return made
    order = merging_order(x.rank, axes, axis)
    apart = b.reshape(made, [x.shape[i] for i in order])
    return b.transpose(apart, [order.index(i) for i in range(x.rank)])


def index_add(
    b: Builder, x: Tensor, axis: int, places: Tensor, source: Tensor, *, alpha: Any = 1
) -> Tensor:
    if alpha != 1:
        source = b.mul(source, alpha)
    return put_slices(b, x, axis, places, source, "add")


def index_copy(b: Builder, x: Tensor, axis: int, places: Tensor, source: Tensor) -> Tensor:
    return put_slices(b, x, axis, places, source)


def put_slices(
    b: Builder, x: Tensor, axis: int, places: Tensor, source: Tensor, with_op: str = ""
) -> Tensor:
    """X but for its slices at places, one for each of `source`; none is counted from the end."""
    if x.rank == 0 or places.rank != 1 or source.rank != x.rank or x.dtype == "bool":
        raise NotCompiled("a number, a single place, or truth values")
    axis = axis_of(axis, x.rank)
    if not all(is_same(x.shape[i], source.shape[i]) for i in range(x.rank) if i != axis):
        raise NotCompiled("slices of another shape")
    places = as_places(b, places, x.shape[axis], wraps=False)
    return b.along("scatter", [x, places, source], axis, with_op)


def index_fill(b: Builder, x: Tensor, axis: int, places: Tensor, value: Any) -> Tensor:
    if x.rank == 0 or places.rank != 1:
        raise NotCompiled("a number, or a single place")
    axis = axis_of(axis, x.rank)
    shape = [*x.shape[:axis], places.shape[0], *x.shape[axis + 1 :]]
    made = b.cast(value, x.dtype) if isinstance(value, Tensor) else b.number(value, x.dtype)
    places = as_places(b, places, x.shape[axis], wraps=True)
    return b.along("scatter", [x, places, b.broadcast(made, shape)], axis)


def nll_loss(
    b: Builder, x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignored: Any
) -> list[Tensor]:
    """The loss of log-probabilities x[n, classes, ..] and the weight of all targets [n, ..].

    reduction: 0 for none, 1 for a mean by the weights, 2 for a sum.
    """
    if x.rank < 2 or target.rank != x.rank - 1:
        raise NotCompiled("one target")
    shape = target.shape
    counts = b.ne(target, ignored)
    place = b.select(counts, target, b.constant(0, target.dtype, shape))
    loss = b.neg(b.reshape(gather(b, x, 1, b.unsqueeze(place, 1)), shape))
    if weight is not None:
        weights = b.along("gather", [weight, as_places(b, place, x.shape[1], wraps=False)], 0)
        loss = b.mul(loss, weights)
    else:
        weights = b.constant(1, x.dtype, shape)
    none = b.constant(0, x.dtype, shape)
    loss = b.select(counts, loss, none)
    if reduction == 0:
        return [loss, b.constant(0, x.dtype)]
    axes = list(range(target.rank))
    total = _sum(b, b.select(counts, weights, none), axes)
    made = _sum(b, loss, axes)
    return [b.div(made, total) if reduction == 1 else made, total]


def _sum(b: Builder, x: Tensor, axes: list[int]) -> Tensor:
    return b.squeeze(b.cast(b.reduce("sum", b.wide(x), axes), x.dtype), axes)


def embedding_backward(
    b: Builder,
    grad: Tensor,
    places: Tensor,
    count: Size,
    padding: Size,
    scales_by_frequency: bool,
) -> Tensor:
    """Gradients of rows are the sums of those of the places where they were taken."""
    if scales_by_frequency:
        raise NotCompiled("gradients that are scaled by frequency")
    if not isinstance(padding, int):
        raise NotCompiled("padding at a place that the call tells")
    wide = b.reshape(b.wide(grad), [*places.shape, grad.shape[-1]])
    if padding >= 0:
        is_padding = b.eq(places, padding)
        shape = wide.shape
        hidden = b.broadcast(b.unsqueeze(is_padding, places.rank), shape)
        wide = b.select(hidden, b.constant(0, wide.dtype, shape), wide)
    none = b.constant(0, wide.dtype, [count, wide.shape[-1]])
    places = as_places(b, places, count, wraps=False)
    return b.cast(b.along("scatter", [none, places, wide], 0, "add"), grad.dtype)


def scatter(with_op: str = "") -> Callable[..., Tensor]:
    def lower(b: Builder, x: Tensor, axis: int, places: Tensor, values: Any) -> Tensor:
        return put(b, x, axis, places, values, with_op)

    return lower


REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "maximum", "amin": "minimum"}


def scatter_reduce(
    b: Builder,
    x: Tensor,
    axis: int,
    places: Tensor,
    values: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Tensor:
    if not include_self or reduce not in REDUCTIONS:
        raise NotCompiled("a mean, or without what is there")
    return put(b, x, axis, places, values, REDUCTIONS[reduce])


def put(b: Builder, x: Tensor, axis: int, places: Tensor, values: Any, with_op: str) -> Tensor:
    if x.rank == 0 or places.rank != x.rank:
        raise NotCompiled("a number, or no places at all")
    axis = axis_of(axis, x.rank)
    if not all(is_same(x.shape[i], places.shape[i]) for i in range(x.rank) if i != axis):
        raise NotCompiled("fewer places than elements along other axes")
    if isinstance(values, Tensor):
        values = b.slice(values, [0] * x.rank, places.shape)
    else:
        values = b.number(values, x.dtype, places.shape)
    if (line := _line_along(b, places, axis)) is not None and x.dtype != "bool":
        line = as_places(b, line, x.shape[axis], wraps=False)
        return b.along("scatter", [x, line, values], axis, with_op)
    places = as_places(b, places, x.shape[axis], wraps=False)
    return b.along("put_along", [x, places, values], axis, with_op)


def _line_along(b: Builder, places: Tensor, axis: int) -> Tensor | None:
    """Places along an axis, where all others repeat them: whole slices go to each then."""
    source = b.repeated(places)
    if source is None or source.rank < places.rank - axis:
        return None
    along = source.rank - places.rank + axis
    if any(size != 1 for i, size in enumerate(source.shape) if i != along):
        return None
    if not is_same(source.shape[along], places.shape[axis]):
        return None
    return b.reshape(source, [places.shape[axis]])
