"""Views that NumPy's own functions make: sliding windows, strides taken over, axes rolled."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from semantics.world import World, case, close, floats


def layouts(n: int) -> list[np.ndarray]:
    return [floats(n), floats(2 * n)[::2], floats(n)[::-1], floats(n, 2)[:, 1]]


@case
@close
def sliding_windows(w: World) -> None:
    @w.compiled
    def f(x, size):
        v = sliding_window_view(x, size)
        return v.mean(axis=1), v.max(axis=-1), v, v[::2], v.sum(), v.shape

    for n in (5, 5, 8, 3):
        for x in layouts(n):
            w(f, x, 3)
    w(f, floats(2), 3)
    w(f, floats(5), 2)


@case
def windows_of_a_result(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        v = sliding_window_view(y, 2)
        before = v.sum(axis=1)
        y += 1
        return before, v, v + 0, y, v[0]

    for n in (5, 5, 8, 3):
        for x in layouts(n):
            w(f, x)


@case
def windows_of_an_argument_that_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        v = sliding_window_view(x, 2)
        before = v * 1
        x[1:] = 9
        after = v * 1
        x[0] = -1
        return before, after, v

    for n in (5, 5, 8, 3):
        for x in layouts(n):
            w(f, x)


@case
def windows_of_a_matrix(w: World) -> None:
    @w.compiled
    def f(x):
        v = sliding_window_view(x, (2, 2))
        rows = sliding_window_view(x, window_shape=2, axis=0)
        return v.max(axis=(2, 3)), rows + 1, v, rows

    for shape in ((3, 4), (3, 4), (2, 5), (4, 2)):
        w(f, floats(*shape))
        w(f, np.asfortranarray(floats(*shape)))


@case
def strides_of_the_program(w: World) -> None:
    @w.compiled
    def f(x, size):
        count = len(x) - size + 1
        v = as_strided(x, (count, size), (x.strides[0], x.strides[0]))
        y = x + 1
        u = as_strided(y, shape=(2, 2), strides=y.strides * 2)
        return v.sum(axis=1), v, u * 2, u, x.strides, x.T.strides, x[::2].strides

    for n in (5, 5, 8, 4):
        for x in layouts(n):
            w(f, x, 3)


@case
def a_window_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        v = as_strided(x, (2, 2), (x.strides[0], x.strides[0]))
        v[0, 1] = 7
        return x, v

    for n in (5, 5, 8):
        for x in layouts(n):
            w(f, x)


@case
def other_views_by_functions(w: World) -> None:
    @w.compiled
    def f(x):
        a, b = np.rollaxis(x, 1), np.atleast_3d(x)
        y = x - 1
        c, d = np.rollaxis(y, 1), np.atleast_3d(y)
        y[0] = 5
        return a, b, c, d, c + 1, d.sum(axis=2)

    for shape in ((3, 4), (3, 4), (1, 4), (3, 1)):
        w(f, floats(*shape))
        w(f, np.asfortranarray(floats(*shape)))
