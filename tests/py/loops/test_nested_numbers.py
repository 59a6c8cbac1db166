"""Loops of numbers within loops of numbers do on the machine what they do plain."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare
from loops.generated import function_of
from loops.nested_numbers import Writer, arguments
from loops.test_numbers import (
    PROGRAMS_WRITTEN,
    come_to_run_as_numbers,
    run_under_timer,
    turns_of_numbers,
)

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=40)
COUNTS = (3, 4, 0, 1, 12, 2, 40, 7, 25, 40)


def is_least(x, n):
    flags = []
    for i in range(n):
        least = True
        for j in range(n - i):
            if x[i + j] < x[i]:
                least = False
        flags.append(least)
    return flags


def primes(x, n):
    count = 0
    for i in range(2, n):
        for d in range(2, i):
            if d * d > i:
                count += 1
                break
            if i % d == 0:
                break
        else:
            count += 1
    return count


def collatz_steps(x, n):
    steps = longest = 0
    for start in range(1, n):
        k, own = start, 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            own += 1
        steps += own
        longest = max(longest, own)
    return steps, longest


def divisors(x, n):
    total = 0
    for i in range(n):
        a, b = i + 3, 12
        while b:
            a, b = b, a % b
        total += a
    return total


def bubble_sorted(x, n):
    y = x[:n].copy()
    for i in range(n):
        for j in range(n - i - 1):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    return y


def insertion_sorted(x, n):
    y = x[:n].copy()
    for i in range(1, n):
        j, item = i, y[i]
        while j > 0 and y[j - 1] > item:
            y[j] = y[j - 1]
            j -= 1
        y[j] = item
    return y


def product(x, n):
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += x[i] * x[k] + j
            c[i, j] = s
    return c


def common(x, n):
    t = np.zeros((n + 1, n + 1), dtype=int)
    for i in range(n):
        for j in range(n):
            if x[i] > 0 and x[j] > 0.1:
                t[i + 1, j + 1] = t[i, j] + 1
            else:
                t[i + 1, j + 1] = max(t[i, j + 1], t[i + 1, j])
    return t


def best_pair(x, n):
    best, where = None, "nowhere"
    for i in range(n):
        for j in range(i):
            if best is None or x[i] * x[j] > best:
                best, where = x[i] * x[j], "below" if j < 3 else "above"
    return best, where


def waves(x, n):
    s = 0.0
    for i in range(n):
        for j in range(1, i):
            s += math.sin(x[j]) / math.sqrt(j) + math.floor(x[i]) ** 2 + round(x[j] * 3)
    return s


def over_an_array(x, n):
    total = 0.0
    for i in range(n):
        for value in x:
            if value > 2 * i:
                break
            total += value
    return total


def types_change(x, n):
    """A turn of the inner loop gives others than it takes, and so does the loop."""
    total = 0
    for i in range(n):
        last, count = None, 0
        for j in range(i % 4):
            count = count + x[j] if j % 3 == 1 else count + 1
            last = j
        total = total + count
        if last is None:
            total = total + 1
        elif last > 1:
            total = float(total)
    return total, last if n else None


def of_mixed_numbers(x, n):
    mixed = [1, 2.5, True, 3, -0.5, 10**6]
    total, kinds = 0, 0
    for i in range(n):
        for item in mixed:
            if item > 1:
                total = total + item
            else:
                kinds += 1
        total = total - mixed[i % 6]
    return total, kinds


def behind_no_turn(x, n):
    """What the loop variables are behind an inner loop that has no turn now and then."""
    j = found = -1
    total = 0
    for i in range(n):
        for j in range(i % 3):
            if x[j] > 5:
                found = j
                break
        else:
            total += 1
        total += 10 * j + found
    return total, j, found


def states(x, n):
    state, seen = "low", 0
    for i in range(n):
        for j in range(3):
            if state == "low" and x[i] > 0:
                state = "high"
            elif state != "low" and x[j] < x[i]:
                state = "low"
                seen += 1
    return state, seen


def counted_by_elements(x, n):
    places = (x > 0).astype(np.int64) + np.arange(len(x)) % 3
    counts, table = np.zeros(5, int), [0] * 5
    for i in range(n):
        for k in range(i % 5):
            counts[places[i]] += k
            table[places[i]] += 1
    return counts, table


def crossed_out(x, n):
    left = [True] * (n + 40)
    for i in range(2, n):
        for j in range(2 * i, n + 40, i):
            left[j] = False
    return left


def two_at_once(x, n):
    firsts, seconds = [], []
    for i in range(n):
        for j in range(i % 5):
            firsts.append(x[i] * j)
            seconds.append(j)
    return firsts, seconds


def left_behind_a_write(x, n):
    """The turn that leaves writes before: once."""
    y = np.zeros((n, 4))
    for i in range(n):
        for j in range(4):
            y[i, j] += 1
            if y[i, j] + j > 2.5 and i > 30:
                return y, i, j
    return y, -1, -1


PROGRAMS = {f.__name__: f for f in (
    is_least, primes, collatz_steps, divisors, bubble_sorted, insertion_sorted, product, common,
    best_pair, waves, over_an_array, types_change, of_mixed_numbers, behind_no_turn, states,
    counted_by_elements, crossed_out, two_at_once, left_behind_a_write,
)}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_nested_loops_of_numbers_do_what_they_do_plain(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for count in COUNTS:
            compare(function, compiled, (X, count))
        before = turns_of_numbers(compiled)
        compare(function, compiled, (X, 40))
    # All of its inner turns, or nearly.
    assert turns_of_numbers(compiled) - before >= 70
    assert compiled.stats.fallbacks == 0


def test_what_loops_within_a_turn_wrote_is_taken_back_where_it_is_not_for_the_machine() -> None:
    def halved(x, table, n):
        s = 0.0
        for i in range(n):
            for j in range(4):
                x[i] = x[i] * 0.5 + j
                table[j] = 30 - i
            s += x[i + 1] / table[0]  # out of range, or a division that warns
        return s

    compiled = dvm.compile(halved)
    with dvm.stance("force_capture"):
        for count in (3, 4, 12, 40, 39, 30):
            for table in (np.zeros(4), np.zeros(4, int)):
                compare(halved, compiled, (X, table, count))
        compare(halved, compiled, (X, np.zeros(3), 40))
    assert turns_of_numbers(compiled) > 90


def test_loops_within_a_turn_leave_integers_beyond_64_bits_to_python() -> None:
    def grown(start, n):
        total = 0
        for i in range(n):
            k = start
            for _ in range(i):
                k = k * 3 + 1
            total = total + k
        return total

    compiled = dvm.compile(grown)
    with dvm.stance("force_capture"):
        for start in (3, 2**40, -(2**62), True):
            for count in (3, 4, 20, 60):
                compare(grown, compiled, (start, count))


def test_a_turn_that_takes_long_can_be_interrupted() -> None:
    def counted(n):
        total = 0
        for i in range(n):
            for j in range(n):
                total += (i * j) % 7
        return total

    compiled = dvm.compile(counted)
    for count in (3, 4, 50, 60):
        compare(counted, compiled, (count,))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_under_timer(lambda: compiled(10**6), interrupt)
    compare(counted, compiled, (50,))


def test_texts_that_a_loop_passes_on_are_not_kept() -> None:
    def last_above(names, x, n, none):
        found = none
        for i in range(n):
            for j in range(i):
                if x[j] > x[i]:
                    found = names
        return found

    compiled = dvm.compile(last_above)
    names = "".join(["na", "mes"])
    with dvm.stance("force_capture"):
        for count in (3, 4, 30, 40, 40):
            compare(last_above, compiled, (names, X, count, "none"))
        references = sys.getrefcount(names)
        for _ in range(20):
            compiled(names, X, 40, "none")
    assert sys.getrefcount(names) == references


def test_a_path_that_the_inner_loop_learns_later_is_for_the_machine_too() -> None:
    def clipped(x, limit, n):
        total = 0.0
        for i in range(n):
            for j in range(n):
                total += limit if x[j] > limit else x[i]
        return total

    compiled = dvm.compile(clipped)
    with dvm.stance("force_capture"):
        for limit in (100.0, 100.0, 0.0, 0.5, 0.5):
            for count in (20, 30):
                compare(clipped, compiled, (X, limit, count))
    assert come_to_run_as_numbers(compiled, turns_of_numbers(compiled) + 399, X, 0.5, 20)


@pytest.mark.parametrize("part", range(2))
def test_written_nested_loops_do_compiled_what_they_do_plain(part: int) -> None:
    used = 0
    with dvm.stance("force_capture"):
        for seed in range(part, PROGRAMS_WRITTEN, 2):
            source = Writer(seed).source()
            function = function_of(source, seed)
            compiled: Callable[..., Any] = dvm.compile(function)
            for number in range(8):
                with warnings.catch_warnings():
                    compare(function, compiled, arguments(seed, number), source)
            used += turns_of_numbers(compiled) > 0
    assert used > 0


def written_before(a, n):
    for i in range(n):
        a[i, 0] = a[i, 1] * 0.5 + i
        if i % 3:
            a[i, 1] = a[i, 0] - 1.0
        for j in range(2, a.shape[1]):
            a[i, j] = a[i, j] + a[i, j - 1] / a[i, 0]
    return a[0, 0]


def written_before_an_error(a, n):
    for i in range(n):
        a[i, 0] = a[i, 1] + 1.0
        for j in range(i):
            a[i, j + 1] = a[i, j] * 0.5 + a[i, j + 40 - i]
    return a[0, 0]


@pytest.mark.parametrize("function", [written_before, written_before_an_error])
def test_a_loop_finds_what_was_written_before_it(function: Any) -> None:
    """A turn that fails, for a quotient warns or an index is none, has written nothing."""
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for number, n in enumerate((12, 30, 20, 40, 30, 25, 45, 40)):
            a = np.random.default_rng(number).normal(size=(41, 41))
            if number % 2:
                a[n // 2, 1] = -n  # with which something is 0
            compare(function, compiled, (a, n))
    assert turns_of_numbers(compiled) > 60
