"""Loops that write into arrays and change lists: of numbers these hold no array that is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare

COUNTS = (3, 4, 10, 50, 7, 100, 30, 0, 1)


def residuals(x, n):
    u, errors = x.copy(), []
    for _ in range(n):
        before = u.copy()
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        errors.append(float(abs(u - before).max()))
    return u, errors


def until_small(x, n):
    u, sums = x.copy(), [1e9]
    for _ in range(n):
        u[1:-1] = 0.5 * (u[2:] + u[:-2])
        sums.append(u.sum())
        if sums[-1] < 1e-3:
            break
    return u, sums


def counted(x, n):
    u, found, table = x.copy(), [], [0] * 5
    for i in range(n):
        u[i % 5] += table[i % 5]
        table[i % 5] += i
    for i in range(n):
        u[i % 5] -= table[i % 5]
        found.append(table[i % 5])
    return u, found, table


def taken(x, n):
    u, todo = x.copy(), list(range(n))
    while todo:
        at = todo.pop()
        u[at % 8] += at
        if at % 7 == 3:
            todo.append(at - 2)
    return u, todo


def kept(x, n):
    u, states = x.copy(), []
    for i in range(n):
        u[i % 5] = i
        states.append(u)
    return u, states


def copied(x, n):
    u, states = x.copy(), []
    for i in range(n):
        u[i % 5] = i
        states.append(u.copy())
    return u, states


def grown(x, n):
    u, states, z = x.copy(), [], np.zeros(3)
    for i in range(n):
        u[0] = i
        z = z * 0.5 + u[:3]
        states.append(z)
        z += 1
    return u, states


def behind(x, n):
    u, states = x.copy(), [x]
    for i in range(n):
        states.append(float(i))
        u[0] += states[-1]
    for state in states[:2]:
        u = u + state
    return u, states


ROLLED = (residuals, until_small, counted, taken)
OTHERS = (kept, copied, grown, behind)


@pytest.mark.parametrize("function", [*ROLLED, *OTHERS], ids=lambda f: f.__name__)
def test_lists_beside_written_arrays_are_what_they_are_plain(function: Any) -> None:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for count in COUNTS:
            compare(function, compiled, (np.arange(8.0), count))
    if function in ROLLED:
        assert compiled.stats.captures <= 3
        assert compiled.stats.fallbacks == 0
