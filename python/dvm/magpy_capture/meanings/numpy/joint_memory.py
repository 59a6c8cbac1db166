"""Arrays of the caller that overlap: where each lies in the one array whose memory it is.

One that is written is a view of that array, and so are those that would see it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.magpy_capture.tensors.joint_memory import Lying, Place, place_in

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


def place_of(array: Array) -> Place | None:
    """Shape and key such that `owner.reshape(shape)[key]` is this array; None if there are none."""
    owner = owner_of(array)
    if owner is None or any(stride % array.itemsize for stride in array.strides):
        return None
    offset, rest = divmod(array.ctypes.data - owner.ctypes.data, array.itemsize)
    strides = tuple(stride // array.itemsize for stride in array.strides)
    return None if rest else place_in(owner.shape, Lying(array.shape, strides, offset))
