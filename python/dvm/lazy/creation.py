"""New arrays. NumPy makes them, at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm.lazy.door import Array, through_numpy, unwrapped, wrapped
from dvm.lazy.shapes import astype

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]

arange = through_numpy(np.arange)
empty = through_numpy(np.empty)
eye = through_numpy(np.eye)
full = through_numpy(np.full)
linspace = through_numpy(np.linspace)
meshgrid = through_numpy(np.meshgrid)
ones = through_numpy(np.ones)
tril = through_numpy(np.tril)
triu = through_numpy(np.triu)
zeros = through_numpy(np.zeros)


def asarray(
    obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None
) -> Any:
    """Return a lazy array of numbers, nested sequences of them, or another library's array.

    dtype: what the elements are converted to.
    device: "cpu", or None.
    copy: None copies other libraries' arrays, for what is pending reads them later, when the
        program may have written to them; lazy arrays of that dtype are returned as they are. False
        never copies: the caller sees to it that nobody writes to `obj` any more. True always does.

    Raises TypeError for what is no numbers, ValueError where copy=False cannot be.
    """
    if device not in (None, "cpu"):
        raise ValueError(f'the only device is "cpu", not {device!r}')
    if type(obj) is Array:
        wanted = obj.dtype if dtype is None else np.dtype(dtype)
        if copy is False and wanted != obj.dtype:
            raise ValueError("another dtype takes a copy")
        return astype(obj, wanted, copy=bool(copy))
    given = np.asarray(unwrapped(obj, "asarray"), dtype=dtype, copy=copy)
    if given.dtype.kind not in "biufc":
        raise TypeError(f"a lazy array holds numbers, not {given.dtype}")
    if copy is None and _is_shared(given, obj):
        given = given.copy(order="K")
    return wrapped(given)


def _is_shared(array: np.ndarray[Any, Any], given: Any) -> bool:
    """Whether others may write to the memory."""
    return array is given or array.base is not None or not array.flags.owndata


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return a lazy array of what another library's array holds. `copy` is as for `asarray`."""
    if type(x) is Array:
        return asarray(x, device=device, copy=copy)
    return asarray(np.from_dlpack(x, device=device, copy=copy), copy=copy)


def _like(x: Any, dtype: Any) -> Any:
    return x.dtype if dtype is None else dtype


# A shape and a dtype are all that they need of an array, which so stays pending.


def empty_like(x: Any, /, *, dtype: Any = None, device: str | None = None) -> Any:
    """Return a new array of that shape, whose elements are whatever was there."""
    return empty(x.shape, dtype=_like(x, dtype), device=device)


def zeros_like(x: Any, /, *, dtype: Any = None, device: str | None = None) -> Any:
    """Return a new array of zeros of that shape."""
    return zeros(x.shape, dtype=_like(x, dtype), device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: str | None = None) -> Any:
    """Return a new array of ones of that shape."""
    return ones(x.shape, dtype=_like(x, dtype), device=device)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Any:
    """Return a new array of that shape, all of whose elements are `fill_value`."""
    return full(x.shape, fill_value, dtype=_like(x, dtype), device=device)
