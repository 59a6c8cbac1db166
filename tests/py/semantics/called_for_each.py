"""Functions of the user's that NumPy calls for each element: np.vectorize, np.frompyfunc."""

from __future__ import annotations

import math

import numpy as np

from semantics.world import World, case, floats, ints

LIMIT = 2.0


def clipped(value, limit=1.5):
    return limit if value > limit else value


def with_helpers(value):
    if value < 0:
        return math.sqrt(-value) + LIMIT
    total = 0.0
    for k in range(3):
        total += clipped(value, k) * np.float64(2)
    return max(total, LIMIT)


@case
def made_outside(w: World) -> None:
    vector = np.vectorize(with_helpers)
    typed = np.vectorize(clipped, otypes=[float])
    pairs = np.vectorize(lambda a, b: (a + b, a * b))
    ufunc = np.frompyfunc(clipped, 2, 1)

    @w.compiled
    def f(x):
        y = vector(x) + typed(x * 2, 1.0)
        total, product = pairs(x, 2.0)
        return y, total - product, ufunc(x, 0.5).astype(float), ufunc.outer(x, x).sum()

    for shape in ((3,), (3,), (4,), (5,)):
        w(f, floats(*shape))
    w.replayed(f)
    w(f, floats(2, 3))
    w(f, ints(3))
    w(f, np.zeros(0))


@case
def made_within(w: World) -> None:
    def local(value):
        return value + 1 if value > 0 else -value

    @w.compiled
    def f(x):
        return np.vectorize(clipped)(x), np.vectorize(local)(x) * 2

    @w.compiled
    def lambdas(x):
        y = np.vectorize(lambda a: a * 2 if a > 1 else a)(x)
        return y, np.frompyfunc(lambda a, b: a + b, 2, 1)(x, y).astype(float)

    @w.compiled
    def closing(x, k):
        return np.vectorize(lambda a: a * k)(x)

    for n in (3, 3, 4):
        w(f, floats(n))
        w(lambdas, floats(n))
        w(closing, floats(n), n)
    w.replayed(f)
    w.replayed(lambdas)


@case
def functions_with_effects(w: World) -> None:
    seen = w.watch([])

    def counted(value):
        seen.append(value)
        return value + len(seen)

    vector, ufunc = np.vectorize(counted), np.frompyfunc(counted, 1, 1)

    @w.compiled
    def f(x):
        return vector(x) * 2

    @w.compiled
    def g(x):
        return ufunc(x) * 2, 1 / x

    for x in (floats(2), floats(2), np.zeros(1), np.zeros(1), floats(3)):
        w(f, x)
        w(g, x)


class Counter:
    n = 0


@case
def functions_that_read_what_changes(w: World) -> None:
    counter = Counter()
    ufunc = np.frompyfunc(lambda value: value + counter.n, 1, 1)
    total = 0.0

    def shifted(value):
        return value + total

    vector = np.vectorize(shifted)

    @w.compiled
    def f(x):
        counter.n += 1
        return ufunc(x) * 2

    @w.compiled
    def g(x):
        nonlocal total
        total = total + 1.0
        return vector(x)

    for n in (2, 2, 3):
        w(f, floats(n))
        w(g, floats(n))
    for total in (5.0, 7.0):
        w.note(vector(floats(2)))


@case
def names_that_change(w: World) -> None:
    scale = 2.0

    def scaled(value):
        return value * scale

    helper = scaled

    def outer(value):
        return helper(value) + 1

    vector = np.vectorize(outer)

    @w.compiled
    def f(x):
        return vector(x) - 1

    seen = w.watch([])

    def telling(value):
        seen.append(value)
        return value

    for n in (2, 2, 3):
        w(f, floats(n))
    w.replayed(f)
    scale = 3.0
    w(f, floats(2))
    helper = telling
    for n in (2, 2):
        w(f, floats(n))
    vector.pyfunc = lambda value: value - 7
    for n in (2, 2):
        w.note(f(floats(n)))


@case
def functions_that_raise(w: World) -> None:
    def divided(value):
        if value == 0:
            raise ValueError("of nothing")
        return 1 / value

    vector = np.vectorize(divided)

    @w.compiled
    def f(x):
        return vector(x) * 2

    for x in (floats(2), floats(2), np.zeros(2), np.array([1.0, 0.0]), floats(2)):
        w(f, x)


@case
def walked_by_nditer(w: World) -> None:
    @w.compiled
    def f(x):
        total = 0.0
        for value in np.nditer(x):
            total = total + value
        return x * total

    for n in (2, 2, 3):
        w(f, floats(n))
