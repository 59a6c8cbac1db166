"""Turns that have to do with arrays, which are not replayed either, do what they do plain."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.test_numbers import come_to_run_as_numbers

COUNTS = (3, 4, 0, 1, 60, 2, 200, 7)
RANDOM = np.random.default_rng(5)
X, A = RANDOM.normal(size=7), RANDOM.normal(size=(200, 7))


def carried(x, a, n):
    for _ in range(n):
        x = x * 0.5 + a[0]
    return x


def kept_by_others(x, a, n):
    best, before = x, x
    for i in range(n):
        before = x
        x = x * 0.5 + a[i]
        if x.sum() > best.sum():
            best = x
    return x, best, before


def swapped(x, a, n):
    b, c = x.copy(), x.copy()
    for _ in range(n):
        c[1:-1] = 0.5 * (b[:-2] + b[2:])
        b, c = c, b
    return b, c


def rotated(x, a, n):
    y, z = x + 1, x + 2
    for _ in range(n):
        x, y, z = y, z, x * 0.5 + y
    return x, y, z


def rows(x, a, n):
    for row in a[:n]:
        x = x * 0.5 + row
    return x


def rows_backwards(x, a, n):
    for row in a[:n][::-1]:
        x = np.maximum(x, row)
    return x


def columns(x, a, n):
    x = np.zeros(a.shape[0])
    for column in a.T:
        x = x * 0.5 + column
    return x


def numbered(x, a, n):
    for i, row in enumerate(a[:n]):
        x = x * 0.5 + row * i
    return x


def in_pairs(x, a, n):
    for row, number in zip(a[:n], range(n, 0, -1)):
        x = x + row / number
    return x


def over_a_list(x, a, n):
    for row in [*a[:n]]:
        x = x - row
    return x


def numbers_between(x, a, n):
    size, norm = 0, np.float64(1.0)
    for i in range(n):
        norm = np.sqrt((x * x).sum())
        x = (x + a[i]) / (norm + 1)
        size = size + i
    return x, norm, size


def growing_slices(x, a, n):
    y = np.zeros(n + 1)
    for i in range(n):
        y[i + 1] = (y[:i] * a[:i, 0]).sum() + 1
        y[i:] *= 0.5
    return y


def from_behind(x, a, n):
    a = a.copy()
    for i in range(n):
        a[-i - 1, 1:-1] = a[i, 2:] - a[-1, :-2]
        a[i, ::2] = x[::2]
    return a


def gathered(x, a, n):
    y, which = np.zeros(7), np.arange(7) % max(1, len(x))
    for i in range(n):
        y = y + a[i][which[::-1]] if len(x) else y + 1
        which = which[(i % 7, -1, 0, 1, 2, 3, 4),]
    return y, which


def triangle(x, a, n):
    a = a.copy()
    for i in range(min(n, 6)):
        a[i + 1 :, i] /= a[i, i] + 3
        a[i + 1 :, i + 1 :] -= a[i + 1 :, i : i + 1] * a[i : i + 1, i + 1 :]
    return a


def until(x, a, n):
    turns = 0
    while turns < n and np.abs(x).max() > 1e-3:
        x = x * 0.9
        turns += 1
    return x, turns


def integers(x, a, n):
    g = (a > 0).astype(np.int64)
    for _ in range(n):
        g = (g[:, ::-1] + g) % 5
    return g


def nothing_else(x, a, n):
    y = x
    for i in range(n):
        y = a[i] * 2.0
    return y


def listed(x, a, n):
    out, twice = [x], 0
    for i in range(n):
        x = x * 0.5 + a[i]
        out.append(x)
    out.append(twice)
    return out


def listed_before(x, a, n):
    out = []
    for i in range(n):
        out.append(x)
        x = x * 0.5 + a[i]
    return out, x


def numbers_listed(x, a, n):
    out, s = [], 0.0
    for i in range(n):
        s = s * 0.5 + i
        out.append(s)
    return out


def stacked(x, a, n):
    out = []
    for i in range(n):
        out.append(x * i + a[0])
    return np.array(out)


PROGRAMS = {f.__name__: f for f in (
    carried, kept_by_others, swapped, rotated, rows, rows_backwards, columns, numbered, in_pairs,
    over_a_list, numbers_between, growing_slices, from_behind, gathered,
    triangle, until, integers,
    nothing_else, listed, listed_before, numbers_listed, stacked,
)}  # fmt: skip
#: whose turns are few, or replayed for what they are given
REPLAYED = ("integers", "triangle", "over_a_list", "gathered")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_of_arrays_does_what_it_does_plain(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for count in COUNTS:
        compare(function, compiled, (X, A, count))
        compare(function, compiled, (X[:3], A[:, :3], count))
        compare(function, compiled, (X[:0], A[:, :0], count))
    if name not in REPLAYED:
        assert come_to_run_as_numbers(compiled, 40, X, A, 60)
    assert compiled.stats.fallbacks == 0


def warm(function: Callable[..., Any], *args: Any) -> Any:
    compiled = dvm.compile(function)
    for count in (3, 4, 60, 50):
        compiled(*args, count)
    return compiled


def test_results_belong_to_the_caller_alone() -> None:
    compiled = warm(carried, X, A)
    first = compiled(X, A, 50)
    kept = first.copy()
    second = compiled(X + 1, A, 50)
    np.testing.assert_array_equal(first, kept)
    assert not np.shares_memory(first, second)
    assert sys.getrefcount(first) == sys.getrefcount(kept)
    assert first.flags.owndata
    first.resize((3,))  # which NumPy refuses where others have the array


def test_arrays_in_a_list_are_arrays_of_their_own() -> None:
    compiled = warm(listed_before, X, A)
    out, last = compiled(X, A, 50)
    arrays = [*out[1:], last]
    assert len({id(each) for each in arrays}) == len(arrays)
    assert all(each.flags.owndata for each in arrays)
    kept = [each.copy() for each in arrays]
    compiled(X + 1, A, 60)
    for each, before in zip(arrays, kept, strict=True):
        np.testing.assert_array_equal(each, before)


def test_warnings_come_in_their_turn() -> None:
    def grown(x, n):
        for _ in range(n):
            x = x * x
        return x

    compiled = dvm.compile(grown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for count in (3, 4, 60, 50):
            compiled(np.full(5, 1.001), count)
    start = np.array([1.5, 1.0, -2.0])
    compare(grown, compiled, (start, 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="overflow"):
            compiled(start, 60)


def test_arrays_that_change_are_as_in_python() -> None:
    def changed(x, items):
        for item in items:
            x = x * 0.5 + item
        return x

    compiled = dvm.compile(changed)
    a, single, column = X * 2, X.astype(np.float32), X[:, None]
    for items in ([a] * 3, [a] * 4, [a] * 60, [a] * 20 + [single] * 20 + [2.0] * 20 + [a] * 9,
                  [a] * 20 + [column] * 2 + [a] * 9, [(a * i) for i in range(40)],
                  [A.T[i % 7, :7] for i in range(40)]):  # fmt: skip
        compare(changed, compiled, (X, items))
        compare(changed, compiled, (single, items))


def test_indices_out_of_range_leave_what_was_written_before() -> None:
    def shifted(a, n):
        for i in range(n):
            a[i, 1:] = a[i + 1, :-1] * 0.5
        return a

    compiled = dvm.compile(shifted)
    for count in (3, 4, 100, 199, 200, 150, 300):
        compare(shifted, compiled, (A, count))
    assert come_to_run_as_numbers(compiled, 90, A, 199)


def test_variables_that_are_one_array_are_written_as_one() -> None:
    def written(a, b, n):
        for i in range(n):
            a[1:] = b[:-1] * 0.5
            b = b + i
        return a, b

    compiled = dvm.compile(written)
    for count in (3, 4, 60, 5):
        compare(written, compiled, (X, X + 1, count))
        same = X.copy()
        compare(lambda x, n: written(x, x, n), lambda x, n: compiled(x, x, n), (same, count))
        compare(lambda x, n: written(x, x[::-1], n), lambda x, n: compiled(x, x[::-1], n),
                (same, count))  # fmt: skip


def test_large_arrays_are_as_small_ones() -> None:
    compiled = warm(carried, np.ones(7), np.ones((2, 7)))
    for size in (2000, 200_000, 7):
        compare(carried, compiled, (np.ones(size), np.ones((2, size)), 12))
    compiled = warm(swapped, np.ones(7), A)
    for size in (2000, 200_000, 7):
        compare(swapped, compiled, (RANDOM.normal(size=size), A, 12))
