"""Slices of rows, and columns of wide arrays: read where they lie, with NumPy's results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm

Array = np.ndarray[Any, Any]


def half(x: Array) -> Any:
    return x[:, : x.shape[1] // 2] + x.dtype.type(1)


def gate(x: Array) -> Any:
    middle = x.shape[1] // 2
    return x[:, :middle] * np.maximum(x[:, middle : 2 * middle], x.dtype.type(2))


def stencil(x: Array) -> Any:
    return x[1:-1, 1:-1] * x.dtype.type(2) + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]


def difference(x: Array) -> Any:
    return x[:, 1:] - x[:, :-1]


def scaled_slice(x: Array) -> Any:
    part = x[:, 3:]
    return part * part[0] - part[:, :1]


def sums_of_slices(x: Array) -> Any:
    return x[:, :-5].sum(1), (x[:, 5:] * x[:, 5:]).sum(1)


def columns(x: Array) -> Any:
    return x.sum(0), x.max(0), (x * x).sum(0), x[:, 2:].min(0)


def centred(x: Array) -> Any:
    return x - x.sum(0)


def narrow_and_wide(x: Array) -> Any:
    return x[:, 1:].astype(np.float64) * 2 + x[:, :-1]


def blocks(x: Array) -> Any:
    y = x[: x.shape[0] // 2 * 2, : x.shape[1] // 4 * 4].reshape(x.shape[0] // 2, 2, -1)
    return y[:, :, :-1].sum(1), y[:, 0, 1:] + y[:, 1, :-1]


def backwards(x: Array) -> Any:
    return x[::-1, 1:] + x[:, :-1], x[::-1].sum(0), x[::2, :-1] * x.dtype.type(3)


def into_parts(x: Array) -> Any:
    y = np.zeros_like(x)
    y[1:-1, 1:-1] = stencil(x)
    y[:1] = x[-1:] + x[:1]
    z = np.zeros((x.shape[0], 2 * x.shape[1]), x.dtype)
    z[:, : x.shape[1]] = np.maximum(x, x[:, :1])
    z[:, x.shape[1] :] = x * x[0]
    return y, z, np.concatenate([x[:, 1:] * x.dtype.type(2), x[:, :2] + x[:, -2:]], axis=1)


def by_rows(x: Array) -> Any:
    return x * x[:, 0][:, None] + x[:, 1][:, None], np.minimum(x[:, 1:], x[:, :1]) * x[:, 1:]


def transposed(x: Array) -> Any:
    y = x.T
    return y + y[0], y[1:, :-1] * y[:-1, 1:], y.copy() + y


PROGRAMS: list[Callable[[Array], Any]] = [
    half,
    gate,
    stencil,
    difference,
    scaled_slice,
    sums_of_slices,
    columns,
    centred,
    narrow_and_wide,
    blocks,
    backwards,
    into_parts,
    by_rows,
    transposed,
]
SUMS = [sums_of_slices, columns, centred, backwards]
SHAPES = [(4, 9), (7, 64), (3, 130), (33, 131), (20, 1025), (5, 2100), (600, 70), (530, 1030)]
# Rows of few elements, about a vector, and about a block.
SHAPES += [(40, 6), (9, 7), (90, 8), (31, 10), (50, 16), (13, 17), (70, 18), (9, 19), (25, 31)]
SHAPES += [(33, 33), (40, 65), (100, 98), (100, 100), (60, 127), (21, 129), (17, 135)]


def bits(result: Any) -> list[tuple[Any, ...]]:
    results = result if isinstance(result, tuple) else (result,)
    return [(array.dtype, array.shape, array.strides, array.tobytes()) for array in results]


def array_of(dtype: str, shape: tuple[int, int], special: bool) -> Array:
    random = np.random.default_rng(shape[0] * shape[1])
    x = (random.integers(-50, 50, shape) / (4 if dtype[0] == "f" else 1)).astype(dtype)
    if special:
        x[random.integers(0, shape[0], 9), random.integers(0, shape[1], 9)] = np.nan
        x[random.integers(0, shape[0], 9), random.integers(0, shape[1], 9)] = np.inf
        x[random.integers(0, shape[0], 9), random.integers(0, shape[1], 9)] = -np.inf
    return x


def outcome(program: Callable[[Array], Any], x: Array) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        result = program(x)
    return bits(result), sorted({str(warning.message) for warning in raised})


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1", "i2", "i8"])
def test_equal_numpy(program: Callable[[Array], Any], dtype: str) -> None:
    if dtype == "f2" and program in SUMS:
        pytest.skip("NumPy rounds sums of halves to halves on the way")
    compiled = dvm.compile(program, numerics="strict" if dtype == "f2" else "default")
    for shape in SHAPES:
        x = array_of(dtype, shape, special=False)
        assert bits(compiled(x)) == bits(program(x)), shape
    assert not compiled.fallback_reasons


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_warn_as_numpy_does(program: Callable[[Array], Any], dtype: str) -> None:
    compiled = dvm.compile(program)
    compiled(np.ones((8, 80), dtype))
    for shape in SHAPES:
        x = array_of(dtype, shape, special=True)
        found, wanted = outcome(compiled, x), outcome(program, x)
        assert found[1] == wanted[1], shape
        for (_, _, _, ours), (_, _, _, theirs) in zip(found[0], wanted[0], strict=True):
            a, b = np.frombuffer(ours, dtype), np.frombuffer(theirs, dtype)
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("rows", [16, 300, 512, 513, 1100])
def test_columns_of_wide_arrays(rows: int) -> None:
    def program(x: Array) -> Any:
        return x.sum(0), x.max(0), x.any(0), (x - x[0]).sum(0), x.var(0)

    compiled = dvm.compile(program)
    for count in (1000, 2049, 5000):
        x = array_of("f4", (rows, count), special=False)
        found, wanted = compiled(x), program(x)
        for ours, theirs in zip(found[:4], wanted[:4], strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_allclose(found[4], wanted[4], rtol=2e-5)
