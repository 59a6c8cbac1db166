"""What a loop has put into a list is used behind it, however many turns there were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare

COUNTS = (3, 4, 1, 2, 7, 20, 5, 13, 1, 30, 6, 11)
PROGRAMS: dict[str, Callable[..., Any]] = {}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


@program
def added_up(x, n):
    return sum([x * i for i in range(n)])


@program
def added_up_from_a_number(x, n):
    return sum([float(i) for i in range(n)], 2.5) * x


@program
def largest_and_smallest(x, n):
    found = [i * 7 % 5 for i in range(n)]
    return max(found), min(found, default=3), x


@program
def largest_by_a_key(x, n):
    return max([i - 4 for i in range(n)], key=abs), x


@program
def any_and_all(x, n):
    found = [i % 7 == 6 for i in range(n)]
    return any(found), all(found), x


@program
def mean_of_rows(x, n):
    return np.mean([x * i for i in range(n)], axis=0)


@program
def as_an_array(x, n):
    return np.asarray([i * 0.5 for i in range(n)]).sum() + x


@program
def length(x, n):
    found = [i for i in range(n) if i % 2 == 0]
    return x * len(found)


@program
def truth(x, n):
    found = [i for i in range(n) if i >= 0]
    if not found:
        return x
    return -x if bool(found) else x


@program
def last(x, n):
    found = [x]
    for _ in range(n):
        found.append(found[-1] * 0.5)
    return found[-1] + found[0]


@program
def last_number(x, n):
    found = [i * i for i in range(n)]
    found.append(n)
    return x * found[-2] + found[-1]


@program
def middle(x, n):
    found = sorted([i * 7 % 5 for i in range(n)])
    return found[len(found) // 2] * x


@program
def row_written_into(x, n):
    rows = [x * i for i in range(n)]
    rows[0][:] = 3
    rows[-1][1:] = 5
    return rows


@program
def slices(x, n):
    found = [i * 0.5 for i in range(n)]
    total = 0.0
    for a, b in zip(found, found[1:]):  # noqa: RUF007
        total += a * b
    return total, found[::-1], x


@program
def appended_to_behind(x, n):
    found = [i * 0.5 for i in range(n)]
    found.append(7.0)
    other = list(found)
    other.append(1.0)
    return sum(found), len(found), found[-1], other, found, x


@program
def sorted_backwards(x, n):
    return sorted([i * 7 % 5 for i in range(n)], reverse=True), x


@program
def a_loop_over_a_sorted_list(x, n):
    total = 0
    for place, value in enumerate(sorted([i * 7 % 5 for i in range(n)])):
        total += place * value
    return total * x


@program
def filled_by_nested_loops(x, n):
    found = []
    for i in range(n):
        for j in range(i):
            found.append(i * j * 0.5)
        found.append(0.25)
    return found, x


@program
def nested_comprehension(x, n):
    return [i * j * 0.5 for i in range(n) for j in range(i)], x


@program
def filled_by_two_loops(x, n):
    found = []
    for i in range(n):
        found.append(i * 0.5)
    found.append(7.0)
    first = found[-1], len(found)
    for i in range(n):
        found.append(found[-1] - i)
    return found, first, found[-1], len(found), x


@program
def looked_into_while_it_grows(x, n):
    found = [1.0]
    for i in range(n):
        found.append(len(found) * 0.5 + found[-1] + i)
        if found[-1] > 20 and not found[0] > 2:
            break
    return found, x


@program
def read_in_another_loop(x, n):
    weights, total = [0.5, 2.0, x], x * 0
    for i in range(n):
        total = total + weights[i % 2] * weights[2]
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_list_of_any_length_is_used_behind_the_loop_that_filled_it(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    random = np.random.default_rng(3)
    for number, count in enumerate(COUNTS):
        compare(function, compiled, (random.random((5, 2, 17)[number % 3]), count))
    stats = compiled.stats
    assert stats.captures <= 3, (stats, [loop.reason for loop in vars(compiled)["loops"].values()])
    assert stats.fallbacks == 0, compiled.fallback_reasons


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: max([x * i for i in range(n)]),
        lambda x, n: [x * i for i in range(n)][-1],
        lambda x, n: [x * i for i in range(n)][3],
        lambda x, n: np.stack([np.full(2, i * x) for i in range(n)]),
        lambda x, n: sorted([x * i for i in range(n)])[0],
        lambda x, n: sum([np.ones(i % 9 + 1) * x for i in range(n)]),
    ],
)
def test_what_raises_for_some_lengths_raises_for_those(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for count in (3, 5, 0, 1, 7, 2, 0, 12, 4):
        compare(function, compiled, (2.5, count))
