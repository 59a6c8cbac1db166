"""Folds and scans made in blocks, and floats put together by their exponents, against NumPy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]
UINT = {"f2": np.uint16, "f4": np.uint32, "f8": np.uint64}


def warned(f: Any, *args: Array) -> tuple[Array, set[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = np.asarray(f(*args))
    return result, {str(each.message).split(" encountered")[0] for each in caught}


def assert_same(f: Any, *args: Array) -> None:
    """Bits, but for those of NaN, and warnings, of the first call and of a replay."""
    expected, warnings_of_numpy = warned(f, *args)
    compiled = dvm.compile(f)
    for _ in range(2):
        got, warnings_of_dvm = warned(compiled, *args)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
        if got.dtype.kind == "f":
            numbers = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(got)[numbers], np.signbit(expected)[numbers])
        assert warnings_of_dvm == warnings_of_numpy


def any_finite(dtype: str, size: int, seed: int = 1) -> Array:
    """Floats of all magnitudes."""
    word = UINT[dtype]
    bits = np.random.default_rng(seed).integers(0, np.iinfo(word).max, size, word)
    x = bits.view(dtype)
    return np.where(np.isfinite(x), x, np.dtype(dtype).type(1))


def ends(dtype: str) -> Array:
    info = np.finfo(dtype)
    least = info.smallest_subnormal
    ends = [0, 1, info.tiny, info.tiny - least, least, info.max, np.inf, np.nan]
    return np.array([*ends, *np.negative(ends)], dtype)


#: one line is made of several blocks
SIZES = [2, 128, 129, 130, 700]


@pytest.mark.parametrize("dtype", UINT)
@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "divide", "fmod", "remainder"])
def test_scans_and_folds_have_the_bits_and_warnings_of_numpy(name: str, dtype: str) -> None:
    ufunc = getattr(np, name)
    for size in SIZES:
        for x in [any_finite(dtype, size), np.linspace(-2, 3, size).astype(dtype)]:
            for special in [None, *ends(dtype)]:
                line = x.copy()
                if special is not None:
                    line[size // 2] = special
                assert_same(lambda a: ufunc.accumulate(a), line)
                assert_same(lambda a: ufunc.accumulate(a), line[::-1])
                if name not in ("add", "multiply"):  # which have an order of their own
                    assert_same(lambda a: ufunc.reduce(a), line)
    columns = np.linspace(-2, 3, 40 * 33).reshape(40, 33).astype(dtype)
    assert_same(lambda a: ufunc.accumulate(a, 0), columns)


@pytest.mark.parametrize("dtype", UINT)
def test_hypot_folds_as_step_by_step(dtype: str) -> None:
    for size in SIZES:
        for special in [1, *ends(dtype)]:
            line = np.linspace(-2, 3, size).astype(dtype)
            line[size // 2] = special
            with np.errstate(all="ignore"):
                expected = np.hypot.reduce(line)
                got = dvm.compile(lambda a: np.hypot.reduce(a))(line)
            np.testing.assert_allclose(got, expected, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", UINT)
def test_ldexp_rounds_once_from_end_to_end(dtype: str) -> None:
    most = 2 * -np.finfo(dtype).minexp + 100
    exponents = np.arange(-most, most, dtype=np.int32)
    x = any_finite(dtype, exponents.size)
    assert_same(lambda a, e: np.ldexp(a, e), x, exponents)
    assert_same(lambda a, e: np.ldexp(a, e), x, exponents // 50)
    for special in ends(dtype):
        for e in [-(2**31), -1, 0, 1, 2**31 - 1]:
            assert_same(lambda a, e: np.ldexp(a, e), np.full(3, special), np.full(3, e, np.int32))


@pytest.mark.parametrize("dtype", UINT)
def test_spacing_of_every_magnitude(dtype: str) -> None:
    halves = np.arange(2**16, dtype=np.uint16).view("f2")
    assert_same(lambda a: np.spacing(a), halves if dtype == "f2" else any_finite(dtype, 5000))
    for x in ends(dtype):
        assert_same(lambda a: np.spacing(a), np.full(3, x))


@pytest.mark.parametrize("name", ["absolute", "negative", "isnan", "isinf", "isfinite", "signbit"])
def test_bits_of_every_half(name: str) -> None:
    ufunc = getattr(np, name)
    halves = np.arange(2**16, dtype=np.uint16).view("f2")
    assert_same(lambda a: ufunc(a), halves)
    assert_same(lambda a: (ufunc(a), a + 1)[0], halves[:0x7C00])


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("name", ["gcd", "lcm", "floor_divide", "remainder", "fmod"])
def test_divisors_of_any_width(name: str, dtype: str) -> None:
    ufunc = getattr(np, name)
    info = np.iinfo(dtype)
    random = np.random.default_rng(5)
    some = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 7]
    for bits in [4, 8, 16, 31, 48, 50, 52, 64]:
        high = min(info.max, 2 ** (bits - 1))
        a, b = random.integers(max(info.min, -high), high, (2, 1000), dtype, endpoint=True)
        assert_same(lambda a, b: ufunc(a, b), a, b)
        a[::7] = random.choice(np.array(some, dtype), 143)
        b[::5] = random.choice(np.array(some, dtype), 200)
        assert_same(lambda a, b: ufunc(a, b), a, b)
        for one in [*some, -1 if info.min < 0 else 3]:
            scalar = np.array(one, dtype)
            assert_same(lambda a, b: ufunc(a, b), a, scalar)
            assert_same(lambda a, b: ufunc(b, a), a, scalar)
    assert_same(lambda a: np.gcd.reduce(a), a)
