"""Where a view lies in a dense array: the shape and the key that make it again."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

Grid = tuple[int, ...]
Place = tuple[Grid | None, tuple[slice, ...]]


@dataclass(frozen=True)
class Lying:
    """How a view lies in its owner; strides and offset are told in elements."""

    shape: Grid
    strides: Grid
    offset: int


def dense(shape: Grid) -> Lying:
    """An array in C order."""
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= max(size, 1)
    return Lying(shape, tuple(strides[::-1]), 0)


def place_in(owner: Grid, view: Lying) -> Place | None:
    """Shape and key such that `owner.reshape(shape)[key]` is the view; None if there are none.

    No shape where the owner's own will do. Sizes and starts are told from the nearer end, so that
    they hold for other sizes where programs are made that way: `x[1:]` and `x[:-1]`.
    """
    if not math.prod(view.shape) or any(stride <= 0 for stride in view.strides):
        return None
    count = math.prod(owner)
    grid = _grid(view, count)
    for shape in (owner, grid):
        known = math.prod(size for size in shape if size > 0)
        whole = dense(tuple(count // known if size < 0 else size for size in shape))
        key = _key(view, whole)
        if key is not None:
            return (None if shape is owner else grid), key
    return None


def _grid(view: Lying, count: int) -> Grid:
    """The shape of the owner in which the strides of the view are steps along the axes."""
    rank = len(view.shape)
    units = [view.strides[0]] if rank > 1 else [1]
    for stride in [*view.strides[1:-1], *[1] * (rank > 1)]:
        units.append(math.gcd(units[-1], stride))  # of which the stride may be a multiple
    sizes = [above // below for above, below in itertools.pairwise(units)]
    fits = units[-1] == 1 and count % math.prod(sizes) == 0
    return (-1, *sizes) if fits else (-1,)


def _key(view: Lying, whole: Lying) -> tuple[slice, ...] | None:
    if len(whole.shape) != len(view.shape) or not all(whole.strides):
        return None
    offset, key = view.offset, []
    for axis, stride in enumerate(whole.strides):
        start, offset = divmod(offset, stride)
        step, rest = divmod(view.strides[axis], stride)
        if rest or not step or start < 0:
            return None
        size, stop = whole.shape[axis], start + step * (view.shape[axis] - 1) + 1
        if stop > size:
            return None
        first = start - size if size - start < start else start
        last = None if stop + step > size else stop - size if size - stop < stop else stop
        key.append(slice(first or None, last, None if step == 1 else step))
    return tuple(key) if not offset else None


__all__ = ["Lying", "Place", "place_in"]
