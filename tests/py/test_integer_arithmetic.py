"""Division and powers of integers of every dtype, near their limits and where they wrap."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]

DTYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
SIZES = [0, 1, 63, 64, 65, 511, 512, 513, 3000]
OPS = [np.floor_divide, np.remainder, np.fmod]


def dividends(dtype: str, size: int) -> Array:
    """Numbers of every magnitude and those around the limits."""
    rng = np.random.default_rng(size)
    limits = np.iinfo(dtype)
    bits = rng.integers(0, limits.bits, size).astype(np.uint64)
    numbers = (rng.integers(0, 2**64, size, np.uint64) >> bits).astype(dtype)
    ends = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1, limits.max // 2]
    numbers[: len(ends)] = np.array(ends, dtype)[:size]
    return rng.permutation(numbers)


def divisors(dtype: str) -> list[int]:
    limits = np.iinfo(dtype)
    some = [1, 2, 3, 5, 7, 10, 60, 100, 127, 1000, 2**15, 86_400, 2**31 - 1, 2**52 + 1, limits.max]
    some += [-d for d in some] + [limits.min, limits.max - 1, limits.max // 2 + 1]
    return [d for d in some if d != 0 and limits.min <= d <= limits.max]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_division(op: np.ufunc, dtype: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the least number by -1
        for divisor in divisors(dtype):
            scalar = np.dtype(dtype).type(divisor)
            compiled = dvm.compile(lambda a, d=scalar: op(a, d))
            for size in SIZES:
                a = dividends(dtype, size)
                np.testing.assert_array_equal(compiled(a), op(a, divisor), f"by {divisor}")
                np.testing.assert_array_equal(compiled(a[::-2]), op(a[::-2], divisor))
        compiled = dvm.compile(lambda a, b: op(a, b))
        for size in SIZES:
            a, b = dividends(dtype, size), dividends(dtype, size)[::-1]
            b = np.where(b == 0, np.array(divisors(dtype)[size % 7], dtype), b)
            np.testing.assert_array_equal(compiled(a, b), op(a, b))


@pytest.mark.parametrize("dtype", DTYPES)
def test_reciprocal(dtype: str) -> None:
    compiled = dvm.compile(lambda a: np.reciprocal(a))
    for size in SIZES:
        a = dividends(dtype, size)
        a[a == 0] = 1
        np.testing.assert_array_equal(compiled(a), np.reciprocal(a))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compiled(np.zeros(100, dtype))
    assert any("divide by zero" in str(each.message) for each in seen)


@pytest.mark.parametrize("dtype", DTYPES)
def test_power(dtype: str) -> None:
    compiled = dvm.compile(lambda a, b: a**b)
    in_place = dvm.compile(lambda a, b: np.power(a, b, out=a))
    for size in SIZES:
        a = dividends(dtype, size)
        for exponents in (np.arange(size) % 5, np.arange(size) % 100, np.abs(a) >> 1):
            b = np.abs(exponents.astype(dtype))
            b[b < 0] = 3
            np.testing.assert_array_equal(compiled(a, b), a**b)
            np.testing.assert_array_equal(compiled(a, b[:1]), a ** b[:1])
            np.testing.assert_array_equal(compiled(a[:1], b), a[:1] ** b)
            np.testing.assert_array_equal(in_place(a.copy(), b), a**b)
    if dtype.startswith("i"):
        with pytest.raises(ValueError, match="negative integer powers"):
            compiled(np.ones(100, dtype), -np.ones(100, dtype))
