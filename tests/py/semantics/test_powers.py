"""Small literal powers of floats are products: with NumPy's values, warnings and special cases."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]
FLOATS = (np.float16, np.float32, np.float64)
POWERS: dict[str, Callable[[Array], Array]] = {
    "**2": lambda x: x**2,
    "power 2": lambda x: np.power(x, 2),
    "**3": lambda x: x**3,
    "**3.0": lambda x: x**3.0,
    "power 3": lambda x: np.power(x, 3),
    "in place": lambda x: np.power(x, 3, out=x),
}


def special(dtype: Any) -> Array:
    info = np.finfo(dtype)
    values = [0.0, 1.0, 1.5, 3.0, 0.1, float(info.tiny), float(info.smallest_subnormal), np.inf]
    values += [float(info.max) ** (1 / 3) * 0.99]
    return np.array([*values, *(-v for v in values), np.nan], dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", POWERS)
def test_values(name: str, dtype: Any) -> None:
    f = POWERS[name]
    c = dvm.compile(f)
    with np.errstate(all="ignore"):
        c(np.ones(3, dtype))
        random = np.random.default_rng(0).standard_normal(1000).astype(dtype)
        for x in (special(dtype), random):
            ours, numpys = c(x.copy()), f(x.copy())
            assert ours.dtype == numpys.dtype
            most = 0 if "2" in name else 2
            np.testing.assert_array_max_ulp(ours, numpys, most)
            assert (np.signbit(ours) == np.signbit(numpys))[~np.isnan(numpys)].all()
    assert not c.fallback_reasons


@pytest.mark.parametrize("value", [1e30, 1e-30, 1e13, np.inf, np.nan])
@pytest.mark.parametrize("name", ["**2", "**3", "power 3"])
def test_warnings(name: str, value: float) -> None:
    f = POWERS[name]
    c = dvm.compile(f)
    c(np.ones(3, np.float32))
    told = []
    for call in (c, f):
        with warnings.catch_warnings(record=True) as caught, np.errstate(under="warn"):
            warnings.simplefilter("always")
            call(np.full(5, value, np.float32))
        told.append([str(w.message) for w in caught])
    assert told[0] == told[1]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16])
def test_integers_wrap(dtype: Any) -> None:
    x = np.arange(-100, 100).astype(dtype)
    for f in (lambda x: x**2, lambda x: x**3, lambda x: x**4, lambda x: x**1):
        c = dvm.compile(f)
        c(x)
        np.testing.assert_array_equal(c(x), f(x))
