"""Arrays that change names in a loop: which of them comes out is no matter of the path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare

SWAPS: list[Callable[..., Any]] = []


def swaps(function: Callable[..., Any]) -> Callable[..., Any]:
    SWAPS.append(function)
    return function


@swaps
def replaced(u, v, n):
    for _ in range(n):
        u, v = v, u * 0.5 + 1.0
    return u, v


@swaps
def only_swapped(u, v, n):
    for _ in range(n):
        u, v = v, u
    return u, v


@swaps
def written(u, v, n):
    for _ in range(n):
        v[1:-1] = u[:-2] + u[2:]
        u, v = v, u
    return u


@swaps
def both_written(u, v, n):
    for _ in range(n):
        u, v = v, u
        u += 1.0
        v *= 0.5
    return [v, u]


@swaps
def element_by_element(u, v, n):
    for _ in range(n):
        for i in range(1, len(u) - 1):
            v[i] = u[i - 1] + u[i + 1]
        u, v = v, u
    return u


@swaps
def own(u, v, n):
    a, b = u * 1.0, np.zeros_like(u)
    for _ in range(n):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a, v


@swaps
def both_own(u, v, n):
    a, b = u * 1.0, v * 2.0
    for _ in range(n):
        a, b = b, a
        a[0] += 1.0
    return b, a


@swaps
def own_and_given(u, v, n):
    a = u * 1.0
    for _ in range(n):
        v[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, v = v, a
    return a, v


@swaps
def three(u, v, n):
    w = np.zeros_like(u)
    for _ in range(n):
        w[:] = u + v
        u, v, w = v, w, u
    return u, w


@swaps
def read_behind(u, v, n):
    for _ in range(n):
        v[:] = u * 0.5
        u, v = v, u
    return u.sum() - v.max(), u + v, u is v


@swaps
def aliased(u, v, n):
    w = u
    for _ in range(n):
        w, v = v, w
        v += 1.0
    return w, v, u is w


@pytest.mark.parametrize("function", SWAPS)
def test_one_path_takes_any_count(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    random = np.random.default_rng(3)
    for count in range(51):
        compare(function, compiled, (random.random(6), random.random(6), count))
    asked = function is aliased  # which one it is
    assert compiled.stats.captures <= 2 + asked, compiled.stats


def written_behind(u, v, n):
    for _ in range(n):
        u, v = v, u
    u[0] = 7.0
    return v


def written_behind_of_own(u, v, n):
    a = u * 2.0
    for _ in range(n):
        a, v = v, a
    a[1:] += v[:-1]
    return u, a


def swapped_again(u, v, n):
    for _ in range(n):
        u, v = v, u
    for k in range(n):
        u[k % 3] += v[0]
        u, v = v, u
    return u


def kept(u, v, n):
    for _ in range(n):
        u, v = v, u
    both = [u, v]
    u += 1.0
    return both


def written_before_it_is_looked_at(u, v, n):
    w, x = u, u * 2.0
    y = x
    for _ in range(n):
        u, v = v, u
        x, v = v, x
    w[0] = 5.0
    y[1] = 6.0
    return u.sum(), v, x.max(), x, y


BEHIND = (
    written_behind,
    written_behind_of_own,
    swapped_again,
    kept,
    written_before_it_is_looked_at,
)


@pytest.mark.parametrize("function", BEHIND)
def test_where_one_is_written_behind_the_loop_it_is_the_right_one(
    function: Callable[..., Any],
) -> None:
    compiled = dvm.compile(function)
    random = np.random.default_rng(4)
    for count in (3, 4, 0, 1, 7, 8, 2, 5):
        compare(function, compiled, (random.random(6), random.random(6), count))
    assert compiled.stats.captures <= 4, compiled.stats
