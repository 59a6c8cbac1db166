"""What arrays hold that the graph cannot, and copies of such arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.magpy_capture.values.plain import PLAIN, imported

Array = np.ndarray[Any, Any]
MAX_OBJECTS = 1 << 16  # in an array of objects whose elements are looked at
HELD = (PLAIN | {np.dtype, *np.sctypeDict.values()}) - {np.void, np.object_}


def python_numbers() -> tuple[type, ...]:
    """The classes in Python that arrays hold: each operator is guarded to be the library's own."""
    return imported("fractions", "Fraction")


def holds_plain_objects(array: Array) -> bool:
    """Whether all elements are immutable objects of Python itself."""
    if array.size > MAX_OBJECTS:
        return False
    others = set(map(type, array.ravel().tolist())) - HELD
    return not others or others <= {*imported("decimal", "Decimal"), *python_numbers()}


def like(array: Array) -> Array:
    """A copy that lies in memory as the array does, so that what is a view of one is of both."""
    if array.flags.c_contiguous or array.flags.f_contiguous or array.dtype.hasobject:
        return np.array(array, order="K", subok=True)
    low, high = np.lib.array_utils.byte_bounds(array)
    memory = np.empty(high - low, np.uint8)
    offset = array.__array_interface__["data"][0] - low
    made = np.ndarray(array.shape, array.dtype, memory, offset, array.strides)
    made[...] = array
    return made.view(type(array))


def is_view_or_empty(made: Array, base: Array) -> bool:
    """Whether `made` has no elements, or may have them in the memory of `base`."""
    return made.size == 0 or np.may_share_memory(made, base)
