"""Arrays of the caller that overlap: where each lies in the one array whose memory it is.

One that is written is a view of that array, and so are those that would see it.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
#: as in cpp/capture/numpy/overlap.h: beyond it arrays are said to share elements
OVERLAP_WORK = 10_000


def share_elements(a: Array, b: Array) -> bool:
    """Whether some element of one is one of the other's."""
    try:
        return bool(np.shares_memory(a, b, max_work=OVERLAP_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def owner_of(array: Array) -> Array | None:
    """The array whose memory it is; None if that is no plain array of the same dtype."""
    owner = array if array.base is None else array.base
    alike = type(owner) is np.ndarray and owner.dtype == array.dtype and owner.base is None
    return owner if alike and owner.flags.c_contiguous else None


def place_of(array: Array) -> tuple[tuple[int, ...] | None, tuple[slice, ...]] | None:
    """Shape and key such that `owner.reshape(shape)[key]` is this array; None if there are none.

    No shape where the owner's own will do. Sizes and starts are told from the nearer end, so that
    they hold for other sizes where programs are made that way: `x[1:]` and `x[:-1]`.
    """
    owner = owner_of(array)
    if owner is None or not array.size or any(stride <= 0 for stride in array.strides):
        return None
    for grid in (None, _grid(array, owner)):
        whole = owner if grid is None else owner.reshape(grid)
        key = _key(array, whole)
        if key is not None and _is_view(whole[key], array):
            return grid, key
    return None


def _grid(array: Array, owner: Array) -> tuple[int, ...]:
    """The shape of the owner in which the strides of the array are steps along the axes."""
    units = [array.strides[0]] if array.ndim > 1 else [array.itemsize]
    for stride in [*array.strides[1:-1], *[array.itemsize] * (array.ndim > 1)]:
        units.append(math.gcd(units[-1], stride))  # of which the stride may be a multiple
    sizes = [above // below for above, below in itertools.pairwise(units)]
    fits = units[-1] == array.itemsize and owner.size % math.prod(sizes) == 0
    return (-1, *sizes) if fits else (-1,)


def _key(array: Array, whole: Array) -> tuple[slice, ...] | None:
    if whole.ndim != array.ndim or not all(whole.strides):
        return None
    offset = array.ctypes.data - whole.ctypes.data
    key = []
    for axis, stride in enumerate(whole.strides):
        start, offset = divmod(offset, stride)
        step, rest = divmod(array.strides[axis], stride)
        if array.shape[axis] == 1:
            step, rest = 1, 0
        size, stop = whole.shape[axis], start + step * (array.shape[axis] - 1) + 1
        if rest or not step or start < 0 or stop > size:
            return None
        first = start - size if size - start < start else start
        last = None if stop + step > size else stop - size if size - stop < stop else stop
        key.append(slice(first or None, last, None if step == 1 else step))
    return tuple(key) if not offset else None


def _is_view(view: Array, array: Array) -> bool:
    same = view.shape == array.shape and view.strides == array.strides
    return same and view.ctypes.data == array.ctypes.data
