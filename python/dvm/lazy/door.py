"""The one way to NumPy: for what the core has no operation for, and for what it refuses.

The arguments are computed, NumPy's function is called on their values, and arrays among what it
gives are lazy arrays again. So its errors, warnings and rules are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dvm import _dvm

Array = _dvm.LazyArray

#: An object of NumPy's as a lazy one; of tuples and lists what is in them.
wrapped = _dvm.lazy_wrapped
#: An object with values in place of lazy arrays, which nobody may write to; `last_flush` tells the
#: reason. It looks into tuples, lists, dicts and slices.
unwrapped = _dvm.lazy_unwrapped


def value(array: Array, reason: str) -> np.ndarray[Any, Any]:
    """Return what it holds."""
    held: np.ndarray[Any, Any] = unwrapped(array, reason)
    return held


def through_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's as one of lazy arrays."""
    reason = function.__name__

    def call(*arguments: Any, **keywords: Any) -> Any:
        return wrapped(function(*unwrapped(arguments, reason), **unwrapped(keywords, reason)))

    call.__name__ = call.__qualname__ = reason
    call.__doc__ = f"Compute what is pending of the arguments, and call `numpy.{reason}` on them."
    return call


def _refused(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
    """Do what the core is not to do, by the name of NumPy's function."""
    return through_numpy(getattr(np, name))(*arguments, **(keywords or {}))


_dvm.lazy_through_numpy(_refused)
