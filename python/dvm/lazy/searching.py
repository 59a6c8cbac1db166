"""Functions that find, order and count elements: all but `argmax` and `argmin` are NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from dvm import _dvm
from dvm.lazy.door import through_numpy

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "isin",
    "nonzero",
    "searchsorted",
    "sort",
    "take",
    "take_along_axis",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

isin = through_numpy(np.isin)
nonzero = through_numpy(np.nonzero)
take = through_numpy(np.take)
unique_all = through_numpy(np.unique_all)
unique_counts = through_numpy(np.unique_counts)
unique_inverse = through_numpy(np.unique_inverse)

_take_along_axis = through_numpy(np.take_along_axis)
_searchsorted = through_numpy(np.searchsorted)


_CORE = _dvm.lazy_functions


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return where the largest element is, the first of them; NaN wins."""
    return _CORE["argmax"](x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
    """Return where the smallest element is, the first of them; NaN wins."""
    return _CORE["argmin"](x, axis, keepdims)


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Return the elements at these places along an axis."""
    return _take_along_axis(x, indices, axis=axis)


def searchsorted(x1: Any, x2: Any, /, *, side: Any = "left", sorter: Any = None) -> Any:
    """Return where the elements of x2 would be put into x1, which is sorted."""
    return _searchsorted(x1, x2, side=side, sorter=sorter)


def _kind(stable: bool) -> Any:
    return "stable" if stable else None


@through_numpy
def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return the elements in their order along an axis."""
    ordered = np.sort(x, axis=axis, kind=_kind(stable))
    return np.flip(ordered, axis=axis) if descending else ordered


@through_numpy
def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Return where the elements are that come one after another in their order."""
    if not descending:
        return np.argsort(x, axis=axis, kind=_kind(stable))
    # Equal elements keep their order: both the array and the places found in it are reversed.
    found = np.flip(np.argsort(np.flip(x, axis=axis), axis=axis, kind=_kind(stable)), axis=axis)
    return x.shape[axis] - 1 - found


@through_numpy
def unique_values(x: Any, /) -> Any:
    """Return each element once, in order, as all callers expect. Each NaN is one of its own."""
    return np.unique(x, equal_nan=False)
