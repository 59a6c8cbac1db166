"""Averages, deviations, round, select, divmod, broadcast_arrays, and orders that are not C."""

from __future__ import annotations

from typing import Any

import numpy as np

from semantics.world import World, case, close, floats, ints


def compiled_whole(f: Any) -> None:
    """Nothing of it ran uncompiled, or was called as it is."""
    stats = getattr(f, "stats", None)
    assert stats is None or (stats.captures, stats.fallbacks, stats.opaque) == (1, 0, 0), stats


@case
def rounding_to_decimals(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 1.2345678
        return np.round(y, 2), y.round(1), np.around(y[:, ::2], -1), y.sum().round(3), y.T.round(1)

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (0, 2)):
        w(f, floats(*shape))
    compiled_whole(f)
    for x in (floats(3, 4, dtype="f4"), floats(2, 2, dtype="f2"), ints(2, 3), ints(2, 3) > 1):
        w(f, x)
    w(f, np.asfortranarray(floats(3, 4)))
    w(f, np.full((2, 2), 1e308))


@case
def rounding_of_permuted_axes(w: World) -> None:
    @w.compiled
    def f(x, places):
        return np.round(x, 2), x.round(decimals=places)

    for x in (floats(2, 3, 4).transpose(1, 0, 2), floats(2, 3, 4).T, floats(4, 3)[::2].T):
        for places in (1, 1, -1, 0, 310):
            w(f, x, places)


@close
@case
def averages_with_weights(w: World) -> None:
    @w.compiled
    def f(x, y, z):
        rows = np.average(x, axis=0, weights=y)
        return (
            rows,
            np.average(x, weights=x * x + 1),
            np.average(x, axis=-1, weights=z, keepdims=True),
            np.average(x, axis=1, weights=x + 20),
        )

    for n, m in ((3, 4), (3, 4), (1, 2), (5, 1)):
        w(f, floats(n, m), floats(n) + 1, ints(m) + 9)
    compiled_whole(f)
    w(f, floats(2, 2), np.array([1.0, -1.0]), ints(2) + 9)  # weights that sum to nothing
    w(f, floats(2, 2), floats(3), ints(2) + 9)
    w(f, floats(0, 2), floats(0), ints(2) + 9)
    w(f, ints(3, 4), ints(3) + 9, ints(4) + 9)
    w(f, floats(3, 4, dtype="f4"), floats(3, dtype="f4") + 1, ints(4) + 9)


@close
@case
def deviations_without_nan(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.where(x > 1, np.nan, x)
        return (np.nanstd(y), np.nanvar(y, axis=0), np.nanstd(y, axis=1, keepdims=True, ddof=0))

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1)):
        w(f, -np.abs(floats(*shape)) + (np.arange(shape[1]) == 3) * 9)
    w(f, np.full((2, 2), 7.0))
    w(f, np.zeros((0, 2)))

    @w.compiled
    def g(x):
        return (np.nanvar(x, axis=0, ddof=1), np.nanstd(x, ddof=1))

    for x in (floats(3, 4), floats(3, 4, dtype="f4"), ints(3, 4), floats(1, 4)):
        w(g, x)


@case
def choices_by_conditions(w: World) -> None:
    @w.compiled
    def f(x, y):
        return (
            np.select([x > 0, x < -1], [x, -x], 0),
            np.select([x > 0, y > 2], [y, 1.5], default=np.nan),
            np.select([x[0] > 0], [x], y),
            np.select([x.sum() > 0], [2]),
            np.select([x.T > 0], [x.T]),
        )

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (2, 0)):
        w(f, floats(*shape), ints(*shape))
    compiled_whole(f)
    w(f, floats(2, 2, dtype="f4"), ints(2, 2))

    @w.compiled
    def g(x, tests, choices):
        return np.select(tests, choices, x)

    w(g, floats(3), [ints(3) > 1], [floats(3)])
    w(g, floats(3), [ints(3)], [floats(3)])
    w(g, floats(3), [ints(3) > 1], [])


@case
def broadcasting_arrays_together(w: World) -> None:
    @w.compiled
    def f(x, y):
        a, b = np.broadcast_arrays(x, y)
        return a + b, a is x, b is y, a.shape

    for n, m in ((3, 4), (3, 4), (1, 4), (4, 1), (1, 1), (2, 0)):
        w(f, floats(n, 1), floats(m))
        w(f, floats(n, m), floats(m))
        w(f, floats(m), floats(m))

    @w.compiled
    def g(x):
        a, b = np.broadcast_arrays(x, 2.0)
        a += b
        return a

    for n in (3, 3, 1):
        w(g, floats(n))

    @w.compiled
    def h(x):
        a = np.broadcast_arrays(x, np.zeros((2, 1)))[0]
        a[0] = 5
        return a

    for n in (3, 3, 1):
        w(h, floats(n))


@case
def parts_of_unequal_size(w: World) -> None:
    @w.compiled
    def f(x):
        parts = np.array_split(x, 3)
        parts[1] *= 2
        return parts, x, np.array_split(x, 2, axis=-1)

    for shape in ((7, 2), (7, 2), (2, 5), (1, 1), (0, 3), (9, 4)):
        w(f, floats(*shape))
    compiled_whole(f)


@case
def quotients_with_rests(w: World) -> None:
    @w.compiled
    def f(x, k):
        q, r = np.divmod(x, k)
        return q, r, divmod(x, 3), np.square(x > 1)

    for n in (3, 3, 4, 0):
        w(f, floats(n), 2.5)
        w(f, ints(n), 2)
    w(f, ints(3), 0)
    w(f, floats(3), 0.0)
    w(f, ints(3), floats(3) - 9)


@case
def new_arrays_in_fortran_order(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.zeros(x.shape, order="F")
        y += x
        z = np.empty(x.shape, order="F")
        z[...] = x
        return y, z, np.ones(x.shape, "i4", "F"), y * 2, y.T

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (0, 2)):
        w(f, floats(*shape))
    compiled_whole(f)


@case
def close_numbers_and_nan(w: World) -> None:
    @w.compiled
    def f(x, y):
        return np.isclose(x, y, equal_nan=True), np.isclose(x, y)

    for x in (floats(3), np.array([np.nan, 1.0, np.inf])):
        w(f, x, x + 1e-12)
        w(f, x, x[0])
    w(f, ints(3), ints(3))


@case
def numbers_for_nan_and_infinity(w: World) -> None:
    @w.compiled
    def f(x, k):
        y = np.where(x > 1, np.nan, np.where(x < 0, -np.inf, x))
        return np.nan_to_num(y), np.nan_to_num(-y, nan=1.5, posinf=k, neginf=-2), y

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (0, 2), ()):
        w(f, floats(*shape), 7.5)
    w(f, floats(3, 4, dtype="f4").T, 7)

    @w.compiled
    def g(x, copy):
        return np.nan_to_num(x, copy=copy), np.nan_to_num(x[0]), x

    for x in (floats(3), ints(3), floats(3, dtype="f2"), np.array([np.nan, 1]), ints(3) > 1):
        for copy in (True, False):
            w(g, x, copy)


@case
def flattened_in_fortran_order(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.ravel("F")
        z = x.flatten(order="F")
        z += 1
        return y, z, np.ravel(x.T, order="F"), y.base is x, x.T.flatten("F")

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (0, 2), (2, 3, 4), (4,), ()):
        w(f, floats(*shape))
        w(f, np.asfortranarray(floats(*shape)))
        w(f, floats(*shape)[::2] if shape else floats())

    @w.compiled
    def g(x):
        y = x.ravel(order="F")
        y += 1
        return x, y

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (2, 3, 2), (4,)):
        w(g, floats(*shape))
        w(g, np.asfortranarray(floats(*shape)))
        w(g, floats(*shape).T)


@case
def shaped_in_fortran_order(w: World) -> None:
    @w.compiled
    def f(x, k):
        y = np.reshape(x, (k, -1), order="F")
        z = x.reshape(-1, order="F")
        u = x.reshape(k, -1, 1, order="F")
        v = (x * 2).reshape((-1, k), order="F")
        return y, z, u, v, y * 1

    for shape in ((4, 3), (4, 3), (2, 1), (1, 4), (6, 2), (2, 2, 3), (4,)):
        w(f, floats(*shape), 2)
        w(f, np.asfortranarray(floats(*shape)), 2)
        w(f, floats(*shape).T, 2)
        w(f, floats(*shape), 5)

    @w.compiled
    def g(x):
        y = x.reshape(x.shape[::-1], order="F")
        y += 1
        return x, y

    for shape in ((3, 4), (3, 4), (1, 2), (5, 1), (2, 3, 2), (4,)):
        w(g, floats(*shape))
        w(g, np.asfortranarray(floats(*shape)))


@case
def operators_of_arrays_that_numpy_computes(w: World) -> None:
    @w.compiled
    def f(x, y):
        z = (x + 1j) * x - y
        return z, -z, z == x, z**2, z @ z, z[0] * 2

    for n in (3, 3, 4):
        w(f, floats(n) * 1j, floats(n))
    stats = getattr(f, "stats", None)
    assert stats is None or (stats.captures, stats.fallbacks, stats.opaque > 4) == (1, 0, True)
    w(f, floats(3).astype(">f8"), floats(3))
    w(f, floats(3) * 1j, floats(2))
    w(f, np.full(3, 1e308 + 0j), floats(3))


@close
@case
def averages_with_the_sum_of_their_weights(w: World) -> None:
    @w.compiled
    def f(x):
        mean, weight = np.average(x, axis=0, returned=True)
        weight[0] += 1
        return mean, weight, np.average(x, returned=True), np.average(x, axis=(0, 1), returned=True)

    for n in (2, 3, 5):
        w(f, floats(n, 3))
        w(f, ints(n, 3))
        w(f, floats(n, 3, dtype="f4"))
    w.replayed(f, 3)
    w(f, floats(0, 3))


@case
def areas_below_curves(w: World) -> None:
    @w.compiled
    def f(y, x):
        return np.trapezoid(y), np.trapezoid(y, dx=0.5, axis=0), np.trapezoid(y, x, axis=0)

    for shape in ((3, 4), (3, 4), (5, 2), (2, 1)):
        w(f, floats(*shape), floats(shape[0]))
    compiled_whole(f)
    w(f, ints(3, 4), ints(3))
    w(f, floats(3, 4, dtype="f4"), floats(3, 4, dtype="f4"))
    w(f, floats(4), floats(4))
    w(f, floats(3, 0), floats(3))
    w(f, np.asfortranarray(floats(3, 4)), floats(3))
    w(f, floats(3, 4), floats(2))
