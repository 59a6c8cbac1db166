"""Sizes: symbolic in a path, but ordinary Python integers to the program."""

from __future__ import annotations

import math

import numpy as np

from semantics.world import World, case, close, floats, ints

SIZES = (4, 4, 6, 1, 0, 7, 4)


@case
def sizes_are_python_integers(w: World) -> None:
    @w.compiled
    def f(x):
        n = x.shape[0]
        return n, type(n).__name__, isinstance(n, int), n.bit_length(), hash(n) == n, str(n), {n: 1}

    for n in SIZES:
        w(f, floats(n))


@case
def arithmetic_with_sizes(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return (
            n * n - 1,
            n // 2,
            n % 3,
            -n,
            n / 4,
            n**2,
            2**n,
            ~n,
            n << 1,
            n & 1,
            divmod(n, 2),
            n - 5,
        )

    for n in SIZES:
        w(f, floats(n))


@case
def division_by_a_size(w: World) -> None:
    @w.compiled
    def f(x):
        n = x.shape[0]
        return x.sum() / n, x / n, 10 // n, 10 % n

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_in_a_slice(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return x[: n // 2], x[n // 2 :], x[: n - 1], x[1 - n :], x[-(n // 2) :], x[n:], x[:n:2]

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_as_an_index(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return x[n - 1], x[-n], x[n // 2], x[(n + 1) // 2 - 1]

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_makes_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return (
            np.zeros(n),
            np.arange(n),
            np.ones((n, 2)),
            np.full(n + 1, n),
            np.eye(n),
            np.arange(1, n, 2),
        )

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_that_becomes_negative(w: World) -> None:
    @w.compiled
    def f(x):
        return np.zeros(len(x) - 2) + 1

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_repeats_lists_and_strings(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return [0] * n, "ab" * n, (1, 2) * (n // 2), list(range(n)), bytes(n), f"{n:03d} {n / 2}"

    for n in SIZES:
        w(f, floats(n))


@case
def a_branch_on_a_size(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        if n == 0:
            return "empty"
        if n % 2:
            return x + 1
        return x - 1 if n > 4 else x * 2

    for n in SIZES:
        w(f, floats(n))


@case
def the_truth_of_a_size(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return (n and 5), (n or 6), not n, bool(n), x.size and x[0], n == 4 or n == 6

    for n in SIZES:
        w(f, floats(n))


@case
def two_sizes_compared(w: World) -> None:
    @w.compiled
    def f(x, y):
        if x.shape == y.shape:
            return x + y
        if len(x) > len(y):
            return x[: len(y)] * y
        return min(len(x), len(y)), max(x.shape, y.shape)

    for n, m in ((3, 3), (3, 3), (4, 2), (2, 4), (0, 0), (1, 1), (5, 5), (5, 1)):
        w(f, floats(n), floats(m))


@case
def a_size_read_before_and_after(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        y = np.concatenate([x, x[:1]])
        return len(y) - n, y.shape, y.size * n, y[n:], (y[:-1] == x).all()

    for n in SIZES:
        w(f, floats(n))


@case
def reshaped_by_sizes(w: World) -> None:
    @w.compiled
    def f(x):
        n, m = x.shape
        y = x.reshape(m, n) + 1
        z = x.reshape(n * m) * 2
        return y, z, x.reshape(n, 1, m), x.reshape(-1, m, 1).sum(axis=2), x.reshape(2, -1)

    for n, m in ((2, 3), (2, 3), (3, 2), (4, 4), (1, 2), (0, 2), (2, 0), (3, 3)):
        w(f, floats(n, m))


@case
def broadcast_that_depends_on_sizes(w: World) -> None:
    @w.compiled
    def f(x, y, z):
        return x * y + z

    for n, m, k in (
        (3, 3, 3),
        (3, 3, 3),
        (1, 3, 3),
        (3, 1, 3),
        (3, 3, 1),
        (1, 1, 3),
        (1, 1, 1),
        (2, 3, 1),
    ):
        w(f, floats(n), floats(m), floats(k))
        w(f, floats(2, n), floats(m), floats(1, k))


@case
def writing_where_sizes_must_fit(w: World) -> None:
    @w.compiled
    def f(x, y):
        x[1:] = y
        x[:1] += y[:1]
        return x

    for n, m in ((4, 3), (4, 3), (4, 1), (6, 5), (4, 2), (1, 0), (1, 1), (2, 1)):
        w(f, np.zeros(n), floats(m))


@close
@case
def functions_of_sizes(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        return (
            math.sqrt(n),
            math.ceil(n / 3),
            np.sqrt(n),
            x / math.sqrt(n),
            math.log2(n),
            round(n / 4),
        )

    for n in SIZES:
        w(f, floats(n))


@case
def loops_over_a_size(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        total = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else n - 1
            total += n
        return x + total, [i for i in range(len(x)) if i % 2], list(enumerate(x.shape))

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_is_stored(w: World) -> None:
    class Stats:
        seen, sizes = 0, ()

    s = w.watch(Stats())

    @w.compiled
    def f(x):
        s.seen += len(x)
        s.sizes = (*s.sizes[-2:], x.shape[0])
        s.last = x.shape
        return x * s.seen

    for n in SIZES:
        w(f, floats(n))


@case
def a_size_as_a_key(w: World) -> None:
    cache = w.watch({})

    @w.compiled
    def f(x):
        if x.shape not in cache:
            cache[x.shape] = np.arange(x.size)
        return x.ravel() + cache[x.shape]

    for shape in ((3,), (3,), (4,), (2, 2), (3,), (4,)):
        w(f, floats(*shape))
    cache[3,] = ints(1)
    w(f, floats(3))


@case
def windows_and_blocks(w: World) -> None:
    @w.compiled
    def f(x, k):
        n = len(x)
        blocks = x[: n // k * k].reshape(-1, k)
        return blocks.sum(axis=1), n - n // k * k, x[n // k * k :]

    for n, k in ((6, 2), (6, 2), (7, 2), (7, 3), (2, 3), (0, 1), (6, 0), (5, -1)):
        w(f, floats(n), k)


@case
def the_number_of_dimensions(w: World) -> None:
    @w.compiled
    def f(x):
        if x.ndim == 1:
            x = x[None]
        return x.sum(axis=x.ndim - 1), x.shape[::-1], x.shape[-1:], (*x.shape, 1), len(x.shape)

    for shape in ((3,), (3,), (2, 3), (2, 3, 4), (), (0,), (1, 1)):
        w(f, floats(*shape))


@case
def strides_and_bytes(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.strides,
            x.nbytes,
            x.itemsize * x.size,
            x.T.strides,
            (x + 1).strides,
            x.size == x.nbytes // 8,
        )

    for x in (
        floats(4),
        floats(4),
        floats(8)[::2],
        floats(2, 3),
        floats(2, 3).T,
        floats(0),
        ints(3),
    ):
        w(f, x)
