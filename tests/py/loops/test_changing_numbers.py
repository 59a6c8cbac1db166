"""Segments of a loop's turns with numbers that change from turn to turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.test_numbers import come_to_run_as_numbers


def floats(x, n):
    w = 1.0
    for _ in range(n):
        w = w * 0.75
        x = x * w + w / 3
    return x, w


def whole_numbers(x, n):
    k = 1
    for i in range(n):
        k = k + i * 2
        x = x + k - i
    return x, k


def of_numpy(x, n):
    w = np.float64(1.0)
    for _ in range(n):
        w = w * 0.75
        x = x * w
    return x, w


def truths(x, n):
    up = True
    for i in range(n):
        up = i % 3 == 0
        x = x * up + 1
    return x, up


def beyond(x, n):
    w = 1e300
    for _ in range(n):
        w = w * 10.0
        x = x * 0.5 + 1 / w
    return x, w


def in_two_ways(x, n):
    """The second way needs another result of the segment that both begin with."""
    w = 1.0
    for _ in range(n):
        w = w * 0.9 + 0.01
        y = x * w
        x = x + 0.5 if len(y) and y.max() < 0.4 else y
    return x, w


def sizes_and_numbers(x, n):
    y = np.zeros(n + 1)
    for i in range(n):
        y[: i + 1] = y[: i + 1] * i + len(x) * (i / 2)
    return y


NUMBERS = (floats, whole_numbers, of_numpy, truths, beyond, in_two_ways, sizes_and_numbers)


@pytest.mark.parametrize("function", NUMBERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16])
def test_numbers_that_change_mean_what_they_do_in_python(function: Any, dtype: Any) -> None:
    compiled = dvm.compile(function)
    for size in (5, 0, 1, 300):
        for count in (3, 4, 20, 0, 1, 30):
            x = (np.random.default_rng(count).random(size) * 4).astype(dtype)
            with np.errstate(all="ignore"):
                compare(function, compiled, (x, count))
    assert come_to_run_as_numbers(compiled, 0, x, 30)


def test_a_way_that_needs_another_result_comes_later() -> None:
    compiled = dvm.compile(in_two_ways)
    for count in (3, 4, 30, 31, 32):
        compare(in_two_ways, compiled, (np.full(5, 1e300), count))
    assert come_to_run_as_numbers(compiled, 0, np.full(5, 1e300), 30)
    for count in (30, 31, 40, 33):
        compare(in_two_ways, compiled, (np.full(5, 2.0), count))
        compare(in_two_ways, compiled, (np.full(5, 1e300), count))
