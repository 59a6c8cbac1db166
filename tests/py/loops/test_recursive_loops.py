"""Loops of functions that call themselves from within: a loop that is within itself."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm


def doubling(n):
    s = 1
    for i in range(n):
        s += doubling(i)
    return s


def catalan(n):
    if n < 2:
        return 1
    s = 0
    for i in range(n):
        s += catalan(i) * catalan(n - 1 - i)
    return s


def while_below(n):
    s, i = 1, 0
    while i < n:
        s += while_below(i)
        i += 1
    return s


def largest_sum(n, first=0, total=0):
    best = total
    for j in range(first, n):
        best = max(best, largest_sum(n, j + 1, total + j * (j - 2)))
    return best


def queens(n, row=0, columns=0, down=0, up=0):
    if row == n:
        return 1
    count = 0
    for j in range(n):
        if not (columns >> j & 1 or down >> (row + j) & 1 or up >> (row - j + n) & 1):
            count += queens(
                n, row + 1, columns | 1 << j, down | 1 << (row + j), up | 1 << (row - j + n)
            )
    return count


def in_two_loops(n, seen=None):
    s = 0
    for i in range(n):
        for j in range(2):
            s += in_two_loops(i - 1) if i > 1 and j == 0 else i
    return s


def one_way(n):
    s = 0.5
    for i in range(n):
        s += 1 if i < 2 else other_way(i - 2)
    return s


def other_way(n):
    s = 0.25
    for i in range(n):
        s += one_way(i - 1) if i > 1 else 2
    return s


def writing(n, y=None):
    y = np.zeros(4) if y is None else y
    s = 0
    for i in range(n):
        y[i % 3] += 1
        s += writing(i - 1, y)[0] if i > 1 else i
    return s, y


FUNCTIONS = (
    *(doubling, catalan, while_below, largest_sum, queens, in_two_loops, one_way, writing),
)


@pytest.mark.parametrize("calls", ["plain", "compiled"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_a_loop_that_calls_its_own_function_does_what_it_does_plain(
    function: Callable[..., Any], calls: str
) -> None:
    own: dict[str, Any] = dict(function.__globals__)
    copy = types.FunctionType(function.__code__, own, function.__name__, function.__defaults__)
    compiled = dvm.compile(copy)
    own[function.__name__] = copy if calls == "plain" else compiled
    with dvm.stance("force_capture"):
        for n in (3, 4, 0, 6, 1, 5, 7, 7, 6):
            np.testing.assert_equal(compiled(n), function(n))
