"""Views of views, and what is seen through them after a write."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints


@case
def a_write_through_a_view_of_a_view(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[1:]
        z = y[::2]
        z += 10
        return x * 1, y * 1, z

    for n in (5, 5, 6, 1, 0):
        w(f, floats(n))
    w(f, floats(4, 2))


@case
def a_write_to_the_base_is_seen_in_the_view(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[1:3]
        a = y + 0
        x += 5
        b = y + 0
        x[1] = 0
        return a, b, y + 0, y

    for n in (5, 5, 6, 3, 2):
        w(f, floats(n))


@case
def transposed_in_place(w: World) -> None:
    @w.compiled
    def f(x):
        t = x.T
        t += np.arange(t.shape[-1])
        t[0] = 9
        return x, t

    for shape in ((2, 3), (2, 3), (3, 2), (1, 1), (3, 0)):
        w(f, floats(*shape))
    w(f, floats(3))


@case
def a_reshape_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        y = x.reshape(-1, 2)
        y[:, 0] = 0
        y += 1
        return x + 0, y

    for x in (floats(4), floats(4), floats(2, 2).T, floats(8)[::2], floats(2, 4), floats(4, 3).T):
        w(f, x)


@case
def a_view_of_a_temporary_is_written(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        y[1:] *= 2
        y.T[...] -= 1
        z = y.reshape(-1)[::-1]
        z[0] = 50
        return y, z

    for shape in ((3,), (3,), (2, 3), (1,), (4, 1)):
        w(f, floats(*shape))


@case
def views_with_new_axes(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[:, None]
        y -= x.mean()
        z = np.expand_dims(x, 0)
        z[0, 0] = 3
        return y - x[None, :], np.squeeze(z), x

    for n in (3, 3, 5, 1):
        w(f, floats(n))


@case
def splits_are_views(w: World) -> None:
    @w.compiled
    def f(x):
        a, b = np.split(x, 2)
        a += b
        parts = np.array_split(x, 3)
        parts[0][...] = 7
        return a * b, [len(p) for p in parts], parts[-1]

    for n in (4, 4, 6, 2, 5, 4):
        w(f, floats(n))


@case
def swapaxes_moveaxis_and_rollaxis(w: World) -> None:
    @w.compiled
    def f(x):
        a = np.swapaxes(x, 0, -1)
        b = np.moveaxis(x, 0, -1)
        a += 1
        b *= 2
        return a, b, x.sum()

    for shape in ((2, 3), (2, 3), (2, 3, 4), (1, 1), (2, 0, 3), (3,)):
        w(f, floats(*shape))


@case
def the_diagonal(w: World) -> None:
    @w.compiled
    def f(x):
        d = np.diagonal(x)
        y = d + 1
        np.fill_diagonal(x, 0)
        x.flat[1] = 5
        return y, d * 1, np.diag(x), np.trace(x), d.flags.writeable

    for n in (3, 3, 4, 2):
        w(f, floats(n, n))


@case
def rows_kept_in_a_list(w: World) -> None:
    @w.compiled
    def f(x):
        rows = [x[i] for i in range(len(x))]
        rows[0] += rows[-1]
        rows.append(x[0] * 2)
        return rows

    for n in (2, 2, 3, 1, 0):
        w(f, floats(n, 2))


@case
def flips_and_rolls(w: World) -> None:
    @w.compiled
    def f(x):
        a = np.flip(x)
        b = np.roll(x, 1)
        a += 1
        b += 100
        return a, b, x, np.flip(x, 0), x[..., ::-1]

    for shape in ((3,), (3,), (2, 3), (0,), (1, 1)):
        w(f, floats(*shape))


@case
def the_base_is_rebound_while_the_view_lives(w: World) -> None:
    @w.compiled
    def f(x):
        y = x[1:]
        x = x + 1
        y += 10
        return x, y

    for n in (3, 3, 1, 6):
        a = floats(n)
        w(f, a)
        w.note(a)


@case
def a_view_through_an_attribute(w: World) -> None:
    class Box:
        pass

    @w.compiled
    def f(b, x):
        row = b.table[0]
        row += x
        b.last = b.table[-1]
        b.last *= 2
        return b.table.sum()

    b = w.watch(Box())
    b.table = floats(2, 3)
    for _ in range(3):
        w(f, b, floats(3))
    b.table = floats(1, 3)
    w(f, b, floats(3))
    b.table = floats(3, 2).T
    w(f, b, floats(3))


@case
def empty_and_zero_dimensional_views(w: World) -> None:
    @w.compiled
    def f(x):
        a = x[:0]
        b = x[0:1].reshape(())
        b += 4
        c = x[..., 0]
        return a, b, c, x

    for shape in ((3,), (3,), (1,), (5,)):
        w(f, floats(*shape))
    w(f, floats(0))
    w(f, floats(1, 3))


@case
def real_of_a_float_is_the_array(w: World) -> None:
    @w.compiled
    def f(x):
        r = x.real
        r += 1
        return r, r is x, x.imag, np.asarray(x) is x, x.view(), x.view().base is x

    for x in (floats(3), floats(3), ints(2), floats(2, 2).T, np.ones(2, "c16")):
        w(f, x)


@case
def broadcast_arrays_and_meshgrid(w: World) -> None:
    @w.compiled
    def f(x, y):
        a, b = np.broadcast_arrays(x, y)
        g, h = np.meshgrid(np.ravel(x), np.ravel(y))
        g += 1
        return a + b, g * h, x

    for n, m in ((3, 2), (3, 2), (1, 4), (2, 1)):
        w(f, floats(n), floats(m, 1))


@case
def slices_with_computed_bounds(w: World) -> None:
    @w.compiled
    def f(x):
        n = len(x)
        a, b, c = x[: n // 2], x[n // 2 :], x[-(n // 3) :]
        a[...] = 1
        return a.sum() + b.sum(), c, b

    for n in (6, 6, 7, 2, 1, 0, 12):
        w(f, floats(n))


@case
def slices_beyond_the_ends(w: World) -> None:
    @w.compiled
    def f(x, i, j, k):
        y = x[i:j:k]
        y += 1
        return y, x[i:j].sum(), x[:i][::-1]

    for i, j, k in (
        (1, 3, 1),
        (1, 3, 1),
        (-9, 9, 2),
        (3, 1, -1),
        (5, 2, 1),
        (None, None, -1),
        (0, 4, 0),
    ):
        w(f, floats(4), i, j, k)
