"""Extremes of rows and columns of lengths around those of tiles, and where they are.

Among the elements is what orders nothing: NaN, infinities, zeros of either sign. All is equal to
NumPy's, and without its warnings.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]

SHAPES = [(1, 1), (3, 5), (1, 63), (2, 64), (3, 65), (2, 127), (2, 128), (3, 129), (1, 511)]
SHAPES += [(2, 512), (2, 513), (1, 5000), (2, 20_000), (600, 3), (515, 20), (70, 64), (1, 100_000)]
FLOATS = ("f2", "f4", "f8")
NAMES = ("maximum", "minimum", "fmax", "fmin")


def contents(shape: tuple[int, int], dtype: str) -> Iterator[Array]:
    rng = np.random.default_rng(sum(shape))
    numbers, chance = rng.normal(size=shape), rng.random(shape)
    yield numbers.astype(dtype)
    yield np.where(chance < 0.3, np.nan, numbers).astype(dtype)
    yield np.full(shape, np.nan, dtype)
    yield np.where(chance < 0.5, 0.0, np.abs(numbers)).astype(dtype)
    yield np.where(chance < 0.5, -0.0, -np.abs(numbers)).astype(dtype)
    yield np.where(chance < 0.01, -np.inf, np.where(chance > 0.99, np.inf, numbers)).astype(dtype)
    yield np.where(chance < 0.5, -np.inf, np.nan).astype(dtype)
    yield np.where(chance < 0.9, np.inf, np.nan).astype(dtype)


def layouts(array: Array) -> list[Array]:
    return [array, array[:, ::-1], np.asfortranarray(array)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_extremes(name: str, dtype: str) -> None:
    reduce = getattr(np, name).reduce
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for axis in (0, 1, None):
            compiled = dvm.compile(lambda a, axis=axis: reduce(a, axis=axis))
            for shape in SHAPES:
                for array in contents(shape, dtype):
                    for a in layouts(array):
                        np.testing.assert_array_equal(compiled(a), reduce(a, axis=axis))


@pytest.mark.parametrize("dtype", [*FLOATS, "i1", "u2", "i4", "i8", "?"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name: str, dtype: str) -> None:
    position = getattr(np, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for axis in (0, 1):
            compiled = dvm.compile(lambda a, axis=axis: position(a, axis=axis))
            for shape in SHAPES:
                for array in contents(shape, "f8"):
                    numbers = array if dtype in FLOATS else np.nan_to_num(array * 3).clip(0, 9)
                    for a in layouts(numbers.astype(dtype)):
                        got = compiled(a)
                        np.testing.assert_array_equal(got, position(a, axis=axis))
                        assert got.dtype == np.intp
            deep = np.random.default_rng(1).integers(0, 50, (3, 17, 40)).astype(dtype)
            third = dvm.compile(lambda a: position(a, axis=-1))
            np.testing.assert_array_equal(third(deep), position(deep, axis=-1))
            np.testing.assert_array_equal(compiled(deep[0]), position(deep[0], axis=axis))


def test_nan_extremes_are_one_reduction() -> None:
    compiled = dvm.compile(lambda a: np.fmax.reduce(a, axis=0))
    a = np.array([1.0, np.nan, 3.0])
    assert compiled(a) == 3.0
    assert "nanmax" in compiled.inspect("graph", a)
