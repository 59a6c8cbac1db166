"""The one way to NumPy: for what the core has no operation for, and for what it refuses.

The arguments are computed, NumPy's function is called on their values, and arrays among what it
gives are lazy arrays again. So its errors and rules are NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dvm import _dvm

Array = _dvm.LazyArray


def value(array: Array, reason: str) -> np.ndarray[Any, Any]:
    """Return what it holds, which nobody may write to. `reason` is told by `last_flush`."""
    return _dvm.lazy_value(array, reason)


def unwrapped(given: Any, reason: str) -> Any:
    """Return it with values in place of lazy arrays, in tuples, lists and dicts, too."""
    if type(given) is Array:
        return _dvm.lazy_value(given, reason)
    if type(given) is tuple or type(given) is list:
        return type(given)([unwrapped(item, reason) for item in given])
    if type(given) is dict:
        return {key: unwrapped(item, reason) for key, item in given.items()}
    if type(given) is slice:
        return slice(
            unwrapped(given.start, reason),
            unwrapped(given.stop, reason),
            unwrapped(given.step, reason),
        )
    return given


def wrapped(made: Any) -> Any:
    """Return it with lazy arrays in place of NumPy's arrays and scalars."""
    if isinstance(made, np.ndarray):
        return _dvm.lazy_wrap(made)
    if isinstance(made, np.generic):
        return _dvm.lazy_wrap(np.asarray(made))
    if isinstance(made, tuple):
        items = [wrapped(item) for item in made]
        # The named tuples of unique_all, eigh and the like stay what they are.
        return type(made)(*items) if hasattr(made, "_fields") else tuple(items)
    if isinstance(made, list):
        return [wrapped(item) for item in made]
    return made


def through_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy's as one of lazy arrays."""
    reason = function.__name__

    def call(*arguments: Any, **keywords: Any) -> Any:
        with np.errstate(all="ignore"):
            return wrapped(function(*unwrapped(arguments, reason), **unwrapped(keywords, reason)))

    call.__name__ = call.__qualname__ = reason
    call.__doc__ = f"Compute what is pending of the arguments, and call `numpy.{reason}` on them."
    return call


def _refused(name: str, arguments: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
    """Do what the core is not to do, by the name of NumPy's function."""
    return through_numpy(getattr(np, name))(*arguments, **(keywords or {}))


_dvm.lazy_through_numpy(_refused)
