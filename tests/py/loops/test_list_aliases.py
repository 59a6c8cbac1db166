"""A list that a loop changes has several names, or is in something else that the loop reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import dvm
from loops.check import compare


def names_change_places(x, n):
    a, b = [], []
    c = b
    for i in range(n):
        a.append(i)
        a, b = b, a
    return c, x


def is_in_a_tuple(x, n):
    a = []
    pair, total = (a, 1), 0
    for i in range(n):
        if i % 2 == 0:
            a.append(i)
        else:
            total += len(pair[0])
    return total, x


def is_in_a_tuple_of_tuples(x, n):
    a = [0.5]
    parts, total = ((a, 1), 2), x
    for i in range(n):
        if i % 3 == 0:
            a.append(i)
        else:
            total = total + parts[0][0][-1]
    return total


def has_two_names(x, n):
    a = []
    b, total = a, 0
    for i in range(n):
        if i % 2 == 0:
            a.append(i)
        else:
            total += len(b)
    return total, a is b, b, x


def is_iterated_over(x, n):
    a = [i for i in range(n)]  # noqa: C416
    b, total = a, 0
    for v in b:
        total += v
        if len(a) < 20:
            a.append(v)
    return total, a, x


@pytest.mark.parametrize(
    "function",
    [names_change_places, is_in_a_tuple, is_in_a_tuple_of_tuples, has_two_names, is_iterated_over],
)
def test_what_one_name_changes_the_others_show(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for count in (3, 4, 1, 2, 7, 10, 5, 13, 0, 30, 9):
        compare(function, compiled, (0.5, count))
