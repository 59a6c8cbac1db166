"""np.diag, np.diagonal and np.trace: views that cannot be written, new matrices, sums."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, close, floats, ints

SHAPES = ((3, 3), (3, 3), (2, 4), (4, 2), (1, 3), (1, 1), (0, 3), (3, 0))


@case
def of_an_argument(w: World) -> None:
    @w.compiled
    def f(x):
        d = np.diag(x)
        return d, d + 1, x.diagonal(1), np.diagonal(x, -1) * 2, np.diagonal(x.T)

    for shape in SHAPES:
        w(f, floats(*shape))
        w(f, np.asfortranarray(floats(*shape)))
        w(f, floats(*shape)[::-1])


@case
def of_a_result(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        d = np.diag(y)
        return np.sqrt(np.abs(d)), d, np.diag(y + 1, 1), np.diag(y.T.copy())

    for shape in SHAPES:
        w(f, floats(*shape))


@case
def seen_after_a_write_to_the_matrix(w: World) -> None:
    @w.compiled
    def f(x):
        d = np.diag(x)
        before = d.sum()
        x += 1
        x[0] = 7
        y = x * 1
        e = y.diagonal()
        y[:, 0] = -1
        return before, d, d * 1, e, e + 1

    for shape in SHAPES[:6]:
        w(f, floats(*shape))


@case
def written_it_raises(w: World) -> None:
    @w.compiled
    def f(x):
        d = np.diag(x * 1)
        if x.size > 4:
            d += 1
        return d

    for shape in ((2, 2), (3, 3), (2, 2), (3, 3)):
        w(f, floats(*shape))


@case
def a_matrix_from_a_diagonal(w: World) -> None:
    @w.compiled
    def f(x):
        return np.diag(x), np.diag(x, 1), np.diag(x + 1, -2), np.diag(np.diag(x)), np.diag(x) @ x

    for n in (3, 3, 4, 1, 0):
        w(f, floats(n))
        w(f, ints(n, dtype=np.int8))


@case
@close
def traces(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.astype(np.int16)
        return np.trace(x), x.trace(1), y.trace(), np.trace(y, -1), np.diag(x).max(initial=0)

    for shape in SHAPES:
        w(f, floats(*shape))
        w(f, ints(*shape))


@case
def views_of_the_diagonal(w: World) -> None:
    @w.compiled
    def f(x):
        d = x.diagonal()
        return d[::-1], d[1:], d.copy(), d[0], d.reshape(-1, 1), (x * 1).diagonal()[1:]

    for shape in SHAPES[:6]:
        w(f, floats(*shape))
