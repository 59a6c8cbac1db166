"""Functions that give the same elements in another form: shapes, dtypes, joined and cut arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.lazy.door import Array, through_numpy

__all__ = [
    "astype",
    "broadcast_arrays",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]

broadcast_arrays = through_numpy(np.broadcast_arrays)
broadcast_to = through_numpy(np.broadcast_to)
concat = through_numpy(np.concatenate)
flip = through_numpy(np.flip)
moveaxis = through_numpy(np.moveaxis)
repeat = through_numpy(np.repeat)
reshape = through_numpy(np.reshape)
roll = through_numpy(np.roll)
stack = through_numpy(np.stack)
tile = through_numpy(np.tile)
unstack = through_numpy(np.unstack)

_astype = through_numpy(np.astype)
_expand_dims = through_numpy(np.expand_dims)
_squeeze = through_numpy(np.squeeze)
_permute_dims = through_numpy(np.permute_dims)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: str | None = None) -> Any:
    """Return the array with its elements converted."""
    wanted = np.dtype(dtype)
    if type(x) is Array and device in (None, "cpu"):
        if not copy and x.dtype == wanted:
            return x
        made = _dvm.lazy_cast(x, wanted)
        if made is not None:
            return made
    return _astype(x, wanted, copy=copy, device=device)


def _bits(axes: Any, rank: int) -> int | None:
    """Return axes as bits, or None where they are no plain ones, each once."""
    bits = 0
    for axis in axes if type(axes) is tuple else (axes,):
        if type(axis) is not int or not -rank <= axis < rank or bits >> (axis % rank) & 1:
            return None
        bits |= 1 << (axis % rank)
    return bits


def _pending(make: Callable[[Any, int], Any], x: Any, axes: int | None) -> Any:
    return make(x, axes) if axes is not None and type(x) is Array and x.is_pending else None


def expand_dims(x: Any, /, *, axis: Any = 0) -> Any:
    """Return the array with axes of size 1 put in."""
    count = len(axis) if type(axis) is tuple else 1
    made = _pending(_dvm.lazy_expand, x, _bits(axis, x.ndim + count))
    return _expand_dims(x, axis) if made is None else made


def squeeze(x: Any, /, axis: Any) -> Any:
    """Return the array without these axes, which are of size 1."""
    made = _pending(_dvm.lazy_squeeze, x, _bits(axis, x.ndim))
    return _squeeze(x, axis) if made is None else made


def permute_dims(x: Any, /, axes: Any) -> Any:
    """Return the array with its axes in that order."""
    order = tuple(axes)
    bits: int | None = None
    if len(order) == x.ndim <= 8 and _bits(order, x.ndim) is not None:
        bits = sum((axis % x.ndim) << (4 * k) for k, axis in enumerate(order))
    made = _pending(_dvm.lazy_permute, x, bits)
    return _permute_dims(x, order) if made is None else made


def matrix_transpose(x: Any, /) -> Any:
    """Return the transposes of the matrices in the last two axes."""
    if x.ndim < 2:
        raise ValueError("a transpose takes an array of rank 2 or more")
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
