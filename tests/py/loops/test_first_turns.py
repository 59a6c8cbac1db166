"""A loop that was learned before begins on the machine: what it takes for granted is asked anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.test_numbers import come_to_run_as_numbers, turns_of_numbers

SCALE: Any = 2.0


def bump(x: float) -> float:
    return x + 1.0


def other_bump(x: float) -> float:
    return x - 2.0


@contextmanager
def bound(**names: Any) -> Iterator[None]:
    """Globals of this module, for a while."""
    before = {name: globals()[name] for name in names}
    globals().update(names)
    try:
        yield
    finally:
        globals().update(before)


def scaled(x, n):
    s = 0.0
    for _ in range(n):
        s = s * 0.5 + x * SCALE
    return s


def bumped(x, n):
    for _ in range(n):
        x = bump(x) * 0.5
    return x


def invariant(x, n):
    s = x
    for i in range(n):
        s = s + (n - 1) * (x + 1) - i
    return s


def two_ways(x, n):
    lo, hi = x, x + n
    while hi - lo > 1e-3:
        mid = (lo + hi) / 2
        if mid * mid < 2.0:
            lo = mid
        else:
            hi = mid
    return lo, hi


def last_elements(x, n):
    a = np.asarray(x)
    s = a.dtype.type(0)
    for i in range(n):
        s = s + a[-1 - i % len(a)]
    return s


def carried_array(x, n):
    x = np.asarray(x, dtype=float)
    for i in range(n):
        x = x * 0.5 + i
    return x


def within(x, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s = s * 0.5 + j * x
    return s


NUMBERS = (1.5, 2, -0.0, np.float64(0.25), 10**18, True, np.float32(0.5), float("nan"), 2**70, 3.5)


@pytest.mark.parametrize("function", [scaled, bumped, invariant, within])
def test_it_takes_each_number_for_what_it_is(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for repeat in range(3):
        for x in NUMBERS:
            for n in (40, 0, 1, 7):
                compare(function, compiled, (x, n + repeat))
    assert turns_of_numbers(compiled) > 100


def test_a_global_that_is_another_one_is_read_again() -> None:
    compiled = dvm.compile(scaled)
    for scale in (2.0, 2.0, 2.0, 3.0, 2.0, 5, np.float64(7), 2.0, 3.0):
        with bound(SCALE=scale):
            for n in (30, 31):
                compare(scaled, compiled, (1.5, n))


def test_a_function_that_is_another_one_is_called() -> None:
    compiled = dvm.compile(bumped)
    for function in (bump, bump, bump, other_bump, bump, other_bump):
        with bound(bump=function):
            for n in (30, 31):
                compare(bumped, compiled, (1.5, n))


def test_turns_that_go_either_way_begin_with_either() -> None:
    compiled = dvm.compile(two_ways)
    for x in (0.0, 1.0, 1.4, -3.0, 1.41, 0.5):
        for n in (0, 1, 2, 100, 3.5):
            compare(two_ways, compiled, (x, n))
    assert turns_of_numbers(compiled) > 100


def test_arrays_of_another_kind_are_looked_at_again() -> None:
    given = [
        np.arange(5.0),
        np.arange(20.0)[::4],
        np.arange(5),
        [1.0, 2.0, 4.0],
        np.arange(6.0, dtype=np.float32),
        np.arange(9.0)[::-2],
        np.arange(1.0),
        np.arange(4, dtype=np.int8),
    ]
    for function in (last_elements, carried_array):
        compiled = dvm.compile(function)
        for count in (30, 31, 20):
            for x in given:
                compare(function, compiled, (x, count))
    assert come_to_run_as_numbers(compiled, 100, np.arange(5.0), 30)


def test_an_error_state_that_is_another_one_counts() -> None:
    def divided(x, n):
        for i in range(n):
            x = x / (i - 20)
        return x

    compiled = dvm.compile(divided)
    for mode in ("warn", "ignore", "raise", "warn", "raise", "ignore"):
        for n in (15, 30, 16):
            with np.errstate(all=mode):  # type: ignore[arg-type]
                compare(divided, compiled, (np.arange(4.0) + 1, n))


def test_what_it_iterates_over_goes_on_where_it_was() -> None:
    def taken(items, n):
        total = 0.0
        rest = iter(items)
        for x in rest:
            total = total * 0.5 + x
        return total, list(rest)

    compiled = dvm.compile(taken)
    for n in (5, 6, 0, 1, 40, 7):
        compare(taken, compiled, ([float(i) for i in range(n)], n))
        compare(taken, compiled, (tuple(range(n)), n))
        compare(taken, compiled, (range(3, 3 + n), n))
        compare(taken, compiled, (np.arange(float(n)), n))
