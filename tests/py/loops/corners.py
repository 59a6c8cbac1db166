"""Loops with a corner each: what their turns see of one another must stay what it is in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Random = np.random.Generator
CORNERS: dict[str, tuple[Callable[..., Any], Callable[[Random, int], tuple[Any, ...]]]] = {}


def corner(make: Callable[[Random, int], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """Register a function, with its arguments for (random, count)."""

    def register(function: Any) -> Any:
        CORNERS[function.__name__] = function, make
        return function

    return register


def rows(r: Random, n: int) -> tuple[Any, ...]:
    return r.random((n + 3, 4)), r.random(4), n


def some(r: Random, n: int) -> tuple[Any, ...]:
    return r.random(6), r.random(6), n


@corner(rows)
def negative_index(A, x, n):
    for i in range(n):
        x = x + A[i - 1]
    return x


@corner(lambda r, n: (r.random(9), 0.0, n))
def clamped_slices(A, x, n):
    for i in range(n):
        x = x + A[i : i + 3].sum()
    return x


@corner(rows)
def shifted_scalars(A, x, n):
    a = b = c = 0
    for r in A[:n]:
        a, b, c = r.sum(), a, b
    return a, b, c


@corner(rows)
def rows_written(A, x, n):
    for r in A[:n]:
        r += A[0]
    return A


@corner(some)
def swapped(a, b, n):
    for _ in range(n):
        b[1:-1] = a[:-2] + a[2:]
        a, b = b, a
    return a, b


@corner(some)
def view_of_what_is_written(x, y, n):
    v = x[::2]
    for _ in range(n):
        v += 1
        x *= 2
    return v, x


@corner(some)
def overlapping_shift(x, y, n):
    for _ in range(n):
        x[1:] = x[:-1] + 1
    return x


@corner(lambda r, n: ([1.0], n))
def grows_by_itself(h, n):
    for i in range(n):
        h.append(h[-1] + h[i // 2])
    return h


@corner(rows)
def appended_views(A, x, n):
    o = []
    for i in range(n):
        o.append(A[i])
        A[0] += 1
    return o


@corner(some)
def appended_and_written(x, y, n):
    o = []
    for _ in range(n):
        x += 1
        o.append(x)
    return o


@corner(some)
def closures_of_the_index(x, y, n):
    return [f() for f in [lambda: x * i for i in range(n)]]


@corner(some)
def index_behind(x, y, n):
    i = -5
    for i in range(n):
        x = x * 2
    return x, i


@corner(some)
def index_behind_if_any(x, y, n):
    for i in range(n):
        x = x * 2
    return x, i


@corner(some)
def broken(x, y, n):
    for _ in range(n):
        x = x / 2
        if x.max() < 0.3:
            break
    else:
        x = -x
    return x


@corner(some)
def continued(x, y, n):
    k = 0
    while (k := k + 1) < n:
        if k % 3 == 0:
            continue
        x = x + k
    return x


@corner(lambda r, n: (r.random(4) + n,))
def until_small(x):
    while x.max() > 1:
        x = np.sqrt(x - 1)
    return x


@corner(rows)
def raises_within(A, x, n):
    with np.errstate(divide="raise"):
        for i in range(n):
            A[i] += 1
            x = x / (2 - i)
    return x


@corner(rows)
def caught(A, s, n):
    for i in (0, 99, 1):
        try:
            s = s + A[i]
        except IndexError:
            s = s - 1
    return s


@corner(lambda r, n: (r.random((n, 2)), 0.0))
def one_iterator_twice(A, s):
    it = iter(A)
    for a, b in zip(it, it):
        s = s + a * b
    return s, list(it)


@corner(rows)
def the_rest_of_a_generator(A, x, n):
    g = (row for row in A)
    for r, i in zip(g, range(n)):
        x = x + r
    return x, next(g)


@corner(lambda r, n: ([1.0], n))
def list_that_grows(L, n):
    for y in L:
        if len(L) < n:
            L.append(y + 1)
    return L


class Counter:
    def __init__(self) -> None:
        self.n, self.h = 0, np.zeros(4)


@corner(rows)
def attributes(A, x, n):
    state = Counter()
    for r in A[:n]:
        state.n += 1
        state.h = state.h * 0.9 + r
    return state.n, state.h


@corner(rows)
def sizes_that_grow(A, x, n):
    for r in A[:n]:
        x = np.concatenate([x, r[:2]])
    return x


@corner(lambda r, n: (r.random(4), n))
def large_numbers(x, s):
    for i in range(30):
        s = s * 31 + i
        x = x * (s % 7)
    return x, s


@corner(lambda r, n: (r.random((n, n)),))
def triangle(A):
    n = len(A)
    for i in range(n):
        for j in range(i, n):
            A[j, i] = A[i, j] * 2
    return A


def power(x, n):
    return x if n == 0 else power(x * 2, n - 1) + x


@corner(lambda r, n: (r.random(3), n))
def recursion(x, n):
    return power(x, n)


@corner(some)
def returned_from_within(x, y, n):
    for i in range(n):
        x = x + y
        if x.sum() > 12:
            return x * i
    return x


@corner(some)
def dtype_that_changes(x, y, n):
    x = x.astype(np.float32)
    for i in range(n):
        x = x + y if i == 2 else x * 2
    return x


@corner(some)
def int_that_becomes_an_array(x, y, n):
    total = 0
    for _ in range(n):
        total = total + x
    return total


@corner(some)
def set_in_some_turns(x, y, n):
    last = None
    for i in range(n):
        if i % 2:
            last = x
        x = x * 2
    return last, x


@corner(some)
def alias_that_starts(x, y, n):
    y = x
    for _ in range(n):
        y = y + x
        x[0] += 1
    return x, y


@corner(some)
def written_behind(x, y, n):
    z = x
    for _ in range(n):
        z = z + y
    z += 1
    return z, x


@corner(some)
def same_argument_twice(x, y, n):
    a = b = x
    for _ in range(n):
        a = a + b
        b = b * 0.5
    return a, b


@corner(rows)
def last_row_behind(A, x, n):
    row = x
    for row in A[:n]:
        x = x + row
    return row, x


@corner(rows)
def row_view_of_written(A, x, n):
    row = x
    for i in range(n):
        row = A[i]
        row *= 2
    return row, A


@corner(some)
def swapped_and_written_behind(a, b, n):
    for _ in range(n):
        a, b = b, a
    a[0] = 5.0
    return a, b


def inner_sum(x, k):
    total = x * 0
    for i in range(k):
        total = total + x * i
    return total


@corner(some)
def called_with_loops(x, y, n):
    return inner_sum(x, n) + inner_sum(y, n + 1)


@corner(some)
def warns_at_a_turn(x, y, n):
    for i in range(n):
        x = np.log(x - 0.2 * i)
    return x


@corner(some)
def with_a_comprehension(x, y, n):
    for i in range(n):
        x = x + sum(v * i for v in (x, y))
    return x


@corner(some)
def cell_of_a_helper(x, y, n):
    k = 0

    def count() -> int:
        nonlocal k
        k += 1
        return k

    for _ in range(n):
        x = x + count()
    return x, k


@corner(some)
def zeros_of_both_signs(x, y, n):
    s = -0.0
    for i in range(n):
        s = s * -1.0
        x = x * s
    return x, s


@corner(lambda r, n: (np.arange(6), n))
def integers_that_wrap(x, n):
    for _ in range(n):
        x = x * 1_000_003 + 7
    return x


@corner(some)
def deleted_variable(x, y, n):
    for i in range(n):
        t = x * i
        x = t + 1
        del t
    return x


@corner(some)
def tuple_from_within(x, y, n):
    for i in range(n):
        x = x + y
        y[0] += 1
        if x.sum() > 12:
            return x, y, i
    return x, y, -1


@corner(some)
def pair_that_is_carried(x, y, n):
    pair = (x, 0)
    for i in range(n):
        pair = (pair[0] * 0.5 + y, i)
    return pair
