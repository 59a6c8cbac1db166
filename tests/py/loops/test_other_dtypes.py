"""Loops that write into arrays of dtypes that dvm has not: once, whatever comes behind them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare


def added(u, x):
    for i in range(len(u)):
        u[i] += i
    return 1 / x


def added_whole(u, x):
    i = 0
    while i < 4:
        u += i
        i += 1
    return 1 / x


def added_at(u, x):
    for i in range(5):
        np.add.at(u, [i % 2], 1)
    return 1 / x


def beyond(u, x):
    for i in range(len(u)):
        u[i] = u[i] * 2
    return x[len(u)]


@pytest.mark.parametrize("dtype", [complex, ">f8", object, np.longdouble, float, int])
@pytest.mark.parametrize("function", [added, added_whole, added_at, beyond])
def test_a_call_that_leaves_the_path_behind_a_loop_has_written_once(
    function: Any, dtype: Any
) -> None:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for given in (dtype, float, dtype):
            for n in (3, 4, 5, 6):
                compare(function, compiled, (np.ones(n, given), np.ones(7)))
            for x in (np.ones(7, "f4"), np.zeros(7), np.ones(3)):
                compare(function, compiled, (np.ones(5, given), x))
