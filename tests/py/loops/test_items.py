"""What loops of numbers iterate over: `enumerate` and `zip` of ranges, lists, arrays and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import differences, outcome
from loops.test_numbers import turns_of_numbers


def numbered(x: Any, n: int) -> Any:
    s, at = 0.0, -1
    for i, v in enumerate(x.tolist()):
        s = s * 0.5 + i * v
        if v > 0.9:
            at = i
    return s, at


def numbered_from(x: Any, n: int) -> Any:
    s = 0.0
    for i, v in enumerate(x, n):
        s = s + i * v
    return s, i if len(x) else None


def of_unequal_lengths(x: Any, n: int) -> Any:
    s = 0.0
    for i, a, b in zip(range(n, 10_000), x, x.tolist()[3:]):
        s = s * 0.5 + a * b - i
    return s


def strict(x: Any, n: int) -> Any:
    s = 0.0
    for a, b in zip(x, x.tolist()[: len(x) - (n > 60)], strict=True):
        s = s * 0.5 + a * b
    return s


def in_pairs(x: Any, n: int) -> Any:
    both = iter(x.tolist())
    s = 0.0
    for a, b in zip(both, both):
        s = s * 0.5 + a - b
    return s


def goes_on_behind(x: Any, n: int) -> Any:
    values = iter(x.tolist())
    s = 0.0
    for i, v in zip(range(n), values):
        s = s * 0.5 + i * v
    return s, list(values)[:3]


def goes_on_behind_numbered(x: Any, n: int) -> Any:
    values = enumerate(x.tolist())
    s = 0.0
    for i, v in values:
        s = s * 0.5 + i * v
        if i >= n:
            break
    return s, next(values, None)


def grows_meanwhile(x: Any, n: int) -> Any:
    values = x.tolist()
    s = 0.0
    for i, v in enumerate(values):
        s = s * 0.5 + i * v
        if i < n:
            values.append(v + 1)
    return s, len(values)


def kinds_change(x: Any, n: int) -> Any:
    values = [*x.tolist(), 3, np.float64(2.5), True, 2**70, *x.tolist()]
    s = 0.0
    for i, v in enumerate(values):
        s = s * 0.5 + i * v
    return s


def rows_beside(x: Any, n: int) -> Any:
    rows = np.outer(x, x[:4])
    total = np.zeros(len(x[:4]))
    for i, row in zip(range(n), rows):
        total = total * 0.5 + row * i
    return total


def within_another(x: Any, n: int) -> Any:
    s = 0.0
    for i, (a, b) in enumerate(zip(x.tolist(), x[::-1].tolist(), strict=True)):
        s = s * 0.5 + a * b - i
    return s


def kept_in_one_way(x: Any, n: int) -> Any:
    """The next turn goes another way, which it computes part of the first one's to find out."""
    i, p = 0, -1
    while i < len(x):
        i += 1
        if x[i - 1] > 0.5:
            p = i
        else:
            x[i - 1] = i
    return i, p


@pytest.mark.parametrize(
    "function",
    [
        *(numbered, numbered_from, of_unequal_lengths, strict, in_pairs, goes_on_behind),
        *(goes_on_behind_numbered, grows_meanwhile, kinds_change, rows_beside, within_another),
        kept_in_one_way,
    ],
    ids=lambda function: function.__name__,
)
def test_loops_over_tuples(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    with dvm.stance("force_capture"):
        for number, n in enumerate((50, 50, 90, 3, 0, 61, 90)):
            x = np.random.default_rng(number).random(100 if n else 0)
            plain, got = (outcome(each, [x.copy(), n]) for each in (function, compiled))
            assert differences(plain[0], got[0]) == []
            assert plain[1:3] == got[1:3]
    assert compiled.stats.hits > 0


def test_numbers_of_tuples_are_read_where_they_lie() -> None:
    compiled = dvm.compile(numbered)
    with dvm.stance("force_capture"):
        for number in range(4):
            compiled(np.random.default_rng(number).random(100), 1)
    assert turns_of_numbers(compiled) > 200


@pytest.mark.parametrize("make", [lambda n: [float(i) for i in range(n)], np.arange])
def test_backwards_is_one_body_for_all_lengths(make: Any) -> None:
    def horner(values: Any) -> float:
        total = 0.0
        for v in reversed(values):
            total = total * 0.5 + v
        return total

    compiled = dvm.compile(horner)
    with dvm.stance("force_capture"):
        for length in (5, 9, 20, 50, 3, 0, 1, 2, 7, 33, 200):
            assert compiled(make(length)) == horner(make(length))
    assert compiled.stats.captures <= 3
