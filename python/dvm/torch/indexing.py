"""Lowerings of ops that take elements at places which are tensors themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dvm.torch.builder import Builder, NotCompiled, Tensor
from dvm.torch.shapes import axis_of
from dvm.torch.symbols import Size

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
    axes = [axis for axis, place in enumerate(places) if place is not None]
    given = [place for place in places if place is not None]
    wrapped = [as_places(b, p, x.shape[a], wraps=True) for p, a in zip(given, axes, strict=True)]
    if len(axes) == 1:
        return b.along("gather", [x, wrapped[0]], axes[0])
    are_neighbours = axes == list(range(axes[0], axes[0] + len(axes)))
    before = axes[0] if are_neighbours else 0
    rank = b.out.rank - (x.rank - len(axes))
    shape = b.out.shape[before : before + rank]
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
    others = [axis for axis in range(x.rank) if axis not in axes]
    order = [*others[:before], *axes, *others[before:]]
    moved = b.transpose(x, order)
    flat = b.reshape(moved, [*moved.shape[:before], size, *moved.shape[before + len(axes) :]])
    return b.along("gather", [flat, place], before)
