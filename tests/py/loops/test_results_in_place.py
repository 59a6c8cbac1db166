"""Results of a turn that go straight into the array they are copied to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.test_numbers import come_to_run_as_numbers

COUNTS = (3, 4, 12, 0, 1, 7, 40)


def buffers(a, b, n):
    for _ in range(n):
        near = a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
        b[1:-1, 1:-1] = a[1:-1, 1:-1] + 0.1 * (near - 4 * a[1:-1, 1:-1])
        a, b = b, a
    return a, b


def whole(a, b, n):
    for i in range(n):
        b[...] = a * 0.5 + i
        a, b = b, a
    return a, b


def reads_what_it_writes(a, b, n):
    for _ in range(n):
        a[1:, 1:] = a[:-1, :-1] * 0.5 + b[1:, 1:]
    return a


def reads_beside_it(a, b, n):
    half = len(a) // 2
    for _ in range(n):
        a[half:] = a[: len(a) - half] * 0.5 + b[half:]
    return a


def reads_an_element_of_it(a, b, n):
    for _ in range(n):
        s = b[0, 0] * 0.5
        b[...] = a + s
    return b


def turned(a, b, n):
    for _ in range(n):
        b[:, ::-1] = np.minimum(a.T, a) + 1
        a, b = b, a
    return a, b


def spread(a, b, n):
    for i in range(n):
        b[:] = a[0] * 0.5 + i
        a, b = b, a
    return a, b


def kept(a, b, n):
    last = a
    for _ in range(n):
        last = a * 0.5
        b[...] = last
        a, b = b, a
    return a, b, last


def twice(a, b, n):
    for _ in range(n):
        b[...] = a + 1
        b[1:] = a[1:] * 2
        a, b = b, a
    return a, b


def until(a, b, n):
    for i in range(n):
        b[...] = np.sqrt(a) * 0.5 - 0.125
        if a.max() < 0.3:
            break
        a, b = b, a
    return a, b, i if n else -1


def divided(a, b, n):
    for i in range(n):
        b[...] = a / (i - 5)
        a, b = b, a
    return a, b


PROGRAMS = {f.__name__: f for f in (
    buffers, whole, reads_what_it_writes, reads_beside_it, reads_an_element_of_it, turned, spread,
    kept, twice, until, divided,
)}  # fmt: skip
#: whose turns are neither slow nor unrolled
MACHINE = ("buffers", "whole", "turned", "spread", "twice", "divided")


def squares(seed: int, n: int) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return random.random((n, n)), random.random((n, n))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("size", [1, 3, 40, 65])
def test_a_result_in_its_place_is_what_would_be_copied_there(name: str, size: int) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for seed, count in enumerate(COUNTS):
        compare(function, compiled, (*squares(seed, size), count))
    if name in MACHINE:
        assert come_to_run_as_numbers(compiled, 5, *squares(0, size), 20)


@pytest.mark.parametrize("name", PROGRAMS)
def test_so_it_is_of_special_values_and_other_dtypes(name: str) -> None:
    function = PROGRAMS[name]
    for dtype in (np.float32, np.int64, np.float64):
        compiled = dvm.compile(function)
        for seed, count in enumerate(COUNTS):
            a, b = squares(seed, 50)
            with np.errstate(all="ignore"):
                if dtype is np.float64:
                    a = np.where(a > 0.9, np.nan, np.where(a < 0.1, -np.inf, a))
                compare(function, compiled, ((a * 9).astype(dtype), (b * 9).astype(dtype), count))


def test_an_error_leaves_the_callers_arrays_as_plain_python_does() -> None:
    compiled = dvm.compile(divided)
    with np.errstate(divide="raise"):
        for seed, count in enumerate((3, 4, 5, 40, 5, 40)):
            compare(divided, compiled, (*squares(seed, 50), count))
