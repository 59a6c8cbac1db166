"""Functions that give the same elements in another form: shapes, dtypes, joined and cut arrays."""

from __future__ import annotations

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
roll = through_numpy(np.roll)
stack = through_numpy(np.stack)
tile = through_numpy(np.tile)
unstack = through_numpy(np.unstack)

_reshape = through_numpy(np.reshape)
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


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """Return the elements, in the order of rows, in another shape; one size may be -1."""
    made = None
    if copy is not False and type(x) is Array and x.is_pending and type(shape) is tuple:
        made = _dvm.lazy_reshape(x, shape)
    return _reshape(x, shape, copy=copy) if made is None else made


def _places(axes: Any, rank: int) -> set[int] | None:
    """Return axes as a set, or None where they are no plain ones, each once."""
    places = set()
    for axis in axes if type(axes) is tuple else (axes,):
        if type(axis) is not int or not -rank <= axis < rank or axis % rank in places:
            return None
        places.add(axis % rank)
    return places


def expand_dims(x: Any, /, *, axis: Any = 0) -> Any:
    """Return the array with axes of size 1 put in."""
    rank = x.ndim + (len(axis) if type(axis) is tuple else 1)
    places = _places(axis, rank)
    if places is None or type(x) is not Array:
        return _expand_dims(x, axis)
    return x[tuple(None if k in places else slice(None) for k in range(rank))]


def squeeze(x: Any, /, axis: Any) -> Any:
    """Return the array without these axes, which are of size 1."""
    places = _places(axis, x.ndim)
    if places is None or type(x) is not Array or any(x.shape[k] != 1 for k in places):
        return _squeeze(x, axis)
    return x[tuple(0 if k in places else slice(None) for k in range(x.ndim))]


def permute_dims(x: Any, /, axes: Any) -> Any:
    """Return the array with its axes in that order."""
    order = tuple(axes)
    made = None
    is_plain = len(order) == x.ndim <= 8 and _places(order, x.ndim) is not None
    if is_plain and type(x) is Array and x.is_pending:
        made = _dvm.lazy_permute(x, sum((k % x.ndim) << (4 * d) for d, k in enumerate(order)))
    return _permute_dims(x, order) if made is None else made


def matrix_transpose(x: Any, /) -> Any:
    """Return the transposes of the matrices in the last two axes."""
    if x.ndim < 2:
        raise ValueError("a transpose takes an array of rank 2 or more")
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
