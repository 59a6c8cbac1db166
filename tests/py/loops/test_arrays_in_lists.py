"""Loops that write into arrays beside lists and tuples of the caller's are loops, and are right.

In such a list there may be an array that is written, or a view of it, also where no call before
had one: its elements are what the program has made of them by then.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.arrays_in_lists import Writer, arguments
from loops.check import compare, compare_on
from loops.generated import function_of
from loops.test_numbers import PROGRAMS_WRITTEN

RANDOM = np.random.default_rng(3)
COUNTS = (3, 4, 5, 7, 9, 12, 1, 2, 0, 6, 10, 11, 8)

# ---- lists of numbers


def marked(t, u, x):
    best = np.zeros(20)
    for w in t:
        best[w] = 1
    return best


def numbered(t, u, x):
    best = np.zeros(20)
    for i, w in enumerate(u):
        best[i] = w
    return best


def in_pairs(t, u, x):
    best = np.zeros(20)
    for v, w in zip(t, u, strict=False):
        best[v] += w
    return best


def by_places(t, u, x):
    for i in range(len(t)):
        x[t[i] % 5] = u[i]
    return x


def written_before(t, u, x):
    x[0], total = 1, 0
    for v in t:
        total += v
    return total


def knapsack(t, u, x):
    best = np.zeros(15)
    for w, v in zip(t, u, strict=False):
        for c in range(14, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
    return best[-1]


def warped(t, u, x):
    n, m = len(t), len(u)
    cost = np.full((n + 1, m + 1), 1e30)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            step = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = abs(t[i - 1] - u[j - 1]) + step
    return cost[n, m]


def added_up(t, u, x):
    sums = np.zeros(len(u) + 1)
    for i, v in enumerate(u):
        sums[i + 1] = sums[i] + v
    return sums


def one_behind(t, u, x):
    before = 0
    for i, v in enumerate(t):
        x[i % 5] += before
        before = v
    return x, before


def filled(t, u, x):
    found = []
    for i, v in enumerate(t):
        for j in range(1, len(x)):
            x[j] = 0.5 * x[j - 1] + v
            if x[j] > 5:
                found.append(i)
    return x, found, len(found)


def note(x, found, v):
    for j in range(len(x)):
        x[j] += v
        found.append(j)


def filled_elsewhere(t, u, x):
    found = []
    for v in t:
        note(x, found, v)
    return found, x


OF_NUMBERS = (
    marked, numbered, in_pairs, by_places, written_before, knapsack, warped, added_up, one_behind,
    filled, filled_elsewhere,
)  # fmt: skip


@pytest.mark.parametrize("of", [list, tuple])
@pytest.mark.parametrize("function", OF_NUMBERS, ids=lambda f: f.__name__)
def test_a_loop_beside_lists_of_numbers_is_one_for_all_lengths(function: Any, of: Any) -> None:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for count in COUNTS:
            t, u = RANDOM.integers(0, 14, count), RANDOM.normal(size=count)
            compare(function, compiled, (of(t.tolist()), of(u.tolist()), np.arange(5.0)))
    assert compiled.stats.captures <= 3 + (of is tuple)
    assert compiled.stats.fallbacks == 0


# ---- lists of arrays, which are written, or not


def read_beside(x, t):
    total = 0.0
    for i in range(len(t)):
        total = total + t[i]
        x[i] += 1
    return total


def read_behind(x, t):
    total = 0.0
    x[0] = 3
    for v in t:
        total = total + v
    return total


def handed_on(x, t):
    last = None
    for i in range(len(t)):
        last = t[i]
        x[i] += 1
    return last


def read_as_numbers(x, t):
    total = 0.0
    for v in t:
        x[0] += 1
        total = total + float(v)
    return total


def read_a_turn_later(x, t):
    before, total = None, 0.0
    for v in t:
        x[0] += 1
        if before is not None:
            total = total + before
        before = v
    return total


def kept(x, t):
    found = []
    for v in t:
        x[0] += 1
        found.append(v)
    return found


def into_an_own_one(x, t):
    y = np.zeros(12)
    for v in t:
        y += v
    return y


def into_one_that_is_a_view(x, t):
    y, total = x.reshape(3, 4).reshape(-1), 0.0
    for v in t:
        y += 1
        total = total + v
    return total


def told_apart(x, t):
    count = 0
    for v in t:
        x[0] += 1
        count += v is x
    return count


def found_within(x, t):
    total = 0.0
    for i in range(len(t)):
        x[i] += 1
        total = total + t[i][0]
    return total


def handed_on_within(x, t):
    last = None
    for i in range(len(t)):
        x[i] += 1
        last = t[i]
    return last[0]


def found_within_a_turn_later(x, t):
    last, total = [0.0], 0.0
    for i in range(len(t)):
        x[i] += 1
        total = total + last[0]
        last = t[i]
    return total


def gone_over_within(x, t):
    total = 0.0
    for part in t:
        x[0] += 1
        for v in part:
            total = total + v
    return total


def given_to_c_code(x, t):
    total = 0.0
    for i in range(3):
        x[0] += 1
        total = total + np.sum(t[i % len(t)]) + sum(t[:1])
    return total


def sliced(x, t):
    total = 0.0
    for i in range(len(t)):
        x[0] += 1
        for v in t[i:]:
            total = total + v
    return total


OF_ARRAYS = (
    read_beside, read_behind, handed_on, read_as_numbers, read_a_turn_later, kept, into_an_own_one,
    into_one_that_is_a_view, told_apart, found_within, handed_on_within, found_within_a_turn_later,
    gone_over_within, given_to_c_code, sliced,
)  # fmt: skip
Parts = Callable[[Any, int], Any]
PARTS: dict[str, Parts] = {
    "scalars": lambda a, n: [a[i] for i in range(n)],
    "views without axes": lambda a, n: [a[i : i + 1].reshape(()) for i in range(n)],
    "views of one element": lambda a, n: [a[i : i + 1] for i in range(n)],
    "the array": lambda a, n: [a] * n,
    "a tuple of views": lambda a, n: tuple(a[i : i + 1].reshape(()) for i in range(n)),
    "views in lists": lambda a, n: [[a[i : i + 1].reshape(())] for i in range(n)],
    "views in tuples": lambda a, n: [(a[i : i + 1],) for i in range(n)],
    "the array in one list": lambda a, n: [[a]] * n,
    "the array behind numbers": lambda a, n: [1.5] * n + ([a] if n > 4 else []),
    "a view behind numbers": lambda a, n: [1.5] * n + ([a[2:3].reshape(())] if n > 4 else []),
}


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("function", OF_ARRAYS, ids=lambda f: f.__name__)
def test_what_is_in_a_list_is_what_was_written(function: Any, parts: str) -> None:
    compiled = dvm.compile(function)

    def made(count: int, is_written: bool) -> tuple[Any, ...]:
        x = np.arange(12.0)
        return x, PARTS[parts](x if is_written else x + 50, count)

    calls = [(3, 0), (4, 0), (3, 0), (6, 1), (7, 1), (2, 0), (0, 0), (1, 1), (9, 0), (5, 1), (4, 0)]
    with dvm.stance("force_capture"), warnings.catch_warnings():
        for count, is_written in calls:
            compare_on(
                function, compiled, lambda c=count, w=bool(is_written): made(c, w), f"{count}"
            )


# ---- other ways to an array that is written

TABLE, OF_COMPLEX = np.zeros(20), np.zeros(20, complex)


def of_the_module(x, n, o, t):
    total = 0.0
    for i in range(n):
        for j in range(n + 1):
            total += TABLE[j]
        x[i] += i + 1
    return total


def of_an_object(x, n, o, t):
    total = 0.0
    for i in range(n):
        for j in range(n + 1):
            total += o.z[j]
        x[i] += i + 1
    return total


def complex_of_an_object(x, n, o, t):
    total = 0.0
    x[0] = 1 + (1j if x.dtype == complex else 0)
    for i in range(n):
        total += o.z[i].imag + o.z[i].real
    return total


def complex_in_a_list(x, n, o, t):
    total = 0.0
    x[0] = 1 + (1j if x.dtype == complex else 0)
    for i in range(n):
        total += t[i][0].imag + t[i][0].real
    return total


def own_beside_the_module(x, n, o, t):
    y = np.zeros(20)
    for i in range(n):
        for j in range(n + 1):
            y[i] += TABLE[j] * x[i]
    return y


@pytest.mark.parametrize("of", [TABLE, OF_COMPLEX], ids=["floats", "complex"])
@pytest.mark.parametrize(
    "function",
    [
        of_the_module, of_an_object, complex_of_an_object, complex_in_a_list, own_beside_the_module,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_is_found_elsewhere_is_what_was_written(function: Any, of: Any) -> None:
    compiled = dvm.compile(function)

    def made(count: int, is_written: bool) -> tuple[Any, ...]:
        of[:] = np.arange(20)
        x = of if is_written else np.zeros(20, of.dtype)
        return x, count, types.SimpleNamespace(z=of), [of] * count

    with dvm.stance("force_capture"), warnings.catch_warnings():
        for count in (3, 4, 5, 2, 7, 1, 0, 6):
            for is_written in (False, True):
                compare_on(function, compiled, lambda c=count, w=is_written: made(c, w))
    if function is own_beside_the_module and of is TABLE:
        assert compiled.stats.captures <= 2


# ---- lists that are changed


def stored_before(t, n):
    t[0][0], total = 50, 0
    for i in range(n):
        total += t[0][0] + i
    return total


def stored_before_inner_loops(t, n):
    t[0][0], total = 50, 0
    for i in range(n):
        for v in t[0]:
            total += v + i
    return total


def stored_meanwhile(t, n):
    total = 0
    for i in range(n):
        for v in t[0]:
            total += v + i
        t[0][0] = 9
    return total


def under_another_name(t, n):
    first, total = t[-1], 0
    first.append(3)
    for i in range(n):
        total += t[0][-1] + i
    return total


@pytest.mark.parametrize(
    "function",
    [stored_before, stored_before_inner_loops, stored_meanwhile, under_another_name],
    ids=lambda f: f.__name__,
)
def test_what_was_done_to_a_list_in_a_list_turns_find(function: Any) -> None:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for count in COUNTS:
            compare(function, compiled, ([[1] * (count + 1)], count))
            compare(function, compiled, ([[1] * (count + 1), [2]], count))


@pytest.mark.parametrize("part", range(2))
def test_written_programs_with_lists_do_compiled_what_they_do_plain(part: int) -> None:
    rolled = 0
    with dvm.stance("force_capture"):
        for seed in range(part, PROGRAMS_WRITTEN, 2):
            source = Writer(seed).source()
            function = function_of(source, seed)
            compiled: Callable[..., Any] = dvm.compile(function)
            for number in range(9):
                with warnings.catch_warnings():
                    compare_on(
                        function,
                        compiled,
                        lambda s=seed, n=number: arguments(s, n),
                        f"call {number}",
                        source,
                    )
            rolled += compiled.stats.hits > 2
    assert rolled > 0
