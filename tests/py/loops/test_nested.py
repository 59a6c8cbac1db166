"""A loop within a loop writes into the arrays of the outer one, and nobody can tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from loops.check import compare

COUNTS = (3, 4, 0, 1, 6, 2, 9, 5)


def steps_of(compiled: Any, step: str) -> int:
    """How often the paths of its loops' turns have that step."""
    loops = vars(compiled).get("loops", {}).values()
    rolled = [known.rolled.loop for known in loops if known.rolled]
    paths = [path for loop in rolled for path in _dvm.ways_of(loop)]
    return sum(step in line.split() for path in paths for line in path["steps"].splitlines())


def mirrored(a, b):
    for i in range(len(a)):
        for j in range(i, len(a)):
            a[j, i] = a[i, j] * 2
    return a


def of_a_copy(a, b):
    q = a.copy()
    for j in range(len(q)):
        for i in range(j):
            q[:, j] -= (q[:, i] @ q[:, j]) * q[:, i]
        q[:, j] /= np.sqrt(q[:, j] @ q[:, j]) + 1
    return q


def transposed(a, b):
    a = a.T
    for i in range(len(a)):
        for j in range(len(a)):
            a[i, j] += a[j, i] * 0.5
    return a


def written_before(a, b):
    for i in range(len(a)):
        a[i] = a[i] * 0.5
        a[:, i] += 1
        for j in range(i + 1):
            a[i, j] += a[j, i]
        a[i] += 1
    return a


def written_whole_before(a, b):
    for i in range(len(a)):
        a *= 0.5
        for j in range(len(a)):
            a[j] = a[j] + i
    return a


def shifted_before(a, b):
    for i in range(len(a)):
        a[1:] = a[:-1]
        a[0] = b[i]
        for j in range(i):
            a[j] += 1
    return a


def read_before(a, b):
    s, rows = 0.0, b * 0
    for i in range(len(a)):
        first, row = a[i, 0], a[i].copy()
        doubled, seen = a[i] * 2, a[i]
        for j in range(len(a)):
            a[i, j] = j + first
        s = s + first + doubled.sum()
        rows[i] = row + seen
    return a, s, rows


def given_to_another(a, b):
    for i in range(len(a)):
        b[i] = a[0]
        b[:, 0] = a[i]
        for j in range(len(a)):
            a[j] += b[0, j]
    return a, b


def swapped_within(a, b):
    for _ in range(len(a)):
        for i in range(len(a)):
            b[i] = a[i] * 0.5 + 1
            a, b = b, a
    return a, b


def two_within(a, b):
    for i in range(len(a)):
        for j in range(i):
            a[i] += a[j]
        b[i] = a[i]
        for j in range(i):
            b[j] += a[i]
        for j in range(i):
            a[j] -= b[j]
    return a, b


def three_deep(a, b):
    for i in range(len(a)):
        for j in range(i, len(a)):
            for k in range(j):
                a[j, k] += a[k, i] * 0.25
            b[j, i] = a[j, i]
        a[i] -= b[i]
    return a, b


def branches_behind(a, b):
    for i in range(len(a)):
        for j in range(i):
            a[i] -= a[j] * 0.5
        if a[i].sum() > 0:
            a[i] *= 0.5
        else:
            b[i] = a[i]
    return a, b


def branches_within(a, b):
    for i in range(len(a)):
        for j in range(len(a)):
            if a[i, j] > 0.5:
                a[j, i] = -a[i, j]
            elif i == j:
                break
    return a


def returns_within(a, b):
    for i in range(len(a)):
        for j in range(len(a)):
            a[i, j] += 1
            if a[i, j] > 1.9:
                return a, i, j
    return a, -1, -1


def raises_within(a, b):
    for i in range(len(a)):
        for j in range(len(a)):
            a[i, j] = a[j, i + (i == 4)] + 1
    return a


def divides_within(a, b):
    with np.errstate(divide="raise"):
        for i in range(len(a)):
            for j in range(len(a)):
                a[i] = b[j] / (4 - i)
    return a


def caught_within(a, b):
    for i in range(len(a)):
        try:
            for j in range(len(a)):
                a[i, j] = a[j, i + (i == 4)] + 1
        except IndexError:
            a[i] = -1
    return a


def rows_by_name(a, b):
    for i in range(len(a)):
        row = a[i]
        for j in range(len(a)):
            row[j] = row[j] * 2
        a[i] += 1
    return a


def grows(a, b):
    out = []
    for i in range(len(a)):
        s = 0.0
        for j in range(len(a)):
            a[i, j] += s
            s = s + a[j, i]
        out.append(s)
    return a, out


def pivots(a, b):
    n = len(a)
    for k in range(n - 1):
        p = k + int(np.argmax(np.abs(a[k:, k])))
        row = a[k].copy()
        a[k] = a[p]
        a[p] = row
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / (a[k, k] + 2)
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


def picked(a, b):
    where = np.arange(len(a))[::-1]
    for i in range(len(a)):
        a[where] = b
        for j in range(i):
            a[i] += a[j]
    return a


PROGRAMS = {f.__name__: f for f in (
    mirrored, of_a_copy, transposed, written_before, written_whole_before, shifted_before,
    read_before, given_to_another, swapped_within, two_within, three_deep, branches_behind,
    branches_within, returns_within, raises_within, divides_within, caught_within, rows_by_name,
    grows, pivots, picked,
)}  # fmt: skip
#: in which a loop within is lent what it writes
LENT = (
    *("mirrored", "of_a_copy", "written_before", "written_whole_before", "shifted_before"),
    *("given_to_another", "swapped_within", "two_within", "three_deep", "branches_behind"),
    *("branches_within", "pivots"),
)


def squares(seed: int, n: int, kind: str = "dense") -> tuple[Any, ...]:
    random = np.random.default_rng((seed, n))
    a, b = random.random((n, n)), random.random((n, n))
    if kind == "fortran":
        return np.asfortranarray(a), b
    if kind == "special":
        return random.choice([0.0, -0.0, 1.0, np.nan, np.inf, -np.inf], (n, n)), b
    if kind == "integers":
        return (a * 19 - 9).astype(np.int64), (b * 19 - 9).astype(np.int64)
    if kind == "bytes":
        return (a * 99).astype(np.int8), (b * 99).astype(np.int8)
    return a, b


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_within_a_loop_does_what_it_does_plain(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for seed, count in enumerate(COUNTS):
        compare(function, compiled, squares(seed, count))
    if name in LENT:
        assert steps_of(compiled, "lend") > 0


@pytest.mark.parametrize("kind", ["fortran", "special", "integers", "bytes"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_does_so_with_arrays_of_any_kind(name: str, kind: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for seed, count in enumerate(COUNTS[:6]):
        with np.errstate(all="ignore"):
            compare(function, compiled, squares(seed, count, kind))


def in_columns(function, a, b):
    return function(np.concatenate([a, b])[::2, ::-1], b)


def as_one(function, a, b):
    return function(a, a)


def in_one(function, a, b):
    return function(a[:-1, :-1], a[1:, 1:])


@pytest.mark.parametrize("given", [in_columns, as_one, in_one])
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_does_so_with_arrays_that_are_views_or_one(name: str, given: Callable[..., Any]) -> None:
    function = PROGRAMS[name]

    def call(a, b):
        return given(function, a, b)

    compiled = dvm.compile(call)
    for seed, count in enumerate(COUNTS[:6]):
        compare(call, compiled, squares(seed, count + 1))


def test_a_new_way_in_a_turn_leaves_the_callers_array_as_it_was() -> None:
    """Turns before have written in place by then; the original must find what the caller gave."""

    def negated(a, limit):
        for i in range(len(a)):
            for j in range(len(a)):
                a[i, j] += 1
                if a[i, j] > limit:
                    a[j, i] = -a[i, j]
        return a

    compiled = dvm.compile(negated)
    for seed, count in enumerate(COUNTS):
        compare(negated, compiled, (squares(seed, count)[0], 9.0))
    captures = compiled.stats.captures
    a = squares(1, 8)[0]
    compare(negated, compiled, (a, np.sort(a, axis=None)[-3] + 1))
    assert compiled.stats.captures == captures + 1
    assert steps_of(compiled, "lend") > 0


def test_an_exception_in_a_turn_is_the_programs_own() -> None:
    def scaled(a, divisors):
        for i in range(len(a)):
            for j in range(len(a)):
                a[i, j] = a[i, j] / divisors[j] + i // (7 - i)
        return a

    compiled = dvm.compile(scaled)
    for seed, count in enumerate(COUNTS):
        compare(scaled, compiled, (squares(seed, min(count, 6))[0], np.full(9, 1.5)))
    assert steps_of(compiled, "lend") > 0
    compare(scaled, compiled, (squares(3, 9)[0], np.full(9, 1.5)))
    compare(scaled, compiled, (squares(3, 6)[0], np.full(5, 1.5)))
