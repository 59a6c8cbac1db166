"""A list that a loop changes has several names, or is in something else that the loop reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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


def is_replaced_late(x, n):
    a = [0] * 4
    b = a
    for i in range(n):
        if i > 5:
            a = [i, i + 1]
    a.append(7)
    return a, b, a is b, x


def is_one_of_two_new_ones(x, n):
    a, b = [0], [1]
    for i in range(n):
        b = [i, i + 1]
        a = b if i % 4 == 1 else [i]
        b[0] = 5
    a.append(7)
    return a, b, a is b, x


def holds_an_array_of_another(x, n):
    y, rows = np.full(3, x), [0.5]
    for i in range(n):
        y += 1
        rows = [i, y]
    rows[-1][0] = 9.0
    return rows, y, rows[-1] is y


@pytest.mark.parametrize(
    "function",
    [
        names_change_places,
        is_in_a_tuple,
        is_in_a_tuple_of_tuples,
        has_two_names,
        is_iterated_over,
        is_replaced_late,
        is_one_of_two_new_ones,
        holds_an_array_of_another,
    ],
)
def test_what_one_name_changes_the_others_show(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for count in (3, 4, 1, 2, 7, 10, 5, 13, 0, 30, 9):
        compare(function, compiled, (0.5, count))


def test_an_array_that_is_found_in_a_list_is_the_one_that_was_put_there() -> None:
    def found(x, n):
        z = x * 0
        rows, y, total = [z], x, 0
        for i in range(n):
            y = rows[0]
            total += i
        return y, z, total

    compiled = dvm.compile(found)
    for count in (3, 4, 1, 2, 5, 0):
        compare(found, compiled, (np.ones(3), count))
    assert compiled.stats.captures <= 3
