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
moveaxis = through_numpy(np.moveaxis)
repeat = through_numpy(np.repeat)
tile = through_numpy(np.tile)
unstack = through_numpy(np.unstack)

_concat = through_numpy(np.concatenate)
_flip = through_numpy(np.flip)
_roll = through_numpy(np.roll)
_stack = through_numpy(np.stack)
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


def _is_pending(x: Any) -> bool:
    return type(x) is Array and x.is_pending


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Any:
    """Return the elements, in the order of rows, in another shape; one size may be -1."""
    made = None
    if copy is not False and type(shape) is tuple and _is_pending(x):
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


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """Return the arrays joined along an axis; None joins the elements of all of them."""
    given = tuple(arrays)
    made = _dvm.lazy_concat(given, axis) if type(axis) is int else None
    return _concat(given, axis=axis) if made is None else made


def stack(arrays: Any, /, *, axis: int = 0) -> Any:
    """Return the arrays joined along a new axis."""
    given = tuple(arrays)
    if all(map(_is_pending, given)) and len({x.shape for x in given}) == 1:
        return concat([expand_dims(x, axis=axis) for x in given], axis=axis)
    return _stack(given, axis=axis)


def flip(x: Any, /, *, axis: Any = None) -> Any:
    """Return the elements in reverse order along these axes, or along all."""
    places = _places(tuple(range(x.ndim)) if axis is None else axis, x.ndim)
    if places is None or not _is_pending(x):
        return _flip(x, axis=axis)
    return x[tuple(slice(None, None, -1 if k in places else 1) for k in range(x.ndim))]


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Any:
    """Return the elements moved along an axis; those that leave it come in at its other end."""
    along = 0 if axis is None and x.ndim == 1 else axis
    if type(shift) is int and type(along) is int and -x.ndim <= along < x.ndim and _is_pending(x):
        before = (slice(None),) * (along % x.ndim)
        cut = -shift % max(x.shape[along], 1)
        parts = x[(*before, slice(cut, None))], x[(*before, slice(cut))]
        return concat(parts, axis=along)
    return _roll(x, shift, axis=axis)


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
    if is_plain and _is_pending(x):
        made = _dvm.lazy_permute(x, sum((k % x.ndim) << (4 * d) for d, k in enumerate(order)))
    return _permute_dims(x, order) if made is None else made


def matrix_transpose(x: Any, /) -> Any:
    """Return the transposes of the matrices in the last two axes."""
    if x.ndim < 2:
        raise ValueError("a transpose takes an array of rank 2 or more")
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
