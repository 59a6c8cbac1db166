"""Whether a function of lazy arrays gives what NumPy's gives."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dvm

Array = dvm.lazy.Array


def lazy(given: Any) -> Any:
    """With lazy arrays in place of NumPy's."""
    if isinstance(given, np.ndarray):
        return dvm.asarray(given)
    if isinstance(given, (tuple, list)):
        return type(given)(map(lazy, given))
    return given


def pending(given: Any) -> Any:
    """The same, where what can be pending is."""
    made = lazy(given)
    if isinstance(made, Array) and made.dtype.kind in "iuf":
        return +made
    return type(made)(map(pending, given)) if isinstance(made, (tuple, list)) else made


def outcome(function: Callable[..., Any], *given: Any, **keywords: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*given, **keywords)
        except Exception as error:
            return error


def assert_same(made: Any, wanted: Any, *, rtol: float | None = None) -> None:
    """Both are arrays, tuples of such, errors of one type, or equal."""
    if isinstance(wanted, Exception):
        # Of NumPy's own classes what they are to those who catch them.
        kinds = [kind for kind in type(wanted).__mro__ if kind.__module__ == "builtins"]
        assert isinstance(made, kinds[0]), (made, wanted)
        return
    if isinstance(made, Exception):
        raise made
    if isinstance(wanted, (tuple, list)):
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted, strict=True):
            assert_same(one, other, rtol=rtol)
        return
    if not isinstance(wanted, (np.ndarray, np.generic)):
        assert made == wanted
        return
    wanted = np.asarray(wanted)
    assert type(made) is Array
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    held = np.asarray(made)
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(held, wanted)
        return
    if rtol is None:
        rtol = 1e-5 if wanted.dtype in (np.float32, np.complex64) else 1e-12
    np.testing.assert_allclose(held, wanted, rtol=rtol, atol=rtol, equal_nan=True)


def check(
    function: Callable[..., Any], numpy: Callable[..., Any], *given: Any, **keywords: Any
) -> None:
    """On values and on what is pending the two functions do the same."""
    wanted = outcome(numpy, *given, **keywords)
    for form in (lazy, pending):
        assert_same(outcome(function, *form(given), **keywords), wanted)
