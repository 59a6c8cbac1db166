"""Operators that take and put elements at places which are tensors."""

from __future__ import annotations

from typing import Any

from dvm.building.builder import Size, Tensor, is_same
from dvm.onnx.context import Context
from dvm.onnx.registry import op
from dvm.onnx.values import Refused, product_of

NOWHERE = 2**40
WITH = {"none": "", "add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


def wrapped(c: Context, places: Tensor, size: Size) -> Tensor:
    """Places as i64, those below 0 counted from the end; what is none is one in no array."""
    b = c.b
    places = b.cast(places, "i64")
    zero, none = (b.constant(n, "i64", places.shape) for n in (0, NOWHERE))
    count = b.number(size, "i64", places.shape)
    counted = b.select(b.lt(places, zero), b.add(places, count), places)
    is_place = b.logical_and(b.ge(counted, zero), b.lt(counted, count))
    return b.select(is_place, counted, none)


@op("Gather")
def gather(c: Context, x: Tensor, places: Tensor, axis: int = 0) -> Tensor:
    axis = c.axis(axis, x.rank)
    return c.b.along("gather", [x, wrapped(c, places, x.shape[axis])], axis)


@op("GatherElements")
def gather_elements(c: Context, x: Tensor, places: Tensor, axis: int = 0) -> Tensor:
    axis = c.axis(axis, x.rank)
    shape = [x.shape[k] if k == axis else size for k, size in enumerate(places.shape)]
    part = x if all(map(is_same, shape, x.shape)) else c.b.slice(x, [0] * x.rank, shape)
    return c.b.along("take_along", [part, wrapped(c, places, x.shape[axis])], axis)


@op("ScatterElements", "Scatter")
def scatter_elements(
    c: Context, x: Tensor, places: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none"
) -> Tensor:
    b = c.b
    axis = c.axis(axis, x.rank)
    places = wrapped(c, places, x.shape[axis])
    if all(is_same(x.shape[k], places.shape[k]) for k in range(x.rank) if k != axis):
        return b.along("put_along", [x, places, updates], axis, WITH[reduction])
    # Along other axes there are fewer places: all become places in one line.
    flat_places = _line_places(c, places, x, axis)
    line = b.reshape(x, [product_of(x.shape)])
    count = product_of(places.shape)
    operands = [line, b.reshape(flat_places, [count]), b.reshape(updates, [count])]
    return b.reshape(b.along("put_along", operands, 0, WITH[reduction]), x.shape)


def _line_places(c: Context, places: Tensor, x: Tensor, axis: int) -> Tensor:
    b = c.b
    made = b.constant(0, "i64", places.shape)
    for k in range(x.rank):
        here = places if k == axis else b.iota("i64", places.shape, k)
        made = b.add(b.mul(made, b.number(x.shape[k], "i64", places.shape)), here)
    return made


def _tuple_places(
    c: Context, x: Tensor, places: Tensor, batch_dims: int
) -> tuple[Tensor, int, Size]:
    """Places of tuples in the line of the axes that they index, and how many axes these are."""
    b = c.b
    depth = c.fixed(places.shape[-1])
    if batch_dims + depth > x.rank:
        raise Refused("more indices than axes")
    shape = places.shape[:-1]
    line = b.constant(0, "i64", shape)
    for k in range(batch_dims):
        step = b.number(x.shape[k], "i64", shape)
        line = b.add(b.mul(line, step), b.iota("i64", shape, k))
    for k in range(depth):
        size = x.shape[batch_dims + k]
        part = b.squeeze(b.narrow(places, places.rank - 1, k, 1), [places.rank - 1])
        line = b.add(b.mul(line, b.number(size, "i64", shape)), wrapped(c, part, size))
    return line, batch_dims + depth, product_of(x.shape[: batch_dims + depth])


@op("GatherND")
def gather_nd(c: Context, x: Tensor, places: Tensor, batch_dims: int = 0) -> Tensor:
    line, axes, count = _tuple_places(c, x, places, batch_dims)
    return c.b.along("gather", [c.b.reshape(x, [count, *x.shape[axes:]]), line], 0)


@op("ScatterND")
def scatter_nd(
    c: Context, x: Tensor, places: Tensor, updates: Tensor, reduction: str = "none"
) -> Tensor:
    b = c.b
    line, axes, count = _tuple_places(c, x, places, 0)
    total = product_of(line.shape)
    flat = b.reshape(x, [count, *x.shape[axes:]])
    parts = b.reshape(updates, [total, *x.shape[axes:]])
    made = b.along("scatter", [flat, b.reshape(line, [total]), parts], 0, WITH[reduction])
    return b.reshape(made, x.shape)


@op("OneHot", sizes=["depth"])
def one_hot(c: Context, places: Tensor, depth: Any, values: Tensor, axis: int = -1) -> Tensor:
    b = c.b
    size = depth.reshape(-1)[0]
    size = size if not isinstance(size, int | float) and hasattr(size, "symbol") else int(size)
    rank = places.rank + 1
    axis = c.axis(axis, rank)
    shape = [*places.shape[:axis], size, *places.shape[axis:]]
    wanted = wrapped(c, places, size)
    wanted = b.broadcast(b.unsqueeze(wanted, axis), shape)
    is_here = b.eq(b.iota("i64", shape, axis), wanted)
    off, on = (b.broadcast(b.reshape(b.narrow(values, 0, k, 1), []), shape) for k in (0, 1))
    return b.select(is_here, on, off)


@op("TensorScatter")
def tensor_scatter(
    c: Context, past: Tensor, update: Tensor, starts: Tensor | None = None, axis: int = -2,
    mode: str = "linear",
) -> Tensor:  # fmt: skip
    b = c.b
    axis = c.axis(axis, past.rank)
    update = b.reshape(
        update, [update.shape[k] if k == axis else size for k, size in enumerate(past.shape)]
    )
    place = b.iota("i64", update.shape, axis)
    if starts is not None:
        first = b.reshape(b.cast(starts, "i64"), [past.shape[0], *[1] * (past.rank - 1)])
        place = b.add(place, b.broadcast(first, update.shape))
    if mode == "circular":
        place = b.remainder(place, b.number(past.shape[axis], "i64", place.shape))
    return b.along("put_along", [past, place, update], axis)
