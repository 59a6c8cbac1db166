"""What turns on the machine of numbers do: each program is on it, and does what it does plain."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from benchmarks.scripts.graphs import bubble_sort

import dvm
from loops.check import compare, differences
from loops.test_numbers import turns_of_numbers

X = np.random.default_rng(7).normal(size=400)


def marked(x, n):
    out, count = np.zeros(n), np.zeros(n, np.int64)
    for i in range(n):
        if x[i] > 0.5:
            out[i] = 1.0
            count[i] = 7
        else:
            out[i] = i  # an int becomes a float
            count[i] = i - 3
    return out, count


def singles(x, n):
    """Python's floats become singles in NumPy."""
    out = np.zeros(n, np.float32)
    for i in range(n):
        out[i] = 0.1 if x[i] > 0 else 2.5
    return out


def turned(x, n):
    signs = np.where(x > 0, 1, -1)
    total = 0.0
    for i in range(n):
        signs[i] = -signs[i]
        total += abs(x[i]) - abs(signs[i])
    return signs, total


def waves(x, n):
    total = 0.0
    for i in range(n):
        total += math.sin(total) + math.cos(i) * math.exp(-x[i]) + math.sqrt(i)
        total -= math.tanh(total) + math.atan(x[i]) + math.tan(0.1)
    return total


def rows(x, n):
    path = np.empty((n, 3))
    a, b = 1.0, 2
    for i in range(n):
        a += x[i].item()
        path[i] = a, b, i
    return path


def rows_of_lists(x, n):
    path = np.zeros((2, n, 2))
    for i in range(n):
        path[1, i] = [float(i), i * 0.5]
    return path


def least_of_three(x, n):
    row = [float(v) for v in x[: n + 1]]
    for i in range(1, n):
        row[i] = min(row[i] + 1, row[i - 1] + 1.0, max(0.5, row[i] * 2, -1.0))
    return row


def averages(x, n):
    total = 0.0
    for t in range(5, n):
        total += x[t - 5 : t].mean() - x[t - 2 : t].mean()
    return total


@pytest.mark.parametrize(
    "function",
    [marked, turned, waves, rows, rows_of_lists, least_of_three],
    ids=lambda each: each.__name__,
)
def test_turns_are_on_the_machine(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for n in (200, 50, 300, 7, 0, 250):
        compare(function, compiled, (X, n))
    assert turns_of_numbers(compiled) > 500
    assert compiled.stats.hits >= 3, compiled.stats


def test_other_elements_are_what_numpy_makes_of_them() -> None:
    compiled = dvm.compile(singles)
    for n in (200, 50, 300):
        compare(singles, compiled, (X, n))


def test_means_of_slices() -> None:
    compiled = dvm.compile(averages)
    for n in (200, 50, 300, 3, 6, 250):
        assert np.isclose(averages(X, n), compiled(X, n), rtol=1e-12)
    assert compiled.stats.hits >= 3, compiled.stats


def fails_late(x, n, bad):
    """Python raises where C gives no number."""
    total = 0.0
    for i in range(n):
        total += math.sqrt(bad - i) + math.exp(x[i])
    return total


def exceeds(x, n, bad):
    total = 0.0
    for i in range(n):
        total += math.exp(bad * i)
    return total


@pytest.mark.parametrize("function", [fails_late, exceeds], ids=lambda each: each.__name__)
def test_what_math_raises_is_raised(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for n, bad in ((50, 1000.0), (60, 700.5), (300, 250.0), (200, 400.0), (90, math.inf)):
        compare(function, compiled, (X, n, bad))


def wide(x, n, width):
    path = np.zeros((n, width))
    for i in range(n):
        path[i] = 1.0 * i, 2.0
    return path


def test_a_row_of_another_length_is_numpys_error() -> None:
    compiled = dvm.compile(wide)
    for n, width in ((50, 2), (60, 2), (40, 3), (70, 2), (30, 1)):
        compare(wide, compiled, (X, n, width))


# ---- integers that are drawn


def dice(rng, n, sides):
    seen = [0] * 6
    total = 0
    for _ in range(n):
        value = rng.integers(sides)
        total += value
        if value < 3:
            seen[rng.integers(0, 6)] += 1
        total -= rng.integers(-5, 1 << 40) % 7
    return total, seen, rng.random()


def test_integers_are_drawn_as_numpy_draws_them() -> None:
    compiled = dvm.compile(dice)
    for number, (n, sides) in enumerate(((90, 6), (50, 1), (200, 1 << 33), (80, 4), (300, 6))):
        one, other = np.random.default_rng(number), np.random.default_rng(number)
        if number == 3:  # half of a draw of 64 bits is left
            for each in (one, other):
                each.integers(0, 10, dtype=np.uint32)
        assert not differences(dice(one, n, sides), compiled(other, n, sides))
        assert one.bit_generator.state == other.bit_generator.state
    assert turns_of_numbers(compiled) > 200


def empty(rng, n, low):
    total = 0
    for k in range(n):
        total += rng.integers(low - k)
    return total


def test_a_range_without_numbers_is_numpys_error() -> None:
    compiled = dvm.compile(empty)
    for number, (n, low) in enumerate(((50, 60), (60, 70), (40, 30), (50, 90.0), (20, 5))):
        outcomes = []
        for function in (empty, compiled):
            rng = np.random.default_rng(number)
            try:
                outcomes.append((function(rng, n, low), None, rng.bit_generator.state))
            except (ValueError, TypeError) as error:
                outcomes.append((None, str(error), rng.bit_generator.state))
        assert outcomes[0] == outcomes[1]


# ---- lists of which elements are replaced


def sieve(n):
    prime = [True] * (n + 1)
    for k in range(2, n):
        if prime[k]:
            for other in range(2 * k, n + 1, k):
                prime[other] = False
    return sum(prime), prime


def until_it_is_big(x, n):
    """Where a turn fails, what it has stored is taken back."""
    row = [1] * 300
    for i in range(n):
        row[i % 300] = row[(i - 1) % 300] * 3 + row[-1]
    return row


def kinds_in_turn(x, n):
    row = [0, 1.0, True, 2, 0.5] * 60
    for i in range(2, n):
        row[i] = row[i - 2]
        row[-i] = row[i] + row[i - 1]
    return row


def two_names(x, n):
    a = [0.0] * (n + 1)
    b = a
    for i in range(n):
        a[i] = b[i - 1] + x[i].item()
        b[i] += 1.0
    return a, a is b


def shrinks(x, n):
    a, b = [0.0] * (n + 1), [1.0] * n
    for i in range(n):
        a[i] = b.pop()
        b.insert(0, a[i - 1])
        a[i - 1] += 1.0
    return a, b


def goes_over(x, n):
    a = [0.5] * n
    total = 0.0
    for i in range(n):
        a[i] = total
        for each in a:
            total += each * 0.001
    return a, total


@pytest.mark.parametrize(
    "function",
    [until_it_is_big, kinds_in_turn, two_names, shrinks, goes_over],
    ids=lambda each: each.__name__,
)
def test_lists_hold_what_was_stored(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for n in (200, 50, 280, 7, 0, 250):
        compare(function, compiled, (X, n))


@pytest.mark.parametrize("of_floats", [False, True], ids=["ints", "floats"])
def test_lists_are_sorted_in_place(of_floats: bool) -> None:
    compiled = dvm.compile(bubble_sort)
    rng = np.random.default_rng(0)
    for _ in range(6):
        numbers = rng.normal(size=60) if of_floats else rng.integers(0, 1 << 40, 60)
        compare(bubble_sort, compiled, (numbers.tolist(),))
    assert turns_of_numbers(compiled) > 500


def test_many_elements_are_replaced() -> None:
    compiled = dvm.compile(sieve)
    for n in (50, 400, 1000, 60):
        compare(sieve, compiled, (n,))
    assert turns_of_numbers(compiled) > 500


# ---- ways


def four_ways(x, n):
    a = b = 0
    for i in range(n):
        d = int(x[i] * 10) % 4
        if d == 0:
            a += 1
        elif d == 1:
            a -= 1
        elif d == 2:
            b += 1
        else:
            b -= 1
        if a > 3:
            a = 0
    return a, b


def test_all_ways_that_were_recorded_are_known_at_once() -> None:
    compiled = dvm.compile(four_ways)
    for n in (300, 200, 390):
        compare(four_ways, compiled, (X, n))
    assert compiled.stats.captures == 1, compiled.stats


# ---- characters


def shifted(text, shift):
    out, asked = [], 0
    for c in text:
        if c.isalpha():
            out.append(chr((ord(c) - 97 + shift) % 26 + 97))
        else:
            out.append(c)
        asked += c.isdigit() + 2 * c.isspace() + 4 * c.isupper() + 8 * (c in "abc1")
    return "".join(out), asked


def windows(text, wanted):
    best = count = 0
    for k in range(20, len(text)):
        if text[k] in wanted:
            count += 1
        if text[k - 20] in wanted:
            count -= 1
        best = max(best, count)
    return best, count


TEXTS = ("some text 12 AB", "no digits here at all ", "Grüße, ö and ÿ ", "abc1", "x²½ ")


def test_characters_are_told_apart() -> None:
    compiled = dvm.compile(shifted)
    for number, text in enumerate(TEXTS):
        compare(shifted, compiled, (text * 40, number))
    compare(shifted, compiled, (TEXTS[0] * 30 + "\u4e00 \U0001f600" + TEXTS[1] * 30, 5))
    compare(shifted, compiled, ("", 5))
    assert turns_of_numbers(compiled) > 500


def test_characters_are_in_texts() -> None:
    compiled = dvm.compile(windows)
    for wanted in ("GC", "a", "", "xyzabc "):
        for text in TEXTS:
            compare(windows, compiled, (text * 30, wanted))
    assert turns_of_numbers(compiled) > 500


def test_codes_of_other_characters() -> None:
    def spelled(numbers):
        found = []
        for number in numbers:
            found.append(chr(number))
        return "".join(found), found

    compiled = dvm.compile(spelled)
    for least in (60, 200, 250, 0x10FFF0, -10):
        compare(spelled, compiled, (list(range(least, least + 40)),))
