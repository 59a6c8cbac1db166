"""Loops that take elements off lists, or replace them, stay loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from loops.check import compare

COUNTS = (3, 4, 1, 2, 7, 10, 5, 13, 6, 8, 9, 0, 30)
PROGRAMS: dict[str, Callable[..., Any]] = {}
#: captures of those of which turns, or the ends of loops, go more ways
MOST = {"shortened_from_the_end": 5, "two_names": 4}


def program(function: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[function.__name__] = function
    return function


@program
def stack(x, n):
    left, found = [n], []
    while left:
        k = left.pop()
        found.append(k * x)
        if k > 1:
            left.append(k - 1)
    return found


@program
def depth_first(x, n):
    left, found = [(n, 0)], []
    while left:
        k, depth = left.pop()
        found.append(k * 10 + depth)
        if k > 1:
            left.append((k // 2, depth + 1))
            left.append((k // 3, depth + 1))
    return found, left, x


@program
def evaluated(x, n):
    values = []
    for i in range(n):
        values.append(i * x)
        if i % 3 == 2:
            right = values.pop()
            left = values.pop()
            values.append(left - right)
    return values, len(values)


@program
def two_stacks(x, n):
    arrived, leaving, total = [], [], x
    for i in range(n):
        arrived.append(i)
        if i % 3 == 1:
            if not leaving:
                while arrived:
                    leaving.append(arrived.pop())
            total = total * 0.5 + leaving.pop()
    return total, arrived, leaving


@program
def first_come(x, n):
    queue, total = [n], 0
    while queue:
        k = queue.pop(0)
        total += k
        if k > 0:
            queue.append(k // 2 - 1)
            queue.append(k - 3)
    return total, x


@program
def histogram(x, n):
    counts = [0] * 5
    for i in range(n):
        counts[i * i % 5] += 1
    return counts, x


@program
def sieve(x, n):
    is_prime = [True] * (n + 2)
    for i in range(2, n):
        if is_prime[i]:
            for j in range(i * i, n, i):
                is_prime[j] = False
    return [i for i in range(2, n) if is_prime[i]], x


@program
def fibonacci(x, n):
    numbers = [0] * (n + 2)
    numbers[1] = 1
    for i in range(2, n + 1):
        numbers[i] = numbers[i - 1] + numbers[i - 2]
    return numbers[n], numbers, x


@program
def best_so_far(x, n):
    best = [0.0] * (n + 1)
    for i in range(1, n + 1):
        best[i] = max(best[i - 1] * 0.5, x * i)
    return best


@program
def coins(x, n):
    fewest = [0] + [99] * n
    for i in range(1, n + 1):
        for coin in (1, 3, 4):
            if coin <= i and fewest[i - coin] + 1 < fewest[i]:
                fewest[i] = fewest[i - coin] + 1
    return fewest[n], x


@program
def remembered(x, n):
    known = [None] * (n + 1)
    for i in range(n):
        for j in (i // 2, i):
            if known[j] is None:
                known[j] = j * x
    return known


@program
def union(x, n):
    parent = list(range(n))
    for i in range(n):
        a = i
        while parent[a] != a:
            a = parent[a]
        parent[a] = parent[(i * 3 + 1) % n]
    return parent, x


@program
def bubbles(x, n):
    a = [(i * 7) % (n + 1) for i in range(n)]
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a, x


@program
def insertions(x, n):
    a = [(i * 7) % (n + 1) * x for i in range(n)]
    for i in range(1, n):
        key, j = a[i], i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program
def longest_rising(x, n):
    values = [i * 7 % 11 for i in range(n)]
    lengths = [1] * n
    for i in range(n):
        for j in range(i):
            if values[j] < values[i] and lengths[j] + 1 > lengths[i]:
                lengths[i] = lengths[j] + 1
    return max(lengths, default=0), lengths, x


@program
def turned_around(x, n):
    a = list(range(n))
    for i in range(n // 2):
        a[i], a[-1 - i] = a[-1 - i], a[i]
    return a, sum(a), len(a), x


@program
def read_behind_a_store(x, n):
    a, found = [0.0] * 4, []
    for i in range(n):
        a[i % 4] = i * x
        found.append(a[i % 4] + a[(i + 1) % 4] + a[-1])
    return a, found


@program
def rolling_window(x, n):
    window, means = [], []
    for i in range(n):
        window.append(i * x)
        if len(window) > 3:
            del window[0]
        means.append(sum(window) / len(window))
    return means, window


@program
def shortened_from_the_end(x, n):
    a = [i * x for i in range(n)]
    while a and a[-1] > 1.0:
        del a[-1]
    return a, bool(a)


@program
def cleared_now_and_then(x, n):
    part, sizes = [], []
    for i in range(n):
        part.append(i)
        if i % 4 == 3:
            sizes.append(len(part))
            part.clear()
    return sizes, part, x


@program
def put_in_front(x, n):
    a = []
    for i in range(n):
        a.insert(0, i * x)
        if i % 3 == 2:
            a.reverse()
    return a


@program
def two_names(x, n):
    a = [0] * 3
    b = a
    for i in range(n):
        a[i % 3] += 1
        b[0] += b[1]
    return a, b, a is b, x


@program
def changed_behind_the_loop(x, n):
    a = [0.5] * (n + 2)
    for i in range(n):
        a[i] = i * x
    a[0] = 3.0
    a[-1] = a[0] + a[1]
    last = a.pop()
    return last, a, a[-1], len(a)


@program
def rows_of_a_triangle(x, n):
    row = [1]
    for _ in range(n):
        row.append(1)
        for j in range(len(row) - 2, 0, -1):
            row[j] += row[j - 1]
    return row, x


@program
def cells(x, n):
    cells = [0] * 11
    cells[5] = 1
    for _ in range(n):
        cells = [cells[i - 1] ^ cells[(i + 1) % 11] for i in range(11)]
    return cells, cells[-1], x


@program
def breadth_first(x, n):
    queue, distances = [0], [-1] * (n + 1)
    distances[0] = 0
    while queue:
        place = queue.pop(0)
        for other in (place + 1, place * 2, place + 3):
            if other <= n and distances[other] < 0:
                distances[other] = distances[place] + 1
                queue.append(other)
    return distances, x


@program
def quick_sort(x, n):
    a, left = [(i * 7) % 11 for i in range(n)], [(0, n - 1)]
    while left:
        low, high = left.pop()
        if low >= high:
            continue
        i = low
        for j in range(low, high):
            if a[j] < a[high]:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        left.append((low, i - 1))
        left.append((i + 1, high))
    return a, x


@program
def met_before(x, n):
    met, k = [], n
    while k not in met:
        met.append(k)
        k = (k * 3 + 1) % 7
    return met, x


@program
def heap(x, n):
    a = []
    for i in range(n):
        a.append((i * 7) % 13)
        k = len(a) - 1
        while k > 0 and a[(k - 1) // 2] < a[k]:
            a[k], a[(k - 1) // 2] = a[(k - 1) // 2], a[k]
            k = (k - 1) // 2
    return a, x


@program
def counted_labels(x, n):
    counts, labels = [0] * 5, np.arange(n) * 3
    for i in range(n):
        counts[labels[i] % 5] += 1
    return counts, x


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_body_for_any_number_of_changes(name: str) -> None:
    function = PROGRAMS[name]
    compiled = dvm.compile(function)
    for count in COUNTS:
        compare(function, compiled, (0.5, count))
    stats = compiled.stats
    most = MOST.get(name, 3)
    assert stats.captures <= most, (
        stats,
        [loop.reason for loop in vars(compiled)["loops"].values()],
    )
    assert stats.fallbacks == 0, compiled.fallback_reasons


def taken_off_too_often(x, n):
    a = [1.0, 2.0, 3.0, 4.0]
    for _ in range(n):
        x = x + a.pop()
    return x, a


def stored_beyond_the_end(x, n):
    a = [0] * 6
    for i in range(n):
        a[i] = i
    return a, x


def counted_from_the_end_too_far(x, n):
    a = [0] * 6
    for i in range(n):
        a[-i] = i
    return a, x


def found_behind_what_raised(x, n):
    a = [0] * 6
    try:
        for i in range(n):
            a[i] = i
            x = x + a[i]
    except IndexError as error:
        return str(error), a, x
    return a, x


def indexed_by_a_float(x, n):
    a = [0] * 6
    for i in range(n):
        a[i if i < 4 else x] = i
    return a


def keeps_what_it_is(x, n):
    a = [0] * 4
    for i in range(n):
        a[i % 4] = (i, True, float("nan"), np.float32(i), -0.0, np.int64(i))[i % 6]
    return a, [type(each) for each in a], x


def holds_itself(x, n):
    a, b = [], [0] * 2
    for i in range(n):
        a.append(a if i == 4 else i)
        b[i % 2] = a if i == 3 else i
    return len(a), [type(each) for each in (*a, *b)], x


def has_no_number_twice(x, n):
    nan, count = float("nan"), 0
    a = [nan]
    for _ in range(n):
        a.append(float("nan"))
        count += (nan in a) + 10 * (a[-1] in a) + 100 * (float("nan") in a)
    return count, x


def has_a_tuple_that_is_one_object(x, n):
    pair = (x, n)
    a = [pair]
    for i in range(n):
        a.append(pair if i % 2 else (x, i))
        a.pop(0)
    return [each is pair for each in a], a[-1] is pair, a


def finds_a_list_empty(x, n):
    a = [i * x for i in range(n)]
    while True:
        try:
            x += a.pop()
        except IndexError as error:
            return x, str(error), a


def changes_the_callers(x, n):
    for i in range(n):
        x[i % 3] += 1.5
    return x.pop()


def changes_the_callers_under_two_names(x, n):
    y = x
    for i in range(n):
        x[i % 3] += 1.5
        if y[0] > 4:
            y[1] = 0.0
    return x, y


@pytest.mark.parametrize(
    "function",
    [
        taken_off_too_often,
        stored_beyond_the_end,
        counted_from_the_end_too_far,
        found_behind_what_raised,
        indexed_by_a_float,
        keeps_what_it_is,
        holds_itself,
        has_no_number_twice,
        has_a_tuple_that_is_one_object,
        finds_a_list_empty,
    ],
)
def test_what_raises_or_is_of_several_types_does_as_in_python(function: Any) -> None:
    compiled = dvm.compile(function)
    for count in (3, 4, 2, 5, 7, 1, 0, 6, 8, 9, 3):
        compare(function, compiled, (0.5, count))


@pytest.mark.parametrize("function", [changes_the_callers, changes_the_callers_under_two_names])
def test_a_list_of_the_callers_is_changed_as_in_python(function: Callable[..., Any]) -> None:
    compiled = dvm.compile(function)
    for count in (3, 4, 2, 5, 7, 1, 0, 6):
        compare(function, compiled, ([1.0, 2.0, 3.0], count))


def test_a_path_is_for_any_length_until_one_asks_for_the_elements() -> None:
    def elements(x, n):
        a = [1.0] * n + [x]
        a[0] = 2.0
        first, *others = a
        return first, others

    compiled = dvm.compile(elements)
    for count in (3, 4, 1, 2, 3, 0):
        compare(elements, compiled, (0.5, count))
    assert compiled.stats.captures == 5
    assert compiled.stats.hits == 1
