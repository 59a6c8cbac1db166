"""Views and copies whose kind depends on sizes, and writes through them.

Where an axis has one element, or a slice takes all of one, NumPy makes a view instead of a copy.
"""

from __future__ import annotations

import types

import numpy as np

from semantics.world import World, case, floats


@case
def copies_of_views_at_one(w: World) -> None:
    @w.compiled
    def f(x):
        t = x.T
        return (
            t.ravel(),
            np.ascontiguousarray(t),
            x[:, :2].ravel(),
            x[1:].ravel(),
            x[:1].reshape(-1),
            x[0].ravel(),
            x[:, 0].ravel(),
            np.ravel(x[::-1]),
            t,
        )

    for s in ((3, 4), (3, 4), (1, 4), (3, 1), (1, 1), (3, 2), (2, 2), (0, 3), (3, 0), (5, 3)):
        w(f, floats(*s))


@case
def written_copies_of_views(w: World) -> None:
    @w.compiled
    def f(x):
        r = x.T.ravel()
        r += 1
        q = np.ascontiguousarray(x.T)
        q *= 2
        p = x[:, :2].reshape(-1)
        p[:1] = 9
        return r, q, p, x

    for s in ((3, 4), (3, 4), (1, 4), (3, 1), (1, 1), (3, 2), (1, 2)):
        w(f, floats(*s))


@case
def one_array_returned_many_ways(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        return (
            y,
            y[:],
            y.T,
            y.reshape(y.shape),
            y.view(),
            [y],
            (y, y[0:1]),
            np.asarray(y),
            y.copy(),
            y.squeeze(),
        )

    for s in ((2, 3), (2, 3), (1, 3), (3,), (1,)):
        w(f, floats(*s))


@case
def strides_and_flags_read(w: World) -> None:
    @w.compiled
    def f(x):
        return (
            x.strides,
            x.flags.c_contiguous,
            x.flags["F_CONTIGUOUS"],
            x.flags.owndata,
            x.itemsize,
            x.nbytes,
            x.base is None,
            x.data.nbytes,
            x.__array_interface__["shape"],
            x.ctypes.data == x.__array_interface__["data"][0],
        )

    for a in (floats(3), floats(3, 2).T, floats(6)[::2], floats(3)):
        w(f, a)


@case
def shape_and_flags_assigned(w: World) -> None:
    @w.compiled
    def f(x):
        x.shape = (-1, 2)
        y = x + 1
        x.flags.writeable = False
        return y, x

    for n in (4, 4, 6, 3):
        w(f, floats(n))

    @w.compiled
    def g(x):
        y = x.copy()
        y.shape = (2, -1)
        y[0] = 1
        y.setflags(write=False)
        return y

    for n in (4, 4, 6):
        w(g, floats(n))


@case
def views_stored_and_written_later(w: World) -> None:
    m = w.watch(types.SimpleNamespace(v=None))

    class H:
        pass

    h = w.watch(H())

    @w.compiled
    def f(x):
        h.v = x[1:]
        h.v += 1
        x[1] = 50
        return h.v, x

    for n in (3, 3, 4):
        w(f, floats(n))
    h.v[0] = -1
    w(f, floats(3))


@case
def swaps_through_views(w: World) -> None:
    @w.compiled
    def f(x):
        x[0], x[1] = x[1], x[0]
        a, b = x[0].copy(), x[1].copy()
        x[0], x[1] = b, a
        x[[0, 1]] = x[[1, 0]]
        x[::2], x[1::2] = x[1::2], x[::2]
        return x

    for n in (4, 4, 2, 6):
        w(f, floats(n, 2))
        w(f, floats(n))


@case
def overlapping_assignment(w: World) -> None:
    @w.compiled
    def f(x):
        x[1:] = x[:-1]
        x[:-1] += x[1:]
        x[::-1] = x
        x += x[::-1]
        x[:] = x[0]
        return x

    for n in (5, 5, 2, 1, 8):
        w(f, floats(n))
        w(f, floats(n, 2))


@case
def out_overlaps_input_shifted(w: World) -> None:
    @w.compiled
    def f(x):
        np.add(x[:-1], x[1:], out=x[1:])
        np.multiply(x[1:], 2, out=x[:-1])
        return x

    for n in (2, 5, 5, 8):
        w(f, floats(n))


@case
def aliased_arguments_written(w: World) -> None:
    @w.compiled
    def f(x, y):
        x += 1
        y *= 2
        return x + y

    for _ in range(3):
        a = floats(4)
        b = floats(4)
        w(f, a, b)
        w(f, a, a)
        w(f, a[1:], a[:-1])
        w(f, a, a[::-1])
        w(f, a[::2], a[1::2])


@case
def zero_stride_and_readonly(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        x += 1
        return y, x

    for a in (
        floats(3),
        np.broadcast_to(np.float64(2), (3,)),
        floats(3),
        np.lib.stride_tricks.as_strided(floats(1), (3,), (0,)),
    ):
        w(f, a)
    r = floats(3)
    r.flags.writeable = False
    w(f, r)


@case
def slices_as_arguments(w: World) -> None:
    @w.compiled
    def f(x, s):
        return x[s], x[s].sum()

    for s in (
        slice(1, None),
        slice(None, None, -1),
        slice(0, 2),
        slice(None),
        Ellipsis,
        None,
        1,
        -1,
        (slice(1, 3),),
        np.int64(2),
        slice(np.int64(1), 3),
        slice(5, 1, -2),
        slice(10, 20),
    ):
        w(f, floats(6), s)


@case
def bad_indices(w: World) -> None:
    @w.compiled
    def f(x, s):
        x += 1
        return x[s]

    for s in (
        1,
        2,
        9,
        -9,
        1.0,
        "a",
        None,
        True,
        False,
        [1],
        (1, 1),
        slice("a"),
        slice(0, 4, 0),
        np.array(2),
        np.array([True, False, True]),
        10**30,
    ):
        w(f, floats(3), s)


@case
def shapes_used_as_values(w: World) -> None:
    @w.compiled
    def f(x):
        n, m = x.shape
        return (
            x.reshape(m, n),
            n * m,
            (n, m) == (2, 3),
            n / m if m else None,
            max(n, m),
            [n] * 2,
            f"{n}x{m}",
            {n: 1},
            n is m,
            divmod(n, m) if m else 0,
            -n // 2,
            n**2,
            n & 1,
        )

    for s in ((2, 3), (2, 3), (3, 2), (4, 4), (1, 5), (0, 2), (2, 0)):
        w(f, np.zeros(s))


@case
def nditer_and_flat(w: World) -> None:
    @w.compiled
    def f(x):
        for v in np.nditer(x, op_flags=["readwrite"]):
            v[...] = v * 2
        x.flat[0] = 7
        x.flat = list(x.flat)
        return [float(v) for v in x.flat], x.flat[1:], np.ndenumerate(x).__next__(), x

    for _ in range(2):
        w(f, floats(2, 2))


@case
def memory_order_first_seen_of_nothing(w: World) -> None:
    @w.compiled
    def f(x):
        t = x.T
        return (
            np.triu(t),
            np.tril(t, 1),
            np.where(t > 0, t, 0),
            t + np.ones(t.shape),
            np.clip(t, 0, 1),
        )

    for shape in ((0, 1, 4), (2, 3, 4), (0, 2), (3, 2), (2, 3, 4)):
        w(f, floats(*shape))
