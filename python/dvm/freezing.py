"""Arrays that never change: `freeze`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dvm import _dvm

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound="np.generic[Any]")


def freeze(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return a copy of an array that nobody can write to, such as the weights of a model.

    Compiled products whose right matrix is the copy, or a view of it with two axes, arrange it for
    the processor's registers once, when they first meet it, instead of on every call; the results
    have the same bits. That takes as much memory again, for several such views at most four times
    as much (`dvm.stats().packed_bytes`), as long as the copy lives. Products with few rows, and
    those that dvm cuts along the axis they add up, read it where it lies.

    The copy has the dtype, the shape and the layout of the array; where that was neither in C nor
    in Fortran order, its axes lie in the same order without gaps. NumPy refuses to write to it, or
    to make it writeable.

    Raises:
        TypeError: not exactly an `ndarray`, of a dtype that is not among dvm's, or not in native
            byte order.

    >>> weight = dvm.freeze(np.ones((64, 64), np.float32))
    >>> weight[0, 0] = 2
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """
    if type(array) is not np.ndarray:
        raise TypeError(f"freeze takes a numpy.ndarray, not a {type(array).__name__}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"freeze takes an array of one of dvm's dtypes, which {array.dtype} is not")
    if not array.dtype.isnative:
        raise TypeError(f"freeze takes numbers in native byte order, not {array.dtype}")
    whole = array.flags.c_contiguous or array.flags.f_contiguous
    dense = array if whole else array.copy(order="K")
    memory = _dvm.FrozenBytes(dense.ravel(order="K").view(np.uint8))
    return np.ndarray(dense.shape, dense.dtype, memoryview(memory), strides=dense.strides)
