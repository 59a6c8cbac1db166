"""Memory order where strides are equal, overlap, are 0, or where there are no elements to order."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from semantics.world import World, case, floats


def windows(*strides: int, shape: tuple[int, ...]) -> np.ndarray:
    """Of 64 numbers, from the middle one on."""
    return as_strided(floats(64)[32:], shape, [8 * stride for stride in strides])


def layouts(n: int, m: int) -> list[np.ndarray]:
    """Arrays of the usual strides, and then those of which views are not ordered as they are."""
    return [
        floats(n, m),
        np.asfortranarray(floats(n, m)),
        floats(n, 2 * m)[:, ::2],
        floats(m, 2 * n)[:, ::2].T,
        *(
            windows(*strides, shape=(n, m))
            for strides in ((1, 1), (-1, 1), (3, 1), (1, 3), (2, -2))
        ),
        *(windows(*strides, shape=(n, m)) for strides in ((0, 1), (1, 0), (0, 0))),
    ]


@case
def views_of_overlapping_rows(w: World) -> None:
    @w.compiled
    def f(x):
        t = x.T
        return (
            t * 2,
            x[:, ::2] * 2,
            np.rot90(x) / 3,
            t.copy("K"),
            np.maximum.accumulate(t, 1),
            t.astype(np.float32),
            np.where(t > 0, t, 0),
            t + t[::-1],
            np.zeros_like(t),
            np.roll(t, 1, 0),
        )

    for n, m in ((5, 4), (5, 4), (3, 3), (1, 4), (4, 1), (2, 5), (0, 3)):
        for x in layouts(n, m):
            w(f, x)


@case
def order_told_by_what_is_cast(w: World) -> None:
    @w.compiled
    def f(x):
        return np.rot90(x) / 3, np.sqrt(x.T), x.T + 0.5, x[:, ::2].sum(0, keepdims=True)

    for n in (5, 5, 3):
        for x in layouts(n, 4):
            w(f, x.astype(np.int8))
            w(f, as_strided(np.arange(64, dtype=np.int8)[32:], (n, 4), [s // 8 for s in x.strides]))


@case
def reductions_of_what_repeats(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.broadcast_to(x.T, (2, *x.shape[::-1]))
        z = np.broadcast_to(x[:, None], (x.shape[0], 3, x.shape[1]))
        return (
            y * 2,
            y.sum(0),
            np.count_nonzero(y, 0),
            np.count_nonzero(z, 2),
            z.any(2),
            y.max(1),
            np.count_nonzero(x, 1),
        )

    for n, m in ((1, 4), (1, 4), (4, 0), (4, 1), (1, 1), (5, 4), (3, 3)):
        for x in layouts(n, m):
            w(f, x)


@case
def sums_over_no_elements(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.square(x)
        return (
            x.sum(1),
            x.any(1),
            x.prod(1, keepdims=True),
            y.T.sum(1),
            y.transpose(2, 0, 1).prod(2),
            np.add.reduce(x.T, 1),
            np.expand_dims(x, 1).sum(2),
        )

    for n, k, m in ((3, 2, 4), (3, 2, 4), (3, 0, 4), (4, 0, 3), (0, 0, 2), (1, 0, 4)):
        for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)):
            stored = floats(*((n, k, m)[axis] for axis in order))
            w(f, stored.transpose([order.index(axis) for axis in range(3)]))
        w(f, windows(1, 3, 2, shape=(n, k, m)))


@case
def axes_that_numpy_adds(w: World) -> None:
    @w.compiled
    def f(x):
        y = np.expand_dims(x, 0)
        z = np.expand_dims(x, (0, -1))
        return y, y.strides, z, z.strides

    for n in (4, 4, 1):
        for x in layouts(n, 3):
            w(f, x)
